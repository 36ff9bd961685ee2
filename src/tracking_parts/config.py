"""Every constant of the tracker: its symbol, where the paper states it, and the three profiles.

A configuration is frozen and complete; versions of the paper (FilterParts only, no update, …) are values, never other
code. An unknown name raises. Values that depart from the paper are explained in ``docs/decisions.md``.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracking_parts.errors import ConfigError, quoted, quoted_names
from tracking_parts.vgg import LAYER_NAMES, vgg_layer

UPDATE_STRATEGIES = ("hcf", "none", "full", "random", "parallel")
BOX_MODELS = ("affine", "similarity", "scale", "fixed")
CONVNETS = ("end_to_end", "frozen_trunk", "linear")
CONFIDENT_RULES = ("best_share", "within_radius")
ROLE_SCHEMES = ("all", "one")
VOTE_SCALES = ("own", "usual")
TRUNKS = ("whole", "light")
LARGEST = 1e9  # of any number: beyond it nothing changes, or sums overflow
MOST_VALUES = 16  # of a setting that holds several
MOST_PATCHES = 2000  # of one size over a square object: all are solved for together, in memory of their square


def _setting(
    default: Any, meaning: str, choices: tuple[str, ...] = (), low: float = -math.inf, high: float = math.inf
) -> Any:
    metadata = {"meaning": meaning, "choices": choices, "low": low, "high": high}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class TrackerConfig:
    """All settings. Cells are those of the map at ``tap``; the size of an object is √(width · height)."""

    # --- search region (the paper is silent)
    search_factor: float = _setting(
        2.625, "side of the crop around a square object, in object sizes; others get the same margin", low=1.2, high=12
    )
    crop_size: int = _setting(
        96, "side of that crop after resizing, in pixels, a multiple of 8; others are enlarged alike", low=64, high=1024
    )
    narrow_search: float = _setting(
        1.75, "the same as search_factor while the object is steady; 0: it is never looked at narrowly", low=0, high=12
    )
    narrow_above: float = _setting(0.8, "confidence from which on the object may be called steady", low=0, high=1)
    narrow_motion: float = _setting(0.15, "movement in a frame up to which it is, in object sizes", low=0, high=1)
    wide_every: int = _setting(3, "a steady object is looked at as usual, and learned, every so many frames", low=1)
    widen_below: float = _setting(0.2, "confidence below which the same frame is looked at widely too", low=0, high=1)
    widen_gain: float = _setting(1.5, "how many times as sure the wide look must be to be believed", low=1)
    resize_below: float = _setting(
        0.5, "confidence below which the same frame is looked at for another size too; 0: never", low=0, high=1
    )
    resize_every: int = _setting(2, "it is looked for in one frame of so many only", low=1)
    resize_step: float = _setting(1.08, "how many times as large or as small that size is", low=1, high=2)
    resize_gain: float = _setting(1.1, "how many times as sure that look must be to be believed", low=1)

    # --- features (section 3, tracker structure)
    trunk: str = _setting("light", "VGG's frozen layers whole, or factorised: 0.6 of the time", TRUNKS)
    tap: str = _setting("conv3_3", "VGG layer that the filter parts see; its cells are the unit of all maps")
    convnet_tap: str = _setting("conv4_1", "VGG layer that the ConvNetPart sees, or learns up to")
    channels: int = _setting(
        64, "principal channels kept for the parts, fitted on the first frame; 0: all, as they are", low=0, high=512
    )
    convnet_channels: int = _setting(64, "the same for a ConvNetPart on the frozen trunk", low=0, high=512)
    cell_damping: float = _setting(
        0.3, "per-cell normalisation: share of the map's RMS added to the cell's own; 0 is none", low=0
    )

    # --- FilterParts (section 3.1)
    part_sizes: tuple[int, ...] = _setting((3, 5, 0), "sizes of parts in cells, 0 is the size of the box")
    grid_stride: int = _setting(1, "distance of grid points in the box, in cells", low=1, high=16)
    min_inside: float = _setting(0.5, "share of a positive patch that must lie in the box", low=0, high=1)
    n_negatives: int = _setting(120, "hard negatives per size", low=1, high=2000)
    negative_stride: int = _setting(2, "grid of the hard negatives, in cells", low=1, high=16)
    ridge: float = _setting(1.0, "λ, in units of the mean energy of a patch", low=1e-8, high=1e4)
    t_d: float = _setting(1.4, "discriminative if own response / largest response on negatives exceeds this", low=0)
    max_parts_per_learning: int = _setting(200, "at most so many new parts per size and learning step", low=1)
    vote_sigma: float = _setting(1.0, "Gaussian smoothing of F_t, in cells", low=0, high=16)
    max_references: int = _setting(
        4, "learning frames whose parts may respond in the dual; beyond it the emptiest is folded into filters", low=0
    )

    # --- roles (section 3.1, reliability states)
    roles: str = _setting(
        "all", "all: candidate, reliable, gold; one: every part votes at once and for ever", ROLE_SCHEMES
    )
    u: int = _setting(10, "U: frames between tests of the roles, and until new candidates are learned", low=1)
    p_plus: float = _setting(0.2, "p+: a part that agrees more often rises by one role", low=0, high=1)
    p_minus: float = _setting(0.1, "p−: a part that agrees no more often than this is removed", low=0, high=1)
    n_max: int = _setting(200, "N_max: voting parts of one size", low=1)
    new_parts: bool = _setting(True, "learn new candidates every U frames")
    agreement_radius: float = _setting(2.0, "a vote agrees if it falls this near to the chosen centre, in cells", low=0)

    # --- ConvNetPart (section 3.2)
    convnet: str = _setting(
        "linear",
        "end_to_end: as the paper; frozen_trunk: its 4 last layers; linear: filters by conjugate gradient",
        CONVNETS,
    )
    learning_rate: float = _setting(1e-5, "lr of Adam", low=0, high=1)
    epochs: int = _setting(10, "k: epochs per training", low=1, high=1000)
    batch_size: int = _setting(8, "samples per step of Adam", low=1, high=4096)
    n_frames: int = _setting(20, "N: last confident frames that teach the ConvNetPart", low=1)
    first_frames: int = _setting(
        0, "N: first frames, led by FilterParts alone, before the ConvNetPart votes; 0: only the first", low=0
    )
    min_new_frames: int = _setting(4, "the ConvNetPart is trained again once so many frames are new to it", low=1)
    shifts_per_frame: int = _setting(2, "randomly shifted pairs per training frame", low=1, high=1000)
    max_shift: float = _setting(0.5, "largest random shift, in object sizes", low=0, high=2)
    stamp_radius: float = _setting(0.2, "radius of the circle stamped as target, in object sizes", low=0.01, high=1)

    # --- the linear form of the ConvNetPart (docs/decisions.md)
    supports: tuple[float, ...] = _setting((0.7,), "sides of the filters, in object sizes")
    target_sigma: float = _setting(0.25, "width of the Gaussian target, in object sizes", low=0.01, high=2)
    head_ridge: float = _setting(0.05, "λ of the filter, in units of the mean energy of a cell", low=0)
    first_steps: int = _setting(40, "steps of conjugate gradient on the first frame", low=1, high=10000)
    update_steps: int = _setting(3, "steps of conjugate gradient per update", low=1, high=10000)
    memory_rate: float = _setting(0.1, "weight of a new training frame", low=0, high=1)
    first_weight: float = _setting(0.3, "least share of the first frame in the weights", low=0, high=1)
    augment: bool = _setting(True, "flip, rotate, blur and scale the first frame")

    # --- highly confident frames (section 3.2)
    update: str = _setting(
        "hcf", "which frames teach the ConvNetPart; parallel is hcf in the background", UPDATE_STRATEGIES
    )
    confident_rule: str = _setting(
        "within_radius",
        "best_share: the nearest share of past frames; within_radius: an absolute distance",
        CONFIDENT_RULES,
    )
    confident_share: float = _setting(0.11, "share of frames that are highly confident", low=0, high=1)
    confident_radius: float = _setting(
        1.5, "distance of the pathways' centres that counts as agreement, in cells", low=0
    )

    update_every: int = _setting(
        5, "frames between updates of the ConvNetPart of an object that is not steady; U at the latest", low=1
    )
    update_frames: int = _setting(
        3, "frames over which an update of the ConvNetPart is spread; 0: the frame waits for it", low=0, high=1000
    )

    # --- decision (section 3, tracking by co-occurrences of part votes)
    alpha: float = _setting(0.5, "α: weight of F_t; 1 is FilterParts only, 0 is ConvNetPart only", low=0, high=1)
    colour_weight: float = _setting(
        0.5, "weight of the colour part's H_t beside F_t and C_t together; 0: nobody minds colours", low=0, high=1
    )
    colour_rate: float = _setting(0.05, "weight of a new frame in what the colour part knows", low=0, high=1)
    vote_scale: str = _setting(
        "usual", "divide F_t and C_t by own: their maximum; usual: the larger of it and its running mean", VOTE_SCALES
    )
    mask_width: float = _setting(1.13, "decay length of the mask M_c, in object sizes", low=0.01)
    mask_power: float = _setting(2.0, "1: exponential decay of M_c; 2: Gaussian", low=0.1, high=10)
    mask_floor: float = _setting(0.2, "M_c never falls below this, but out of the picture", low=0, high=1)
    near_below: float = _setting(
        0.5, "confidence below which places near the last one are judged by themselves too; 0: never", low=0, high=1
    )
    near_width: float = _setting(0.4, "decay length of M_c for that, in object sizes", low=0.1)
    near_gain: float = _setting(1.5, "how many times as sure another place must be to be believed then", low=1)
    mind_edges: bool = _setting(
        True, "what would lie outside the picture counts less, is not learned, and is no witness"
    )
    mind_camera: bool = _setting(
        True, "the last centre moves along with the scene where that has told better where the object goes"
    )

    # --- box (supplement 7.1)
    box_model: str = _setting("scale", "transformation fitted to the parts that agreed", BOX_MODELS)
    box_damping: float = _setting(0.3, "share of the fitted change of the box that is applied per frame", low=0, high=1)
    max_box_step: float = _setting(0.04, "largest relative change of a side per frame", low=0, high=1)
    max_box_change: float = _setting(4.0, "largest relative change of a side against the first frame", low=1)
    lean_gain: float = _setting(
        1.0,
        "how far a frame's colours make a box that only changes its scale wider and lower, or the other way; 0: never",
        low=0,
        high=10,
    )
    lean_return: float = _setting(0.2, "share of that by which each frame takes it back", low=0, high=1)
    min_box_agreement: float = _setting(
        0.25, "share of parts that must agree before the box's size changes", low=0, high=1
    )
    tell_below: float = _setting(
        0.5,
        "confidence below which the told box is where it overlaps the object most in expectation, not where P_t peaks",
        low=0,
        high=1,
    )
    tell_sharpness: float = _setting(4.0, "the power of P_t that is taken for a place's chance then", low=0.1, high=100)
    tell_margin: float = _setting(
        0.15, "how much longer the told box's sides are where nothing is sure; less, the surer it is", low=0, high=1
    )

    # --- confidence and state
    confidence_weights: tuple[float, ...] = _setting(
        (-2.4, 3.2, -0.5, 0.0, 2.6),
        "logistic weights: bias, share of agreeing parts, distance of the pathways, F_t and C_t at the centre",
    )
    uncertain_below: float = _setting(0.15, "confidence below which the state is uncertain", low=0, high=1)
    lost_below: float = _setting(0.12, "confidence below which the target counts as missing", low=0, high=1)
    unusual_below: float = _setting(
        0.45, "the same, and uncertain, as a share of its usual confidence while tracking", low=0, high=1
    )
    doubt_after: int = _setting(3, "frames in a row below it until more is asked of what claims to be it", low=1)
    found_above: float = _setting(0.5, "namely this share of the usual confidence", low=0, high=1)
    freeze_when_unsure: bool = _setting(True, "learn nothing and keep the box's size unless the state is tracking")
    hold_below: float = _setting(
        0.09, "confidence below which the centre stays where it was, in the picture or in the scene", low=0, high=1
    )
    lost_after: int = _setting(10, "frames in a row below it until the state is lost", low=1)
    lost_search: float = _setting(1.6, "how much wider the search is while lost", low=1, high=4)
    search_after: int = _setting(
        10, "frames in a row below it from which on other places of the picture are looked at; 0: never", low=0
    )
    search_every: int = _setting(3, "two of them in one frame of so many", low=1)
    search_sure: float = _setting(0.45, "confidence from which on the object is believed to be there", low=0, high=1)
    search_convnet: float = _setting(0.65, "and C_t there; 1 is what the ConvNetPart was taught", low=0)

    def __post_init__(self) -> None:
        for setting in dataclasses.fields(self):
            _check(setting, getattr(self, setting.name))
        if self.crop_size % 8:
            raise ConfigError(f"crop_size = {self.crop_size} is not a multiple of 8")
        _check_numbers("part_sizes", self.part_sizes, int, low=0)
        _check_numbers("supports", self.supports, float, low=0.1)
        _check_numbers("confidence_weights", self.confidence_weights, float, low=-LARGEST)
        if len(self.confidence_weights) != 5:
            raise ConfigError(f"confidence_weights = {quoted(self.confidence_weights)} must be five numbers")
        for name in ("tap", "convnet_tap"):
            if getattr(self, name) not in LAYER_NAMES:
                raise ConfigError(f"{name} = {quoted(getattr(self, name))}: choose one of {', '.join(LAYER_NAMES)}")
        if self.p_minus > self.p_plus:
            raise ConfigError(f"p_minus = {self.p_minus} exceeds p_plus = {self.p_plus}")
        patches = (1 + self.crop_size / self.search_factor / vgg_layer(self.tap).stride / self.grid_stride) ** 2
        if patches > MOST_PATCHES:
            raise ConfigError(
                f"tap = {self.tap} with crop_size = {self.crop_size} lays {patches:.0f} patches over the object, more "
                f"than {MOST_PATCHES}: choose a deeper tap, a smaller crop or a wider grid_stride"
            )

    # ------------------------------------------------------------------ making
    @classmethod
    def profile(cls, name: str) -> TrackerConfig:
        """The settings of ``paper``, ``default`` or ``fast``."""
        if name not in PROFILES:
            raise ConfigError(f"unknown profile {quoted(name)}: there are {', '.join(PROFILES)}")
        return cls(**PROFILES[name])

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrackerConfig:
        """The default settings with some replaced; the inverse of :meth:`to_dict`."""
        if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
            raise ConfigError(f"settings are values by their names, not {quoted(values)}")
        return cls.profile("default").override(**values)

    @property
    def convnet_learns(self) -> bool:
        """With α = 1 nobody would hear it."""
        return self.alpha < 1.0

    @property
    def learns_later(self) -> bool:
        """Whether anything is learned after the first frames."""
        return self.new_parts or self.roles == "all" or (self.convnet_learns and self.update != "none")

    def override(self, **values: Any) -> TrackerConfig:
        """A copy with some settings replaced; unknown names raise."""
        known = {setting.name for setting in dataclasses.fields(self)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ConfigError(f"unknown setting {quoted_names(unknown)}: see `stp profiles` for all settings")
        as_tuples: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return TrackerConfig(**{**vars(self), **as_tuples})

    def override_from_text(self, assignments: Iterable[str]) -> TrackerConfig:
        """A copy with settings given as ``name=value``, as on the command line.

        >>> TrackerConfig().override_from_text(["alpha=0.7", "update=none"]).alpha
        0.7
        """
        values: dict[str, Any] = {}
        for assignment in assignments:
            name, equals, text = assignment.partition("=")
            if not equals:
                raise ConfigError(f"a setting is written name=value, not {quoted(assignment)}")
            values[name.strip()] = _value_from_text(name.strip(), text.strip())
        return self.override(**values)

    def to_dict(self) -> dict[str, Any]:
        """All settings, ready for JSON."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in dataclasses.asdict(self).items()}


