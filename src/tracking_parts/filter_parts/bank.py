"""Parts of one size: their filters, where they sit relative to the object, their roles and their record."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracking_parts.filter_parts.learning import LearnedParts
from tracking_parts.filter_parts.patches import Size
from tracking_parts.geometry import Point
from tracking_parts.roles import Role

Matrix = NDArray[np.float64]  # [2, 2], acts on (x, y)
IDENTITY: Matrix = np.eye(2)

PART_ARRAYS = ("shifts", "fractions", "anchors", "ids", "roles", "hits", "seen")  # of a bank, one row per part


@dataclass(frozen=True)
class PartBank:
    """Structure of arrays over m parts; every change gives a new bank.

    A part learned with its patch at ``top`` while the object's centre lay at ``centre`` votes, where it responds at
    ``u``, for the centre ``u + (centre − top)``. That displacement is kept as a whole number of cells (``shifts``)
    and the rest (``fractions``).
    """

    size: Size
    filters: Tensor  # [m, c, rows, columns]
    shifts: NDArray[np.int64]  # [m, 2] (row, column)
    fractions: NDArray[np.float32]  # [m, 2] (x, y), within ± half a cell; equal for all parts learned on one frame
    anchors: NDArray[np.float32]  # [m, 2] (x, y) where the part sits on the first frame's outline, in cells
    ids: NDArray[np.int64]  # [m] in order of birth
    roles: NDArray[np.int8]  # [m]
    hits: NDArray[np.int64]  # [m] agreements since the last test
    seen: NDArray[np.int64]  # [m] frames observed since the last test

    @classmethod
    def from_learned(
        cls, learned: LearnedParts, centre_in_map: Point, role: Role, first_id: int, outline: Matrix = IDENTITY
    ) -> PartBank:
        """``outline`` maps the first frame's outline to the present one, at the crop's scale: [2, 2]."""
        count = len(learned.tops)
        half = (np.array(learned.size) - 1) / 2
        offsets = (learned.tops + half)[:, ::-1] - np.array(centre_in_map)  # (x, y)
        centre_cell = np.array([round(centre_in_map[1]), round(centre_in_map[0])])
        fraction = np.array([centre_in_map[0] - centre_cell[1], centre_in_map[1] - centre_cell[0]], dtype=np.float32)
        return cls(
            size=learned.size,
            filters=learned.filters,
            shifts=(centre_cell - learned.tops).astype(np.int64),
            fractions=np.repeat(fraction[None], count, axis=0),
            anchors=np.linalg.solve(outline, offsets.T).T.astype(np.float32),
            ids=first_id + np.arange(count, dtype=np.int64),
            roles=np.full(count, role, dtype=np.int8),
            hits=np.zeros(count, dtype=np.int64),
            seen=np.zeros(count, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def voting(self) -> NDArray[np.bool_]:
        return np.asarray(self.roles != Role.CANDIDATE)

    @property
    def offsets(self) -> NDArray[np.float32]:
        """From the object's centre to each part's centre, (x, y) in cells: [m, 2]."""
        half = np.array([(self.size[1] - 1) / 2, (self.size[0] - 1) / 2], dtype=np.float32)
        return np.asarray(half - self.shifts[:, ::-1] - self.fractions, dtype=np.float32)

    def join(self, other: PartBank) -> PartBank:
        """Both banks' parts; they are of one size."""
        return PartBank(
            size=self.size,
            filters=torch.cat([self.filters, other.filters]),
            **{name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in PART_ARRAYS},
        )

    def keep(self, mask: NDArray[np.bool_]) -> PartBank:
        """Only the parts where ``mask`` is true."""
        if mask.all():
            return self
        return PartBank(
            size=self.size,
            filters=self.filters[torch.as_tensor(np.flatnonzero(mask), device=self.filters.device)],
            **{name: getattr(self, name)[mask] for name in PART_ARRAYS},
        )

    def observed(self, agreed: NDArray[np.bool_]) -> PartBank:
        """One more frame on record; gold parts are not monitored."""
        monitored = self.roles != Role.GOLD
        return replace(self, hits=self.hits + (agreed & monitored), seen=self.seen + monitored)

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """f_i: how often each part agreed since the last test."""
        return np.asarray(self.hits / np.maximum(self.seen, 1))

    def similarity(self, parts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Normalised dot products of some parts' classifiers with those of all parts: [len(parts), m]."""
        filters = self.filters.flatten(1)
        own = filters[torch.as_tensor(parts, device=filters.device)]
        lengths = filters.norm(dim=1).clamp_min(1e-12)
        products = torch.nn.functional.normalize(own, dim=1) @ filters.T / lengths
        return np.asarray(products.double().cpu().numpy())
