"""``stp studio`` where something is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tracking_parts.cli import run


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [name for name in sys.modules if name.startswith("tracking_parts.studio")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert run(["studio"]) == 2
    assert 'pip install "tracking-parts[studio]"' in " ".join(capsys.readouterr().err.split())


def test_a_missing_video_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "none.mp4"
    assert run(["studio", str(missing), "--no-browser", "--port", "0", "--data", str(tmp_path / "data")]) == 2
    assert "no file or folder" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "data").exists()
