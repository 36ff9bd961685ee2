"""Files made to harm: bombs, lies about sizes, paths that lead elsewhere, code. Each must be refused.

Unlike the fuzzing these are aimed: each is the attack that is known against its kind of file.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from torture.fuzz.target import CORPUS, check_message
from torture.fuzz.watch import MOST_BYTES, HangError, broken_off, memory_now, memory_peak
from torture.hostile_writers import GIGABYTE, Make, always, bomb_writer, made, sparse_writer, writer, zip_writer
from torture.trials import Trial
from tracking_parts.errors import TrackingPartsError

MOST_SECONDS = 5.0  # of the processor; none takes one
Read = Callable[[Path], object]


def hostile_files(seconds: float) -> Iterator[Trial]:
    """The part of the torture."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        for number, (what, make, read) in enumerate(cases()):
            if time.monotonic() >= end:
                return
            place = Path(folder) / str(number)
            place.mkdir()
            yield refused(what, make(place), read, place)


def refused(what: str, path: Path, read: Read, folder: Path) -> Trial:
    """Whether a file is refused: in words, at once, with little memory, and without running anything."""
    before, begun = memory_now(), time.process_time()
    try:
        with broken_off(4 * MOST_SECONDS):
            read(path)
    except TrackingPartsError as error:
        try:
            check_message(str(error))
        except AssertionError as wrong:
            return Trial(what, False, str(wrong))
    except (Exception, HangError) as error:
        return Trial(what, False, f"{type(error).__name__}: {str(error)[:200]}")
    else:
        return Trial(what, False, "it was taken for good")
    if (folder / MARKER).exists():
        return Trial(what, False, "code in it was run")
    spent, grown = time.process_time() - begun, memory_peak() - before
    if spent > MOST_SECONDS or grown > MOST_BYTES:
        return Trial(what, False, f"refused, but after {spent:.1f} seconds and {grown >> 20} MB")
    return Trial(what, True)


MARKER = "executed"


def cases() -> Iterator[tuple[str, Make, Read]]:
    """All hostile files: what each is, how it is made, and what reads it."""
    yield from _pickles()
    yield from _archives()
    yield from _tensors()
    yield from _texts()
    yield from _pictures()
    yield from _projects()


# ---------------------------------------------------------------------- pickles
def _pickles() -> Iterator[tuple[str, Make, Read]]:
    from tracking_parts.io.torch_files import read_torch_file

    def runs_code(folder: Path) -> bytes:
        command = f"touch {folder / MARKER}".encode()
        return b"\x80\x02cos\nsystem\nX" + struct.pack("<I", len(command)) + command + b"\x85R."

    def reduces(folder: Path) -> bytes:
        return pickle.dumps({"weight": _Runs(str(folder / MARKER))}, 2)

    inside: dict[str, Callable[[Path], bytes]] = {
        "code by GLOBAL and REDUCE": runs_code,
        "code by an object's own __reduce__": reduces,
        "a text that claims two gigabytes": lambda _: b"\x80\x02X\xff\xff\xff\x7f",
        "a text that claims all of memory": lambda _: b"\x80\x04\x8d" + struct.pack("<Q", (1 << 63) - 1),
        "a number of a megabyte": lambda _: b"\x80\x02\x8b" + struct.pack("<i", 1 << 20) + b"\xff" * (1 << 20) + b".",
        "a key of tuples in tuples": lambda _: b"\x80\x02})" + b"\x85" * 500_000 + b"K\x01s.",
        "a key of shared tuples, without end to hash": lambda _: b"\x80\x02})" + b"2\x86" * 60 + b"K\x01s.",
        "a key of shared tuples by the memo": lambda _: b"\x80\x02})" + b"q\x00h\x00\x86" * 60 + b"K\x01s.",
        "marks without end": lambda _: b"\x80\x02" + b"(t" * 200_000 + b".",
        "a list that holds itself": lambda _: b"\x80\x02]q\x00h\x00a.",
    }
    for what, make in inside.items():
        yield f"pickle: {what}", writer(make, "legacy.pth"), read_torch_file
        yield (
            f"pickle in a zip: {what}",
            writer(partial(_zipped, make), "new.pth"),
            read_torch_file,
        )


class _Runs:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (self.path,))


