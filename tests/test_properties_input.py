"""Any box and any frame are tracked or refused, in words of our own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core_helpers import small_tracker
from synthetic import moving_boxes, render_sequence
from tracking_parts import InvalidBoxError, InvalidFrameError, Tracker
from tracking_parts.frames import as_bgr, as_box

SEQUENCE = render_sequence(moving_boxes(3))
WIDTH, HEIGHT = SEQUENCE.size_wh
NUMBERS = st.one_of(st.integers(-300, 300), st.floats(), st.integers(), st.sampled_from([10**400, np.float32(7)]))
BOXES = st.one_of(
    st.tuples(st.floats(-60, 160), st.floats(-60, 130), st.floats(0, 300), st.floats(0, 250)),
    st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    st.lists(st.one_of(NUMBERS, st.none(), st.booleans(), st.text(max_size=3), st.complex_numbers()), max_size=6),
    st.lists(st.lists(NUMBERS, max_size=4), max_size=4),
    st.one_of(st.none(), st.text(max_size=10), st.binary(max_size=4), st.dictionaries(st.text(max_size=2), NUMBERS)),
)
DTYPES = st.one_of(
    hnp.unsigned_integer_dtypes(), hnp.integer_dtypes(), hnp.floating_dtypes(), hnp.complex_number_dtypes(),
    hnp.boolean_dtypes(), hnp.datetime64_dtypes(), hnp.unicode_string_dtypes(max_len=2),
)  # fmt: skip
SHAPES = st.one_of(
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=10),
    st.tuples(st.integers(8, 20), st.integers(8, 20)),
    st.tuples(st.integers(8, 20), st.integers(8, 20), st.integers(1, 5)),
)
FRAMES = hnp.arrays(DTYPES, SHAPES)


@pytest.fixture(scope="module")
def tracker() -> Tracker:
    return small_tracker(u=2)


def one_line(error: Exception) -> bool:
    return "\n" not in str(error) and len(str(error)) < 400


@settings(max_examples=200, deadline=None)
@given(BOXES)
@example([[1, 2], [3, 4]])
@example((True, True, True, True))
@example(np.zeros((50, 50)))
def test_any_box_is_checked_or_refused(box: Any) -> None:
    try:
        checked = as_box(box, SEQUENCE.frames[0])
    except InvalidBoxError as error:
        assert one_line(error)
        return
    centre_x, centre_y = checked.centre
    assert checked.is_finite and checked.w >= 1 and checked.h >= 1
    assert 0 <= centre_x <= WIDTH and 0 <= centre_y <= HEIGHT


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.tuples(st.floats(-20, 127), st.floats(-20, 95), st.floats(0.5, 256), st.floats(0.5, 192)))
@example((0.0, 0.0, 1.0, 192.0))
@example((-64.0, 47.0, 256.0, 1.0))
@example((127.5, 95.5, 1.0, 1.0))
def test_any_box_that_is_taken_can_be_tracked(tracker: Tracker, box: tuple[float, ...]) -> None:
    try:
        tracker.init(SEQUENCE.frames[0], box)
    except InvalidBoxError as error:
        assert one_line(error)
        return
    for frame in SEQUENCE.frames[1:]:
        result = tracker.update(frame)
        centre_x, centre_y = result.box.centre
        bound = 2 * tracker.config.max_box_change
        assert result.box.is_finite and np.isfinite(result.polygon).all()
        assert -1e-3 <= centre_x <= WIDTH + 1e-3 and -1e-3 <= centre_y <= HEIGHT + 1e-3
        assert box[2] / bound <= result.box.w <= box[2] * bound
        assert 0 <= result.confidence <= 1


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.one_of(FRAMES, BOXES))
def test_any_array_is_a_picture_or_refused(frame: Any) -> None:
    before = frame.copy() if isinstance(frame, np.ndarray) else None
    try:
        picture = as_bgr(frame)
    except InvalidFrameError as error:
        assert one_line(error)
    else:
        assert picture.dtype == np.uint8 and picture.ndim == 3 and picture.shape[2] == 3
        assert min(picture.shape[:2]) >= 8
    if before is not None:
        assert np.array_equal(before, frame, equal_nan=before.dtype.kind in "fc") or before.dtype.kind == "M"


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hnp.arrays(np.uint8, (HEIGHT, WIDTH), elements=st.integers(0, 255), fill=st.integers(0, 255)))
def test_any_picture_can_be_tracked_in(tracker: Tracker, picture: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
    """Mostly one colour with a few odd pixels: hardly anything to tell apart."""
    tracker.init(picture, (20, 25, 32, 28))
    for frame in (picture, SEQUENCE.frames[0], picture):
        result = tracker.update(frame)
        assert result.box.is_finite and 0 <= result.confidence <= 1
