"""A project in one file, to be kept or sent: targets, boxes, rows, what happened inside, and the video if wanted.

A zip archive whose members have fixed names. Nothing in it is a path, nothing is executed, and whatever does not look
as it should is refused: such a file may come from anybody.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tracking_parts.errors import FormatError, TrackingPartsError, one_line, quoted
from tracking_parts.geometry import Box
from tracking_parts.io.files import atomic_path
from tracking_parts.io.npz_files import SIGNS_OF_DAMAGE, check_compression
from tracking_parts.io.plain_files import parse_json
from tracking_parts.studio.model import COLOUR, Project, Row, finite_box, whole_number
from tracking_parts.studio.store import Store, clean_name

PROJECT_FILE_SUFFIX = ".stp"
FORMAT = "tracking-parts studio project 1"
LARGEST_TEXT = 1 << 28
LARGEST_INSIDE = 1 << 22
MOST_MEMBERS = 2_000_000
HASHED_BYTES = 1 << 20
COPIED_BYTES = 1 << 20
MOST_TARGETS = 1000
_INSIDE_NAME = re.compile(r"inside/(\d{1,6})/(\d{1,9})")


@dataclass(frozen=True, slots=True)
class SavedTarget:
    """A target of a project file."""

    name: str
    colour: str
    drawn: dict[int, Box]
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class SavedProject:
    """What a project file says."""

    name: str
    video: str  # fingerprint
    frame: int
    has_video: bool
    targets: list[SavedTarget]


def fingerprint(path: Path) -> str:
    """Tells videos apart without reading all of a large one; a folder by the names and sizes of its files."""
    digest = hashlib.sha256()
    if path.is_dir():
        for entry in sorted(path.rglob("*")):
            if entry.is_file():
                digest.update(f"{entry.relative_to(path)}:{entry.stat().st_size}\n".encode())
        return digest.hexdigest()
    size = path.stat().st_size
    digest.update(str(size).encode())
    with path.open("rb") as stream:
        digest.update(stream.read(HASHED_BYTES))
        stream.seek(max(0, size - HASHED_BYTES))
        digest.update(stream.read(HASHED_BYTES))
    return digest.hexdigest()


def write_project_file(
    path: Path, store: Store, project: Project, with_video: bool, progress: Callable[[int, int], None]
) -> None:
    """Write one file, whole or not at all."""
    targets = store.targets(project.id)
    source = Path(project.source)
    saved = [
        {
            "name": target.name,
            "colour": target.colour,
            "drawn": {str(frame): list(box.xywh) for frame, box in store.drawn(target.id).items()},
            "rows": [row.to_dict() for row in store.rows(target.id)],
        }
        for target in targets
    ]
    content = {
        "format": FORMAT,
        "name": project.name,
        "frame": project.frame,
        "video": fingerprint(source),
        "targets": saved,
    }
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", allowZip64=True) as archive:
        archive.writestr("project.json", json.dumps(content, allow_nan=False), zipfile.ZIP_DEFLATED)
        frames = [
            (number, target.id, frame)
            for number, target in enumerate(targets)
            for frame in store.inside_frames(target.id)
        ]
        for done, (number, target_id, frame) in enumerate(frames):
            archive.writestr(f"inside/{number}/{frame}", store.inside(target_id, frame) or b"")
            progress(done, len(frames) + 1)
        if with_video and source.is_file():
            archive.write(source, "video")
        progress(len(frames) + 1, len(frames) + 1)


class ProjectFile:
    """A project file that is open for reading."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        members = archive.infolist()
        if len(members) > MOST_MEMBERS:
            raise FormatError("this project file has too many parts")
        check_compression(members)
        self._inside = {
            match.groups(): member for member in members if (match := _INSIDE_NAME.fullmatch(member.filename))
        }
        self.project = _parse(self._text("project.json"), "video" in archive.namelist())

    def insides(self, number: int) -> Iterator[tuple[int, bytes]]:
        """What happened inside the tracker, for one target: frames and their packs."""
        for (its_number, frame), member in self._inside.items():
            if int(its_number) == number:
                yield int(frame), self._bounded(member, LARGEST_INSIDE)

    def copy_video(self, path: Path, largest_bytes: int) -> None:
        """Write the video that is in the file to a path of ours."""
        member = self._archive.getinfo("video")
        if member.file_size > largest_bytes:
            raise FormatError("the video in this project file is too large")
        with damage_as_our_error():
            stream = self._archive.open(member)
        with stream, path.open("xb") as target:
            _copy(stream, target, largest_bytes)

    def _text(self, name: str) -> bytes:
        try:
            return self._bounded(self._archive.getinfo(name), LARGEST_TEXT)
        except KeyError:
            raise FormatError("this is no project file of the studio") from None

    def _bounded(self, member: zipfile.ZipInfo, most: int) -> bytes:
        if member.file_size > most:
            raise FormatError("a part of this project file is too large")
        with damage_as_our_error(), self._archive.open(member) as stream:
            return stream.read(most)


@contextmanager
def open_project_file(path: Path) -> Iterator[ProjectFile]:
    """Open a project file; :class:`FormatError` where it is none or is damaged."""
    with damage_as_our_error():
        archive = zipfile.ZipFile(path)
    with archive:
        with damage_as_our_error():
            opened = ProjectFile(archive)
        yield opened


@contextmanager
def damage_as_our_error() -> Iterator[None]:
    try:
        yield
    except TrackingPartsError:
        raise
    except SIGNS_OF_DAMAGE as error:
        raise FormatError(f"this project file is damaged: {one_line(error)}") from error


def _copy(stream: IO[bytes], target: IO[bytes], largest_bytes: int) -> None:
    written = 0
    while block := _block(stream):
        written += len(block)
        if written > largest_bytes:
            raise FormatError("the video in this project file is too large")
        target.write(block)


def _block(stream: IO[bytes]) -> bytes:
    with damage_as_our_error():
        return stream.read(COPIED_BYTES)


def _parse(text: bytes, has_video: bool) -> SavedProject:
    try:
        content = parse_json(text)
        if content["format"] != FORMAT:
            raise FormatError(
                f"this project file was made by another version of the studio ({quoted(content['format'])})"
            )
        return SavedProject(
            name=clean_name(_text(content["name"])) or "project",
            video=_text(content["video"]),
            frame=whole_number(content["frame"]),
            has_video=has_video,
            targets=_named_apart([_parse_target(target) for target in content["targets"][:MOST_TARGETS]]),
        )
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"this project file is damaged: {one_line(error)}") from error


def _parse_target(values: dict[str, Any]) -> SavedTarget:
    colour = _text(values["colour"])
    if not COLOUR.fullmatch(colour):
        raise ValueError(f"no colour: {colour[:20]!r}")
    return SavedTarget(
        name=clean_name(_text(values["name"])),
        colour=colour,
        drawn={whole_number(frame): finite_box(box) for frame, box in values["drawn"].items()},
        rows=[Row.from_dict(row) for row in values["rows"]],
    )


def _named_apart(targets: list[SavedTarget]) -> list[SavedTarget]:
    """No two of one name: the store would refuse the second, and with it the whole project."""
    names = [target.name for target in targets if target.name]
    if len(set(names)) != len(names):
        raise ValueError("two targets of one name")
    return targets


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"no text: {quoted(value)}")
    return value
