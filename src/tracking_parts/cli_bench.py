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

bench_app = typer.Typer(
    help="Compare trackers on sequences with ground truth, by VOT's reset-based experiment.", no_args_is_help=True
)


class InitBoxOption(str, Enum):
    AREA = "area"
    ENCLOSING = "enclosing"


class ProtocolOption(str, Enum):
    VOT2016 = "vot2016"
    VOT2017 = "vot2017"


DataFolder = Annotated[Path, typer.Option(help="Folder of sequences (VOT, OTB or GOT-10k layout).")]
OutFolder = Annotated[Path, typer.Option(help="Folder of results; finished sequences in it are not run again.")]
ProtocolName = Annotated[ProtocolOption, typer.Option(help="Whose rules and EAO interval.")]


@bench_app.command("run", cls=DescribedCommand)
def run_command(
    trackers: Annotated[
        list[str],
        typer.Argument(
            metavar="TRACKERS...",
            help="stp:PROFILE, stp:PROFILE?KEY=VALUE&KEY=VALUE, opencv:csrt|kcf|mil|mosse|medianflow, "
            "identity, or package.module:Class.",
        ),
    ],
    data: DataFolder,
    out: OutFolder,
    processes: Annotated[int, typer.Option(min=1, help="How many sequences are run at once.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of each process.", show_default="the cores, shared out")
    ] = None,
    sequences: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of our tracker.")] = 0,
    protocol: ProtocolName = ProtocolOption.VOT2016,
    init_box: Annotated[
        InitBoxOption, typer.Option(help="Upright box that a tracker gets for a rotated ground truth.")
    ] = InitBoxOption.AREA,
) -> None:
    """Run TRACKERS over the sequences of a folder; run again to continue.

    Example: stp bench run stp:default "stp:default?alpha=1" opencv:csrt --data vot2016 --out out/bench
    """
    from tracking_parts.cli_bench_display import BenchDisplay
    from tracking_parts.cli_display import complain
    from tracking_parts.evaluation.protocol import find_protocol
    from tracking_parts.evaluation.runner import run

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
            protocol=replace(find_protocol(protocol.value), init_box=init_box.value),
            on_progress=display.show,
        )
    raised = [outcome for outcome in outcomes if outcome.status == "raised"]
    for outcome in raised:
        if outcome.details:
            typer.echo(outcome.details, err=True)
        complain(f"{outcome.tracker} on {outcome.sequence}: {outcome.error}")
    typer.echo(f"{len(outcomes) - len(raised)} of {len(outcomes)} results are in {out}")
    if raised:
        raise typer.Exit(1)


@bench_app.command("score")
def score_command(
    out: OutFolder,
    data: DataFolder,
    protocol: ProtocolName = ProtocolOption.VOT2016,
    by_sequence: Annotated[bool, typer.Option("--by-sequence", help="Show every sequence too.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
) -> None:
    """Score the results in a folder: EAO, A (overlap while tracking), failures, R, R*, frames per second.

    Example: stp bench score --out out/bench --data vot2016
    """
    from tracking_parts.cli_bench_display import score_table
    from tracking_parts.cli_display import complain, output_console
    from tracking_parts.evaluation.protocol import find_protocol
    from tracking_parts.evaluation.scoring import markdown_table, score

    rules = find_protocol(protocol.value)
    rows = score(out, data, rules.eao_interval, rules.burn_in, by_sequence)
    if markdown:
        typer.echo(markdown_table(rows))
    else:
        output_console().print(score_table(rows))
    if len({row.sequences for row in rows if row.sequence is None}) > 1:
        complain("note: the trackers were run on different numbers of sequences; their figures do not compare")
