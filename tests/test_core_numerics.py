"""Every solve stays finite on what has no good solution: constant pictures, patches twice, matrices near singular."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from core_helpers import follow, random_weights, small_config, small_tracker, smooth_features
from synthetic import Image, SyntheticSequence, moving_boxes, render_sequence
from tracking_parts import Box, Tracker, TrackerConfig
from tracking_parts.box_estimation import fit_linear
from tracking_parts.confident_frames import TrainingFrame
from tracking_parts.convnet_part.linear import LinearPathway
from tracking_parts.features import Projection
from tracking_parts.filter_parts.closed_form import dual_coefficients, rescale_to_own_patch
from tracking_parts.filter_parts.learning import learn_parts
from tracking_parts.voting import Loudness, combine, peak

CPU = torch.device("cpu")


def gram_of(descriptors: Tensor) -> Tensor:
    return descriptors @ descriptors.T


def degenerate_grams() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(40, 30, generator=generator)
    return {
        "zero": torch.zeros(20, 20),
        "one patch 40 times": gram_of(rows[:1].expand(40, 30)),
        "every patch twice": gram_of(torch.cat([rows, rows])),
        "more patches than channels": gram_of(torch.randn(200, 5, generator=generator)),
        "one patch a million times louder": gram_of(torch.cat([1e6 * rows[:1], rows[1:]])),
        "all patches tiny": gram_of(1e-18 * rows),
        "all patches huge": gram_of(1e15 * rows),
        "rounded to something indefinite": gram_of(torch.cat([rows, rows])) - 1e-3 * torch.eye(80),
    }


@pytest.mark.parametrize("ridge", [1e-8, 1.0, 1e4])
@pytest.mark.parametrize("name", degenerate_grams())
def test_the_closed_form_stays_finite(name: str, ridge: float) -> None:
    gram = degenerate_grams()[name]
    coefficients, responses = rescale_to_own_patch(gram, dual_coefficients(gram, ridge))
    assert coefficients.isfinite().all() and responses.isfinite().all()


def test_a_ridge_that_suffices_is_not_enlarged() -> None:
    gram = gram_of(torch.randn(30, 60, generator=torch.Generator().manual_seed(1)))
    energy = gram.double().diagonal().mean()
    expected = torch.linalg.inv(gram.double() + 1e-3 * energy * torch.eye(30))
    assert torch.allclose(dual_coefficients(gram, 1e-3), expected, rtol=1e-6)


def degenerate_maps() -> dict[str, Tensor]:
    return {
        "zero": torch.zeros(12, 20, 20),
        "constant": torch.full((12, 20, 20), 3.0),
        "tiled": smooth_features(0, 12, 4, 4).repeat(1, 5, 5),
        "one cell alone": torch.zeros(12, 20, 20).index_put_(
            (torch.tensor(0), torch.tensor(9), torch.tensor(9)), torch.tensor(1e6)
        ),
        "tiny": 1e-20 * smooth_features(1),
        "loud": 1e6 * smooth_features(1),
        "all channels alike": smooth_features(2)[:1].expand(12, 20, 20).contiguous(),
    }


@pytest.mark.parametrize("ridge", [1e-8, 1.0])
@pytest.mark.parametrize("name", degenerate_maps())
def test_parts_of_degenerate_maps_are_finite(name: str, ridge: float) -> None:
    maps = degenerate_maps()[name]
    parts = learn_parts(maps, np.zeros((20, 20), np.float32), Box(6, 6, 7, 7), TrackerConfig().override(ridge=ridge))
    assert parts
    for learned in parts:
        assert learned.filters.isfinite().all() and np.isfinite(learned.ratio).all()


@pytest.mark.parametrize("name", degenerate_maps())
def test_the_projection_of_degenerate_maps_is_finite(name: str) -> None:
    maps = degenerate_maps()[name][None]
    for channels in (0, 1, 5, 12, 64):
        for damping in (0.0, 0.3):
            projection = Projection.fit(maps, channels, damping)
            assert projection(maps).isfinite().all()
            assert projection(torch.zeros_like(maps)).isfinite().all()


@pytest.mark.parametrize("head_ridge", [0.0, 0.05])
@pytest.mark.parametrize("name", degenerate_maps())
def test_conjugate_gradient_on_degenerate_maps_is_finite(name: str, head_ridge: float) -> None:
    maps = degenerate_maps()[name]
    pathway = LinearPathway(TrackerConfig().override(head_ridge=head_ridge), maps.shape[0], CPU)
    frame = TrainingFrame(0, (9.0, 9.0), (6.0, 6.0), None, maps)
    pathway.train([frame], [], is_first=True)
    for _ in range(5):
        pathway.train([frame], [frame, frame], is_first=False)
    assert all(values.isfinite().all() for values in pathway.tensors().values())


@pytest.mark.parametrize("model", ["affine", "similarity", "scale"])
@pytest.mark.parametrize(
    "points",
    [np.zeros((8, 2)), np.ones((8, 2)), np.outer(np.arange(8), [1, 0]), np.outer(np.arange(8), [1e9, 1e9])],
    ids=["at the centre", "at one place", "in a row", "far away in a row"],
)
def test_the_box_of_degenerate_parts_is_finite(points: np.ndarray[Any, Any], model: str) -> None:
    for actual in (points, np.zeros_like(points), points + 5, -points):
        assert np.isfinite(fit_linear(points, actual, model)).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_no_vote(value: float) -> None:
    good = torch.zeros(9, 9)
    good[4, 6] = 1.0
    bad = torch.full((9, 9), value)
    mask = np.ones((9, 9), np.float32)
    for maps in ((good, bad), (bad, good)):
        decision = combine(*maps, 0.5, mask, Loudness())
        assert decision.centre == pytest.approx((6, 4), abs=0.5)
        assert np.isfinite(decision.vote_map).all()
    assert np.isfinite(combine(bad, bad, 0.5, mask, Loudness()).centre).all()
    assert np.isfinite(peak(bad)).all()


@pytest.mark.parametrize("convnet", ["end_to_end", "frozen_trunk"])
@pytest.mark.filterwarnings("ignore::tracking_parts.LearningWarning")
def test_a_net_that_diverges_leaves_the_box_finite(convnet: str) -> None:
    config = small_config(convnet=convnet, learning_rate=1.0, u=1, update="full", update_frames=0, alpha=0.3, epochs=2)
    tracker = Tracker(config, weights=random_weights(), engine="torch")
    for result in follow(tracker, render_sequence(moving_boxes(3))):
        assert result.box.is_finite and 0 <= result.confidence <= 1
    trace = tracker.trace
    assert np.isfinite(trace.centre).all() and np.isfinite(trace.convnet_centre).all()


def pictures() -> dict[str, Image]:
    tile = render_sequence(moving_boxes(1)).frames[0][:8, :8]
    line = np.zeros((96, 128, 3), np.uint8)
    line[48] = 255
    return {
        "black": np.zeros((96, 128, 3), np.uint8),
        "white": np.full((96, 128, 3), 255, np.uint8),
        "tiled": np.tile(tile, (12, 16, 1)),
        "one line": line,
        "a step": np.repeat(np.repeat([[0, 255]], 64, axis=1), 96, axis=0)[:, :, None]
        .repeat(3, axis=2)
        .astype(np.uint8),
    }


@pytest.mark.parametrize(
    "settings",
    [{}, {"ridge": 1e-8, "head_ridge": 0.0}, {"channels": 0, "convnet_channels": 0, "cell_damping": 0.0}],
    ids=["default", "hardly any ridge", "channels as they are"],
)
@pytest.mark.parametrize("name", pictures())
def test_all_that_is_learned_of_degenerate_pictures_is_finite(name: str, settings: dict[str, Any]) -> None:
    picture = pictures()[name]
    tracker = small_tracker(u=2, freeze_when_unsure=False, **settings)
    results = follow(tracker, SyntheticSequence([picture] * 7, [Box(40, 30, 30, 30)] * 7))
    assert all(result.box.is_finite and 0 <= result.confidence <= 1 for result in results)
    state = tracker.state()
    assert all(values.isfinite().all() for values in state.tensors.values() if values.is_floating_point())
