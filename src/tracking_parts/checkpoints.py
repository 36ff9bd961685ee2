"""What ``stp track --resume`` goes on from: the tracker's state and the boxes so far, saved every now and then.

A resumed run shows the frames before the checkpoint once more, with the boxes that were found, to write every file
anew; from there on it tracks. Its files are those of a run that was never stopped.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracking_parts.errors import FormatError, StateFileError, TrackingPartsError
from tracking_parts.frames import Frame
from tracking_parts.geometry import Box
from tracking_parts.io.files import remove_leftovers, write_atomically
from tracking_parts.io.results import ResultRow, json_values, read_results
from tracking_parts.result import Result
from tracking_parts.trace import FrameTrace
from tracking_parts.tracker_state import TrackerState
from tracking_parts.tracking import Step, TrackerLike

FOLDER = ".resume"


class Checkpoints:
    """The folder of one run's checkpoint. ``run`` is what a later run must have in common with it to go on."""

    def __init__(self, folder: Path, run: Mapping[str, Any], seconds: float) -> None:
        self._folder = folder / FOLDER
        self._run = json.loads(json.dumps(run))
        self._seconds = seconds  # between two checkpoints; 0: none are made
        self._waiting: list[str] = []  # rows since the last one
        self._saved_at = time.monotonic()
        self.problem = ""  # why the last one could not be saved

    @property
    def state(self) -> Path:
        """The tracker's, for ``Tracker.load``."""
        return self._folder / "state.safetensors"

    @property
    def _rows(self) -> Path:
        return self._folder / "rows.jsonl"

    @property
    def _settings(self) -> Path:
        return self._folder / "run.json"

    # ------------------------------------------------------------------ making them
    def begin(self) -> None:
        """A run that starts afresh: what an earlier one left is forgotten."""
        self.forget()
        if self._seconds > 0:
            write_atomically(self._settings, json.dumps(self._run).encode())

    def forget(self) -> None:
        with suppress(OSError):
            self.state.unlink(missing_ok=True)  # first: without it there is no checkpoint
        shutil.rmtree(self._folder, ignore_errors=True)

    def take(self, step: Step, tracker: TrackerLike) -> None:
        """After every tracked frame; it is saved when the time has come."""
        if self._seconds <= 0:
            return
        self._waiting.append(json.dumps(json_values(step.index, step.result)) + "\n")
        if time.monotonic() - self._saved_at >= self._seconds:
            self.save(tracker)

    def save(self, tracker: TrackerLike) -> bool:
        """The rows first, then the state, which tells how many of them count. Tracking goes on if it cannot be done."""
        if self._seconds <= 0:
            return False
        try:
            self._append_rows()
            tracker.save(self.state)
            self.problem = ""
        except (TrackingPartsError, OSError) as error:
            self.problem = str(error)
        self._saved_at = time.monotonic()
        return not self.problem

    def _append_rows(self) -> None:
        with self._rows.open("ab") as stream:
            length = stream.tell()
            try:
                stream.write("".join(self._waiting).encode())
                stream.flush()
                os.fsync(stream.fileno())
            except OSError:
                os.ftruncate(stream.fileno(), length)  # half a row would spoil those that follow
                raise
        self._waiting.clear()

    # ------------------------------------------------------------------ going on from one
    def load(self) -> list[ResultRow]:
        """The rows up to the checkpoint; none if there is no checkpoint to go on from."""
        if not self.state.is_file():
            return []
        remove_leftovers(self._folder)
        with suppress(OSError, json.JSONDecodeError):
            before = json.loads(self._settings.read_text(encoding="utf-8"))
            differing = [name for name in self._run if before.get(name) != self._run[name]]
            if differing:
                raise FormatError(
                    f"cannot resume: {', '.join(differing)} differ from those of the run in {self._folder.parent}"
                )
        count = 1 + int(TrackerState.load(self.state).values["frame_index"])
        lines = self._rows.read_bytes().splitlines(keepends=True)
        if len(lines) < count:
            raise StateFileError(f"{self._rows} is damaged: it has {len(lines)} rows and not {count}")
        write_atomically(self._rows, b"".join(lines[:count]))  # what comes after the checkpoint is found again
        return read_results(self._rows, "jsonl")


class ResumedTracker:
    """Tells what was found in the frames before the checkpoint, then tracks on."""

    def __init__(self, rows: list[ResultRow], tracker: TrackerLike, stored_trace: Callable[[int], FrameTrace]) -> None:
        self._rows = rows
        self._tracker = tracker
        self._stored_trace = stored_trace
        self._next = 0

    @property
    def is_replaying(self) -> bool:
        """Whether the last answer was a known one."""
        return self._next <= len(self._rows) and self._next > 0

    @property
    def trace(self) -> FrameTrace:
        return self._stored_trace(self._rows[self._next - 1].frame_index) if self.is_replaying else self._tracker.trace

    def init(self, frame: Frame, box: Box) -> Result:
        return self.update(frame)

    def update(self, frame: Frame) -> Result:
        self._next = min(self._next + 1, len(self._rows) + 1)
        if self._next > len(self._rows):
            return self._tracker.update(frame)
        row = self._rows[self._next - 1]
        assert row.box is not None and row.polygon is not None and row.confidence is not None and row.state is not None
        return Result(row.box, row.polygon, row.confidence, row.state)

    def save(self, path: Path) -> None:
        self._tracker.save(path)

    def close(self) -> None:
        self._tracker.close()
