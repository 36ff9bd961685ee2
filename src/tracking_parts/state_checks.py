"""Whether a saved state is of one piece: every tensor of its type and size, finite, and in keeping with the rest.

A state that is let in must be of use: what does not fit is refused here, not by some matrix product frames later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from tracking_parts.box_estimation import MAX_LEAN
from tracking_parts.camera import small_size
from tracking_parts.colour_part import COLOURS
from tracking_parts.config import TrackerConfig
from tracking_parts.errors import StateFileError, quoted
from tracking_parts.filter_parts.bank import PART_ARRAYS
from tracking_parts.frames import MIN_FRAME_SIDE
from tracking_parts.roles import Role
from tracking_parts.vgg import vgg_layer

LARGEST_SIDE = 1 << 16  # of a frame, in pixels
LARGEST_NUMBER = 10**12
LARGEST_PART = 1024  # cells
FARTHEST_SHIFT = 10**4  # of a part from the object's centre, in cells
LARGEST_IN_FRAMES = 64  # the object, in sides of the frame: so far could it have grown
_BANK_KINDS = {
    **{"shifts": torch.int64, "fractions": torch.float32, "anchors": torch.float32, "ids": torch.int64},
    **{"roles": torch.int8, "hits": torch.int64, "seen": torch.int64},
}
_PAIRS = ("shifts", "fractions", "anchors")
Shape = tuple[int | None, ...]


def check_state(values: Mapping[str, Any], tensors: Mapping[str, Tensor], config: TrackerConfig) -> None:
    """Raises :class:`StateFileError`, or what a missing or mistyped value raises: see ``damaged_state_errors``."""
    for name, tensor in tensors.items():
        if not bool(torch.isfinite(tensor).all()):
            raise StateFileError(f"the tracker state is damaged: {quoted(name)} is not finite")
    _check_plain(values)
    _check_place(values)
    _check_camera(values, tensors, config)
    _check_colour(values["colour"], tensors, config)
    channels = {name: _check_projection(name, tap, tensors) for name, tap in _taps(config).items()}
    if set(values["projections"]) != set(channels):
        raise StateFileError("the tracker state is damaged: it has other projections than it should")
    for damping in values["projections"].values():
        _number("a projection's damping", damping, 0, 1e6)
    last = 0
    for number, size in enumerate(values["banks"]):
        last = max(last, _check_bank(number, size, tensors, channels["parts"]))
    sizes = [tuple(size) for size in values["banks"]]
    if len(set(sizes)) != len(sizes) or _number("next_id", values["next_id"], 0) < last:
        raise StateFileError("the tracker state is damaged: its parts are not told apart")
    _check_references(values, tensors, channels["parts"])
    _check_memory(values["memory"], tensors, config, channels["convnet"])
    if config.convnet == "linear":
        _check_linear(values, tensors, config, channels["convnet"])


def _check_plain(values: Mapping[str, Any]) -> None:
    for name in ("frame_index", "frames_since_learning", "frames_to_teach"):
        _number(name, values[name], 0)
    for number in (*values["monitor"][1:], *values["gaze"]):
        _number("a count of frames", number, 0)
    for number in (*values["loudness"], *values["past_distances"]):
        _number("a distance or loudness", number, 0)
    if values["training_frames"] is not None:
        _number("training_frames", values["training_frames"], 0)


def _check_place(values: Mapping[str, Any]) -> None:
    height, width, depth = values["frame_shape"]
    if depth != 3:
        raise StateFileError("the tracker state is damaged: its frames have no three colours")
    for side in (height, width):
        if not isinstance(side, int):
            raise StateFileError("the tracker state is damaged: its frames have no size")
        _number("a frame's side", side, MIN_FRAME_SIDE, LARGEST_SIDE)
    for place, side in zip(values["centre"], (width, height), strict=True):
        _number("the centre", place, 0, side)
    first_width, first_height, scale, linear, (wider, taller), lean = values["shape"]
    _number("the scale", scale, 1e-6, 1e6)
    _number("the lean", lean, -MAX_LEAN, MAX_LEAN)
    for first, stretch, side in ((first_width, wider, width), (first_height, taller, height)):
        _number("the first box", first, 0.5, LARGEST_IN_FRAMES * side)
        _number("a stretch", stretch, 1e-6, 1e6)
        _number("the box", first * scale * stretch, 1e-3, LARGEST_IN_FRAMES * side)
    for row in linear:
        for number in row:
            _number("the outline", number, -1e3, 1e3)


def _check_camera(values: Mapping[str, Any], tensors: Mapping[str, Tensor], config: TrackerConfig) -> None:
    errors = values["camera"]
    if (errors is None) == config.mind_camera:
        raise StateFileError("the tracker state is damaged: it minds the camera where it should not, or does not")
    if errors is None:
        return
    in_picture, in_scene = errors
    for error in (in_picture, in_scene):
        _number("an error of the camera", error, 0)
    _require("camera.picture", tensors, small_size(tuple(values["frame_shape"])))


def _check_colour(agreement: Any, tensors: Mapping[str, Tensor], config: TrackerConfig) -> None:
    if agreement is None:  # nobody minds colours, or none could be learned yet
        return
    if config.colour_weight <= 0:
        raise StateFileError("the tracker state is damaged: it knows colours that nobody minds")
    _number("the colour part's agreement", agreement, 0, 1 + 1e-6)
    for name in ("colour.inside", "colour.outside"):
        shares = _require(name, tensors, (COLOURS,))
        if bool((shares < 0).any()) or abs(float(shares.sum()) - 1) > 1e-2:
            raise StateFileError(f"the tracker state is damaged: {name} are no shares")


def _taps(config: TrackerConfig) -> dict[str, str]:
    return {"parts": config.tap, "convnet": config.convnet_tap if config.convnet_learns else config.tap}


def _check_projection(name: str, tap: str, tensors: Mapping[str, Tensor]) -> int:
    """Gives how many channels are kept."""
    channels = vgg_layer(tap).out_channels
    _require(f"projection.{name}.mean", tensors, (channels,))
    axes = _require(f"projection.{name}.axes", tensors, (None, channels))
    if not 1 <= axes.shape[0] <= channels:
        raise StateFileError(f"the tracker state is damaged: projection.{name} keeps no channels")
    return int(axes.shape[0])


def _check_bank(number: int, size: Sequence[int], tensors: Mapping[str, Tensor], channels: int) -> int:
    """Gives the first number that no part of it has."""
    rows, columns = size
    for side in (rows, columns):
        _number("a part's side", side, 1, LARGEST_PART)
    count = int(_require(f"bank.{number}.filters", tensors, (None, channels, int(rows), int(columns))).shape[0])
    arrays = {
        name: _require(f"bank.{number}.{name}", tensors, (count, 2) if name in _PAIRS else (count,), _BANK_KINDS[name])
        for name in PART_ARRAYS
    }
    ids = arrays["ids"]
    for name, low, high in (
        ("shifts", -FARTHEST_SHIFT, FARTHEST_SHIFT),
        ("fractions", -1, 1),
        ("anchors", -FARTHEST_SHIFT, FARTHEST_SHIFT),
        ("ids", 0, LARGEST_NUMBER),
        ("roles", min(Role), max(Role)),
        ("hits", 0, LARGEST_NUMBER),
        ("seen", 0, LARGEST_NUMBER),
    ):
        if count and not bool(((arrays[name] >= low) & (arrays[name] <= high)).all()):
            raise StateFileError(f"the tracker state is damaged: bank.{number}.{name} is out of range")
    if count > 1 and not bool((ids[1:] > ids[:-1]).all()):
        raise StateFileError(f"the tracker state is damaged: the parts of bank.{number} are not in order")
    return int(ids[-1]) + 1 if count else 0


def _check_references(values: Mapping[str, Any], tensors: Mapping[str, Tensor], channels: int) -> None:
    banks = {tuple(size): number for number, size in enumerate(values["banks"])}
    for number, (frame, rows, columns) in enumerate(values["references"]):
        _number("a reference", frame, 0)
        if (rows, columns) not in banks:
            raise StateFileError("the tracker state is damaged: a reference to parts of no bank")
        reference = _require(f"reference.{frame}", tensors, (channels, None, None))
        patches = _require(f"dual.{number}.patches", tensors, (None, 2), torch.int64)
        ids = _require(f"dual.{number}.ids", tensors, (None,), torch.int64)
        _require(f"dual.{number}.coefficients", tensors, (patches.shape[0], ids.shape[0]))
        limits = torch.tensor([reference.shape[1] - rows, reference.shape[2] - columns])
        if not bool(((patches >= 0) & (patches <= limits)).all()):
            raise StateFileError("the tracker state is damaged: a reference's patches lie outside of it")
        if not bool(torch.isin(ids, tensors[f"bank.{banks[rows, columns]}.ids"]).all()):
            raise StateFileError("the tracker state is damaged: a reference to parts that do not live")


def _check_memory(
    memory: Mapping[str, Any], tensors: Mapping[str, Tensor], config: TrackerConfig, channels: int
) -> None:
    _number("first_seen", memory["first_seen"], 0)
    if len(memory["confident"]) != len(memory["waiting"]):
        raise StateFileError("the tracker state is damaged: frames without a verdict")
    pictured = config.convnet == "end_to_end"
    seen: set[tuple[int, ...]] = set()
    for group in ("first", "recent", "waiting"):
        for number, (index, centre, size) in enumerate(memory[group]):
            _number("a training frame", index, 0)
            for place in (*centre, *size):
                _number("a training frame's place", place, -FARTHEST_SHIFT, FARTHEST_SHIFT)
            if len(centre) != 2 or len(size) != 2:
                raise StateFileError("the tracker state is damaged: a training frame without a place")
            if not config.convnet_learns:
                continue
            if pictured:
                kept = _require(f"{group}.{number}.picture", tensors, (None, None, 3), torch.uint8)
            else:
                kept = _require(f"{group}.{number}.features", tensors, (channels, None, None))
            seen.add(tuple(kept.shape))
    if len(seen) > 1 or any(min(shape) < 1 or max(shape) > 4096 for shape in seen):
        raise StateFileError("the tracker state is damaged: its training frames differ in size")


def _check_linear(
    values: Mapping[str, Any], tensors: Mapping[str, Tensor], config: TrackerConfig, channels: int
) -> None:
    filters = [name for name in tensors if name.startswith("convnet.")]
    if len(filters) not in (0, len(config.supports)) or (values["convnet_votes"] and not filters):
        raise StateFileError("the tracker state is damaged: the ConvNetPart has other filters than it should")
    for number in range(len(filters)):
        weights = _require(f"convnet.filter.{number}", tensors, (channels, None, None))
        if any(side % 2 == 0 or side > 1024 for side in weights.shape[1:]):
            raise StateFileError("the tracker state is damaged: a filter of the ConvNetPart has no middle")


def _require(name: str, tensors: Mapping[str, Tensor], shape: Shape, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor of that name, type and shape; None stands for any size."""
    if name not in tensors:
        raise StateFileError(f"the tracker state is damaged: it has no {name}")
    found = tensors[name]
    fits = len(found.shape) == len(shape) and all(
        wanted is None or size == wanted for size, wanted in zip(found.shape, shape, strict=True)
    )
    if not fits or found.dtype != dtype:
        raise StateFileError(f"the tracker state is damaged: {name} has shape {tuple(found.shape)} of {found.dtype}")
    return found


def _number(name: str, value: Any, low: float, high: float = LARGEST_NUMBER) -> float:
    if not isinstance(value, (bool, int, float)) or not math.isfinite(value) or not low <= value <= high:
        raise StateFileError(f"the tracker state is damaged: {name} is {quoted(value)}")
    return float(value)
