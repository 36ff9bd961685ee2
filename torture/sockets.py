"""What listens or is talked to over a pipe: the studio's port and the TraX server, given everything but the protocol.

After each attack the studio must answer the next good request; at the end it must not have grown, and nothing that it
said may hold a traceback or the place where it keeps its files.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from torture.fuzz.target import CORPUS
from torture.raw_socket import Peer, broken_frames, frame, received
from torture.trials import Trial

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[1]
MOST_GROWTH = 150 << 20  # bytes of memory, over all attacks
MOST_DESCRIPTORS = 8  # more than before, after all connections are gone
SLOW = 120  # connections that do not finish their request
TRAX_SECONDS = 120.0
VIDEO = "tiny.mp4"
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, 10**30, 1e308, "", "x", "../x", "\x00", "\ud800", "9" * 5000, [], {}, [[]]),
    *([1, 2, 3], [None] * 4, {"a": 1}, "NaN"),
)
COMMANDS: dict[str, dict[str, Any]] = {
    "add_target": {"name": "ball", "colour": "#e69f00"},
    "rename_target": {"target": 1, "name": "x", "colour": "#e69f00"},
    "delete_target": {"target": 99},
    "draw": {"target": 1, "frame": 0, "box": [10, 10, 20, 20]},
    "erase": {"target": 1, "frame": 0},
    "show": {"frame": 0, "follow": True},
    "track": {"frame": 5, "everyone": False},
    "step": {"frame": 5},
    "pause": {},
    "stop": {},
}
TRAX_SERVER = """
import sys
from tracking_parts.errors import TrackingPartsError
from tracking_parts.integrations.vot import serve
from tracking_parts.result import Result, State
class Still:
    def init(self, frame, box):
        self.box = box
        return self.update(frame)
    def update(self, frame):
        return Result(self.box, self.box.polygon, 1.0, State.TRACKING)
try:
    serve(Still())
except TrackingPartsError as error:
    sys.exit(f"error: {error}")
"""
TRAX_INPUTS = {
    "nothing": b"",
    "random bytes": bytes(range(256)) * 40,
    "a line without end": b"@@TRAX:" + b"x" * 300_000,
    "half a message": b"@@TRAX:initialize",
    "unknown words": b"@@TRAX:dance now\n" * 50,
    "a start without its image": b'@@TRAX:initialize "file:///none.png" "1,1,5,5"\n',
    "regions that are none": b'@@TRAX:initialize "file:///none.png" "nan,nan" ""\n',
    "a picture of a million pixels without them": b'@@TRAX:initialize "image:9999;9999;rgb;AA" "1,1,5,5"\n',
    "quotes that never close": b'@@TRAX:frame "' * 200,
}


def sockets(seconds: float) -> Iterator[Trial]:
    """The part of the torture."""
    end = time.monotonic() + seconds
    yield from trax_pipe(end)
    if time.monotonic() < end:
        yield from studio_port(end)


# ---------------------------------------------------------------------- TraX
def trax_pipe(end: float) -> Iterator[Trial]:
    """Anything but TraX on the server's standard input: it ends by itself, with words."""
    if importlib.util.find_spec("trax") is None:
        logger.warning('TraX is not installed: pip install "tracking-parts[vot]"')
        return
    for what, content in TRAX_INPUTS.items():
        if time.monotonic() >= end:
            return
        yield _trax_trial(what, content)


