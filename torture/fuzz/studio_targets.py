"""Targets in the studio: project files, what is kept of a frame, a tab's commands, and what a decoder process says."""

from __future__ import annotations

import asyncio
import io
import json
import os
import zipfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from torture.fuzz.target import CORPUS, Target, as_file, scratch, split_choice
from tracking_parts.studio.channel import Channel
from tracking_parts.studio.decoder import Decoder, read_facts
from tracking_parts.studio.importing import import_project
from tracking_parts.studio.inside import unpack_trace
from tracking_parts.studio.model import Project
from tracking_parts.studio.plan import Plan
from tracking_parts.studio.session import Session
from tracking_parts.studio.store import Store
from tracking_parts.studio.tab_socket import answer_command
from tracking_parts.studio.uploads import UploadLimits, Uploads, kind_of


def project_file(content: bytes) -> None:
    """A file as it is uploaded: looked at, read, and put into a store."""
    store = _store("imported")
    path = as_file(content, "upload.project")
    kind_of(path)
    uploads = Uploads(scratch() / "uploads", UploadLimits(1 << 20, 1000))
    uploads.folder.mkdir(exist_ok=True)
    try:
        project = import_project(path, store, uploads, _add, [CORPUS / "video" / "tiny.mp4"])
        for target in store.targets(project.id):
            json.dumps([row.to_dict() for row in store.rows(target.id)], allow_nan=False)
    finally:
        for kept in store.projects():
            store.delete_project(kept.id)
        uploads.clean(set())


def project_json(content: bytes) -> None:
    """The text inside a project file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("project.json", content)
        archive.writestr("inside/0/1", b"nonsense")
        archive.writestr("video", (CORPUS / "video" / "tiny.mp4").read_bytes())
    project_file(stream.getvalue())


def _add(path: Path, kind: str, name: str, store: str = "imported") -> Project:
    return _store(store).add_project(
        name=name, kind=kind, source=str(path), frame_count=6, fps=25.0, width=64, height=48, frame=0
    )


def inside(content: bytes) -> None:
    json.dumps(unpack_trace(content), allow_nan=False)


def commands(content: bytes) -> None:
    """What a tab may say; nothing is tracked, as that would need a decoder for each input."""
    session = _session()
    channel = Channel("tab", _loop())
    for line in content.decode("utf-8", "replace").split("\n"):
        answer = answer_command(session, channel, line)
        json.dumps(answer, allow_nan=False)
        if not answer["ok"] and not isinstance(answer["message"], str):
            raise AssertionError("no words")
    json.dumps(session.description(), allow_nan=False)


class _Standing(Session):
    """A session whose runs never begin."""

    def _start(self, plan: Plan, pause_after: int | None = None) -> None:
        """Nothing."""


@cache
def _session() -> Session:
    project = _add(CORPUS / "video" / "tiny.mp4", "file", "tiny", "open")
    session = _Standing(project, _store("open"), lambda progress: _no_tracker())
    session.add_target("first")
    return session


def _no_tracker() -> Any:
    raise AssertionError("nothing is tracked here")


@cache
def _store(name: str) -> Store:
    return Store(scratch() / name)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.close()
    return loop


def decoder_pipe(content: bytes) -> None:
    """A decoder process that was taken over by its video, and says what it likes."""
    way, said = split_choice(content, ("facts", "frame", "count"))
    reading, writing = os.pipe()
    os.write(writing, said[:60000])
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as stream, open(os.devnull, "wb") as nowhere:
        decoder = Decoder.__new__(Decoder)
        decoder.__dict__.update(_half_a_decoder(stream, nowhere))
        if way == "facts":
            read_facts(decoder._receive(5.0)[0])
        elif way == "frame":
            decoder.read(0)
        else:
            decoder.count()


def _half_a_decoder(stream: Any, nowhere: Any) -> dict[str, Any]:
    from threading import Lock

    process = SimpleNamespace(stdout=stream, stdin=nowhere, kill=lambda: None, poll=lambda: 0)
    return {"_lock": Lock(), "_frame_seconds": 5.0, "_asked": None, "_process": process}


COMMAND_WORDS = (b'{"do":"draw","target":1,"frame":0,"box":[1,1,9,9]}', b'"id":', b'"follow":true', b'"frame":1e400')
TARGETS = (
    Target("project_file", project_file, 32768, (b"PK\x03\x04", b"project.json", b"inside/0/1", b"video")),
    Target("project_json", project_json, 8192, (b'"rows":[', b'"drawn":{', b'"events":[', b'"colour":"#e69f00"')),
    Target("inside", inside, 8192),
    Target("commands", commands, 8192, COMMAND_WORDS),
    Target("decoder_pipe", decoder_pipe, 4096, (b'{"size":[1,1],"raw":3}', b'"error":', b'"frames":')),
)
