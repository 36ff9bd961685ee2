"""Makes the committed seeds anew: ``PYTHONPATH=src:tests:. python -m torture.fuzz.make_corpus``.

Small examples of every format, made by our own writers where there is one. No data set's file and no real weights.
"""

from __future__ import annotations

import io
import json
import pickle
import shutil
import struct
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray

from torture.fuzz.target import CORPUS
from torture.fuzz.text_targets import SEQUENCE_FILES
from tracking_parts.geometry import Box
from tracking_parts.io.results import READABLE_FORMATS, SequenceInfo, open_result_writer
from tracking_parts.io.trace_files import TraceWriter
from tracking_parts.result import Result, State

TINY = {
    **{"crop_size": 64, "trunk": "whole", "tap": "conv3_1", "convnet_tap": "conv3_3", "channels": 2},
    **{"convnet_channels": 2, "n_max": 3, "max_parts_per_learning": 2, "part_sizes": (3,), "n_negatives": 8},
    **{"supports": (0.7,), "n_frames": 2, "max_references": 1, "first_steps": 2, "u": 3, "augment": False},
}


def main() -> None:
    shutil.rmtree(CORPUS, ignore_errors=True)
    for make in (texts, results, videos, images, arrays, traces, states, studio):
        make()
    size = sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file())
    sys.stdout.write(f"{size} bytes in {CORPUS}\n")


def keep(target: str, name: str, content: bytes | str) -> None:
    path = CORPUS / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def some_results(count: int = 4) -> list[Result]:
    made = []
    for index in range(count):
        box = Box(10 + index, 12.5, 20, 16)
        slanted = ((10.0, 12.0), (30.0, 14.0), (29.0, 30.0), (9.0, 28.0))
        made.append(Result(box, slanted if index % 2 else box.polygon, 0.5, tuple(State)[index % len(State)]))
    return made


def texts() -> None:
    keep("ground_truth", "polygons", "1,2,11,2.5,11,12,1,12\n" * 3 + "nan,nan,nan,nan\n")
    keep("ground_truth", "rectangles", "10\t20\t30\t40\r\n11 21 30 40\r\n0,0,0,0\r\n")
    sequence = {
        "groundtruth.txt": "1,2,11,2.5,11,12,1,12\n" * 2,
        "groundtruth_rect.txt": "10,20,30,40\n",
        "groundtruth_rect.2.txt": "10,20,30,40\n",
        "list.txt": ".\n",
        "sequence": "channels.color=color/%08d.jpg\nfps=30\nname=ball\n",
        "occlusion.tag": "0\n1\n",
        "absence.label": "0,1",
        "cover.label": "8\n3\n",
    }
    for index, name in enumerate(SEQUENCE_FILES):
        keep("sequence_files", name, bytes([index]) + sequence[name].encode())
    keep("trajectory", "ours", "1\n1,2,3,4\n1.5,2,3,4\n2\n0\n0\n%0.1\n0.1\n0.2\n%0.9\n\n0.3\n")
    keep("trajectory", "one_pass", "1\n" + "10,10,20,20\n" * 3 + "10,10,30,11,30,31,10,30\n")
    settings: tuple[bytes, ...] = (b"\0alpha=0.7\npart_sizes=3,5\nupdate=none\naugment=true", b"\x0110,20,30,40")
    settings += (b"\x02stp:default?alpha=1&region=box", b'\x03{"alpha": 0.5, "supports": [0.7, 2.0], "u": 3}')
    for index, text in enumerate(settings):
        keep("settings", str(index), text)
    keep("protocol", "reset.yaml", "kind: reset\nname: own\neao_interval: [10, 20]\nskip: 5\nfailure_overlap: 0.1\n")
    keep("protocol", "one_pass.yaml", "kind: one-pass\nname: own\noverlap: polygon\nprecision_pixels: 20.5\n")
    figures = {"ball": {"frames": 41, "failures": 1, "overlap": 0.61}}
    gate = {"tracker": "stp:default", "protocol": "vot2016", "seed": 0, "overlap_margin": 0.02, "sequences": figures}
    keep("gate", "metrics.json", json.dumps(gate))
    described = {"tracker": "stp:default", "settings": {"a": [1]}, "seed": 0, "protocol": {"name": "x"}, "threads": 1}
    keep("run_description", "run.json", json.dumps({**described, "continued": [{"threads": 2, "versions": {}}]}))


