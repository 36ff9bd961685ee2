"""Files to take away: boxes in every layout, the annotated video, and the project itself."""

from __future__ import annotations

import re
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

from tracking_parts.errors import FormatError, OutputError, TrackingPartsError
from tracking_parts.io.files import atomic_path
from tracking_parts.io.result_layout import SequenceInfo, Track
from tracking_parts.io.track_files import TRACK_FORMATS, layout_of, write_tracks
from tracking_parts.io.video_writer import VideoWriter
from tracking_parts.output_files import FALLBACK_FPS
from tracking_parts.studio.decoder import Decoder
from tracking_parts.studio.model import Project, Target
from tracking_parts.studio.project_files import PROJECT_FILE_SUFFIX, write_project_file
from tracking_parts.studio.store import Store
from tracking_parts.viewers.annotate import annotate_all

VIDEO, PROJECT = "mp4", "project"
EXPORT_FORMATS = (*TRACK_FORMATS, VIDEO, PROJECT)
Progress = Callable[[int, int], None]  # done, of


class CancelledError(TrackingPartsError):
    """The person changed their mind."""


@dataclass(slots=True)
class Export:
    """One file that is being made, or is ready."""

    format: str
    project: str
    id: str = field(default_factory=lambda: token_hex(16))
    path: Path | None = None
    problem: str = ""
    cancelled: threading.Event = field(default_factory=threading.Event)


def make_export(
    format_name: str,
    folder: Path,
    store: Store,
    project: Project,
    targets: list[int] | None,
    with_video: bool,
    progress: Progress,
) -> Path:
    """Write the file; gives its path, whose name is what the person will see."""
    if format_name not in EXPORT_FORMATS:
        raise FormatError(f"unknown format {format_name!r}: there are {', '.join(EXPORT_FORMATS)}")
    folder.mkdir(parents=True, exist_ok=True)
    stem = file_stem(project.name)
    if format_name == PROJECT:
        path = folder / f"{stem}{PROJECT_FILE_SUFFIX}"
        write_project_file(path, store, project, with_video, progress)
        return path
    chosen = [target for target in store.targets(project.id) if targets is None or target.id in targets]
    tracks = [track for target in chosen if (track := track_of(store, target)).rows]
    if not tracks:
        raise OutputError("there are no boxes to export yet: draw one, and let it be tracked")
    if format_name == VIDEO:
        path = folder / f"{stem}_annotated.mp4"
        write_video(path, project, tracks, progress)
        return path
    return _write_boxes(format_name, folder, stem, info_of(project), tracks)


def track_of(store: Store, target: Target) -> Track:
    return Track(target.name, [(row.frame, row.result) for row in store.rows(target.id)])


def info_of(project: Project) -> SequenceInfo:
    return SequenceInfo(project.name, (project.width, project.height), project.fps, project.frame_count)


def _write_boxes(format_name: str, folder: Path, stem: str, info: SequenceInfo, tracks: list[Track]) -> Path:
    layout = layout_of(format_name)
    if layout.several or len(tracks) == 1:
        path = folder / f"{stem}{layout.suffix}"
        write_tracks(format_name, path, info, tracks)
        return path
    archive = folder / f"{stem}_{format_name}.zip"
    with atomic_path(archive) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as bundle:
        for number, track in enumerate(tracks, start=1):
            single = folder / f"{number}_{file_stem(track.name)}{layout.suffix}"
            write_tracks(format_name, single, info, [track])
            bundle.write(single, single.name)
            single.unlink()
    return archive


def write_video(path: Path, project: Project, tracks: list[Track], progress: Progress) -> None:
    """The whole video with every target's box, coloured by its state."""
    results = [dict(track.rows) for track in tracks]
    size_wh = (project.width, project.height)
    with (
        atomic_path(path) as temporary,
        Decoder(project.source) as decoder,
        VideoWriter(temporary, project.fps or FALLBACK_FPS, size_wh) as writer,
    ):
        total = decoder.facts.frame_count
        for index in range(total):
            picture = decoder.read(index).picture
            assert picture is not None
            if index + 1 < total:
                decoder.ask_ahead(index + 1)
            here = {track.name: found[index] for track, found in zip(tracks, results, strict=True) if index in found}
            writer.write(annotate_all(picture, here))
            progress(index + 1, total)


def file_stem(name: str) -> str:
    """A name that every file system takes."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._")[:60] or "video"
