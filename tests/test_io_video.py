"""Reading frames from every kind of source, and writing videos that survive a kill; all videos are made here."""

from __future__ import annotations

import functools
import http.server
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from tracking_parts.errors import OutputError, SourceError
from tracking_parts.geometry import Box
from tracking_parts.io import video, video_writer
from tracking_parts.io.containers import missing_bytes
from tracking_parts.io.video import BrokenSourceError, VideoWriter, open_source, read_image

SIZE_WH = (64, 48)


def picture(index: int, size_wh: tuple[int, int] = SIZE_WH) -> NDArray[np.uint8]:
    """Its grey level tells its number, and its bright corner which way is up."""
    width, height = size_wh
    frame = np.full((height, width, 3), 40 + 5 * index, np.uint8)
    frame[: height // 4, : width // 4] = 255
    return frame


def number_of(frame: NDArray[Any]) -> int:
    return round((float(np.median(frame)) - 40 + 2) / 5)  # the conversion to YUV and back loses up to 4


def make_video(path: Path, count: int = 30, codec: str = "libx264", options: dict[str, str] | None = None) -> Path:
    """An ordinary video with B-frames and noise, so that its packets have some size."""
    noise = np.random.default_rng(0).integers(0, 12, (SIZE_WH[1], SIZE_WH[0], 3), np.uint8)
    with av.open(str(path), "w", options=options or {}) as container:
        stream = container.add_stream(codec, rate=25)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = *SIZE_WH, "yuv420p"
        for index in range(count):
            shifted = np.roll(noise, 7 * index, axis=1)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture(index) - shifted, format="bgr24")))
        container.mux(stream.encode(None))
    return path


def read(path: Path | str, **options: Any) -> tuple[list[int], SourceError | None]:
    """The numbers of the frames that could be read, and how it ended."""
    numbers: list[int] = []
    with open_source(path, **options) as source:
        try:
            numbers.extend(number_of(frame) for frame in source)
        except SourceError as error:
            return numbers, error
    return numbers, None


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


def write_images(folder: Path, count: int) -> Path:
    folder.mkdir(parents=True)
    for index in range(count):
        cv2.imwrite(str(folder / f"{index + 1}.png"), picture(index))
    return folder


def test_a_folder_of_images_in_natural_order(tmp_path: Path) -> None:
    folder = write_images(tmp_path / "images", 11)
    with open_source(folder) as source:
        assert (source.name, source.frame_count, source.fps, source.ground_truth) == ("images", 11, None, None)
        assert [number_of(frame) for frame in source] == list(range(11))
    assert read(folder, start=9)[0] == [9, 10]
    with pytest.raises(SourceError, match="no frame 11: it has 11 images"):
        open_source(folder, start=11)


def test_a_sequence_comes_with_its_ground_truth(tmp_path: Path) -> None:
    write_images(tmp_path / "ball" / "color", 4)
    (tmp_path / "ball" / "groundtruth.txt").write_text("1,1,2,2\nnan,nan,nan,nan\n3,1,2,2\n4,1,2,2\n")
    with open_source(tmp_path / "ball", start=1, end=3) as source:
        assert source.ground_truth == (None, Box(3, 1, 2, 2).polygon)
        assert source.frame_count == 2
        assert [number_of(frame) for frame in source] == [1, 2]


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "gone"])
def test_a_broken_image_is_reported_after_the_good_ones(tmp_path: Path, damage: str) -> None:
    folder = write_images(tmp_path / "images", 5)
    victim = folder / "4.png"
    with open_source(folder) as source:
        if damage == "gone":
            victim.unlink()
        else:
            victim.write_bytes({"cut": victim.read_bytes()[:-20], "text": b"hello", "empty": b""}[damage])
        numbers: list[int] = []
        with pytest.raises(BrokenSourceError, match=r"broke at frame 3: .*4\.png") as caught:
            numbers.extend(number_of(frame) for frame in source)
    assert caught.value.frame_index == 3
    assert read(folder, end=3)[0] == [0, 1, 2]


@pytest.mark.parametrize(
    "image",
    [
        np.full((5, 7), 9, np.uint8),
        np.full((5, 7), 40_000, np.uint16),
        np.full((5, 7, 4), 9, np.uint8),
        np.full((5, 7, 3), 40_000, np.uint16),
    ],
    ids=["grey", "grey 16 bits", "alpha", "16 bits"],
)
def test_images_are_handed_on_as_they_are(tmp_path: Path, image: NDArray[Any]) -> None:
    path = tmp_path / "bild ü.png"
    path.write_bytes(cv2.imencode(".png", image)[1].tobytes())
    found = read_image(path)
    assert found.dtype == image.dtype
    assert np.array_equal(found, image)


class FakeCamera:
    """Three frames, then the cable is pulled."""

    def __init__(self, number: int) -> None:
        self.opened = number == 0
        self.index = 0
        self.released = False

    def isOpened(self) -> bool:
        return self.opened

    def get(self, _property: int) -> float:
        return 0.0

    def read(self) -> tuple[bool, NDArray[np.uint8] | None]:
        self.index += 1
        return (True, picture(self.index - 1)) if self.index <= 3 else (False, None)

    def release(self) -> None:
        self.released = True


