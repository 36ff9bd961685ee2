"""The FilterParts pathway: hundreds of linear parts that vote, are watched, rise and fall (paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracking_parts.config import TrackerConfig
from tracking_parts.filter_parts.bank import IDENTITY, Matrix, PartBank
from tracking_parts.filter_parts.learning import learn_parts
from tracking_parts.filter_parts.patches import Size
from tracking_parts.geometry import Box, Point
from tracking_parts.roles import Role, next_roles
from tracking_parts.voting import refine_peaks, shift_by_fraction, smooth


@dataclass(frozen=True)
class PartVotes:
    """What every part said about one frame, in the order of the banks, and their common vote map."""

    vote_map: Tensor  # F_t: [h, w]
    positions: NDArray[np.float32]  # [n, 2] (x, y) of each part's strongest vote for the centre
    strengths: NDArray[np.float32]  # [n]
    offsets: NDArray[np.float32]  # [n, 2] (x, y)
    anchors: NDArray[np.float32]  # [n, 2] (x, y)
    roles: NDArray[np.int8]  # [n]
    ids: NDArray[np.int64]  # [n]
    sizes: NDArray[np.int64]  # [n, 2]

    @property
    def voting(self) -> NDArray[np.bool_]:
        return np.asarray(self.roles != Role.CANDIDATE)

    def agreement(self, centre_in_map: Point, radius: float) -> NDArray[np.bool_]:
        """Which parts' votes fall near a centre: [n]."""
        distance = np.hypot(self.positions[:, 0] - centre_in_map[0], self.positions[:, 1] - centre_in_map[1])
        return np.asarray(distance <= radius)


class FilterParts:
    """All living parts of one object."""

    def __init__(self, config: TrackerConfig) -> None:
        self._config = config
        self._banks: dict[Size, PartBank] = {}
        self._next_id = 0

    def __len__(self) -> int:
        return sum(len(bank) for bank in self._banks.values())

    @property
    def banks(self) -> tuple[PartBank, ...]:
        return tuple(self._banks.values())

    @property
    def next_id(self) -> int:
        return self._next_id

    def restore(self, banks: Iterable[PartBank], next_id: int) -> None:
        """Continue from saved banks."""
        self._banks = {bank.size: bank for bank in banks}
        self._next_id = next_id

    def vote(self, features: Tensor) -> PartVotes:
        """F_t: activation maps shifted by the parts' displacements, averaged over voting parts, smoothed."""
        height, width = features.shape[1:]
        total = torch.zeros(height, width, device=features.device)
        positions, strengths = [], []
        voters = 0
        for bank in self._banks.values():
            votes = bank.centre_votes(features)
            total += _sum_of_voters(votes, bank)
            voters += int(bank.voting.sum())
            peaks, values = refine_peaks(votes)
            positions.append(peaks + bank.fractions)
            strengths.append(values)
        return PartVotes(
            vote_map=smooth(total / max(voters, 1), self._config.vote_sigma),
            positions=_stack(positions, (0, 2), np.float32),
            strengths=_stack(strengths, (0,), np.float32),
            offsets=_stack([bank.offsets for bank in self.banks], (0, 2), np.float32),
            anchors=_stack([bank.anchors for bank in self.banks], (0, 2), np.float32),
            roles=_stack([bank.roles for bank in self.banks], (0,), np.int8),
            ids=_stack([bank.ids for bank in self.banks], (0,), np.int64),
            sizes=_stack([np.tile(bank.size, (len(bank), 1)) for bank in self.banks], (0, 2), np.int64),
        )

    def learn(
        self, features: Tensor, edges: NDArray[np.float32], box_in_map: Box, role: Role, outline: Matrix = IDENTITY
    ) -> int:
        """Learn parts from one frame and add them with the given role; gives their number.

        ``outline`` is the object's present linear map (:class:`box_estimation.Shape`): parts learned on a turned object
        are remembered by where they sit on it unturned.
        """
        before = self._next_id
        for learned in learn_parts(features, edges, box_in_map, self._config):
            fresh = PartBank.from_learned(learned, box_in_map.centre, role, self._next_id, outline)
            self._next_id += len(fresh)
            known = self._banks.get(fresh.size)
            joined = fresh if known is None else known.join(fresh)
            is_fresh = np.isin(joined.ids, fresh.ids)
            self._banks[fresh.size] = keep_budget(joined, is_fresh & joined.voting, self._config.n_max)
        return self._next_id - before

    def observe(self, agreed: NDArray[np.bool_]) -> None:
        """Put on record which parts agreed with the chosen centre; in the order of :meth:`vote`."""
        start = 0
        for size, bank in self._banks.items():
            self._banks[size] = bank.observed(agreed[start : start + len(bank)])
            start += len(bank)

    def test_roles(self) -> tuple[int, int]:
        """Every U frames: promote and remove by frequency, keep the budget; gives (promoted, removed)."""
        promoted = removed = 0
        for size, bank in list(self._banks.items()):
            tested = _test_bank(bank, self._config)
            before = dict(zip(bank.ids.tolist(), bank.roles.tolist(), strict=True))
            promoted += sum(
                role > before[i] for i, role in zip(tested.ids.tolist(), tested.roles.tolist(), strict=True)
            )
            removed += len(bank) - len(tested)
            if len(tested):
                self._banks[size] = tested
            else:
                del self._banks[size]
        return promoted, removed


