"""Cameras of the computer that runs the server, recorded to pictures that are watched and tracked like a video."""

from __future__ import annotations

import contextlib
import platform
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from tracking_parts.errors import SourceError

RECORDED_FPS = 15.0
MOST_PICTURES = 27_000  # half an hour
START_SECONDS = 15.0


class Recording:
    """One camera that is being recorded; begins at once and waits for the first picture."""

    def __init__(self, source: str, folder: Path, on_count: Callable[[int], None], fps: float = RECORDED_FPS) -> None:
        self.count = 0
        self._problem = ""
        self._on_count = on_count
        self._begun = threading.Event()
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tracking_parts.studio.capture_process"),
                *(source, str(folder), str(fps), str(MOST_PICTURES)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._begun.wait(START_SECONDS)
        if not self.count:
            self.stop()
            raise SourceError(self._problem or "the camera gives no picture")

    @property
    def is_going_on(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """Let go of the camera; what was recorded is kept."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(5)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if line.strip().isdecimal():
                    self.count = int(line)
                    self._begun.set()
                    self._on_count(self.count)
                elif line.startswith("error "):
                    self._problem = line.removeprefix("error ").strip()
        self._begun.set()


def cameras() -> list[str]:
    """The cameras that can be seen without opening them; where the system does not tell, the first is offered."""
    if platform.system() != "Linux":
        return ["0"]
    numbers = (path.name.removeprefix("video") for path in Path("/dev").glob("video*"))
    return sorted((number for number in numbers if number.isdecimal()), key=int)
