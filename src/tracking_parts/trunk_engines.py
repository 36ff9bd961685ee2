"""What computes the frozen layers: torch everywhere, ncnn (Winograd convolutions) where it is installed.

The trunk is more than nine tenths of a frame's time on a CPU, and torch already multiplies matrices at the processor's
peak there. ncnn does fewer multiplications for the same result: about twice as fast, equal to torch to six digits. It
is an extra (``tracking-parts[ncnn]``), found at run time. Before it is used, its features are compared with torch's on
a picture; if they differ by more than :data:`TOLERANCE`, torch is used and a warning logged.
"""

from __future__ import annotations

import importlib
import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from tracking_parts.errors import ConfigError
from tracking_parts.threads import in_forked_child, trunk_threads
from tracking_parts.vgg import VGGLayer, layers_of

logger = logging.getLogger(__name__)

ENGINES = ("auto", "torch", "ncnn")
TOLERANCE = 1e-4  # largest difference from torch, in units of the map's largest value
CHECK_SIZE = 64  # pixels of the picture on which they are compared

Picture = np.ndarray[Any, np.dtype[np.float32]]  # [3, rows, columns], normalised
Maps = dict[str, Tensor]  # tap name -> [batch, channels, rows, columns]


class TrunkEngine(Protocol):
    """RGB in 0–1, [batch, 3, height, width], to the maps after each tap's ReLU."""

    name: str

    def __call__(self, rgb: Tensor) -> Maps: ...

    def expect_batches(self) -> None:
        """From now on most calls bring several pictures: whatever makes that faster may take time and memory now."""

    def side_by_side(self) -> AbstractContextManager[bool]:
        """While it lasts several threads call, and each call takes one; False: better bring all pictures at once."""


def check_engine(name: str) -> None:
    """Whether there is such an engine here; ``auto`` always finds one."""
    if name not in ENGINES:
        raise ConfigError(f"unknown engine {name!r}: choose one of {', '.join(ENGINES)}")
    if name == "ncnn" and _find_ncnn() is None:
        raise ConfigError("engine 'ncnn' is not installed: pip install 'tracking-parts[ncnn]'")


def installed_engines() -> tuple[str, ...]:
    """Those that can be used here."""
    return ("torch",) if _find_ncnn() is None else ("torch", "ncnn")


def choose_engine(
    name: str, torch_engine: TrunkEngine, weights: Mapping[str, Tensor], taps: Sequence[str], device: torch.device
) -> TrunkEngine:
    """The engine of that name; ``auto`` takes the fastest that is installed and agrees with torch."""
    check_engine(name)
    on_cpu, ncnn = device.type == "cpu", _find_ncnn()
    if name == "torch" or ncnn is None or (name == "auto" and not on_cpu):
        return torch_engine
    if not on_cpu:
        raise ConfigError(f"engine 'ncnn' runs on the cpu, not on {device}")
    engine = NcnnTrunk(ncnn, weights, taps)
    difference = largest_difference(engine, torch_engine)
    if difference <= TOLERANCE:
        return engine
    if name == "ncnn":
        raise ConfigError(f"engine 'ncnn' differs from torch by {difference:.1e} of a map's height: not used")
    logger.warning("ncnn differs from torch by %.1e of a map's height on this machine: torch is used", difference)
    return torch_engine


def largest_difference(engine: TrunkEngine, reference: TrunkEngine) -> float:
    """How far two engines are apart on one picture, in units of each map's largest value."""
    generator = torch.Generator().manual_seed(0)
    picture = torch.rand((1, 3, CHECK_SIZE, CHECK_SIZE), generator=generator)
    found, expected = engine(picture), reference(picture)
    return max(float((found[tap] - expected[tap]).abs().max() / expected[tap].abs().max()) for tap in expected)


def _find_ncnn() -> ModuleType | None:
    try:
        return importlib.import_module("ncnn")
    except ImportError:
        return None


