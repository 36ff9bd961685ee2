"""The tracker as others expect one: OpenCV's calls, got10k's class, VOT's TraX protocol,
supervision's detections, rerun's recordings.

Coordinates are converted here and in ``io``, nowhere else. Nothing in the core imports from here; each module asks for
its library only when it is used, and says what to install where that is missing.
"""
