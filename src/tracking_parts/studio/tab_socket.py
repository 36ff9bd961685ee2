"""The socket of a tab: commands come in and are answered in order, news go out."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from starlette.concurrency import run_in_threadpool

from tracking_parts.errors import TrackingPartsError
from tracking_parts.io.plain_files import parse_json
from tracking_parts.studio.channel import Channel
from tracking_parts.studio.model import COLOUR, Row, whole_number
from tracking_parts.studio.session import Session
from tracking_parts.studio.studio import Studio
from tracking_parts.studio.undoing import Step

LONGEST_COMMAND = 10_000
LONGEST_MESSAGE = 500
IN_USE, GONE = 4001, 4004  # the codes with which a socket is closed


def add_socket(app: FastAPI, studio: Studio) -> None:
    """One socket per tab and project. The tab that holds a project keeps it unless another takes it over."""

    @app.websocket("/api/projects/{project_id}/socket")
    async def talk(socket: WebSocket, project_id: str, tab: str = "", take: bool = False) -> None:
        with contextlib.suppress(WebSocketDisconnect):  # gone before it was told anything
            await socket.accept()
            try:
                session = await run_in_threadpool(studio.session, project_id)
            except TrackingPartsError as error:
                await socket.close(GONE, str(error)[:120])
                return
            holder = session.channel
            if holder is not None and holder.tab != tab and not take:
                await socket.close(IN_USE, "this project is open in another tab")
                return
            if holder is not None:
                holder.post({"kind": "taken"})
                holder.close()
            await _serve(socket, session, Channel(tab, asyncio.get_running_loop()))


async def _serve(socket: WebSocket, session: Session, channel: Channel) -> None:
    session.connect(channel)
    channel.post({"kind": "hello", **await run_in_threadpool(session.description)})
    pump = asyncio.create_task(channel.pump(socket.send_text, socket.send_bytes))
    listen = asyncio.create_task(_listen(socket, session, channel))
    try:
        await asyncio.wait({pump, listen}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if session.channel is channel:
            session.connect(None)
        channel.close()
        for task in (pump, listen):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError, OSError):
                await task
        with contextlib.suppress(RuntimeError, OSError):
            await socket.close()


async def _listen(socket: WebSocket, session: Session, channel: Channel) -> None:
    while True:
        text = await _next_text(socket)
        answer = await run_in_threadpool(answer_command, session, channel, text)
        channel.post(answer)


async def _next_text(socket: WebSocket) -> str:
    """What the tab says next. Bytes are no text: they are answered as any other nonsense."""
    message = await socket.receive()
    if message["type"] != "websocket.receive":
        raise WebSocketDisconnect(message.get("code", 1000))
    return message.get("text") or ""


def answer_command(session: Session, channel: Channel, text: str) -> dict[str, Any]:
    """Do one command. Whatever is wrong with it is said in words and changes nothing."""
    number: int | None = None
    try:
        if len(text) > LONGEST_COMMAND:
            raise ValueError("too long")
        command = parse_json(text)
        asked, name = command.pop("id", None), command.pop("do")
        number = None if asked is None else whole_number(asked)
        done = COMMANDS[name](session, channel, command)
        return {"kind": "reply", "id": number, "ok": True, **done}
    except TrackingPartsError as error:
        return {"kind": "reply", "id": number, "ok": False, "message": str(error)[:LONGEST_MESSAGE]}
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return {"kind": "reply", "id": number, "ok": False, "message": "the command could not be understood"}


def _add_target(session: Session, channel: Channel, given: dict[str, Any]) -> dict[str, Any]:
    return {"target": asdict(session.add_target(str(given.get("name", "")), _colour(given.get("colour", ""))))}


def _rename_target(session: Session, channel: Channel, given: dict[str, Any]) -> dict[str, Any]:
    colour = _colour(given["colour"])
    return {"target": asdict(session.rename_target(whole_number(given["target"]), str(given["name"]), colour))}


def _delete_target(session: Session, channel: Channel, given: dict[str, Any]) -> dict[str, Any]:
    session.delete_target(whole_number(given["target"]))
    return {"undo": session.undo_log.state()}


def _draw(session: Session, channel: Channel, given: dict[str, Any]) -> dict[str, Any]:
    row = session.draw(whole_number(given["target"]), whole_number(given["frame"]), list(given["box"]))
    return {"row": row.to_dict(), "undo": session.undo_log.state()}


def _erase(session: Session, channel: Channel, given: dict[str, Any]) -> dict[str, Any]:
    row = session.erase(whole_number(given["target"]), whole_number(given["frame"]))
    return {"row": None if row is None else row.to_dict(), "undo": session.undo_log.state()}


def _undo(session: Session, channel: Channel, given: dict[str, Any]) -> dict[str, Any]:
    return _replayed(session, session.undo(), undone=True)


def _redo(session: Session, channel: Channel, given: dict[str, Any]) -> dict[str, Any]:
    return _replayed(session, session.redo(), undone=False)


def _replayed(session: Session, done: tuple[Step, Row | None] | None, undone: bool) -> dict[str, Any]:
    if done is None:
        return {"step": None, "undo": session.undo_log.state()}
    step, row = done
    drawn = (step.before if undone else step.after) is not None
    facts = {"target": step.target, "frame": step.frame, "drawn": drawn, "row": None if row is None else row.to_dict()}
    return {"step": facts, "undo": session.undo_log.state()}


def _correct_by(session: Session, channel: Channel, given: dict[str, Any]) -> dict[str, Any]:
    session.correct_by(str(given["how"]))
    return {}


def _show(session: Session, channel: Channel, given: dict[str, Any]) -> dict[str, Any]:
    channel.follows = bool(given["follow"])
    session.show(whole_number(given["frame"]))
    return {}


def _track(session: Session, channel: Channel, given: dict[str, Any]) -> dict[str, Any]:
    channel.follows = True
    session.track(whole_number(given["frame"]), everyone=bool(given.get("everyone", False)))
    return {}


def _step(session: Session, channel: Channel, given: dict[str, Any]) -> dict[str, Any]:
    channel.follows = True
    session.step(whole_number(given["frame"]))
    return {}


def _pause(session: Session, channel: Channel, given: dict[str, Any]) -> dict[str, Any]:
    session.pause()
    return {}


def _stop(session: Session, channel: Channel, given: dict[str, Any]) -> dict[str, Any]:
    session.stop()
    return {}


def _colour(text: Any) -> str:
    """A colour as the page writes it, or none."""
    if text and not COLOUR.fullmatch(text):
        raise ValueError("no colour")
    return str(text)


COMMANDS: dict[str, Callable[[Session, Channel, dict[str, Any]], dict[str, Any]]] = {
    "add_target": _add_target,
    "rename_target": _rename_target,
    "delete_target": _delete_target,
    "draw": _draw,
    "erase": _erase,
    "undo": _undo,
    "redo": _redo,
    "correct_by": _correct_by,
    "show": _show,
    "track": _track,
    "step": _step,
    "pause": _pause,
    "stop": _stop,
}
