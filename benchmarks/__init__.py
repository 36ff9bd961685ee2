"""Measurements that say how fast the tracker is on this machine. They print; no test depends on their seconds."""
