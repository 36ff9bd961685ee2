"""What can be opened in a folder."""

from __future__ import annotations

from pathlib import Path

from tracking_parts.io.sequences import FRAME_FOLDERS, IMAGE_SUFFIXES, natural_key

VIDEO_SUFFIXES = {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".ogv", ".flv", ".wmv"}
MOST_LISTED = 500


def listed(folder: Path) -> list[Path]:
    """The videos of a folder, and the folders of images in it."""
    entries = sorted((path for path in folder.iterdir() if not path.name.startswith(".")), key=natural_key)
    found = (
        path for path in entries if path.suffix.lower() in VIDEO_SUFFIXES or (path.is_dir() and holds_images(path))
    )
    return [path for _, path in zip(range(MOST_LISTED), found, strict=False)]


def holds_images(folder: Path) -> bool:
    """Whether a folder is itself a sequence of images."""
    places = (folder, *(folder / name for name in FRAME_FOLDERS))
    return any(path.suffix.lower() in IMAGE_SUFFIXES for place in places if place.is_dir() for path in _some(place))


def _some(folder: Path) -> list[Path]:
    return [path for _, path in zip(range(50), folder.iterdir(), strict=False)]
