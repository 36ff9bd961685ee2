"""Reading videos, good and damaged ones; all of them are made here."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from tracking_parts.errors import SourceError
from tracking_parts.io import video
from tracking_parts.io.containers import missing_bytes
from tracking_parts.io.video import BrokenSourceError, VideoWriter, open_source
from video_helpers import SIZE_WH, make_video, number_of, read


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return make_video(tmp_path / "clip.mp4", options={"movflags": "faststart"})


def test_a_video_gives_all_frames_in_order(clip: Path) -> None:
    with open_source(clip) as source:
        assert (source.name, source.frame_count, source.source_frame_count, source.fps) == ("clip", 30, 30, 25.0)
        assert source.ground_truth is None
        frames = list(source)
    assert [number_of(frame) for frame in frames] == pytest.approx(range(30), abs=3)
    assert len(frames) == 30
    assert frames[0].shape == (48, 64, 3)
    assert frames[0].dtype == np.uint8


def test_frames_are_bgr(tmp_path: Path) -> None:
    path = tmp_path / "blue.mp4"
    with VideoWriter(path, 25, SIZE_WH) as writer:
        for _ in range(3):
            writer.write(np.full((48, 64, 3), (220, 60, 20), np.uint8))
    with open_source(path) as source:
        assert np.abs(next(source).astype(int) - (220, 60, 20)).max() < 12


def test_start_and_end(clip: Path) -> None:
    whole = read(clip)[0]
    assert read(clip, start=10, end=14)[0] == whole[10:14]
    assert read(clip, start=28)[0] == whole[28:]
    with open_source(clip, start=10, end=14) as source:
        assert (source.frame_count, source.source_frame_count, source.start) == (4, 30, 10)
    with open_source(clip, start=25, end=99) as source:
        assert source.frame_count == 5
    numbers, error = read(clip, start=30)
    assert numbers == []
    assert "clip has no frame 30" in str(error)
    for start, end in ((-1, None), (5, 5), (5, 2)):
        with pytest.raises(SourceError, match="no frames from"):
            open_source(clip, start=start, end=end)


def test_sources_that_cannot_be_opened(tmp_path: Path) -> None:
    text = tmp_path / "text.mp4"
    text.write_text("no video\n" * 100)
    empty = tmp_path / "empty.mp4"
    empty.write_bytes(b"")
    folder = tmp_path / "folder"
    folder.mkdir()
    sound = tmp_path / "sound.wav"
    sound.write_bytes(
        b"RIFF\x2c\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00"
        b"\x02\x00\x10\x00data\x08\x00\x00\x00" + bytes(8)
    )
    cases = {
        tmp_path / "absent.mp4": "no file or folder at",
        text: "cannot open .* as a video",
        empty: "cannot open .* as a video",
        folder: "no images in",
        sound: "holds no video",
    }
    for path, reason in cases.items():
        with pytest.raises(SourceError, match=reason) as caught:
            open_source(path)
        assert "\n" not in str(caught.value)
        assert path.name in str(caught.value)


@pytest.mark.parametrize("share", [0.75, 0.9, 0.99])
@pytest.mark.parametrize(
    ("suffix", "codec"), [("mp4", "libx264"), ("mkv", "libx264"), ("webm", "libvpx"), ("avi", "mpeg4")]
)
def test_a_truncated_file_is_reported_after_its_good_frames(
    tmp_path: Path, suffix: str, codec: str, share: float
) -> None:
    options = {"movflags": "faststart"} if suffix == "mp4" else {}
    path = make_video(tmp_path / f"whole.{suffix}", codec=codec, options=options)
    whole, error = read(path)
    assert len(whole) == 30
    assert error is None
    assert missing_bytes(path) == 0
    cut = tmp_path / f"cut.{suffix}"
    content = path.read_bytes()
    cut.write_bytes(content[: int(len(content) * share)])
    assert missing_bytes(cut) > 0
    numbers, error = read(cut)
    assert numbers == whole[: len(numbers)]
    if suffix == "avi" and len(numbers) == 30:
        assert error is None  # only the index was cut off, and the container counted all frames
        return
    assert isinstance(error, BrokenSourceError)
    assert error.frame_index == len(numbers)
    assert f"cut.{suffix} broke at frame {len(numbers)}:" in str(error)
    assert numbers


def test_a_file_without_its_index_says_what_is_missing(tmp_path: Path) -> None:
    path = make_video(tmp_path / "ordinary.mp4")  # its index is at the end
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(SourceError, match="bytes are missing at its end"):
        open_source(path)


def test_recordings_without_a_promised_length_are_good(tmp_path: Path) -> None:
    for suffix, codec, options in (("mkv", "libx264", {"live": "1"}), ("ts", "mpeg2video", {})):
        numbers, error = read(make_video(tmp_path / f"live.{suffix}", codec=codec, options=options))
        assert len(numbers) == 30
        assert error is None


def test_bytes_after_the_last_box_are_no_damage(clip: Path) -> None:
    content = clip.read_bytes()
    for padding in (b"\0" * 3, b"\0" * 50, struct.pack(">I4s", 900, b"free"), b"some words at the end"):
        clip.write_bytes(content + padding)
        numbers, error = read(clip)
        assert len(numbers) == 30
        assert error is None


def test_damage_in_the_middle_is_reported_where_it_is(clip: Path) -> None:
    whole = read(clip)[0]
    content = bytearray(clip.read_bytes())
    middle = content.index(b"mdat") + (len(content) - content.index(b"mdat")) // 2
    content[middle:] = bytes(len(content) - middle)  # a download that reserved the space but did not finish
    clip.write_bytes(content)
    assert missing_bytes(clip) == 0
    numbers, error = read(clip)
    assert isinstance(error, BrokenSourceError)
    assert 0 < len(numbers) < 29
    assert numbers == whole[: len(numbers)]
    assert error.frame_index == len(numbers)
    # Whoever stops before the damage never meets it.
    assert read(clip, end=len(numbers)) == (whole[: len(numbers)], None)
    _, error = read(clip, start=2)
    assert isinstance(error, BrokenSourceError)
    assert error.frame_index == len(numbers)


def test_a_picture_that_was_patched_up_is_not_handed_out(clip: Path) -> None:
    """Where a few bytes are wrong the decoder guesses what is missing, and says so."""
    whole = read(clip)[0]
    content = bytearray(clip.read_bytes())
    place = content.index(b"mdat") + 2 * (len(content) - content.index(b"mdat")) // 3
    content[place : place + 12] = b"\xa5" * 12
    clip.write_bytes(content)
    numbers, error = read(clip)
    assert isinstance(error, BrokenSourceError)
    assert error.frame_index == len(numbers)
    assert numbers == whole[: len(numbers)]


def ebml(*sizes: int) -> bytes:
    """The start of a Matroska file: a header of 3 bytes, then a segment whose size has the given bytes."""
    return b"\x1a\x45\xdf\xa3\x83abc\x18\x53\x80\x67" + bytes(sizes)


@pytest.mark.parametrize(
    ("content", "missing"),
    [
        (struct.pack(">I4sI4s", 8, b"ftyp", 20, b"mdat") + bytes(12), 0),
        (struct.pack(">I4sI4s", 8, b"ftyp", 20, b"mdat") + bytes(5), 7),
        (struct.pack(">I4sI4sQ", 8, b"ftyp", 1, b"mdat", 116) + bytes(40), 60),
        (struct.pack(">I4sI4s", 8, b"ftyp", 1, b"mdat") + bytes(3), 0),  # cut within the length itself
        (struct.pack(">I4sI4s", 8, b"ftyp", 0, b"mdat") + bytes(5), 0),  # 0: up to the end, wherever that is
        (struct.pack(">I4sI4s", 8, b"ftyp", 500, b"free") + bytes(5), 0),
        (struct.pack("<4sI4s", b"RIFF", 24, b"AVI ") + bytes(10), 10),
        (struct.pack("<4sI4s", b"RIFF", 900, b"WAVE") + bytes(10), 0),
        (ebml(0x85) + bytes(5), 0),
        (ebml(0x85) + bytes(3), 2),
        (ebml(0x40, 0x85) + bytes(100), 33),
        (ebml(0xFF) + bytes(3), 0),  # all ones: a live recording
        (ebml(0x01, *[0xFF] * 7) + bytes(3), 0),
        (ebml(0x40), 0),
        (ebml(0x00) + bytes(9), 0),
        (b"\x1a\x45\xdf\xa3\x83abcdefghi", 0),
        (b"\x1a\x45\xdf\xa3", 0),
        (b"", 0),
    ],
)
def test_missing_bytes(tmp_path: Path, content: bytes, missing: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert missing_bytes(path) == missing
    assert missing_bytes(tmp_path / "absent") == 0


@pytest.mark.parametrize(
    "matrix",
    [(0, 1, -1, 0), (-1, 0, 0, -1), (0, -1, 1, 0), (1, 0, 0, 1)],
    ids=["quarter turn", "half turn", "three quarters", "none"],
)
def test_the_rotation_of_phone_videos_is_respected(clip: Path, matrix: tuple[int, int, int, int]) -> None:
    """The matrix is patched into the track's header; OpenCV, which turns frames itself, is the oracle."""
    a, b, c, d = (value * 0x10000 for value in matrix)
    identity = struct.pack(">9i", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
    content = clip.read_bytes()
    place = content.index(identity, content.index(b"tkhd"))
    clip.write_bytes(content[:place] + struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 0x40000000) + content[place + 36 :])
    capture = cv2.VideoCapture(str(clip))
    _, expected = capture.read()
    capture.release()
    with open_source(clip) as source:
        frame = next(source)
    assert frame.shape == expected.shape
    assert frame.flags["C_CONTIGUOUS"]
    assert np.abs(frame.astype(int) - expected).mean() < 2


def test_closing_early_and_twice(clip: Path) -> None:
    source = open_source(clip)
    next(source)
    source.close()
    source.close()
    open_source(clip).close()


def test_frames_are_decoded_only_when_asked_for(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory stays flat: with one frame taken, no more than the decoder's own few pictures were made."""
    made = 0
    decode = video._decode

    def counting(*arguments: Any) -> Iterator[av.VideoFrame]:
        nonlocal made
        for picture in decode(*arguments):
            made += 1
            yield picture

    monkeypatch.setattr(video, "_decode", counting)
    with open_source(clip) as source:
        next(source)
        assert made == 1
        next(source)
        assert made == 2
