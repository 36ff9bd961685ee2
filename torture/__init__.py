"""Everything that could break the tracker, done to it; ``python -m torture`` prints what came through."""
