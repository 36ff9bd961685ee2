"""Small experiments with known outcomes, to be reported on, and a reader of the page that a report is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

from tracking_parts.evaluation.one_pass import run_one_pass
from tracking_parts.evaluation.protocol import OnePassProtocol, Protocol, ResetProtocol
from tracking_parts.evaluation.reset import run_reset
from tracking_parts.evaluation.scoring import TrackerRuns, load_runs
from tracking_parts.evaluation.trackers import choose_tracker
from tracking_parts.evaluation.trajectory import write_trajectory
from tracking_parts.io.sequences import find_sequences

RESET = ResetProtocol("short", (3, 10), skip=3, burn_in=1)
ONE_PASS = OnePassProtocol("once", lost_for=3)
PERFECT, STILL, LOST = "identity", "trackers_for_tests:StandsStill", "trackers_for_tests:LosesAtOnce"
# What somebody might call a tracker, a sequence or a machine.
HOSTILE = """<script>alert(1)</script>"'><img src=x onerror=alert(2)>&lt;|`*_[a](b)\n# x"""


def run_trackers(
    data: Path, out: Path, protocol: Protocol, trackers: tuple[str, ...] = (PERFECT, STILL, LOST), repetitions: int = 1
) -> list[TrackerRuns]:
    """Run small trackers here and now, and read the results back; in the order given, which decides the colours."""
    for text in trackers:
        choice = choose_tracker(text)
        for sequence in find_sequences(data):
            if isinstance(protocol, ResetProtocol):
                trajectory = run_reset(choice.factory, sequence, protocol)
            else:
                trajectory = run_one_pass(choice.factory, sequence, protocol)
            for number in range(1, repetitions + 1):
                folder = out / choice.spec.folder_name / sequence.name
                write_trajectory(folder / f"{sequence.name}_{number:03d}.txt", trajectory)
    names = {choose_tracker(text).spec.folder_name: text for text in trackers}
    found = {one.folder.name: one for one in load_runs(out, data, protocol)}
    return [replace(found[folder], name=text) for folder, text in names.items()]


def renamed(tracker: TrackerRuns, name: str, sequences: Mapping[str, str] | None = None) -> TrackerRuns:
    """The same results under other names."""
    runs = tuple(
        replace(run, sequence=replace(run.sequence, name=(sequences or {}).get(run.sequence.name, run.sequence.name)))
        for run in tracker.runs
    )
    return replace(tracker, name=name, runs=runs)


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]


@dataclass
class Page(HTMLParser):
    """A page as a browser would take it apart: elements in order, and all text."""

    source: str
    elements: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    _in_cell: bool = False

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._in_cell:
            self.rows[-1][-1] += data

    def all(self, *tags: str) -> list[Element]:
        return [element for element in self.elements if element.tag in tags]

    @property
    def text(self) -> str:
        return " ".join(self.texts)
