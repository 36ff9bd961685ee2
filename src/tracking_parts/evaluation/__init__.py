"""Protocols, runs and measures: how well a tracker follows what is known.

``measures`` are pure functions, ``reset`` runs one tracker over one sequence, ``runner`` runs many and scores them.
"""
