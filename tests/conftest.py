"""Fixtures for all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import cv2
import pytest
import torch

from synthetic import SyntheticSequence, moving_boxes, render_sequence, write_vot_folder

ROOT = Path(__file__).resolve().parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("STP_OFFLINE") in (None, "", "0"):
        return
    for item in items:
        if item.get_closest_marker("network"):
            item.add_marker(pytest.mark.skip(reason="STP_OFFLINE is set"))


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """A shell lets its background jobs ignore Ctrl-C, and their children inherit that."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def limited_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread: threads that wait for each other on a busy machine are slower than one, and figures are the same."""
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    monkeypatch.setattr("tracking_parts.threads._trunk_threads", None)
    monkeypatch.setattr("tracking_parts.threads._watch", None)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with real sequences and oracles: STP_DATA, else ``../shared`` beside the repository."""
    folder = Path(os.environ.get("STP_DATA") or ROOT.parent / "shared")
    if not folder.is_dir():
        pytest.skip(f"no data at {folder}; set STP_DATA to run this")
    return folder


@pytest.fixture(scope="session")
def moving_object() -> SyntheticSequence:
    """12 frames of 128 x 96: the object moves to the right and down."""
    return render_sequence(moving_boxes(12))


@pytest.fixture(scope="session")
def growing_object() -> SyntheticSequence:
    """12 frames of 128 x 96: the object moves and grows by 2 % a frame."""
    return render_sequence(moving_boxes(12, growth=1.02), seed=1)


@pytest.fixture
def vot_data(tmp_path: Path, moving_object: SyntheticSequence, growing_object: SyntheticSequence) -> Path:
    """A data folder in VOT's layout with the sequences ``moving`` and ``growing``."""
    folder = tmp_path / "data"
    write_vot_folder(folder / "moving", moving_object)
    write_vot_folder(folder / "growing", growing_object)
    (folder / "list.txt").write_text("moving\ngrowing\n", encoding="utf-8")
    return folder
