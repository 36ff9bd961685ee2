"""The trackers that odd inputs are given to: ours, and OpenCV's as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torture.odd_scene import Answer, Player

PEERS = ("csrt", "kcf", "mil", "nano", "vit")


def as_answer(result: Any) -> Answer:
    """Of one of our results."""
    return Answer(str(result.state) != "lost", result.box.xywh, str(result.state), result.confidence)


class Ours:
    """Our tracker; what it is made with may be changed for quick tests."""

    def __init__(self, tracker: Any = None, **made_with: Any) -> None:
        self._made_with = made_with
        self.tracker = self.make() if tracker is None else tracker

    def init(self, frame: Any, box: Any) -> None:
        self.tracker.init(frame, box)

    def update(self, frame: Any) -> Answer:
        return as_answer(self.tracker.update(frame))

    def make(self, **options: Any) -> Any:
        from tracking_parts import Tracker

        return Tracker(**{**self._made_with, **options})

    def multi(self) -> Any:
        from tracking_parts import MultiTracker

        return MultiTracker(**self._made_with)

    def opencv_style(self) -> Player:
        from tracking_parts.integrations.opencv_style import OpenCVStyleTracker

        settings = {name: value for name, value in self._made_with.items() if name != "weights"}
        return OpenCVPlayer(OpenCVStyleTracker(**settings))


class OpenCVPlayer:
    """Whatever has OpenCV's two calls."""

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker

    def init(self, frame: Any, box: Any) -> None:
        self._tracker.init(frame, box)

    def update(self, frame: Any) -> Answer:
        found, (x, y, w, h) = self._tracker.update(frame)
        return Answer(bool(found), (float(x), float(y), float(w), float(h)))


def player_maker(name: str) -> tuple[Callable[[], Player], type[Exception] | None]:
    """A fresh tracker of that name for every case, and the base of its own errors, if it has any."""
    if name == "ours":
        from tracking_parts import Tracker, TrackingPartsError

        pattern = Tracker()
        return lambda: Ours(pattern.another()), TrackingPartsError
    import torch  # noqa: F401 - some cases need it: loaded once here, not in every child

    from tracking_parts.evaluation.peers import find_peer

    peer = find_peer("opencv", name)

    def make() -> Player:
        started: Any = peer.start()
        return OpenCVPlayer(started.raw)

    return make, None
