"""A project file becomes a project again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

from tracking_parts.errors import FormatError, SourceError
from tracking_parts.studio.model import Project
from tracking_parts.studio.project_files import ProjectFile, fingerprint, open_project_file
from tracking_parts.studio.store import Store
from tracking_parts.studio.uploads import VIDEO_SUFFIX, Uploads, kind_of

AddProject = Callable[[Path, str, str], Project]  # of a video, its kind and the project's name


def import_project(path: Path, store: Store, uploads: Uploads, add: AddProject, known: list[Path]) -> Project:
    """A new project with all that the file holds, on its video or on the same one among those known here."""
    with open_project_file(path) as opened:
        project = _project_on_video(opened, uploads, add, known)
        try:
            _fill(project, opened, store)
        except BaseException:
            store.delete_project(project.id)
            raise
    return project


def _project_on_video(opened: ProjectFile, uploads: Uploads, add: AddProject, known: list[Path]) -> Project:
    saved = opened.project
    if saved.has_video:
        return _project_on_own_video(opened, uploads, add)
    for candidate in known:
        if candidate.exists() and fingerprint(candidate) == saved.video:
            return add(candidate, "file", saved.name)
    raise SourceError(
        f"this project file has no video in it: open the video of {saved.name!r} first, then the project file again"
    )


def _project_on_own_video(opened: ProjectFile, uploads: Uploads, add: AddProject) -> Project:
    uploads.check_number()
    video = uploads.folder / f"{token_hex(16)}{VIDEO_SUFFIX}"
    try:
        opened.copy_video(video, uploads.limits.largest_bytes)
        if kind_of(video) != VIDEO_SUFFIX:
            raise FormatError("this project file holds something else than a video")
        return add(video, "upload", opened.project.name)
    except BaseException:
        video.unlink(missing_ok=True)
        raise


def _fill(project: Project, opened: ProjectFile, store: Store) -> None:
    saved = opened.project
    for number, target in enumerate(saved.targets):
        added = store.add_target(project.id, target.name, target.colour)
        for frame, box in target.drawn.items():
            if 0 <= frame < project.frame_count:
                store.draw(added.id, frame, box)
        insides = dict(opened.insides(number))
        rows = [row for row in target.rows if 0 <= row.frame < project.frame_count]
        store.put((added.id, row, insides.get(row.frame, b"")) for row in rows)
    store.change_project(project.id, frame=min(saved.frame, project.frame_count - 1))
