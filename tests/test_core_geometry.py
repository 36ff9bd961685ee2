"""Boxes, the maps image ↔ crop ↔ feature map, and the crops themselves."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_helpers import centroid, dotted_picture, square_window
from synthetic import random_texture
from tracking_parts.frames import cut_crop
from tracking_parts.geometry import Box, CropWindow

COORDINATES = st.floats(-2000, 2000)
POINTS = st.tuples(COORDINATES, COORDINATES)
SIDES = st.floats(2, 1500)
STRIDES = st.sampled_from([1, 2, 4, 8])
SIZES = st.sampled_from([64, 128, 192])
EXTENTS = st.tuples(SIDES, SIDES)
CROPS = st.tuples(SIZES, SIZES)
WINDOWS = st.builds(CropWindow.around, POINTS, EXTENTS, CROPS, STRIDES)


@given(WINDOWS, POINTS)
def test_round_trips(window: CropWindow, point: tuple[float, float]) -> None:
    assert window.image_from_crop(window.crop_from_image(point)) == pytest.approx(point, abs=1e-6)
    assert window.crop_from_image(window.image_from_crop(point)) == pytest.approx(point, abs=1e-6)
    assert window.map_from_crop(window.crop_from_map(point)) == pytest.approx(point, abs=1e-6)
    assert window.image_from_map(window.map_from_image(point)) == pytest.approx(point, abs=1e-6)
    via_crop = window.map_from_crop(window.crop_from_image(point))
    assert window.map_from_image(point) == pytest.approx(via_crop, abs=1e-9)


@given(POINTS, EXTENTS, CROPS, STRIDES)
def test_window_puts_the_point_on_the_middle_cell(
    point: tuple[float, float], extent: tuple[float, float], crop: tuple[int, int], stride: int
) -> None:
    window = CropWindow.around(point, extent, crop, stride)
    rows, columns = window.shape
    assert (columns, rows) == (crop[0] // stride, crop[1] // stride)
    assert max(abs(window.width - extent[0]), abs(window.height - extent[1])) <= 0.5
    middle = window.image_from_map((columns // 2, rows // 2))
    # The window is snapped to whole pixels, so the point misses the middle of that cell by half a pixel at most.
    assert max(abs(middle[0] - point[0]), abs(middle[1] - point[1])) <= 0.5 + 1e-6


@given(WINDOWS)
def test_cell_centres_tile_the_crop(window: CropWindow) -> None:
    half = window.stride / 2
    assert window.crop_from_map((0, 0)) == (half, half)
    rows, columns = window.shape
    last = window.crop_from_map((columns - 1, rows - 1))
    assert last == (window.crop_width - half, window.crop_height - half)


@given(WINDOWS, POINTS, st.floats(0.5, 300), st.floats(0.5, 300))
def test_boxes_move_with_their_corners(
    window: CropWindow, corner: tuple[float, float], width: float, height: float
) -> None:
    box = Box(*corner, width, height)
    opposite = (box.x + box.w, box.y + box.h)
    assert window.box_in_crop(box).xyxy[2:] == pytest.approx(window.crop_from_image(opposite), abs=1e-6)
    assert window.box_in_map(box).xyxy[2:] == pytest.approx(window.map_from_image(opposite), abs=1e-6)
    assert window.box_in_map(box).centre == pytest.approx(window.map_from_image(box.centre), abs=1e-6)


@given(WINDOWS, POINTS, STRIDES)
def test_strides_see_one_crop(window: CropWindow, point: tuple[float, float], stride: int) -> None:
    coarse = window.with_stride(stride)
    assert coarse.crop_from_image(point) == window.crop_from_image(point)
    assert coarse.image_from_map(coarse.map_from_image(point)) == pytest.approx(point, abs=1e-6)


@given(st.builds(Box, COORDINATES, COORDINATES, SIDES, SIDES), st.builds(Box, COORDINATES, COORDINATES, SIDES, SIDES))
def test_overlap_is_symmetric_and_bounded(first: Box, second: Box) -> None:
    assert first.overlap(second) == pytest.approx(second.overlap(first))
    assert 0 <= first.overlap(second) <= 1 + 1e-9
    assert first.overlap(first) == pytest.approx(1.0, abs=1e-6)


def test_box_and_its_polygon() -> None:
    box = Box(2, 3, 4, 5)
    assert box.polygon == ((2, 3), (6, 3), (6, 8), (2, 8))
    assert Box.around(box.polygon) == box
    assert Box.from_centre(box.centre, box.w, box.h) == box
    assert not Box(0, 0, math.nan, 1).is_finite
    assert Box(0, 0, 0, 0).overlap(Box(0, 0, 0, 0)) == 0


def test_crop_without_resize_is_exact() -> None:
    picture = random_texture(np.random.default_rng(0), 100, 90)
    crop = cut_crop(picture, square_window(20, 10, 64, 64))
    assert np.array_equal(crop, picture[10:74, 20:84])


@pytest.mark.parametrize(("left", "top"), [(-30, -20), (70, 60), (-30, 60), (10, -5)])
def test_border_is_repeated(left: int, top: int) -> None:
    picture = random_texture(np.random.default_rng(1), 100, 90)
    crop = cut_crop(picture, square_window(left, top, 64, 64))
    padded = cv2.copyMakeBorder(picture, 100, 100, 100, 100, cv2.BORDER_REPLICATE)
    assert np.array_equal(crop, padded[top + 100 : top + 164, left + 100 : left + 164])


@pytest.mark.parametrize(
    ("left", "top", "row", "column"), [(500, 500, -1, -1), (-500, -500, 0, 0), (500, -500, 0, -1), (-500, 500, -1, 0)]
)
def test_window_wholly_outside_shows_the_nearest_corner(left: int, top: int, row: int, column: int) -> None:
    picture = random_texture(np.random.default_rng(2), 100, 90)
    crop = cut_crop(picture, square_window(left, top, 32, 64))
    assert crop.shape == (64, 64, 3)
    assert (crop == picture[row, column]).all()


def test_window_beside_the_picture_keeps_the_rows() -> None:
    picture = random_texture(np.random.default_rng(2), 100, 90)
    crop = cut_crop(picture, square_window(400, 10, 64, 64))
    assert np.array_equal(crop, np.repeat(picture[10:74, -1:], 64, axis=1))


@given(st.integers(-90, 120), st.integers(-90, 120), st.integers(1, 60))
def test_border_pixels_are_repeated_outside(left: int, top: int, side: int) -> None:
    """The slow definition: every place outside the picture shows the nearest one inside."""
    picture = random_texture(np.random.default_rng(2), 40, 30)
    rows, columns = (np.clip(np.arange(start, start + side), 0, end) for start, end in ((top, 29), (left, 39)))
    assert np.array_equal(cut_crop(picture, square_window(left, top, side, side)), picture[np.ix_(rows, columns)])


@pytest.mark.parametrize("factor", [2, 3, 4.5])
def test_shrinking_does_not_alias(factor: float) -> None:
    """A checkerboard of single pixels is grey from afar; plain sampling would show stripes."""
    side = round(64 * factor)
    board = np.indices((side, side)).sum(axis=0) % 2 * 255
    picture = np.repeat(board.astype(np.uint8)[:, :, None], 3, axis=2)
    crop = cut_crop(picture, square_window(0, 0, side, 64))
    assert abs(float(crop.mean()) - 127.5) < 2
    assert float(crop.std()) < 30
    sampled = cv2.resize(picture, (64, 64), interpolation=cv2.INTER_NEAREST)
    assert float(sampled.std()) > 100 or factor == 2  # so the bound above says something


def test_frame_is_not_changed_and_not_shared() -> None:
    picture = random_texture(np.random.default_rng(3), 80, 80)
    before = picture.copy()
    for window in (square_window(0, 0, 64, 64), square_window(-9, 3, 40, 64)):
        crop = cut_crop(picture, window)
        crop[:] = 0
    assert np.array_equal(picture, before)


@settings(max_examples=40)
@given(
    st.tuples(st.floats(60, 140), st.floats(60, 140)),
    st.tuples(st.floats(-8, 8), st.floats(-8, 8)),
    st.tuples(st.floats(56, 150), st.floats(56, 150)),
)
def test_a_drawn_point_is_where_the_map_says(
    point: tuple[float, float], aside: tuple[float, float], extent: tuple[float, float]
) -> None:
    picture = dotted_picture(200, point)
    window = CropWindow.around((point[0] + aside[0], point[1] + aside[1]), extent, (64, 80), 4)
    found = centroid(cut_crop(picture, window))
    assert found == pytest.approx(window.crop_from_image(point), abs=0.1)
