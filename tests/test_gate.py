"""The gate against getting worse: its own logic, and the committed figures on real sequences."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracking_parts.cli import app
from tracking_parts.errors import FormatError, TrackingPartsError
from tracking_parts.evaluation.gate import Gate, GateFigures, compare, measure, read_gate, write_gate

COMMITTED = Path(__file__).resolve().parents[1] / "benchmarks" / "gate.json"
PERFECT = {"moving": GateFigures(12, 0, 0.9167), "growing": GateFigures(12, 0, 0.9167)}


def gate_of(tracker: str, figures: dict[str, GateFigures] = PERFECT) -> Gate:
    return Gate(tracker, "vot2016", 0, 0.02, figures)


def test_the_perfect_tracker_passes(vot_data: Path, tmp_path: Path) -> None:
    measured = measure(gate_of("identity"), vot_data, tmp_path / "out")
    assert measured == PERFECT  # the frame of the start has no overlap: 11 of 12
    assert compare(gate_of("identity"), measured) == []


def test_a_worse_tracker_does_not(vot_data: Path, tmp_path: Path) -> None:
    worse = gate_of("trackers_for_tests:LosesAtOnce", {"moving": PERFECT["moving"]})
    problems = compare(worse, measure(worse, vot_data, tmp_path / "out"))
    assert problems == ["moving: 2 failures instead of 0", "moving: overlap 0.000 instead of 0.917"]


@pytest.mark.parametrize(
    ("now", "problems"),
    [
        (GateFigures(12, 0, 0.8968), 0),
        (GateFigures(12, 0, 0.8966), 1),
        (GateFigures(12, 1, 0.95), 1),
        (GateFigures(12, 1, 0.5), 2),
        (GateFigures(13, 0, 0.95), 1),
        (None, 1),
    ],
)
def test_what_counts_as_worse(now: GateFigures | None, problems: int) -> None:
    gate = gate_of("identity", {"moving": PERFECT["moving"]})
    assert len(compare(gate, {} if now is None else {"moving": now})) == problems


def test_a_tracker_that_raises_is_no_pass(vot_data: Path, tmp_path: Path) -> None:
    gate = replace(gate_of("trackers_for_tests:RaisesAlways"), sequences={"moving": PERFECT["moving"]})
    with pytest.raises(TrackingPartsError, match="moving: ZeroDivisionError"):
        measure(gate, vot_data, tmp_path / "out")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"sequences": {"a": {"frames": 1}}}', '{"sequences": {}, "odd": 1}'])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "gate.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=r"gate\.json is no metrics file"):
        read_gate(path)
    with pytest.raises(FormatError, match=r"cannot read .*gone\.json"):
        read_gate(tmp_path / "gone.json")


def test_the_command_compares_and_updates(vot_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "gate.json"
    write_gate(path, gate_of("identity", {"moving": GateFigures(12, 0, 0.99)}))
    arguments = ["bench", "gate", "--data", str(vot_data), "--metrics", str(path)]
    failed = CliRunner().invoke(app, arguments)
    assert failed.exit_code == 1 and "overlap 0.917 instead of 0.990" in failed.stderr
    updated = CliRunner().invoke(app, [*arguments, "--update"])
    assert updated.exit_code == 0, updated.output
    assert json.loads(path.read_text(encoding="utf-8"))["sequences"]["moving"]["overlap"] == 0.9167
    passed = CliRunner().invoke(app, arguments)
    assert passed.exit_code == 0, passed.output
    assert "moving: 0 failures (committed 0), overlap 0.917 (committed 0.917)" in passed.stdout


def test_the_committed_figures_were_measured() -> None:
    """An overlap of 0 cannot drop: with it the gate would let everything pass."""
    gate = read_gate(COMMITTED)
    assert len(gate.sequences) >= 3
    assert [name for name, figures in gate.sequences.items() if not figures.overlap > 5 * gate.overlap_margin] == []


@pytest.mark.timeout(900)
def test_the_committed_figures_hold(shared_data: Path, tmp_path: Path) -> None:
    """A change that makes the tracker worse fails here; ``make gate-update`` commits new figures."""
    gate = read_gate(COMMITTED)
    assert compare(gate, measure(gate, shared_data / "vot2016-20", tmp_path / "out", processes=2)) == []
