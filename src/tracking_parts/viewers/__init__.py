"""Pictures made to be looked at: annotated frames, contact sheets and the inside of one frame.

Viewers read results and traces; they never reach into the tracker, and they never change a frame they are given.
"""
