"""The fast identities against their definitions: one composite filter, and the dual."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from core_helpers import real_weights, small_config, smooth_features
from synthetic import random_texture
from tracking_parts.features import FeatureExtractor, Projection
from tracking_parts.filter_parts.bank import PartBank
from tracking_parts.filter_parts.composite import CompositeFilter, fast_length
from tracking_parts.filter_parts.correlation import correlate
from tracking_parts.filter_parts.learning import learn_parts
from tracking_parts.filter_parts.references import DualParts, References
from tracking_parts.filter_parts.society import FilterParts
from tracking_parts.geometry import Box, Point
from tracking_parts.roles import Role
from tracking_parts.voting import refine_peaks

CELLS = 24
EDGES = np.ones((CELLS, CELLS), np.float32)
CENTRES: tuple[Point, ...] = ((12.0, 11.0), (10.4, 13.3), (13.8, 11.6))


@lru_cache(maxsize=1)
def real_maps() -> tuple[Tensor, ...]:
    """Features of the published network on textures, as the default profile sees them."""
    extract = FeatureExtractor(real_weights(), ["conv3_3"], torch.device("cpu"))
    size = 4 * CELLS
    crops = [random_texture(np.random.default_rng(seed), size, size) for seed in range(len(CENTRES) + 1)]
    maps = extract(crops)["conv3_3"]
    return tuple(Projection.fit(maps[:1], 64, 0.3)(maps))


def maps_of(kind: str) -> tuple[Tensor, ...]:
    return real_maps() if kind == "real" else tuple(smooth_features(s, 12, CELLS, CELLS) for s in range(4))


def society_of(maps: Sequence[Tensor], **settings_: Any) -> FilterParts:
    """Parts of three learning frames, whose centres lie at different fractions of a cell; some are candidates."""
    parts = FilterParts(small_config(**settings_))
    for features, centre, role in zip(maps, CENTRES, (Role.RELIABLE, Role.RELIABLE, Role.CANDIDATE), strict=False):
        parts.learn(features, EDGES, Box.from_centre(centre, 7.0, 6.0), role)
    return parts


# ---------------------------------------------------------------------- definitions
MARGIN = 24  # of zeros around the map: no part reaches further


def activation_maps(features: Tensor, bank: PartBank) -> Tensor:
    """Every part's response at every place of the map and of a margin of zeros around it, in double precision."""
    around = torch.nn.functional.pad(features.double(), (MARGIN,) * 4)
    return correlate(around, bank.filters.double())


def vote_for_cell(maps: Tensor, bank: PartBank, part: int, row: int, column: int) -> float:
    """The response where the part would lie if the object's centre were in that cell; zero if not all in the map."""
    top = np.array([row, column]) - bank.shifts[part]
    is_inside = (top >= 0).all() and (top + bank.size <= CELLS).all()
    return float(maps[part, MARGIN + top[0], MARGIN + top[1]]) if is_inside else 0.0


def mean_of_shifted_maps(features: Tensor, banks: Sequence[PartBank]) -> Tensor:
    """F_t part by part: the activation map moved by displacement and fraction, averaged over the parts that vote."""
    total, count = torch.zeros(CELLS, CELLS, dtype=torch.float64), 0
    for bank in banks:
        maps = activation_maps(features, bank)
        for part in np.flatnonzero(bank.voting):
            count += 1
            first = [MARGIN - int(shift) for shift in bank.shifts[part]]
            for (down, right), weight in corners(bank.fractions[part]):
                rows, columns = first[0] - down, first[1] - right
                total += weight * maps[part, rows : rows + CELLS, columns : columns + CELLS]
    return total / max(count, 1)