def results() -> None:
    info = SequenceInfo("ball", (64, 48), 25.0, 4)
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(READABLE_FORMATS):
            path = Path(folder) / name
            with open_result_writer(name, path, info) as writer:
                for index, result in enumerate(some_results()):
                    writer.write(index, result)
            keep("results", name, bytes([number]) + path.read_bytes())


def some_frames(count: int = 6) -> list[NDArray[np.uint8]]:
    rows, columns = np.mgrid[0:48, 0:64]
    pictures = [np.stack((rows * 4, columns * 3, (rows + columns + 9 * n) % 256), axis=2) for n in range(count)]
    return [picture.astype(np.uint8) for picture in pictures]


def videos() -> None:
    kinds: tuple[tuple[str, str], ...] = (
        ("mp4", "mpeg4"),
        ("mp4", "libx264"),
        ("matroska", "ffv1"),
        ("avi", "mjpeg"),
        ("mpegts", "mpeg2video"),
    )
    kinds += (("webm", "libvpx"), ("ogg", "libtheora"), ("flv", "flv"), ("gif", "gif"))
    for container, codec in kinds:
        stream = io.BytesIO()
        try:
            with av.open(stream, "w", format=container) as opened:
                added: Any = opened.add_stream(codec, rate=25)
                added.width, added.height = 64, 48
                added.pix_fmt = {"mjpeg": "yuvj420p", "gif": "rgb8"}.get(codec, "yuv420p")
                for picture in some_frames():
                    opened.mux(added.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
                opened.mux(added.encode(None))
        except (av.FFmpegError, ValueError) as error:
            sys.stdout.write(f"no {codec} in {container}: {error}\n")
            continue
        name = "tiny.mp4" if (container, codec) == ("mp4", "mpeg4") else f"{codec}.{container}"
        keep("video", name, stream.getvalue())
        keep("container", name, stream.getvalue()[:200])


def images() -> None:
    picture = some_frames(1)[0]
    for suffix in ("jpg", "png", "bmp", "tif", "webp", "pgm", "ppm"):
        small = cv2.resize(picture, (16, 12))
        source = cv2.cvtColor(small, cv2.COLOR_BGR2GRAY) if suffix == "pgm" else small
        good, content = cv2.imencode(f".{suffix}", source)
        assert good
        keep("image", f"tiny.{suffix}", content.tobytes())
    deep = np.asarray(picture[:8, :8], np.uint16) * 257
    keep("image", "deep.png", cv2.imencode(".png", deep)[1].tobytes())


def arrays() -> None:
    state = {"features.0.weight": torch.ones(2, 3), "features.0.bias": torch.arange(4), "half": torch.ones(2).half()}
    for name, is_zip in (("new.pth", True), ("legacy.pth", False)):
        stream = io.BytesIO()
        torch.save(state, stream, _use_new_zipfile_serialization=is_zip)
        keep("torch_file", name, stream.getvalue())
    two = {"a": torch.ones(2, 3), "b": torch.ones(2, dtype=torch.int64)}
    stream = io.BytesIO()
    torch.save(two, stream)
    with zipfile.ZipFile(stream) as archive:
        found = next(name for name in archive.namelist() if name.endswith("data.pkl"))
        keep("torch_pickle", "two", archive.read(found))
    keep("torch_pickle", "protocol4", pickle.dumps({"a": [1, 2.5, None, (1, (2, (3,)))], "b": b"x" * 20}, 4))
    small = {"features.0.weight": np.ones((2, 3), np.float32), "features.0.bias": np.arange(4.0)}
    for name, save in (("plain.npz", np.savez), ("compressed.npz", np.savez_compressed)):
        stream = io.BytesIO()
        save(stream, **small)  # type: ignore[arg-type]
        keep("npz", name, stream.getvalue())
    for name, values in (("float", np.ones((2, 3))), ("text", np.array("tracking")), ("whole", np.array(7))):
        stream = io.BytesIO()
        np.save(stream, values)
        keep("npy_member", name, stream.getvalue())
    tensors = {"conv1_1.weight": torch.ones(2, 3, 3, 3), "conv1_1.bias": torch.ones(2)}
    keep("safetensors", "two", safetensors.torch.save(tensors, metadata={"source": "local"}))


def traces() -> None:
    from traces_for_viewers import some_trace

    crop = np.full((128, 128, 3), 90, np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        with TraceWriter(Path(folder)) as writer:
            writer.write(some_trace(7, parts=3, crop=crop))
        keep("trace_file", "trace.npz", (Path(folder) / "000007.npz").read_bytes())
    stream = io.BytesIO()
    np.save(stream, np.array(0.5))
    with zipfile.ZipFile(CORPUS / "trace_file" / "trace.npz") as archive:
        place = sorted(archive.namelist()).index("confidence.npy")
    keep("trace_arrays", "good", bytes([place]) + stream.getvalue())
    for number in (0, 3, 6):
        stream = io.BytesIO()
        np.save(stream, np.ones((3, 2), np.float32))
        keep("trace_arrays", str(number), bytes([number]) + stream.getvalue())


def states() -> None:
    from core_helpers import follow, random_weights
    from synthetic import moving_boxes, render_sequence
    from tracking_parts import Tracker, TrackerConfig

    config = TrackerConfig.profile("default").override(**TINY)
    with Tracker(config, weights=random_weights(), engine="torch") as tracker:
        follow(tracker, render_sequence(moving_boxes(6)))
        state = tracker.state()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        state.save(path)
        keep("state_file", "tiny.state", path.read_bytes())
    keep("state_values", "tiny.json", json.dumps(state.values))
    hits = sorted(state.tensors).index("bank.0.hits")
    keep("state_tensors", "good", bytes([hits, 1, 1, *state.tensors["bank.0.hits"].shape, 0, 0, 0, 0]))
    for number in range(6):
        keep("state_tensors", str(number), bytes([number * 3, 0, number, 2, 5, 5, 3, 3, 16, 32]))


def studio() -> None:
    from traces_for_viewers import some_trace
    from tracking_parts.studio.inside import pack_trace
    from tracking_parts.studio.model import Row
    from tracking_parts.studio.project_files import write_project_file
    from tracking_parts.studio.store import Store

    packed = pack_trace(some_trace(1, parts=3, crop=np.full((128, 128, 3), 90, np.uint8)))
    keep("inside", "trace", packed)
    video = CORPUS / "video" / "tiny.mp4"
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        project = store.add_project(
            name="tiny", kind="file", source=str(video), frame_count=6, fps=25.0, width=64, height=48, frame=2
        )
        target = store.add_target(project.id, "ball")
        store.draw(target.id, 0, Box(1, 2, 10, 12))
        store.put([(target.id, Row(1, Box(2, 2, 10, 12), Box(2, 2, 10, 12).polygon, 0.5, State.LOST), packed)])
        for name, with_video in (("with_video", True), ("without", False)):
            path = Path(folder) / name
            write_project_file(path, store, project, with_video, lambda done, total: None)
            keep("project_file", name, path.read_bytes())
        with zipfile.ZipFile(path) as archive:
            keep("project_json", "tiny.json", archive.read("project.json"))
        store.close()
    said = (
        {"id": 1, "do": "add_target", "name": "ball", "colour": "#e69f00"},
        {"id": 2, "do": "rename_target", "target": 1, "name": "x", "colour": "#e69f00"},
        {"id": 3, "do": "draw", "target": 1, "frame": 0, "box": [1, 2, 10, 12]},
        {"id": 4, "do": "erase", "target": 1, "frame": 0},
        {"id": 5, "do": "show", "frame": 3, "follow": True},
        {"id": 6, "do": "track", "frame": 0, "everyone": False},
        {"id": 7, "do": "step", "frame": 0},
        {"id": 8, "do": "pause"},
        {"id": 9, "do": "delete_target", "target": 2},
    )
    keep("commands", "all", "\n".join(json.dumps(one) for one in said))
    for number, header in enumerate(
        ({"name": "v", "fps": 25.0, "frames": 6, "size": [4, 2]}, {"size": [1, 1], "raw": 3, "jpeg": 2}, {"frames": 6})
    ):
        text = json.dumps(header).encode()
        keep("decoder_pipe", str(number), bytes([number]) + struct.pack("<I", len(text)) + text + bytes(5))


if __name__ == "__main__":
    main()
