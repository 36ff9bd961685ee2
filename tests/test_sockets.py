"""A short share of what is done to the studio's port and to the TraX server."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from studio_helpers import make_studio
from torture import sockets
from torture.raw_socket import Peer
from tracking_parts.studio import connections
from tracking_parts.studio.access import AccessRules
from tracking_parts.studio.app import make_app
from tracking_parts.studio.connections import BoundedProtocol
from tracking_parts.studio.server import bound_socket


@pytest.mark.timeout(600)
def test_the_studio_stands_what_is_no_request(tmp_path: Path) -> None:
    with sockets.Attacked(tmp_path) as studio:
        chance = random.Random(1)
        for attack in (
            *(sockets.random_bytes, sockets.broken_requests, sockets.large_bodies),
            *(sockets.odd_commands, sockets.broken_websockets),
        ):
            trial = studio.trial(attack, chance)
            assert trial.survived, (trial.what, trial.detail)
        end = studio.settled()
        assert end.survived, end.detail


@pytest.mark.timeout(600)
@pytest.mark.parametrize("what", ["random bytes", "half a message"])
def test_the_trax_server_ends_with_words(what: str) -> None:
    pytest.importorskip("trax")
    trial = sockets._trax_trial(what, sockets.TRAX_INPUTS[what])
    assert trial.survived, trial.detail


@pytest.fixture
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    """A server in a thread, with little patience."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.3)
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 5)
    studio, _ = make_studio(tmp_path)
    with bound_socket("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        app = make_app(studio, AccessRules.for_bind("127.0.0.1", port))
        server = uvicorn.Server(uvicorn.Config(app, http=BoundedProtocol, log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Peer(f"http://127.0.0.1:{port}")
        finally:
            server.should_exit = True
            thread.join(60)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("start", [b"", b"GET / HTTP/1.1\r\nHost: "])
def test_half_a_request_is_not_waited_for(peer: Peer, start: bytes) -> None:
    with peer.connect() as connection:
        connection.sendall(start)
        assert not sockets._stays_open(connection)
    assert peer.request("GET", "/api/start").startswith(b"HTTP/1.1 200")


@pytest.mark.timeout(300)
def test_half_a_body_is_not_waited_for(peer: Peer) -> None:
    head = f"POST /api/open HTTP/1.1\r\nHost: {peer.name}\r\nContent-Length: 50\r\n\r\n{{"
    assert peer.say(head.encode(), ends=False).startswith(b"HTTP/1.1 408")
    upload = head.replace("/api/open", "/api/uploads")
    assert peer.say(upload.encode(), ends=False).startswith(b"HTTP/1.1 400")


@pytest.mark.timeout(300)
def test_large_bodies_are_refused(peer: Peer) -> None:
    assert b" 413 " in peer.request("POST", "/api/open", b"x" * 70_000)[:40]
    assert b" 4" in peer.request("POST", "/api/open", b"[" * 60_000)[:12]


@pytest.mark.timeout(300)
def test_connections_are_bounded(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 60.0)
    held = [peer.connect() for _ in range(5)]
    time.sleep(0.2)
    with peer.connect() as one_more:
        assert not sockets._stays_open(one_more)
    for connection in held:
        connection.shutdown(socket.SHUT_RDWR)
        connection.close()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if peer.request("GET", "/api/start").startswith(b"HTTP/1.1 200"):
            return
    pytest.fail("nobody is answered any more")