class NcnnTrunk:
    """The trunk in ncnn, single precision only: reduced precision is never chosen unasked.

    A net is built for a number of threads. One picture is fastest with all of them; of a batch, pictures side by side
    with a thread each are, because threads that share a picture wait for each other after every layer. The second net
    for that (a quarter of a second, 120 MB) is built only where batches are to be expected. One large picture of all
    crops would share the reading of the weights, but only the deepest layers are bound by it: measured, no faster.
    """

    name = "ncnn"

    def __init__(self, ncnn: ModuleType, weights: Mapping[str, Tensor], taps: Sequence[str]) -> None:
        from tracking_parts.features import IMAGENET_MEAN_RGB, IMAGENET_STD_RGB

        self._ncnn = ncnn
        self._taps = tuple(taps)
        self._mean = np.array(IMAGENET_MEAN_RGB, np.float32).reshape(3, 1, 1)
        self._std = np.array(IMAGENET_STD_RGB, np.float32).reshape(3, 1, 1)
        self._weights = weights
        self._threads = trunk_threads()
        self._net = self._load(self._threads)
        self._one_thread_net: Any = None
        self._workers: ThreadPoolExecutor | None = None
        self._is_called_side_by_side = False

    def _load(self, threads: int) -> Any:
        layers = layers_of(self._weights, self._taps)
        net = self._new_net(threads)
        with tempfile.TemporaryDirectory() as folder:
            structure, numbers = Path(folder) / "trunk.param", Path(folder) / "trunk.bin"
            structure.write_text(structure_text(layers, self._taps), encoding="ascii")
            with numbers.open("wb") as stream:
                for layer in layers:
                    stream.write(layer_bytes(self._weights, layer))
            if net.load_param(str(structure)) != 0 or net.load_model(str(numbers)) != 0:
                raise ConfigError("ncnn cannot read the trunk that was written for it")
        return net

    def _new_net(self, threads: int) -> Any:
        net = self._ncnn.Net()
        net.opt.num_threads = threads
        net.opt.use_vulkan_compute = False
        for precision in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_packed", "bf16_storage"):
            if hasattr(net.opt, f"use_{precision}"):
                setattr(net.opt, f"use_{precision}", False)
        return net

    def expect_batches(self) -> None:
        if self._threads > 1 and self._workers is None:
            self._one_thread_net = self._load(threads=1)
            self._workers = ThreadPoolExecutor(self._threads, "ncnn")

    @contextmanager
    def side_by_side(self) -> Iterator[bool]:
        self._is_called_side_by_side = self._one_thread_net is not None
        try:
            yield self._is_called_side_by_side
        finally:
            self._is_called_side_by_side = False

    def __call__(self, rgb: Tensor) -> Maps:
        each = self._run_all([self._standardised(picture) for picture in rgb])
        if len(each) == 1:
            return {tap: torch.from_numpy(each[0][tap])[None] for tap in self._taps}
        return {tap: torch.from_numpy(np.stack([maps[tap] for maps in each])) for tap in self._taps}

    def _standardised(self, picture: Tensor) -> Picture:
        values: Picture = picture.numpy().copy(order="C")
        values -= self._mean
        values /= self._std
        return values

    def _run_all(self, pictures: Sequence[Picture]) -> list[dict[str, Any]]:
        """Pictures side by side if that was prepared; a last one that would leave the other threads idle has all."""
        if self._threads > 1 and in_forked_child():  # the other threads have stayed behind, and the workers
            self._net = self._load(threads=1) if self._one_thread_net is None else self._one_thread_net
            self._threads, self._workers = 1, None
        if self._is_called_side_by_side:
            return [self._run(self._one_thread_net, picture) for picture in pictures]
        if self._workers is None:
            return [self._run(self._net, picture) for picture in pictures]
        count = len(pictures) - (1 if len(pictures) % self._threads == 1 else 0)
        side_by_side = self._workers.map(partial(self._run, self._one_thread_net), pictures[:count])
        return [*side_by_side, *(self._run(self._net, picture) for picture in pictures[count:])]

    def _run(self, net: Any, picture: Picture) -> dict[str, Any]:
        extractor = net.create_extractor()
        extractor.input("picture", self._ncnn.Mat(picture))
        maps = {}
        for tap in self._taps:
            code, found = extractor.extract(tap)
            assert code == 0, f"ncnn could not compute {tap}"
            maps[tap] = np.array(found)  # a copy: ncnn's own memory goes with the extractor
        return maps


def structure_text(layers: Sequence[VGGLayer], taps: Sequence[str]) -> str:
    """The trunk in ncnn's text format: one line per step with its inputs, outputs and numbered parameters."""
    lines = ["Input picture 0 1 picture"]
    blobs, current = 1, "picture"
    for layer in layers:
        if layer.pool_before:
            lines.append(f"Pooling pool_{layer.name} 1 1 {current} pooled_{layer.name} 0=0 1=2 2=2")
            blobs, current = blobs + 1, f"pooled_{layer.name}"
        # 0: channels, 1: kernel, 4: padding, 5: has a bias, 6: number of weights, 9: followed by ReLU
        rank = layer.rank
        numbers = f"0={layer.out_channels} 1=3 4=1 5=1 6={layer.out_channels * layer.in_channels * 9} 9=1"
        if rank is not None:
            narrow = f"0={rank} 1=3 4=1 5=0 6={rank * layer.in_channels * 9} 9=0"
            lines.append(f"Convolution narrow_{layer.name} 1 1 {current} narrowed_{layer.name} {narrow}")
            blobs, current = blobs + 1, f"narrowed_{layer.name}"
            numbers = f"0={layer.out_channels} 1=1 4=0 5=1 6={layer.out_channels * rank} 9=1"
        inner = layer.name in taps and layer is not layers[-1]
        output = f"inner_{layer.name}" if inner else layer.name
        lines.append(f"Convolution {layer.name} 1 1 {current} {output} {numbers}")
        blobs, current = blobs + 1, output
        if inner:  # a map that is both told and used further must be split
            lines.append(f"Split split_{layer.name} 1 2 {output} {layer.name} on_{layer.name}")
            blobs, current = blobs + 2, f"on_{layer.name}"
    return "\n".join(["7767517", f"{len(lines)} {blobs}", *lines]) + "\n"


def layer_bytes(weights: Mapping[str, Tensor], layer: VGGLayer) -> bytes:
    """One layer in ncnn's binary format: for each step a tag (0: plain floats) and its weights, at the end the bias."""
    kinds = [kind for kind in ("weight", "mix", "bias") if f"{layer.name}.{kind}" in weights]
    arrays = {kind: weights[f"{layer.name}.{kind}"].detach().cpu().numpy().astype("<f4") for kind in kinds}
    tag = np.uint32(0).tobytes()
    return b"".join((b"" if kind == "bias" else tag) + array.tobytes() for kind, array in arrays.items())
