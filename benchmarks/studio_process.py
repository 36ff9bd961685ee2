"""The studio as its users start it: a process of its own, for tests, screenshots and measurements."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.videos import ROOT

START_SECONDS = 60.0
START = "from tracking_parts.cli import main; main()"


class StudioProcess:
    """``stp studio`` on a free port; ends with the ``with`` statement."""

    def __init__(self, data: Path, *arguments: str, environment: dict[str, str] | None = None) -> None:
        paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, "studio", *_defaults(arguments), "--data", str(data), *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.address = self._wait_for_address()

    def _wait_for_address(self) -> str:
        assert self.process.stdout is not None
        said = []
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            line = self.process.stdout.readline()
            said.append(line)
            found = re.search(r"http://\S+", line)
            if found:
                return found[0]
            if not line and self.process.poll() is not None:
                break
        self.close()
        raise RuntimeError("the studio did not start: " + "".join(said))

    def kill(self) -> None:
        """As a power cut would."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def __enter__(self) -> StudioProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _defaults(arguments: Sequence[str]) -> list[str]:
    return ["--no-browser", *([] if "--port" in arguments else ["--port", "0"])]