def corners(fraction: NDArray[np.float32]) -> list[tuple[tuple[int, int], float]]:
    """The cells, (down, right), among which a move by (x, y) is shared out, and their shares."""
    (x, y) = (float(value) for value in fraction)
    steps = (0, 1 if x > 0 else -1), (0, 1 if y > 0 else -1)
    shares = (1 - abs(x), abs(x)), (1 - abs(y), abs(y))
    return [((steps[1][j], steps[0][i]), shares[0][i] * shares[1][j]) for i in (0, 1) for j in (0, 1)]


# ---------------------------------------------------------------------- voting as one filter
@pytest.mark.parametrize("kind", ["random", "real"])
def test_the_composite_filter_is_the_mean_of_shifted_maps(kind: str) -> None:
    maps = maps_of(kind)
    parts = society_of(maps, vote_sigma=0.0)
    assert len({tuple(f) for bank in parts.banks for f in bank.fractions.tolist()}) == 3
    for features in maps:
        expected = mean_of_shifted_maps(features, parts.banks)
        assert torch.allclose(parts.vote(features).double(), expected, rtol=0, atol=1e-5 * float(expected.abs().max()))


def test_the_composite_filter_serves_maps_of_any_shape() -> None:
    maps = maps_of("random")
    composite = CompositeFilter.of_voters(society_of(maps).banks)
    assert composite is not None
    wide = smooth_features(9, 12, 31, 40)
    around = torch.nn.functional.pad(wide, (MARGIN,) * 4)
    direct = correlate(around, composite.weights[None])[0]
    top, left = MARGIN + composite.top[0], MARGIN + composite.top[1]
    assert torch.allclose(composite(wide), direct[top : top + 31, left : left + 40], atol=1e-5)


def test_voters_that_change_are_heard_at_once() -> None:
    maps = maps_of("random")
    parts = society_of(maps, vote_sigma=0.0)
    before = parts.vote(maps[3])
    for _ in range(3):
        parts.observe(np.ones(len(parts), bool))
    parts.test_roles()  # the candidates rise
    after = parts.vote(maps[3])
    assert not torch.allclose(before, after, atol=1e-4)
    assert torch.allclose(after.double(), mean_of_shifted_maps(maps[3], parts.banks), atol=1e-5)


@given(st.integers(1, 3000))
def test_fast_lengths_have_small_factors(length: int) -> None:
    found = fast_length(length)
    assert length <= found <= 2 * length
    assert 2**12 * 3**8 * 5**6 % found == 0


# ---------------------------------------------------------------------- each part's own vote
def test_a_part_votes_from_its_strongest_place() -> None:
    maps = maps_of("random")
    parts = society_of(maps)
    votes = parts.hear(maps[3])
    number = 0
    for bank in parts.banks:
        for part, filter_ in enumerate(bank.filters):
            responses = correlate(maps[3], filter_[None])
            (place,), (strength,) = refine_peaks(responses.numpy())
            expected = place + bank.shifts[part, ::-1] + bank.fractions[part]
            assert votes.positions[number] == pytest.approx(expected, abs=1e-2)
            assert votes.strengths[number] == pytest.approx(strength, abs=1e-4)
            number += 1
    assert number == len(parts) == len(votes.ids)


# ---------------------------------------------------------------------- responding in the dual
SIZES = (1, 3, 6, 0)  # 0: that of the box


def duals_of(features: Tensor, frame: int = 0, first_id: int = 0) -> list[tuple[DualParts, Tensor]]:
    """What is learned on a frame in the dual, every size by itself, with the filters."""
    found = []
    for size in SIZES:
        config = small_config(part_sizes=(size,))
        (learned,) = learn_parts(features, EDGES, Box.from_centre((12.0, 12.0), 7.0, 5.0), config)
        assert learned.dual is not None
        ids = first_id + np.arange(len(learned.tops))
        found.append((DualParts(frame, learned.size, learned.dual, ids), learned.filters))
        first_id += len(ids)
    return found


