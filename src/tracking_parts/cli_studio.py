"""``stp studio``: parsing and printing only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracking_parts.cli_options import (
    DeviceOption,
    EngineOption,
    ProfileOption,
    SeedOption,
    SetOption,
    ThreadsOption,
    TrunkEngine,
)
from tracking_parts.errors import ConfigError


def studio_command(
    video: Annotated[
        Path | None,
        typer.Argument(help="A video or a folder of images to open, or a folder of videos to choose from."),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen at. Any other than this computer's own needs a token, which is printed."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="N", help="The first free one from 8765 on if not given.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    data: Annotated[
        Path | None, typer.Option(help="Where work is kept; the user's data folder (or STP_STUDIO_DATA) if not given.")
    ] = None,
    max_upload: Annotated[int, typer.Option(min=1, metavar="MB", help="The largest file that may be uploaded.")] = 2048,
    max_uploads: Annotated[int, typer.Option(min=1, metavar="N", help="How many uploaded videos may be kept.")] = 50,
    profile: ProfileOption = "default",
    settings: SetOption = None,
    device: DeviceOption = "cpu",
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    engine: EngineOption = TrunkEngine.AUTO,
) -> None:
    """Open a web page on this computer: draw a box, watch it followed, correct it, export the boxes.

    Example: [bold]stp studio holiday.mp4[/bold]

    Needs the extra: pip install "tracking-parts[studio]"
    """
    try:
        from tracking_parts.studio.server import ServerChoice, serve, tracker_maker
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("fastapi", "starlette", "uvicorn", "pydantic", "websockets"):
            raise
        raise ConfigError('the studio is not installed here: pip install "tracking-parts[studio]"') from None
    from tracking_parts.studio.store import data_folder
    from tracking_parts.studio.uploads import MEGABYTE, UploadLimits
    from tracking_parts.threads import use_threads
    from tracking_parts.trunk_engines import check_engine

    check_engine(engine.value)
    make_tracker = tracker_maker(profile, tuple(settings or ()), device, seed, engine.value)
    use_threads(threads)
    choice = ServerChoice(
        video, host, port, data or data_folder(), UploadLimits(max_upload * MEGABYTE, max_uploads), browser
    )
    serve(choice, make_tracker, typer.echo)
