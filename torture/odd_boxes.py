"""Odd boxes given to ``init``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from torture.odd_case import Case, Expect, follow, with_box
from torture.odd_scene import HEIGHT, WIDTH, Player, Seen, moving_scene

PLAIN = (120, 90, 48, 40)


def box_cases() -> list[Case]:
    """Every odd box, in the order of the table."""
    return [*_places(), *_numbers(), *_forms()]


def _case(name: str, expect: Expect, box: Any) -> Case:
    return Case("Boxes", name, expect, with_box(box))


def _places() -> list[Case]:
    return [
        Case("Ordinary", "a box and frames as they should be", Expect.FOLLOW, with_box(PLAIN)),
        _case("outside the frame", Expect.REFUSE, (400, 300, 40, 40)),
        _case("outside, at negative coordinates", Expect.REFUSE, (-100, -100, 40, 40)),
        _case("partly outside, its centre inside", Expect.ANSWER, (-15, -10, 48, 40)),
        _case("partly outside, its centre outside", Expect.EITHER, (310, 230, 40, 40)),
        _case("of no width", Expect.REFUSE, (120, 90, 0, 40)),
        _case("of no width and no height", Expect.REFUSE, (120, 90, 0, 0)),
        _case("of negative size", Expect.REFUSE, (168, 130, -48, -40)),
        _case("one pixel", Expect.ANSWER, (140, 100, 1, 1)),
        _case("half a pixel", Expect.EITHER, (140, 100, 0.5, 0.5)),
        Case("Boxes", "thin, 200x3", Expect.ANSWER, _thin((200, 3))),
        Case("Boxes", "thin, 3x200", Expect.ANSWER, _thin((3, 200))),
        _case("the whole frame", Expect.ANSWER, (0, 0, WIDTH, HEIGHT)),
        _case("larger than the frame", Expect.ANSWER, (-80, -60, WIDTH + 160, HEIGHT + 120)),
        _case("three times the frame", Expect.EITHER, (-WIDTH, -HEIGHT, 3 * WIDTH, 3 * HEIGHT)),
    ]


def _numbers() -> list[Case]:
    return [
        _case("of fractions of pixels", Expect.FOLLOW, (120.4, 89.7, 47.9, 40.2)),
        _case("with NaN", Expect.REFUSE, (120, math.nan, 48, 40)),
        _case("infinitely wide", Expect.REFUSE, (120, 90, math.inf, 40)),
        _case("of 1e30 pixels", Expect.REFUSE, (120, 90, 1e30, 1e30)),
        _case("at 2**31", Expect.REFUSE, (2**31, 90, 48, 40)),
        _case("2**31 − 1 wide", Expect.REFUSE, (120, 90, 2**31 - 1, 40)),
        _case("with an integer of 400 digits", Expect.REFUSE, (120, 90, 10**400, 40)),
        _case("of complex numbers", Expect.REFUSE, np.array([120 + 1j, 90, 48, 40])),
    ]


def _forms() -> list[Case]:
    return [
        _case("as a list", Expect.FOLLOW, list(PLAIN)),
        _case("as a numpy array", Expect.FOLLOW, np.array(PLAIN)),
        _case("as an array of shape 1x4", Expect.FOLLOW, np.array([PLAIN], np.float32)),
        _case("of numpy scalars", Expect.FOLLOW, tuple(np.int16(value) for value in PLAIN)),
        Case("Boxes", "as a torch tensor", Expect.FOLLOW, _tensor_box(False)),
        Case("Boxes", "as a torch tensor that wants gradients", Expect.FOLLOW, _tensor_box(True)),
        _case('as text: "120,90,48,40"', Expect.REFUSE, "120,90,48,40"),
        _case("of words", Expect.REFUSE, ("left", "top", "wide", "high")),
        _case("of booleans", Expect.REFUSE, (True, True, True, True)),
        _case("of three numbers", Expect.REFUSE, (120, 90, 48)),
        _case("of five numbers", Expect.REFUSE, (120, 90, 48, 40, 0.9)),
        _case("as a polygon of four corners", Expect.REFUSE, [[120, 90], [168, 90], [168, 130], [120, 130]]),
        _case("as two corners, 2x2", Expect.REFUSE, [[120, 90], [168, 130]]),
        _case("None", Expect.REFUSE, None),
        _case("empty", Expect.REFUSE, ()),
        _case("a dictionary", Expect.REFUSE, {"x": 120, "y": 90, "w": 48, "h": 40}),
        _case("an array of a thousand numbers", Expect.REFUSE, np.zeros((20, 50))),
        Case("Boxes", "`Box` with a word in it", Expect.REFUSE, _broken_box, ours_only=True),
    ]


def _thin(size: tuple[int, int]) -> Callable[[Player], Seen]:
    def play(player: Player) -> Seen:
        first = (160 - size[0] // 2, 115 - size[1] // 2, *size)
        scene = moving_scene(first_xywh=first, step=(1, 1))
        return follow(player, scene, first)

    return play


def _tensor_box(gradients: bool) -> Callable[[Player], Seen]:
    def play(player: Player) -> Seen:
        import torch

        return with_box(torch.tensor(PLAIN, dtype=torch.float32, requires_grad=gradients))(player)

    return play


def _broken_box(player: Player) -> Seen:
    from tracking_parts import Box

    return with_box(Box(120, 90, "wide", 40))(player)  # type: ignore[arg-type]
