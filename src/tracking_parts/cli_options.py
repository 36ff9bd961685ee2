"""Arguments and options that several commands take. Nothing heavy is imported: ``stp --help`` must answer at once."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer


class TrunkEngine(str, Enum):
    """What computes the frozen layers (:mod:`tracking_parts.trunk_engines`)."""

    AUTO = "auto"
    TORCH = "torch"
    NCNN = "ncnn"


SourceArgument = Annotated[
    str, typer.Argument(help="A video, a folder of images, a VOT or OTB sequence folder, or a camera's number.")
]
BoxOption = Annotated[
    str | None,
    typer.Option(
        metavar="X,Y,W,H",
        help="The object in the first frame: left, top, width and height in pixels. "
        "May be left out where a sequence folder has its ground truth.",
    ),
]
BoxesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--box",
        metavar="X,Y,W,H",
        help="The object in the first frame: left, top, width and height in pixels; may be repeated, to follow "
        "several. May be left out where a sequence folder has its ground truth.",
    ),
]
OutOption = Annotated[Path, typer.Option(help="Folder for the files; made if need be.")]
ProfileOption = Annotated[
    str, typer.Option(metavar="NAME", help="Settings to start from: default, paper or fast. See: stp profiles")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change one setting; may be repeated. Names: stp profiles"),
]
FormatOption = Annotated[
    list[str] | None,
    typer.Option(
        "--format", metavar="NAME", help="Also write boxes as otb, vot, mot, cvat, coco or csv; may be repeated."
    ),
]
VideoOption = Annotated[bool, typer.Option("--video/--no-video", help="Write the annotated video.")]
SheetOption = Annotated[bool, typer.Option("--contact-sheet", help="Write one picture of evenly spaced frames.")]
TraceOption = Annotated[
    bool, typer.Option("--trace", help="Write what happened inside the tracker, per frame, for: stp explain")
]
RerunOption = Annotated[
    bool, typer.Option("--rerun", help="Show frames, maps and parts in rerun's viewer, live. Needs the extra rerun.")
]
RerunSaveOption = Annotated[
    bool, typer.Option("--rerun-save", help="Save the same as recording.rrd, also where there is no display.")
]
StateOption = Annotated[bool, typer.Option("--save-state", help="At the end save the tracker, for Tracker.load().")]
ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Go on from where an earlier run into the same folder was stopped, if it was."),
]
CheckpointOption = Annotated[
    float,
    typer.Option(min=0, metavar="SECONDS", help="Save what --resume goes on from so often; 0 is never."),
]
LabelsOption = Annotated[
    list[str] | None,
    typer.Option("--label", help="The object's name in the video and the files; may be repeated, one for each box."),
]
StartOption = Annotated[int, typer.Option(min=0, metavar="N", help="Number of the first frame, counted from 0.")]
EndOption = Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of the frame to stop before.")]
DeviceOption = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...")]
SeedOption = Annotated[int, typer.Option(metavar="N", help="The same seed gives the same boxes on the same machine.")]
ThreadsOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="CPU threads to use; all processors if not given, at most four.")
]
EngineOption = Annotated[
    TrunkEngine,
    typer.Option(help="What computes the network; auto: ncnn where it is installed and agrees with torch, else torch."),
]
