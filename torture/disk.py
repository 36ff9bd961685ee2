"""Disks that are full, folders that cannot be written to: one line, the right exit code, and valid files."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import cv2

from torture.kills import BOX, FRAMES
from torture.moving_square import frame_at
from torture.run_files import FORMATS, problem_of
from torture.trials import Trial
from torture.warm import WarmCommands


def disk(seconds: float, seed: int | None = None) -> Iterator[Trial]:
    """A limit on the size of files stands for a full disk: at a random size, writing fails in the middle of a row."""
    end = time.monotonic() + seconds
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, WarmCommands() as commands:
        trials = DiskTrials(commands, Path(folder), chance)
        for trial in (trials.out_is_a_file, trials.a_file_is_a_folder, trials.out_is_full):
            if time.monotonic() < end:
                yield trial()
        while time.monotonic() < end:
            yield trials.runs_full()


class DiskTrials:
    """``stp track`` on a folder of pictures, where there is no room for its files."""

    def __init__(self, commands: WarmCommands, folder: Path, chance: random.Random) -> None:
        self._commands, self._folder, self._chance = commands, folder, chance
        pictures = folder / "pictures"
        pictures.mkdir()
        for index in range(FRAMES):
            cv2.imwrite(str(pictures / f"{index:04d}.png"), frame_at(index))
        self._options = ["track", str(pictures), "--box", BOX, "--profile", "fast", "--threads", "1"]
        self._options += [part for name in FORMATS for part in ("--format", name)]
        self._whole = folder / "whole"
        assert commands.run([*self._options, "--out", str(self._whole)], folder / "said") == 0
        largest = max(path.stat().st_size for path in self._whole.iterdir() if path.is_file())
        self._sizes = (64, largest)

    def _said(self) -> list[str]:
        lines = (self._folder / "said" / "stderr").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.startswith("stp: ") or "Traceback" in line]

    def _refused(self, what: str, out: Path) -> Trial:
        code = self._commands.run([*self._options, "--out", str(out)], self._folder / "said")
        said = self._said()
        fine = code == 2 and len(said) == 1
        return Trial(what, fine, "" if fine else f"exit code {code}: {said}")

    def out_is_a_file(self) -> Trial:
        path = self._folder / "taken"
        path.write_text("", encoding="utf-8")
        return self._refused("the output folder is a file", path)

    def a_file_is_a_folder(self) -> Trial:
        out = self._folder / "crowded"
        (out / "boxes.csv").mkdir(parents=True)
        return self._refused("a file to be written is a folder", out)

    def out_is_full(self) -> Trial:
        out = self._folder / "full"
        out.mkdir()
        os.symlink("/dev/full", out / "boxes.csv")
        return self._refused("a device that is full", out)

    def runs_full(self) -> Trial:
        """The exit code is 1 where something was tracked, 2 where nothing could be begun."""
        limit = int(self._chance.uniform(*self._sizes))
        out = self._folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        code = self._commands.run([*self._options, "--out", str(out)], self._folder / "said", limit)
        said = self._said()
        problem = problem_of(out, self._whole)
        if not problem and (code not in (0, 1, 2) or any("Traceback" in line for line in said)):
            problem = f"exit code {code}: {said}"
        return Trial("files that may not grow", not problem, f"limit {limit}: {problem}" if problem else "")
