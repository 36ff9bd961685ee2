"""Talking to a server as no browser does: raw bytes, half a request, WebSocket frames made by hand."""

from __future__ import annotations

import base64
import os
import random
import socket
import struct
from urllib.parse import urlsplit

ANSWER_SECONDS = 60.0  # a busy machine may be slow; a server that waits for ever is not
MOST_BYTES = 1 << 20


class Peer:
    """The address of a server."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.host, self.port = parts.hostname or "127.0.0.1", parts.port or 80
        self.name = f"{self.host}:{self.port}"

    def connect(self, seconds: float = ANSWER_SECONDS) -> socket.socket:
        return socket.create_connection((self.host, self.port), seconds)

    def say(self, content: bytes, seconds: float = ANSWER_SECONDS, ends: bool = True) -> bytes:
        """Send bytes, say no more, and give whatever comes back until the server hangs up or falls silent.

        With ``ends`` the sending side is closed; a server may then hang up at once.
        """
        with self.connect(seconds) as connection:
            try:
                connection.sendall(content)
                if ends:
                    connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it hung up on us in the middle: what it said first may still be there
            return received(connection)

    def request(self, method: str, path: str, body: bytes = b"", headers: str = "") -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.name}\r\nConnection: close\r\n{headers}"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return self.say(head.encode("utf-8", "surrogatepass") + b"\r\n" + body, ends=False)

    def upgrade(self, path: str) -> socket.socket | None:
        """A connection that has become a WebSocket; None where the server refuses."""
        connection = self.connect()
        key = base64.b64encode(os.urandom(16)).decode()
        head = f"GET {path} HTTP/1.1\r\nHost: {self.name}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        connection.sendall(f"{head}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            piece = connection.recv(4096)
            if not piece:
                break
            answer += piece
        if not answer.startswith(b"HTTP/1.1 101"):
            connection.close()
            return None
        return connection


def received(connection: socket.socket, until: bytes | None = None) -> bytes:
    """What comes until the other side hangs up or falls silent, or until these bytes come."""
    content = b""
    try:
        while len(content) < MOST_BYTES and (piece := connection.recv(65536)):
            content += piece
            if until is not None and until in content:
                break
    except OSError:
        pass
    return content


def frame(content: bytes, opcode: int = 1, final: bool = True, masked: bool = True, length: int | None = None) -> bytes:
    """One WebSocket frame; ``length`` may lie."""
    size = len(content) if length is None else length
    head = bytes([(0x80 if final else 0) | opcode])
    bit = 0x80 if masked else 0
    if size < 126:
        head += bytes([bit | size])
    elif size < 1 << 16:
        head += bytes([bit | 126]) + struct.pack(">H", size)
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", size)
    if not masked:
        return head + content
    mask = os.urandom(4)
    return head + mask + bytes(value ^ mask[index % 4] for index, value in enumerate(content))


def broken_frames(chance: random.Random) -> list[bytes]:
    """Frames that no client sends."""
    return [
        frame(b"x", masked=False),
        frame(b"x", opcode=3),
        frame(b"x", opcode=15),
        frame(b"x" * 200, opcode=9),  # a ping may not be so long
        frame(b"\xff\xfe\xfd"),  # text that is no UTF-8
        frame(b"", length=1 << 40),
        frame(b"x" * 70000),
        frame(b"x", final=False) + frame(b"y", opcode=1),
        frame(b"y", opcode=0),
        frame(b"\x00", opcode=8),
        frame(struct.pack(">H", 9), opcode=8),
        frame(b"x")[:3],
        chance.randbytes(64),
        b"GET / HTTP/1.1\r\n\r\n",
    ]
