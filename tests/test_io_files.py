"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tracking_parts.io.files import atomic_path, write_atomically


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with atomic_path(path) as temporary:
        temporary.write_bytes(b"whole")
        assert temporary.parent == tmp_path and not path.exists()
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_keeps_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(error), atomic_path(path) as temporary:
        temporary.write_bytes(b"half")
        raise error
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_target_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    with pytest.raises(OSError), atomic_path(tmp_path / "folder") as temporary:
        temporary.write_bytes(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_two_writers_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with atomic_path(path) as first:
        first.write_bytes(b"first")
        with atomic_path(path) as second:
            second.write_bytes(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"


def test_readers_see_whole_files_while_writers_compete(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "file"
    contents = [bytes([letter]) * 200_000 for letter in b"abcd"]
    write_atomically(path, contents[0])
    seen: set[bytes] = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            seen.add(path.read_bytes())

    def write_often(content: bytes) -> None:
        for _ in range(10):
            write_atomically(path, content)

    writers = [threading.Thread(target=write_often, args=(content,)) for content in contents]
    reader = threading.Thread(target=read)
    reader.start()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    stop.set()
    reader.join()
    assert seen <= set(contents)
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full_disk(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
