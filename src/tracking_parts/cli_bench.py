"""``stp bench``: parsing and printing only.

The evaluation is imported inside the commands: ``stp --help`` must not wait for torch.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tracking_parts.cli_help import DescribedCommand

bench_app = typer.Typer(help="Compare trackers on sequences with ground truth.", no_args_is_help=True)


class InitBoxOption(str, Enum):
    AREA = "area"
    ENCLOSING = "enclosing"


class EngineOption(str, Enum):
    LOCAL = "local"
    RAY = "ray"


DataFolder = Annotated[Path, typer.Option(help="Folder of sequences (VOT, OTB or GOT-10k layout).")]
OutFolder = Annotated[Path, typer.Option(help="Folder of results; finished sequences in it are not run again.")]
ProtocolName = Annotated[str, typer.Option(help="vot2016, vot2017, ope, noreset, or the path of a YAML file.")]
Processes = Annotated[
    int | None, typer.Option(min=1, help="How many sequences are run at once.", show_default="1; on Ray all there is")
]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Threads of each process.", show_default="the cores, shared out; 1 on Ray")
]
Repetitions = Annotated[int, typer.Option(min=1, help="Runs of each sequence, each with the next seed.")]
Seed = Annotated[int, typer.Option(help="Seed of our tracker.")]
EngineName = Annotated[EngineOption, typer.Option(help="local: processes of this machine; ray: a Ray cluster.")]
Address = Annotated[
    str | None, typer.Option(help="Address of the Ray cluster; folders must be the same on every node.")
]
TrackersChosen = Annotated[
    list[str] | None, typer.Option("--tracker", help="Only this one; may be given several times.")
]


@bench_app.command("run", cls=DescribedCommand)
def run_command(
    trackers: Annotated[
        list[str],
        typer.Argument(
            metavar="TRACKERS...",
            help="stp:PROFILE, stp:PROFILE?KEY=VALUE&KEY=VALUE, opencv:csrt|kcf|mil|mosse|medianflow, "
            "opencv:nano|vit (ONNX files in the folder STP_PEER_MODELS), dlib:correlation, identity, or "
            "package.module:Class.",
        ),
    ],
    data: DataFolder,
    out: OutFolder,
    protocol: ProtocolName = "vot2016",
    processes: Processes = None,
    threads: Threads = None,
    repetitions: Repetitions = 1,
    sequences: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    seed: Seed = 0,
    init_box: Annotated[
        InitBoxOption | None,
        typer.Option(help="Upright box that a tracker gets for a rotated ground truth.", show_default="the protocol's"),
    ] = None,
    engine: EngineName = EngineOption.LOCAL,
    address: Address = None,
) -> None:
    """Run TRACKERS over the sequences of a folder; run again to continue.

    Example: stp bench run stp:default "stp:default?alpha=1" opencv:csrt --data vot2016 --out out/bench
    """
    from tracking_parts.cli_bench_display import BenchDisplay, report_outcomes
    from tracking_parts.evaluation.protocol import load_protocol
    from tracking_parts.evaluation.runner import run

    rules = load_protocol(protocol)
    chosen = [name.strip() for name in sequences.split(",") if name.strip()] if sequences is not None else None
    with BenchDisplay() as display:
        outcomes = run(
            trackers,
            data,
            out,
            processes=processes,
            threads=threads,
            seed=seed,
            sequences=chosen,
            protocol=rules if init_box is None else replace(rules, init_box=init_box.value),
            repetitions=repetitions,
            engine=engine.value,
            address=address,
            on_plan=display.plan,
            on_progress=display.show,
        )
    if not report_outcomes(outcomes, out):
        raise typer.Exit(1)


@bench_app.command("score")
def score_command(
    out: OutFolder,
    data: DataFolder,
    protocol: ProtocolName = "vot2016",
    trackers: TrackersChosen = None,
    by_sequence: Annotated[bool, typer.Option("--by-sequence", help="Show every sequence too.")] = False,
    against: Annotated[str | None, typer.Option(help="Test the others against this tracker.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Score the results in a folder, yours or anybody's in VOT's layout, with 95 % intervals over sequences.

    Example: stp bench score --out out/bench --data vot2016 --against opencv:csrt
    """
    from tracking_parts.cli_bench_display import print_table
    from tracking_parts.cli_display import complain
    from tracking_parts.evaluation.protocol import load_protocol
    from tracking_parts.evaluation.ranking import ranked
    from tracking_parts.evaluation.report.markdown import markdown_table
    from tracking_parts.evaluation.report.score_tables import score_tables
    from tracking_parts.evaluation.scoring import load_runs

    rules = load_protocol(protocol)
    found = ranked(load_runs(out, data, rules, trackers), rules)
    for table in score_tables(found, rules, by_sequence, against):
        if markdown:
            typer.echo(markdown_table(table) + "\n")
        else:
            print_table(table)
    if len({frozenset(tracker.by_sequence) for tracker in found}) > 1:
        complain("note: the trackers were run on different sequences; their figures do not compare")


@bench_app.command("report")
def report_command(
    out: OutFolder,
    data: DataFolder,
    protocol: ProtocolName = "vot2016",
    trackers: TrackersChosen = None,
    against: Annotated[
        str | None, typer.Option(help="Tracker that the others are compared with.", show_default="the best")
    ] = None,
    to: Annotated[Path | None, typer.Option(help="The page.", show_default="report.html in the results")] = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "Tracking benchmark",
) -> None:
    """Write a self-contained HTML page, and Markdown beside it, on the results in a folder.

    Example: stp bench report --out out/bench --data vot2016 --against opencv:csrt
    """
    from tracking_parts.cli_bench_display import command_line
    from tracking_parts.evaluation.protocol import load_protocol
    from tracking_parts.evaluation.ranking import ranked
    from tracking_parts.evaluation.report import write_report
    from tracking_parts.evaluation.scoring import load_runs

    rules = load_protocol(protocol)
    found = ranked(load_runs(out, data, rules, trackers), rules)
    paths = write_report(found, rules, to or out / "report.html", against=against, title=title, command=command_line())
    for path in paths:
        typer.echo(f"written {path}")
