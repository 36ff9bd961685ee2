"""Several objects in one video: what costs most, the frozen network, sees all of them in one batch per frame."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import partial

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from tracking_parts.camera import SmallPicture, small_picture
from tracking_parts.config import TrackerConfig
from tracking_parts.errors import InvalidFrameError, TargetNameError, quoted
from tracking_parts.features import each_alone
from tracking_parts.frames import Frame, Glance, as_bgr
from tracking_parts.geometry import Box
from tracking_parts.result import Result
from tracking_parts.threads import OneAtATime, in_forked_child, side_by_side, trunk_threads
from tracking_parts.trace import FrameTrace
from tracking_parts.tracker import Tracker
from tracking_parts.trunk_engines import Maps

Name = str | int

SECONDS_KEPT = 0.7  # of the running mean: a doubtful object is looked at for other sizes in every second frame only


class MultiTracker:
    """Follows any number of objects; each has the boxes that a :class:`Tracker` of its own would give it.

    Objects may be added and removed between frames. They know nothing of each other.
    """

    def __init__(
        self,
        config: TrackerConfig | str = "default",
        *,
        device: str | torch.device = "cpu",
        seed: int = 0,
        weights: dict[str, Tensor] | None = None,
        engine: str = "auto",
    ) -> None:
        self._pattern = Tracker(config, device=device, seed=seed, weights=weights, engine=engine)
        self.config = self._pattern.config
        self.engine = self._pattern.engine
        self._trackers: dict[Name, Tracker] = {}
        self._frame_shape: tuple[int, ...] = ()
        self._next_number = 0
        self._threads = trunk_threads() if self._pattern.device.type == "cpu" else 1
        self._seconds: dict[Name, float] = {}  # of one frame, a running mean
        self._turn = OneAtATime()

    # ------------------------------------------------------------------ the objects
    def add(self, frame: ArrayLike, box: Box | ArrayLike, name: Name | None = None) -> Name:
        """Begin to follow the object in ``box`` of ``frame``; gives its name, a number if none was given.

        The frame is the last one that :meth:`update` saw, or the first one: the object is looked for from the next
        frame on. What was found in this one, the box itself, is in its :meth:`trace`.
        """
        image = as_bgr(frame)
        with self._turn:
            return self._add(image, box, name)

    def _add(self, image: Frame, box: Box | ArrayLike, name: Name | None) -> Name:
        self._check_shape(image)
        chosen = self._free_number() if name is None else _checked(name)
        if chosen in self._trackers:
            raise TargetNameError(f"there is a target named {chosen!r} already")
        tracker = self._pattern.another()
        tracker.init(image, box)
        self._trackers[chosen], self._frame_shape = tracker, image.shape
        return chosen

    def correct(self, frame: ArrayLike, box: Box | ArrayLike, name: Name) -> Result:
        """Put one object into ``box`` of the last frame, and learn that it is there; see :meth:`Tracker.correct`."""
        with self._turn:
            return self._tracker(name).correct(frame, box)

    def remove(self, name: Name) -> None:
        """Forget one object."""
        with self._turn:
            self._tracker(name).close()
            del self._trackers[name]
            self._seconds.pop(name, None)

    @property
    def names(self) -> tuple[Name, ...]:
        """In the order in which they were added."""
        return tuple(self._trackers)

    def trace(self, name: Name) -> FrameTrace:
        """What happened to one object in the last frame."""
        return self._tracker(name).trace

    def __len__(self) -> int:
        return len(self._trackers)

    # ------------------------------------------------------------------ a frame
    def update(self, frame: ArrayLike) -> dict[Name, Result]:
        """Find every object in the next frame, then learn from it; a frame that cannot be used changes nothing."""
        image = as_bgr(frame)
        with self._turn:
            self._check_shape(image)
            picture = small_picture(image) if self.config.mind_camera else None
            with self._pattern.extract.engine.side_by_side() as can_be:
                if can_be and min(self._threads, len(self)) > 1:
                    return self._each(lambda name: self._look_and_follow(self._trackers[name], image, picture))
            glances = {name: tracker.aim(image, picture) for name, tracker in self._trackers.items()}
            maps = self._look(glances)
            return self._each(lambda name: self._trackers[name].follow(glances[name], maps[name]))

    def _look_and_follow(self, tracker: Tracker, image: Frame, picture: SmallPicture | None) -> Result:
        """All of one object's frame in one thread: nobody waits for another object's crop."""
        glance = tracker.aim(image, picture)
        return tracker.follow(glance, self._pattern.extract([glance.crop]))

    def _check_shape(self, image: Frame) -> None:
        if self._trackers and image.shape != self._frame_shape:
            (height, width), (its_height, its_width) = self._frame_shape[:2], image.shape[:2]
            raise InvalidFrameError(
                f"the frame is {its_width}x{its_height} pixels, the targets' frames are {width}x{height}"
            )

    def _look(self, glances: Mapping[Name, Glance]) -> dict[Name, Maps]:
        """One batch per size of crop."""
        names_by_size: dict[tuple[int, ...], list[Name]] = {}
        for name, glance in glances.items():
            names_by_size.setdefault(glance.crop.shape, []).append(name)
        found: dict[Name, Maps] = {}
        for names in names_by_size.values():
            maps = self._pattern.extract([glances[name].crop for name in names])
            found.update(zip(names, each_alone(maps), strict=True))
        return found

    def _each(self, follow: Callable[[Name], Result]) -> dict[Name, Result]:
        """Objects share nothing that changes, so that the answers are the same in sequence and side by side.

        Those that took longest of late begin first: nobody waits for one who began last and has most to do.
        """
        longest_first = sorted(self._trackers, key=lambda name: -self._seconds.get(name, math.inf))
        hands = 1 if in_forked_child() else self._threads  # its helpers have stayed behind
        tasks = [partial(self._timed, follow, name) for name in longest_first]
        found = dict(zip(longest_first, side_by_side(tasks, hands), strict=True))
        return {name: found[name] for name in self._trackers}

    def _timed(self, follow: Callable[[Name], Result], name: Name) -> Result:
        began = time.perf_counter()
        result = follow(name)
        seconds = time.perf_counter() - began
        self._seconds[name] = seconds + SECONDS_KEPT * (self._seconds.get(name, seconds) - seconds)
        return result

    # ------------------------------------------------------------------ the end
    def close(self) -> None:
        """Forget all objects and end any training in the background."""
        for name in self.names:
            self.remove(name)

    def __enter__(self) -> MultiTracker:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------ names
    def _tracker(self, name: Name) -> Tracker:
        if _checked(name) not in self._trackers:
            raise TargetNameError(f"there is no target named {name!r}")
        return self._trackers[name]

    def _free_number(self) -> int:
        """One that no target has or had."""
        while self._next_number in self._trackers:
            self._next_number += 1
        self._next_number += 1
        return self._next_number - 1


def _checked(name: Name) -> Name:
    """A truth value is a number to Python, and would be taken for target 0 or 1."""
    if isinstance(name, bool) or not isinstance(name, (str, int)):
        raise TargetNameError(f"a target's name is a text or a whole number, not {quoted(name)}")
    return name