def _test_bank(bank: PartBank, config: TrackerConfig) -> PartBank:
    roles, stays = next_roles(bank.roles, bank.frequencies, config.p_plus, config.p_minus)
    untested = bank.seen == 0  # learned on this very frame: nothing on record yet
    roles = np.where(untested, bank.roles, roles).astype(np.int8)
    newly_voting = (roles != Role.CANDIDATE) & (bank.roles == Role.CANDIDATE)
    fresh_record = np.zeros_like(bank.hits)
    tested = replace(bank, roles=roles, hits=fresh_record, seen=fresh_record.copy())
    stays = stays | untested
    return keep_budget(tested.keep(stays), newly_voting[stays], config.n_max)


def keep_budget(bank: PartBank, newly_voting: NDArray[np.bool_], n_max: int) -> PartBank:
    """At most ``n_max`` voting parts: drop the newly voting ones that are most similar to older parts.

    Older parts are never dropped, so the budget binds only what is new.
    """
    excess = int(bank.voting.sum()) - n_max
    if excess <= 0 or not newly_voting.any():
        return bank
    older = bank.voting & ~newly_voting
    new_indices = np.flatnonzero(newly_voting)
    if older.any():
        similarity = bank.keep(newly_voting).similarity_to(bank.keep(older))
    else:
        similarity = np.arange(len(new_indices), dtype=float)  # nobody older to resemble: the youngest go
    dropped = new_indices[np.argsort(-similarity, kind="stable")[:excess]]
    stays = np.ones(len(bank), dtype=bool)
    stays[dropped] = False
    return bank.keep(stays)


def _sum_of_voters(votes: Tensor, bank: PartBank) -> Tensor:
    """Sum of the voting parts' maps, each moved by its fraction of a cell (one move per learning frame)."""
    total = torch.zeros_like(votes[0])
    fractions, groups = np.unique(bank.fractions, axis=0, return_inverse=True)
    for group, fraction in enumerate(fractions):
        members = np.flatnonzero(bank.voting & (groups.reshape(-1) == group))
        if len(members):
            summed = votes[torch.as_tensor(members, device=votes.device)].sum(dim=0)
            total += shift_by_fraction(summed, (float(fraction[0]), float(fraction[1])))
    return total


def _stack(arrays: Sequence[NDArray[Any]], empty: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(arrays).astype(dtype) if arrays else np.zeros(empty, dtype)
