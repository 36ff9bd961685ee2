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
from tracking_parts.voting import shift_by_fraction

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
        voters = [bank.keep(bank.voting) for bank in banks if bank.voting.any()]
        if not voters:
            return None
        # A fraction of a cell moves a filter by up to one cell to either side.
        top = np.min([-bank.shifts.max(axis=0) for bank in voters], axis=0) - 1
        end = np.max([np.array(bank.size) - bank.shifts.min(axis=0) for bank in voters], axis=0) + 1
        fractions = np.unique(np.concatenate([bank.fractions for bank in voters]), axis=0)
        sums = _sums_by_fraction(voters, fractions, top, end - top)
        moved = [shift_by_fraction(one, (-float(x), -float(y))) for one, (x, y) in zip(sums, fractions, strict=True)]
        total = torch.stack(moved).sum(dim=0) / sum(len(bank) for bank in voters)
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


def _sums_by_fraction(
    banks: Sequence[PartBank], fractions: NDArray[np.float32], top: NDArray[np.int64], shape: NDArray[np.int64]
) -> Tensor:
    """The parts' filters summed where they lie on a canvas that begins at ``top``.

    One canvas per fraction of a cell, which is one per learning frame: [f, c, *shape].
    """
    height, width = shape.tolist()
    channels = banks[0].filters.shape[1]
    canvas = banks[0].filters.new_zeros(len(fractions) * height * width, channels)
    for bank in banks:
        group = (bank.fractions[:, None] == fractions).all(axis=2).argmax(axis=1)  # [m]
        rows, columns = (-bank.shifts - top).T
        first = (group * height + rows) * width + columns
        cells = np.add.outer(np.arange(bank.size[0]) * width, np.arange(bank.size[1])).ravel()
        index = torch.as_tensor(np.add.outer(first, cells).ravel(), device=canvas.device)
        canvas.index_add_(0, index, bank.filters.flatten(2).transpose(1, 2).reshape(-1, channels))
    return canvas.view(len(fractions), height, width, channels).permute(0, 3, 1, 2)


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
