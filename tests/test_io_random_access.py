"""Any frame by its number: the same pictures as in sequence."""

from __future__ import annotations

import random
from pathlib import Path

import av
import numpy as np
import pytest

from cli_helpers import make_folder, make_video, pictures
from tracking_parts.errors import SourceError
from tracking_parts.frames import as_bgr
from tracking_parts.io.clips import CLIPS, fetch_clip
from tracking_parts.io.random_access import open_reader
from tracking_parts.io.video import open_source


def write_with_b_frames(path: Path, count: int) -> Path:
    """Pictures that are decoded in another order than they are shown, with few key frames."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"bf": "3", "g": "12", "sc_threshold": "0"})
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for frame in pictures(count):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="bgr24")))
        container.mux(stream.encode(None))
    return path


def check_any_order(path: Path, tries: int = 40) -> None:
    with open_source(path) as source:
        wanted = [as_bgr(frame) for frame in source]
    reader = open_reader(path)
    assert reader.frame_count == len(wanted)
    order = [*range(min(10, len(wanted))), *random.Random(0).choices(range(len(wanted)), k=tries), 0, len(wanted) - 1]
    for index in order:
        assert np.array_equal(reader.read(index), wanted[index]), index
    for index in (-1, len(wanted)):
        with pytest.raises(SourceError, match="has no frame"):
            reader.read(index)
    reader.close()


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_videos_with_reordered_pictures(tmp_path: Path, suffix: str) -> None:
    check_any_order(write_with_b_frames(tmp_path / f"b.{suffix}", 50))


def test_videos_and_folders_of_ours(tmp_path: Path) -> None:
    check_any_order(make_video(tmp_path / "plain.mp4", 30))
    check_any_order(make_folder(tmp_path / "images", 12))


@pytest.mark.network
@pytest.mark.parametrize("name", [name for name in CLIPS if name != "bigbuckbunny.mp4"])
def test_real_clips(name: str) -> None:
    check_any_order(fetch_clip(name), tries=10)


def test_a_folder_grows(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "images", 3)
    reader = open_reader(folder)
    with pytest.raises(SourceError):
        reader.read(3)
    (folder / "0003.png").write_bytes((folder / "0002.png").read_bytes())
    assert np.array_equal(reader.read(3), reader.read(2)) and reader.frame_count == 4


def test_a_cut_video_can_be_seen_up_to_the_cut(tmp_path: Path) -> None:
    whole = write_with_b_frames(tmp_path / "whole.mkv", 60)
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    reader = open_reader(cut)
    assert 5 < reader.frame_count < 60
    assert reader.read(3).shape == (48, 64, 3)


@pytest.mark.parametrize("content", [b"", b"no video", b"\x00\x00\x00\x18ftypisom" + bytes(500)])
def test_what_is_no_video_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.mp4"
    path.write_bytes(content)
    with pytest.raises(SourceError):
        open_reader(path)
    with pytest.raises(SourceError, match="no file"):
        open_reader(tmp_path / "missing.mp4")
