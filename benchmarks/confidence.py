"""Is the confidence true? How often a frame of a given confidence overlaps the truth by more than half.

Every sequence is tracked and started again where the object was lost for good; after some frames it is also shown
another sequence's pictures, in which the object is not. A logistic of the evidence is fitted to "overlap above 0.5" on
all sequences but one and judged on that one, in turn; the printed weights are those of all of them
(:attr:`TrackerConfig.confidence_weights`).

    python -m benchmarks.confidence --data ../shared/vot2016-20 --frames 160
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts import Result, Tracker, TrackerConfig
from tracking_parts.confidence import confidence_terms
from tracking_parts.frames import Frame, as_bgr
from tracking_parts.geometry import Box
from tracking_parts.io.files import write_atomically
from tracking_parts.io.sequences import Sequence as VideoSequence
from tracking_parts.io.sequences import find_sequences
from tracking_parts.threads import use_threads, wait_briefly

LOST_FOR = 15  # frames without overlap after which it is started again
AWAY_AFTER, AWAY_FOR = 12, 8  # frames after which, and for which, another scene is shown
GOOD = 0.5  # overlap

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """Of many frames: the terms of the logistic, what was said, what was true, and of which sequence."""

    terms: Floats  # [n, 5]
    said: Floats  # [n]
    good: Floats  # [n] 1 if the overlap was above a half
    sequence: NDArray[np.int64]  # [n]
    away: NDArray[np.bool_]  # [n] whether another scene was shown


def fit_logistic(terms: Floats, good: Floats, ridge: float = 1e-3, rounds: int = 60) -> Floats:
    """Weights of greatest likelihood, but for a weak pull of all but the bias towards zero (Newton's method)."""
    weights = np.zeros(terms.shape[1])
    pull = ridge * len(good) * np.diag([0.0, *[1.0] * (terms.shape[1] - 1)])
    for _ in range(rounds):
        chance = logistic(terms @ weights)
        slope = terms.T @ (chance - good) + pull @ weights
        curvature = (terms * (chance * (1 - chance))[:, None]).T @ terms + pull + 1e-9 * np.eye(len(weights))
        weights = weights - np.linalg.solve(curvature, slope)
    return weights


def logistic(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -30, 30))))


def calibration_error(said: Floats, good: Floats, bins: int = 10) -> float:
    """Expected calibration error: mean distance of what is said from how often it is so, over bins of what is said."""
    which = np.clip((said * bins).astype(int), 0, bins - 1)
    used = [which == number for number in range(bins) if (which == number).any()]
    return float(sum(abs(said[one].mean() - good[one].mean()) * one.mean() for one in used))


def left_out(samples: Samples) -> Floats:
    """What a logistic fitted on the other sequences says: [n]."""
    said = np.zeros(len(samples.good))
    for number in np.unique(samples.sequence):
        out = samples.sequence == number
        said[out] = logistic(samples.terms[out] @ fit_logistic(samples.terms[~out], samples.good[~out]))
    return said


# --------------------------------------------------------------------------- gathering
def gather(sequences: Sequence[VideoSequence], config: TrackerConfig, frames: int) -> Samples:
    tracker = Tracker(config.override(tell_below=0.0, tell_margin=0.0))  # the told box depends on what is fitted here
    rows: list[tuple[list[float], float, float, int, bool]] = []
    for number, sequence in enumerate(sequences):
        other = sequences[(number + max(1, len(sequences) // 3)) % len(sequences)]
        for result, truth in watch(tracker, sequence, other, frames):
            overlap = 0.0 if truth is None else result.box.overlap(truth)
            step = tracker._last
            assert step is not None
            terms = confidence_terms(step.reading.evidence, config)
            rows.append((list(terms), result.confidence, float(overlap > GOOD), number, truth is None))
        print(f"{number + 1}/{len(sequences)} {sequence.name}: {len(rows)} frames", flush=True)
    terms, said, good, which, away = zip(*rows, strict=True)
    return Samples(np.array(terms), np.array(said), np.array(good), np.array(which), np.array(away))


def watch(
    tracker: Tracker, sequence: VideoSequence, other: VideoSequence, frames: int
) -> Iterator[tuple[Result, Box | None]]:
    """Answers and the truth; None while another scene is shown, after which the tracker is as it was before."""
    lost_for, since_start, shown_other = 0, 0, False
    for frame, truth in islice(pictures(sequence), frames):
        if since_start == 0:
            tracker.init(frame, truth)
            since_start, lost_for = 1, 0
            continue
        result = tracker.update(frame)
        yield result, truth
        lost_for = lost_for + 1 if result.box.overlap(truth) <= 0 else 0
        since_start = 0 if lost_for >= LOST_FOR else since_start + 1
        if since_start == AWAY_AFTER and not shown_other:
            shown_other, before = True, tracker.state()
            height, width = frame.shape[:2]
            for strange, _ in islice(pictures(other), 5, 5 + AWAY_FOR):
                yield tracker.update(cv2.resize(strange, (width, height))), None
            tracker._target = Tracker.from_state(before, weights=tracker._weights)._target


def pictures(sequence: VideoSequence) -> Iterator[tuple[Frame, Box]]:
    for path, truth in zip(sequence.frames, sequence.ground_truth, strict=True):
        if truth is not None:
            yield as_bgr(cv2.imread(str(path))), Box.around(truth)


# --------------------------------------------------------------------------- telling
def report(samples: Samples) -> str:
    said = left_out(samples)
    lines = [f"{len(samples.good)} frames, {samples.away.sum()} of them of another scene"]
    lines.append("| confidence | frames | overlap above 0.5 |\n|---|---:|---:|")
    for low in np.arange(0.0, 1.0, 0.1):
        chosen = (samples.said >= low) & (samples.said < low + 0.1 + (1e-9 if low > 0.85 else 0))
        share = f"{samples.good[chosen].mean():.2f}" if chosen.any() else "–"
        lines.append(f"| {low:.1f}–{low + 0.1:.1f} | {chosen.sum()} | {share} |")
    weights = ", ".join(f"{weight:.2f}" for weight in fit_logistic(samples.terms, samples.good))
    lines.append(f"expected calibration error of what was said: {calibration_error(samples.said, samples.good):.3f}")
    lines.append(f"… of weights fitted on the other sequences: {calibration_error(said, samples.good):.3f}")
    lines.append(f"weights fitted on all: ({weights})")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="a folder of sequences in VOT's layout")
    parser.add_argument("--frames", type=int, default=160, help="of each sequence, at most")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the tracker")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="write terms and truths here, as JSON")
    options = parser.parse_args(arguments)
    wait_briefly()
    use_threads(options.threads)
    config = TrackerConfig.profile("default").override_from_text(options.set)
    samples = gather(find_sequences(options.data), config, options.frames)
    print(report(samples))
    if options.out is not None:
        content = {name: values.tolist() for name, values in vars(samples).items()}
        write_atomically(options.out, json.dumps(content).encode())


if __name__ == "__main__":
    main()
