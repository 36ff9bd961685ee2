"""Bytes that nobody meant, given to everything that reads: ``python -m torture.fuzz TARGET --seconds N``.

A target is a function of bytes that returns, or raises one of our own errors; anything else is a finding. Two engines
run the same targets: atheris, which is led by coverage, and a plain one that changes seeds at random and needs nothing.
"""
