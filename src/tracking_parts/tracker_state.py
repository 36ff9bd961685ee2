"""A tracker's whole state as tensors and plain values: saved in one safetensors file, its values as JSON in the header.

No code is ever run to read one: a damaged or foreign file raises :class:`StateFileError`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from tracking_parts.box_estimation import Shape
from tracking_parts.camera import Camera
from tracking_parts.colour_part import ColourPart
from tracking_parts.confidence import StateMonitor
from tracking_parts.confident_frames import BestShare, ConfidentFrames, TrainingFrame
from tracking_parts.convnet_part.updating import SequentialUpdates
from tracking_parts.errors import StateFileError, one_line, quoted
from tracking_parts.features import Projection
from tracking_parts.filter_parts.bank import PART_ARRAYS, PartBank
from tracking_parts.filter_parts.learning import DualForm
from tracking_parts.filter_parts.references import DualParts
from tracking_parts.io.files import atomic_path
from tracking_parts.io.plain_files import parse_json
from tracking_parts.looking import Gaze
from tracking_parts.result import State
from tracking_parts.target import Target
from tracking_parts.voting import Loudness

FORMAT = "tracking-parts state 10"
_PLAIN = ("frame_index", "convnet_votes", "frames_since_learning", "frames_to_teach")


@dataclass(frozen=True)
class TrackerState:
    """Everything needed to go on tracking as if nothing had happened."""

    values: dict[str, Any]  # ready for JSON
    tensors: dict[str, Tensor]

    def save(self, path: str | Path) -> None:
        """Write one file, whole or not at all."""
        contiguous = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in self.tensors.items()}
        try:
            with atomic_path(Path(path)) as partial:
                save_file(contiguous, partial, metadata={"format": FORMAT, "values": json.dumps(self.values)})
        except (OSError, SafetensorError) as error:
            raise StateFileError(f"cannot write the state to {path}: {error}") from error

    @classmethod
    def load(cls, path: str | Path) -> TrackerState:
        """Read a file that :meth:`save` wrote."""
        try:
            with safe_open(str(path), framework="pt") as file:  # type: ignore[no-untyped-call]
                metadata = file.metadata() or {}
                # Cloned: memory of a file is aligned otherwise, and sums of floats then differ in the last digit.
                tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 - not a mapping
        except FileNotFoundError as error:
            raise StateFileError(f"there is no state file {path}") from error
        except (OSError, SafetensorError, ValueError) as error:
            raise StateFileError(f"{path} is no tracker state, or is damaged: {one_line(error)}") from error
        if metadata.get("format") != FORMAT:
            raise StateFileError(f"{path} is no tracker state of this version ({quoted(metadata.get('format'))})")
        try:
            values = parse_json(metadata["values"])
        except (KeyError, ValueError) as error:
            raise StateFileError(f"{path} is damaged: its values cannot be read") from error
        if not isinstance(values, dict):
            raise StateFileError(f"{path} is damaged: its values cannot be read")
        return cls(values, tensors)


@contextmanager
def damaged_state_errors() -> Iterator[None]:
    """Whatever a damaged state makes go wrong while it is unpacked is one error of ours."""
    try:
        yield
    except StateFileError:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        raise StateFileError(f"the tracker state is damaged: {one_line(error)}") from error


def pack_target(target: Target) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """A target as values ready for JSON, and tensors."""
    target.convnet, _ = target.updates.wait(target.convnet)
    unfinished = target.updates.unfinished
    learned = (target.convnet if unfinished is None else unfinished.begun_from).tensors()
    tensors: dict[str, Tensor] = {f"convnet.{name}": tensor for name, tensor in learned.items()}
    values = {
        **{name: getattr(target, name) for name in _PLAIN},
        "frame_shape": list(target.frame_shape),
        "centre": list(target.centre),
        "shape": pack_shape(target.shape),
        "loudness": [target.loudness.filters, target.loudness.convnet],
        "monitor": [target.monitor.state.value, target.monitor.missing_for, target.monitor.usual],
        "gaze": [target.gaze.steady, target.gaze.narrow_looks],
        "camera": _pack_camera(target.camera, tensors),
        "colour": _pack_colour(target.colour, tensors),
        "projections": {name: _pack_projection(name, p, tensors) for name, p in target.projections.items()},
        "banks": _pack_banks(target.parts.banks, tensors),
        "next_id": target.parts.next_id,
        "references": _pack_references(target.parts.references, tensors),
        "past_distances": list(target.rule.past) if isinstance(target.rule, BestShare) else [],
        "memory": _pack_memory(target.memory, tensors),
        "training_frames": None if unfinished is None else unfinished.frames_done,
    }
    return values, tensors


def restore_target(target: Target, state: TrackerState, device: torch.device) -> None:
    """Fill an empty target with what :func:`pack_target` gave."""
    values, tensors = state.values, state.tensors
    for name in _PLAIN:
        setattr(target, name, type(getattr(target, name))(values[name]))
    target.centre = (float(values["centre"][0]), float(values["centre"][1]))
    target.loudness = Loudness(float(values["loudness"][0]), float(values["loudness"][1]))
    target.monitor = StateMonitor(State(values["monitor"][0]), int(values["monitor"][1]), float(values["monitor"][2]))
    target.gaze = Gaze(bool(values["gaze"][0]), int(values["gaze"][1]))
    target.camera = _unpack_camera(values["camera"], tensors)
    target.colour = _unpack_colour(values["colour"], tensors)
    target.parts.restore(
        _unpack_banks(values["banks"], tensors, device),
        int(values["next_id"]),
        _unpack_references(values["references"], tensors, device),
    )
    past = [float(distance) for distance in values["past_distances"]]
    if isinstance(target.rule, BestShare):
        target.rule.past = past
    _unpack_memory(target.memory, values["memory"], tensors, device)
    learned = {n.removeprefix("convnet."): t for n, t in tensors.items() if n.startswith("convnet.")}
    target.convnet.load_tensors(learned)
    if values["training_frames"] is not None and isinstance(target.updates, SequentialUpdates):
        target.updates.resume(
            target.convnet, target.memory.first, list(target.memory.recent), int(values["training_frames"])
        )


def _pack_camera(camera: Camera | None, tensors: dict[str, Tensor]) -> list[float] | None:
    """Put the last picture into ``tensors``; gives the errors of either guess."""
    if camera is None:
        return None
    tensors["camera.picture"] = torch.from_numpy(camera.picture)
    return [camera.picture_error, camera.scene_error]


def _unpack_camera(errors: list[float] | None, tensors: Mapping[str, Tensor]) -> Camera | None:
    if errors is None:
        return None
    return Camera(tensors["camera.picture"].numpy(), float(errors[0]), float(errors[1]))


def _pack_colour(colour: ColourPart | None, tensors: dict[str, Tensor]) -> float | None:
    """Put the histograms into ``tensors``; gives the agreement."""
    if colour is None:
        return None
    tensors["colour.inside"], tensors["colour.outside"] = (
        torch.from_numpy(colours) for colours in (colour.inside, colour.outside)
    )
    return colour.agreement


def _unpack_colour(agreement: float | None, tensors: Mapping[str, Tensor]) -> ColourPart | None:
    if agreement is None:
        return None
    return ColourPart(tensors["colour.inside"].numpy(), tensors["colour.outside"].numpy(), float(agreement))


def _pack_banks(banks: tuple[PartBank, ...], tensors: dict[str, Tensor]) -> list[list[int]]:
    """Put the banks' arrays into ``tensors``; gives their sizes."""
    for number, bank in enumerate(banks):
        tensors[f"bank.{number}.filters"] = bank.filters
        for name in PART_ARRAYS:
            tensors[f"bank.{number}.{name}"] = torch.from_numpy(np.ascontiguousarray(getattr(bank, name)))
    return [list(bank.size) for bank in banks]


