"""Write an MP4 that plays up to its last frame even if the process is killed."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from types import TracebackType

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.errors import OutputError
from tracking_parts.io.files import temporary_beside

# An ordinary MP4 keeps its index at the end and is lost without it. Here each frame is a fragment with its own index,
# which costs about a hundred bytes per frame.
CONTAINER_OPTIONS = {"movflags": "frag_every_frame+empty_moov+default_base_moof", "flush_packets": "1"}
ENCODERS = ("libx264", "libopenh264", "mpeg4")  # the first one that this build of the video library has is taken
ENCODER_OPTIONS = {"libx264": {"preset": "veryfast", "crf": "20", "tune": "zerolatency"}}
SECONDS_PER_KEYFRAME = 1.0
BITS_PER_PIXEL = 0.2  # for encoders that are steered by bit rate


class VideoWriter:
    """An H.264 video (MPEG-4 part 2 where no H.264 encoder is there) from BGR frames.

    The encoding needs even sizes: an odd one is extended by a copy of its last row or column. The file has its name
    from the moment on at which it can be played, one frame after the first; until then it is a hidden one beside it.
    """

    def __init__(self, path: str | Path, fps: float, size_wh: tuple[int, int]) -> None:
        if not (math.isfinite(fps) and fps > 0):
            raise OutputError(f"cannot write a video with {fps} frames per second")
        if min(size_wh) < 1:
            raise OutputError(f"cannot write a video of size {size_wh}")
        self.path = Path(path)
        self._size_wh = size_wh
        self._frame_count = 0
        self._rate = max(Fraction(fps).limit_denominator(1001), Fraction(1, 1001))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._hidden = self._hide()
            place = self.path if self._hidden is None else self._hidden
            self._container = av.open(str(place), "w", format="mp4", options=CONTAINER_OPTIONS)
        except (av.FFmpegError, OSError) as error:
            raise self._error(error) from error
        self._stream = self._add_stream()
        self._closed = False

    def write(self, frame_bgr: NDArray[np.uint8]) -> None:
        """Encode one frame; when this returns, the frame before it is on disk."""
        if self._closed:
            raise OutputError(f"cannot write {self.path}: it is closed")
        width, height = self._size_wh
        if frame_bgr.shape != (height, width, 3) or frame_bgr.dtype != np.uint8:
            raise OutputError(
                f"cannot write a frame of shape {frame_bgr.shape} and type {frame_bgr.dtype} to a video of "
                f"{width}x{height}: expected BGR with 8 bits"
            )
        if width % 2 or height % 2:
            frame_bgr = cv2.copyMakeBorder(frame_bgr, 0, height % 2, 0, width % 2, cv2.BORDER_REPLICATE)  # type: ignore[assignment]
        picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame_bgr), format="bgr24")
        picture.pts = self._frame_count
        picture.time_base = 1 / self._rate
        try:
            self._container.mux(self._stream.encode(picture))
        except (av.FFmpegError, OSError) as error:
            raise self._error(error) from error
        self._frame_count += 1
        if self._frame_count == 2:
            self._show()

    def _hide(self) -> Path | None:
        """Where to write until there is something to be played; None: what is no file (a device) is written to."""
        if self.path.exists() and not self.path.is_file():
            return None
        self.path.unlink(missing_ok=True)  # else an earlier run's would stand for this one's for a while
        return temporary_beside(self.path)

    def _show(self) -> None:
        """Give the file its name."""
        if self._hidden is not None:
            with suppress(PermissionError):  # where an open file cannot be renamed: when it is closed
                self._hidden.replace(self.path)
                self._hidden = None

    def close(self) -> None:
        """Finish the file; further calls do nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            try:
                if self._frame_count:
                    self._container.mux(self._stream.encode(None))
            finally:
                self._container.close()
            if self._frame_count:
                self._show()
        except (av.FFmpegError, OSError) as error:
            raise self._error(error) from error
        finally:
            if self._hidden is not None:
                self._hidden.unlink(missing_ok=True)

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _add_stream(self) -> av.VideoStream:
        width, height = self._size_wh
        encoder = choose_encoder()
        stream = self._container.add_stream(encoder, rate=self._rate, options=ENCODER_OPTIONS.get(encoder, {}))
        if not isinstance(stream, av.VideoStream):
            raise OutputError(f"cannot write {self.path}: {encoder} is no video encoder")
        stream.width, stream.height = width + width % 2, height + height % 2
        stream.pix_fmt = "yuv420p"
        stream.gop_size = max(1, round(SECONDS_PER_KEYFRAME * float(self._rate)))
        stream.codec_context.max_b_frames = 0
        if encoder not in ENCODER_OPTIONS:
            stream.bit_rate = max(100_000, round(BITS_PER_PIXEL * width * height * float(self._rate)))
        return stream

    def _error(self, error: Exception) -> OutputError:
        return OutputError(f"cannot write {self.path}: {getattr(error, 'strerror', None) or error}")


def choose_encoder() -> str:
    """The best encoder that this build of the video library offers."""
    for name in ENCODERS:
        if name in av.codecs_available and _can_encode(name):
            return name
    raise OutputError(f"cannot write a video: none of the encoders {', '.join(ENCODERS)} is available")


def _can_encode(name: str) -> bool:
    try:
        av.Codec(name, "w")
    except ValueError:
        return False
    return True
