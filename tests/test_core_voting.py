"""From vote maps to a centre: combination, mask, sub-cell peak, shifts and smoothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tracking_parts.voting import (
    Decision,
    Loudness,
    VoteMap,
    combine,
    peak,
    peak_to_one,
    refine_peaks,
    smooth,
    uncertainty_mask,
)

ONES = np.ones((16, 16), np.float32)
UNKNOWN = Loudness()


def bump(centre: tuple[float, float], sigma: float = 1.5, shape: tuple[int, int] = (16, 16)) -> Tensor:
    rows = torch.arange(shape[0]) - centre[1]
    columns = torch.arange(shape[1]) - centre[0]
    return torch.exp(-0.5 * (rows[:, None] ** 2 + columns[None, :] ** 2) / sigma**2)


def decide(filters: Tensor, convnet: Tensor | None, alpha: float, mask: VoteMap, usual: Loudness = UNKNOWN) -> Decision:
    """Combine as on the first frames: nothing is known yet about how loud the pathways usually are."""
    return combine(filters, convnet, alpha, mask, usual)


INNER = st.tuples(st.floats(3, 12), st.floats(3, 12))


@given(INNER, st.floats(1.0, 3.0))
def test_peak_lies_between_cells(centre: tuple[float, float], sigma: float) -> None:
    assert peak(bump(centre, sigma)) == pytest.approx(centre, abs=0.1)


@given(INNER, st.floats(0.1, 100), st.floats(-5, 5))
def test_peak_does_not_depend_on_scale_and_offset(centre: tuple[float, float], gain: float, offset: float) -> None:
    votes = bump(centre)
    assert peak(gain * votes + offset) == pytest.approx(peak(votes), abs=0.01)


def test_peaks_of_many_maps_are_each_maps_own() -> None:
    centres = [(3.2, 4.4), (8.0, 7.0), (11.6, 2.9)]
    maps = torch.stack([(index + 1) * bump(centre) for index, centre in enumerate(centres)])
    positions, values = refine_peaks(maps.numpy())
    for index, centre in enumerate(centres):
        assert tuple(positions[index]) == pytest.approx(centre, abs=0.1)
        assert float(values[index]) == float(maps[index].max())


@pytest.mark.parametrize("size", [15, 16])
@pytest.mark.parametrize("corner", [(0, 0), (-1, 0), (0, -1), (-1, -1)])
def test_a_peak_on_the_border_stays_in_the_map(size: int, corner: tuple[int, int]) -> None:
    """Its index, rounded, must be a cell: beyond the border there is no neighbour to lean towards."""
    votes = torch.zeros(size, size)
    votes[corner[1], corner[0]] = 1.0
    x, y = peak(votes)
    assert (x, y) == pytest.approx((corner[0] % size, corner[1] % size), abs=0.5)
    assert 0 <= round(x) < size
    assert 0 <= round(y) < size


def test_a_flat_map_has_a_finite_peak() -> None:
    for value in (0.0, 1.0, -3.0):
        assert all(math.isfinite(coordinate) for coordinate in peak(torch.full((9, 9), value)))


def test_pathways_are_put_on_one_scale() -> None:
    """How loud a pathway is does not matter, only how it ranks places; α weighs the two."""
    filters, convnet = bump((4, 4)), bump((11, 11))
    for alpha, expected in ((0.8, (4, 4)), (0.2, (11, 11)), (1.0, (4, 4)), (0.0, (11, 11))):
        for loud in (1e-3, 1.0, 1e3):
            decision = decide(filters, loud * convnet, alpha, ONES)
            assert decision.centre == pytest.approx(expected, abs=0.1)
            wanted = alpha * filters / filters.max() + (1 - alpha) * convnet / convnet.max()
            assert np.allclose(decision.vote_map, wanted.numpy(), atol=1e-5)


def test_a_pathway_quieter_than_usual_counts_less() -> None:
    """Where a pathway has a usual height, a faint peak of it does not drown the other one."""
    filters, convnet = bump((4, 4)), 0.1 * bump((11, 11))
    usual = Loudness(1.0, 1.0)
    assert decide(filters, convnet, 0.4, ONES).centre == pytest.approx((11, 11), abs=0.1)
    assert decide(filters, convnet, 0.4, ONES, usual).centre == pytest.approx((4, 4), abs=0.1)


def test_loudness_is_a_running_mean() -> None:
    usual = UNKNOWN.after(0.8, 0.4)
    assert (usual.filters, usual.convnet) == (0.8, 0.4)
    later = usual.after(0.6, 0.6)
    assert 0.6 < later.filters < 0.8
    assert 0.4 < later.convnet < 0.6
    for _ in range(200):
        later = later.after(0.6, 0.6)
    assert (later.filters, later.convnet) == pytest.approx((0.6, 0.6), abs=1e-3)


def test_filter_parts_lead_alone_while_the_convnet_does_not_vote() -> None:
    decision = decide(bump((5.3, 6.0)), None, 0.6, ONES)
    assert decision.centre == pytest.approx((5.3, 6.0), abs=0.1)
    assert float(decision.vote_map.max()) == pytest.approx(1.0)


def test_mask_multiplies_the_votes() -> None:
    votes = torch.maximum(bump((3, 8)), 0.9 * bump((12, 8)))
    mask = uncertainty_mask((16, 16), (12, 8), 3.0, 1.0, 0.0)
    assert decide(votes, None, 1.0, ONES).centre == pytest.approx((3, 8), abs=0.1)
    decision = decide(votes, None, 1.0, mask)
    assert decision.centre == pytest.approx((12, 8), abs=0.2)
    assert np.allclose(decision.vote_map, (votes / votes.max()).numpy() * mask, atol=1e-6)
    assert float(decide(votes - 0.5, None, 1.0, mask).vote_map.min()) >= 0


def test_without_any_positive_vote_the_object_stays() -> None:
    """No evidence for a move: the place where the mask is largest, the last centre, not a corner of the map."""
    mask = uncertainty_mask((16, 16), (8, 8), 3.0, 1.0, 0.0)
    for votes in (torch.zeros(16, 16), torch.full((16, 16), -0.2)):
        assert decide(votes, None, 1.0, mask).centre == pytest.approx((8, 8), abs=0.5)


@given(INNER, st.floats(0.5, 10), st.sampled_from([1.0, 2.0]), st.sampled_from([0.0, 0.2]))
def test_mask_is_one_at_the_centre_and_falls(
    centre: tuple[float, float], width: float, power: float, floor: float
) -> None:
    whole = (float(round(centre[0])), float(round(centre[1])))
    mask = uncertainty_mask((16, 16), whole, width, power, floor)
    assert float(mask[int(whole[1]), int(whole[0])]) == 1.0
    off_cell = uncertainty_mask((16, 16), centre, width, power, floor)
    rows, columns = np.arange(16) - centre[1], np.arange(16) - centre[0]
    distance = np.hypot(rows[:, None], columns[None, :]).flatten()
    by_distance = off_cell.flatten()[distance.argsort()]
    assert bool((np.diff(by_distance) <= 1e-6).all())
    assert float(off_cell.min()) >= floor
    wanted = floor + (1 - floor) * math.exp(-((float(distance[37]) / width) ** power))
    assert float(off_cell.flatten()[37]) == pytest.approx(wanted, abs=1e-5)


@given(INNER, st.floats(0.3, 1.0))
def test_smoothing_keeps_sum_and_place(centre: tuple[float, float], sigma: float) -> None:
    centre = (centre[0] + 4, centre[1] + 4)  # clear of the border
    votes = bump(centre, 0.7, (24, 24))
    smoothed = smooth(votes, sigma)
    assert float(smoothed.sum()) == pytest.approx(float(votes.sum()), rel=1e-3)
    assert float(smoothed.max()) < float(votes.max())
    assert peak(smoothed) == pytest.approx(centre, abs=0.1)


def test_smoothing_of_a_single_vote_is_a_gaussian() -> None:
    votes = torch.zeros(15, 15)
    votes[7, 7] = 1.0
    smoothed = smooth(votes, 1.0)
    assert float(smoothed[7, 8] / smoothed[7, 7]) == pytest.approx(math.exp(-0.5), rel=1e-4)
    assert torch.allclose(smoothed, smoothed.T, atol=1e-7)
    assert torch.equal(smooth(votes, 0.0), votes)


def test_peak_to_one() -> None:
    votes = 7 * bump((3, 3)).numpy() - 1
    assert float(peak_to_one(votes).max()) == pytest.approx(1.0)
    assert np.array_equal(peak_to_one(-ONES), -ONES)
