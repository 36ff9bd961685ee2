"""Bytes that nobody meant, given to everything that reads: ``python -m torture.fuzz TARGET --seconds N``.

A target is a function of bytes that returns, or raises one of our own errors; anything else is a finding. Two engines
run the same targets: atheris, which is led by coverage, and a plain one that changes seeds at random and needs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from torture.trials import Trial


def fuzz(seconds: float) -> Iterator[Trial]:
    """The part of the torture; see :mod:`torture.fuzz.part`."""
    # Imported here: atheris must see our modules before anybody imports them.
    from torture.fuzz.part import fuzz_all

    yield from fuzz_all(seconds)
