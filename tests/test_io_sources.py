"""Frames from folders of images, sequences, cameras and streams."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from tracking_parts.errors import SourceError
from tracking_parts.geometry import Box
from tracking_parts.io.video import BrokenSourceError, open_source, read_image
from video_helpers import make_video, number_of, picture, read


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return make_video(tmp_path / "clip.mp4", options={"movflags": "faststart"})


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


def test_a_picture_whose_side_has_thousands_of_digits_is_refused_in_one_short_line(tmp_path: Path) -> None:
    """Found by fuzzing."""
    path = tmp_path / "huge.ppm"
    path.write_bytes(b"P6 16 " + b"1" * 4000 + b" 255\n")
    with pytest.raises(SourceError, match="more than are decoded") as refused:
        read_image(path)
    assert len(str(refused.value)) < 300
