"""Writing videos that survive a kill, and what cannot be written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from tracking_parts.errors import OutputError
from tracking_parts.io import video_writer
from tracking_parts.io.video import VideoWriter, open_source
from video_helpers import SIZE_WH, number_of, picture, read


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