def _unpack_banks(sizes: list[list[int]], tensors: Mapping[str, Tensor], device: torch.device) -> list[PartBank]:
    return [
        PartBank(
            size=(int(size[0]), int(size[1])),
            filters=tensors[f"bank.{number}.filters"].to(device),
            **{name: tensors[f"bank.{number}.{name}"].numpy() for name in PART_ARRAYS},
        )
        for number, size in enumerate(sizes)
    ]


def _pack_references(references: tuple[DualParts, ...], tensors: dict[str, Tensor]) -> list[list[int]]:
    """Put the duals' arrays and their frames, each once, into ``tensors``; gives frame numbers and sizes.

    Filters alone would do, but sums in another order differ in the last digit.
    """
    for number, dual in enumerate(references):
        tensors[f"reference.{dual.frame}"] = dual.form.reference
        tensors[f"dual.{number}.patches"] = torch.from_numpy(np.ascontiguousarray(dual.form.patches))
        tensors[f"dual.{number}.coefficients"] = dual.form.coefficients
        tensors[f"dual.{number}.ids"] = torch.from_numpy(np.ascontiguousarray(dual.ids))
    return [[dual.frame, *dual.size] for dual in references]


def _unpack_references(packed: list[list[int]], tensors: Mapping[str, Tensor], device: torch.device) -> list[DualParts]:
    references = {int(frame): tensors[f"reference.{frame}"].to(device) for frame, *_ in packed}
    return [
        DualParts(
            frame=int(frame),
            size=(int(rows), int(columns)),
            form=DualForm(
                references[int(frame)],
                tensors[f"dual.{number}.patches"].numpy(),
                tensors[f"dual.{number}.coefficients"].to(device),
            ),
            ids=tensors[f"dual.{number}.ids"].numpy(),
        )
        for number, (frame, rows, columns) in enumerate(packed)
    ]


