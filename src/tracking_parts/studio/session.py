"""One project that is open in one tab, with a tracker of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from tracking_parts.errors import InvalidBoxError, SourceError, TargetNameError, TrackingPartsError
from tracking_parts.geometry import Box
from tracking_parts.studio.channel import Channel
from tracking_parts.studio.decoder import Decoded, Decoder
from tracking_parts.studio.model import ANEW, TEACH, Project, Row, Target, finite_box
from tracking_parts.studio.plan import ManyTracker, Phase, Plan
from tracking_parts.studio.run import Run
from tracking_parts.studio.store import Store
from tracking_parts.studio.undoing import Step, UndoLog

SMALLEST_SIDE = 2.0  # of a box, in pixels of the video


Progress = Callable[[str, int, int | None], None]  # what is done, how much of it, of how much
MakeTracker = Callable[[Progress], ManyTracker]


class Session:
    """Commands of one tab on one project. May be called from several threads."""

    def __init__(
        self,
        project: Project,
        store: Store,
        make_tracker: MakeTracker,
        is_recording: Callable[[], bool] = lambda: False,
    ) -> None:
        self.project = project
        self.is_recording = is_recording
        self.idle_since = time.monotonic()
        self._store = store
        self.undo_log = UndoLog(store, project.id)
        self._make_tracker = make_tracker
        self._lock = threading.RLock()
        self._channel: Channel | None = None
        self._run: Run | None = None
        self._tracker: ManyTracker | None = None
        self._viewing: Decoder | None = None
        self._tracking: Decoder | None = None

    # ------------------------------------------------------------------ the tab
    @property
    def channel(self) -> Channel | None:
        return self._channel

    def connect(self, channel: Channel | None) -> None:
        """Talk to this tab from now on; None: to nobody. Tracking goes on all the same."""
        self._channel, self.idle_since = channel, time.monotonic()

    def post(self, message: dict[str, Any]) -> None:
        if self._channel is not None:
            self._channel.post(message)

    def state(self, run: Run) -> None:
        self.post({"kind": "run", "run": self._run_facts(run)})

    def rows(self, rows: list[tuple[int, Row]]) -> None:
        if self._channel is not None:
            self._channel.post_rows(rows)
            if self._run is not None:
                self._channel.post_speed(self._run.position, self._run.fps)

    def picture(self, frame: int, jpeg: bytes) -> None:
        if self._channel is not None:
            self._channel.post_picture(frame, jpeg)

    def picture_width(self) -> int:
        return 0 if self._channel is None else self._channel.picture_width()

    def description(self) -> dict[str, Any]:
        """All that the page needs to show the project as it is."""
        project = self._store.project(self.project.id)
        return {
            "project": {
                "id": project.id,
                "name": project.name,
                "kind": project.kind,
                "frames": project.frame_count,
                "fps": project.fps,
                "width": project.width,
                "height": project.height,
                "frame": project.frame,
                "recording": self.is_recording(),
                "correcting": project.correcting,
            },
            "undo": self.undo_log.state(),
            "targets": [_target_facts(target) for target in self._store.targets(project.id)],
            "run": self._run_facts(self._run),
        }

    @property
    def is_busy(self) -> bool:
        return self._run is not None and self._run.is_alive()

    def close(self) -> None:
        """Stop tracking and let go of everything; what was tracked is kept already."""
        self.stop()
        with self._lock:
            for decoder in (self._viewing, self._tracking):
                if decoder is not None:
                    decoder.close()
            if self._tracker is not None:
                self._tracker.close()
            self._viewing = self._tracking = self._tracker = None

    # ------------------------------------------------------------------ frames
    def frame(self, index: int, width: int) -> Decoded:
        """A picture for the page, from a decoder that tracking does not use."""
        with self._lock:
            if self._viewing is None:
                self._viewing = Decoder(self.project.source)
            viewing = self._viewing
        try:
            return viewing.read(index, raw=False, jpeg_width=width)
        except SourceError:
            with self._lock:
                if self._viewing is viewing and not viewing.is_alive:
                    self._viewing = None  # the next request begins anew
            raise

    # ------------------------------------------------------------------ targets and boxes
    def add_target(self, name: str = "", colour: str = "") -> Target:
        return self._store.add_target(self.project.id, name, colour)

    def rename_target(self, target_id: int, name: str, colour: str) -> Target:
        self._require(target_id)
        return self._store.rename_target(self.project.id, target_id, name, colour)

    def delete_target(self, target_id: int) -> None:
        self._require(target_id)
        if self._run is not None:
            self._run.forget(target_id)
        self._store.delete_target(target_id)

    def draw(self, target_id: int, frame: int, values: list[float]) -> Row:
        """Keep a box that a person drew, cut at the picture's edges."""
        self._require(target_id)
        box = self._inside_picture(values)
        self.undo_log.add(target_id, frame, self._store.drawn(target_id).get(frame), box)
        row = self._put(target_id, frame, box)
        assert row is not None
        return row

    def erase(self, target_id: int, frame: int) -> Row | None:
        """Forget a drawn box; gives what stands there now."""
        self._require(target_id)
        before = self._store.drawn(target_id).get(frame)
        if before is not None:
            self.undo_log.add(target_id, frame, before, None)
        return self._put(target_id, frame, None)

    def undo(self) -> tuple[Step, Row | None] | None:
        """Take the last change of a box back; gives it and what stands there now. None: there is none."""
        step = self.undo_log.last_done()
        if step is None:
            return None
        row = self._put(step.target, step.frame, step.before)
        self.undo_log.mark(step, undone=True)
        return step, row

    def redo(self) -> tuple[Step, Row | None] | None:
        """Make a change again that was taken back."""
        step = self.undo_log.first_undone()
        if step is None:
            return None
        row = self._put(step.target, step.frame, step.after)
        self.undo_log.mark(step, undone=False)
        return step, row

    def _put(self, target_id: int, frame: int, box: Box | None) -> Row | None:
        row = self._store.erase(target_id, frame) if box is None else self._store.draw(target_id, frame, box)
        if self._run is not None:
            self._run.box_changed(target_id, frame, box)
        return row

    def correct_by(self, how: str) -> None:
        """Whether a corrected box teaches the tracker, or begins it anew."""
        if how not in (TEACH, ANEW):
            raise ValueError(f"no way to correct: {how}")
        self._store.change_project(self.project.id, correcting=how)
        if self._run is not None:
            self._run.teaches = how == TEACH

    def show(self, frame: int) -> None:
        """Remember which frame is shown, for the next time."""
        self._store.change_project(self.project.id, frame=frame)

    # ------------------------------------------------------------------ tracking
    def track(self, frame: int, everyone: bool = False, end: int | None = None) -> None:
        """Go on from a frame: a paused run that stands there resumes, else a new one begins."""
        run = self._run
        if run is not None and run.phase is Phase.PAUSED and run.position == frame and end is None and not everyone:
            run.pause_after(None)
            return
        if self.is_busy and run is not None and run.phase is not Phase.PAUSED:
            raise TrackingPartsError("the tracker is at work already: pause or stop it first")
        self.stop()
        plan = Plan(frame, self._who(frame, everyone), keep_sequels=not everyone, keep_trackers=not everyone, end=end)
        self._start(plan)

    def step(self, frame: int) -> None:
        """Track one frame further, then pause."""
        run = self._run
        if run is not None and run.phase is Phase.PAUSED and run.position == frame:
            run.pause_after(1)
            return
        self.stop()
        self._start(Plan(frame, self._who(frame, everyone=False), keep_trackers=True), pause_after=2)

    def pause(self) -> None:
        if self._run is not None:
            self._run.pause_after(0)

    def stop(self) -> None:
        """End the run, if there is one, after the frame in hand."""
        with self._lock:
            run, self._run = self._run, None
        if run is not None:
            run.stop()
            run.join()

    def _start(self, plan: Plan, pause_after: int | None = None) -> None:
        with self._lock:
            run = Run(plan, self._store, self._get_tracker, self._get_decoder, self, self.is_recording)
            self._run = run
            run.teaches = self._store.project(self.project.id).correcting == TEACH
            run.pause_after(pause_after)
            run.start()

    def _who(self, frame: int, everyone: bool) -> tuple[int, ...]:
        """Whoever needs it: targets drawn in this frame or not tracked beyond it; if there are none, all with a box.

        Targets that are drawn only later join there.
        """
        ids = [target.id for target in self._store.targets(self.project.id)]
        if not ids:
            raise InvalidBoxError("draw a box around something first")
        here = [target for target in ids if self._store.row(target, frame) is not None]
        if not here:
            raise InvalidBoxError("no target has a box in this frame: draw one, or go to a frame that has one")
        if everyone:
            return tuple(ids)
        needy = [
            target
            for target in here
            if frame in self._store.drawn(target) or self._store.row(target, frame + 1) is None
        ]
        later = [target for target in ids if target not in here and self._is_drawn_after(target, frame)]
        return tuple([*(needy or here), *later])

    def _is_drawn_after(self, target: int, frame: int) -> bool:
        return any(other > frame and self._store.row(target, other + 1) is None for other in self._store.drawn(target))

    def _get_tracker(self) -> ManyTracker:
        with self._lock:
            if self._tracker is None:
                self._tracker = self._make_tracker(self._tell_progress)
                self.post({"kind": "busy", "words": ""})
            return self._tracker

    def _get_decoder(self) -> Decoder:
        with self._lock:
            if self._tracking is None or not self._tracking.is_alive:
                self._tracking = Decoder(self.project.source)
            return self._tracking

    def _tell_progress(self, words: str, done: int, total: int | None) -> None:
        self.post({"kind": "busy", "words": words, "done": done, "total": total})

    # ------------------------------------------------------------------ checks
    def _require(self, target_id: int) -> None:
        if target_id not in {target.id for target in self._store.targets(self.project.id)}:
            raise TargetNameError("there is no such target any more")

    def _inside_picture(self, values: list[float]) -> Box:
        try:
            left, top, right, bottom = finite_box(values).xyxy
        except (TypeError, ValueError):
            raise InvalidBoxError("a box needs a place and a size") from None
        left, right = max(left, 0.0), min(right, float(self.project.width))
        top, bottom = max(top, 0.0), min(bottom, float(self.project.height))
        if right - left < SMALLEST_SIDE or bottom - top < SMALLEST_SIDE:
            raise InvalidBoxError("this box is too small, or lies outside the picture: drag a larger one")
        return Box(left, top, right - left, bottom - top)

    @staticmethod
    def _run_facts(run: Run | None) -> dict[str, Any]:
        if run is None:
            return {"phase": "idle", "frame": None, "fps": 0.0, "problem": ""}
        return {"phase": run.phase.value, "frame": run.position, "fps": round(run.fps, 1), "problem": run.problem}


def _target_facts(target: Target) -> dict[str, Any]:
    return {"id": target.id, "name": target.name, "colour": target.colour}
