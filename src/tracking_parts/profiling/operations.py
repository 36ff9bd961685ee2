"""Floating-point work, counted and not estimated: the trunk by its layers, the rest as torch does it.

Counted are convolutions, products of matrices, Cholesky factors, symmetric eigenvectors and Fourier transforms; sums,
maxima and whatever numpy or OpenCV do are not, and cost time rather than arithmetic. A multiplication and an addition
are two operations. The trunk's work is that of its definition: an engine that gets by with fewer multiplications
(Winograd's) may seem to exceed the machine's peak, and is meant to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from tracking_parts.trunk_engines import Maps, TrunkEngine
from tracking_parts.vgg import VGGLayer


def trunk_operations(layers: Iterable[VGGLayer], size_hw: tuple[int, int]) -> int:
    """Operations of one pass of the frozen layers over one crop.

    >>> from tracking_parts.vgg import layers_up_to
    >>> trunk_operations(layers_up_to(["conv1_1"]), (8, 8)) == 2 * 9 * 3 * 64 * 8 * 8
    True
    """
    height, width = size_hw
    return sum(2 * _products_per_cell(layer) * (height // layer.stride) * (width // layer.stride) for layer in layers)


def _products_per_cell(layer: VGGLayer) -> int:
    """Of a factorised layer: a 3x3 convolution to few channels, then a 1x1 convolution.

    >>> _products_per_cell(VGGLayer("conv1_1", 0, 3, 64, False, 1, rank=5)) == 9 * 3 * 5 + 5 * 64
    True
    """
    if layer.rank is None:
        return 9 * layer.in_channels * layer.out_channels
    return 9 * layer.in_channels * layer.rank + layer.rank * layer.out_channels


def _cubed(share: float) -> Callable[..., int]:
    """Operations of a matrix algorithm as a share of n³, for a batch of n x n matrices."""

    def count(shape: Sequence[int], *args: Any, **named: Any) -> int:
        return round(share * math.prod(shape[:-2]) * shape[-1] ** 3)

    return count


def _transform(per_term: float) -> Callable[..., int]:
    """Operations of Fourier transforms over the given axes: 5 n log2 n for complex numbers, half of it for real."""

    def count(shape: Sequence[int], axes: Sequence[int], *args: Any, out_shape: Sequence[int], **named: Any) -> int:
        terms = max(math.prod(shape), math.prod(out_shape))
        length = math.prod(max(shape[axis], out_shape[axis]) for axis in axes)
        return round(per_term * terms * math.log2(max(length, 2)))

    return count


class OperationCounter:
    """Counts what torch computes within :func:`counted_operations`; much slower than not counting."""

    def __init__(self) -> None:
        aten = torch.ops.aten
        more: dict[Any, Any] = {
            aten.linalg_cholesky_ex: _cubed(1 / 3),
            aten.cholesky_inverse: _cubed(2 / 3),
            aten._linalg_eigh: _cubed(9),
            aten._fft_r2c: _transform(2.5),
            aten._fft_c2r: _transform(2.5),
            aten._fft_c2c: _transform(5),
        }
        self.mode = FlopCounterMode(display=False, custom_mapping=more)
        self._correction = 0

    def read(self) -> float:
        """Operations so far."""
        return float(self.mode.get_total_flops() + self._correction)

    def charge(self, operations: int, instead_of: int) -> None:
        """Count these for some of what torch was seen to do."""
        self._correction += operations - instead_of


@contextmanager
def counted_operations() -> Iterator[OperationCounter]:
    """Count until the end of the block."""
    counter = OperationCounter()
    with ExitStack() as running:
        running.enter_context(counter.mode)
        yield counter


class CountedEngine:
    """An engine whose work is that of the layers' definition: some do it where torch cannot see."""

    def __init__(self, engine: TrunkEngine, layers: Sequence[VGGLayer], counter: OperationCounter) -> None:
        self.name = engine.name
        self._engine, self._layers, self._counter = engine, tuple(layers), counter

    def __call__(self, rgb: Tensor) -> Maps:
        before = self._counter.read()
        maps = self._engine(rgb)
        count, _, height, width = rgb.shape
        seen = round(self._counter.read() - before)
        work = trunk_operations(self._layers, (height, width))
        self._counter.charge(count * work, instead_of=seen)
        return maps

    def expect_batches(self) -> None:
        self._engine.expect_batches()

    def side_by_side(self) -> AbstractContextManager[bool]:
        return self._engine.side_by_side()
