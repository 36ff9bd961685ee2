"""The process that runs inputs, and may die of one: ``python -m torture.fuzz.worker``. See ``running.py``."""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

ATHERIS_SLACK = 4.0  # how much slower the code is that coverage is taken of


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--engine", choices=("plain", "atheris"), required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--number", type=int, default=0)
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if given.engine == "plain":
        run_plain(given.target, given.seconds, given.folder, given.number)
    else:
        run_atheris(given.target, given.seconds, given.folder, given.number)


def run_plain(name: str, seconds: float, folder: Path, number: int) -> None:
    """Change seeds at random until the time is up, then say how many inputs there were."""
    from torture.fuzz.mutation import Mutator
    from torture.fuzz.registry import find_target
    from torture.fuzz.watch import Watch, bound_memory

    target = find_target(name)
    watch = Watch(target, folder)
    mutator = Mutator(target.seeds(), target.largest, target.words, number)
    _quieten_libraries()
    bound_memory()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        watch.run(mutator.next())
    print(json.dumps({"executions": watch.executions}))


def run_atheris(name: str, seconds: float, folder: Path, number: int) -> None:
    """Let coverage lead. The library ends the process itself; its last words hold the number of inputs."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["tracking_parts"], enable_loader_override=False):
        from torture.fuzz.registry import find_target
        from torture.fuzz.target import scratch
        from torture.fuzz.watch import Watch, bound_memory

        target = find_target(name)
    watch = Watch(target, folder, slack=ATHERIS_SLACK)
    corpus = scratch() / "corpus"
    corpus.mkdir()
    for index, seed in enumerate(target.seeds()):
        (corpus / f"seed-{index}").write_bytes(seed)
    words = scratch() / "words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words), encoding="ascii")
    # Hardly a limit of its own: it takes a paused process for a slow one, and the watch has better ones.
    options = (
        *(f"-max_total_time={max(1, round(seconds))}", f"-max_len={target.largest}"),
        *([f"-dict={words}"] if target.words else []),
        *(f"-seed={number + 1}", "-print_final_stats=1", "-timeout=1000000", "-rss_limit_mb=0", "-malloc_limit_mb=0"),
        *(f"-artifact_prefix={folder}/", "-handle_fpe=0", "-verbosity=1"),
    )
    _quieten_libraries()
    bound_memory()
    atheris.Setup([sys.argv[0], *options, str(corpus)], watch.run)
    atheris.Fuzz()


def _quieten_libraries() -> None:
    """What OpenCV and the video library say about each damaged input would be gigabytes."""
    import av.logging
    import cv2

    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    cv2.setNumThreads(1)
    av.logging.set_level(None)


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{value:02x}" for value in word[:64])


if __name__ == "__main__":
    main()
