"""Everything that was drawn and tracked, in one SQLite file: whatever is committed survives a killed process."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from tracking_parts.errors import OutputError, TargetNameError
from tracking_parts.geometry import Box
from tracking_parts.studio.model import COLOURS, Project, Row, Target

SCHEMA_VERSION = 2
_SCHEMA = """
CREATE TABLE project (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL, frame_count INTEGER NOT NULL,
    fps REAL, width INTEGER NOT NULL, height INTEGER NOT NULL, created REAL NOT NULL, opened REAL NOT NULL,
    frame INTEGER NOT NULL);
CREATE TABLE target (
    id INTEGER PRIMARY KEY AUTOINCREMENT, project TEXT NOT NULL REFERENCES project ON DELETE CASCADE,
    name TEXT NOT NULL, colour TEXT NOT NULL);
CREATE TABLE drawn (
    target INTEGER NOT NULL REFERENCES target ON DELETE CASCADE, frame INTEGER NOT NULL, box TEXT NOT NULL,
    replaced TEXT, PRIMARY KEY (target, frame)) WITHOUT ROWID;
CREATE TABLE row (
    target INTEGER NOT NULL REFERENCES target ON DELETE CASCADE, frame INTEGER NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (target, frame)) WITHOUT ROWID;
CREATE TABLE inside (
    target INTEGER NOT NULL REFERENCES target ON DELETE CASCADE, frame INTEGER NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (target, frame));
"""
_NEW_IN_2 = """
ALTER TABLE project ADD COLUMN correcting TEXT NOT NULL DEFAULT 'anew';
CREATE TABLE step (
    id INTEGER PRIMARY KEY AUTOINCREMENT, target INTEGER NOT NULL REFERENCES target ON DELETE CASCADE,
    frame INTEGER NOT NULL, before TEXT, after TEXT, undone INTEGER NOT NULL DEFAULT 0);
CREATE TABLE granted (folder TEXT PRIMARY KEY);
"""
_PROJECT_FIELDS = tuple(field.name for field in fields(Project))
LONGEST_NAME = 80


def data_folder() -> Path:
    """Where work is kept: ``STP_STUDIO_DATA``, else ``tracking-parts/studio`` in the user's data folder."""
    own = os.environ.get("STP_STUDIO_DATA")
    if own:
        return Path(own).expanduser()
    base = os.environ.get("XDG_DATA_HOME")
    home = Path(base) if base and Path(base).is_absolute() else Path.home() / ".local" / "share"
    return home / "tracking-parts" / "studio"