def _check(setting: dataclasses.Field[Any], value: Any) -> None:
    default: Any = setting.default
    meta = setting.metadata
    if meta["choices"]:
        if not isinstance(value, str) or value not in meta["choices"]:
            raise ConfigError(f"{setting.name} = {quoted(value)}: choose one of {', '.join(meta['choices'])}")
        return
    kind = bool if isinstance(default, bool) else type(default)
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f"{setting.name} = {quoted(value)} must be of type {kind.__name__}")
    if kind in (int, float) and not (meta["low"] <= value <= meta["high"] and abs(value) <= LARGEST):
        raise ConfigError(
            f"{setting.name} = {quoted(value)} must lie between {meta['low']:g} and {min(meta['high'], LARGEST):g}"
        )


def _check_numbers(name: str, values: tuple[Any, ...], kind: type, low: float) -> None:
    accepted = (int,) if kind is int else (int, float)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, accepted) or not low <= value <= LARGEST:
            raise ConfigError(f"{name} = {quoted(values)} must hold numbers of type {kind.__name__}, at least {low:g}")
    if len(values) > MOST_VALUES:
        raise ConfigError(f"{name} has {len(values)} values, more than {MOST_VALUES}")
    if not values:
        raise ConfigError(f"{name} must not be empty")


def _value_from_text(name: str, text: str) -> Any:
    fields = {setting.name: setting for setting in dataclasses.fields(TrackerConfig)}
    if name not in fields:
        raise ConfigError(f"unknown setting {quoted_names([name])}: see `stp profiles` for all settings")
    default = fields[name].default
    if isinstance(default, str):
        return text
    if isinstance(default, tuple):
        text = f"[{text.strip('()[]')}]"
    try:
        value = json.loads(text.lower())
    except (ValueError, RecursionError) as error:  # of numbers with thousands of digits, of brackets in brackets
        raise ConfigError(f"{name} = {quoted(text)} cannot be read as a {type(default).__name__}") from error
    return tuple(value) if isinstance(default, tuple) else value


