"""All odd inputs, in the order of the table."""

from __future__ import annotations

from functools import lru_cache

from torture.odd_boxes import box_cases
from torture.odd_calls import call_cases
from torture.odd_case import Case
from torture.odd_frames import frame_cases


@lru_cache(maxsize=1)
def all_cases() -> dict[str, Case]:
    """By group and name."""
    cases = [*box_cases(), *frame_cases(), *call_cases()]
    return {f"{case.group}: {case.name}": case for case in cases}
