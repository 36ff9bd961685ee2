"""Pictures and boxes as people give them: converted where there is one meaning, else refused in one line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from synthetic import random_texture
from tracking_parts.errors import InvalidBoxError, InvalidFrameError, TrackingPartsError
from tracking_parts.frames import as_bgr, as_box
from tracking_parts.geometry import Box

BGR = random_texture(np.random.default_rng(0), 40, 30)
FRAME = np.zeros((60, 80, 3), np.uint8)


def test_bgr_is_taken_as_it_is() -> None:
    assert np.array_equal(as_bgr(BGR), BGR)


def test_grey_is_repeated() -> None:
    grey = BGR[:, :, 0]
    for picture in (grey, grey[:, :, None]):
        converted = as_bgr(picture)
        assert converted.shape == (30, 40, 3)
        assert all(np.array_equal(converted[:, :, channel], grey) for channel in range(3))


def test_alpha_is_dropped() -> None:
    alpha = np.full((30, 40, 1), 9, np.uint8)
    assert np.array_equal(as_bgr(np.concatenate([BGR, alpha], axis=2)), BGR)


def test_sixteen_bits_keep_their_upper_byte() -> None:
    wide = BGR.astype(np.uint16) * 256 + 77
    assert np.array_equal(as_bgr(wide), BGR)
    assert np.array_equal(as_bgr(wide[:, :, 1])[:, :, 2], BGR[:, :, 1])


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_floats_in_either_range(kind: type[np.floating]) -> None:
    assert np.abs(as_bgr(BGR.astype(kind)).astype(int) - BGR).max() == 0
    assert np.abs(as_bgr((BGR / 255).astype(kind)).astype(int) - BGR).max() <= (1 if kind is np.float16 else 0)


def test_floats_out_of_range_are_clipped() -> None:
    picture = np.full((30, 40), 300.0)
    picture[0] = -5
    converted = as_bgr(picture)
    assert converted[0].max() == 0
    assert converted[1:].min() == 255


def test_booleans_are_black_and_white() -> None:
    mask = np.zeros((10, 10), bool)
    mask[3] = True
    assert as_bgr(mask)[3].min() == 255
    assert as_bgr(mask)[4].max() == 0


def test_nested_lists_and_views_work() -> None:
    assert np.array_equal(as_bgr((BGR / 255.0).tolist()), BGR)
    flipped = BGR[::-1, ::2]
    converted = as_bgr(flipped)
    assert np.array_equal(converted, flipped)
    assert converted.flags.c_contiguous


@pytest.mark.parametrize(
    "picture",
    [
        None,
        np.zeros((0, 0, 3), np.uint8),
        np.zeros((3, 200, 3), np.uint8),
        np.zeros((20, 20, 2), np.uint8),
        np.zeros((20, 20, 5), np.uint8),
        np.zeros(400, np.uint8),
        np.zeros((1, 20, 20, 3), np.uint8),
        np.zeros((20, 20), np.int64),
        np.zeros((20, 20), np.complex64),
        np.full((20, 20), math.nan),
        np.full((20, 20), math.inf),
        np.full((20, 20), "x"),
        "frame.png",
        7,
        [[1, 2], [3]],
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'shape', '')}-{getattr(value, 'dtype', '')}",
)
def test_what_is_no_picture_is_refused(picture: Any) -> None:
    with pytest.raises(InvalidFrameError) as caught:
        as_bgr(picture)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "picture",
    [BGR, BGR[:, :, 0], np.dstack([BGR, BGR[:, :, :1]]), BGR.astype(np.uint16) * 256, BGR / 255.0, BGR[:, :, 0] > 99],
)
def test_inputs_are_never_changed(picture: NDArray[Any]) -> None:
    before = picture.copy()
    as_bgr(picture)
    assert np.array_equal(picture, before)


@pytest.mark.parametrize(
    "box",
    [
        Box(10, 20, 30, 40),
        (10, 20, 30, 40),
        [10.0, 20.0, 30.0, 40.0],
        np.array([10, 20, 30, 40]),
        np.array([[10, 20, 30, 40]], np.float32),
        ("10", "20", "30", "40"),
    ],
)
def test_boxes_in_any_usual_form(box: Any) -> None:
    assert as_box(box, FRAME).xywh == (10, 20, 30, 40)


@pytest.mark.parametrize("box", [(-5, -5, 30, 30), (60, 40, 30, 30), (-10, -10, 100, 80), (0, 0, 80, 60), (3, 3, 1, 1)])
def test_boxes_may_reach_over_the_border(box: tuple[float, ...]) -> None:
    assert as_box(box, FRAME).xywh == box


@pytest.mark.parametrize(
    ("box", "says"),
    [
        ((10, 10, 0, 5), "empty"),
        ((10, 10, 5, 0), "empty"),
        ((10, 10, -5, 5), "empty"),
        ((10, 10, 0.2, 5), "empty"),
        ((10, 10, math.nan, 5), "finite"),
        ((math.inf, 10, 5, 5), "finite"),
        (Box(10, 10, math.inf, 5), "finite"),
        ((200, 10, 20, 20), "outside"),
        ((10, -50, 20, 20), "outside"),
        ((80, 60, 10, 10), "outside"),
        ((75, 30, 30, 10), "outside"),  # it touches the frame, but its centre does not lie in it
        ((10, 10, 20), "four numbers"),
        ((10, 10, 20, 20, 20), "four numbers"),
        ((), "four numbers"),
        ("1,2,3,4", "four numbers"),
        (None, "four numbers"),
        ((1, 2, "wide", 4), "four numbers"),
        ([[1, 2], [3]], "four numbers"),
    ],
)
def test_bad_boxes_are_named(box: Any, says: str) -> None:
    with pytest.raises(InvalidBoxError, match=says) as caught:
        as_box(box, FRAME)
    assert isinstance(caught.value, TrackingPartsError)
    assert "\n" not in str(caught.value)
