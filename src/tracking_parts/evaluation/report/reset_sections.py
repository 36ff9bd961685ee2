"""The report of a reset-based experiment: VOT's figures with their intervals, and where the failures are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracking_parts.evaluation import measures
from tracking_parts.evaluation.attributes import AttributeFigures, attribute_figures
from tracking_parts.evaluation.protocol import ResetProtocol
from tracking_parts.evaluation.report.charts import (
    Curve,
    Frame,
    Mark,
    curve_chart,
    point_chart,
    ranking_chart,
    shading_words,
)
from tracking_parts.evaluation.report.common_sections import failure_galleries, speed_section
from tracking_parts.evaluation.report.content import Part, Section, Table
from tracking_parts.evaluation.report.paired_sections import paired_section
from tracking_parts.evaluation.report.sequence_charts import Dots, dot_chart
from tracking_parts.evaluation.report.tables import (
    MORE_IS_BETTER,
    MORE_IS_WORSE,
    heat_table,
    interval_columns,
    is_repeated,
    keys_of,
    speed_interval,
)
from tracking_parts.evaluation.report.thumbnails import Failure
from tracking_parts.evaluation.scoring import TrackerRuns
from tracking_parts.evaluation.statistics import HeadlineIntervals, Interval, headline_intervals, resample_counts

# VOT's accuracy–robustness plots show the chance to survive so many frames.
RELIABILITY_FRAMES = 30
SAMPLES, LEVEL = 1000, 0.95


def reset_sections(trackers: Sequence[TrackerRuns], protocol: ResetProtocol, against: str | None) -> list[Section]:
    """All sections but the first; the headline comes first."""
    headlines = [headline_intervals(tracker.groups, protocol.eao_interval, protocol.burn_in) for tracker in trackers]
    sections = [
        _headline_section(trackers, headlines),
        _expected_overlap_section(trackers, headlines, protocol),
        _accuracy_robustness_section(trackers, headlines),
    ]
    if len(trackers) > 1:
        sections.append(paired_section(trackers, headlines, protocol, against))
    sections.append(Section("Per sequence", tuple(sequence_tables(trackers, protocol))))
    sections.append(_failure_section(trackers))
    sections += _attribute_section(trackers, protocol)
    sections.append(speed_section(trackers))
    return sections


def headline_table(trackers: Sequence[TrackerRuns], headlines: Sequence[HeadlineIntervals]) -> Table:
    columns = {
        "EAO": ([one.eao for one in headlines], 3, True),
        "A": ([one.accuracy for one in headlines], 3, True),
        "failures": ([one.failures for one in headlines], int(is_repeated(trackers)), False),
        "R": ([one.robustness for one in headlines], 2, False),
        "R*": ([one.robustness_star for one in headlines], 3, False),
        "fps": ([speed_interval(tracker) for tracker in trackers], 1, True),
    }
    return Table.of(
        "All sequences, with 95 % intervals",
        ("tracker", *columns),
        interval_columns(trackers, columns),
        "Small print: 95 % bootstrap interval over sequences, all repetitions of a sequence together. It says what "
        "another choice of such sequences would give.",
        "EAO and A: more is better. Failures in one pass through the data, R (per sequence) and R* (per hundred "
        "frames): less is better. Bold: best of the column, whether or not the difference means anything.",
    )


def _headline_section(trackers: Sequence[TrackerRuns], headlines: Sequence[HeadlineIntervals]) -> Section:
    table = headline_table(trackers, headlines)
    words = (
        "Overlapping intervals do not show that trackers are equal, nor does a bold figure show that one is better: "
        "the paired comparison below, on the sequences that both met, is the sharper question."
    )
    return Section("Headline figures", (table, words) if len(trackers) > 1 else (table,))


def _expected_overlap_section(
    trackers: Sequence[TrackerRuns], headlines: Sequence[HeadlineIntervals], protocol: ResetProtocol
) -> Section:
    low, high = protocol.eao_interval
    curves = [_expected_overlap(tracker, slot, high) for slot, tracker in enumerate(trackers)]
    drawn = curve_chart(
        Frame(
            "Expected overlap against the length of the sequence",
            f"Mean overlap to expect on a sequence of each length, without restarts. EAO is the mean over {low} to "
            f"{high} frames (grey). {shading_words(len(curves))}",
            "sequence length in frames",
            "expected overlap",
        ),
        curves,
        marked=(low, high),
    )
    marks = [
        Mark(tracker.name, slot, one.eao) for slot, (tracker, one) in enumerate(zip(trackers, headlines, strict=True))
    ]
    ranking = ranking_chart(
        Frame(
            "EAO ranking, the best on the right",
            "EAO with its 95 % interval; ranked from the right, as VOT draws it.",
            "rank",
            "EAO",
        ),
        marks,
    )
    parts: list[Part] = [drawn, _reach_words(trackers, high), ranking]
    return Section("Expected overlap", tuple(parts))


def _reach_words(trackers: Sequence[TrackerRuns], high: int) -> str:
    longest = max(run.score.length for tracker in trackers for run in tracker.runs)
    segments = sum(len(run.score.starts) for run in trackers[0].runs)
    short = (
        f" The longest sequence has {longest} frames, fewer than the {high} that EAO asks for."
        if longest < high
        else ""
    )
    return (
        f"Each curve rests on the stretches from a start to a failure or to the end ({segments} of them for "
        f"{trackers[0].name}); the longer the length, the fewer say anything about it.{short}"
    )


def _expected_overlap(tracker: TrackerRuns, slot: int, longest: int) -> Curve:
    sums = [measures.expected_overlap_sums(group, longest) for group in tracker.groups]
    totals = np.array([total[2:] for total, _ in sums])
    known = np.array([weight[2:] for _, weight in sums])
    curve = _ratio(totals.sum(axis=0), known.sum(axis=0))
    band: tuple[list[float], list[float]] = ([], [])
    if len(sums) > 1:
        counts = resample_counts(len(sums), SAMPLES, LEVEL, seed=0).astype(np.float64)
        band = _quantiles(_ratio(counts @ totals, counts @ known))
    return Curve(tracker.name, slot, list(range(2, longest + 1)), curve.tolist(), *band)


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def _quantiles(resampled: NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """The band at each length: only of the resamples that say something about it."""
    low, high = [], []
    for column in resampled.T:
        said = column[~np.isnan(column)]
        ends = np.quantile(said, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if len(said) else (math.nan, math.nan)
        low.append(float(ends[0]))
        high.append(float(ends[1]))
    return low, high


def _accuracy_robustness_section(trackers: Sequence[TrackerRuns], headlines: Sequence[HeadlineIntervals]) -> Section:
    marks = [
        Mark(tracker.name, slot, one.accuracy, reliability(one.robustness_star))
        for slot, (tracker, one) in enumerate(zip(trackers, headlines, strict=True))
    ]
    frame = Frame(
        "Accuracy against robustness",
        f"Upwards: overlap while tracking (A). To the right: the chance to follow {RELIABILITY_FRAMES} frames without "
        f"a failure, exp(−{RELIABILITY_FRAMES} × failures / frames), as in VOT. Best at the top right; lines are 95 % "
        "intervals.",
        f"reliability over {RELIABILITY_FRAMES} frames",
        "accuracy",
    )
    return Section("Accuracy and robustness", (point_chart(frame, marks),))


def reliability(per_hundred_frames: Interval) -> Interval:
    """R* as VOT's reliability: more failures, less of it, so the bounds change places."""

    def survive(rate: float) -> float:
        return math.exp(-RELIABILITY_FRAMES * rate / 100)

    return Interval(
        survive(per_hundred_frames.value), survive(per_hundred_frames.high), survive(per_hundred_frames.low)
    )


