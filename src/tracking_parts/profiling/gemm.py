"""What this machine can do: its speed at what it does best, the product of two large matrices in single precision."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

SIZES = (768, 1536)


def measure_gemm_peak(seconds: float = 1.0, sizes: Sequence[int] = SIZES) -> float:
    """Operations per second of the fastest product seen, with as many threads as torch now has.

    The fastest and not the mean: whoever else uses the machine can only make it look slower.
    """
    best = 0.0
    for size in sizes:
        generator = torch.Generator().manual_seed(0)
        first, second = (torch.rand((size, size), generator=generator) for _ in range(2))
        product = torch.empty(size, size)
        end = time.perf_counter() + seconds / len(sizes)
        while True:
            begun = time.perf_counter()
            torch.mm(first, second, out=product)
            done = time.perf_counter()
            best = max(best, 2 * size**3 / (done - begun))
            if done >= end:
                break
    return best