def _trax_trial(what: str, content: bytes) -> Trial:
    name = f"TraX server is sent {what}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    try:
        done = subprocess.run(
            [sys.executable, "-c", TRAX_SERVER],
            input=content,
            capture_output=True,
            timeout=TRAX_SECONDS,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return Trial(name, False, f"not done after {TRAX_SECONDS:g} seconds")
    said = done.stdout + done.stderr
    if done.returncode not in (0, 1) or b"Traceback" in said:
        return Trial(name, False, f"ended by {done.returncode}: {said[-300:]!r}")
    return Trial(name, True)


# ---------------------------------------------------------------------- the studio
def studio_port(end: float) -> Iterator[Trial]:
    """A real studio, started as its users do."""
    if importlib.util.find_spec("uvicorn") is None:
        logger.warning('the studio is not installed: pip install "tracking-parts[studio]"')
        return
    with tempfile.TemporaryDirectory() as folder, Attacked(Path(folder)) as studio:
        chance = random.Random(0)
        for attack in ATTACKS:
            if time.monotonic() >= end:
                break
            yield studio.trial(attack, chance)
        yield studio.settled()


class Attacked:
    """A studio, what it said, and how large it was before."""

    def __init__(self, folder: Path) -> None:
        from benchmarks.studio_process import StudioProcess

        self.data = folder / "kept"
        self._stack = ExitStack()
        self._process = self._stack.enter_context(StudioProcess(self.data, str(CORPUS / "video" / VIDEO)))
        self.said: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()
        self.peer = Peer(self._process.address)
        opened = self.peer.request("POST", "/api/open", json.dumps({"kind": "file", "name": VIDEO}).encode())
        self.project = str(json.loads(opened.partition(b"\r\n\r\n")[2])["id"])
        self.answers: list[bytes] = []
        self.is_well()
        self._before = _size_of(self._process.process.pid)

    def __enter__(self) -> Attacked:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _listen(self) -> None:
        stream = self._process.process.stdout
        with suppress(ValueError):
            self.said.extend(stream or ())

    def is_well(self) -> bool:
        """Whether the next good request is answered."""
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and self._process.process.poll() is None:
            with suppress(OSError):
                if self.peer.request("GET", "/api/start").startswith(b"HTTP/1.1 200"):
                    return True
            time.sleep(0.5)
        return False

    def trial(self, attack: Callable[[Attacked, random.Random], None], chance: random.Random) -> Trial:
        what = f"studio: {(attack.__doc__ or '').rstrip('.')}"
        self.answers = []
        with suppress(OSError):
            attack(self, chance)
        if not self.is_well():
            return Trial(what, False, f"it answers no more: {''.join(self.said)[-500:]}")
        return self._judged(what)

    def settled(self) -> Trial:
        """After it all: no larger, no more open files, and no traceback on its console."""
        what = "studio: memory, open files and console after all attacks"
        after = _size_of(self._process.process.pid)
        for _ in range(60):  # connections that are being hung up on take a while
            if after is None or self._before is None or after[1] <= self._before[1] + MOST_DESCRIPTORS:
                break
            time.sleep(1)
            after = _size_of(self._process.process.pid)
        if traceback := re.search(r"Traceback.*", "".join(self.said), re.DOTALL):
            return Trial(what, False, traceback[0][:1500])
        if after is None or self._before is None:
            return Trial(what, True, "memory and files are not known on this system")
        grown, opened = after[0] - self._before[0], after[1] - self._before[1]
        survived = grown <= MOST_GROWTH and opened <= MOST_DESCRIPTORS
        return Trial(what, survived, f"{grown >> 20} MB and {opened} open files more than before")

    def _judged(self, what: str) -> Trial:
        for answer in self.answers:
            for secret in (b"Traceback", str(self.data).encode(), b"site-packages"):
                if secret in answer:
                    return Trial(what, False, f"it said {answer[:500]!r}")
        return Trial(what, True)

    def say(self, content: bytes) -> None:
        self.answers.append(self.peer.say(content, 30))

    def ask(self, method: str, path: str, body: bytes = b"", headers: str = "") -> None:
        self.answers.append(self.peer.request(method, path, body, headers))


def _size_of(pid: int) -> tuple[int, int] | None:
    """Bytes of memory and open files of a process, where the system tells."""
    folder = Path("/proc") / str(pid)
    try:
        found = re.search(r"VmRSS:\s*(\d+) kB", (folder / "status").read_text(encoding="ascii"))
        return (int(found[1]) << 10, len(list((folder / "fd").iterdir()))) if found else None
    except OSError:
        return None


# ---------------------------------------------------------------------- attacks
def random_bytes(studio: Attacked, chance: random.Random) -> None:
    """random bytes."""
    for size in (1, 10, 100, 1000, 100_000):
        studio.say(chance.randbytes(size))


def broken_requests(studio: Attacked, chance: random.Random) -> None:
    """broken HTTP."""
    host = f"Host: {studio.peer.name}\r\n".encode()
    for head in (
        *(b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\r\n" * 1000, b"GET " + b"/" * 70000),
        *(
            b"GET / HTTP/1.1\r\nHost\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + host * 2 + b"\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ),
        b"POST /api/open HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n",
        b"POST /api/open HTTP/1.1\r\n" + host + b"Content-Length: 999999999999\r\n\r\nx",
        b"POST /api/open HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\nZZZ\r\nx\r\n",
        b"POST /api/open HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\n" + host + b"\r\n",
        b"GET / HTTP/1.1\r\n" + host + b"A: \x00\xff\r\n\r\n",
        (b"GET / HTTP/1.1\r\n" + host + b"\r\n") * 50,
    ):
        studio.say(head)


def huge_headers(studio: Attacked, chance: random.Random) -> None:
    """headers of a megabyte."""
    for header in (b"A: " + b"x" * (1 << 20) + b"\r\n", b"".join(b"A%d: x\r\n" % n for n in range(60_000))):
        studio.say(b"GET / HTTP/1.1\r\nHost: " + studio.peer.name.encode() + b"\r\n" + header + b"\r\n")


def slow_requests(studio: Attacked, chance: random.Random) -> None:
    """many connections that never finish asking."""
    with ExitStack() as opened:
        for number in range(SLOW):
            connection = opened.enter_context(studio.peer.connect())
            connection.sendall((b"", b"G", b"GET / HTTP/1.1\r\nHost: ")[number % 3])
        if not studio.is_well():
            studio.answers.append(b"Traceback: nobody else is answered meanwhile")
        last = opened.enter_context(studio.peer.connect(60))
        last.sendall(b"GET / HT")
        if _stays_open(last):
            studio.answers.append(b"Traceback: half a request is waited for without end")


def _stays_open(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


def too_many_connections(studio: Attacked, chance: random.Random) -> None:
    """five hundred connections at once."""
    with ExitStack() as opened:
        for _ in range(500):
            with suppress(OSError):
                opened.enter_context(studio.peer.connect(10))


def large_bodies(studio: Attacked, chance: random.Random) -> None:
    """bodies that are too large, too short, or nested."""
    for body in (
        b"[" * 60_000,
        b'{"kind":' * 5000,
        b"x" * (1 << 20),
        b"\xff\xfe",
        b"null",
        b'"' + b"a" * 60_000 + b'"',
    ):
        studio.ask("POST", "/api/open", body)
    head = f"POST /api/open HTTP/1.1\r\nHost: {studio.peer.name}\r\nContent-Length: 500\r\n\r\n"
    studio.say(head.encode() + b"{}")
    studio.ask("POST", "/api/uploads?name=x", chance.randbytes(50_000))
    broken = bytearray((CORPUS / "video" / VIDEO).read_bytes())
    for place in range(600, len(broken), 7):
        broken[place] ^= 0x55
    studio.ask("POST", "/api/uploads?name=..%2F..%2Fx.mp4", bytes(broken))


def unknown_routes(studio: Attacked, chance: random.Random) -> None:
    """routes, methods and numbers that do not exist."""
    project = studio.project
    for path in (
        *("/nothing", "/api", "/api/projects/x/rows", "//etc/passwd", "/static/../app.py", "/static/%2e%2e/app.py"),
        *(
            "/static/%00",
            "/api/projects/%00/rows",
            "/api/projects/%ff/rows",
            "/api/exports/../x",
            "/%" * 200,
            "/?" + "a=b&" * 900,
        ),
        *(
            f"/api/projects/{project}/frames/{n}.jpg"
            for n in ("-1", "99999999999999999999", "x", "1e9", "0?w=0", "0?w=x")
        ),
        *(f"/api/projects/{project}/inside/{n}/0" for n in ("-1", "99999999999999999999", "x")),
        f"/api/projects/{project}/inside/1/99999999999999999999",
    ):
        for method in ("GET", "POST", "DELETE", "PATCH", "TRACE"):
            if method == "GET" or "frames" not in path:
                studio.ask(method, path)


def wrong_types(studio: Attacked, chance: random.Random) -> None:
    """wrong types in every field of every request."""
    requests: dict[str, dict[str, Any]] = {
        "/api/open": {"kind": "file", "name": "x"},
        f"/api/projects/{studio.project}/exports": {"format": "csv", "targets": None, "with_video": True},
    }
    for path, good in requests.items():
        for field in good:
            for value in ODD_VALUES:
                studio.ask("POST", path, json.dumps({**good, field: value}).encode())


def broken_websockets(studio: Attacked, chance: random.Random) -> None:
    """broken WebSocket frames."""
    for content in broken_frames(chance):
        connection = studio.peer.upgrade(f"/api/projects/{studio.project}/socket?tab=t&take=true")
        if connection is not None:
            with connection:
                connection.settimeout(20)
                connection.sendall(content)
                connection.shutdown(socket.SHUT_WR)
                studio.answers.append(received(connection))
    for path in ("/api/projects/none/socket", "/api/start", f"/api/projects/{studio.project}/socket?take=x", "/socket"):
        if (connection := studio.peer.upgrade(path)) is not None:
            connection.close()


def odd_commands(studio: Attacked, chance: random.Random) -> None:
    """random text, bytes and wrong types in every field of every command."""
    connection = studio.peer.upgrade(f"/api/projects/{studio.project}/socket?tab=t&take=true")
    if connection is None:
        return
    said = [
        b"",
        b"null",
        b"[]",
        b"[" * 9000,
        b"x" * 20_000,
        b'{"do": "dance"}',
        b'{"do": ["draw"]}',
        b'{"id": NaN, "do": "stop"}',
    ]
    for name, good in COMMANDS.items():
        for field in (*good, "id", "do"):
            said += [json.dumps({"id": 1, "do": name, **good, field: value}).encode() for value in ODD_VALUES]
    with connection:
        connection.settimeout(0.5)
        for number, content in enumerate(said):
            connection.sendall(frame(content, opcode=2 if number % 11 == 10 else 1))
            if number % 20 == 19:
                studio.answers.append(received(connection))
        connection.settimeout(60)
        connection.sendall(frame(b'{"id": 777, "do": "stop"}'))
        heard = received(connection, until=b'"id":777')
        studio.answers.append(heard if b'"id":777' in heard else b"Traceback: the tab's last command was not answered")


ATTACKS: tuple[Callable[[Attacked, random.Random], None], ...] = (
    *(random_bytes, broken_requests, unknown_routes, wrong_types, odd_commands, broken_websockets),
    *(large_bodies, huge_headers, slow_requests, too_many_connections),
)
