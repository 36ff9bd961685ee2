"""The runner of the torture, with parts that survive, lose, raise, die, hang, or have nothing to do."""

from __future__ import annotations

import importlib.util
import inspect
import json
import pkgutil
import time
from pathlib import Path

import pytest

import torture
from torture.__main__ import PARTS, main
from torture.running import GRACE, LEAST, Outcome, Registered, run_all, run_part, share_of_time

PARTS_FOR_TESTS = Path(__file__).with_name("torture_parts.py").stem
HARD = 300.0  # seconds; other processes may take the machine


@pytest.fixture(autouse=True)
def parts_can_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def run(name: str, hard: float = HARD, seed: int = 0) -> Outcome:
    return run_part(name, f"{PARTS_FOR_TESTS}:{name}", 1.0, hard, seed)


def is_alive(pid: int) -> bool:
    """Neither gone nor dead and waiting for whoever started it."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return False


def test_a_part_that_survives() -> None:
    outcome = run("survives")
    assert (len(outcome.trials), outcome.survived, outcome.lost, outcome.skipped) == (2, 2, (), "")


def test_a_lost_trial_is_kept_with_its_detail_and_the_seed_is_handed_on() -> None:
    outcome = run("loses", seed=7)
    assert outcome.survived == 1
    assert [(trial.what, trial.detail) for trial in outcome.lost] == [("swim", "it sank [in water] with seed 7")]


@pytest.mark.parametrize(
    ("name", "what", "detail"),
    [
        ("raises", "raised ValueError", "a part with a fault"),
        ("aborts", "stay alive (ended by SIGABRT)", ""),
        ("leaves", "died", ""),
        ("idles", "try anything", "did not say why"),
        ("is_not_there", "raised AttributeError", "is_not_there"),
    ],
)
def test_a_part_that_ends_otherwise_than_it_should_is_lost(name: str, what: str, detail: str) -> None:
    outcome = run(name)
    assert [trial.what for trial in outcome.lost] == [what]
    assert detail in outcome.lost[0].detail
    assert outcome.survived == (1 if name in ("raises", "aborts", "leaves") else 0)


def test_a_module_that_is_missing_is_lost() -> None:
    outcome = run_part("missing", "torture.no_such_part:run", 1.0, HARD)
    assert [trial.what for trial in outcome.lost] == ["raised ModuleNotFoundError"]


@pytest.mark.timeout(300)
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_a_part_that_hangs_is_killed_with_all_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = tmp_path / "child"
    monkeypatch.setenv("STP_TEST_CHILD", str(child))
    outcome = run("hangs", hard=20.0)
    assert [trial.what for trial in outcome.lost] == ["end in time (killed after 20 s)"]
    assert outcome.survived == 1
    patience = time.monotonic() + 60
    while is_alive(int(child.read_text(encoding="ascii"))) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not is_alive(int(child.read_text(encoding="ascii")))


def test_a_part_that_misses_an_extra_is_skipped_with_its_reason() -> None:
    outcome = run("skips")
    assert (outcome.trials, outcome.skipped) == ((), 'needs water: pip install "tracking-parts[water]"')


def test_what_one_part_leaves_goes_to_the_others() -> None:
    parts = {name: Registered(f"{PARTS_FOR_TESTS}:tells_its_time", weight) for name, weight in (("a", 3), ("b", 1))}
    times = iter([0.0, 0.0, 100.0])  # when all begin, before a, and before b
    told = [float(outcome.trials[0].detail) for outcome in run_all(parts, 1000.0, clock=lambda: next(times))]
    assert told == [600.0, 720.0]


def test_a_part_for_which_no_time_is_left_is_tried_all_the_same() -> None:
    assert share_of_time(-100.0, 1.0, 2.0) == (LEAST, LEAST + GRACE)


@pytest.mark.parametrize("count", [1, 2, 10])
@pytest.mark.parametrize("seconds", [300.0, 1680.0])
def test_all_parts_together_begin_trials_within_the_time(count: int, seconds: float) -> None:
    left = seconds
    for begun in range(count):
        soft, hard = share_of_time(left, 1.0, count - begun)
        assert 0 < soft < hard and soft <= left
        left -= soft
    assert left >= 0


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = {name: Registered(f"{PARTS_FOR_TESTS}:{name}") for name in ("survives", "loses", "skips")}
    out = tmp_path / "deep" / "torture.json"
    assert main([f"--out={out}", "--minutes=20", "--seed=3"], parts) == 1
    told = capsys.readouterr().out
    assert "lost loses: swim\n    it sank [in water] with seed 3" in told
    rows = [line.split() for line in told.splitlines()]
    assert ["survives", "2", "2", "0"] in [row[:4] for row in rows]
    assert ["loses", "2", "1", "1"] in [row[:4] for row in rows]
    assert ["all", "4", "3", "1"] in [row[:4] for row in rows]
    assert "skipped: needs water" in told
    content = json.loads(out.read_text(encoding="utf-8"))
    assert [part["part"] for part in content["parts"]] == list(parts)
    assert content["parts"][1]["lost"] == [{"what": "swim", "detail": "it sank [in water] with seed 3"}]
    assert content["seed"] == 3


def test_only_what_is_asked_for_and_nothing_lost_is_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = {name: Registered(f"{PARTS_FOR_TESTS}:{name}") for name in ("survives", "loses")}
    assert main(["--only=survives", f"--out={tmp_path / 'torture.json'}"], parts) == 0
    assert "loses" not in capsys.readouterr().out
    with pytest.raises(SystemExit, match="unknown part nonsense: there are survives, loses"):
        main(["--only=nonsense"], parts)


@pytest.mark.parametrize("name", PARTS)
def test_the_parts_of_the_registry_take_seconds(name: str) -> None:
    module, function = PARTS[name].address.split(":")
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not there yet: python -m torture says that it is lost")
    parameters = inspect.signature(getattr(importlib.import_module(module), function)).parameters
    assert next(iter(parameters)) == "seconds"


def test_no_part_is_left_out_of_the_registry() -> None:
    """Whatever in this folder gives trials by itself is registered."""
    known = {part.address for part in PARTS.values()}
    for found in pkgutil.iter_modules(torture.__path__, "torture."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            gives = str(inspect.signature(function).return_annotation)
            parameters = list(inspect.signature(function).parameters)
            if function.__module__ == found.name and parameters[:1] == ["seconds"] and gives == "Iterator[Trial]":
                assert name.startswith("_") or f"{found.name}:{name}" in known
