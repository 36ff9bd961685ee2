"""``stp bench paper``: everything that the paper reports, run and written into one report.

Results lie in ``OUT/<data set>/<tracker>/…`` in VOT's layout, so each data set's folder can also be scored by itself,
and a second run goes on where the first stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tracking_parts.errors import FormatError
from tracking_parts.evaluation.paper_plan import Estimate, PaperPlan, estimate, spread_subset
from tracking_parts.evaluation.paper_report import MeasuredSet, paper_sections
from tracking_parts.evaluation.protocol import load_reset_protocol
from tracking_parts.evaluation.report import Section
from tracking_parts.evaluation.report.page import write_page
from tracking_parts.evaluation.report.provenance_section import conventions_section, provenance_section
from tracking_parts.evaluation.report.reset_sections import reset_sections
from tracking_parts.evaluation.runner import Outcome, run
from tracking_parts.evaluation.scoring import load_runs
from tracking_parts.evaluation.tasks import limit_threads
from tracking_parts.io.sequences import Sequence as DataSequence
from tracking_parts.io.sequences import find_sequences


@dataclass(frozen=True, slots=True)
class PaperData:
    """A data set of the paper: its name, which is also its protocol's, and where it lies."""

    name: str
    folder: Path
    subset: int | None = None

    def sequences(self) -> list[DataSequence]:
        return spread_subset(find_sequences(self.folder), self.subset)


def estimate_paper(
    plan: PaperPlan, data_sets: list[PaperData], out: Path, repetitions: int, threads: int
) -> list[Estimate]:
    """What is left to do, tracker by tracker; probes run with the threads that a worker will have."""
    limit_threads(threads)
    return [
        one
        for data in data_sets
        for one in estimate(
            plan.trackers,
            data.name,
            data.sequences(),
            out / data.name,
            repetitions,
            load_reset_protocol(data.name).init_box,
        )
    ]


def run_paper(
    plan: PaperPlan,
    data_sets: list[PaperData],
    out: Path,
    run_options: Mapping[str, object],
    **callbacks: Callable[..., None],
) -> list[Outcome]:
    """Run what is missing; ``run_options`` and ``callbacks`` go to :func:`tracking_parts.evaluation.runner.run`."""
    outcomes: list[Outcome] = []
    for data in data_sets:
        names = [sequence.name for sequence in data.sequences()]
        outcomes += run(
            plan.trackers,
            data.folder,
            out / data.name,
            sequences=names,
            protocol=load_reset_protocol(data.name),
            **run_options,  # type: ignore[arg-type]
            **callbacks,  # type: ignore[arg-type]
        )
    return outcomes


def write_paper_report(plan: PaperPlan, data_sets: list[PaperData], out: Path, to: Path, command: str) -> list[Path]:
    """The paper's tables first, then the whole report of each data set."""
    measured = [_measure(plan, data, out) for data in data_sets]
    details = [_details(plan, one, command) for one in measured]
    title = "Society of Tracking Parts: the paper's tables, measured"
    sections = [*paper_sections(plan, measured), *details, conventions_section(measured[0].protocol)]
    return write_page(to, title, plan.ours, sections)


def _measure(plan: PaperPlan, data: PaperData, out: Path) -> MeasuredSet:
    protocol = load_reset_protocol(data.name)
    names = {sequence.name for sequence in data.sequences()}
    order = {name: index for index, name in enumerate(plan.identities)}
    found = [one.only(names) for one in load_runs(out / data.name, data.folder, protocol) if one.name in order]
    if not any(one.runs for one in found):
        raise FormatError(f"no results of {plan.ours} or its versions and peers in {out / data.name}")
    found.sort(key=lambda one: order[one.name])
    return MeasuredSet(data.name, protocol, {one.name: one for one in found if one.runs})


def _details(plan: PaperPlan, measured: MeasuredSet, command: str) -> Section:
    trackers = list(measured.trackers.values())
    sections = reset_sections(
        trackers, measured.protocol, against=plan.ours if plan.ours in measured.trackers else None
    )
    return Section(f"{measured.name} in detail", (provenance_section(trackers, measured.protocol, command), *sections))
