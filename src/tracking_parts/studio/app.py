"""The web application: what can be asked for by HTTP. What goes over the socket is in ``tab_socket.py``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp

from tracking_parts import __version__
from tracking_parts.errors import SourceError, TargetNameError, TrackingPartsError
from tracking_parts.studio.access import AccessControl, AccessRules
from tracking_parts.studio.connections import BoundedBodies
from tracking_parts.studio.inside import unpack_trace
from tracking_parts.studio.model import LARGEST_NUMBER, Project
from tracking_parts.studio.studio import Studio
from tracking_parts.studio.tab_socket import add_socket

STATIC = Path(__file__).parent / "static"
WIDEST_PICTURE = 3840
A_DAY = 86400
LONGEST_NAME = 255
Width = Annotated[int, Query(ge=16, le=WIDEST_PICTURE)]
WholeNumber = Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]


class OpenRequest(BaseModel):
    """What to open: a file of the opened folder by its name, the bundled clip, or a camera by its number."""

    kind: Literal["file", "clip", "camera"]
    name: str = Field("", max_length=LONGEST_NAME)


class ExportRequest(BaseModel):
    """Which file to make. No targets means all."""

    format: str = Field(max_length=40)
    targets: list[WholeNumber] | None = Field(None, max_length=1000)
    with_video: bool = True


def make_app(studio: Studio, rules: AccessRules) -> ASGIApp:
    """The application behind its door."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(studio.close)

    app = FastAPI(title="tracking-parts studio", lifespan=life, docs_url=None, redoc_url=None, openapi_url=None)
    _add_errors(app)
    _add_page(app)
    _add_opening(app, studio)
    _add_project(app, studio)
    _add_exports(app, studio)
    add_socket(app, studio)
    return AccessControl(BoundedBodies(app), rules)


def _add_errors(app: FastAPI) -> None:
    """Errors as one line in plain words."""

    @app.exception_handler(TrackingPartsError)
    async def ours(request: Request, error: Exception) -> Response:
        return JSONResponse({"message": str(error)}, 404 if isinstance(error, TargetNameError) else 400)

    @app.exception_handler(OSError)
    async def disk(request: Request, error: Exception) -> Response:
        return JSONResponse({"message": f"the computer says: {getattr(error, 'strerror', None) or error}"}, 500)

    @app.exception_handler(Exception)
    async def defect(request: Request, error: Exception) -> Response:
        """A mistake of ours: told here in words, and in full where the studio was started."""
        return JSONResponse({"message": "the studio made a mistake: see where it was started"}, 500)

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: Exception) -> Response:
        return JSONResponse({"message": "the request could not be understood"}, 422)


def _add_page(app: FastAPI) -> None:
    @app.get("/")
    def page() -> Response:
        return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})

    @app.middleware("http")
    async def fresh_files(request: Request, call_next: Any) -> Any:
        """The page's own files change with the package: they are asked for each time, and answered by their hash."""
        response = await call_next(request)
        if request.url.path.startswith("/static/"):
            response.headers["Cache-Control"] = "no-cache"
        return response

    app.mount("/static", StaticFiles(directory=STATIC), name="static")


def _add_opening(app: FastAPI, studio: Studio) -> None:
    @app.get("/api/start")
    def start() -> dict[str, Any]:
        return {**studio.offers(), "version": __version__}

    @app.post("/api/open")
    def open_source(wanted: OpenRequest) -> dict[str, str]:
        if wanted.kind == "clip":
            return _named(studio.open_clip())
        if wanted.kind == "camera":
            return _named(studio.open_camera(wanted.name))
        return _named(studio.open_file(wanted.name))

    @app.post("/api/uploads")
    async def upload(request: Request, name: Annotated[str, Query(max_length=300)] = "video") -> dict[str, str]:
        announced = request.headers.get("content-length", "")
        try:
            path = await studio.uploads.receive(request.stream(), int(announced) if announced.isdecimal() else None)
        except ClientDisconnect:
            raise SourceError("the upload was broken off, or stood still for too long") from None
        return _named(await run_in_threadpool(studio.open_upload, path, name))

    @app.post("/api/projects/{project_id}/copy")
    def copy(project_id: str) -> dict[str, str]:
        return _named(studio.copy(project_id))

    @app.delete("/api/projects/{project_id}")
    def delete(project_id: str) -> dict[str, str]:
        studio.delete(project_id)
        return {}


def _add_project(app: FastAPI, studio: Studio) -> None:
    @app.get("/api/projects/{project_id}/frames/{index}.jpg")
    def frame(project_id: str, index: WholeNumber, w: Width = 1280) -> Response:
        decoded = studio.session(project_id).frame(index, w)
        return Response(
            decoded.jpeg,
            media_type="image/jpeg",
            headers={"Cache-Control": f"private, max-age={A_DAY}, immutable"},
        )

    @app.get("/api/projects/{project_id}/rows")
    def rows(project_id: str) -> Response:
        """Every row of every target, and which boxes were drawn; put together from what is kept as JSON already."""
        studio.store.project(project_id)
        blocks = []
        for target in studio.store.targets(project_id):
            frames = ",".join(str(number) for number in studio.store.drawn(target.id))
            content = ",".join(studio.store.row_texts(target.id))
            blocks.append(f'"{target.id}":{{"drawn":[{frames}],"rows":[{content}]}}')
        return Response("{" + ",".join(blocks) + "}", media_type="application/json")

    @app.get("/api/projects/{project_id}/inside/{target_id}/{index}")
    def inside(project_id: str, target_id: WholeNumber, index: WholeNumber) -> dict[str, Any]:
        if target_id not in {target.id for target in studio.store.targets(project_id)}:
            raise TargetNameError("there is no such target any more")
        packed = studio.store.inside(target_id, index)
        return {"inside": None if packed is None else unpack_trace(packed)}

    @app.post("/api/projects/{project_id}/recording/stop")
    def stop_recording(project_id: str) -> dict[str, str]:
        studio.stop_recording(project_id)
        return {}


def _add_exports(app: FastAPI, studio: Studio) -> None:
    @app.post("/api/projects/{project_id}/exports")
    def start_export(project_id: str, wanted: ExportRequest) -> dict[str, str]:
        return {"id": studio.start_export(project_id, wanted.format, wanted.targets, wanted.with_video).id}

    @app.get("/api/exports/{export_id}")
    def export(export_id: str) -> dict[str, Any]:
        made = studio.export(export_id)
        return {"ready": None if made.path is None else made.path.name, "problem": made.problem}

    @app.get("/api/exports/{export_id}/file")
    def file(export_id: str) -> Response:
        """Always as a download: nothing that came from outside is shown as a page."""
        path = studio.export(export_id).path
        if path is None or not path.is_file():
            raise TargetNameError("this export is not ready")
        return FileResponse(path, media_type="application/octet-stream", filename=path.name)

    @app.delete("/api/exports/{export_id}")
    def cancel(export_id: str) -> dict[str, str]:
        studio.export(export_id).cancelled.set()
        return {}


def _named(project: Project) -> dict[str, str]:
    return {"id": project.id, "name": project.name}
