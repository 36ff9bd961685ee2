"""The part of the torture that gives every odd input to our tracker."""

from __future__ import annotations

import time
from collections.abc import Iterator

from torture.odd_case import Expect, Kind, Outcome
from torture.odd_cases import all_cases
from torture.odd_inputs_run import run_cases
from torture.trials import Trial

RIGHT = {
    Expect.FOLLOW: (Kind.FOLLOWS,),
    Expect.ANSWER: (Kind.ANSWERS, Kind.SAYS_LOST),
    Expect.REFUSE: (Kind.REFUSES,),
    Expect.EITHER: (Kind.ANSWERS, Kind.SAYS_LOST, Kind.REFUSES),
    Expect.DOUBT: (Kind.ANSWERS, Kind.SAYS_LOST),
}


def is_right(key: str, outcome: Outcome) -> bool:
    """Whether our tracker did what it says it does: peers may also refuse what could be tracked."""
    return outcome.kind is Kind.ABSENT or outcome.kind in RIGHT[all_cases()[key].expect]


def odd_inputs(seconds: float) -> Iterator[Trial]:
    """Every case in another process, as many of them in one as it survives."""
    end = time.monotonic() + seconds
    for key, outcome in run_cases("ours", list(all_cases()), together=True):
        yield Trial(key, is_right(key, outcome), f"{outcome.kind.value}: {outcome.detail}")
        if time.monotonic() > end:
            return
