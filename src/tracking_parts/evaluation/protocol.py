"""The rules of an experiment, as data: YAML files of the package, or anybody's own.

Two kinds: ``reset`` (VOT's supervised experiment, :class:`ResetProtocol`) and ``one-pass`` (started once,
:class:`OnePassProtocol`). Both say by ``init_box`` which upright box a tracker gets for a rotated ground-truth polygon:
``enclosing`` holds all of it and, around a slanted object, mostly background; ``area`` has the same proportions and the
polygon's area, around the polygon's centre. All trackers of a run get the same one.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from tracking_parts.errors import ConfigError, FormatError, one_line, quoted, quoted_names
from tracking_parts.io.plain_files import read_text

InitBox = Literal["area", "enclosing"]
OverlapKind = Literal["polygon", "rectangle"]

LARGEST_FILE = 1 << 16  # characters
DEEPEST = 20  # of what stands in what
LARGEST_NUMBER = 10**9
LONGEST_SEQUENCE = 10**6  # frames; measures have an entry for each


@dataclass(frozen=True, slots=True)
class ResetProtocol:
    """VOT's supervised experiment: a tracker that lost the object is started again a little later."""

    name: str
    eao_interval: tuple[int, int]  # typical short-term lengths of the data set, both ends included
    failure_overlap: float = 0.0  # a failure is an overlap of at most this
    skip: int = 5  # frames from a failure to the restart
    burn_in: int = 10  # frames from a start that do not count for accuracy
    init_box: InitBox = "area"

    def __post_init__(self) -> None:
        _check_choice(self.name, "init_box", self.init_box, get_args(InitBox))
        _check_number(self.name, "failure_overlap", self.failure_overlap, 0, 1)
        if self.skip < 1 or self.burn_in < 0:
            raise ConfigError(f"protocol {quoted_names([self.name])}: skip must be at least 1 and burn_in at least 0")
        low, high = self.eao_interval
        if not 2 <= low <= high:
            raise ConfigError(
                f"protocol {quoted_names([self.name])}: "
                f"the EAO interval {low}..{high} must start at 2 or later and not be empty"
            )


@dataclass(frozen=True, slots=True)
class OnePassProtocol:
    """Started once on the first frame and never helped again: OTB's one-pass evaluation, or a run without resets.

    The object counts as lost where the overlap stays at ``lost_overlap`` or below for ``lost_for`` frames, or until the
    end. ``overlap`` compares upright boxes as they are (``rectangle``, as OTB does) or polygons clipped to the image
    (``polygon``, as VOT does).
    """

    name: str
    init_box: InitBox = "enclosing"
    overlap: OverlapKind = "rectangle"
    precision_pixels: float = 20.0  # distance of the centres that counts as precise
    lost_overlap: float = 0.0
    lost_for: int = 10

    def __post_init__(self) -> None:
        _check_choice(self.name, "init_box", self.init_box, get_args(InitBox))
        _check_choice(self.name, "overlap", self.overlap, get_args(OverlapKind))
        _check_number(self.name, "lost_overlap", self.lost_overlap, 0, 1)
        if self.precision_pixels <= 0 or self.lost_for < 1:
            raise ConfigError(
                f"protocol {quoted_names([self.name])}: precision_pixels must be above 0 and lost_for at least 1"
            )


Protocol = ResetProtocol | OnePassProtocol
KINDS: dict[str, type[ResetProtocol] | type[OnePassProtocol]] = {"reset": ResetProtocol, "one-pass": OnePassProtocol}


def load_protocol(name: str) -> Protocol:
    """A protocol of the package by its name, or anybody's by the path of a YAML file."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        try:
            return parse_protocol(read_text(path), str(path))
        except FormatError as error:
            raise ConfigError(str(error)) from error
    bundled = _bundled()
    if name not in bundled:
        raise ConfigError(f"unknown protocol {name!r}: choose one of {', '.join(bundled)}, or give a .yaml file")
    return parse_protocol(bundled[name], f"{name}.yaml")


def load_reset_protocol(name: str) -> ResetProtocol:
    """Like :func:`load_protocol`, where only VOT's experiment makes sense."""
    protocol = load_protocol(name)
    if not isinstance(protocol, ResetProtocol):
        raise ConfigError(f"protocol {name!r} is not reset-based")
    return protocol


def parse_protocol(text: str, source: str) -> Protocol:
    """A protocol from YAML; ``source`` names it in errors. Unknown, missing and mistyped keys are refused."""
    try:
        content = _parse_yaml(text)
    except (yaml.YAMLError, ArithmeticError, LookupError, RecursionError, ValueError) as error:
        raise ConfigError(f"{source} is not YAML that a protocol is written in: {one_line(error)}") from None
    if not isinstance(content, dict) or str(content.get("kind")) not in KINDS:
        raise ConfigError(f"{source}: a protocol has a key 'kind', one of {', '.join(KINDS)}")
    kind = KINDS[str(content.pop("kind"))]
    known = {field.name: field for field in fields(kind)}
    unknown = [str(key) for key in content if key not in known]
    if unknown:
        raise ConfigError(f"{source}: unknown {quoted_names(unknown)}; known are {', '.join(known)}")
    missing = [name for name, field in known.items() if field.default is MISSING and name not in content]
    if missing:
        raise ConfigError(f"{source}: {', '.join(missing)} missing")
    # The annotations are strings here; they are few, and each says how its value is read.
    return kind(**{key: _read(value, str(known[key].type), f"{source}: {key}") for key, value in content.items()})


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases, a few lines of which say more than any memory holds, and not nested for ever."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("it uses aliases")
        self.depth += 1
        if self.depth > DEEPEST:
            raise ValueError("it is nested too deeply")
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _parse_yaml(text: str) -> Any:
    if len(text) > LARGEST_FILE:
        raise ValueError(f"it has {len(text)} characters, more than {LARGEST_FILE}")
    return yaml.load(text, _PlainLoader)


def _bundled() -> dict[str, str]:
    folder = files(__package__) / "protocols"
    found = {
        entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.name.endswith(".yaml")
    }
    return {name.removesuffix(".yaml"): found[name] for name in sorted(found)}


def _read(value: Any, annotation: str, where: str) -> Any:
    """One value of the type that the field declares."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if annotation == "int" and whole and abs(value) <= LARGEST_NUMBER:
        return value
    if annotation == "float" and (whole or isinstance(value, float)) and abs(value) <= LARGEST_NUMBER:
        return float(value)
    if annotation in ("str", "InitBox", "OverlapKind") and isinstance(value, str):
        return value
    if annotation == "tuple[int, int]" and isinstance(value, list) and [type(one) for one in value] == [int, int]:
        if max(value) > LONGEST_SEQUENCE:
            raise ConfigError(f"{where}: no sequence has more than {LONGEST_SEQUENCE} frames")
        return tuple(value)
    raise ConfigError(f"{where}: {quoted(value)} is no {annotation}")


def _check_choice(protocol: str, key: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"protocol {quoted_names([protocol])}: {key} is {' or '.join(choices)}, not {quoted(value)}")


def _check_number(protocol: str, key: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigError(f"protocol {quoted_names([protocol])}: {key} must lie in {low}..{high}, not {value}")


VOT2016 = load_reset_protocol("vot2016")
VOT2017 = load_reset_protocol("vot2017")
