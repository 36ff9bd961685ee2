"""Everything that touches a file, a camera or the network: weights, clips, video, sequences and result formats.

Nothing is imported here on purpose: the core needs only ``io.weights``, and should not pay for loading video libraries.
"""
