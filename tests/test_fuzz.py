"""A short share of the fuzzing, and that its engines see what they are there to see."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from torture.fuzz.mutation import Mutator
from torture.fuzz.registry import NAMES, find_target, runnable
from torture.fuzz.running import has_atheris, run_slice
from torture.fuzz.target import CORPUS, Target, check_message
from torture.fuzz.watch import Watch, findings
from tracking_parts.errors import FormatError, TrackingPartsError

INPUTS = 60
SLOW = ("state_file", "state_values", "state_tensors", "video")  # each input tracks or decodes
LARGEST_CORPUS = 300_000


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.timeout(300)
def test_a_share_of_every_target(name: str, tmp_path: Path) -> None:
    if name not in runnable():
        pytest.skip('needs the studio: pip install "tracking-parts[studio]"')
    target = find_target(name)
    # Time is not looked at here: others use this machine too.
    watch = Watch(target, tmp_path, slack=100)
    mutator = Mutator(target.seeds(), target.largest, target.words, number=5)
    for _ in range(len(target.seeds()) + (4 if name in SLOW else INPUTS)):
        watch.run(mutator.next())
    assert [finding.report for finding in findings(name, tmp_path)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_target_has_seeds(name: str) -> None:
    assert any((CORPUS / name).iterdir())


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("npz", "npy_member", "safetensors")])
def test_some_seed_is_a_good_file(name: str) -> None:
    """Else all that is fuzzed is the refusal; of whole weights no seed could be small."""
    target, problems = find_target(name), []
    for seed in target.seeds():
        try:
            target.read(seed)
        except TrackingPartsError as error:
            problems.append(str(error))
    assert len(problems) < len(target.seeds()), problems


def test_the_corpus_is_small() -> None:
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < LARGEST_CORPUS


def test_the_same_number_gives_the_same_inputs() -> None:
    inputs = [[Mutator([b"1,2,3"], 100, number=3).next() for _ in range(1)] for _ in range(2)]
    first, second = (Mutator([b"1,2,3", b"4"], 100, number=3) for _ in range(2))
    assert [first.next() for _ in range(200)] == [second.next() for _ in range(200)]
    assert inputs[0] == inputs[1]
    assert len({first.next() for _ in range(200)}) > 50


def fails(content: bytes) -> None:
    if b"bad" in content:
        raise KeyError("a defect")
    if b"ours" in content:
        raise FormatError("no such file")
    if b"lines" in content:
        raise FormatError("one\ntwo")
    if b"large" in content:
        np.ones(600 << 20, np.uint8)
    if b"slow" in content:
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass


def test_what_is_found(tmp_path: Path) -> None:
    watch = Watch(Target("own", fails), tmp_path, slack=0.1)
    for content in (b"good", b"ours", b"bad", b"bad again", b"lines", b"large", b"slow"):
        watch.run(content)
    found = {finding.what.split(" at ")[0] for finding in findings("own", tmp_path)}
    assert found == {"KeyError", "AssertionError", "too much memory", "too slow"} or found == {
        "KeyError",
        "AssertionError",
        "too slow",  # where a page is given for each touched one only, and the large one counts as slow
    }
    assert watch.executions == 7


def test_messages_are_one_short_line() -> None:
    check_message("no such file")
    for message in ("", "a\nb", "x" * 5000):
        with pytest.raises(AssertionError):
            check_message(message)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("engine", ["plain", "atheris"])
def test_a_process_of_its_own(engine: str, tmp_path: Path) -> None:
    if engine == "atheris" and not has_atheris():
        pytest.skip('atheris is not installed: pip install "tracking-parts[fuzz]"')
    done = run_slice("container", 2, tmp_path, engine)
    assert done.findings == []
    assert done.executions > 5
