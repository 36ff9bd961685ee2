"""The transition between roles, as a table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracking_parts.roles import Role, next_role, next_roles

P_PLUS, P_MINUS = 0.2, 0.1

TABLE = [
    # role, frequency, next role (None: removed)
    (Role.CANDIDATE, 0.0, None),
    (Role.CANDIDATE, 0.05, None),
    (Role.CANDIDATE, 0.1, None),  # f = p−: does not pass
    (Role.CANDIDATE, 0.15, Role.CANDIDATE),
    (Role.CANDIDATE, 0.2, Role.CANDIDATE),  # f = p+: not yet
    (Role.CANDIDATE, 0.21, Role.RELIABLE),
    (Role.CANDIDATE, 1.0, Role.RELIABLE),  # one role at a time
    (Role.RELIABLE, 0.0, None),
    (Role.RELIABLE, 0.1, None),
    (Role.RELIABLE, 0.11, Role.RELIABLE),
    (Role.RELIABLE, 0.2, Role.RELIABLE),
    (Role.RELIABLE, 0.21, Role.GOLD),
    (Role.RELIABLE, 1.0, Role.GOLD),
    (Role.GOLD, 0.0, Role.GOLD),  # permanent
    (Role.GOLD, 0.1, Role.GOLD),
    (Role.GOLD, 0.15, Role.GOLD),
    (Role.GOLD, 1.0, Role.GOLD),
]


@pytest.mark.parametrize(("role", "frequency", "expected"), TABLE)
def test_transition(role: Role, frequency: float, expected: Role | None) -> None:
    assert next_role(role, frequency, P_PLUS, P_MINUS) is expected


@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("role", [Role.CANDIDATE, Role.RELIABLE])
def test_equal_thresholds_leave_nobody_in_place(role: Role, threshold: float) -> None:
    for frequency in (0.0, 0.3, 1.0):
        after = next_role(role, frequency, threshold, threshold)
        assert after is (Role(role + 1) if frequency > threshold else None)


def test_who_votes() -> None:
    assert [role.votes for role in Role] == [False, True, True]


FREQUENCIES = st.one_of(st.floats(0, 1), st.sampled_from([0.1, 0.2]))


@given(st.lists(st.tuples(st.sampled_from(list(Role)), FREQUENCIES), max_size=20))
def test_many_at_once_is_one_by_one(parts: list[tuple[Role, float]]) -> None:
    roles = np.array([role for role, _ in parts], dtype=np.int8)
    frequencies = np.array([frequency for _, frequency in parts], dtype=np.float64)
    before = roles.copy()
    after, stays = next_roles(roles, frequencies, P_PLUS, P_MINUS)
    expected = [next_role(role, frequency, P_PLUS, P_MINUS) for role, frequency in parts]
    assert stays.tolist() == [role is not None for role in expected]
    assert after[stays].tolist() == [int(role) for role in expected if role is not None]
    assert np.array_equal(roles, before)
