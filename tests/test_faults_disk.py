"""Full disks and folders that cannot be written to, for every file that a run writes."""

from __future__ import annotations

import random
import resource
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest

from torture.disk import DiskTrials
from torture.warm import WarmCommands
from traces_for_viewers import some_result, some_trace
from tracking_parts import OutputError
from tracking_parts.io.files import atomic_path, remove_leftovers, temporary_beside
from tracking_parts.io.growing_file import GrowingFile
from tracking_parts.io.result_layout import SequenceInfo
from tracking_parts.io.results import RESULT_FORMATS, open_result_writer
from tracking_parts.io.trace_files import TraceWriter, read_trace, traced_frames
from tracking_parts.io.video import VideoWriter

INFO = SequenceInfo("video", (64, 48), 25.0, 100, "object")


@contextmanager
def files_of_at_most(limit: int) -> Iterator[None]:
    """The write that crosses the line is cut off, the next one fails: pytest's own too, so within the test only."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("name", RESULT_FORMATS)
def test_a_row_that_does_not_fit_leaves_the_file_as_it_was(name: str, tmp_path: Path) -> None:
    path = tmp_path / "boxes"
    before, index = b"", 0
    limit = 1500 if name == "cvat" else 700
    with files_of_at_most(limit), open_result_writer(name, path, INFO) as writer:
        with pytest.raises(OutputError, match="cannot write"):
            for index in range(100):
                before = path.read_bytes()
                writer.write(index, some_result())
        after = path.read_bytes()
        assert len(before) > 100 and after.rstrip(b" ") == before.rstrip(b" ")
        with pytest.raises(OutputError, match="cannot write"):  # and once more: it does not get worse
            writer.write(index, some_result())
        assert path.read_bytes() == after
    if name == "cvat":
        assert ElementTree.fromstring(after.decode()).findall(".//box")


def test_a_tail_is_put_back(tmp_path: Path) -> None:
    file = GrowingFile(tmp_path / "file")
    file.append("head\n", "tail\n")
    with files_of_at_most(700), pytest.raises(OutputError, match="cannot write"):
        file.append("x" * 700, "tail\n")
    assert (tmp_path / "file").read_text() == "head\ntail\n"
    file.append("row\n", "end\n")
    assert (tmp_path / "file").read_text() == "head\nrow\nend\n"
    file.close()


def test_a_trace_that_does_not_fit_leaves_no_half_file(tmp_path: Path) -> None:
    with files_of_at_most(700), TraceWriter(tmp_path) as writer, pytest.raises(OSError):
        writer.write(some_trace(1))
    assert traced_frames(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["trace.jsonl"]


def test_a_trace_that_was_begun_by_a_killed_process_is_removed(tmp_path: Path) -> None:
    dead = tmp_path / ".000003.npz.999999999-0123456789abcdef.part"
    dead.touch()
    with atomic_path(tmp_path / "mine") as mine:
        mine.touch()
        remove_leftovers(tmp_path)
        assert mine.exists() and not dead.exists()
        mine.unlink()
        mine.touch()
    with TraceWriter(tmp_path) as writer:
        writer.write(some_trace(3))
    assert read_trace(tmp_path, 3).frame_index == 3


def test_a_video_has_its_name_once_it_can_be_played(tmp_path: Path) -> None:
    path = tmp_path / "video.mp4"
    path.write_bytes(b"an older one")
    writer = VideoWriter(path, 25.0, (64, 48))
    picture = some_trace(1).crop[:48, :64]
    assert not path.exists()
    writer.write(picture)
    assert not path.exists()
    writer.write(picture)
    assert path.exists()
    writer.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["video.mp4"]
    short = VideoWriter(path, 25.0, (64, 48))
    short.write(picture)
    short.close()
    assert path.exists(), "one frame is a video too"
    VideoWriter(path, 25.0, (64, 48)).close()
    assert not path.exists(), "none is not"
    assert list(tmp_path.iterdir()) == []


def test_a_name_beside_is_nobody_elses(tmp_path: Path) -> None:
    assert temporary_beside(tmp_path / "a") != temporary_beside(tmp_path / "a")


def test_the_studio_keeps_what_it_has_where_the_disk_is_full(tmp_path: Path) -> None:
    from tracking_parts.geometry import Box
    from tracking_parts.studio.store import Store

    store = Store(tmp_path)
    project = store.add_project(
        name="a", kind="file", source="a.mp4", frame_count=10, fps=25.0, width=64, height=48, frame=0
    )
    target = store.add_target(project.id)
    store.draw(target.id, 0, Box(1, 2, 3, 4))
    pages = store._database.execute("PRAGMA page_count").fetchone()[0]
    store._database.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises((OutputError, sqlite3.OperationalError), match="full"):
        for frame in range(1, 2000):
            store.draw(target.id, frame, Box(1, 2, 3, 4))
    kept = store.drawn(target.id)
    assert kept[0] == Box(1, 2, 3, 4)
    store.close()
    again = Store(tmp_path)
    assert again.drawn(target.id) == kept
    again.draw(target.id, 5000, Box(1, 2, 3, 4))
    again.close()


@pytest.mark.network
@pytest.mark.timeout(900)
def test_runs_on_full_disks(tmp_path: Path) -> None:
    with WarmCommands() as commands:
        trials = DiskTrials(commands, tmp_path, random.Random(0))
        done = [trials.out_is_a_file(), trials.a_file_is_a_folder(), trials.out_is_full()]
        done += [trials.runs_full() for _ in range(6)]
    assert [trial for trial in done if not trial.survived] == []
