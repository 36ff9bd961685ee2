"""The object is not there for a while: it must be said to be lost, nothing be learned, and it be found again.

A share of :mod:`benchmarks.absence`, on the bundled clips and on drawn scenes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from benchmarks.absence import details, figures, gather, table
from benchmarks.absence_cases import Case
from benchmarks.absent import KINDS, LENGTH
from benchmarks.scenes import clip_scenes, drawn_scenes
from torture.trials import Trial
from tracking_parts import Tracker, WeightsError
from tracking_parts.threads import use_threads

log = logging.getLogger(__name__)

DRAWN = 4  # scenes
ENOUGH = 20  # cases, for shares of them to mean anything


def absence(seconds: float, seed: int = 0) -> Iterator[Trial]:
    """A drawn scene first, which is done soonest; the last trials are the shares wanted of all cases together."""
    end = time.monotonic() + seconds
    use_threads()
    try:
        tracker = Tracker(seed=seed)
    except WeightsError as error:
        log.warning("no weights: %s", error)
        return
    drawn = drawn_scenes(DRAWN, LENGTH)
    scenes = chain(islice(drawn, 1), clip_scenes(LENGTH), drawn)
    cases = []
    for _, case in gather((("", scene) for scene in scenes), tracker, KINDS):
        cases.append(case)
        yield idle_trial(case)
        if time.monotonic() > end:
            break
    if len(cases) >= ENOUGH:
        yield from share_trials(cases)
    else:
        log.info("of %d cases no shares are told: it takes %d", len(cases), ENOUGH)


def idle_trial(case: Case) -> Trial:
    """In no frame may anything be learned in which the tracker itself says that it is unsure."""
    what = f"{case.kind}: learn nothing while unsure"
    if not case.learned_unsure:
        return Trial(what, True)
    return Trial(what, False, f"learned in absent frames {case.learned_unsure}: {details([case])}")


def share_trials(cases: Sequence[Case]) -> Iterator[Trial]:
    for figure in figures(cases):
        if figure.verdict:
            told = f"{figure.measured}, wanted: {figure.wanted}\n{table(cases)}\n{details(cases)}"
            yield Trial(figure.name, figure.verdict == "met", told)
