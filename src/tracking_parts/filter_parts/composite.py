"""Voting as one filter: a sum of shifted correlations is one correlation with the sum of the shifted filters.

Nothing non-linear happens to a part's activation map before F_t is averaged, so the voting parts are summed before the
frame is seen and not after: F_t costs the same however many they are. Fractions of a cell are linear too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracking_parts.filter_parts.bank import PartBank

Shape = tuple[int, int]


@dataclass(frozen=True)
class CompositeFilter:
    """The mean of the voting parts' filters, each where it lies as seen from the centre that it votes for."""

    weights: Tensor  # [c, rows, columns]
    top: tuple[int, int]  # row and column of the first cell, from the centre voted for
    _spectra: dict[Shape, Tensor] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of_voters(cls, banks: Sequence[PartBank]) -> CompositeFilter | None:
        """The filter of all parts that vote; None where nobody does."""
        banks = [bank for bank in banks if bank.voting.any()]
        if not banks:
            return None
        # A fraction of a cell moves a filter by up to one cell to either side.
        top = np.min([-bank.shifts[bank.voting].max(axis=0) for bank in banks], axis=0) - 1
        end = np.max([bank.size - bank.shifts[bank.voting].min(axis=0) for bank in banks], axis=0) + 1
        sums = [_laid_out(bank, top, end - top) for bank in banks]
        total = torch.stack(sums).sum(dim=0) / sum(int(bank.voting.sum()) for bank in banks)
        return cls(total, (int(top[0]), int(top[1])))

    def __call__(self, features: Tensor) -> Tensor:
        """F_t before smoothing: what is outside the map [c, h, w] counts as zero; [h, w].

        By Fourier transform: its cost does not depend on the size of the filter either.
        """
        height, width = features.shape[1:]
        shape = (self._length(height, axis=0), self._length(width, axis=1))
        if shape not in self._spectra:
            self._spectra[shape] = torch.fft.rfft2(self.weights, shape).conj().resolve_conj()
        product = (torch.fft.rfft2(features, shape) * self._spectra[shape]).sum(dim=0)
        votes: Tensor = torch.fft.irfft2(product, shape)
        return votes.roll((-self.top[0], -self.top[1]), dims=(0, 1))[:height, :width]

    def _length(self, cells: int, axis: int) -> int:
        """Length of the transform at which what leaves the map on one side does not come back on the other."""
        before, after = -self.top[axis], self.top[axis] + self.weights.shape[1 + axis] - 1
        return fast_length(cells + max(before, after, 0))


def _laid_out(bank: PartBank, top: NDArray[np.int64], shape: NDArray[np.int64]) -> Tensor:
    """The filters of a bank's voters summed where they lie on a canvas that begins at ``top``: [c, *shape].

    One that lies between cells is shared out among the four whole places around. So there is one sum of filters per
    place, however many parts there are and however many frames they were learned on.
    """
    places = shape - bank.size + 1
    voters = np.flatnonzero(bank.voting)
    lies_at = (-bank.shifts - bank.fractions[:, ::-1] - top)[voters]  # [v, 2] (row, column)
    before = np.floor(lies_at).astype(np.int64)
    past = lies_at - before
    shares = np.zeros((len(bank), *places), np.float32)  # who does not vote has none
    for row, column in np.ndindex(2, 2):
        share = np.abs(1 - row - past[:, 0]) * np.abs(1 - column - past[:, 1])
        shares[voters, before[:, 0] + row, before[:, 1] + column] = share
    sums = bank.filters.flatten(1).T @ torch.as_tensor(shares, device=bank.filters.device).flatten(1)
    return torch.nn.functional.fold(sums, shape.tolist(), bank.size)


def fast_length(length: int) -> int:
    """The next length whose Fourier transform is fast: no prime factor above 5.

    >>> [fast_length(n) for n in (1, 7, 31, 41)]
    [1, 8, 32, 45]
    """
    rest = length
    for prime in (2, 3, 5):
        while rest % prime == 0:
            rest //= prime
    return length if rest == 1 else fast_length(length + 1)
