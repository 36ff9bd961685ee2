"""Ctrl-C, SIGTERM and SIGKILL at random moments of ``stp track`` and ``stp bench``: nothing is lost, all is valid."""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import cv2

from torture.moving_square import frame_at, square_at
from torture.run_files import FORMATS, frames_in, problem_of
from torture.trials import Trial
from torture.warm import WarmCommands

SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
FRAMES = 30
BOX = ",".join(map(str, square_at(0)))


def kills(seconds: float, seed: int | None = None) -> Iterator[Trial]:
    """Three of four kills hit ``stp track``, every second followed by ``--resume``; the others ``stp bench``."""
    end = time.monotonic() + seconds
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, WarmCommands() as commands:
        work = Path(folder)
        track, bench = TrackKills(commands, work / "track", chance), BenchKills(commands, work / "bench", chance)
        number = 0
        while time.monotonic() < end:
            kind = SIGNALS[number % len(SIGNALS)]
            yield from bench.trial(kind) if number % 4 == 3 else track.trial(kind, resume=number % 2 == 0)
            number += 1


class TrackKills:
    """``stp track`` on a folder of pictures, compared with the run that nobody stopped."""

    def __init__(self, commands: WarmCommands, folder: Path, chance: random.Random) -> None:
        self._commands, self._folder, self._chance = commands, folder, chance
        pictures = folder / "pictures"
        pictures.mkdir(parents=True)
        for index in range(FRAMES):
            cv2.imwrite(str(pictures / f"{index:04d}.png"), frame_at(index))
        self._options = ["track", str(pictures), "--box", BOX, "--profile", "fast", "--threads", "1", "--trace"]
        self._options += ["--contact-sheet", "--save-state", "--checkpoint", "0.2"]
        self._options += [part for name in FORMATS for part in ("--format", name)]
        self.whole = folder / "whole"
        begun = time.monotonic()
        code = commands.run([*self._options, "--out", str(self.whole)], folder / "said")
        self.seconds = time.monotonic() - begun
        assert code == 0, (folder / "said" / "stderr").read_text(encoding="utf-8")

    def trial(self, kind: signal.Signals, resume: bool) -> Iterator[Trial]:
        """One kill, at any moment."""
        out, said = self._folder / "out", self._folder / "said"
        shutil.rmtree(out, ignore_errors=True)
        arguments = [*self._options, "--out", str(out)]
        after = self._chance.uniform(0, self.seconds)
        code = self._commands.run_and_send(arguments, said, kind, after)
        words = (said / "stderr").read_text(encoding="utf-8", errors="replace")
        problem = wrong_ending(kind, code, words) or problem_of(out, self.whole)
        yield Trial(f"stp track, {kind.name}", not problem, f"after {after:.2f} s: {problem}" if problem else "")
        if resume and not problem:
            yield self._resumed(arguments, out, kind)

    def stop_in_the_middle(self, kind: signal.Signals, out: Path) -> tuple[int, list[str]]:
        """Once some boxes are there; the exit code, and what the command said."""
        said = self._folder / "said"
        process = self._commands.start([*self._options, "--out", str(out)], said)
        boxes = out / "boxes.jsonl"
        while not (boxes.exists() and boxes.stat().st_size):
            time.sleep(0.01)
        os.kill(process, kind)
        code = self._commands.wait(process)
        lines = (said / "stderr").read_text(encoding="utf-8").splitlines()
        return code, [line for line in lines if line.startswith("stp: ")]

    def _resumed(self, arguments: list[str], out: Path, kind: signal.Signals) -> Trial:
        said = self._folder / "said"
        code = self._commands.run([*arguments, "--resume"], said)
        problem = "" if code == 0 else f"exit code {code}: {(said / 'stderr').read_text(encoding='utf-8')[-300:]}"
        problem = problem or problem_of(out, self.whole)
        if not problem and (out / "boxes.jsonl").read_bytes() != (self.whole / "boxes.jsonl").read_bytes():
            problem = "the boxes are not those of a run that nobody stopped"
        if not problem and frames_in(out / "annotated.mp4") != FRAMES:
            problem = "frames are missing in the video"
        left = [entry.name for entry in out.iterdir() if entry.name.startswith(".")] if out.exists() else []
        if not problem and left:
            problem = f"left behind: {', '.join(left)}"
        return Trial(f"stp track --resume after {kind.name}", not problem, problem)


class BenchKills:
    """``stp bench run``, killed and run again."""

    def __init__(self, commands: WarmCommands, folder: Path, chance: random.Random) -> None:
        self._commands, self._folder, self._chance = commands, folder, chance
        data = folder / "data"
        for name in ("one", "two", "three"):
            (data / name).mkdir(parents=True)
            for index in range(12):
                cv2.imwrite(str(data / name / f"{index + 1:08d}.jpg"), frame_at(index))
            (data / name / "groundtruth.txt").write_text(f"{BOX}\n" * 12, encoding="utf-8")
        (data / "list.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
        self._arguments = ["bench", "run", "identity", "--data", str(data), "--threads", "1", "--out"]
        begun = time.monotonic()
        code = commands.run([*self._arguments, str(folder / "whole")], folder / "said")
        self.seconds = time.monotonic() - begun
        assert code == 0, (folder / "said" / "stderr").read_text(encoding="utf-8")
        self._whole = results_in(folder / "whole")

    def trial(self, kind: signal.Signals) -> Iterator[Trial]:
        """One kill at any moment, then the same command once more."""
        out, said = self._folder / "out", self._folder / "said"
        shutil.rmtree(out, ignore_errors=True)
        arguments = [*self._arguments, str(out)]
        after = self._chance.uniform(0, self.seconds)
        code = self._commands.run_and_send(arguments, said, kind, after)
        words = (said / "stderr").read_text(encoding="utf-8", errors="replace")
        problem = wrong_ending(kind, code, words)
        half = {name for name, content in results_in(out).items() if content != self._whole.get(name)}
        problem = problem or (f"half a result: {', '.join(sorted(half))}" if half else "")
        yield Trial(f"stp bench, {kind.name}", not problem, f"after {after:.2f} s: {problem}" if problem else "")
        code = self._commands.run(arguments, said)
        complete = code == 0 and results_in(out) == self._whole
        detail = "" if complete else f"exit code {code}: {(said / 'stderr').read_text(encoding='utf-8')[-300:]}"
        yield Trial(f"stp bench run again after {kind.name}", complete, detail)


def results_in(out: Path) -> dict[str, str]:
    """The trajectories, by name."""
    return {str(path.relative_to(out)): path.read_text(encoding="utf-8") for path in out.rglob("*_001.txt")}


def wrong_ending(kind: signal.Signals, code: int, words: str) -> str:
    """What is wrong about how a command ended, if anything: code and words must be those of its signal."""
    if "Traceback" in words:
        return f"a traceback: {words[-400:]}"
    if code == 0:  # it was faster than the signal
        return ""
    if kind is signal.SIGKILL:
        return "" if code == -kind else f"exit code {code}"
    if code == -kind:  # before it had begun, or after it was through
        return ""
    if code != 128 + kind:
        return f"exit code {code}: {words[-300:]}"
    lines = [line for line in words.splitlines() if line.startswith("stp: ")]
    named = "interrupted" if kind is signal.SIGINT else "terminated"
    return "" if len(lines) == 1 and named in lines[0] else f"said {lines}"
