"""Odd frames given to ``init`` and ``update``."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from torture.odd_case import Case, Expect, follow, midway, with_frames
from torture.odd_scene import HEIGHT, WIDTH, XYWH, Image, Player, Seen, moving_scene, texture

PLAIN = (120, 90, 48, 40)


def frame_cases() -> list[Case]:
    """Every odd frame, in the order of the table."""
    return [*_kinds(), *_memory(), *_sizes(), *_unusable(), *_contents()]


def _every(name: str, expect: Expect, convert: Callable[[Any], Any]) -> Case:
    return Case("Frames", name, expect, with_frames(convert))


def _one(name: str, expect: Expect, make: Callable[[Any], Any], truth: Callable[[XYWH], XYWH] | None = None) -> Case:
    return Case("One bad frame midway", name, expect, midway(make, truth))


def _unmoved(box: XYWH) -> XYWH:
    return box


def _halved(box: XYWH) -> XYWH:
    x, y, w, h = box
    return (x / 2, y / 2, w / 2, h / 2)


def _turned(box: XYWH) -> XYWH:
    x, y, w, h = box
    return (y, WIDTH - x - w, h, w)


def _kinds() -> list[Case]:
    return [
        _every("grey, two axes", Expect.FOLLOW, lambda f: cv2.cvtColor(f, cv2.COLOR_BGR2GRAY)),
        _every("one channel, three axes", Expect.FOLLOW, lambda f: cv2.cvtColor(f, cv2.COLOR_BGR2GRAY)[:, :, None]),
        _every("with an alpha channel", Expect.FOLLOW, lambda f: cv2.cvtColor(f, cv2.COLOR_BGR2BGRA)),
        _every("16-bit", Expect.FOLLOW, lambda f: f.astype(np.uint16) * 257),
        _every("16-bit, big-endian", Expect.FOLLOW, lambda f: (f.astype(np.uint16) * 257).astype(">u2")),
        _every("16-bit that hold 12 bits", Expect.FOLLOW, lambda f: f.astype(np.uint16) * 16),
        _every("float32 in 0–1", Expect.FOLLOW, lambda f: f.astype(np.float32) / 255),
        _every("float64 in 0–255", Expect.FOLLOW, lambda f: f.astype(np.float64)),
        _every("float16 in 0–1", Expect.FOLLOW, lambda f: (f / 255).astype(np.float16)),
        _every("float32 in 0–65535", Expect.REFUSE, lambda f: f.astype(np.float32) * 257),
        _every("float32 in −1–1", Expect.REFUSE, lambda f: f.astype(np.float32) / 127.5 - 1),
        _every("booleans", Expect.FOLLOW, lambda f: cv2.cvtColor(f, cv2.COLOR_BGR2GRAY) > 128),
        _every("int64", Expect.REFUSE, lambda f: f.astype(np.int64)),
        _every("int8", Expect.REFUSE, lambda f: f.astype(np.int8)),
        _every("complex", Expect.REFUSE, lambda f: f.astype(np.complex64)),
        _every("objects", Expect.REFUSE, lambda f: f.astype(object)),
        _every("two channels", Expect.REFUSE, lambda f: np.ascontiguousarray(f[:, :, :2])),
        _every("five channels", Expect.REFUSE, lambda f: np.dstack([f, f[:, :, :2]])),
        _every("channels first", Expect.REFUSE, lambda f: np.ascontiguousarray(f.transpose(2, 0, 1))),
        _every("a batch of one", Expect.REFUSE, lambda f: f[None]),
        _every("nested lists", Expect.REFUSE, lambda f: f.tolist()),
        _every("a masked array", Expect.FOLLOW, lambda f: np.ma.masked_equal(f, 0)),  # type: ignore[no-untyped-call]
        Case("Frames", "a PIL image", Expect.FOLLOW, _as_pil("RGB")),
        Case("Frames", "a PIL image with a palette", Expect.FOLLOW, _as_pil("P")),
        Case("Frames", "a torch tensor", Expect.FOLLOW, _as_tensor()),
        Case("Frames", "a torch tensor that wants gradients", Expect.FOLLOW, _as_tensor(gradients=True)),
        Case("Frames", "a torch tensor, channels first", Expect.REFUSE, _as_tensor(first=True)),
        Case("Frames", "a torch tensor in bfloat16", Expect.REFUSE, _as_tensor(kind="bfloat16")),
    ]


def _memory() -> list[Case]:
    return [
        _every("read-only", Expect.FOLLOW, lambda f: f),
        _every("not contiguous", Expect.FOLLOW, lambda f: np.repeat(f, 2, axis=1)[:, ::2]),
        _every("negative strides", Expect.FOLLOW, lambda f: np.ascontiguousarray(f[::-1, ::-1])[::-1, ::-1]),
        _every("column by column", Expect.FOLLOW, np.asfortranarray),
        Case("Frames", "memory-mapped", Expect.FOLLOW, _memory_mapped),
        Case("Frames", "one buffer, overwritten for every frame", Expect.FOLLOW, _one_buffer),
        Case("Frames", "blackened by the caller after every call", Expect.FOLLOW, _blackened),
    ]


def _sizes() -> list[Case]:
    return [
        Case("Frames", "huge, 7680x4320", Expect.FOLLOW, _sized((7680, 4320), (3000, 2000, 400, 300), (16, 8))),
        Case("Frames", "huge, with a small object", Expect.FOLLOW, _sized((7680, 4320), (3000, 2000, 48, 40), (2, 1))),
        Case("Frames", "tiny, 8x8", Expect.ANSWER, _sized((8, 8), (2, 2, 4, 4), (0, 0))),
        Case("Frames", "smaller still, 4x4", Expect.REFUSE, _sized((4, 4), (1, 1, 2, 2), (0, 0))),
        Case("Frames", "a strip, 320x8", Expect.ANSWER, _sized((320, 8), (100, 1, 20, 6), (1, 0))),
    ]


def _unusable() -> list[Case]:
    return [
        _every("None", Expect.REFUSE, lambda f: None),
        _every("empty, 0x0", Expect.REFUSE, lambda f: np.zeros((0, 0, 3), np.uint8)),
        _every("of one axis", Expect.REFUSE, lambda f: f.reshape(-1)),
        _every("a number", Expect.REFUSE, lambda f: 7),
        _every("a file's name", Expect.REFUSE, lambda f: "frame.png"),
        _every("NaN inside", Expect.REFUSE, _with_nan),
        _one("None", Expect.REFUSE, lambda f: None),
        _one("empty, 0x0", Expect.REFUSE, lambda f: np.zeros((0, 0, 3), np.uint8)),
        _one("NaN inside", Expect.REFUSE, _with_nan, _unmoved),
        _one("of half the size", Expect.REFUSE, lambda f: np.ascontiguousarray(f[::2, ::2]), _halved),
        _one("larger by one column", Expect.REFUSE, lambda f: np.pad(f, ((0, 0), (0, 1), (0, 0))), _unmoved),
        _one("turned by 90°", Expect.REFUSE, lambda f: np.ascontiguousarray(np.rot90(f)), _turned),
        _one("grey among coloured ones", Expect.FOLLOW, lambda f: cv2.cvtColor(f, cv2.COLOR_BGR2GRAY), _unmoved),
        _one("16-bit among 8-bit ones", Expect.FOLLOW, lambda f: f.astype(np.uint16) * 257, _unmoved),
    ]


def _contents() -> list[Case]:
    black = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    return [
        Case("Contents", "the scene goes black for 20 frames", Expect.DOUBT, _then([black] * 20)),
        Case("Contents", "black for 20 frames, then the scene again", Expect.FOLLOW, _back_after([black] * 20)),
        Case("Contents", "the scene goes white for 20 frames", Expect.DOUBT, _then([black + 255] * 20)),
        Case("Contents", "the same frame 20 times", Expect.FOLLOW, _repeated),
        Case("Contents", "four of five frames dropped", Expect.FOLLOW, _dropped),
        Case("Contents", "started on black", Expect.ANSWER, _started_on([black] * 6)),
        Case(
            "Contents", "started on grey, then texture", Expect.ANSWER, _started_on([black + 90] * 3, scene_after=True)
        ),
        Case("Contents", "a pattern that repeats itself everywhere", Expect.ANSWER, _tiled),
        Case("Contents", "the object fills the frame and moves", Expect.ANSWER, _filling),
        Case("Contents", "noise, new in every frame", Expect.ANSWER, _noise),
    ]


def _with_nan(frame: Image) -> Any:
    values = frame.astype(np.float32)
    values[5, 5] = np.nan
    return values


def _as_pil(mode: str) -> Callable[[Player], Seen]:
    def play(player: Player) -> Seen:
        from PIL import Image as pil

        return with_frames(lambda f: pil.fromarray(f[:, :, ::-1].copy()).convert(mode))(player)

    return play


def _as_tensor(gradients: bool = False, first: bool = False, kind: str = "") -> Callable[[Player], Seen]:
    def play(player: Player) -> Seen:
        import torch

        def convert(frame: Image) -> Any:
            tensor = torch.from_numpy(frame.copy())
            if kind or gradients:
                tensor = (tensor.float() / 255).to(getattr(torch, kind or "float32"))
            return (tensor.permute(2, 0, 1) if first else tensor).requires_grad_(gradients)

        return with_frames(convert)(player)

    return play


def _memory_mapped(player: Player) -> Seen:
    scene = moving_scene()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frames.npy"
        np.save(path, np.stack(scene.frames))
        mapped = np.load(path, mmap_mode="r")
        seen = follow(player, scene, PLAIN, list(mapped))
        del mapped
        return seen


def _one_buffer(player: Player) -> Seen:
    scene, buffer = moving_scene(), np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    buffer[:] = scene.frames[0]
    player.init(buffer, PLAIN)
    for frame in scene.frames[1:]:
        buffer[:] = frame
        answer = player.update(buffer)
    return scene.seen(answer, -1)


def _blackened(player: Player) -> Seen:
    scene = moving_scene()
    copies = [frame.copy() for frame in scene.frames]
    player.init(copies[0], PLAIN)
    for before, frame in pairwise(copies):
        before[:] = 0
        answer = player.update(frame)
    return scene.seen(answer, -1)


def _sized(size_wh: tuple[int, int], box: tuple[int, int, int, int], step: tuple[int, int]) -> Callable[[Player], Seen]:
    def play(player: Player) -> Seen:
        return follow(player, moving_scene.__wrapped__(size_wh, box, step, count=2), box)

    return play


def _then(frames: list[Image]) -> Callable[[Player], Seen]:
    def play(player: Player) -> Seen:
        scene = moving_scene()
        follow(player, scene, PLAIN)
        return Seen([player.update(frame) for frame in frames][-1], None)

    return play


def _back_after(frames: list[Image]) -> Callable[[Player], Seen]:
    def play(player: Player) -> Seen:
        _then(frames)(player)
        scene = moving_scene()
        return scene.seen([player.update(scene.frames[-1]) for _ in range(5)][-1], -1)

    return play


def _repeated(player: Player) -> Seen:
    scene = moving_scene()
    player.init(scene.frames[0], PLAIN)
    return scene.seen([player.update(scene.frames[0]) for _ in range(20)][-1], 0)


def _dropped(player: Player) -> Seen:
    scene = moving_scene(count=21)
    player.init(scene.frames[0], PLAIN)
    return scene.seen([player.update(frame) for frame in scene.frames[5::5]][-1], 20)


def _started_on(frames: list[Image], scene_after: bool = False) -> Callable[[Player], Seen]:
    def play(player: Player) -> Seen:
        shown = [*frames, *(moving_scene().frames if scene_after else [])]
        player.init(shown[0], PLAIN)
        return Seen([player.update(frame) for frame in shown[1:]][-1], None)

    return play


def _tiled(player: Player) -> Seen:
    frame = np.tile(texture(3, 20, 20), (HEIGHT // 20, WIDTH // 20, 1))
    player.init(frame, PLAIN)
    return Seen([player.update(frame) for _ in range(5)][-1], None)


def _filling(player: Player) -> Seen:
    large = texture(4, WIDTH + 20, HEIGHT + 20)
    player.init(large[:HEIGHT, :WIDTH], (0, 0, WIDTH, HEIGHT))
    shown = [large[index : index + HEIGHT, index : index + WIDTH] for index in range(1, 6)]
    return Seen([player.update(np.ascontiguousarray(frame)) for frame in shown][-1], None)


def _noise(player: Player) -> Seen:
    rng = np.random.default_rng(0)
    frames = [rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8) for _ in range(10)]
    player.init(frames[0], PLAIN)
    return Seen([player.update(frame) for frame in frames[1:]][-1], None)
