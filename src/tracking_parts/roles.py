"""Roles of filter parts (paper, section 3.1, "Reliability states"): candidate → reliable → gold, a pure transition.

A part's reliability f_i is the frequency with which its vote falls near the chosen centre. Every U frames it is tested:
above p+ it rises by one role, at or below p− it is removed, gold is permanent.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Role(IntEnum):
    """A part's standing in the society."""

    CANDIDATE = 0  # monitored, does not vote
    RELIABLE = 1  # monitored, votes
    GOLD = 2  # votes for ever, is not monitored

    @property
    def votes(self) -> bool:
        return self is not Role.CANDIDATE


def next_role(role: Role, frequency: float, p_plus: float, p_minus: float) -> Role | None:
    """The role after one test, or None when the part is removed.

    >>> next_role(Role.CANDIDATE, 0.5, p_plus=0.2, p_minus=0.1).name
    'RELIABLE'
    >>> next_role(Role.RELIABLE, 0.05, p_plus=0.2, p_minus=0.1) is None
    True
    """
    if role is Role.GOLD:
        return Role.GOLD
    if frequency > p_plus:
        return Role(role + 1)
    return None if frequency <= p_minus else role


def next_roles(
    roles: NDArray[np.int8], frequencies: NDArray[np.float64], p_plus: float, p_minus: float
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """:func:`next_role` for many parts at once: the new roles, and which parts stay."""
    gold = roles == Role.GOLD
    promoted = ~gold & (frequencies > p_plus)
    removed = ~gold & ~promoted & (frequencies <= p_minus)
    return (roles + promoted).astype(np.int8), ~removed