def test_a_camera(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cameras: list[FakeCamera] = []

    def connect(number: int) -> FakeCamera:
        cameras.append(FakeCamera(number))
        return cameras[-1]

    monkeypatch.setattr(cv2, "VideoCapture", connect)
    monkeypatch.chdir(tmp_path)
    with open_source("0") as source:
        assert (source.name, source.frame_count, source.fps) == ("camera 0", None, None)
        numbers: list[int] = []
        with pytest.raises(BrokenSourceError, match="camera 0 broke at frame 3"):
            numbers.extend(number_of(frame) for frame in source)
    assert numbers == [0, 1, 2]
    assert cameras[-1].released
    assert read("0", start=1, end=3) == ([1, 2], None)
    with pytest.raises(SourceError, match="cannot open camera 7"):
        open_source("7")
    assert cameras[-1].released
    write_images(tmp_path / "7", 2)  # a folder of that name is meant, if there is one
    assert read("7")[0] == [0, 1]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_a_stream(clip: Path, server: str) -> None:
    numbers, error = read(f"{server}/clip.mp4")
    assert numbers == read(clip)[0]
    assert error is None
    with pytest.raises(SourceError, match="cannot open http"):
        open_source(f"{server}/absent.mp4")


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


@pytest.mark.parametrize("encoder", video_writer.ENCODERS)
@pytest.mark.parametrize("size_wh", [(64, 48), (65, 48), (64, 49), (33, 17)])
def test_written_videos_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoder: str, size_wh: tuple[int, int]
) -> None:
    monkeypatch.setattr(video_writer, "ENCODERS", (encoder,))
    path = tmp_path / "new folder" / "out.mp4"
    with VideoWriter(path, 29.97, size_wh) as writer:
        for index in range(12):
            writer.write(picture(index, size_wh))
    with open_source(path) as source:
        assert source.fps == pytest.approx(29.97, abs=0.05)
        frames = list(source)
    assert len(frames) == 12
    assert [number_of(frame) for frame in frames] == pytest.approx(range(12), abs=1)  # not every encoder is exact
    assert frames[0].shape == (size_wh[1] + size_wh[1] % 2, size_wh[0] + size_wh[0] % 2, 3)
    capture = cv2.VideoCapture(str(path))  # another reader agrees
    assert sum(1 for _ in iter(lambda: capture.read()[0], False)) == 12
    capture.release()


def test_a_killed_writer_leaves_a_playable_video(tmp_path: Path) -> None:
    path = tmp_path / "killed.mp4"
    code = (
        "import os, signal, sys\n"
        "import numpy as np\n"
        "from tracking_parts.io.video_writer import VideoWriter\n"
        "writer = VideoWriter(sys.argv[1], 25, (64, 48))\n"
        "for index in range(40):\n"
        "    writer.write(np.full((48, 64, 3), 40 + 5 * index, np.uint8))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1] / "src")}
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    numbers, _ = read(path)
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= 39


def test_the_encoder_is_the_best_available(monkeypatch: pytest.MonkeyPatch) -> None:
    assert video_writer.choose_encoder() in video_writer.ENCODERS
    monkeypatch.setattr(video_writer, "ENCODERS", ("no such encoder", "mpeg4"))
    assert video_writer.choose_encoder() == "mpeg4"
    monkeypatch.setattr(video_writer, "ENCODERS", ("no such encoder", "hevc_cuvid"))
    with pytest.raises(OutputError, match="none of the encoders"):
        video_writer.choose_encoder()


def test_what_does_not_fit_a_video_is_refused(tmp_path: Path) -> None:
    for fps in (0.0, -5.0, float("nan"), float("inf")):
        with pytest.raises(OutputError, match="frames per second"):
            VideoWriter(tmp_path / "a.mp4", fps, SIZE_WH)
    with pytest.raises(OutputError, match="of size"):
        VideoWriter(tmp_path / "a.mp4", 25, (0, 5))
    writer = VideoWriter(tmp_path / "a.mp4", 25, SIZE_WH)
    for frame in (picture(0, (32, 48)), picture(0)[..., 0], picture(0).astype(np.float32)):
        with pytest.raises(OutputError, match="expected BGR with 8 bits"):
            writer.write(frame)  # type: ignore[arg-type]
    writer.close()
    writer.close()
    with pytest.raises(OutputError, match="closed"):
        writer.write(picture(0))


def test_videos_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write") as caught:
        VideoWriter(tmp_path / "file" / "a.mp4", 25, SIZE_WH)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_an_output_error() -> None:
    def fill() -> None:
        with VideoWriter("/dev/full", 25, SIZE_WH) as writer:
            for index in range(20):
                writer.write(picture(index))

    with pytest.raises(OutputError, match="No space left"):
        fill()
