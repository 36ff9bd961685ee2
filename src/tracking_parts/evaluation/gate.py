"""A gate against getting worse: a few short sequences, compared with figures that were committed.

The metrics file names the tracker, the protocol and the sequences, and holds what was measured when it was last
updated::

    {"tracker": "stp:default", "protocol": "vot2016", "seed": 0, "overlap_margin": 0.02,
     "sequences": {"ball2": {"frames": 41, "failures": 1, "overlap": 0.61}, …}}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from tracking_parts.errors import FormatError, TrackingPartsError, one_line, quoted
from tracking_parts.evaluation.protocol import load_reset_protocol
from tracking_parts.evaluation.runner import run
from tracking_parts.evaluation.scoring import load_runs
from tracking_parts.io.files import write_atomically
from tracking_parts.io.plain_files import parse_json, read_text

LARGEST_NUMBER = 10**12


@dataclass(frozen=True, slots=True)
class GateFigures:
    """One sequence: failures, and the mean overlap over all frames, 0 where the tracker was lost."""

    frames: int
    failures: int
    overlap: float


@dataclass(frozen=True, slots=True)
class Gate:
    """What to run, and what it must not fall behind.

    ``overlap_margin`` is how much the overlap of a sequence may drop: other processors round differently, and a tracker
    amplifies that. Failures have no margin.
    """

    tracker: str
    protocol: str
    seed: int
    overlap_margin: float
    sequences: Mapping[str, GateFigures]


def read_gate(path: Path) -> Gate:
    """The committed metrics; :class:`FormatError` where the file is not one of ours."""
    try:
        content = parse_json(read_text(path))
        figures = {name: GateFigures(**numbers) for name, numbers in content.pop("sequences").items()}
        return _checked(Gate(**content, sequences=figures))
    except FormatError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(f"{path} is no metrics file: {one_line(error)}") from error


def _checked(gate: Gate) -> Gate:
    kinds: dict[str, Any] = {"str": str, "int": int, "float": (int, float)}  # the annotations are strings here
    checked: tuple[Any, ...] = (gate, *gate.sequences.values())
    for one in checked:
        for field in fields(one):
            value, kind = getattr(one, field.name), kinds.get(str(field.type), object)
            is_huge = isinstance(value, (int, float)) and not abs(value) < LARGEST_NUMBER
            if not isinstance(value, kind) or isinstance(value, bool) or is_huge:
                raise ValueError(f"{field.name} = {quoted(value)} is no {field.type}")
    return gate


def write_gate(path: Path, gate: Gate) -> None:
    content: dict[str, Any] = asdict(gate)
    write_atomically(path, (json.dumps(content, indent=2) + "\n").encode())


def measure(gate: Gate, data_folder: Path, out_folder: Path, processes: int = 1) -> dict[str, GateFigures]:
    """Run the gate's tracker over its sequences, now."""
    protocol = load_reset_protocol(gate.protocol)
    outcomes = run(
        [gate.tracker],
        data_folder,
        out_folder,
        processes=processes,
        threads=1,
        seed=gate.seed,
        sequences=gate.sequences,
        protocol=protocol,
    )
    raised = [f"{outcome.sequence}: {outcome.error}" for outcome in outcomes if outcome.status == "raised"]
    if raised:
        raise TrackingPartsError("; ".join(raised))
    (tracker,) = load_runs(out_folder, data_folder, protocol)
    return {
        run.sequence.name: GateFigures(
            frames=run.score.length,
            failures=len(run.score.failures),
            overlap=round(float(np.nan_to_num(run.score.overlaps).mean()), 4),
        )
        for run in tracker.runs
    }


def compare(gate: Gate, measured: Mapping[str, GateFigures]) -> list[str]:
    """What got worse, in words; empty where nothing did."""
    return [problem for name in gate.sequences for problem in _problems(name, gate, measured.get(name))]


def _problems(name: str, gate: Gate, now: GateFigures | None) -> Iterable[str]:
    before = gate.sequences[name]
    if now is None:
        yield f"{name}: not measured"
        return
    if now.frames != before.frames:
        yield f"{name}: {now.frames} frames instead of {before.frames}: other data"
        return
    if now.failures > before.failures:
        yield f"{name}: {now.failures} failures instead of {before.failures}"
    if now.overlap < before.overlap - gate.overlap_margin:
        yield f"{name}: overlap {now.overlap:.3f} instead of {before.overlap:.3f}"
