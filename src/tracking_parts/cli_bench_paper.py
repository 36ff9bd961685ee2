"""``stp bench paper`` and ``stp bench gate``: parsing and printing only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tracking_parts.cli_bench import (
    Address,
    DataFolder,
    EngineName,
    EngineOption,
    OutFolder,
    Processes,
    Repetitions,
    Seed,
    Threads,
)


def paper_command(
    out: OutFolder,
    vot2016: Annotated[Path | None, typer.Option(help="Folder of VOT2016's sequences.")] = None,
    vot2017: Annotated[Path | None, typer.Option(help="Folder of VOT2017's sequences.")] = None,
    subset: Annotated[int | None, typer.Option(min=1, help="Only so many sequences, spread over the set.")] = None,
    profile: Annotated[str, typer.Option(help="Profile whose versions are compared.")] = "default",
    peers: Annotated[
        str | None,
        typer.Option(help="Peers, separated by commas; 'none' for none.", show_default="all that can be run here"),
    ] = None,
    processes: Processes = None,
    threads: Threads = None,
    repetitions: Repetitions = 1,
    seed: Seed = 0,
    engine: EngineName = EngineOption.LOCAL,
    address: Address = None,
    plan_only: Annotated[bool, typer.Option("--plan", help="Say what it would take, and stop.")] = False,
    report_only: Annotated[bool, typer.Option("--report", help="Report on what is there, and run nothing.")] = False,
) -> None:
    """Run all that the paper reports and write one page: tables 1 to 4, speed, the parallel version, its figures.

    Says what it will take before it starts; run again to continue.

    Example: stp bench paper --vot2016 vot2016 --out out/paper --processes 2
    """
    from tracking_parts.cli_bench_display import BenchDisplay, command_line, print_estimates, report_outcomes
    from tracking_parts.errors import ConfigError
    from tracking_parts.evaluation.paper import PaperData, estimate_paper, run_paper, write_paper_report
    from tracking_parts.evaluation.paper_plan import available_peers, plan_paper

    folders = {"vot2016": vot2016, "vot2017": vot2017}
    data_sets = [PaperData(name, folder, subset) for name, folder in folders.items() if folder is not None]
    if not data_sets:
        raise ConfigError("give the folder of a data set: --vot2016 FOLDER, --vot2017 FOLDER or both")
    named = available_peers() if peers is None else [one.strip() for one in peers.split(",") if one.strip() != "none"]
    plan = plan_paper(profile, [one for one in named if one])
    complete = True
    if not report_only:
        workers = processes or 1
        per_worker = threads or max(1, (os.cpu_count() or 1) // workers)
        print_estimates(estimate_paper(plan, data_sets, out, repetitions, per_worker), workers)
        if plan_only:
            return
        options = {"processes": processes, "threads": threads, "seed": seed, "repetitions": repetitions}
        with BenchDisplay() as display:
            outcomes = run_paper(
                plan,
                data_sets,
                out,
                {**options, "engine": engine.value, "address": address},
                on_plan=display.plan,
                on_progress=display.show,
            )
        complete = report_outcomes(outcomes, out)
    for path in write_paper_report(plan, data_sets, out, out / "paper.html", command_line()):
        typer.echo(f"written {path}")
    if not complete:
        raise typer.Exit(1)


def gate_command(
    data: DataFolder,
    metrics: Annotated[Path, typer.Option(help="The committed figures.")] = Path("benchmarks/gate.json"),
    processes: Processes = None,
    update: Annotated[bool, typer.Option("--update", help="Write what is measured now into the file.")] = False,
) -> None:
    """Fail where the tracker got worse on a few short sequences than the committed figures say.

    Example: stp bench gate --data vot2016 --processes 2
    """
    from dataclasses import replace
    from tempfile import TemporaryDirectory

    from tracking_parts.cli_display import complain
    from tracking_parts.evaluation.gate import compare, measure, read_gate, write_gate

    gate = read_gate(metrics)
    with TemporaryDirectory() as scratch:
        measured = measure(gate, data, Path(scratch), processes or 1)
    for name, now in measured.items():
        before = gate.sequences[name]
        typer.echo(
            f"{name}: {now.failures} failures (committed {before.failures}), "
            f"overlap {now.overlap:.3f} (committed {before.overlap:.3f})"
        )
    if update:
        write_gate(metrics, replace(gate, sequences=measured))
        typer.echo(f"written {metrics}")
        return
    problems = compare(gate, measured)
    for problem in problems:
        complain(problem)
    if problems:
        raise typer.Exit(1)
