"""Each tracker against one peer on the sequences that both have: tests of the differences, and where they come from."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracking_parts.evaluation import measures
from tracking_parts.evaluation.protocol import ResetProtocol
from tracking_parts.evaluation.report.charts import Frame
from tracking_parts.evaluation.report.common_sections import find_peer, peer_words
from tracking_parts.evaluation.report.content import Cell, Chart, Key, Notice, Part, Section, Table
from tracking_parts.evaluation.report.sequence_charts import Difference, difference_chart
from tracking_parts.evaluation.report.tables import interval_text, is_repeated
from tracking_parts.evaluation.scoring import TrackerRuns, figure, shared_sequences
from tracking_parts.evaluation.statistics import HeadlineIntervals, PairedFigure, paired_test

PAIRED_NOTES = (
    "Small print: 95 % bootstrap interval of the difference, the same resampled sequences for both.",
    "p: two-sided, by swapping the two trackers' results at random per sequence (all swaps where there are few). "
    "Several trackers and figures are several tests: one small p among many is expected by chance.",
)


def paired_section(
    trackers: Sequence[TrackerRuns],
    headlines: Sequence[HeadlineIntervals],
    protocol: ResetProtocol,
    against: str | None,
) -> Section:
    peer = find_peer(trackers, against, [one.eao.value for one in headlines])
    parts: list[Part] = [peer_words(trackers, peer, against, "EAO"), paired_table(trackers, peer, protocol)]
    for slot, tracker in enumerate(trackers):
        names = shared_sequences((tracker, trackers[peer]))
        if slot == peer:
            continue
        if not names:
            parts.append(Notice(f"{tracker.name} and {trackers[peer].name} share no sequence: nothing to compare."))
            continue
        chart = _differences(tracker, slot, trackers[peer], peer, names, protocol.burn_in)
        parts.append(Section(f"{tracker.name}, sequence by sequence", (chart,)))
    return Section(f"Against {trackers[peer].name}", tuple(parts))


def paired_table(trackers: Sequence[TrackerRuns], peer: int, protocol: ResetProtocol) -> Table:
    """Every tracker's differences from the peer, on the sequences that both have."""
    rows = []
    for slot, tracker in enumerate(trackers):
        names = shared_sequences((tracker, trackers[peer]))
        if slot != peer and names:
            rows.append(_test_row(tracker, slot, trackers[peer], names, protocol))
    return Table.of(
        f"Paired differences: tracker minus {trackers[peer].name}",
        ("tracker", "sequences", "Δ EAO", "p", "Δ A", "p", "Δ failures", "p"),
        rows,
        *PAIRED_NOTES,
    )


def _test_row(
    tracker: TrackerRuns, slot: int, peer: TrackerRuns, names: Sequence[str], protocol: ResetProtocol
) -> list[Cell | str]:
    first, second = ({name: [run.score for run in one.by_sequence[name]] for name in names} for one in (tracker, peer))
    test = paired_test(first, second, protocol.eao_interval, protocol.burn_in)
    cells: list[Cell | str] = [Cell(tracker.name, slot=slot), str(len(names))]
    for paired, digits in ((test.eao, 3), (test.accuracy, 3), (test.failures, int(is_repeated((tracker, peer))))):
        cells += difference_cells(paired, digits)
    return cells


def difference_cells(paired: PairedFigure, digits: int) -> list[Cell | str]:
    value = paired.difference.value
    text = "–" if math.isnan(value) else f"{value:+.{digits}f}".replace("-", "−")
    return [Cell(text, interval_text(paired.difference, digits)), p_text(paired.p)]


def p_text(p: float) -> str:
    """
    >>> p_text(0.0001)
    '< 0.001'
    """
    return "< 0.001" if p < 0.001 else figure(p, 3)


def _differences(
    tracker: TrackerRuns, slot: int, peer: TrackerRuns, peer_slot: int, names: Sequence[str], burn_in: int
) -> Chart:
    rows = [_difference(name, tracker, peer, burn_in) for name in names]
    rows.sort(key=lambda row: tuple(-value if math.isfinite(value) else 0.0 for value in row.better_by))
    return difference_chart(
        Frame(
            f"{tracker.name} against {peer.name}, sequence by sequence",
            f"Right: {tracker.name} is better; left: {peer.name} is. Failures: how many fewer; overlap: how much more "
            "while tracking. Sorted by failures, then overlap. A tracker that is started again more often flatters "
            "its overlap.",
        ),
        ("failures", "overlap"),
        (Key(tracker.name, slot), Key(peer.name, peer_slot)),
        rows,
    )


def _difference(name: str, tracker: TrackerRuns, peer: TrackerRuns, burn_in: int) -> Difference:
    ours, theirs = ([run.score for run in one.by_sequence[name]] for one in (tracker, peer))
    failures = (measures.mean_failures([ours]), measures.mean_failures([theirs]))
    overlaps = (measures.accuracy(ours, burn_in), measures.accuracy(theirs, burn_in))
    return Difference(
        name,
        (failures[1] - failures[0], overlaps[0] - overlaps[1]),
        (f"{failures[0]:g} and {failures[1]:g} failures", f"overlap {overlaps[0]:.3f} and {overlaps[1]:.3f}"),
    )
