"""Every constant in one place: profiles, ranges, overrides, and the way there and back."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from tracking_parts import ConfigError, TrackerConfig
from tracking_parts.config import PROFILES

NAMES = ("default", "fast", "paper")
SETTINGS = {setting.name: setting for setting in dataclasses.fields(TrackerConfig)}


def test_the_papers_values() -> None:
    """Section 3.2, "Parameters", and section 3.1."""
    paper = TrackerConfig.profile("paper")
    stated = {
        "alpha": 0.6,
        "u": 10,
        "t_d": 1.4,
        "p_plus": 0.2,
        "p_minus": 0.1,
        "epochs": 10,
        "n_frames": 20,
        "first_frames": 20,
        "learning_rate": 1e-5,
        "n_max": 200,
        "grid_stride": 2,
        "shifts_per_frame": 2,
        "confident_share": 0.11,
        "confident_rule": "best_share",
        "update": "hcf",
        "convnet": "end_to_end",
        "box_model": "affine",
        "tap": "conv3_3",
        "roles": "all",
        "trunk": "whole",
    }
    assert {name: getattr(paper, name) for name in stated} == stated
    assert len(paper.part_sizes) == 3


def test_profiles() -> None:
    assert set(PROFILES) == set(NAMES)
    assert TrackerConfig.profile("default") == TrackerConfig()
    fast = TrackerConfig.profile("fast")
    assert (fast.update, fast.new_parts) == ("none", False)
    assert (fast.trunk, TrackerConfig().trunk) == ("light", "light")
    with pytest.raises(ConfigError, match="papr"):
        TrackerConfig.profile("papr")


@pytest.mark.parametrize("name", NAMES)
def test_round_trip_through_json(name: str) -> None:
    config = TrackerConfig.profile(name)
    assert TrackerConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert set(config.to_dict()) == set(SETTINGS)


def test_configuration_is_frozen_and_hashable() -> None:
    config = TrackerConfig()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.alpha = 0.1  # type: ignore[misc]
    assert hash(config) == hash(TrackerConfig())


def test_override_leaves_the_original() -> None:
    config = TrackerConfig()
    changed = config.override(alpha=0.7, part_sizes=[3, 0])
    assert (changed.alpha, changed.part_sizes) == (0.7, (3, 0))
    assert config == TrackerConfig()
    assert changed.override(alpha=config.alpha, part_sizes=config.part_sizes) == config


@pytest.mark.parametrize("make", [TrackerConfig().override, lambda **v: TrackerConfig.from_dict(v)])
def test_unknown_names_raise(make: Any) -> None:
    with pytest.raises(ConfigError, match="alhpa"):
        make(alhpa=0.5)
    with pytest.raises(ConfigError, match="alhpa"):
        TrackerConfig().override_from_text(["alhpa=0.5"])


@pytest.mark.parametrize(
    "name", [n for n, s in SETTINGS.items() if isinstance(s.default, (int, float)) and not isinstance(s.default, bool)]
)
def test_numbers_have_ranges(name: str) -> None:
    low, high = SETTINGS[name].metadata["low"], SETTINGS[name].metadata["high"]
    kind: Any = type(SETTINGS[name].default)
    for beyond in (low - 1, high + 1):
        if abs(beyond) != float("inf"):
            with pytest.raises(ConfigError, match=name):
                TrackerConfig().override(**{name: kind(beyond)})
    for wrong in ("1", None, True, float("nan"), float("inf"), [1]):
        with pytest.raises(ConfigError, match=name):
            TrackerConfig().override(**{name: wrong})


@pytest.mark.parametrize("name", [n for n, s in SETTINGS.items() if s.metadata["choices"]])
def test_choices(name: str) -> None:
    for choice in SETTINGS[name].metadata["choices"]:
        assert getattr(TrackerConfig().override(**{name: choice}), name) == choice
    for wrong in ("perhaps", None, 3):
        with pytest.raises(ConfigError, match=name):
            TrackerConfig().override(**{name: wrong})


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=lambda setting: setting.name)
def test_every_setting_is_explained(setting: dataclasses.Field[Any]) -> None:
    assert len(setting.metadata["meaning"]) > 5


def test_settings_that_contradict_each_other() -> None:
    with pytest.raises(ConfigError, match="multiple of 8"):
        TrackerConfig().override(crop_size=130)
    with pytest.raises(ConfigError, match="p_minus"):
        TrackerConfig().override(p_minus=0.5, p_plus=0.2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("part_sizes", ()),
        ("part_sizes", (-1,)),
        ("part_sizes", (2.5,)),
        ("part_sizes", ("a",)),
        ("part_sizes", (None,)),
        ("part_sizes", ((1,),)),
        ("part_sizes", 3),
        ("supports", ()),
        ("supports", ("x",)),
        ("supports", (float("nan"),)),
        ("confidence_weights", (1.0, 2.0)),
        ("confidence_weights", (1.0, 2.0, 3.0, 4.0, float("nan"))),
        ("tap", "conv9_9"),
        ("convnet_tap", "conv9_9"),
    ],
)
def test_bad_values_are_refused_when_set(name: str, value: Any) -> None:
    """Not frames later, by a traceback from somewhere inside."""
    with pytest.raises(ConfigError, match=name):
        TrackerConfig().override(**{name: value})


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("alpha=0.7", "alpha", 0.7),
        (" alpha = 1 ", "alpha", 1),
        ("u=5", "u", 5),
        ("update=parallel", "update", "parallel"),
        ("new_parts=false", "new_parts", False),
        ("new_parts=True", "new_parts", True),
        ("part_sizes=3,5,0", "part_sizes", (3, 5, 0)),
        ("part_sizes=(3, 0)", "part_sizes", (3, 0)),
        ("supports=[0.7]", "supports", (0.7,)),
        ("ridge=1e-3", "ridge", 1e-3),
    ],
)
def test_settings_as_text(text: str, name: str, value: Any) -> None:
    assert getattr(TrackerConfig().override_from_text([text]), name) == value


@pytest.mark.parametrize(
    "text",
    ["alpha", "=0.5", "alpha=", "alpha=much", "alpha=2", "alpha=true", "u=2.5", "new_parts=1", "update=all",
     "part_sizes=a", "part_sizes=", 'part_sizes="a"', "alpha=[1]", "alpha=NaN"],
)  # fmt: skip
def test_bad_text_is_one_clear_line(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TrackerConfig().override_from_text([text])
    assert "\n" not in str(caught.value)


def test_later_text_wins() -> None:
    assert TrackerConfig().override_from_text(["alpha=0.1", "u=3", "alpha=0.2"]).alpha == 0.2
