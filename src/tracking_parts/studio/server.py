"""Start the studio: find a port, print the address, serve until Ctrl-C."""

from __future__ import annotations

import logging
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from tracking_parts.errors import ConfigError
from tracking_parts.studio.access import LOOPBACK_NAMES, AccessRules
from tracking_parts.studio.app import make_app
from tracking_parts.studio.connections import BoundedProtocol
from tracking_parts.studio.locking import only_server
from tracking_parts.studio.plan import ManyTracker
from tracking_parts.studio.session import MakeTracker, Progress
from tracking_parts.studio.store import Store, data_folder
from tracking_parts.studio.studio import Studio
from tracking_parts.studio.uploads import UploadLimits

FIRST_PORT, PORTS = 8765, 20


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """How the studio is served."""

    video: Path | None = None
    host: str = "127.0.0.1"
    port: int | None = None  # None: the first free one from 8765 on
    data: Path = field(default_factory=data_folder)
    limits: UploadLimits = field(default_factory=UploadLimits)
    open_browser: bool = True


def serve(choice: ServerChoice, make_tracker: MakeTracker, say: Callable[[str], None]) -> None:
    """Serve until interrupted."""
    if choice.video is not None and not choice.video.exists():
        raise ConfigError(f"no file or folder at {choice.video}")
    is_local = choice.host in LOOPBACK_NAMES
    token = "" if is_local else secrets.token_urlsafe(24)
    with bound_socket(choice.host, choice.port) as listening, ExitStack() as held:
        port = listening.getsockname()[1]
        address = address_of(choice.host, port, token)
        held.enter_context(only_server(choice.data, address_of(choice.host, port, "")))
        studio = Studio(Store(choice.data), make_tracker, choice.video, choice.limits, only_opened=not is_local)
        rules = AccessRules.for_bind(choice.host, port, token)
        say(f"The studio is at {address}")
        if token:
            say("Whoever has this address can see and change everything in the studio. Keep it to yourself.")
        say("Ctrl-C ends it; everything is saved as you go.")
        threading.Thread(target=warm_up, daemon=True).start()
        if choice.open_browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        settings = uvicorn.Config(
            make_app(studio, rules),
            log_level="warning",
            access_log=False,
            server_header=False,
            http=BoundedProtocol,
            ws_max_size=1 << 16,
            timeout_graceful_shutdown=3,
        )
        logging.getLogger("uvicorn.error").addFilter(_plain_about_clients)
        uvicorn.Server(settings).run(sockets=[listening])


def _plain_about_clients(record: logging.LogRecord) -> bool:
    """What a client sent wrong is one line on the console; tracebacks are for mistakes of ours."""
    if record.exc_info and isinstance(record.exc_info[1], UnicodeDecodeError):
        record.exc_info = None
    return True


def bound_socket(host: str, port: int | None) -> socket.socket:
    """A socket at the address; without a port, at the first free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    problem: OSError | None = None
    for number in range(FIRST_PORT, FIRST_PORT + PORTS) if port is None else (port,):
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
            # Listening at once: else another could bind the same port before the server does.
            listening.listen(64)
            return listening
        except OSError as error:
            listening.close()
            problem = error
    reason = "" if problem is None else problem.strerror or str(problem)
    where = f"port {port}" if port is not None else f"any port from {FIRST_PORT} to {FIRST_PORT + PORTS - 1}"
    raise ConfigError(f"cannot serve at {host}, {where}: {reason}")


def address_of(host: str, port: int, token: str) -> str:
    """What a person opens; a server that listens everywhere is shown by its name."""
    name = socket.gethostname() if host in ("0.0.0.0", "::", "") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")


def warm_up() -> None:
    """Import what takes seconds before somebody waits for it."""
    from tracking_parts import MultiTracker  # noqa: F401


def tracker_maker(profile: str, settings: tuple[str, ...], device: str, seed: int, engine: str) -> MakeTracker:
    """Trackers as the command line was told to make them; weights are fetched with word of the progress."""
    from tracking_parts import TrackerConfig

    config = TrackerConfig.profile(profile).override_from_text(settings)

    def make(progress: Progress) -> ManyTracker:
        from tracking_parts import MultiTracker
        from tracking_parts.io.weights import load_weights

        progress("Starting the tracker", 0, None)
        return MultiTracker(config, device=device, seed=seed, engine=engine, weights=load_weights(progress=progress))

    return make
