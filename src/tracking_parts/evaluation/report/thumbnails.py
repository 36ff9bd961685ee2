"""Small pictures of failures: the frame of the failure, where the object is, and where the tracker last said it was.

VOT's result files hold no region for the frame of a failure, only that it happened: the last regions before it are
drawn instead, the latest with the thickest line.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from tracking_parts.errors import SourceError
from tracking_parts.evaluation.experiment import Frame, read_frame
from tracking_parts.evaluation.report.content import Picture
from tracking_parts.evaluation.report.style import DARK
from tracking_parts.evaluation.scoring import SequenceRun
from tracking_parts.evaluation.trajectory import Code
from tracking_parts.geometry import Box, Polygon

SIZE_WH = (240, 180)
QUALITY = 70
AT_MOST = 60  # for the whole page: about half a megabyte
REGIONS_BEFORE = 3
_FRACTION_BITS = 4  # OpenCV draws lines to a sixteenth of a pixel

Colour = tuple[int, int, int]  # blue, green, red
BLACK: Colour = (0, 0, 0)
WHITE: Colour = (255, 255, 255)


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure of one run; ``slot`` is the tracker's number."""

    run: SequenceRun
    frame: int
    slot: int

    @property
    def place(self) -> tuple[int, str]:
        """Tracker and sequence: failures at one place look alike, so one of each place is shown before a second."""
        return (self.slot, self.run.sequence.name)


def choose_failures(failures: Sequence[Failure], at_most: int = AT_MOST) -> list[Failure]:
    """All failures if they are few; else the first of each tracker and sequence, then the second, and so on.

    They come back in the order in which they were given.
    """
    seen: Counter[tuple[int, str]] = Counter()
    turns = []
    for index, failure in enumerate(failures):
        turns.append((seen[failure.place], index))
        seen[failure.place] += 1
    return [failures[index] for index in sorted(index for _, index in sorted(turns)[:at_most])]


def picture_of(failure: Failure) -> Picture | None:
    """The picture of a failure, or None where the frame cannot be read any more."""
    sequence = failure.run.sequence
    try:
        frame = read_frame(sequence, failure.frame)
    except SourceError:
        return None
    truth = sequence.ground_truth[failure.frame]
    before = regions_before(failure)
    shown = [polygon for polygon in (truth, *before[-1:]) if polygon is not None]
    window = window_around(shown, (frame.shape[1], frame.shape[0]))
    image = cut(frame, window)
    colour = _bgr(DARK[failure.slot % len(DARK)])
    for region in before[:-1]:
        draw_outline(image, region, window, colour, thin=True)
    for region in before[-1:]:
        draw_outline(image, region, window, colour)
    if truth is not None:
        draw_outline(image, truth, window, WHITE)
    written, encoded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    if not written:
        return None
    uri = "data:image/jpeg;base64," + base64.b64encode(encoded.tobytes()).decode("ascii")
    return Picture(uri, SIZE_WH, _description(failure, len(before)), _caption(failure), failure.slot)


def regions_before(failure: Failure, count: int = REGIONS_BEFORE) -> list[Polygon]:
    """The last finite regions up to a failure, oldest first, not looking back past the start.

    In the frame itself there is one only where the tracker was not stopped there.
    """
    regions = failure.run.trajectory.regions
    found: list[Polygon] = []
    last = failure.frame - 1 if isinstance(regions[failure.frame], Code) else failure.frame
    for index in range(last, -1, -1):
        region = regions[index]
        if isinstance(region, Code) or len(found) == count:
            break
        if np.isfinite(region).all():
            found.append(region)
    return found[::-1]


def window_around(polygons: Sequence[Polygon], size_wh: tuple[int, int]) -> Box:
    """A part of the image, in the proportions of the pictures, that holds the polygons and what is around them."""
    width, height = size_wh
    if not polygons:
        return Box(0, 0, width, height)
    held = Box.around(np.concatenate([np.asarray(polygon) for polygon in polygons]))
    side = max(1.7 * held.w, 1.7 * held.h * SIZE_WH[0] / SIZE_WH[1], 80.0)
    # A region far away would make both objects invisible: then the view is as large as the image, around the middle.
    side = min(side, 1.2 * max(width, height * SIZE_WH[0] / SIZE_WH[1]))
    tall = side * SIZE_WH[1] / SIZE_WH[0]
    centre_x, centre_y = held.centre
    # Within the image where it fits, so that little of the picture is empty.
    centre_x = min(max(centre_x, side / 2), width - side / 2) if side <= width else width / 2
    centre_y = min(max(centre_y, tall / 2), height - tall / 2) if tall <= height else height / 2
    return Box.from_centre((centre_x, centre_y), side, tall)


def cut(frame: Frame, window: Box) -> Frame:
    """The window as a picture; grey where it reaches beyond the image."""
    zoom = SIZE_WH[0] / window.w
    # OpenCV counts pixel centres, we count pixel edges.
    to_picture = np.array([[zoom, 0, (0.5 - window.x) * zoom - 0.5], [0, zoom, (0.5 - window.y) * zoom - 0.5]])
    if zoom < 0.6:  # otherwise fine structure would flicker
        frame = cv2.GaussianBlur(frame, (0, 0), 0.4 / zoom)
    return cv2.warpAffine(
        frame, to_picture, SIZE_WH, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=(90, 90, 90)
    )


def draw_outline(image: Frame, polygon: Polygon, window: Box, colour: Colour, thin: bool = False) -> None:
    """Draw in place; unless it is thin, a dark rim keeps the colour visible on every background."""
    zoom = SIZE_WH[0] / window.w
    points = (np.asarray(polygon) - (window.x, window.y)) * zoom - 0.5
    # Far outside there is nothing to see, and OpenCV takes whole numbers of 32 bits.
    fixed = np.rint(points.clip(-4000, 4000) * (1 << _FRACTION_BITS)).astype(np.int32)
    for stroke, paint in ((1, colour),) if thin else ((4, BLACK), (2, colour)):
        cv2.polylines(image, [fixed], True, paint, stroke, cv2.LINE_AA, _FRACTION_BITS)


def _caption(failure: Failure) -> str:
    again = f", run {failure.run.repetition}" if failure.run.repetition > 1 else ""
    overlap = failure.run.score.overlaps[failure.frame - 1] if failure.frame else np.nan
    before = f", overlap before {overlap:.2f}" if np.isfinite(overlap) else ""
    return f"{failure.run.sequence.name}, frame {failure.frame + 1}{again}{before}"


def _description(failure: Failure, regions: int) -> str:
    return (
        f"Failure in {failure.run.sequence.name}, frame {failure.frame + 1}: ground truth in white, "
        f"the tracker's last {regions} regions before it in colour"
    )


def _bgr(colour: str) -> Colour:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return (blue, green, red)