@pytest.mark.parametrize("kind", ["random", "real"])
def test_responses_in_the_dual_are_those_of_the_filters(kind: str) -> None:
    maps = maps_of(kind)
    for dual, filters in (*duals_of(maps[0]), *duals_of(maps[1])):
        for search in (maps[2], maps[3][:, 2:17, 5:24]):
            assert torch.allclose(dual.responses(search), correlate(search, filters), rtol=0, atol=1e-4)


def test_a_filter_is_the_sum_of_its_patches() -> None:
    for dual, filters in duals_of(smooth_features(5, 12, CELLS, CELLS)):
        rows, columns = dual.size
        patches = torch.stack(
            [dual.form.reference[:, y : y + rows, x : x + columns].double() for y, x in dual.form.patches.tolist()]
        )
        expected = torch.einsum("nm,nchw->mchw", dual.form.coefficients.double(), patches)
        assert torch.allclose(filters.double(), expected, atol=1e-5)


@pytest.fixture
def dual_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small maps never make the dual worth it: let it be, to see that it changes nothing."""
    monkeypatch.setattr("tracking_parts.filter_parts.references.dual_pays", lambda *_: True)


@pytest.mark.usefixtures("dual_always")
@pytest.mark.parametrize("kind", ["random", "real"])
@pytest.mark.parametrize("limit", [1, 2])
def test_folding_references_changes_nothing(kind: str, limit: int) -> None:
    maps = maps_of(kind)
    folded, alive = society_of(maps, max_references=0), society_of(maps, max_references=limit)
    assert folded.references == ()
    assert len({dual.frame for dual in alive.references}) == limit
    for features in maps:
        expected, found = folded.hear(features), alive.hear(features)
        assert np.allclose(found.strengths, expected.strengths, atol=1e-4)
        near = np.abs(found.positions - expected.positions).max(axis=1) < 0.02
        assert near.mean() > 0.99  # two places equally strong to the last digit may change their order
        assert torch.allclose(alive.vote(features), folded.vote(features), atol=1e-6)


@pytest.mark.usefixtures("dual_always")
def test_the_dead_leave_their_reference() -> None:
    maps = maps_of("random")
    parts = society_of(maps, max_references=4)
    parts.observe(np.arange(len(parts)) % 3 == 0)
    parts.test_roles()
    living = {int(i) for bank in parts.banks for i in bank.ids}
    assert {int(i) for dual in parts.references for i in dual.ids} == living
    assert all(dual.form.coefficients.shape[1] == len(dual) for dual in parts.references)
    assert np.isfinite(parts.hear(maps[3]).strengths).all()


@pytest.mark.usefixtures("dual_always")
def test_references_stay_bounded_over_200_learnings() -> None:
    parts = FilterParts(small_config(max_references=3, part_sizes=(3, 5), max_parts_per_learning=6, n_max=20))
    for number in range(200):
        features = smooth_features(number, 4, 12, 12)
        parts.learn(features, EDGES[:12, :12], Box.from_centre((6.0, 6.0), 4.0, 4.0), Role.CANDIDATE)
        parts.observe(np.arange(len(parts)) % 4 > 0)
        if number % 2:
            parts.test_roles()
        assert len({dual.frame for dual in parts.references}) <= 3


def test_the_emptiest_reference_is_folded_first_and_of_equals_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracking_parts.filter_parts.references.dual_pays", lambda *_: True)
    features = smooth_features(1, 12, CELLS, CELLS)
    learned = [duals_of(features, frame, 1000 * frame)[0][0] for frame in range(3)]
    living = np.concatenate([learned[0].ids[:2], learned[1].ids[:4], learned[2].ids[:2]])
    references = References(2)
    references.settle(living, learned)
    assert references.frames == (1, 2)
    references.settle(living[living != learned[1].ids[0]], [learned[0]])
    assert references.frames == (1, 2)


def test_a_reference_that_does_not_pay_is_not_kept() -> None:
    assert society_of(maps_of("random"), max_references=4).references == ()
