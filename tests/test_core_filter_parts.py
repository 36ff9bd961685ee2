"""Patches, fast inner products against their definitions, and the selection of parts."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from core_helpers import random_weights, small_config, smooth_features
from synthetic import Image, random_texture
from tracking_parts.features import FeatureExtractor, Projection
from tracking_parts.filter_parts.correlation import (
    correlate,
    descriptors,
    gram_matrix,
    responses_of_patches,
)
from tracking_parts.filter_parts.learning import (
    Classifiers,
    cover_box,
    learn_classifiers,
    learn_parts,
    select_discriminative,
)
from tracking_parts.filter_parts.patches import (
    Size,
    Tops,
    covered_cells,
    edge_density,
    inside_fraction,
    negative_tops,
    part_sizes_in_cells,
    positive_tops,
)
from tracking_parts.geometry import Box

CELLS = 20
MAP_SIZE = (CELLS, CELLS)
BOX = Box(5.5, 6.5, 7.0, 6.0)
BOXES = st.builds(Box, st.floats(-2, 14), st.floats(-2, 14), st.floats(1, 12), st.floats(1, 12))
SIZES = st.tuples(st.integers(1, 7), st.integers(1, 7))


@lru_cache(maxsize=1)
def network_features() -> Tensor:
    crop = random_texture(np.random.default_rng(0), 80, 80)
    maps = FeatureExtractor(random_weights(), ["conv3_1"], torch.device("cpu"))([crop])["conv3_1"]
    return Projection.fit(maps, 24, 0.3)(maps)[0]


def slow_patch(features: Tensor, top: NDArray[np.int64], size: Size) -> Tensor:
    row, column = int(top[0]), int(top[1])
    return features[:, row : row + size[0], column : column + size[1]].double()


def some_tops(count: int, size: Size, cells: int = CELLS) -> Tops:
    rng = np.random.default_rng(count)
    return np.stack([rng.integers(0, cells - size[0] + 1, count), rng.integers(0, cells - size[1] + 1, count)], axis=1)


# ---------------------------------------------------------------------- inner products
@settings(max_examples=15, deadline=None)
@given(SIZES, st.integers(0, 99))
def test_responses_of_patches_are_inner_products_of_patches(size: Size, seed: int) -> None:
    first, second = smooth_features(seed, 5, 9, 8), smooth_features(seed + 1, 5, 7, 10)
    tops = np.array(list(np.ndindex(10 - size[0], 9 - size[1])))[:: 1 + seed % 3]
    found = responses_of_patches(first, second, tops[::-1], size)
    assert found.shape == (len(tops), 8 - size[0], 11 - size[1])
    for patch, *place in np.ndindex(*found.shape):
        own, other = slow_patch(first, tops[::-1][patch], size), slow_patch(second, np.array(place), size)
        assert float(found[patch, place[0], place[1]]) == pytest.approx(float((own * other).sum()), abs=1e-3)


@pytest.mark.parametrize("count", [3, 600])  # few patches: D is formed; many: it never is
@pytest.mark.parametrize("size", [(3, 3), (5, 4), (9, 9)])
@pytest.mark.parametrize("kind", ["random", "network"])
def test_gram_matrix_is_the_definition(count: int, size: Size, kind: str) -> None:
    features = smooth_features(1, 24, CELLS, CELLS) if kind == "random" else network_features()
    tops = some_tops(count, size)
    patches = torch.stack([slow_patch(features, top, size) for top in tops])
    rows = patches.permute(0, 2, 3, 1).flatten(1)  # cell after cell
    gram, _ = gram_matrix(features, tops, size)
    assert torch.allclose(gram.double(), rows @ rows.T, rtol=1e-4, atol=1e-4 * float(rows.square().sum(1).max()))
    assert torch.allclose(descriptors(features, tops, size).double(), rows)


@pytest.mark.parametrize("size", [(1, 1), (3, 3), (4, 6)])
def test_responses_of_patches_are_correlations_with_them(size: Size) -> None:
    reference, search = network_features(), smooth_features(2, 24, 14, 17)
    tops = some_tops(9, size)
    filters = torch.stack([slow_patch(reference, top, size).float() for top in tops])
    found = responses_of_patches(reference, search, tops, size)
    assert torch.allclose(found, correlate(search, filters), rtol=1e-4, atol=1e-3)


def test_correlation_is_the_definition() -> None:
    features = smooth_features(3, 4, 8, 9)
    filters = torch.stack([smooth_features(9, 4, 3, 2), smooth_features(8, 4, 3, 2)])
    found = correlate(features, filters)
    assert found.shape == (2, 6, 8)
    for index in np.ndindex(2, 6, 8):
        patch = slow_patch(features, np.array(index[1:]), (3, 2))
        assert float(found[index]) == pytest.approx(float((patch * filters[index[0]]).sum()), abs=1e-4)


# ---------------------------------------------------------------------- where patches lie
@given(BOXES, SIZES)
def test_inside_fraction_by_counting(box: Box, size: Size) -> None:
    tops = some_tops(4, size)
    fine = (np.arange(20) + 0.5) / 20 - 0.5  # twenty samples across each cell
    for top, share in zip(tops, inside_fraction(tops, size, box), strict=True):
        ys = (top[0] + np.arange(size[0])[:, None] + fine).ravel()
        xs = (top[1] + np.arange(size[1])[:, None] + fine).ravel()
        rows = ((ys > box.y) & (ys < box.y + box.h)).mean()
        columns = ((xs > box.x) & (xs < box.x + box.w)).mean()
        assert share == pytest.approx(rows * columns, abs=0.11)


@given(BOXES, SIZES, st.integers(1, 3), st.floats(0, 1))
def test_positives_lie_in_the_map_and_in_the_box(box: Box, size: Size, stride: int, min_inside: float) -> None:
    tops = positive_tops(box, size, stride, MAP_SIZE, min_inside)
    assert len(tops) >= 1
    assert len(np.unique(tops, axis=0)) == len(tops)
    assert (tops >= 0).all()
    assert (tops + size <= CELLS).all()
    if len(tops) > 1:
        assert (inside_fraction(tops, size, box) >= min_inside).all()
        assert (np.diff(np.unique(tops[:, 0])) % stride == 0).all()


def test_positives_are_a_dense_grid() -> None:
    tops = positive_tops(BOX, (3, 3), 1, MAP_SIZE, 0.99)
    expected = {(row, column) for row in range(7, 11) for column in range(6, 11)}
    assert {(int(row), int(column)) for row, column in tops} == expected
    coarse = positive_tops(BOX, (3, 3), 2, MAP_SIZE, 0.99)
    assert {tuple(top) for top in coarse.tolist()} < expected


@given(BOXES, SIZES, st.integers(1, 60), st.floats(0, 0.5))
def test_negatives_hardly_touch_the_box(box: Box, size: Size, count: int, max_inside: float) -> None:
    edges = np.random.default_rng(count).uniform(size=(CELLS, CELLS)).astype(np.float32)
    tops = negative_tops(box, size, 2, edges, count, max_inside)
    assert len(tops) <= count
    assert (inside_fraction(tops, size, box) <= max_inside).all()
    density = [float(edges[r : r + size[0], c : c + size[1]].sum()) for r, c in tops]
    assert density == sorted(density, reverse=True) or np.allclose(density, sorted(density, reverse=True))
    every = negative_tops(box, size, 2, edges, 10_000, max_inside)
    others = [float(edges[r : r + size[0], c : c + size[1]].sum()) for r, c in every[len(tops) :]]
    assert not others or max(others) <= min(density) + 1e-6


def busy_corner() -> Image:
    """A flat picture of 80 x 80 with stripes at the bottom right."""
    picture = np.full((80, 80, 3), 90, np.uint8)
    picture[60:76, 56:76:4] = 250
    return picture


def test_edges_are_dense_where_the_picture_is_busy() -> None:
    edges = edge_density(busy_corner(), MAP_SIZE)
    assert edges.shape == (CELLS, CELLS)
    assert edges[:14].max() == 0
    assert edges[16:18, 15:18].min() > 10
    first = negative_tops(BOX, (3, 3), 1, edges, 5, 0.1)
    assert (first >= 13).all()


def test_edge_density_is_the_mean_gradient_of_a_ramp() -> None:
    ramp = np.repeat(np.tile(np.arange(80, dtype=np.uint8) * 3, (80, 1))[:, :, None], 3, axis=2)
    edges = edge_density(ramp, MAP_SIZE)
    assert np.allclose(edges[:, 2:-2], 3 * 8)  # Sobel's weights sum to 8 for a slope of 1


def test_sizes_in_cells() -> None:
    assert part_sizes_in_cells((3, 5, 0), BOX, MAP_SIZE) == ((3, 3), (5, 5), (6, 7))
    assert part_sizes_in_cells((0, 5, 3), Box(0, 0, 3, 3), MAP_SIZE) == ((3, 3), (5, 5))  # coinciding sizes once
    assert all(max(size) <= 10 for size in part_sizes_in_cells((3, 17, 0), Box(-9, -9, 40, 40), (12, 12)))


# ---------------------------------------------------------------------- selection
def classifiers(seed: int = 0, **settings_: Any) -> list[Classifiers]:
    features, edges = smooth_features(seed), np.ones((CELLS, CELLS), np.float32)
    config = small_config(**settings_)
    sizes = part_sizes_in_cells(config.part_sizes, BOX, MAP_SIZE)
    return [learn_classifiers(features, edges, BOX, size, config) for size in sizes]


def centres(learned: Classifiers) -> list[tuple[int, int]]:
    return [(int(r) + (learned.size[0] - 1) // 2, int(c) + (learned.size[1] - 1) // 2) for r, c in learned.positives]


@pytest.mark.parametrize("t_d", [0.5, 1.5, 3.0, 8.0])
def test_small_sizes_come_first_and_a_point_is_taken_once(t_d: float) -> None:
    learned = classifiers()
    selected = select_discriminative(learned, t_d)
    taken: set[tuple[int, int]] = set()
    for one, chosen in zip(learned, selected, strict=True):
        for centre, ratio, is_chosen in zip(centres(one), one.ratio, chosen, strict=True):
            assert is_chosen == (ratio > t_d and centre not in taken)
            if is_chosen:
                taken.add(centre)
    assert [one.size for one in learned] == [(3, 3), (5, 5), (6, 7)]


def test_a_stricter_threshold_selects_fewer_small_parts() -> None:
    learned = classifiers()
    counts = [int(select_discriminative(learned, t_d)[0].sum()) for t_d in (0.1, 2.0, 4.0, 1e9)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == len(learned[0].positives)
    assert counts[-1] == 0


def test_ratio_is_own_response_over_the_worst_negative() -> None:
    features = smooth_features(4)
    edges = np.ones((CELLS, CELLS), np.float32)
    learned = learn_classifiers(features, edges, BOX, (3, 3), small_config())
    rows = descriptors(features, learned.patches, (3, 3)).double()
    responses = rows @ (rows.T @ learned.coefficients.double())  # [n, p]
    count = len(learned.positives)
    assert torch.allclose(responses[:count].diagonal(), torch.ones(count, dtype=torch.float64), atol=1e-3)
    worst = responses[count:].max(dim=0).values.numpy()
    assert np.allclose(learned.ratio, 1 / worst, rtol=1e-2)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("t_d", [0.1, 2.5, 1e9])
def test_the_box_is_covered(seed: int, t_d: float) -> None:
    learned = classifiers(seed)
    selected = select_discriminative(learned, t_d)
    before = [chosen.copy() for chosen in selected]
    covered = cover_box(learned, selected, BOX, MAP_SIZE)
    assert all(np.array_equal(a, b) for a, b in zip(selected, before, strict=True))
    assert all((after >= chosen).all() for after, chosen in zip(covered, before, strict=True))
    reached = np.zeros((CELLS, CELLS), bool)
    coverable = np.zeros((CELLS, CELLS), bool)
    for one, chosen in zip(learned, covered, strict=True):
        cells = covered_cells(one.positives, one.size, MAP_SIZE)
        reached |= cells[chosen].any(axis=0)
        coverable |= cells.any(axis=0)
    in_box = np.zeros((CELLS, CELLS), bool)
    in_box[7:13, 6:13] = True  # cells whose centres lie in BOX
    assert (reached[in_box] == coverable[in_box]).all()
    assert reached[in_box].all()


def test_covered_cells() -> None:
    cells = covered_cells(np.array([[1, 2], [0, 0]]), (2, 3), (6, 5))
    assert cells.sum(axis=(1, 2)).tolist() == [6, 6]
    assert cells[0, 1:3, 2:5].all()
    assert cells[1, 0:2, 0:3].all()


@pytest.mark.parametrize("kind", ["random", "network"])
def test_learned_filters_respond_one_on_their_own_patch(kind: str) -> None:
    features = smooth_features(5) if kind == "random" else network_features()
    parts = learn_parts(features, np.ones((CELLS, CELLS), np.float32), BOX, small_config())
    assert sum(len(learned.tops) for learned in parts) > 5
    for learned in parts:
        responses = correlate(features, learned.filters)
        own = responses[np.arange(len(learned.tops)), learned.tops[:, 0], learned.tops[:, 1]]
        assert torch.allclose(own, torch.ones_like(own), atol=1e-3)


@given(st.integers(0, 40), st.sampled_from([0.0, 1.4, 3.0, 1e9]))
@settings(max_examples=25, deadline=None)
def test_sizes_that_cannot_be_selected_need_not_be_learned(seed: int, t_d: float) -> None:
    """The definition: learn every size, then select."""
    features, edges = smooth_features(seed, height=CELLS, width=CELLS), np.ones((CELLS, CELLS), np.float32)
    config = small_config(t_d=t_d)
    sizes = part_sizes_in_cells(config.part_sizes, BOX, MAP_SIZE)
    classifiers = [learn_classifiers(features, edges, BOX, size, config) for size in sizes]
    chosen = cover_box(classifiers, select_discriminative(classifiers, t_d), BOX, MAP_SIZE)
    expected = {
        one.size: one.positives[picked] for one, picked in zip(classifiers, chosen, strict=True) if picked.any()
    }
    found = {parts.size: parts.tops for parts in learn_parts(features, edges, BOX, config)}
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[size], tops) for size, tops in expected.items())


def test_no_more_parts_than_allowed_and_the_best_of_them() -> None:
    edges, features = np.ones((CELLS, CELLS), np.float32), smooth_features(6)
    everything = learn_parts(features, edges, BOX, small_config(part_sizes=(3,)))[0]
    few = learn_parts(features, edges, BOX, small_config(part_sizes=(3,), max_parts_per_learning=5))[0]
    assert len(few.tops) == 5 < len(everything.tops)
    assert sorted(few.ratio) == pytest.approx(sorted(everything.ratio)[-5:])
