"""``stp profile``: parsing and printing only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracking_parts.cli_options import (
    BoxOption,
    EngineOption,
    ProfileOption,
    SeedOption,
    SetOption,
    StartOption,
    ThreadsOption,
    TrunkEngine,
)
from tracking_parts.errors import ConfigError

if TYPE_CHECKING:
    from tracking_parts.profiling.figures import Profile, StageFigures

SourceArgument = Annotated[
    str, typer.Argument(help="A video, a folder of images, or a VOT or OTB sequence folder; it is read three times.")
]
FramesOption = Annotated[int | None, typer.Option("--frames", min=2, metavar="N", help="Only so many frames.")]
OutOption = Annotated[Path, typer.Option(help="Folder for profile.json and profile.svg; made if need be.")]


def profile_command(
    source: SourceArgument,
    box: BoxOption = None,
    profile: ProfileOption = "default",
    settings: SetOption = None,
    engine: EngineOption = TrunkEngine.AUTO,
    threads: ThreadsOption = None,
    frames: FramesOption = None,
    start: StartOption = 0,
    seed: SeedOption = 0,
    out: OutOption = Path("out/profile"),
) -> None:
    """Show where the time of each frame goes: seconds and floating-point work per stage, and the share of this
    machine's peak (the product of two matrices, single precision, same threads) that each stage reaches.

    Example: [bold]stp profile holiday.mp4 --box 120,80,60,40 --threads 2[/bold]

    The frames are tracked three times: as usual, stage after stage to take the time of each, and to count the work.
    """
    from tracking_parts.cli_run import ground_truth_box, make_tracker, parse_box
    from tracking_parts.config import TrackerConfig
    from tracking_parts.io.video import open_source
    from tracking_parts.profiling.picture import write_picture
    from tracking_parts.profiling.video import profile_video
    from tracking_parts.threads import use_threads
    from tracking_parts.trunk_engines import check_engine
    from tracking_parts.versions import versions

    config = TrackerConfig.profile(profile).override_from_text(settings or ())
    check_engine(engine.value)
    if "://" in source or not Path(source).expanduser().exists():
        raise ConfigError(
            f"{source} is no file or folder: a profile reads its source three times, no camera and no stream"
        )
    use_threads(threads)
    end = None if frames is None else start + frames
    with open_source(source, start=start, end=end) as opened:
        name, first_box = opened.name, parse_box(box) if box is not None else ground_truth_box(opened)
    out.mkdir(parents=True, exist_ok=True)
    typer.echo(f"{name}: timing, then counting; nothing is shown meanwhile, not to disturb the clock", err=True)
    measured = profile_video(
        lambda: make_tracker(config, "cpu", seed, engine.value),
        lambda: open_source(source, start=start, end=end),
        first_box,
        made_with={
            "source": name,
            "profile": profile,
            "config": config.to_dict(),
            "seed": seed,
            "box": list(first_box.xywh),
            "start": start,
            "versions": versions(),
        },
    )
    numbers, picture = out / "profile.json", out / "profile.svg"
    numbers.write_text(json.dumps(measured.to_dict(), ensure_ascii=False) + "\n", encoding="utf-8")
    write_picture(measured, picture)
    print_profile(measured)
    for path in (numbers, picture):
        typer.echo(f"written {path}")


def print_profile(profile: Profile) -> None:
    """The stages as a table, the whole video in a few lines."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from tracking_parts.cli_display import output_console

    table = Table(
        box=SIMPLE_HEAD, title="milliseconds per frame after the first, one stage after the other", title_justify="left"
    )
    table.add_column("stage", no_wrap=True)
    heads = ("mean", "share", "median", "95th", "99th", "worst", "GFLOP", "GFLOP/s", "of peak")
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    stages = profile.stages
    for one in stages:
        table.add_row(one.stage.value, *_cells(one), end_section=one is stages[-1])
    table.add_row("whole frame", *_cells(profile.total))
    console = output_console()
    console.print(table)
    for line in summary_lines(profile):
        console.print(Text(line), soft_wrap=True)


def _cells(one: StageFigures) -> list[str]:
    time = one.seconds
    mean, *rest = (f"{1000 * value:.2f}" for value in (time.mean, time.median, time.p95, time.p99, time.worst))
    if one.operations <= 0:
        return [mean, f"{one.share_of_time:.1%}", *rest, "–", "–", "–"]
    work = (f"{one.operations / 1e9:.3f}", f"{one.speed / 1e9:.1f}", f"{one.share_of_peak:.1%}")
    return [mean, f"{one.share_of_time:.1%}", *rest, *work]


def summary_lines(profile: Profile) -> list[str]:
    """What to remember of a profile."""
    time, made = profile.frame_time, profile.made_with
    median, p95, p99, worst = (f"{1000 * value:.1f}" for value in (time.median, time.p95, time.p99, time.worst))
    return [
        f"whole video, from file to result: {profile.fps:.1f} fps over {len(profile.frames) + 1} frames "
        f"({profile.whole_seconds:.1f} s; before that {profile.load_seconds:.1f} s to load the tracker)",
        f"one stage after the other: {profile.start_seconds:.2f} s for the first frame; then median {median} ms, "
        f"95th percentile {p95} ms, 99th {p99} ms, worst {worst} ms; "
        f"99th over median {time.p99 / time.median:.2f}",
        f"machine: GEMM peak {profile.peak / 1e9:.0f} GFLOP/s in single precision with {made.get('threads')} threads; "
        f"engine {made.get('engine')}",
    ]
