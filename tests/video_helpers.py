"""Small videos whose frames tell their number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from tracking_parts.errors import SourceError
from tracking_parts.io.video import open_source

SIZE_WH = (64, 48)


def picture(index: int, size_wh: tuple[int, int] = SIZE_WH) -> NDArray[np.uint8]:
    """Its grey level tells its number, and its bright corner which way is up."""
    width, height = size_wh
    frame = np.full((height, width, 3), 40 + 5 * index, np.uint8)
    frame[: height // 4, : width // 4] = 255
    return frame


def number_of(frame: NDArray[Any]) -> int:
    return round((float(np.median(frame)) - 40 + 2) / 5)  # the conversion to YUV and back loses up to 4


def make_video(path: Path, count: int = 30, codec: str = "libx264", options: dict[str, str] | None = None) -> Path:
    """An ordinary video with B-frames and noise, so that its packets have some size."""
    noise = np.random.default_rng(0).integers(0, 12, (SIZE_WH[1], SIZE_WH[0], 3), np.uint8)
    with av.open(str(path), "w", options=options or {}) as container:
        stream = container.add_stream(codec, rate=25)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = *SIZE_WH, "yuv420p"
        for index in range(count):
            shifted = np.roll(noise, 7 * index, axis=1)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture(index) - shifted, format="bgr24")))
        container.mux(stream.encode(None))
    return path


def read(path: Path | str, **options: Any) -> tuple[list[int], SourceError | None]:
    """The numbers of the frames that could be read, and how it ended."""
    numbers: list[int] = []
    with open_source(path, **options) as source:
        try:
            numbers.extend(number_of(frame) for frame in source)
        except SourceError as error:
            return numbers, error
    return numbers, None
