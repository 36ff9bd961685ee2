"""Frames from a video file, a folder of images, a sequence of a data set, a stream or a camera, one at a time.

``open_source`` gives a :class:`FrameSource`: a context manager and iterator over BGR frames. Frames of videos and
cameras have 8 bits; images are handed on as they are in their files (grey, 16 bits or alpha too): the tracker converts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator
from itertools import count, islice
from pathlib import Path
from types import TracebackType
from typing import Any

import av
import cv2
import numpy as np
from av.stream import Disposition
from numpy.typing import NDArray

from tracking_parts.errors import SourceError, one_line
from tracking_parts.io.containers import missing_bytes
from tracking_parts.io.image_sizes import MOST_PIXELS, announced_size, promises_too_much
from tracking_parts.io.sequences import GroundTruth, read_sequence
from tracking_parts.io.video_writer import VideoWriter

__all__ = [
    "DECODING_ERRORS",
    "MOST_PIXELS",
    "BrokenSourceError",
    "Frame",
    "FrameSource",
    "VideoWriter",
    "frame_rate",
    "open_container",
    "open_source",
    "read_image",
    "upright_bgr",
]

logger = logging.getLogger(__name__)

Frame = NDArray[Any]  # [rows, columns] or [rows, columns, channels]

STREAM_TIMEOUT_SECONDS = 20.0
# What the video library raises over damaged data; ValueError for a layout of pixels that it cannot convert.
DECODING_ERRORS = (av.FFmpegError, OSError, ValueError)


class BrokenSourceError(SourceError):
    """A source that broke while it was read; every frame before ``frame_index`` (counted from 0) was handed out."""

    def __init__(self, name: str, frame_index: int, reason: str) -> None:
        super().__init__(f"{name} broke at frame {frame_index}: {reason}")
        self.frame_index = frame_index
        self.problem = f"{name} broke: {reason}"  # for those who say themselves at which frame


class FrameSource:
    """An iterator over frames. ``frame_count`` and ``ground_truth`` are those of the part from ``start`` to ``end``.

    ``source_frame_count`` is that of the whole source. Both counts are None where they are not known, and for videos
    what the container says, which may be approximate.
    """

    def __init__(
        self,
        name: str,
        frames: Generator[Frame, None, None],
        *,
        start: int = 0,
        frame_count: int | None = None,
        source_frame_count: int | None = None,
        fps: float | None = None,
        ground_truth: GroundTruth | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.start = start
        self.frame_count = frame_count
        self.source_frame_count = source_frame_count
        self.fps = fps
        self.ground_truth = ground_truth
        self._frames = frames
        self._on_close = on_close
        self._yielded = False

    def __iter__(self) -> Iterator[Frame]:
        return self

    def __next__(self) -> Frame:
        try:
            frame = next(self._frames)
        except StopIteration:
            if not self._yielded:
                raise SourceError(f"{self.name} has no frame {self.start}") from None
            raise
        self._yielded = True
        return frame

    def close(self) -> None:
        """Let go of the file or camera; further calls do nothing."""
        self._frames.close()
        if self._on_close is not None:
            self._on_close()
            self._on_close = None

    def __enter__(self) -> FrameSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_source(source: str | Path, *, start: int = 0, end: int | None = None) -> FrameSource:
    """Open a video, a folder of images, a sequence folder, a stream (``scheme://…``) or a camera (its number).

    Frames ``start`` to ``end - 1`` are given, counted from 0. A name of digits is a camera unless there is such a file.
    """
    if start < 0 or (end is not None and end <= start):
        raise SourceError(f"no frames from {start} to {end}: start must be 0 or more, and end greater than start")
    if "://" in str(source):
        return _open_video(str(source), str(source), start, end)
    path = Path(source).expanduser()
    if not path.exists() and str(source).isdecimal():
        return _open_camera(int(str(source)), start, end)
    if path.is_dir():
        return _open_folder(path, start, end)
    if not path.is_file():
        raise SourceError(f"no file or folder at {path}")
    return _open_video(str(path), path.stem, start, end)


def read_image(path: Path) -> Frame:
    """An image as it is in its file: BGR, BGR with alpha or grey, 8 or 16 bits."""
    # Not cv2.imread: that cannot open every path on every system, and may fill up a truncated file with grey.
    try:
        content = np.fromfile(path, dtype=np.uint8)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}") from error
    header = content.tobytes()
    if promises_too_much(header):
        raise SourceError(f"{path} is damaged: a part of it is missing")
    size_wh = announced_size(header)
    if size_wh is not None and size_wh[0] * size_wh[1] > MOST_PIXELS:
        raise SourceError(f"{path} has {size_wh[0]}x{size_wh[1]} pixels, more than are decoded")
    try:
        image = cv2.imdecode(content, cv2.IMREAD_UNCHANGED) if content.size else None
    except cv2.error as error:
        raise SourceError(f"{path} is damaged or no image: {one_line(error)}") from error
    if image is None:
        raise SourceError(f"{path} is damaged or no image")
    return image


def _open_folder(folder: Path, start: int, end: int | None) -> FrameSource:
    sequence = read_sequence(folder)
    frames = sequence.frames[start:end]
    if not frames:
        raise SourceError(f"{folder} has no frame {start}: it has {len(sequence.frames)} images")
    return FrameSource(
        sequence.name,
        _read_images(sequence.name, frames, start),
        start=start,
        frame_count=len(frames),
        source_frame_count=len(sequence.frames),
        fps=sequence.fps,
        ground_truth=sequence.ground_truth[start:end] or None,
    )


def _read_images(name: str, paths: list[Path], start: int) -> Generator[Frame, None, None]:
    for index, path in enumerate(paths, start=start):
        try:
            image = read_image(path)
        except SourceError as error:
            raise BrokenSourceError(name, index, str(error)) from error
        yield image


def _open_camera(number: int, start: int, end: int | None) -> FrameSource:
    camera = cv2.VideoCapture(number)
    if not camera.isOpened():
        camera.release()
        raise SourceError(f"cannot open camera {number}")
    name = f"camera {number}"
    fps = float(camera.get(cv2.CAP_PROP_FPS))
    return FrameSource(
        name,
        _sliced(_read_camera(camera, name), start, end),
        start=start,
        frame_count=None if end is None else end - start,
        fps=fps if fps > 0 else None,
        on_close=camera.release,
    )


def _read_camera(camera: cv2.VideoCapture, name: str) -> Generator[Frame, None, None]:
    for index in count():
        good, frame = camera.read()
        if not good:
            raise BrokenSourceError(name, index, "it gives no more frames")
        yield frame


def open_container(address: str) -> tuple[Any, av.VideoStream]:
    """A video file or stream as the video library sees it, and the stream of pictures in it."""
    is_stream = "://" in address
    try:
        container = av.open(
            address,
            timeout=STREAM_TIMEOUT_SECONDS if is_stream else None,
            # A file on disk may be a list of addresses: nothing is fetched that nobody asked for. (Not by ``options``:
            # those are also for streams, and a container that finds its streams later takes the process down.)
            container_options={} if is_stream else {"protocol_whitelist": "file"},
            metadata_errors="replace",
        )
    except (av.FFmpegError, OSError, ValueError) as error:
        raise SourceError(_why_not_opened(address, error)) from error
    stream = container.streams.best("video")
    # A picture that belongs to a piece of music counts as a video stream.
    if not isinstance(stream, av.VideoStream) or stream.disposition & Disposition.attached_pic:
        container.close()
        raise SourceError(f"{address} holds no video")
    if stream.codec_context is None:  # to decode it all the same would take the process down
        container.close()  # type: ignore[unreachable]
        raise SourceError(f"{address} is a video of an unknown kind")
    stream.codec_context.options = {"max_pixels": str(MOST_PIXELS)}
    return container, stream


def frame_rate(stream: av.VideoStream) -> float | None:
    """Frames per second; None where the file does not tell."""
    rate = stream.average_rate or stream.guessed_rate
    return float(rate) if rate else None


def _open_video(address: str, name: str, start: int, end: int | None) -> FrameSource:
    container, stream = open_container(address)
    total = stream.frames or None
    counted = None if total is None else len(range(total)[start:end])
    pictures = _decode(container, stream, address)
    return FrameSource(
        name,
        _converted(pictures, start, end),
        start=start,
        frame_count=counted,
        source_frame_count=total,
        fps=frame_rate(stream),
        on_close=container.close,
    )


def _why_not_opened(address: str, error: Exception) -> str:
    lacking = 0 if "://" in address else missing_bytes(Path(address))
    if lacking:
        return f"{address} is no complete video: {lacking} bytes are missing at its end"
    return f"cannot open {address} as a video: {getattr(error, 'strerror', None) or error}"


def _decode(container: Any, stream: av.VideoStream, address: str) -> Generator[av.VideoFrame, None, None]:
    """All pictures in order of presentation; ends with an error where the file is broken or its end is missing."""
    index = 0
    fault: str | None = None
    fault_pts: int | None = None
    packets = container.demux(stream)
    while fault is None:
        try:
            packet = next(packets, None)
            if packet is None:
                break
            fault_pts = packet.pts
            if packet.is_corrupt:
                fault = "its data are incomplete"
                break
            pictures = packet.decode()
        except DECODING_ERRORS as error:
            fault = str(getattr(error, "strerror", None) or error)
            break
        for picture in pictures:
            if picture.is_corrupt and index:
                raise BrokenSourceError(address, index, "its data are damaged")
            if picture.is_corrupt:  # a recording that starts between two key frames: its first pictures cannot be seen
                logger.warning("%s: skipped an incomplete picture at the start", address)
                continue
            yield picture
            index += 1
    if fault is not None:
        for picture in _delayed(stream, fault_pts):
            yield picture
            index += 1
        raise BrokenSourceError(address, index, fault)
    has_all = 0 < stream.frames <= index  # then only an index or the like was cut off
    if "://" not in address and not has_all and (lacking := missing_bytes(Path(address))):
        raise BrokenSourceError(address, index, f"the file ends early, {lacking} bytes are missing")


def _delayed(stream: av.VideoStream, before_pts: int | None) -> Iterator[av.VideoFrame]:
    """What the decoder still holds back when a packet fails: good pictures, as far as they precede that packet's."""
    try:
        pictures = stream.codec_context.decode(None)
    except DECODING_ERRORS:
        return
    for picture in pictures:
        late = picture.pts is not None and before_pts is not None and picture.pts >= before_pts
        if late or picture.is_corrupt:
            return
        yield picture


def _converted(
    pictures: Generator[av.VideoFrame, None, None], start: int, end: int | None
) -> Generator[Frame, None, None]:
    """Pictures as BGR arrays; skipped ones are not converted."""
    for picture in _sliced(pictures, start, end):
        yield upright_bgr(picture)


def upright_bgr(picture: av.VideoFrame) -> NDArray[np.uint8]:
    """A picture as a BGR array, turned as its metadata ask; :class:`SourceError` where it cannot be converted."""
    try:
        frame = np.asarray(picture.to_ndarray(format="bgr24"), np.uint8)
    except DECODING_ERRORS as error:
        raise SourceError(f"a picture of the video cannot be converted: {one_line(error)}") from error
    quarter_turns = round(picture.rotation / 90) % 4  # counter-clockwise, as np.rot90 turns
    return np.ascontiguousarray(np.rot90(frame, quarter_turns)) if quarter_turns else frame


def _sliced(frames: Generator[Any, None, None], start: int, end: int | None) -> Generator[Any, None, None]:
    try:
        yield from islice(frames, start, end)
    finally:
        frames.close()
