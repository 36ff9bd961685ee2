"""Sequences on disk: a folder of images, with ground truth and per-frame attributes where there are any.

Conventions of the files, and what is made of them. Ours are continuous image coordinates: the top-left corner of the
image is (0, 0) and pixel ``j`` covers ``[j, j + 1)``.

=========  ============================================  ===================================  =========================
layout     frames                                        ground truth                         to our coordinates
=========  ============================================  ===================================  =========================
VOT        ``color/00000001.jpg`` or in the folder       ``groundtruth.txt``: polygon or      as they are
           itself                                        rectangle
GOT-10k    ``00000001.jpg`` in the folder itself         ``groundtruth.txt``: rectangle       as they are
OTB        ``img/0001.jpg``                              ``groundtruth_rect.txt``: rectangle  x - 1, y - 1 (first pixel
                                                                                              is 1, 1)
images     any names, in natural order                   none                                 nothing to convert
=========  ============================================  ===================================  =========================

A polygon is 8 numbers, ``x1, y1, … x4, y4``; a rectangle is 4, ``left, top, width, height``; separated by commas, tabs,
semicolons or spaces. A row with NaN, or a rectangle without area, means that the object is not visible: None.
Attributes are files ``name.label`` or ``name.tag`` with 0 or 1 per frame. Other numbers are a measure, not a mark, such
as GOT-10k's ``cover``, and are left out. Where GOT-10k's ``absence`` is 1, the object is not visible: None.
"""

from __future__ import annotations

import logging
import math
import re
from dataclasses import dataclass
from pathlib import Path, PurePath

from tracking_parts.errors import FormatError, SourceError, quoted
from tracking_parts.geometry import Box, Polygon
from tracking_parts.io.plain_files import read_text

logger = logging.getLogger(__name__)

GroundTruth = tuple[Polygon | None, ...]

IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pnm"}
FRAME_FOLDERS = ("color", "img")
FARTHEST = 1e9  # pixels from the picture's corner; whatever lies beyond is damage, and its area would overflow
LONGEST_NAME = 255  # bytes, of a listed folder
OTB_ORIGIN = 1.0  # the first pixel of an OTB image is (1, 1)
# OTB's ground truth for this sequence begins at a later image than the folder does.
OTB_FIRST_IMAGE = {"David": 300}


@dataclass(frozen=True, slots=True)
class Sequence:
    """One sequence: its frames in order, and what is known of each.

    ``ground_truth`` is as long as ``frames``, or empty where the folder has none.
    """

    name: str
    frames: list[Path]
    ground_truth: GroundTruth
    attributes: dict[str, tuple[bool, ...]]
    fps: float | None = None

    def __len__(self) -> int:
        return len(self.frames)


def read_sequence(folder: str | Path, *, target: int | None = None) -> Sequence:
    """Read a folder in any of the layouts above.

    A few OTB folders follow two objects (``groundtruth_rect.1.txt``, ``groundtruth_rect.2.txt``): ``target`` says
    which, the first if it is not given.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise SourceError(f"no folder at {folder}")
    name = folder.resolve().name
    frames = _find_frames(folder)
    truth_file = _truth_file(folder, target)
    if truth_file is None:
        return Sequence(name, frames, (), _read_attributes(folder, len(frames)), _read_fps(folder))
    if _is_otb(truth_file):
        truth = read_ground_truth(truth_file, origin=OTB_ORIGIN)
        frames = _otb_frames(name, frames, len(truth))
    else:
        truth = read_ground_truth(truth_file)
    if len(truth) > len(frames):
        raise FormatError(f"{truth_file} has {len(truth)} rows for {len(frames)} images")
    # Test splits give the first box only.
    truth += (None,) * (len(frames) - len(truth))
    attributes = _read_attributes(folder, len(frames))
    absent = attributes.pop("absence", (False,) * len(frames))
    truth = tuple(None if gone else region for region, gone in zip(truth, absent, strict=True))
    full_name = name if target is None else f"{name}-{target}"
    return Sequence(full_name, frames, truth, attributes, _read_fps(folder))


def find_sequences(folder: str | Path) -> list[Sequence]:
    """The sequences of a data set: those that its ``list.txt`` names, else every subfolder with ground truth.

    A folder that is itself a sequence with ground truth gives a list of one.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise SourceError(f"no folder at {folder}")
    listing = folder / "list.txt"
    if listing.is_file():
        folders = [folder / name for name in _listed_names(listing)]
    elif _truth_targets(folder):
        folders = [folder]
    else:
        folders = sorted((path for path in folder.iterdir() if path.is_dir() and _truth_targets(path)), key=natural_key)
    if not folders:
        raise SourceError(f"no sequences in {folder}: no list.txt and no subfolder with ground truth")
    return [read_sequence(path, target=target) for path in folders for target in _truth_targets(path) or [None]]


def _listed_names(listing: Path) -> list[str]:
    """The names in a ``list.txt``: folders beside it or below, never elsewhere."""
    names = [line.strip() for line in read_text(listing).splitlines() if line.strip()]
    for name in names:
        path = PurePath(name)
        if path.is_absolute() or ".." in path.parts or not name.isprintable() or len(name.encode()) > LONGEST_NAME:
            raise FormatError(f"{listing}: {quoted(name)} is no folder beside it")
    return names


def read_ground_truth(path: str | Path, *, origin: float = 0.0) -> GroundTruth:
    """One region per row; ``origin`` is the coordinate that the file gives to the image's first pixel."""
    path = Path(path)
    regions: list[Polygon | None] = []
    for number, line in enumerate(read_text(path).rstrip().splitlines(), start=1):
        try:
            regions.append(parse_region(line, origin=origin))
        except FormatError as error:
            raise FormatError(f"{path}, line {number}: {error}") from error
    if not regions:
        raise FormatError(f"{path} is empty")
    return tuple(regions)


