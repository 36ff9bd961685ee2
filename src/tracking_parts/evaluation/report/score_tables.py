"""The tables of a report by themselves, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from tracking_parts.evaluation.protocol import OnePassProtocol, Protocol
from tracking_parts.evaluation.report import one_pass_sections, reset_sections
from tracking_parts.evaluation.report.common_sections import find_peer
from tracking_parts.evaluation.report.content import Table
from tracking_parts.evaluation.report.paired_sections import paired_table
from tracking_parts.evaluation.scoring import TrackerRuns
from tracking_parts.evaluation.statistics import headline_intervals


def score_tables(
    trackers: Sequence[TrackerRuns], protocol: Protocol, by_sequence: bool = False, against: str | None = None
) -> list[Table]:
    """The headline; on request every sequence, and the test of all trackers against one."""
    if isinstance(protocol, OnePassProtocol):
        return _one_pass_tables(trackers, protocol, by_sequence, against)
    headlines = [headline_intervals(one.groups, protocol.eao_interval, protocol.burn_in) for one in trackers]
    tables = [reset_sections.headline_table(trackers, headlines)]
    if by_sequence:
        tables += reset_sections.sequence_tables(trackers, protocol)
    if against is not None:
        peer = find_peer(trackers, against, [one.eao.value for one in headlines])
        tables.append(paired_table(trackers, peer, protocol))
    return tables


def _one_pass_tables(
    trackers: Sequence[TrackerRuns], protocol: OnePassProtocol, by_sequence: bool, against: str | None
) -> list[Table]:
    scored = one_pass_sections.score_all(trackers, protocol)
    tables = [one_pass_sections.headline_table(scored, protocol)]
    if by_sequence:
        tables += one_pass_sections.sequence_tables(scored, protocol)
        tables.append(one_pass_sections.lost_table(trackers, protocol))
    if against is not None:
        peer = find_peer(trackers, against, [one.intervals.auc.value for one in scored])
        tables.append(one_pass_sections.paired_table(scored, peer, protocol))
    return tables
