"""All that the server holds: the store, the sessions, recordings and exports. It knows nothing of HTTP."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path, PurePath
from secrets import token_hex
from typing import Any

from tracking_parts.errors import SourceError, TargetNameError, TrackingPartsError, quoted
from tracking_parts.io.clips import clips_folder, fetch_clip
from tracking_parts.studio.decoder import Decoder
from tracking_parts.studio.exports import CancelledError, Export, make_export
from tracking_parts.studio.folders import holds_images, listed
from tracking_parts.studio.importing import import_project
from tracking_parts.studio.model import Project
from tracking_parts.studio.recording import RECORDED_FPS, Recording, cameras
from tracking_parts.studio.session import MakeTracker, Session
from tracking_parts.studio.store import Store, clean_name
from tracking_parts.studio.uploads import PROJECT_SUFFIX, UploadLimits, Uploads

CLIP = "bigbuckbunny.mp4"
IDLE_SECONDS = 120.0  # a session whose tab is gone is let go after this
MOST_EXPORTS, MOST_UNFINISHED = 50, 8
TOLD_SECONDS = 0.25  # between two words about the progress of an export


class Studio:
    """May be called from several threads."""

    def __init__(
        self,
        store: Store,
        make_tracker: MakeTracker,
        opened: Path | None = None,
        limits: UploadLimits | None = None,
        only_opened: bool = False,
    ) -> None:
        """With ``only_opened`` no folder of earlier command lines counts: others may be able to reach the server."""
        self.store = store
        self.uploads = Uploads(store.folder / "uploads", limits or UploadLimits())
        self.uploads.clean({project.source for project in store.projects()})
        shutil.rmtree(store.folder / "exports", ignore_errors=True)
        self._make_tracker = make_tracker
        self._opened = None if opened is None else opened.expanduser().resolve()
        self._lock = threading.RLock()
        self._sessions: dict[str, Session] = {}
        self._recordings: dict[str, Recording] = {}
        self._exports: dict[str, Export] = {}
        if self.folder is not None:
            store.grant(self.folder)
        self._folders = [] if only_opened else store.granted()

    # ------------------------------------------------------------------ what there is to open
    @property
    def folder(self) -> Path | None:
        """The only folder whose files can be opened by name."""
        if self._opened is None:
            return None
        return self._opened.parent if self._opened.is_file() or holds_images(self._opened) else self._opened

    def may_read(self, project: Project) -> bool:
        """Whether the video lies where the user let the studio look: in the opened folder, in one that was opened by
        an earlier command line, among its own uploads and recordings, or is the bundled clip.
        """
        places = [self.folder, *self._folders, self.uploads.folder, self._recordings_folder, clips_folder()]
        path = Path(project.source).resolve()
        return any(path.is_relative_to(place.resolve()) for place in places if place is not None)

    @property
    def _recordings_folder(self) -> Path:
        return self.store.folder / "recordings"

    def _readable(self, project_id: str) -> Project:
        project = self.store.project(project_id)
        if not self.may_read(project):
            raise SourceError(f"its video lies outside the folder that was opened: stp studio {project.source}")
        if not Path(project.source).exists():
            raise SourceError(f"the video is not where it was: {project.source}")
        return project

    def offers(self) -> dict[str, Any]:
        """For the first page: earlier projects, files of the opened folder, cameras."""
        folder = self.folder
        given = self._opened if self._opened is not None and self._opened != folder else None
        return {
            "projects": [self._facts(project) for project in self.store.projects()],
            "folder": None if folder is None else folder.name or str(folder),
            "files": [] if folder is None else [path.name for path in listed(folder)],
            "given": None if given is None else given.name,
            "cameras": cameras(),
            "largest_upload": self.uploads.limits.largest_bytes,
        }

    def open_file(self, name: str) -> Project:
        """A video or folder of images in the opened folder, by its name there; what was done on it before is kept."""
        folder = self.folder
        if folder is None:
            raise SourceError("no folder was opened: start the studio with a video, stp studio VIDEO")
        if not name.isprintable():
            raise SourceError(f"there is no {quoted(name)} in the folder that was opened")
        path = (folder / name).resolve()
        if path == folder or not path.is_relative_to(folder):
            raise SourceError(f"{quoted(name)} lies outside the folder that was opened")
        return self._known(path) or self._add(path, "file", path.stem)

    def open_clip(self) -> Project:
        """The bundled real clip, fetched on first use."""
        path = fetch_clip(CLIP)
        return self._known(path) or self._add(path, "clip", "Big Buck Bunny")

    def open_upload(self, path: Path, name: str) -> Project:
        """A file that was uploaded: a video, or a project file."""
        try:
            if path.suffix == PROJECT_SUFFIX:
                return import_project(path, self.store, self.uploads, self._add, self._videos_known())
            return self._add(path, "upload", clean_name(PurePath(name).stem))
        except SourceError as error:
            path.unlink(missing_ok=True)
            # Where uploads are kept is nobody's business.
            raise SourceError(str(error).replace(str(path), clean_name(name) or "the video")) from error
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            if path.suffix == PROJECT_SUFFIX:
                path.unlink(missing_ok=True)

    def open_camera(self, number: str) -> Project:
        """Begin to record a camera."""
        if number not in cameras():
            raise SourceError(f"there is no camera {number} on this computer")
        return self.record(number, f"camera {number}")

    def record(self, source: str, name: str, fps: float = RECORDED_FPS) -> Project:
        """Record whatever gives frames in its own time."""
        folder = self._recordings_folder / token_hex(8)
        known: list[str] = []
        recording = Recording(source, folder, lambda count: self._grown(known, count), fps)
        project = self._add(folder, "camera", name)
        self.store.change_project(project.id, fps=fps)
        self._recordings[project.id] = recording
        known.append(project.id)
        return self.store.project(project.id)

    def stop_recording(self, project_id: str) -> None:
        recording = self._recordings.pop(project_id, None)
        if recording is not None:
            recording.stop()
            self._grown([project_id], recording.count)
        if (session := self._sessions.get(project_id)) is not None:
            session.post({"kind": "recording", "recording": False})

    def copy(self, project_id: str) -> Project:
        return self.store.copy_project(project_id)

    def delete(self, project_id: str) -> None:
        """A project with all that was done on it; the video too if it was uploaded or recorded here."""
        project = self.store.project(project_id)
        self.stop_recording(project_id)
        with self._lock:
            session = self._sessions.pop(project_id, None)
        if session is not None:
            session.close()
        self.store.delete_project(project_id)
        if any(other.source == project.source for other in self.store.projects()):
            return
        if project.kind == "camera":
            shutil.rmtree(project.source, ignore_errors=True)
        self.uploads.clean({other.source for other in self.store.projects()})

    # ------------------------------------------------------------------ sessions
    def session(self, project_id: str) -> Session:
        """The one session of a project, begun if need be."""
        project = self._readable(project_id)
        with self._lock:
            self._let_idle_go()
            if project_id not in self._sessions:
                recording = self._is_recording(project_id)
                self._sessions[project_id] = Session(project, self.store, self._make_tracker, recording)
                self.store.change_project(project_id, opened=time.time())
            return self._sessions[project_id]

    def close(self) -> None:
        for export in self._exports.values():
            export.cancelled.set()
        for project_id in list(self._recordings):
            self.stop_recording(project_id)
        for session in self._sessions.values():
            session.close()
        self.store.close()

    def _let_idle_go(self) -> None:
        now = time.monotonic()
        for project_id, session in list(self._sessions.items()):
            if session.channel is None and not session.is_busy and now - session.idle_since > IDLE_SECONDS:
                del self._sessions[project_id]
                session.close()

    def _is_recording(self, project_id: str) -> Callable[[], bool]:
        def going_on() -> bool:
            recording = self._recordings.get(project_id)
            return recording is not None and recording.is_going_on

        return going_on

    def _grown(self, known: list[str], count: int) -> None:
        for project_id in known:
            self.store.change_project(project_id, frame_count=count)
            if (session := self._sessions.get(project_id)) is not None:
                session.post({"kind": "frames", "frames": count})

    # ------------------------------------------------------------------ exports
    def start_export(self, project_id: str, format_name: str, targets: list[int] | None, with_video: bool) -> Export:
        """Begin to write a file; the tab is told how far it is."""
        project = self._readable(project_id)
        self._make_room_for_export()
        export = Export(format_name, project_id)
        self._exports[export.id] = export
        work = (export, project, targets, with_video)
        threading.Thread(target=self._export, args=work, name="studio-export", daemon=True).start()
        return export

    def _make_room_for_export(self) -> None:
        """Old exports are forgotten, and their files with them; unfinished ones are few."""
        unfinished = [export for export in self._exports.values() if export.path is None and not export.problem]
        if len(unfinished) >= MOST_UNFINISHED:
            raise TrackingPartsError("several exports are being made already: wait for one of them, or cancel it")
        for export in list(self._exports.values())[: max(0, len(self._exports) - MOST_EXPORTS + 1)]:
            if export not in unfinished:
                del self._exports[export.id]
                shutil.rmtree(self.store.folder / "exports" / export.id, ignore_errors=True)

    def export(self, export_id: str) -> Export:
        if export_id not in self._exports:
            raise TargetNameError("there is no such export any more")
        return self._exports[export_id]

    def _export(self, export: Export, project: Project, targets: list[int] | None, with_video: bool) -> None:
        told = 0.0

        def progress(done: int, total: int) -> None:
            nonlocal told
            if export.cancelled.is_set():
                raise CancelledError("the export was cancelled")
            if time.monotonic() - told > TOLD_SECONDS:
                told = time.monotonic()
                self._tell(export, done=done, total=total)

        folder = self.store.folder / "exports" / export.id
        try:
            export.path = make_export(export.format, folder, self.store, project, targets, with_video, progress)
            self._tell(export, ready=export.path.name)
        except (TrackingPartsError, OSError) as error:
            export.problem = str(error) or "it could not be made"
            self._tell(export, problem=export.problem)

    def _tell(self, export: Export, **news: Any) -> None:
        if (session := self._sessions.get(export.project)) is not None:
            session.post({"kind": "export", "id": export.id, "format": export.format, **news})

    # ------------------------------------------------------------------ projects
    def _known(self, path: Path) -> Project | None:
        return next((project for project in self.store.projects() if project.source == str(path)), None)

    def _videos_known(self) -> list[Path]:
        in_folder = [] if self.folder is None else listed(self.folder)
        readable = (project for project in self.store.projects() if self.may_read(project))
        return [*(Path(project.source) for project in readable), *in_folder]

    def _add(self, path: Path, kind: str, name: str) -> Project:
        with Decoder(path) as decoder:
            facts = decoder.facts
        width, height = facts.size_wh
        return self.store.add_project(
            name=name or facts.name,
            kind=kind,
            source=str(path),
            frame_count=facts.frame_count,
            fps=facts.fps,
            width=width,
            height=height,
        )

    def _facts(self, project: Project) -> dict[str, Any]:
        there = Path(project.source).exists()
        return {
            "id": project.id,
            "name": project.name,
            "kind": project.kind,
            "frames": project.frame_count,
            "opened": project.opened,
            "problem": "" if there and self.may_read(project) else "its video is elsewhere" if there else "gone",
        }
