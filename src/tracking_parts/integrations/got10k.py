"""The tracker as a class of the got10k toolkit, to be run by its experiments (GOT-10k, OTB, and others).

>>> from got10k.experiments import ExperimentGOT10k                         # doctest: +SKIP
>>> ExperimentGOT10k("data/GOT-10k").run(Got10kTracker("default"))          # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracking_parts import Tracker, TrackerConfig
from tracking_parts.errors import ConfigError
from tracking_parts.geometry import Box

if TYPE_CHECKING:
    ToolkitTracker: Any
else:
    try:
        from got10k.trackers import Tracker as ToolkitTracker
    except ModuleNotFoundError:  # this module can be read without it; making a tracker then says what to install
        ToolkitTracker = object

MISSING = "the got10k toolkit is not installed: pip install 'tracking-parts[got10k]'"


class Got10kTracker(ToolkitTracker):  # type: ignore[misc]
    """``init`` and ``update`` as got10k's experiments call them.

    They hand over PIL images in RGB, and boxes just as the data set's files hold them; ``origin`` is the coordinate
    that these give to the image's first pixel: 0 in GOT-10k and VOT, 1 in OTB. The answer is the upright box in the
    same coordinates; got10k has no word for lost, so the last box believed is given then. The first box is recorded by
    got10k itself.
    """

    def __init__(
        self,
        config: TrackerConfig | str = "default",
        *,
        name: str = "STP",
        origin: float = 0.0,
        device: str = "cpu",
        seed: int = 0,
        engine: str = "auto",
    ) -> None:
        if ToolkitTracker is object:
            raise ConfigError(MISSING)
        self._tracker = Tracker(config, device=device, seed=seed, engine=engine)
        self._origin = origin
        # got10k repeats a run unless the tracker says that it would answer the same.
        super().__init__(name=name, is_deterministic=self._tracker.config.update != "parallel")

    def init(self, image: Any, box: ArrayLike) -> None:
        x, y, w, h = (float(value) for value in np.asarray(box, dtype=float).reshape(-1))
        self._tracker.init(bgr_from_pil(image), Box(x - self._origin, y - self._origin, w, h))

    def update(self, image: Any) -> NDArray[np.float64]:
        x, y, w, h = self._tracker.update(bgr_from_pil(image)).box.xywh
        return np.array([x + self._origin, y + self._origin, w, h])


def bgr_from_pil(image: Any) -> NDArray[np.uint8]:
    """A PIL image of any mode as BGR."""
    return np.ascontiguousarray(np.asarray(image.convert("RGB"), dtype=np.uint8)[:, :, ::-1])
