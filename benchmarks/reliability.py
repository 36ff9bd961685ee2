"""Is the confidence true? What trackers said in the frames of a reset-based run, beside what was so.

Of every tracker whose runs kept a score for each frame: how far it is from how often the overlap is above 0.5, and how
well it tells an overlap of at most 0.5, and a failure within the next 20 frames, from the rest. Trackers are compared
on the sequences that all of them were run on.

    python -m benchmarks.reliability --results OUT/vot2016 --data DATA --out out/reliability.png

The runs are made by ``stp bench run`` or ``stp bench paper``. Weights of a confidence that were fitted on the same
sequences flatter it: ``--evidence FILE``, written by ``python -m benchmarks.confidence --data DATA --out FILE``, adds
what weights say that were fitted without the sequence they are judged on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path

import cv2
import numpy as np

from benchmarks.confidence import Samples, left_out
from benchmarks.reliability_frames import SOON, Floats, Frames, Watched, watch
from benchmarks.reliability_measures import Reliability, judge
from benchmarks.reliability_picture import draw
from tracking_parts.errors import FormatError, TrackingPartsError
from tracking_parts.evaluation.protocol import load_protocol
from tracking_parts.evaluation.scoring import figure, load_runs, shared_sequences
from tracking_parts.evaluation.statistics import Interval
from tracking_parts.viewers.contact_sheet import write_image

SMALL_PNG = (cv2.IMWRITE_PNG_COMPRESSION, 9)


def read_watched(results: Path, data: Path, protocol: str, trackers: Sequence[str] | None) -> tuple[list[Watched], int]:
    """What each tracker said on the sequences that all of them have, and how many these are."""
    found = load_runs(results, data, load_protocol(protocol), trackers)
    shared = shared_sequences(found)
    if not shared:
        raise FormatError(f"no sequence in {results} was run by all of {', '.join(one.name for one in found)}")
    return [watch(one.only(shared)) for one in found], len(shared)


def read_evidence(path: Path) -> Samples:
    """The file that ``benchmarks.confidence --out`` writes."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        samples = Samples(**{field.name: np.array(content[field.name]) for field in fields(Samples)})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: not written by benchmarks.confidence ({error!r})") from None
    if len({len(values) for values in vars(samples).values()}) != 1 or not len(samples.said):
        raise FormatError(f"{path}: not written by benchmarks.confidence (columns of different lengths, or empty)")
    return samples


def evidence_watched(samples: Samples) -> list[Watched]:
    """Frames in which the object is there: what was said, and what weights fitted on the other sequences say."""
    named = {"weights as they are": samples.said, "weights fitted on the other sequences": left_out(samples)}
    return [_by_sequence(f"stp:default, {name}", samples, said) for name, said in named.items()]


def _by_sequence(name: str, samples: Samples, said: Floats) -> Watched:
    there = ~samples.away
    chosen = [there & (samples.sequence == number) for number in np.unique(samples.sequence[there])]
    frames = [Frames(said[one], samples.good[one], np.full(int(one.sum()), np.nan)) for one in chosen]
    return Watched(name, tuple(frames), int(there.sum()), np.zeros(0))


# --------------------------------------------------------------------------- telling
def table(judged: Sequence[Reliability]) -> str:
    """Figures down, trackers across, as Markdown."""
    rows: dict[str, Callable[[Reliability], str]] = {
        "frames": lambda one: str(one.frames),
        "share with an overlap above 0.5": lambda one: figure(one.good_rate, 3),
        "said, mean": lambda one: figure(one.mean_said, 3),
        "said in the frame of a failure, median": lambda one: figure(one.at_failures, 3),
        "expected calibration error, bins of equal width": lambda one: _interval(one.by_width),
        "the same, bins of equal count": lambda one: _interval(one.by_count),
        "Brier score": lambda one: _interval(one.brier),
        "Brier score of always saying the share": lambda one: figure(one.constant_brier, 3),
        "Brier skill (1 less their ratio)": lambda one: _interval(one.skill),
        "area under the ROC, overlap at most 0.5": lambda one: _interval(one.tells_bad),
        f"share with a failure within {SOON} frames": lambda one: figure(one.lost_rate, 3),
        f"area under the ROC, failure within {SOON} frames": lambda one: _interval(one.tells_lost),
    }
    lines = [("", *(one.name for one in judged)), ("---", *["---:"] * len(judged))]
    lines += [(name, *map(cell, judged)) for name, cell in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _interval(interval: Interval) -> str:
    """A figure with its bounds, where they are known.

    >>> _interval(Interval(0.5, 0.25, 0.75))
    '0.500 (0.250 to 0.750)'
    """
    if np.isnan(interval.low):
        return figure(interval.value, 3)
    return f"{figure(interval.value, 3)} ({figure(interval.low, 3)} to {figure(interval.high, 3)})"


def notes(watched: Sequence[Watched], judged: Sequence[Reliability]) -> list[str]:
    """What the table alone would hide."""
    told = []
    for said, one in zip(watched, judged, strict=True):
        if not one.frames:
            told.append(f"{one.name} tells no score: {one.silent} frames cannot be judged.")
            continue
        if one.silent:
            told.append(f"{one.name} told no score in {one.silent} frames; they are left out.")
        if not said.is_probability:
            low, high = said.frames.said.min(), said.frames.said.max()
            told.append(
                f"{one.name}: its score ({low:.3g} to {high:.3g}) is no probability; only its ranking is judged."
            )
    return told


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, required=True, help="a folder of TRACKER/SEQUENCE/SEQUENCE_001.txt")
    parser.add_argument("--data", type=Path, required=True, help="the sequences, in VOT's layout")
    parser.add_argument("--trackers", nargs="+", metavar="NAME", help="only these, by name or folder, in this order")
    parser.add_argument("--protocol", default="vot2016", help="the rules that the runs were made by")
    parser.add_argument("--evidence", type=Path, metavar="FILE", help="what benchmarks.confidence --out wrote")
    parser.add_argument("--samples", type=int, default=1000, help="of the bootstrap over sequences")
    parser.add_argument("--out", type=Path, metavar="FILE.png", help="draw the diagrams here")
    options = parser.parse_args(arguments)
    try:
        watched, sequences = read_watched(options.results, options.data, options.protocol, options.trackers)
        judged = [judge(one, options.samples) for one in watched]
        print("\n".join([f"{sequences} sequences\n", table(judged), *notes(watched, judged)]))
        if options.evidence is not None:
            evidence = evidence_watched(read_evidence(options.evidence))
            print(f"\nOf {options.evidence}:\n\n{table([judge(one, options.samples) for one in evidence])}")
        if options.out is not None:
            write_image(options.out, draw(watched, judged), SMALL_PNG)
    except (TrackingPartsError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