PROFILES: Mapping[str, Mapping[str, Any]] = {
    # The best robustness that runs live on two CPU cores: the defaults above.
    "default": {},
    # The paper as written. Where it is silent: docs/decisions.md.
    "paper": {
        "search_factor": 2.5,
        "crop_size": 256,
        "narrow_search": 0.0,
        "widen_below": 0.0,
        "resize_below": 0.0,
        "trunk": "whole",
        "convnet_tap": "conv3_3",
        "channels": 0,
        "convnet_channels": 0,
        "cell_damping": 0.0,
        "part_sizes": (5, 17, 0),
        "grid_stride": 2,
        "n_negatives": 330,
        "convnet": "end_to_end",
        "first_frames": 20,
        "min_new_frames": 1,
        "augment": False,
        "confident_rule": "best_share",
        "update_every": 10,
        "update_frames": 0,
        "alpha": 0.6,
        "colour_weight": 0.0,
        "vote_scale": "own",
        "mask_width": 1.0,
        "mask_power": 1.0,
        "mask_floor": 0.0,
        "near_below": 0.0,
        "mind_edges": False,
        "mind_camera": False,
        "box_model": "affine",
        "box_damping": 1.0,
        "lean_gain": 0.0,
        "tell_below": 0.0,
        "tell_margin": 0.0,
        "freeze_when_unsure": False,
        "lost_below": 0.0,
        "unusual_below": 0.0,
        "found_above": 0.0,
        "search_after": 0,
    },
    # Nothing is learned after the start, a smaller crop and fewer channels: for weak machines and many streams.
    "fast": {
        "crop_size": 80,
        "channels": 32,
        "convnet_channels": 32,
        "wide_every": 8,
        "resize_below": 0.0,
        "update": "none",
        "colour_rate": 0.0,
        "new_parts": False,
        "roles": "one",
    },
}