def parse_region(text: str, *, origin: float = 0.0) -> Polygon | None:
    """A polygon from 4 or 8 numbers; None where the object is not visible.

    >>> parse_region("11,21,30,40", origin=1)
    ((10.0, 20.0), (40.0, 20.0), (40.0, 60.0), (10.0, 60.0))
    """
    fields = [field for field in re.split(r"[\s,;]+", text.strip()) if field]
    try:
        numbers = [float(field) for field in fields]
    except ValueError:
        raise FormatError(f"{quoted(text.strip())} is no list of numbers") from None
    if len(numbers) not in (4, 8):
        raise FormatError(f"{len(numbers)} numbers instead of 4 (rectangle) or 8 (polygon)")
    if any(math.isnan(number) for number in numbers):
        return None
    if max(map(abs, numbers)) > FARTHEST:
        raise FormatError(f"{quoted(text.strip())} lies far outside of any picture")
    if len(numbers) == 4:
        x, y, w, h = numbers
        return Box(x - origin, y - origin, w, h).polygon if w > 0 and h > 0 else None
    xs, ys = [x - origin for x in numbers[0::2]], [y - origin for y in numbers[1::2]]
    return ((xs[0], ys[0]), (xs[1], ys[1]), (xs[2], ys[2]), (xs[3], ys[3]))


def natural_key(path: Path) -> tuple[tuple[int, int, str], ...]:
    """Sort ``frame2`` before ``frame10``.

    >>> sorted([Path("f10.png"), Path("f2.png")], key=natural_key)[0].name
    'f2.png'
    """
    pieces = re.split(r"([0-9]+)", path.name.lower())
    # isascii: other scripts have digits that int() refuses, such as superscripts.
    numeric = [piece.isascii() and piece.isdigit() for piece in pieces]
    key = tuple(
        (0, int(piece), "") if is_number else (1, 0, piece)
        for piece, is_number in zip(pieces, numeric, strict=True)
        if piece
    )
    return (*key, (2, 0, path.name))  # names that differ only in case or leading zeros still have one order


def list_images(folder: Path) -> list[Path]:
    """The images of a folder in natural order; hidden files are not meant."""
    files = (path for path in folder.iterdir() if path.suffix.lower() in IMAGE_SUFFIXES)
    return sorted((path for path in files if not path.name.startswith(".") and path.is_file()), key=natural_key)


def _find_frames(folder: Path) -> list[Path]:
    for candidate in (*(folder / name for name in FRAME_FOLDERS), folder):
        if candidate.is_dir() and (images := list_images(candidate)):
            return images
    raise SourceError(f"no images in {folder}")


def _truth_file(folder: Path, target: int | None) -> Path | None:
    targets = _truth_targets(folder)
    if target is not None:
        path = folder / f"groundtruth_rect.{target}.txt"
        if not path.is_file():
            raise SourceError(f"no ground truth at {path}")
        return path
    if not targets:
        return None
    if targets[0] is not None:
        logger.info("%s follows %d objects: taking number %d", folder, len(targets), targets[0])
        return folder / f"groundtruth_rect.{targets[0]}.txt"
    otb = folder / "groundtruth_rect.txt"
    return otb if otb.is_file() else folder / "groundtruth.txt"


def _truth_targets(folder: Path) -> list[int | None]:
    """[None] for one object, [1, 2, …] for an OTB folder with several, [] without ground truth."""
    if (folder / "groundtruth_rect.txt").is_file() or (folder / "groundtruth.txt").is_file():
        return [None]
    matches = (
        re.fullmatch(r"groundtruth_rect\.(\d+)\.txt", path.name) for path in folder.glob("groundtruth_rect.*.txt")
    )
    return [*sorted(int(match[1]) for match in matches if match)]


def _is_otb(truth_file: Path) -> bool:
    return truth_file.name.startswith("groundtruth_rect")


def _otb_frames(name: str, frames: list[Path], rows: int) -> list[Path]:
    """OTB annotates only a part of some folders: from the first image on, but for the known exceptions."""
    if len(frames) == rows:
        return frames
    first = OTB_FIRST_IMAGE.get(name, 1) - 1
    return frames[first : first + rows]


def _read_attributes(folder: Path, length: int) -> dict[str, tuple[bool, ...]]:
    attributes: dict[str, tuple[bool, ...]] = {}
    for path in sorted((*folder.glob("*.label"), *folder.glob("*.tag"))):
        text = read_text(path)
        try:
            numbers = [float(value) for value in text.replace(",", " ").split()]
        except ValueError:
            raise FormatError(f"{path} holds something that is no number") from None
        if set(numbers) <= {0.0, 1.0}:
            # Some lists stop at the last frame that is set.
            attributes[path.stem] = (tuple(number == 1 for number in numbers) + (False,) * length)[:length]
    return attributes


def _read_fps(folder: Path) -> float | None:
    """VOT keeps the frame rate in a file named ``sequence``."""
    path = folder / "sequence"
    if not path.is_file():
        return None
    # No \s at the ends: it would run over all following lines, from each of them anew.
    found = re.search(r"^[ \t]*fps[ \t]*=[ \t]*([0-9.]{1,20})[ \t\r]*$", read_text(path), re.MULTILINE)
    try:
        return (float(found[1]) or None) if found else None
    except ValueError:
        return None
