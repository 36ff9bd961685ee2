"""Responding in the dual: parts learned on one frame share its patches, ``c_iᵀ x(u) = a_iᵀ (D x(u))``.

``D x(u)``, the products of that frame's patches with every place u, follows from products of single cells and sums
along displacements (:func:`correlation.responses_of_patches`). That is paid once for all parts of a reference frame,
so it is worth it for large patches, many channels and many parts; :func:`dual_pays` counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracking_parts.filter_parts.bank import PartBank
from tracking_parts.filter_parts.correlation import correlate, displacement_sums_cost, responses_of_patches
from tracking_parts.filter_parts.learning import DualForm
from tracking_parts.filter_parts.patches import Size


@dataclass(frozen=True)
class DualParts:
    """Parts of one size that respond by way of the frame they were learned on."""

    frame: int  # the number of the learning, by which parts of several sizes share a reference frame
    size: Size
    form: DualForm  # one column of coefficients per part
    ids: NDArray[np.int64]  # [m], ascending

    def __len__(self) -> int:
        return len(self.ids)

    def responses(self, search: Tensor) -> Tensor:
        """Of every part at every place of a map [c, h, w]: [m, h − r + 1, w − s + 1]."""
        of_patches = responses_of_patches(self.form.reference, search, self.form.patches, self.size)
        places = of_patches.shape[1:]
        return (self.form.coefficients.T @ of_patches.flatten(1)).view(-1, *places)

    def keep(self, living: NDArray[np.int64]) -> DualParts:
        """Only the parts that live."""
        stays = np.isin(self.ids, living)
        return self if stays.all() else replace(self, form=self.form.keep(np.flatnonzero(stays)), ids=self.ids[stays])

    @property
    def pays(self) -> bool:
        channels, height, width = self.form.reference.shape
        return dual_pays(len(self), len(self.form.patches), channels, (height, width), self.size)


def dual_pays(parts: int, patches: int, channels: int, shape: tuple[int, int], size: Size) -> bool:
    """Whether so many parts of one reference frame respond faster in the dual than by their filters.

    >>> dual_pays(200, 500, 256, (64, 64), (17, 17)), dual_pays(20, 500, 256, (64, 64), (17, 17))
    (True, False)
    >>> dual_pays(200, 200, 64, (32, 32), (3, 3))
    False
    """
    places = (shape[0] - size[0] + 1) * (shape[1] - size[1] + 1)
    by_filters = parts * places * channels * size[0] * size[1]
    in_the_dual = displacement_sums_cost(channels, shape, shape, size) + parts * places * patches
    return in_the_dual < by_filters


class References:
    """The reference frames that are still alive, at most ``limit``.

    Every part has its filter too. To fold a reference away is to go on by the filters of its parts, which is exact;
    only what a frame costs changes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._alive: list[DualParts] = []
        self._plans: dict[Size, _Plan] = {}

    @property
    def alive(self) -> tuple[DualParts, ...]:
        return tuple(self._alive)

    @property
    def frames(self) -> tuple[int, ...]:
        """The learnings whose frames are kept, oldest first."""
        return tuple(sorted({dual.frame for dual in self._alive}))

    def restore(self, alive: Iterable[DualParts]) -> None:
        """Continue from saved references."""
        self._alive, self._plans = list(alive), {}

    def settle(self, living: NDArray[np.int64], learned: Iterable[DualParts] = ()) -> None:
        """Forget the dead, take in what was learned, and fold what does not pay or is too much.

        Too many reference frames: the one with the fewest living parts is folded, of equals the oldest.
        """
        kept = [dual.keep(living) for dual in (*self._alive, *learned)]
        self._alive = [dual for dual in kept if len(dual) and dual.pays]
        while len(self.frames) > self._limit:
            emptiest = min(self.frames, key=self._population)  # the first, which is the oldest, of equals
            self._alive = [dual for dual in self._alive if dual.frame != emptiest]
        self._plans = {}

    def responses(self, search: Tensor, bank: PartBank) -> Tensor:
        """Activation maps of a bank's parts over a map [c, h, w], each the cheaper way: [m, h', w']."""
        search = _with_room(search, bank.size)
        duals = [dual for dual in self._alive if dual.size == bank.size]
        if bank.size not in self._plans:
            self._plans[bank.size] = _Plan.of(bank, duals)
        plan = self._plans[bank.size]
        found = [*(dual.responses(search) for dual in duals), *plan.responses(search)]
        return torch.cat(found)[plan.order] if duals else torch.cat(found)

    def _population(self, frame: int) -> int:
        return sum(len(dual) for dual in self._alive if dual.frame == frame)


def _with_room(search: Tensor, size: Size) -> Tensor:
    """The map, with nothing added on the right and below where a part learned on a wider look would not fit into it."""
    missing = [max(part - cells, 0) for part, cells in zip(size, search.shape[1:], strict=True)]
    return torch.nn.functional.pad(search, (0, missing[1], 0, missing[0])) if any(missing) else search


@dataclass(frozen=True)
class _Plan:
    """Which parts of a bank respond by their filters; holds until the parts change.

    What computes convolutions prepares code for every number of filters that it sees and keeps it, a hundred kilobytes
    each, and the number of parts changes all the time. So a round number of filters is taken as they are, and the rest
    filled up with zeros to one.
    """

    filters: Tensor  # [m', c, r, s]; the bank's own where all respond by them
    filled_up: Tensor  # the last of them, and zeros
    order: Tensor  # [m] from the duals' parts, then those of the filters, to the bank's order

    @classmethod
    def of(cls, bank: PartBank, duals: Sequence[DualParts]) -> _Plan:
        in_the_dual = np.concatenate([np.zeros(0, np.int64), *(dual.ids for dual in duals)])
        direct = ~np.isin(bank.ids, in_the_dual)
        order = np.argsort(np.concatenate([in_the_dual, bank.ids[direct]]))  # a bank's ids ascend
        filters = bank.keep(direct).filters
        last = filters[len(filters) // ROUND * ROUND :]
        filled_up = filters.new_zeros(round_number(len(last)), *filters.shape[1:])
        filled_up[: len(last)] = last
        return cls(filters, filled_up, torch.as_tensor(order, device=filters.device))

    def responses(self, search: Tensor) -> list[Tensor]:
        """Of the parts that respond by their filters, in pieces."""
        whole = len(self.filters) // ROUND * ROUND
        pieces = [correlate(search, self.filters[:whole])] if whole else []
        if whole < len(self.filters):
            pieces.append(correlate(search, self.filled_up)[: len(self.filters) - whole])
        return pieces


ROUND = 32


def round_number(count: int) -> int:
    """The next power of two.

    >>> [round_number(n) for n in (0, 1, 3, 17)]
    [0, 1, 4, 32]
    """
    return 1 << (count - 1).bit_length() if count else 0
