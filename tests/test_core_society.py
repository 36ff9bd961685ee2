"""The parts as a society: votes, records, roles and the budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from core_helpers import small_config, smooth_features
from tracking_parts.filter_parts.bank import PartBank
from tracking_parts.filter_parts.learning import LearnedParts
from tracking_parts.filter_parts.society import FilterParts, keep_budget
from tracking_parts.geometry import Box, Point
from tracking_parts.roles import Role
from tracking_parts.voting import peak

CELLS = 24
EDGES = np.ones((CELLS, CELLS), np.float32)


def learned_society(features: Tensor, centre: Point, role: Role = Role.RELIABLE, **settings_: Any) -> FilterParts:
    parts = FilterParts(small_config(**settings_))
    parts.learn(features, EDGES, Box.from_centre(centre, 7.0, 6.0), role)
    return parts


def bank_of(filters: Tensor, roles: list[Role], first_id: int = 0) -> PartBank:
    count = len(filters)
    learned = LearnedParts((3, 3), np.zeros((count, 2), np.int64), filters, np.ones(count))
    bank = PartBank.from_learned(learned, (5.0, 5.0), Role.CANDIDATE, first_id)
    return replace(bank, roles=np.array(roles, np.int8))


def random_filters(count: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(count, 4, 3, 3)).astype(np.float32))


# ---------------------------------------------------------------------- votes
CENTRES = st.tuples(st.floats(8, 15), st.floats(8, 15))


@settings(max_examples=20, deadline=None)
@given(CENTRES, st.integers(0, 50))
def test_on_the_learning_frame_all_parts_vote_for_the_centre(centre: Point, seed: int) -> None:
    features = smooth_features(seed, 12, CELLS, CELLS)
    parts = learned_society(features, centre)
    votes = parts.hear(features)
    assert len(votes.ids) > 5
    assert votes.agreement(centre, 0.75).mean() > 0.95
    assert (votes.strengths > 0.99).all()
    assert peak(parts.vote(features)) == pytest.approx(centre, abs=0.15)


@pytest.mark.parametrize(("dx", "dy"), [(0, 0), (3, 0), (-2, 4), (0, -5)])
@pytest.mark.parametrize("centre", [(12.0, 11.0), (11.4, 12.3)])
def test_votes_follow_the_object(dx: int, dy: int, centre: Point) -> None:
    features = smooth_features(1, 12, CELLS, CELLS)
    parts = learned_society(features, centre)
    moved = torch.roll(features, (dy, dx), dims=(1, 2))
    there = (centre[0] + dx, centre[1] + dy)
    assert peak(parts.vote(moved)) == pytest.approx(there, abs=0.1)
    assert parts.hear(moved).agreement(there, 0.75).mean() > 0.95


def test_offsets_point_from_the_centre_to_the_part() -> None:
    learned = LearnedParts((3, 5), np.array([[2, 7]]), torch.zeros(1, 4, 3, 5), np.ones(1))
    bank = PartBank.from_learned(learned, (6.3, 9.8), Role.RELIABLE, 0)
    # The patch covers rows 2..4 and columns 7..11: its centre is (9, 3).
    assert tuple(bank.offsets[0]) == pytest.approx((9 - 6.3, 3 - 9.8), abs=1e-5)


def test_candidates_are_watched_but_never_vote() -> None:
    old, new = smooth_features(3, 12, CELLS, CELLS), smooth_features(4, 12, CELLS, CELLS)
    parts = learned_society(old, (12.0, 12.0))
    alone = parts.vote(old)
    added = parts.learn(new, EDGES, Box.from_centre((10.0, 13.0), 7.0, 6.0), Role.CANDIDATE)
    assert torch.allclose(parts.vote(old), alone, atol=1e-6)
    watched = parts.hear(new)
    assert int((~watched.voting).sum()) == added > 0
    assert watched.agreement((10.0, 13.0), 0.75)[~watched.voting].mean() > 0.95


def test_a_society_without_voters_gives_an_empty_map() -> None:
    features = smooth_features(5, 12, CELLS, CELLS)
    assert float(FilterParts(small_config()).vote(features).abs().max()) == 0
    candidates = learned_society(features, (12.0, 12.0), Role.CANDIDATE)
    assert float(candidates.vote(features).abs().max()) == 0


# ---------------------------------------------------------------------- record and roles
def observe(parts: FilterParts, agreed: NDArray[np.bool_], times: int = 10) -> None:
    for _ in range(times):
        parts.observe(agreed)


def roles_by_id(parts: FilterParts) -> dict[int, int]:
    return {int(i): int(role) for bank in parts.banks for i, role in zip(bank.ids, bank.roles, strict=True)}


def test_roles_rise_and_fall_by_frequency() -> None:
    features = smooth_features(6, 12, CELLS, CELLS)
    parts = learned_society(features, (12.0, 12.0))
    ids = parts.hear(features).ids
    good = np.arange(len(ids)) % 2 == 0
    observe(parts, good)
    assert parts.test_roles() == (int(good.sum()), int((~good).sum()))
    assert roles_by_id(parts) == {int(i): int(Role.GOLD) for i in ids[good]}
    # Gold is not monitored: it stays however it votes.
    observe(parts, np.zeros(len(parts), bool))
    assert parts.test_roles() == (0, 0)
    assert set(roles_by_id(parts)) == {int(i) for i in ids[good]}


def test_between_the_thresholds_a_part_stays_and_its_record_starts_again() -> None:
    features = smooth_features(7, 12, CELLS, CELLS)
    parts = learned_society(features, (12.0, 12.0), Role.CANDIDATE, p_plus=0.6, p_minus=0.2)
    everyone = np.ones(len(parts), bool)
    observe(parts, everyone, 4)
    observe(parts, ~everyone, 6)
    assert parts.test_roles() == (0, 0)
    observe(parts, everyone, 3)  # with the old record it would be 7 of 13
    assert parts.test_roles() == (len(parts), 0)
    assert set(roles_by_id(parts).values()) == {int(Role.RELIABLE)}


def test_parts_learned_on_this_very_frame_are_not_tested() -> None:
    features = smooth_features(8, 12, CELLS, CELLS)
    parts = learned_society(features, (12.0, 12.0), Role.CANDIDATE)
    count = len(parts)
    assert parts.test_roles() == (0, 0)
    assert len(parts) == count


def test_all_parts_may_die() -> None:
    features = smooth_features(9, 12, CELLS, CELLS)
    parts = learned_society(features, (12.0, 12.0))
    count = len(parts)
    observe(parts, np.zeros(count, bool))
    assert parts.test_roles() == (0, count)
    assert len(parts) == 0
    assert len(parts.hear(features).ids) == 0
    assert parts.learn(features, EDGES, Box.from_centre((12.0, 12.0), 7.0, 6.0), Role.CANDIDATE) > 0


def test_ids_are_never_used_twice() -> None:
    features = smooth_features(10, 12, CELLS, CELLS)
    parts = learned_society(features, (12.0, 12.0))
    first = set(roles_by_id(parts))
    observe(parts, np.zeros(len(parts), bool))
    parts.test_roles()
    parts.learn(features, EDGES, Box.from_centre((12.0, 12.0), 7.0, 6.0), Role.CANDIDATE)
    assert first.isdisjoint(roles_by_id(parts))
    assert parts.next_id == max(roles_by_id(parts)) + 1


# ---------------------------------------------------------------------- budget
def test_budget_drops_the_new_parts_most_similar_to_older_ones() -> None:
    old, fresh = random_filters(4), random_filters(3, seed=1)
    twin = old[1:2] * 3 + 0.01 * random_filters(1, seed=2)  # length does not matter, direction does
    bank = bank_of(torch.cat([old, fresh, twin]), [Role.GOLD, Role.GOLD, *[Role.RELIABLE] * 6])
    newly = np.array([False] * 4 + [True] * 4)
    assert keep_budget(bank, newly, 8) is bank
    assert keep_budget(bank, newly, 7).ids.tolist() == [0, 1, 2, 3, 4, 5, 6]
    similarity = (
        torch.nn.functional.normalize(fresh.flatten(1), dim=1) @ torch.nn.functional.normalize(old.flatten(1), dim=1).T
    )
    second = 4 + int(similarity.max(dim=1).values.argmax())
    assert keep_budget(bank, newly, 6).ids.tolist() == [i for i in range(7) if i != second]


@pytest.mark.parametrize("n_max", [1, 3])
def test_budget_never_touches_older_parts(n_max: int) -> None:
    roles = [Role.GOLD, Role.GOLD, Role.RELIABLE, Role.RELIABLE, Role.CANDIDATE, Role.RELIABLE]
    bank = bank_of(random_filters(6), roles)
    newly = np.array([False, False, False, False, False, True])
    kept = keep_budget(bank, newly, n_max)
    assert kept.ids.tolist() == [0, 1, 2, 3, 4]
    assert keep_budget(kept, np.zeros(5, bool), n_max) is kept


def test_budget_binds_in_the_roles_test() -> None:
    features = smooth_features(11, 12, CELLS, CELLS)
    parts = learned_society(features, (12.0, 12.0), Role.CANDIDATE, n_max=5)
    observe(parts, np.ones(len(parts), bool))
    parts.test_roles()
    assert all(int(bank.voting.sum()) <= 5 for bank in parts.banks)
    observe(parts, np.ones(len(parts), bool))
    parts.test_roles()
    gold = {i for i, role in roles_by_id(parts).items() if role == Role.GOLD}
    assert gold
    parts.learn(features, EDGES, Box.from_centre((12.0, 12.0), 7.0, 6.0), Role.CANDIDATE)
    observe(parts, np.ones(len(parts), bool))
    parts.test_roles()
    assert {i for i, role in roles_by_id(parts).items() if role == Role.GOLD} == gold
    assert all(int(bank.voting.sum()) <= 5 for bank in parts.banks)
