"""What the tracker says and does while its object is not there, and whether it finds it again.

Every scene is tracked for some frames; then its object is absent for 40 (:mod:`benchmarks.absent` says how) and comes
back within the wider search. Wanted: within 15 frames the state is lost in at least 90 % of the cases, nothing is
learned meanwhile, and the object is found again within 20 frames in at least 70 %.

    python -m benchmarks.absence --data ../shared/vot2016-20 --out out/absence.json
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.absence_cases import FOUND_WITHIN, LOST_WITHIN, Case, cases_of
from benchmarks.absent import KINDS, LENGTH, SEEN_FOR
from benchmarks.figures import Figure, at_least, at_most, print_figures
from benchmarks.scenes import Scene, clip_scenes, drawn_scene, drawn_scenes, sequence_scene, sequences_at_hand
from tracking_parts import Tracker, TrackerConfig
from tracking_parts.io.files import write_atomically
from tracking_parts.threads import use_threads, wait_briefly

DRAWN = 4  # scenes
NO_OTHER = 1000  # seed of what the first scene is cut to


# --------------------------------------------------------------------------- telling
@dataclass(frozen=True)
class Shares:
    """Of some cases, all of them followed before the absence."""

    cases: int
    lost: float  # share lost in time
    idle: float  # share of cases in which nothing at all was learned while absent
    unsure_learned: int  # frames in which something was learned although the state was not tracking
    in_reach: int  # cases that came back within the wider search
    found: float  # share of them found again

    @classmethod
    def of(cls, cases: Sequence[Case]) -> Shares:
        used = [case for case in cases if case.followed]
        reached = [case for case in used if case.in_reach]
        return cls(
            len(used),
            _share(case.lost_in_time for case in used),
            _share(not case.learned for case in used),
            sum(len(case.learned_unsure) for case in used),
            len(reached),
            _share(case.found_at is not None for case in reached),
        )


def _share(values: Iterable[bool]) -> float:
    told = list(values)
    return sum(told) / len(told) if told else math.nan


def figures(cases: Sequence[Case]) -> list[Figure]:
    """What is wanted, of all cases together."""
    shares = Shares.of(cases)
    count, reached = f"of {shares.cases} cases", f"of {shares.in_reach} cases"
    return [
        at_least(f"said lost within {LOST_WITHIN} frames", shares.lost, 0.9, f"{shares.lost:.0%} {count}"),
        at_most("frames learned from while uncertain or lost", shares.unsure_learned, 0, f"{shares.unsure_learned}"),
        Figure("nothing learned at all while absent", f"{shares.idle:.0%} {count}", shares.idle),
        at_least(f"found again within {FOUND_WITHIN} frames", shares.found, 0.7, f"{shares.found:.0%} {reached}"),
    ]


def table(cases: Sequence[Case]) -> str:
    """One row per kind, in Markdown."""
    lines = [
        "| absence | cases | lost in time | nothing learned | learned while unsure | in reach | found again "
        "| confidence before; absent (10, 50, 90 %) |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for kind in [kind for kind in KINDS if any(case.kind == kind for case in cases)] + ["all"]:
        chosen = [case for case in cases if kind in ("all", case.kind)]
        shares = Shares.of(chosen)
        used = [case for case in chosen if case.followed]
        absent = np.array([value for case in used for value in case.confidences])
        before = np.median([case.confidence_before for case in used]) if used else math.nan
        spread = ", ".join(f"{value:.2f}" for value in np.percentile(absent, [10, 50, 90])) if len(absent) else "–"
        lines.append(
            f"| {kind} | {shares.cases} | {shares.lost:.0%} | {shares.idle:.0%} | {shares.unsure_learned} "
            f"| {shares.in_reach} | {shares.found:.0%} | {before:.2f}; {spread} |"
        )
    return "\n".join(lines)


def details(cases: Sequence[Case]) -> str:
    """One line per case: what was said while absent, a letter a frame, and once it was back."""
    lines = []
    for case in cases:
        first = " ".join(f"{value:.2f}" for value in case.confidences[:LOST_WITHIN])
        lines.append(
            f"{case.scene[:16]:16} {case.kind:9}{'' if case.followed else ' (not followed before)'} {case.states} "
            f"lost {case.lost_at or '–'} learned {len(case.learned)} | {'' if case.in_reach else '(out of reach) '}"
            f"{case.distance:.1f} away, {case.states_back} found {case.found_at or '–'} | {first}"
        )
    return "\n".join(lines)


def all_scenes(data: Path | None, names: Sequence[str], drawn: int) -> Iterator[tuple[str, Scene]]:
    """Drawn ones, objects of the bundled clips, sequences at hand; each with where it comes from."""
    yield from (("drawn", scene) for scene in drawn_scenes(drawn, LENGTH))
    yield from (("clip", scene) for scene in clip_scenes(LENGTH))
    for sequence in sequences_at_hand(data):
        if not names or sequence.name in names:
            yield "sequence", sequence_scene(sequence, LENGTH)


def long_enough(scene: Scene) -> bool:
    return len(scene.frames) > SEEN_FOR


def gather(scenes: Iterable[tuple[str, Scene]], tracker: Tracker, kinds: Sequence[str]) -> Iterator[tuple[str, Case]]:
    """Every scene with every kind; a cut goes to the scene before it."""
    before = drawn_scene(NO_OTHER, LENGTH)
    for source, scene in scenes:
        if long_enough(scene):
            yield from ((source, case) for case in cases_of(scene, before, tracker, kinds))
        before = scene


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="a folder of sequences in VOT's layout")
    parser.add_argument("--sequences", nargs="*", default=[], help="only these of them")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--drawn", type=int, default=DRAWN, help="synthetic scenes")
    parser.add_argument("--profile", default="default")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the tracker")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="write every case with its confidences here, as JSON")
    options = parser.parse_args(arguments)
    wait_briefly()
    use_threads(options.threads)
    config = TrackerConfig.profile(options.profile).override_from_text(options.set)
    told: list[tuple[str, Case]] = []
    for source, case in gather(
        all_scenes(options.data, options.sequences, options.drawn), Tracker(config, seed=options.seed), options.kinds
    ):
        told.append((source, case))
        print(details([case]), flush=True)
    for source in dict.fromkeys(source for source, _ in told):
        print(f"\n{source}:\n{table([case for its, case in told if its == source])}")
    cases = [case for _, case in told]
    print(f"\nall:\n{table(cases)}\n")
    print_figures(figures(cases), Console())
    if options.out is not None:
        content: dict[str, Any] = {"config": config.to_dict(), "seed": options.seed}
        content["cases"] = [{"source": source, **asdict(case)} for source, case in told]
        write_atomically(options.out, json.dumps(content).encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