class Store:
    """One SQLite file. May be used from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._database = sqlite3.connect(folder / "studio.sqlite", check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute("PRAGMA foreign_keys = ON")
            self._database.execute("PRAGMA busy_timeout = 10000")
            self._make_tables()
        except (OSError, sqlite3.Error) as error:
            raise OutputError(f"the studio cannot keep its work in {folder}: {error}") from error

    def close(self) -> None:
        with self._lock:
            self._database.close()

    # ------------------------------------------------------------------ projects
    def add_project(self, **values: Any) -> Project:
        """A new project; what is not given is made up: its id and the times."""
        now = time.time()
        project = Project(id=secrets.token_hex(8), created=now, opened=now, **values)
        marks = ", ".join("?" * len(_PROJECT_FIELDS))
        with self.change():
            self._database.execute(
                f"INSERT INTO project ({', '.join(_PROJECT_FIELDS)}) VALUES ({marks})",
                [getattr(project, name) for name in _PROJECT_FIELDS],
            )
        return project

    def projects(self) -> list[Project]:
        """The one opened last comes first."""
        rows = self.read(f"SELECT {', '.join(_PROJECT_FIELDS)} FROM project ORDER BY opened DESC, created DESC")
        return [Project(*row) for row in rows]

    def project(self, project_id: str) -> Project:
        rows = self.read(f"SELECT {', '.join(_PROJECT_FIELDS)} FROM project WHERE id = ?", project_id)
        if not rows:
            raise TargetNameError("there is no such project any more")
        return Project(*rows[0])

    def change_project(self, project_id: str, **values: Any) -> None:
        assert set(values) <= set(_PROJECT_FIELDS)
        settings = ", ".join(f"{name} = ?" for name in values)
        with self.change():
            self._database.execute(f"UPDATE project SET {settings} WHERE id = ?", [*values.values(), project_id])

    def delete_project(self, project_id: str) -> None:
        with self.change():
            self._database.execute("DELETE FROM project WHERE id = ?", [project_id])

    def copy_project(self, project_id: str) -> Project:
        """The same once more, with a life of its own."""
        original = self.project(project_id)
        values = {name: getattr(original, name) for name in _PROJECT_FIELDS if name not in ("id", "created", "opened")}
        copy = self.add_project(**{**values, "name": f"{original.name} (copy)"[:LONGEST_NAME]})
        for target in self.targets(project_id):
            twin = self.add_target(copy.id, target.name, target.colour)
            with self.change():
                for table in ("drawn", "row", "inside"):
                    columns = "frame, box, replaced" if table == "drawn" else "frame, content"
                    self._database.execute(
                        f"INSERT INTO {table} (target, {columns}) SELECT ?, {columns} FROM {table} WHERE target = ?",
                        [twin.id, target.id],
                    )
        return copy

    # ------------------------------------------------------------------ targets
    def add_target(self, project_id: str, name: str = "", colour: str = "") -> Target:
        existing = self.targets(project_id)
        taken = {target.name for target in existing}
        number = next(n for n in range(len(existing) + 1, 10**6) if f"object {n}" not in taken)
        chosen = clean_name(name) or f"object {number}"
        if chosen in taken:
            raise TargetNameError(f"there is a target named {chosen!r} already")
        paint = colour or COLOURS[len(existing) % len(COLOURS)]
        with self.change():
            cursor = self._database.execute(
                "INSERT INTO target (project, name, colour) VALUES (?, ?, ?)", [project_id, chosen, paint]
            )
        assert cursor.lastrowid is not None
        return Target(cursor.lastrowid, chosen, paint)

    def targets(self, project_id: str) -> list[Target]:
        rows = self.read("SELECT id, name, colour FROM target WHERE project = ? ORDER BY id", project_id)
        return [Target(*row) for row in rows]

    def rename_target(self, project_id: str, target_id: int, name: str, colour: str) -> Target:
        chosen = clean_name(name)
        if not chosen:
            raise TargetNameError("a target needs a name")
        if any(other.name == chosen and other.id != target_id for other in self.targets(project_id)):
            raise TargetNameError(f"there is a target named {chosen!r} already")
        with self.change():
            self._database.execute("UPDATE target SET name = ?, colour = ? WHERE id = ?", [chosen, colour, target_id])
        return Target(target_id, chosen, colour)

    def delete_target(self, target_id: int) -> None:
        with self.change():
            self._database.execute("DELETE FROM target WHERE id = ?", [target_id])

    # ------------------------------------------------------------------ boxes drawn by hand
    def draw(self, target_id: int, frame: int, box: Box) -> Row:
        """Keep a box that a person drew; what the tracker had said there is kept for :meth:`erase`."""
        row = Row.by_hand(frame, box)
        with self.change():
            self._database.execute(
                "INSERT INTO drawn SELECT ?, ?, ?, (SELECT content FROM row WHERE target = ? AND frame = ?) WHERE TRUE "
                "ON CONFLICT (target, frame) DO UPDATE SET box = excluded.box",
                [target_id, frame, json.dumps(box.xywh), target_id, frame],
            )
            self._put_row(target_id, row)
        return row

    def erase(self, target_id: int, frame: int) -> Row | None:
        """Forget a drawn box; gives what the tracker had said there before."""
        found = self.read("SELECT replaced FROM drawn WHERE target = ? AND frame = ?", target_id, frame)
        if not found:
            return self.row(target_id, frame)
        before = None if found[0][0] is None else Row.from_dict(json.loads(found[0][0]))
        with self.change():
            self._database.execute("DELETE FROM drawn WHERE target = ? AND frame = ?", [target_id, frame])
            self._database.execute("DELETE FROM row WHERE target = ? AND frame = ?", [target_id, frame])
            if before is not None:
                self._put_row(target_id, before)
        return before

    def drawn(self, target_id: int) -> dict[int, Box]:
        rows = self.read("SELECT frame, box FROM drawn WHERE target = ? ORDER BY frame", target_id)
        return {frame: Box(*json.loads(box)) for frame, box in rows}

    # ------------------------------------------------------------------ tracked frames
    def put(self, rows: Iterable[tuple[int, Row, bytes]]) -> None:
        """Rows, each of a target, with what happened inside the tracker if that is known; all of them or none."""
        with self.change():
            for target_id, row, inside in rows:
                self._put_row(target_id, row)
                if inside:
                    values = [target_id, row.frame, inside]
                    self._database.execute("INSERT OR REPLACE INTO inside VALUES (?, ?, ?)", values)

    def row(self, target_id: int, frame: int) -> Row | None:
        found = self.read("SELECT content FROM row WHERE target = ? AND frame = ?", target_id, frame)
        return Row.from_dict(json.loads(found[0][0])) if found else None

    def rows(self, target_id: int) -> list[Row]:
        """In order of frames."""
        return [Row.from_dict(json.loads(content)) for content in self.row_texts(target_id)]

    def row_texts(self, target_id: int) -> list[str]:
        """As JSON, for the page: parsing thousands of rows here would only be undone again."""
        return [
            content for (content,) in self.read("SELECT content FROM row WHERE target = ? ORDER BY frame", target_id)
        ]

    def inside(self, target_id: int, frame: int) -> bytes | None:
        found = self.read("SELECT content FROM inside WHERE target = ? AND frame = ?", target_id, frame)
        return bytes(found[0][0]) if found else None

    def inside_frames(self, target_id: int) -> list[int]:
        return [frame for (frame,) in self.read("SELECT frame FROM inside WHERE target = ? ORDER BY frame", target_id)]

    # ------------------------------------------------------------------ folders given on command lines
    def grant(self, folder: Path) -> None:
        """Remember a folder that the user named: its projects may be opened again."""
        with self.change():
            self._database.execute("INSERT OR IGNORE INTO granted VALUES (?)", [str(folder)])

    def granted(self) -> list[Path]:
        return [Path(folder) for (folder,) in self.read("SELECT folder FROM granted ORDER BY folder")]

    # ------------------------------------------------------------------ the database
    def _put_row(self, target_id: int, row: Row) -> None:
        content = json.dumps(row.to_dict(), separators=(",", ":"), allow_nan=False)
        self._database.execute("INSERT OR REPLACE INTO row VALUES (?, ?, ?)", [target_id, row.frame, content])

    def read(self, question: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows that answer a question."""
        with self._lock:
            return self._database.execute(question, values).fetchall()

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """One transaction: when this ends, the change survives whatever happens to the process."""
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
            except sqlite3.IntegrityError as error:  # it belongs to something that another tab has deleted
                self._database.execute("ROLLBACK")
                raise TargetNameError("there is no such project or target any more") from error
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def _make_tables(self) -> None:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        missing = {0: _SCHEMA + _NEW_IN_2, 1: _NEW_IN_2, SCHEMA_VERSION: ""}
        if version not in missing:
            raise OutputError(f"the work in {self.folder} was kept by another version of the studio")
        if missing[version]:
            self._database.executescript(f"BEGIN; {missing[version]} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")


def clean_name(name: str) -> str:
    """A name as it is kept and shown: one short line that every file can hold."""
    return " ".join("".join(letter for letter in name if letter.isprintable()).split())[:LONGEST_NAME]
