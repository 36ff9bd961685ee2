"""Everything that could break the tracker, done to it: ``python -m torture``.

Prints one table (part, tried, survived, lost) and every trial that was lost; exit code 1 if there was one.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from torture.running import Outcome, Registered, run_all
from tracking_parts.io.files import write_atomically
from tracking_parts.threads import wait_briefly
from tracking_parts.versions import versions

PARTS = {
    "odd_inputs": Registered("torture.odd_inputs:odd_inputs", 2),
    "fuzz": Registered("torture.fuzz:fuzz", 3),
    "hostile_files": Registered("torture.hostile_files:hostile_files", 1),
    "sockets": Registered("torture.sockets:sockets", 1),
    "learning_faults": Registered("torture.learning_faults:learning_faults", 1),
    "kills": Registered("torture.kills:kills", 2),
    "disk": Registered("torture.disk:disk", 1),
    "long_runs": Registered("torture.long_runs:long_runs", 3),
    "determinism": Registered("torture.determinism:determinism", 1),
    "absence": Registered("torture.absence:absence", 1.5),
}
MINUTES = 28.0  # of at most 30
MOST_LOST = 40  # lost trials that are told of each part


def choose(parts: Mapping[str, Registered], only: str) -> dict[str, Registered]:
    names = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in names if name not in parts]
    if unknown:
        raise SystemExit(f"unknown part {', '.join(unknown)}: there are {', '.join(parts)}")
    return {name: part for name, part in parts.items() if not names or name in names}


def table(outcomes: Sequence[Outcome]) -> Table:
    drawn = Table(box=SIMPLE_HEAD, show_footer=True)
    total = [
        sum(len(o.trials) for o in outcomes),
        sum(o.survived for o in outcomes),
        sum(len(o.lost) for o in outcomes),
    ]
    drawn.add_column("part", "all")
    for heading, count in zip(("tried", "survived", "lost"), total, strict=True):
        drawn.add_column(heading, f"{count}", justify="right")
    drawn.add_column("seconds", f"{sum(o.seconds for o in outcomes):.0f}", justify="right")
    drawn.add_column("", overflow="fold")
    for o in outcomes:
        remark = f"skipped: {escape(o.skipped)}" if o.skipped else ""
        counts = [f"{count}" for count in (len(o.trials), o.survived, len(o.lost))]
        drawn.add_row(o.part, *counts, f"{o.seconds:.0f}", remark, style="red" if o.lost else None)
    return drawn


def tell_lost(outcomes: Sequence[Outcome], console: Console) -> None:
    for outcome in outcomes:
        for trial in outcome.lost[:MOST_LOST]:
            console.print(f"[red]lost[/red] {outcome.part}: {escape(trial.what)}\n    {_indented(trial.detail)}")
        if len(outcome.lost) > MOST_LOST:
            console.print(f"… and {len(outcome.lost) - MOST_LOST} more of {outcome.part}")


def _indented(text: str) -> str:
    return escape("\n    ".join(text.strip().splitlines()))


def write_report(path: Path, outcomes: Sequence[Outcome], minutes: float, seed: int) -> None:
    content = {
        "minutes": minutes,
        "seed": seed,
        "machine": platform.platform(),
        "versions": versions(),
        "parts": [outcome.as_json() for outcome in outcomes],
    }
    write_atomically(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def main(arguments: Sequence[str] | None = None, parts: Mapping[str, Registered] = PARTS) -> int:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for all parts together (%(default)g)")
    parser.add_argument("--only", default="", metavar="PART,…", help=f"of {', '.join(parts)}")
    parser.add_argument("--seed", type=int, default=0, help="for the parts that draw their trials")
    parser.add_argument("--out", type=Path, default=Path("out/torture.json"), help="the same as JSON (%(default)s)")
    options = parser.parse_args(arguments)
    if not options.minutes > 0:
        parser.error("--minutes must be more than nothing")
    wait_briefly()  # all parts inherit it: threads that spin on a busy machine would be taken for what is tried
    console = Console()
    outcomes: list[Outcome] = []
    interrupted = False
    try:
        for outcome in run_all(choose(parts, options.only), 60 * options.minutes, options.seed):
            outcomes.append(outcome)
            what = f"skipped: {outcome.skipped}" if outcome.skipped else f"{outcome.survived} of {len(outcome.trials)}"
            console.print(f"{outcome.part:16} {escape(what)}, {outcome.seconds:.0f} s")
    except KeyboardInterrupt:
        interrupted = True
    tell_lost(outcomes, console)
    console.print(table(outcomes))
    write_report(options.out, outcomes, options.minutes, options.seed)
    console.print(f"written to {options.out}")
    if interrupted:
        return 130
    return 1 if any(outcome.lost for outcome in outcomes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
