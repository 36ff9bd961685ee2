"""Bounds on what anybody who can reach the port may hold: connections, unfinished requests, and what they send."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 200
REQUEST_SECONDS = 15.0  # from a connection, or the answer before, until a request's headers are there
BODY_SECONDS = 30.0  # for a whole small body, or for the next piece of an upload
LARGEST_BODY = 1 << 16
UPLOADS = "/api/uploads"


class BoundedProtocol(H11Protocol):
    """Hangs up on whoever does not finish asking; uvicorn itself would wait for ever."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Let time run while no request is complete, however many bytes trickle in."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if self not in self.connections or not is_idle:
            self._stop_watching()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(REQUEST_SECONDS, self._hang_up)

    def _stop_watching(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _hang_up(self) -> None:
        self._waiting = None
        if self in self.connections and not self.transport.is_closing():
            self.transport.abort()


class BoundedBodies:
    """Small bodies are read whole before anything looks at them; an upload that stands still is broken off."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == UPLOADS:
            await self._app(scope, _in_time(receive), send)
        else:
            await self._read_first(scope, receive, send)

    async def _read_first(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            content = await asyncio.wait_for(_body(receive), BODY_SECONDS)
        except asyncio.TimeoutError:
            await _refuse(408, "this request took too long", scope, receive, send)
            return
        if content is not None and len(content) > LARGEST_BODY:
            await _refuse(413, "this request is too large", scope, receive, send)
        elif content is not None:
            await self._app(scope, _replayed(content, receive), send)


async def _body(receive: Receive) -> bytes | None:
    """What was sent, or a little more than is allowed of it; None where the other side is gone."""
    content = b""
    while len(content) <= LARGEST_BODY:
        message = await receive()
        if message["type"] != "http.request":
            return None
        content += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return content


def _replayed(content: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _in_time(receive: Receive) -> Receive:
    async def next_piece() -> Message:
        try:
            return await asyncio.wait_for(receive(), BODY_SECONDS)
        except asyncio.TimeoutError:
            return {"type": "http.disconnect"}  # who sends nothing for so long is as good as gone

    return next_piece


async def _refuse(status: int, words: str, scope: Scope, receive: Receive, send: Send) -> None:
    answer = JSONResponse({"message": words}, status, headers={"Connection": "close"})
    await answer(scope, receive, send)
