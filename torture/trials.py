"""What a part of the torture is: trials, made for as long as there is time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Trial:
    """One thing done to the tracker, and whether it came through.

    Attributes:
        what: What was done, in a few words; equal words are counted together.
        survived: Whether the outcome was one that is documented.
        detail: What happened instead, if it did not survive; else whatever is worth telling.
    """

    what: str
    survived: bool
    detail: str = ""


class Part(Protocol):
    """A part of the torture: does its trials, the most telling first, and begins none after ``seconds``."""

    def __call__(self, seconds: float) -> Iterator[Trial]: ...
