"""Frames as the tracker wants them: BGR, 8 bits, three channels; and crops cut from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from os import PathLike
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from tracking_parts.camera import Scene
from tracking_parts.errors import InvalidBoxError, InvalidFrameError, one_line, quoted
from tracking_parts.geometry import Box, CropWindow

Frame = NDArray[np.uint8]

MIN_FRAME_SIDE = 8  # pixels; below this there is nothing for a network of stride 4 to see
MIN_BOX_SIDE = 1.0  # pixels
MAX_BOX_IN_FRAMES = 2  # a box may be this many times as wide and high as the frame
FLOAT_SLACK = 0.5  # floats may leave their range by this share of it, as after a filter, and are clipped


def as_bgr(frame: Any) -> Frame:
    """Any usual picture as BGR, uint8, [height, width, 3]; the input is never changed.

    Grey and one-channel frames are repeated over three channels, an alpha channel is dropped, 16-bit values keep their
    upper byte, floats are read as 0–1 if none exceeds 1 and as 0–255 otherwise, PIL's images in their own colours.
    Anything else raises :class:`InvalidFrameError`.
    """
    pixels = _as_array(frame)
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3, 4)):
        raise InvalidFrameError(f"a frame has shape [height, width] or [height, width, 1, 3 or 4], not {pixels.shape}")
    if min(pixels.shape[:2]) < MIN_FRAME_SIDE:
        raise InvalidFrameError(f"a frame of {pixels.shape[1]}x{pixels.shape[0]} pixels is too small to track in")
    pixels = _as_uint8(pixels)
    if pixels.ndim == 2 or pixels.shape[2] == 1:
        pixels = np.repeat(pixels.reshape(*pixels.shape[:2], 1), 3, axis=2)
    return np.ascontiguousarray(pixels[:, :, :3])


def _as_array(frame: Any) -> NDArray[Any]:
    if frame is None:
        raise InvalidFrameError("the frame is None: was the picture or the video read?")
    if isinstance(frame, (str, bytes, PathLike)):
        raise InvalidFrameError(f"the frame is {quoted(frame)}, not a picture: read the file first")
    if hasattr(frame, "getbands"):  # PIL's; of several bands, its own order is RGB
        return np.asarray(frame) if len(frame.getbands()) == 1 and frame.mode != "P" else _of_pil(frame)
    try:
        return np.asarray(_detached(frame))
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InvalidFrameError(f"the frame is no array of pixels: {one_line(error)}") from error


def _of_pil(picture: Any) -> NDArray[Any]:
    return np.asarray(picture.convert("RGB"))[:, :, ::-1]


def _detached(values: Any) -> Any:
    """A torch tensor without its history, in this computer's memory; anything else as it is."""
    return values.detach().cpu() if hasattr(values, "detach") and hasattr(values, "cpu") else values


