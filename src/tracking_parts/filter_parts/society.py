"""The FilterParts pathway: hundreds of linear parts that vote, are watched, rise and fall (paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracking_parts.config import TrackerConfig
from tracking_parts.filter_parts.bank import IDENTITY, Matrix, PartBank
from tracking_parts.filter_parts.composite import CompositeFilter
from tracking_parts.filter_parts.learning import learn_parts
from tracking_parts.filter_parts.patches import Size
from tracking_parts.filter_parts.references import DualParts, References
from tracking_parts.geometry import Box, Point
from tracking_parts.roles import Role, next_roles
from tracking_parts.threads import side_by_side
from tracking_parts.voting import Peaks, refine_peaks, smooth


@dataclass(frozen=True)
class PartVotes:
    """What every part said about one frame, in the order of the banks."""

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


@dataclass(frozen=True)
class _Register:
    """What is known of all parts between two changes, in the order of the banks; read only, as votes share it."""

    displacements: NDArray[np.float32]  # [n, 2] (x, y) from where a part responds to the centre it votes for
    offsets: NDArray[np.float32]
    anchors: NDArray[np.float32]
    roles: NDArray[np.int8]
    ids: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, banks: Sequence[PartBank]) -> _Register:
        return cls(
            displacements=_stack([bank.shifts[:, ::-1] + bank.fractions for bank in banks], (0, 2), np.float32),
            offsets=_stack([bank.offsets for bank in banks], (0, 2), np.float32),
            anchors=_stack([bank.anchors for bank in banks], (0, 2), np.float32),
            roles=_stack([bank.roles for bank in banks], (0,), np.int8),
            ids=_stack([bank.ids for bank in banks], (0,), np.int64),
            sizes=_stack([np.tile(bank.size, (len(bank), 1)) for bank in banks], (0, 2), np.int64),
        )


class FilterParts:
    """All living parts of one object."""

    def __init__(self, config: TrackerConfig) -> None:
        self._config = config
        self._banks: dict[Size, PartBank] = {}
        self._references = References(config.max_references)
        self._next_id = 0
        self._learnings = 0
        self._changed()

    def __len__(self) -> int:
        return sum(len(bank) for bank in self._banks.values())

    @property
    def banks(self) -> tuple[PartBank, ...]:
        return tuple(self._banks.values())

    @property
    def next_id(self) -> int:
        return self._next_id

    @property
    def references(self) -> tuple[DualParts, ...]:
        return self._references.alive

    def restore(self, banks: Iterable[PartBank], next_id: int, references: Iterable[DualParts] = ()) -> None:
        """Continue from saved banks and references."""
        self._banks = {bank.size: bank for bank in banks}
        self._next_id = next_id
        self._references.restore(references)
        self._learnings = 1 + max(self._references.frames, default=-1)
        self._changed()

    def _changed(self) -> None:
        """Who lives or votes has changed: what follows from it is made anew when it is next needed."""
        self._composite: CompositeFilter | None = None
        self._register: _Register | None = None

    def vote(self, features: Tensor) -> Tensor:
        """F_t: activation maps shifted by the parts' displacements, averaged over voting parts, smoothed: [h, w].

        A part that lies partly outside the map responds to what is inside.
        """
        if self._composite is None:
            self._composite = CompositeFilter.of_voters(self.banks)
        if self._composite is None:
            return torch.zeros(features.shape[1:], device=features.device)
        return smooth(self._composite(features), self._config.vote_sigma)

    def hear(self, features: Tensor) -> PartVotes:
        """Each part's own vote: the centre that it votes for where it responds most, itself wholly in the map."""
        return self.gather(side_by_side(self.hearings(features)))

    def hearings(self, features: Tensor) -> list[Callable[[], list[Peaks]]]:
        """The work of :meth:`hear` in independent pieces, whose answers :meth:`gather` puts together.

        A piece per size; on a device all of them in one, so that it is waited for once.
        """
        if features.device.type != "cpu":
            return [partial(self._hear_on_device, features)]
        return [partial(self._hear_bank, bank, features) for bank in self.banks]

    def gather(self, heard: Iterable[list[Peaks]]) -> PartVotes:
        """The parts' votes, from where the parts of each size respond most."""
        if self._register is None:
            self._register = _Register.of(self.banks)
        register, peaks = self._register, list(chain.from_iterable(heard))
        return PartVotes(
            positions=_stack([places for places, _ in peaks], (0, 2), np.float32) + register.displacements,
            strengths=_stack([strengths for _, strengths in peaks], (0,), np.float32),
            offsets=register.offsets,
            anchors=register.anchors,
            roles=register.roles,
            ids=register.ids,
            sizes=register.sizes,
        )

    def _hear_bank(self, bank: PartBank, features: Tensor) -> list[Peaks]:
        return [refine_peaks(self._references.responses(features, bank).numpy())]

    def _hear_on_device(self, features: Tensor) -> list[Peaks]:
        maps = self._responses(features)
        if not maps:
            return []
        together = torch.cat([one.flatten() for one in maps]).cpu()
        pieces = torch.split(together, [one.numel() for one in maps])
        return [refine_peaks(piece.view(one.shape).numpy()) for piece, one in zip(pieces, maps, strict=True)]

    def _responses(self, features: Tensor) -> list[Tensor]:
        return [self._references.responses(features, bank) for bank in self.banks]

    def learn(
        self,
        features: Tensor,
        edges: NDArray[np.float32],
        box_in_map: Box,
        role: Role,
        outline: Matrix = IDENTITY,
        picture_in_map: Box | None = None,
    ) -> int:
        """Learn parts from one frame and add them with the given role; gives their number.

        ``outline`` is the object's present linear map (:class:`box_estimation.Shape`): parts learned on a turned object
        are remembered by where they sit on it unturned. Of what lies outside the picture, if told, nothing is learned.
        """
        before = self._next_id
        duals = []
        for learned in learn_parts(features, edges, box_in_map, self._config, picture_in_map):
            fresh = PartBank.from_learned(learned, box_in_map.centre, role, self._next_id, outline)
            self._next_id += len(fresh)
            if learned.dual is not None:
                duals.append(DualParts(self._learnings, fresh.size, learned.dual, fresh.ids))
            known = self._banks.get(fresh.size)
            joined = fresh if known is None else known.join(fresh)
            is_fresh = np.isin(joined.ids, fresh.ids)
            self._banks[fresh.size] = keep_budget(joined, is_fresh & joined.voting, self._config.n_max)
        self._learnings += 1
        self._references.settle(self._ids(), duals)
        self._changed()
        return self._next_id - before

    def observe(self, agreed: NDArray[np.bool_]) -> None:
        """Put on record which parts agreed with the chosen centre; in the order of :meth:`hear`."""
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
        self._references.settle(self._ids())
        self._changed()
        return promoted, removed

    def _ids(self) -> NDArray[np.int64]:
        return _stack([bank.ids for bank in self.banks], (0,), np.int64)


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
        similarity = bank.similarity(new_indices)[:, older].max(axis=1)
    else:
        similarity = np.arange(len(new_indices), dtype=float)  # nobody older to resemble: the youngest go
    dropped = new_indices[np.argsort(-similarity, kind="stable")[:excess]]
    stays = np.ones(len(bank), dtype=bool)
    stays[dropped] = False
    return bank.keep(stays)


def _stack(arrays: Sequence[NDArray[Any]], empty: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    stacked = np.concatenate(arrays).astype(dtype) if arrays else np.zeros(empty, dtype)
    stacked.flags.writeable = False
    return stacked
