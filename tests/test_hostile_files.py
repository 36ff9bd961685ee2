"""Files made to harm are refused by an error of ours, one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from torture import hostile_files
from torture.hostile_files import Read, cases, refused
from torture.hostile_writers import Make

CASES = list(cases())


@pytest.mark.parametrize(("what", "make", "read"), CASES, ids=[case[0] for case in CASES])
def test_refused(what: str, make: Make, read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostile_files, "MOST_SECONDS", 120.0)  # tests are slow, as their coverage is watched
    trial = refused(what, make(tmp_path), read, tmp_path)
    assert trial.survived, trial.detail


def test_a_good_file_is_no_survivor(tmp_path: Path) -> None:
    assert not refused("good", tmp_path, lambda path: None, tmp_path).survived
    assert not refused("defect", tmp_path, lambda path: dict[str, int]()["none"], tmp_path).survived