def sequence_tables(trackers: Sequence[TrackerRuns], protocol: ResetProtocol) -> list[Table]:
    """Failures and overlap of every tracker on every sequence."""
    names = list(dict.fromkeys(name for tracker in trackers for name in tracker.by_sequence))
    failures = {name: [_failures(tracker, name) for tracker in trackers] for name in names}
    overlaps = {name: [_overlap(tracker, name, protocol.burn_in) for tracker in trackers] for name in names}
    lengths = {run.sequence.name: str(run.score.length) for tracker in trackers for run in tracker.runs}
    digits, mean = (1, ", mean over repetitions") if is_repeated(trackers) else (0, "")
    return [
        heat_table(f"Failures{mean}", "sequence", trackers, failures, lengths, digits, MORE_IS_WORSE),
        heat_table(f"Overlap while tracking{mean}", "sequence", trackers, overlaps, lengths, 3, MORE_IS_BETTER),
    ]


def _failures(tracker: TrackerRuns, name: str) -> float:
    runs = tracker.by_sequence.get(name, ())
    return measures.mean_failures([[run.score for run in runs]]) if runs else math.nan


def _overlap(tracker: TrackerRuns, name: str, burn_in: int) -> float:
    return measures.accuracy([run.score for run in tracker.by_sequence.get(name, ())], burn_in)


