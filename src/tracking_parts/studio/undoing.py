"""Drawing and erasing boxes so that it can be undone, also after the page was loaded again or the server restarted."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tracking_parts.geometry import Box
from tracking_parts.studio.store import Store

MOST_STEPS = 500  # kept per project


@dataclass(frozen=True, slots=True)
class Step:
    """One change of a drawn box; None where there was or is none."""

    id: int
    target: int
    frame: int
    before: Box | None
    after: Box | None


class UndoLog:
    """The steps of one project, in the store."""

    def __init__(self, store: Store, project_id: str) -> None:
        self._store = store
        self._project = project_id

    def add(self, target: int, frame: int, before: Box | None, after: Box | None) -> None:
        """A step forwards: whatever was undone can no longer be redone."""
        with self._store.change() as database:
            database.execute(f"DELETE FROM step WHERE undone AND {_OF_PROJECT}", [self._project])
            database.execute(
                "INSERT INTO step (target, frame, before, after) VALUES (?, ?, ?, ?)",
                [target, frame, _text(before), _text(after)],
            )
            database.execute(
                f"DELETE FROM step WHERE {_OF_PROJECT} AND id NOT IN "
                f"(SELECT id FROM step WHERE {_OF_PROJECT} ORDER BY id DESC LIMIT ?)",
                [self._project, self._project, MOST_STEPS],
            )

    def last_done(self) -> Step | None:
        return self._one("NOT undone", "DESC")

    def first_undone(self) -> Step | None:
        return self._one("undone", "ASC")

    def mark(self, step: Step, undone: bool) -> None:
        with self._store.change() as database:
            database.execute("UPDATE step SET undone = ? WHERE id = ?", [int(undone), step.id])

    def state(self) -> dict[str, bool]:
        """For the page's buttons."""
        return {"can_undo": self.last_done() is not None, "can_redo": self.first_undone() is not None}

    def _one(self, which: str, order: str) -> Step | None:
        rows = self._store.read(
            f"SELECT id, target, frame, before, after FROM step WHERE {which} AND {_OF_PROJECT} "
            f"ORDER BY id {order} LIMIT 1",
            self._project,
        )
        if not rows:
            return None
        number, target, frame, before, after = rows[0]
        return Step(number, target, frame, _box(before), _box(after))


_OF_PROJECT = "target IN (SELECT id FROM target WHERE project = ?)"


def _text(box: Box | None) -> str | None:
    return None if box is None else json.dumps(box.xywh)


def _box(text: str | None) -> Box | None:
    return None if text is None else Box(*json.loads(text))