def _as_uint8(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    if pixels.dtype == np.uint8:
        return pixels.astype(np.uint8, copy=False)
    if pixels.dtype == np.bool_:
        return pixels.astype(np.uint8) * np.uint8(255)
    if pixels.dtype.kind == "u" and pixels.dtype.itemsize == 2:  # in either order of bytes
        return (pixels.astype(np.uint16) >> 8).astype(np.uint8)
    if np.issubdtype(pixels.dtype, np.floating):
        return _of_floats(pixels.astype(np.float64))
    raise InvalidFrameError(f"a frame of type {pixels.dtype} is not supported: use uint8, uint16 or a float")


def _of_floats(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    lowest, highest = float(values.min()), float(values.max())
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        raise InvalidFrameError("the frame has values that are not finite (NaN or infinity)")
    white = 1.0 if highest <= 1.0 else 255.0
    if lowest < -FLOAT_SLACK * white or highest > (1 + FLOAT_SLACK) * white:
        raise InvalidFrameError(f"the frame's floats lie in {lowest:g} to {highest:g}: use 0–1 or 0–255")
    return np.clip(np.rint(values * (255.0 / white)), 0, 255).astype(np.uint8)


def as_box(box: Any, frame: Frame) -> Box:
    """The box to start from, checked against its frame: finite, not empty, its centre inside the picture."""
    checked = Box(*_four_numbers(box))
    text = ", ".join(f"{value:g}" for value in checked.xywh)
    if not all(math.isfinite(value) for value in checked.xywh):
        raise InvalidBoxError(f"the box ({text}) has values that are not finite")
    if checked.w < MIN_BOX_SIDE or checked.h < MIN_BOX_SIDE:
        raise InvalidBoxError(f"the box ({text}) is empty: width and height must be at least {MIN_BOX_SIDE:g} pixel")
    height, width = frame.shape[:2]
    if checked.w > MAX_BOX_IN_FRAMES * width or checked.h > MAX_BOX_IN_FRAMES * height:
        raise InvalidBoxError(
            f"the box ({text}) is more than {MAX_BOX_IN_FRAMES} times the frame of {width}x{height} pixels"
        )
    visible = checked.intersection(Box(0, 0, width, height))
    if visible <= 0:
        raise InvalidBoxError(f"the box ({text}) lies outside the frame of {width}x{height} pixels")
    centre_x, centre_y = checked.centre
    if not (0 <= centre_x <= width and 0 <= centre_y <= height):
        raise InvalidBoxError(f"the centre of the box ({text}) lies outside the frame of {width}x{height} pixels")
    return checked


def _four_numbers(box: Any) -> tuple[float, ...]:
    """x, y, width and height, in a row or a column; four numbers in a square are more likely two corners."""
    given = (box.x, box.y, box.w, box.h) if isinstance(box, Box) else box
    try:
        values = np.asarray(_detached(given))
        if values.dtype.kind in "bc":
            raise TypeError("truth values and complex numbers are no coordinates")
        numbers = values.astype(float)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InvalidBoxError(f"a box is four numbers x, y, width, height, not {quoted(box)}") from error
    if numbers.size != 4 or max(numbers.shape) != 4:
        shape = "x".join(map(str, numbers.shape)) or "one value"
        hint = "; the box around a polygon is Box.around(corners)" if numbers.ndim == 2 else ""
        raise InvalidBoxError(f"a box is four numbers x, y, width, height, not {shape}: {quoted(box)}{hint}")
    return tuple(float(value) for value in numbers.reshape(-1))


class Reach(Enum):
    """How far around the object a look goes, or that it goes elsewhere."""

    NARROW = "narrow"
    USUAL = "usual"
    WIDE = "wide"
    ELSEWHERE = "elsewhere"  # as far as usual, but around another place than the last one


@dataclass(frozen=True)
class Glance:
    """A window of a frame, as the network is shown it."""

    frame: Frame
    window: CropWindow
    crop: Frame
    reach: Reach = Reach.USUAL
    scene: Scene | None = None  # None where nobody minds the camera

    @classmethod
    def at(cls, frame: Frame, window: CropWindow, reach: Reach = Reach.USUAL) -> Glance:
        return cls(frame, window, cut_crop(frame, window), reach)


def cut_crop(frame: Frame, window: CropWindow) -> Frame:
    """The window's part of the image, resized with antialiasing; border pixels are repeated outside the image.

    A window many times larger than the crop is cut from a frame shrunk by a whole factor, at most an eighth of a crop
    pixel off: cutting it whole would take gigabytes for a box as large as a 4K frame.
    """
    factor = min(window.width // (4 * window.crop_width), window.height // (4 * window.crop_height))
    if factor > 1:
        return cut_crop(_shrunk(frame, factor), _shrunk_window(window, factor))
    piece = _piece(frame, window)
    # INTER_AREA averages whole source pixels when shrinking; when enlarging there is nothing to alias.
    interpolation = cv2.INTER_AREA if max(window.zoom) < 1 else cv2.INTER_LINEAR
    crop = cv2.resize(piece, (window.crop_width, window.crop_height), interpolation=interpolation)
    return np.asarray(crop, dtype=np.uint8)


def _piece(frame: Frame, window: CropWindow) -> Frame:
    """The window's part of the image, at its own size: a view of it, but where border pixels are repeated."""
    (left, right), before, after = _inside(window.left, window.width, frame.shape[1])
    (top, bottom), above, below = _inside(window.top, window.height, frame.shape[0])
    inside = frame[top:bottom, left:right]
    if not any((before, after, above, below)):
        return inside
    return np.asarray(cv2.copyMakeBorder(inside, above, below, before, after, cv2.BORDER_REPLICATE), dtype=np.uint8)


def _inside(start: int, length: int, limit: int) -> tuple[tuple[int, int], int, int]:
    """Which of these places lie below ``limit``, and how many are missing before and after.

    Where all are beyond, the nearest one is left, to be repeated.
    """
    first = min(max(start, 0), limit - 1)
    last = min(max(start + length, 1), limit)
    before = min(first - start, length - 1) if first > start else 0
    return (first, last), before, length - before - (last - first)


def _shrunk(frame: Frame, factor: int) -> Frame:
    """The frame with blocks of ``factor`` x ``factor`` pixels averaged; what does not fill a block is left out."""
    height, width = (max(side // factor, 1) for side in frame.shape[:2])
    blocks = frame[: height * factor, : width * factor]
    return np.asarray(cv2.resize(blocks, (width, height), interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _shrunk_window(window: CropWindow, factor: int) -> CropWindow:
    left, top, width, height = (
        round(value / factor) for value in (window.left, window.top, window.width, window.height)
    )
    return replace(window, left=left, top=top, width=width, height=height)