def _failure_section(trackers: Sequence[TrackerRuns]) -> Section:
    failures = [
        Failure(run, frame, slot)
        for slot, tracker in enumerate(trackers)
        for run in tracker.runs
        for frame in run.score.failures
    ]
    words = (
        "The frame of each failure, cut around the object. White: ground truth in that frame. Coloured: the tracker's "
        "last regions before it, the latest with the thickest line. VOT's result files hold no region for the frame of "
        "a failure itself, so what the tracker answered there is not shown."
    )
    return Section("Failures", (words, *failure_galleries(trackers, failures, "failures")))


def _attribute_section(trackers: Sequence[TrackerRuns], protocol: ResetProtocol) -> list[Section]:
    figures = [
        attribute_figures(
            [(run.score, run.sequence.attributes) for run in tracker.runs], protocol.eao_interval, protocol.burn_in
        )
        for tracker in trackers
    ]
    by_name = [{one.name: one for one in found} for found in figures]
    names = list(dict.fromkeys(one.name for found in figures for one in found))
    if not names:
        return []

    def rows(field: str) -> dict[str, list[float]]:
        return {
            name: [float(getattr(found[name], field)) if name in found else math.nan for found in by_name]
            for name in names
        }

    rates = rows("failures_per_hundred_frames")
    chart = dot_chart(
        Frame(
            "Failures per hundred frames by attribute",
            "Failures in frames with the attribute, per hundred such frames. “empty”: frames with none of them.",
            "failures per 100 frames with the attribute",
        ),
        keys_of(trackers),
        [Dots(name, tuple(values)) for name, values in rates.items()],
    )
    words = (
        "A failure belongs to the attributes of the frame it happens in; a frame may have several. For EAO a stretch "
        "of tracking weighs by the share of its frames with the attribute. Rare attributes rest on few frames."
    )
    frames = _frame_words(by_name, names)
    tables = (
        heat_table("Failures per 100 frames", "attribute", trackers, rates, frames, 2, MORE_IS_WORSE),
        heat_table("A", "attribute", trackers, rows("accuracy"), frames, 3, MORE_IS_BETTER),
        heat_table("EAO", "attribute", trackers, rows("eao"), frames, 3, MORE_IS_BETTER),
    )
    return [Section("Attributes", (words, chart, *tables))]


def _frame_words(by_name: Sequence[dict[str, AttributeFigures]], names: Sequence[str]) -> dict[str, str]:
    """How many frames each attribute rests on; more than one number where trackers differ in what they ran."""
    words = {}
    for name in names:
        counts = sorted({found[name].frames for found in by_name if name in found})
        words[name] = "–".join(map(str, counts))
    return words
