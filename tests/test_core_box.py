"""The box from the parts that agreed: recovered maps, outliers, degenerate layouts and bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from core_helpers import small_config
from tracking_parts.box_estimation import Shape, fit_linear
from tracking_parts.geometry import Box

Matrix = NDArray[np.float64]
MODELS = ("affine", "similarity", "scale")


def rotation(degrees: float, scale: float = 1.0) -> Matrix:
    angle = math.radians(degrees)
    return scale * np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


KNOWN = {
    "affine": np.array([[1.1, 0.08], [-0.05, 0.95]]),
    "similarity": rotation(6, 1.07),
    "scale": 1.08 * np.eye(2),
}


def layout(count: int, seed: int = 0) -> Matrix:
    return np.random.default_rng(seed).uniform(-5, 5, size=(count, 2))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_recovers_a_known_map_among_noise_and_outliers(model: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    expected = layout(80, seed)
    actual = expected @ KNOWN[model].T + (0.7, -0.4) + rng.normal(scale=0.05, size=expected.shape)
    outliers = rng.choice(80, size=16, replace=False)
    actual[outliers] += rng.uniform(-4, 4, size=(16, 2))
    found = fit_linear(expected, actual, model)
    assert np.allclose(found, KNOWN[model], atol=0.04)


@pytest.mark.parametrize("model", MODELS)
def test_outliers_weigh_less_than_in_plain_least_squares(model: str) -> None:
    expected = layout(40)
    actual = expected @ KNOWN[model].T
    actual[:8] += (6, 6) * np.sign(expected[:8])
    centred, moved = expected - expected.mean(axis=0), actual - actual.mean(axis=0)
    plain = np.linalg.lstsq(centred, moved, rcond=None)[0].T
    found = fit_linear(expected, actual, model)
    assert np.abs(found - KNOWN[model]).max() < 0.5 * np.abs(plain - KNOWN[model]).max()


@settings(max_examples=40)
@given(st.integers(0, 1000), st.floats(-20, 20), st.floats(-20, 20), st.sampled_from(MODELS))
def test_a_common_move_is_no_change_of_shape(seed: int, dx: float, dy: float, model: str) -> None:
    expected = layout(30, seed)
    assert np.allclose(fit_linear(expected, expected + np.array([dx, dy]), model), np.eye(2), atol=1e-6)


@pytest.mark.parametrize("model", [*MODELS, "fixed"])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_parts_say_nothing(model: str, count: int) -> None:
    expected = layout(count).reshape(count, 2)
    assert np.array_equal(fit_linear(expected, expected * 3, model), np.eye(2))


def test_fixed_box_never_changes_shape() -> None:
    assert np.array_equal(fit_linear(layout(50), layout(50) * 2, "fixed"), np.eye(2))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("direction", [(1, 0), (0, 1), (1, 1), (1, -0.3)])
def test_collinear_parts_stay_near_the_identity(model: str, direction: tuple[float, float]) -> None:
    along = np.linspace(-4, 4, 20)[:, None] * np.array(direction)
    rng = np.random.default_rng(0)
    found = fit_linear(along, along + rng.normal(scale=0.1, size=along.shape), model)
    assert np.isfinite(found).all()
    assert np.abs(found - np.eye(2)).max() < 0.1


@pytest.mark.parametrize("model", MODELS)
def test_coincident_parts_stay_near_the_identity(model: str) -> None:
    same = np.full((20, 2), 1.5)
    noise = np.random.default_rng(0).normal(scale=0.3, size=same.shape)
    for actual in (same, same + 3.0, same + noise):
        found = fit_linear(same, actual, model)
        assert np.isfinite(found).all()
        assert np.abs(found - np.eye(2)).max() < 0.1


def test_inputs_are_not_changed() -> None:
    expected, actual = layout(20).astype(np.float32), layout(20, 1).astype(np.float32)
    before = expected.copy(), actual.copy()
    fit_linear(expected, actual, "affine")
    assert np.array_equal(expected, before[0])
    assert np.array_equal(actual, before[1])


# ---------------------------------------------------------------------- the shape over time
def test_first_shape_is_the_first_box() -> None:
    box = Box(10, 20, 30, 12)
    shape = Shape(box.w, box.h)
    assert shape.box(box.centre).xywh == pytest.approx(box.xywh)
    assert np.allclose(shape.polygon(box.centre), box.polygon)
    assert shape.size == (30, 12)


@settings(max_examples=60)
@given(st.lists(st.floats(-3, 3), min_size=4, max_size=4), st.floats(0.3, 3))
def test_one_frame_changes_the_size_within_bounds(values: list[float], scale: float) -> None:
    config = small_config(box_damping=1.0)
    shape = Shape(30, 12, scale)
    after = shape.moved_by(np.array(values).reshape(2, 2), config)
    ratio = after.scale / shape.scale
    assert 1 - config.max_box_step - 1e-9 <= ratio <= 1 + config.max_box_step + 1e-9
    corners = np.array(after.polygon((0.0, 0.0)))
    assert np.isfinite(corners).all()
    box = after.box((0.0, 0.0))
    assert 0 < box.w < 30 * 3 * scale
    assert 0 < box.h < 30 * 3 * scale


@pytest.mark.parametrize(("factor", "bound"), [(1.5, 4.0), (0.5, 0.25)])
def test_all_frames_together_change_the_size_within_bounds(factor: float, bound: float) -> None:
    config = small_config(box_damping=1.0, max_box_change=4.0)
    shape = Shape(20, 20)
    for _ in range(200):
        shape = shape.moved_by(factor * np.eye(2), config)
    assert shape.scale == pytest.approx(bound)


def test_change_of_scale_is_damped_and_adds_up() -> None:
    config = small_config(box_damping=0.5, max_box_step=0.2)
    shape = Shape(20, 20).moved_by(1.1 * np.eye(2), config)
    assert shape.scale == pytest.approx(1.05)
    assert shape.moved_by(1.1 * np.eye(2), config).scale == pytest.approx(1.05**2)
    assert Shape(20, 20).moved_by(np.eye(2), config).scale == 1.0


def test_rotation_turns_the_polygon_but_not_the_crop() -> None:
    config = small_config(box_damping=1.0)
    shape = Shape(40, 10)
    for _ in range(20):  # a few degrees a frame
        shape = shape.moved_by(rotation(20), config)
    assert shape.scale == pytest.approx(1.0)
    first, second, *_ = shape.polygon((0.0, 0.0))
    assert math.degrees(math.atan2(second[1] - first[1], second[0] - first[0])) == pytest.approx(20)
    assert Box.around(shape.polygon((5.0, 5.0))) == shape.box((5.0, 5.0))


@pytest.mark.parametrize(
    "fit", [np.diag([-1.0, 1.0]), np.zeros((2, 2)), np.array([[1.0, 9.0], [0.0, 1.0]]), np.diag([20.0, 0.05])]
)
def test_flips_collapses_and_wild_shears_are_not_believed(fit: Matrix) -> None:
    config = small_config(box_damping=1.0)
    shape = Shape(40, 10, 1.0, ((1.0, 0.1), (0.0, 1.0)))
    assert shape.moved_by(fit, config).linear == shape.linear
