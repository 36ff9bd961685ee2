"""Where the time of a frame goes: seconds and floating-point work per step of the tracker, and how near to the machine.

Built on top of the tracker, which knows nothing of it: its steps are methods, and those of one tracker are wrapped
while it is watched.
"""
