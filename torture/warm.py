"""Commands that start at once: a process that has imported everything, and forks for each of them.

``python -m torture.warm`` reads one JSON object per line (``arguments``, ``folder`` for what the command says,
``limit`` on the size of its files) and answers with the process id; a line ``{"wait": pid}`` is answered with its exit
code. Imports take seconds: without it hundreds of kills would take an hour.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


class WarmCommands:
    """The other end: starts commands, and waits for them."""

    def __init__(self) -> None:
        paths = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        quiet = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "torture.warm"],
            cwd=ROOT,
            env={**os.environ, **quiet},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._ask({"wait": 0})  # until everything is imported

    def start(self, arguments: list[str], folder: Path, limit: int | None = None) -> int:
        """Begin ``stp …``; gives its process id. What it says goes to ``stdout`` and ``stderr`` in a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        return self._ask({"arguments": arguments, "folder": str(folder), "limit": limit})

    def wait(self, process: int) -> int:
        """Its exit code, negative for the signal that ended it."""
        return self._ask({"wait": process})

    def run(self, arguments: list[str], folder: Path, limit: int | None = None) -> int:
        return self.wait(self.start(arguments, folder, limit))

    def run_and_send(self, arguments: list[str], folder: Path, number: signal.Signals, after: float) -> int:
        """Send a signal to a command some seconds after its start; its exit code."""
        process = self.start(arguments, folder)
        time.sleep(after)
        try:
            os.kill(process, number)
        except ProcessLookupError:
            return self.wait(process)
        return self.wait(process)

    def _ask(self, question: dict[str, Any]) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def __enter__(self) -> WarmCommands:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def serve() -> None:
    """Fork for every line until there are no more."""
    import av  # noqa: F401
    import cv2
    import torch

    import tracking_parts.__main__
    import tracking_parts.cli
    import tracking_parts.cli_run
    import tracking_parts.evaluation.runner
    import tracking_parts.tracker

    with suppress(ModuleNotFoundError):  # the studio is an extra
        import tracking_parts.studio.server  # noqa: F401
    torch.set_num_threads(1)  # a fork has one thread only; whoever waited for the others would wait for ever
    cv2.setNumThreads(1)
    for line in sys.stdin:
        question = json.loads(line)
        if "wait" in question:
            answer = os.waitstatus_to_exitcode(os.waitpid(question["wait"], 0)[1]) if question["wait"] else 0
        else:
            answer = os.fork()
            if answer == 0:
                _become(question)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


def _become(question: dict[str, Any]) -> None:
    """The child: the command, as if it had been typed."""
    from tracking_parts.__main__ import main

    # As in a process that has just begun, also where whoever runs this in the background is deaf to Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(Path(question["folder"]) / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    if question["limit"] is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (question["limit"], question["limit"]))
    sys.argv = ["stp", *question["arguments"]]
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve()
