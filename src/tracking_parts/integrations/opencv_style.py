"""The tracker behind the two calls that all of OpenCV's trackers share, for code that was written for those."""

from __future__ import annotations

from numpy.typing import ArrayLike

from tracking_parts import Result, State, Tracker, TrackerConfig
from tracking_parts.geometry import Box

WholeBox = tuple[int, int, int, int]


class OpenCVStyleTracker:
    """``init(image, (x, y, w, h))``, then ``found, (x, y, w, h) = update(image)``, as with ``cv2.TrackerCSRT``.

    Images are BGR, boxes count from (0, 0) at the image's top-left corner. ``found`` is False while the tracker calls
    the object lost; the box is then the last one believed, where OpenCV's trackers answer zeros. The box is in whole
    pixels, as OpenCV's is: what that rounding loses, and the confidence, are in :attr:`result`.
    """

    def __init__(
        self, config: TrackerConfig | str = "default", *, device: str = "cpu", seed: int = 0, engine: str = "auto"
    ) -> None:
        self._tracker = Tracker(config, device=device, seed=seed, engine=engine)
        self._result: Result | None = None

    def init(self, image: ArrayLike, box: Box | ArrayLike) -> None:
        self._result = self._tracker.init(image, box)

    def update(self, image: ArrayLike) -> tuple[bool, WholeBox]:
        self._result = self._tracker.update(image)
        return self._result.state is not State.LOST, whole_pixels(self._result.box)

    @property
    def result(self) -> Result | None:
        """The last answer in full; None before ``init``."""
        return self._result

    def close(self) -> None:
        """Forget the object and end any training in the background."""
        self._tracker.close()
        self._result = None


def whole_pixels(box: Box) -> WholeBox:
    """The box with its edges on the nearest whole pixels, at least one pixel wide and high.

    >>> whole_pixels(Box(1.4, 2.6, 10.2, 5.0))
    (1, 3, 11, 5)
    """
    left, top, right, bottom = (round(edge) for edge in box.xyxy)
    return left, top, max(right - left, 1), max(bottom - top, 1)
