"""Tracking in a thread of its own, from one frame on, until it is told otherwise."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol

from tracking_parts.errors import TrackingPartsError
from tracking_parts.geometry import Box
from tracking_parts.io.random_access import Picture
from tracking_parts.studio.decoder import Decoder
from tracking_parts.studio.inside import pack_trace
from tracking_parts.studio.model import BY_HAND, BY_TRACKER, Row
from tracking_parts.studio.plan import ManyTracker, Phase, Plan
from tracking_parts.studio.store import Store
from tracking_parts.trace import FrameTrace

logger = logging.getLogger(__name__)

RECENT_SECONDS = 2.0  # over which the speed is measured
GROWTH_SECONDS = 0.05  # between looks for the next frame of a recording

News = tuple[int, Row, FrameTrace]  # of one target in one frame


class Listener(Protocol):
    """Told how a run goes. Nothing of it may make the tracker wait."""

    def state(self, run: Run) -> None: ...

    def rows(self, rows: list[tuple[int, Row]]) -> None: ...

    def picture(self, frame: int, jpeg: bytes) -> None: ...

    def picture_width(self) -> int:
        """How wide a picture is wanted of the next frame; 0 for none."""


class _StopError(Exception):
    """Somebody asked to stop."""


class Run(threading.Thread):
    """One run. Its methods are for other threads."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        get_tracker: Callable[[], ManyTracker],
        get_decoder: Callable[[], Decoder],
        listener: Listener,
        is_growing: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(name="studio-run", daemon=True)
        self.plan = plan
        self.phase = Phase.STARTING
        self.position = plan.start - 1  # the last frame tracked
        self.problem = ""
        self.teaches = False  # whether a drawn box teaches a target that is followed, instead of beginning it anew
        self._store, self._listener, self._is_growing = store, listener, is_growing
        self._get_tracker, self._get_decoder = get_tracker, get_decoder
        self._gate = threading.Condition()
        self._stopping = False
        self._steps: int | None = None  # frames until the next pause; None: no pause is wanted
        self._drawn = {target: store.drawn(target) for target in plan.targets}
        self._redrawn: set[int] = set()  # targets whose box at the last frame was changed while paused
        self._left: set[int] = set()
        self._recent: deque[float] = deque()
        self._picture: Picture | None = None
        self._clerk = ThreadPoolExecutor(1, "studio-clerk")  # keeps one frame while the next is tracked
        self._kept: Future[None] | None = None

    # ------------------------------------------------------------------ for other threads
    def pause_after(self, frames: int | None) -> None:
        """Pause when so many more frames are tracked; None: do not."""
        self._set_steps(frames)

    def stop(self) -> None:
        """Ask to end; :meth:`join` waits for it."""
        with self._gate:
            self._stopping = True
            self._gate.notify_all()

    def box_changed(self, target: int, frame: int, box: Box | None) -> None:
        """A person drew or erased a box: it counts from the next frame on."""
        with self._gate:
            if target not in self._drawn and frame != self.position:
                return
            boxes = self._drawn.setdefault(target, {})
            if box is None:
                boxes.pop(frame, None)
            else:
                boxes[frame] = box
            if frame == self.position:
                self._redrawn.add(target)
                self._left.discard(target)

    def forget(self, target: int) -> None:
        """Follow a target no more."""
        with self._gate:
            self._drawn.pop(target, None)
            self._redrawn.discard(target)

    @property
    def fps(self) -> float:
        recent = list(self._recent)
        return (len(recent) - 1) / (recent[-1] - recent[0]) if len(recent) > 1 and recent[-1] > recent[0] else 0.0

    # ------------------------------------------------------------------ the thread
    def run(self) -> None:
        try:
            self._listener.state(self)
            tracker, decoder = self._get_tracker(), self._get_decoder()
            for name in tracker.names:
                if not self._goes_on(int(name)):
                    tracker.remove(int(name))
            self._follow(tracker, decoder)
            self._finish_keeping()
            self._enter(Phase.DONE)
        except _StopError:
            self._enter(Phase.DONE)
        except (TrackingPartsError, OSError) as error:
            self.problem = str(error)
            self._enter(Phase.FAILED)
        except Exception as error:
            logger.exception("tracking failed")
            self.problem = f"tracking failed at frame {self.position + 1}: {type(error).__name__}"
            self._enter(Phase.FAILED)
        finally:
            self._clerk.shutdown()

    def _goes_on(self, target: int) -> bool:
        """Whether what the tracker knows of a target is kept: the box in the first frame will teach it."""
        drawn_here = self.plan.start in self._drawn.get(target, ())
        return self.teaches and self.plan.keep_trackers and target in self.plan.targets and drawn_here

    def _follow(self, tracker: ManyTracker, decoder: Decoder) -> None:
        width = self._listener.picture_width()
        index = self.plan.start
        while self._there_is(decoder, index) and self._somebody_waits(tracker, index):
            self._pass_gate(tracker)
            decoded = decoder.read(index, jpeg_width=width)
            assert decoded.picture is not None
            width = self._listener.picture_width()
            if self._has(decoder, index + 1):
                decoder.ask_ahead(index + 1, jpeg_width=width)
            self._track(tracker, index, decoded.picture)
            if decoded.jpeg:
                self._listener.picture(index, decoded.jpeg)
            index += 1

    def _has(self, decoder: Decoder, index: int) -> bool:
        return index < (decoder.facts.frame_count if self.plan.end is None else self.plan.end)

    def _there_is(self, decoder: Decoder, index: int) -> bool:
        """Whether there is such a frame; of a recording that goes on it is waited for."""
        if self._has(decoder, index):
            return True
        growing = self._is_growing()
        while index >= decoder.count():
            if not growing:
                return False
            growing = self._is_growing()
            with self._gate:
                if self._stopping or self._gate.wait_for(lambda: self._stopping, GROWTH_SECONDS):
                    raise _StopError
        return True

    def _somebody_waits(self, tracker: ManyTracker, index: int) -> bool:
        """Whether anyone is followed, or will be: a box drawn later on."""
        with self._gate:
            self._let_go(tracker, index)
            waiting = [
                target
                for target, boxes in self._drawn.items()
                if target not in tracker.names and target not in self._left and any(frame >= index for frame in boxes)
            ]
            return bool(tracker.names or waiting or self._redrawn or index == self.plan.start)

    def _let_go(self, tracker: ManyTracker, index: int) -> None:
        """Of targets that were deleted, and of those whose sequel was tracked already."""
        for name in tracker.names:
            target = int(name)
            reached = self.plan.keep_sequels and index > self.plan.start and index in self._drawn.get(target, ())
            if reached and self._store.row(target, index + 1) is not None:
                self._left.add(target)
            if target in self._left or target not in self._drawn:
                tracker.remove(target)

    def _pass_gate(self, tracker: ManyTracker) -> None:
        """Wait while paused, then take over what was corrected meanwhile."""
        with self._gate:
            while self._steps == 0 and not self._stopping:
                if self.phase is not Phase.PAUSED:
                    self._recent.clear()
                    self._enter(Phase.PAUSED)
                self._gate.wait()
            if self._stopping:
                raise _StopError
            if self._steps is not None:
                self._steps -= 1
            redrawn, self._redrawn = self._redrawn, set()
            boxes = {target: self._drawn.get(target, {}).get(self.position) for target in redrawn}
        if self._picture is not None:
            for target, box in boxes.items():
                if box is not None:
                    self._keep([self._place(tracker, target, self._picture, self.position, box)])
                elif target in tracker.names:
                    tracker.remove(target)
        if self.phase is not Phase.TRACKING:
            self._enter(Phase.TRACKING)

    def _track(self, tracker: ManyTracker, index: int, picture: Picture) -> None:
        """One frame: all who are followed are found, and whoever has a drawn box here is put there."""
        placed = self._beginners(tracker, index)
        for target in placed:
            if target in tracker.names and not self.teaches:
                tracker.remove(target)
        found = tracker.update(picture) if tracker.names and index > self.plan.start else {}
        news = [self._news(tracker, int(name), index, BY_TRACKER) for name in found if int(name) not in placed]
        news += [self._place(tracker, target, picture, index, box) for target, box in placed.items()]
        self._picture, self.position = picture, index
        self._recent.append(time.monotonic())
        while self._recent[-1] - self._recent[0] > RECENT_SECONDS:
            self._recent.popleft()
        self._keep(news)

    def _beginners(self, tracker: ManyTracker, index: int) -> dict[int, Box]:
        with self._gate:
            begin = {target: boxes[index] for target, boxes in self._drawn.items() if index in boxes}
        if index == self.plan.start:
            for target in self.plan.targets:
                row = self._store.row(target, index)
                if target not in begin and row is not None:
                    begin[target] = row.start
        return begin

    def _place(self, tracker: ManyTracker, target: int, picture: Picture, index: int, box: Box) -> News:
        """Teach a target its box, or begin it there."""
        if target in tracker.names and self.teaches:
            tracker.correct(picture, box, target)
        else:
            if target in tracker.names:
                tracker.remove(target)
            tracker.add(picture, box, target)
        return self._news(tracker, target, index, BY_HAND if index in self._drawn.get(target, ()) else BY_TRACKER)

    def _news(self, tracker: ManyTracker, target: int, index: int, origin: str) -> News:
        trace = tracker.trace(target)
        return target, Row.from_trace(index, trace, origin), trace

    # ------------------------------------------------------------------ keeping what was found
    def _keep(self, news: list[News]) -> None:
        """Let a frame be kept while the next one is tracked; the one before is kept by then."""
        self._finish_keeping()
        self._kept = self._clerk.submit(self._write, news)

    def _finish_keeping(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.result()

    def _write(self, news: list[News]) -> None:
        """Nobody is told of what is not kept yet."""
        self._store.put([(target, row, pack_trace(trace)) for target, row, trace in news])
        self._listener.rows([(target, row) for target, row, _ in news])

    def _set_steps(self, steps: int | None) -> None:
        with self._gate:
            self._steps = steps
            self._gate.notify_all()

    def _enter(self, phase: Phase) -> None:
        if self._kept is not None:
            wait([self._kept])
        self.phase = phase
        self._listener.state(self)