def _torch_zip(pickled: bytes, storage: bytes = bytes(24), compression: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/data/0", storage)
    return stream.getvalue()


# ---------------------------------------------------------------------- archives
def _archives() -> Iterator[tuple[str, Make, Read]]:
    from tracking_parts.io.torch_files import read_torch_file
    from tracking_parts.io.trace_files import read_trace
    from tracking_parts.io.weight_files import read_arrays

    name = "features.0.weight.npy"
    for what, header in {
        "a shape larger than memory": {"descr": "<f8", "fortran_order": False, "shape": (10**12,)},
        "a shape that overflows": {"descr": "<f8", "fortran_order": False, "shape": (1 << 62, 1 << 62)},
        "texts of a gigabyte": {"descr": "<U268435456", "fortran_order": False, "shape": (1,)},
        "pickled objects": {"descr": "|O", "fortran_order": False, "shape": (1,)},
    }.items():
        member = _npy(header)
        yield f"npz: {what}", zip_writer({name: member}, "weights.npz"), read_arrays
        yield f"trace: {what}", zip_writer({"frame_index.npy": member}, "000007.npz"), _in_folder(read_trace)
    bomb = _npy({"descr": "<f8", "fortran_order": False, "shape": (3 * GIGABYTE // 8,)})
    yield "npz: a bomb of three gigabytes", bomb_writer(name, bomb, "weights.npz"), read_arrays
    yield "trace: a bomb of three gigabytes", bomb_writer("crop.npy", bomb, "000007.npz"), _in_folder(read_trace)
    tensor = _pickled_tensor(3 * GIGABYTE // 4)
    yield (
        "pth: a bomb of three gigabytes",
        bomb_writer("archive/data/0", b"", "w.pth", {"archive/data.pkl": tensor}),
        read_torch_file,
    )
    good = _pickled_tensor(6)
    yield (
        "pth: compressed storages",
        writer(lambda _: _torch_zip(good, bytes(24), zipfile.ZIP_DEFLATED), "w.pth"),
        read_torch_file,
    )
    yield "pth: another size than it says", writer(lambda _: _torch_zip(good, bytes(20)), "w.pth"), read_torch_file
    many = _pickled_tensor(25_000, copies=2_000)
    yield (
        "pth: one storage a hundred thousand times",
        writer(lambda _: _torch_zip(many, bytes(100_000)), "w.pth"),
        read_torch_file,
    )
    yield "npz: packed with LZMA", zip_writer({name: bomb[:100]}, "weights.npz", zipfile.ZIP_LZMA), read_arrays


def _pickled_tensor(count: int, copies: int = 1) -> bytes:
    """A state dictionary of tensors on one storage, as torch.save writes it."""
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    storage += b"\x8a\x08" + struct.pack("<q", count) + b"tQ"
    size = b"\x8a\x08" + struct.pack("<q", count) + b"\x85"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + size + b"K\x01\x85\x89}tR"
    items = b"".join(b"X\x06\x00\x00\x00" + b"%06d" % number + tensor for number in range(copies))
    return b"\x80\x02}(" + items + b"u."


def _npy(header: dict[str, Any]) -> bytes:
    text = repr(header).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


# ---------------------------------------------------------------------- safetensors
def _tensors() -> Iterator[tuple[str, Make, Read]]:
    from tracking_parts.io.weight_files import read_arrays, select_layers
    from tracking_parts.tracker_state import TrackerState

    def weights(path: Path) -> object:
        return select_layers(read_arrays(path))

    one = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    headers: dict[str, bytes] = {
        "a header of all of memory": struct.pack("<Q", (1 << 63) - 1) + b"{}",
        "a header beyond the file": struct.pack("<Q", 10**6) + b"{}",
        "a header nested without end": _safetensors(b"[" * 100_000),
        "a tensor beyond the file": _safetensors(json.dumps({"a": {**one, "data_offsets": [0, 10**12]}}).encode()),
        "a shape that overflows": _safetensors(json.dumps({"a": {**one, "shape": [1 << 62, 1 << 62]}}).encode()),
        "tensors that overlap": _safetensors(json.dumps({"a": one, "b": one}).encode(), bytes(8)),
        "an unknown type": _safetensors(json.dumps({"a": {**one, "dtype": "X9"}}).encode(), bytes(8)),
        "other arrays than the network's": _safetensors(json.dumps({"a": one}).encode(), bytes(8)),
        "nothing": b"",
    }
    for what, content in headers.items():
        yield f"safetensors weights: {what}", writer(always(content), "w.safetensors"), weights
        yield f"state: {what}", writer(always(content), "tracker.state"), TrackerState.load
    state = (CORPUS / "state_file" / "tiny.state").read_bytes()
    yield "state: cut in half", writer(lambda _: state[: len(state) // 2], "tracker.state"), TrackerState.load


def _safetensors(header: bytes, content: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + content


# ---------------------------------------------------------------------- text
def _texts() -> Iterator[tuple[str, Make, Read]]:
    from tracking_parts.evaluation.gate import read_gate
    from tracking_parts.evaluation.protocol import load_protocol
    from tracking_parts.io.results import read_results
    from tracking_parts.io.sequences import find_sequences, read_ground_truth

    laughs = "kind: reset\na0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 64))
    merges = "kind: reset\na0: &a0 {x: 1}\n" + "".join(
        f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 40)
    )
    for what, text in {
        "a billion laughs": laughs,
        "merges of merges": merges,
        "lists without end": "[" * 50_000,
        "a date that is none": "kind: reset\nname: 2001-99-99\n",
        "a number of a megabyte": "kind: reset\nskip: " + "9" * 60_000,
        "an object of Python's": "kind: reset\nname: !!python/object/apply:os.mkdir [x]\n",
        "a list as its kind": "kind: [reset]\n",
    }.items():
        yield (
            f"protocol: {what}",
            writer(always(text.encode()), "rules.yaml"),
            lambda path: load_protocol(str(path)),
        )
    yield "gate: lists without end", writer(lambda _: b"[" * 500_000, "gate.json"), read_gate
    yield (
        "results: lists without end",
        writer(lambda _: b"[" * 500_000, "boxes.jsonl"),
        lambda path: read_results(path, "jsonl"),
    )
    yield "ground truth: a file of gigabytes", sparse_writer("groundtruth.txt"), read_ground_truth
    yield (
        "ground truth: numbers beyond all pictures",
        writer(lambda _: b"1e308,1e308,1e308,1e308\n", "g.txt"),
        read_ground_truth,
    )
    for name in ("../..", "/etc", "a/../../b", "x" * 5000, "a\0b"):
        listing = writer(always(name.encode()), "list.txt")
        yield f"list of sequences: leads to {name[:12]!r}", listing, lambda path: find_sequences(path.parent)


# ---------------------------------------------------------------------- pictures
def _pictures() -> Iterator[tuple[str, Make, Read]]:
    from tracking_parts.io.video import open_source, read_image

    def decode(path: Path) -> object:
        with open_source(path) as source:
            return list(source)

    pictures: dict[str, Callable[[], bytes]] = {
        "png": lambda: _png(60_000, 40_000),
        "ppm": lambda: b"P6\n90000 90000\n255\n" + bytes(1000),
        "bmp": lambda: (
            b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, 40_000, 40_000, 1, 24, 0, 0, 0, 0, 0, 0)
        ),
    }
    for kind, make in pictures.items():
        yield f"picture: a {kind} of gigabytes", writer(partial(made, make), f"bomb.{kind}"), read_image
    yield (
        "picture: a folder of them",
        writer(lambda _: _png(60_000, 40_000), "0001.png"),
        lambda path: decode(path.parent),
    )
    playlist = b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:9/x.ts\n"
    yield "video: a list of addresses", writer(lambda _: playlist, "list.m3u8"), decode
    concat = b"ffconcat version 1.0\nfile /etc/passwd\n"
    yield "video: a list of other files", writer(lambda _: concat, "list.ffconcat"), decode
    video = (CORPUS / "video" / "tiny.mp4").read_bytes()
    unknown = (CORPUS / "video" / "ffv1.matroska").read_bytes().replace(b"V_FFV1", b"V_XXXX")
    yield "video: of a codec that nobody knows", writer(lambda _: unknown, "unknown.mkv"), decode
    yield "video: cut off", writer(lambda _: video[: len(video) * 2 // 3], "cut.mp4"), decode


def _png(width: int, height: int) -> bytes:
    """All black: a few hundred bytes for each megabyte; only its first rows are there."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(10**6))) + chunk(b"IEND", b"")
    )


# ---------------------------------------------------------------------- project files
def _projects() -> Iterator[tuple[str, Make, Read]]:
    from tracking_parts.studio.project_files import open_project_file

    good = json.loads((CORPUS / "project_json" / "tiny.json").read_bytes())

    def read(path: Path) -> object:
        with open_project_file(path) as opened:
            opened.copy_video(path.parent / "video", 1 << 20)
            return [list(opened.insides(number)) for number in range(3)]

    text = json.dumps(good).encode()
    yield "project file: a bomb for a text", bomb_writer("project.json", b"{", "p.stp"), read
    yield "project file: a bomb for a video", bomb_writer("video", b"", "p.stp", {"project.json": text}), read
    yield (
        "project file: a bomb inside a frame",
        bomb_writer("inside/0/1", b"", "p.stp", {"project.json": text, "video": b""}),
        read,
    )
    for field, value in {"frame": 1e308, "name": ["x"], "targets": [{}], "video": None, "format": "other"}.items():
        changed = json.dumps({**good, field: value}).encode()
        yield (
            f"project file: {field} is {str(value)[:9]}",
            zip_writer({"project.json": changed, "video": b""}, "p.stp"),
            read,
        )
    row = {**good["targets"][0]["rows"][0], "confidence": float("nan")}
    broken = {**good, "targets": [{**good["targets"][0], "rows": [row]}]}
    yield (
        "project file: NaN in a row",
        zip_writer({"project.json": json.dumps(broken).encode(), "video": b""}, "p.stp"),
        read,
    )
    yield "project file: packed with LZMA", zip_writer({"project.json": text}, "p.stp", zipfile.ZIP_LZMA), read


def _zipped(make: Callable[[Path], bytes], folder: Path) -> bytes:
    return _torch_zip(make(folder))


def _in_folder(read: Callable[[Path, int], object]) -> Read:
    return lambda path: read(path.parent, 7)
