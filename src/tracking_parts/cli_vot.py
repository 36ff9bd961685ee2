"""``stp vot``: parsing and printing only.

The tracker is imported inside the commands: ``stp --help`` must not wait for torch.
"""

from __future__ import annotations

import shlex
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tracking_parts.cli_bench import InitBoxOption
from tracking_parts.cli_help import DescribedCommand
from tracking_parts.cli_options import (
    DeviceOption,
    EngineOption,
    ProfileOption,
    SeedOption,
    SetOption,
    ThreadsOption,
    TrunkEngine,
)
from tracking_parts.errors import TrackingPartsError
from tracking_parts.threads import use_threads, wait_briefly

vot_app = typer.Typer(
    help="Let VOT's own toolkit run the tracker.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class RegionOption(str, Enum):
    SAME = "same"
    POLYGON = "polygon"
    RECTANGLE = "rectangle"


LabelOption = Annotated[str, typer.Option(help="The tracker's name in the toolkit: letters, digits, _ and -.")]
RegionKindOption = Annotated[
    RegionOption, typer.Option("--region", help="Kind of the answers; same: as the region given at the start.")
]
InitBoxKindOption = Annotated[
    InitBoxOption, typer.Option("--init-box", help="Upright box that is made of a slanted ground truth.")
]


@vot_app.command("init", cls=DescribedCommand)
def init_command(
    workspace: Annotated[Path, typer.Argument(help="Folder for the toolkit's files; made if need be.")],
    data: Annotated[
        Path | None, typer.Option(help="Folder of sequences with list.txt; WORKSPACE/sequences if not given.")
    ] = None,
    label: LabelOption = "stp",
    profile: ProfileOption = "default",
    settings: SetOption = None,
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    engine: EngineOption = TrunkEngine.AUTO,
    region: RegionKindOption = RegionOption.SAME,
    init_box: InitBoxKindOption = InitBoxOption.AREA,
    protocol: Annotated[
        str, typer.Option(help="Whose reset-based rules: vot2016, vot2017 or a YAML file.")
    ] = "vot2016",
    repetitions: Annotated[int, typer.Option(min=1, help="Runs per sequence; ours are all alike.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there already.")] = False,
) -> None:
    """Write a workspace in which vot-toolkit 0.7.4 runs this tracker offline.

    Example: stp vot init out/vot --data vot2016 --profile fast
    """
    from tracking_parts.config import TrackerConfig
    from tracking_parts.integrations.vot_workspace import init_workspace

    changed = settings or []
    TrackerConfig.profile(profile).override_from_text(changed)  # a mistake is told here, not in the toolkit's log
    arguments = ["--profile", profile, *(word for one in changed for word in ("--set", one)), "--seed", str(seed)]
    arguments += ["--threads", str(threads)] if threads is not None else []
    arguments += ["--engine", engine.value] if engine is not TrunkEngine.AUTO else []
    arguments += ["--region", region.value, "--init-box", init_box.value]
    report = init_workspace(
        workspace,
        label=label,
        arguments=arguments,
        data=data,
        protocol=protocol,
        repetitions=repetitions,
        force=force,
    )
    for path in report.written:
        typer.echo(f"wrote {path}")
    for path in report.kept:
        typer.echo(f"kept {path} as it is (--force replaces it)")
    for text in report.missing:
        typer.echo(f"still missing: {text}")
    place = shlex.quote(str(workspace))
    typer.echo("next, where vot-toolkit 0.7.4 is installed:")
    typer.echo(f"  vot --registry {place} test {label}")
    typer.echo(f"  vot evaluate --workspace {place} {label}")
    typer.echo(f"  vot analysis --workspace {place} {label}")


@vot_app.command("serve")
def serve_command(
    label: LabelOption = "stp",
    profile: ProfileOption = "default",
    settings: SetOption = None,
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    device: DeviceOption = "cpu",
    engine: EngineOption = TrunkEngine.AUTO,
    region: RegionKindOption = RegionOption.SAME,
    init_box: InitBoxKindOption = InitBoxOption.AREA,
) -> None:
    """Answer a TraX client, such as VOT's toolkit, over stdin and stdout; stp vot init tells the toolkit how.

    Example: stp vot serve --profile fast
    """
    wait_briefly()
    from tracking_parts import Tracker, TrackerConfig
    from tracking_parts.integrations.vot import serve

    use_threads(threads)
    config = TrackerConfig.profile(profile).override_from_text(settings or [])
    with Tracker(config, device=device, seed=seed, engine=engine.value) as tracker:
        serve(tracker, label, region.value, init_box.value)


def main() -> None:
    """``python -m tracking_parts.cli_vot``: what ``trackers.ini`` calls, so that it needs no script on the path."""
    from tracking_parts.cli_display import complain

    try:
        vot_app()
    except TrackingPartsError as error:
        complain(str(error))
        sys.exit(2)


if __name__ == "__main__":
    main()
