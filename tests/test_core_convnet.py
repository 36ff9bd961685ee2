"""The ConvNetPart: stamp, head, its linear form and augmentation."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from core_helpers import (
    centroid,
    dotted_picture,
    marked_features,
    small_config,
    smooth_features,
    square_window,
    training_frame,
)
from synthetic import random_texture
from tracking_parts.convnet_part import View
from tracking_parts.convnet_part.augmentation import augment
from tracking_parts.convnet_part.linear import (
    ConjugateGradient,
    LinearPathway,
    filter_size,
    frame_weights,
    scores_adjoint,
    sliding_scores,
)
from tracking_parts.convnet_part.net import CentreHead, circle_stamp
from tracking_parts.voting import peak

CPU = torch.device("cpu")


def view_of(features: Tensor, convnet_features: Tensor | None = None) -> View:
    """A look at a black picture with the given features, 4 pixels a cell."""
    size = 4 * features.shape[-1]
    picture = np.zeros((size, size, 3), np.uint8)
    window = square_window(0, 0, size, size)
    return View(picture, window, picture, features, features if convnet_features is None else convnet_features)


# ---------------------------------------------------------------------- stamp and head
@given(st.tuples(st.floats(4, 11), st.floats(4, 11)), st.floats(0.6, 4))
def test_stamp_is_a_circle_with_a_soft_edge(centre: tuple[float, float], radius: float) -> None:
    stamp = circle_stamp((16, 16), centre, radius)
    for row, column in np.ndindex(16, 16):
        distance = math.hypot(column - centre[0], row - centre[1])
        if distance <= radius - 0.5 - 1e-4:
            assert float(stamp[row, column]) == 1.0
        elif distance >= radius + 0.5 + 1e-4:
            assert float(stamp[row, column]) == 0.0
        else:
            assert 0 <= float(stamp[row, column]) <= 1
    assert float(stamp.sum()) == pytest.approx(math.pi * radius**2, rel=0.35, abs=0.8)


def test_stamp_is_not_square_blind() -> None:
    stamp = circle_stamp((8, 12), (9.0, 2.0), 1.0)
    assert stamp.shape == (8, 12)
    assert divmod(int(stamp.argmax()), 12) == (2, 9)


@pytest.mark.parametrize("channels", [256, 64, 8])
def test_head_steps_the_channels_down_to_one_map(channels: int) -> None:
    head = CentreHead(channels)
    convolutions = [module for module in head.modules() if isinstance(module, nn.Conv2d)]
    assert len(convolutions) == 4
    assert all(convolution.kernel_size == (3, 3) for convolution in convolutions)
    widths = [channels, *(convolution.out_channels for convolution in convolutions)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 1
    assert all(after < before for before, after in itertools.pairwise(widths) if before > 4)
    assert head(torch.zeros(2, channels, 9, 7)).shape == (2, 9, 7)


def test_centre_map_is_not_rectified() -> None:
    """A place can be worse than background; only the layers before the last are rectified."""
    head = CentreHead(16)
    last = [module for module in head.modules() if isinstance(module, nn.Conv2d)][-1]
    assert last.bias is not None
    nn.init.constant_(last.bias, -100.0)
    assert float(head(torch.zeros(1, 16, 12, 12)).detach().max()) < -50


# ---------------------------------------------------------------------- the linear form
ODD = st.sampled_from([1, 3, 5, 7])


@settings(max_examples=25, deadline=None)
@given(ODD, ODD, st.integers(0, 99))
def test_sliding_scores_are_a_convolution(rows: int, columns: int, seed: int) -> None:
    torch.manual_seed(seed)
    maps, weights = torch.randn(3, 5, 11, 9), torch.randn(5, rows, columns)
    expected = nn.functional.conv2d(maps, weights[None], padding=(rows // 2, columns // 2))[:, 0]
    assert torch.allclose(sliding_scores(maps, weights), expected, atol=1e-4)


@settings(max_examples=25, deadline=None)
@given(ODD, ODD, st.integers(0, 99))
def test_adjoint_passes_the_dot_product_test(rows: int, columns: int, seed: int) -> None:
    torch.manual_seed(seed)
    maps, weights = torch.randn(3, 5, 11, 9).double(), torch.randn(5, rows, columns).double()
    residuals = torch.randn(3, 11, 9).double()
    forward = float((sliding_scores(maps, weights) * residuals).sum())
    backward = float((scores_adjoint(maps, residuals, (rows, columns)) * weights).sum())
    assert forward == pytest.approx(backward, rel=1e-9, abs=1e-9)


def test_conjugate_gradient_against_a_dense_solve() -> None:
    torch.manual_seed(0)
    root = torch.randn(12, 12).double()
    matrix = root @ root.T + 2 * torch.eye(12).double()
    right, start = torch.randn(12).double(), torch.randn(12).double()
    expected = torch.linalg.solve(matrix, right)
    solver = ConjugateGradient(lambda x: matrix @ x, right - matrix @ start, start)

    def error() -> float:
        off = solver.x - expected
        return float(off @ matrix @ off)

    errors = [error()]
    for _ in range(40):  # far beyond the solution: nothing left to correct must do no harm
        solver.step()
        errors.append(error())
        assert float(solver.gain) == pytest.approx(errors[0] - errors[-1], rel=1e-9)
    assert torch.allclose(solver.x, expected, atol=1e-8)
    assert errors[:12] == sorted(errors[:12], reverse=True)
    assert errors[12] < 1e-6 * errors[0]


def trained(seed: int = 0, **settings_: Any) -> tuple[LinearPathway, Tensor]:
    maps = marked_features((12, 10), seed)
    pathway = LinearPathway(small_config(**settings_), 8, CPU)
    loss = pathway.train([training_frame(maps, (12.0, 10.0))], [], is_first=True)
    assert loss < 0.05
    return pathway, maps


@pytest.mark.parametrize("seed", range(3))
def test_linear_pathway_learns_the_centre_and_follows_a_shift(seed: int) -> None:
    pathway, maps = trained(seed)
    vote = pathway.vote(view_of(maps))
    assert vote.shape == maps.shape[1:]
    assert peak(vote) == pytest.approx((12, 10), abs=0.3)
    moved = torch.roll(maps, (3, -4), dims=(1, 2))
    assert peak(pathway.vote(view_of(moved))) == pytest.approx((8, 13), abs=0.3)
    elsewhere = marked_features((7, 16), seed=77)  # the same pattern on another background
    assert peak(pathway.vote(view_of(elsewhere))) == pytest.approx((7, 16), abs=0.75)


def test_linear_pathway_learns_centres_between_cells() -> None:
    maps = marked_features((12, 10))
    pathway = LinearPathway(small_config(), 8, CPU)
    pathway.train([training_frame(maps, (12.4, 9.7))], [], is_first=True)
    assert peak(pathway.vote(view_of(maps))) == pytest.approx((12.4, 9.7), abs=0.3)


def test_more_steps_fit_better() -> None:
    frames = [training_frame(marked_features((12, 10)), (12.0, 10.0))]
    losses = []
    for steps in (2, 8, 30):
        pathway = LinearPathway(small_config(first_steps=steps, head_ridge=1e-3), 8, CPU)
        losses.append(pathway.train(frames, [], is_first=True))
    assert losses == sorted(losses, reverse=True)


def test_an_update_takes_in_recent_frames() -> None:
    pathway, _ = trained()
    changed = smooth_features(500, 8, 24, 24)
    changed[:, 14:19, 4:9] = 2 * smooth_features(501, 8, 5, 5)
    recent = [training_frame(changed, (6.0, 16.0), index) for index in range(1, 9)]
    first = [training_frame(marked_features((12, 10)), (12.0, 10.0))]
    before = float(pathway.vote(view_of(changed))[16, 6])
    for _ in range(2):
        pathway.train(first, recent, is_first=False)
    assert float(pathway.vote(view_of(changed))[16, 6]) > before + 0.1
    assert peak(pathway.vote(view_of(first[0].features))) == pytest.approx((12, 10), abs=0.5)  # type: ignore[arg-type]


def test_clone_is_independent_and_tensors_restore() -> None:
    pathway, maps = trained()
    view = view_of(maps)
    before = pathway.vote(view)
    clone = pathway.clone()
    clone.train([training_frame(marked_features((6, 6), 9), (6.0, 6.0))], [], is_first=False)
    assert torch.equal(pathway.vote(view), before)
    assert not torch.equal(clone.vote(view), before)
    restored = LinearPathway(small_config(), 8, CPU)
    restored.load_tensors(pathway.tensors())
    assert torch.equal(restored.vote(view), before)


def test_a_coarser_layer_votes_on_the_shared_grid() -> None:
    """The ConvNetPart may see a layer of twice the stride: its centre still lands where the object is."""
    coarse = marked_features((6, 5), cells=12)
    fine = torch.zeros(8, 24, 24)
    view = view_of(fine, coarse)
    pathway = LinearPathway(small_config(), 8, CPU)
    sample = pathway.sample(view, (12.5, 10.5), (12.0, 12.0), 3)
    assert sample.centre_in_map == pytest.approx((6.0, 5.0))  # middle of coarse cell 6 = edge of fine cells 12 and 13
    assert sample.object_in_map == pytest.approx((6.0, 6.0))
    assert sample.frame_index == 3
    pathway.train([sample], [], is_first=True)
    vote = pathway.vote(view)
    assert vote.shape == (24, 24)
    assert peak(vote) == pytest.approx((12.5, 10.5), abs=0.6)


@given(st.integers(1, 12), st.integers(0, 30), st.floats(0.001, 0.5), st.floats(0.05, 0.9))
def test_frame_weights_sum_to_one(first: int, recent: int, rate: float, share: float) -> None:
    weights = frame_weights(first, recent, rate, share)
    assert len(weights) == first + recent
    assert float(weights.sum()) == pytest.approx(1.0, abs=1e-4)
    assert float(weights[:first].sum()) >= share - 1e-4
    assert bool((weights[first:].diff() >= -1e-7).all())  # the newest weighs most


@given(st.floats(0.3, 40), st.floats(0.3, 40), st.floats(0.2, 4), st.tuples(st.integers(4, 33), st.integers(4, 33)))
def test_filters_are_odd_and_fit_the_map(width: float, height: float, support: float, shape: tuple[int, int]) -> None:
    for side, cells in zip(filter_size((width, height), support, shape), shape, strict=True):
        assert side % 2 == 1
        assert 3 <= side <= cells


# ---------------------------------------------------------------------- augmentation
def test_augmentation_keeps_the_centre() -> None:
    centre = (30.3, 36.8)
    picture = dotted_picture(72, centre)
    before = picture.copy()
    variants = augment(picture, centre)
    assert len(variants) >= 5
    for variant in variants:
        assert variant.shape == picture.shape
        assert variant.dtype == np.uint8
        assert centroid(variant) == pytest.approx(centre, abs=0.15)
    assert np.array_equal(picture, before)


def test_augmentation_varies() -> None:
    picture = random_texture(np.random.default_rng(0), 64, 64)
    variants = [picture, *augment(picture, (32.0, 32.0))]
    for index, variant in enumerate(variants):
        for other in variants[:index]:
            assert np.abs(variant.astype(int) - other).mean() > 1