def _pack_projection(name: str, projection: Projection, tensors: dict[str, Tensor]) -> float:
    tensors[f"projection.{name}.mean"], tensors[f"projection.{name}.axes"] = projection.mean, projection.axes
    return projection.damping


def unpack_projections(state: TrackerState, device: torch.device) -> dict[str, Projection]:
    def tensor(name: str, kind: str) -> Tensor:
        return state.tensors[f"projection.{name}.{kind}"].to(device)

    return {
        name: Projection(tensor(name, "mean"), tensor(name, "axes"), float(damping))
        for name, damping in state.values["projections"].items()
    }


def _pack_memory(memory: ConfidentFrames, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """Put the training frames' pictures and features into ``tensors``; gives the rest as values."""
    groups: dict[str, list[TrainingFrame]] = {
        "first": list(memory.first),
        "recent": list(memory.recent),
        "waiting": [frame for frame, _ in memory.waiting],
    }
    values: dict[str, Any] = {
        "confident": [confident for _, confident in memory.waiting],
        "random": memory.random_state,
        "first_seen": memory.first_seen,
    }
    for group, frames in groups.items():
        values[group] = [[f.frame_index, list(f.centre_in_map), list(f.object_in_map)] for f in frames]
        for number, frame in enumerate(frames):
            if frame.picture is not None:
                tensors[f"{group}.{number}.picture"] = torch.from_numpy(frame.picture)
            if frame.features is not None:
                tensors[f"{group}.{number}.features"] = frame.features
    return values


def _unpack_memory(
    memory: ConfidentFrames, values: Mapping[str, Any], tensors: Mapping[str, Tensor], device: torch.device
) -> None:
    """Fill an empty memory with saved frames."""
    frame_of = _frame_reader(values, tensors, device)
    for number in range(len(values["first"])):
        memory.add_variant(frame_of("first", number))
    memory.first_seen = int(values["first_seen"])
    memory.recent.extend(frame_of("recent", number) for number in range(len(values["recent"])))
    for number, confident in enumerate(values["confident"]):
        memory.add(frame_of("waiting", number), bool(confident))
    memory.random_state = values["random"]


def _frame_reader(
    values: Mapping[str, Any], tensors: Mapping[str, Tensor], device: torch.device
) -> Callable[[str, int], TrainingFrame]:
    def read(group: str, number: int) -> TrainingFrame:
        index, centre, size = values[group][number]
        picture = tensors.get(f"{group}.{number}.picture")
        features = tensors.get(f"{group}.{number}.features")
        return TrainingFrame(
            frame_index=int(index),
            centre_in_map=(float(centre[0]), float(centre[1])),
            object_in_map=(float(size[0]), float(size[1])),
            picture=None if picture is None else picture.numpy(),
            features=None if features is None else features.to(device),
        )

    return read


def pack_shape(shape: Shape) -> list[Any]:
    linear = [list(row) for row in shape.linear]
    return [shape.first_width, shape.first_height, shape.scale, linear, list(shape.stretch), shape.lean]


def unpack_shape(values: list[Any]) -> Shape:
    width, height, scale = (float(value) for value in values[:3])
    (a, b), (c, d) = values[3]
    (wider, taller), lean = values[4], float(values[5])
    linear = ((float(a), float(b)), (float(c), float(d)))
    return Shape(width, height, scale, linear, (float(wider), float(taller)), lean)
