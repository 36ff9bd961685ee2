"""What is written beside results, and what becomes of results that were there before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracking_parts.evaluation import provenance
from tracking_parts.evaluation.provenance import circumstances
from tracking_parts.evaluation.runner import run


def described(out: Path) -> dict[str, Any]:
    description: dict[str, Any] = json.loads((out / "identity" / "run.json").read_text(encoding="utf-8"))
    return description


def test_results_that_were_added_otherwise_are_told(
    vot_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    run(["identity"], vot_data, out, sequences=["moving"], threads=1)
    first = described(out)
    assert circumstances(first) == [first]
    monkeypatch.setattr(provenance, "versions", lambda: {"numpy": "0.0"})
    run(["identity"], vot_data, out, sequences=["moving"], threads=1)
    assert described(out) == first, "nothing was added"
    for _ in range(2):
        run(["identity"], vot_data, out, threads=2)
    now = described(out)
    (later,) = now.pop("continued")
    assert now == first, "what the first results were made with stays"
    assert (later["versions"], later["threads"], later["engine"]) == ({"numpy": "0.0"}, 2, "local")
    assert set(later) == {"versions", "machine", "threads", "engine", "started"}
    run(["identity"], vot_data, out, repetitions=2, threads=2)
    assert described(out)["continued"] == [later], "known already"


@pytest.mark.parametrize(
    ("content", "problem"),
    [("garbage\n", "not a VOT region"), ("1\n1,2,3,4\n", "has 2 frames, the sequence 12: it was made on other data")],
)
def test_an_earlier_result_that_cannot_be_one_costs_only_itself(
    vot_data: Path, tmp_path: Path, content: str, problem: str
) -> None:
    out = tmp_path / "out"
    run(["identity"], vot_data, out, sequences=["moving"], threads=1)
    broken = out / "identity" / "moving" / "moving_001.txt"
    broken.write_text(content, encoding="utf-8")
    outcomes = {one.sequence: one for one in run(["identity"], vot_data, out, threads=1)}
    assert outcomes["growing"].status == "done"
    assert outcomes["moving"].status == "raised" and problem in outcomes["moving"].error
    assert broken.read_text(encoding="utf-8") == content, "what somebody put there is not replaced"
