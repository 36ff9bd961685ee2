"""Any settings are refused in words, or can track."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core_helpers import SMALL, random_weights
from synthetic import moving_boxes, render_sequence
from tracking_parts import ConfigError, Result, Tracker, TrackerConfig
from tracking_parts.config import LARGEST
from tracking_parts.vgg import LAYER_NAMES

SETTINGS = {setting.name: setting for setting in dataclasses.fields(TrackerConfig)}
SEQUENCE = render_sequence(moving_boxes(4))

# What only costs time is tried in a range that a test can wait for.
CHEAP: dict[str, st.SearchStrategy[Any]] = {
    "crop_size": st.sampled_from([64, 72, 96]),
    "search_factor": st.floats(1.2, 6),
    "epochs": st.just(1),
    "first_steps": st.integers(1, 20),
    "update_steps": st.integers(1, 3),
    "shifts_per_frame": st.integers(1, 2),
    "n_negatives": st.integers(1, 200),
    "lost_search": st.floats(1, 2),
    "trunk": st.just("whole"),  # the light one is made of the real weights
    "tap": st.sampled_from(LAYER_NAMES),
    "convnet_tap": st.sampled_from(LAYER_NAMES),
    "part_sizes": st.lists(st.integers(0, 40), min_size=1, max_size=4),
    "supports": st.lists(st.floats(0.1, 50), min_size=1, max_size=3),
    "confidence_weights": st.lists(st.floats(-LARGEST, LARGEST), min_size=5, max_size=5),
}


def valid_values(name: str) -> st.SearchStrategy[Any]:
    """Values that the setting's own range allows, the ends of it as likely as its middle."""
    setting = SETTINGS[name]
    default, meta = setting.default, setting.metadata
    if name in CHEAP:
        return CHEAP[name]
    if meta["choices"]:
        return st.sampled_from(meta["choices"])
    if isinstance(default, bool):
        return st.booleans()
    low, high = max(meta["low"], -LARGEST), min(meta["high"], LARGEST)
    if isinstance(default, int):
        return st.one_of(st.sampled_from([int(low), int(high)]), st.integers(int(low), min(int(high), 50)))
    return st.one_of(st.sampled_from([low, high]), st.floats(low, high))


VALID = st.fixed_dictionaries({}, optional={name: valid_values(name) for name in SETTINGS})
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from([10**400, -(10**400)])
)
ANYTHING = st.one_of(SCALARS, st.lists(SCALARS, max_size=4), st.dictionaries(st.text(max_size=3), SCALARS, max_size=2))
NAMES = st.one_of(st.sampled_from(sorted(SETTINGS)), st.text(max_size=6))


def assert_tracks(config: TrackerConfig) -> None:
    tracker = Tracker(config, weights=random_weights(), engine="torch")
    tracker.init(SEQUENCE.frames[0], SEQUENCE.boxes[0])
    for frame in SEQUENCE.frames[1:]:
        assert_within_bounds(tracker.update(frame), config)
    tracker.close()


def assert_within_bounds(result: Result, config: TrackerConfig) -> None:
    width, height = SEQUENCE.size_wh
    centre_x, centre_y = result.box.centre
    assert result.box.is_finite and np.isfinite(result.polygon).all()
    assert -1e-3 <= centre_x <= width + 1e-3 and -1e-3 <= centre_y <= height + 1e-3
    assert result.box.w > 0 and result.box.h > 0
    assert 0 <= result.confidence <= 1


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALID)
@example({"tap": "conv4_3", "convnet_tap": "conv4_3", "crop_size": 64})
@example({"convnet": "end_to_end", "learning_rate": 1.0, "update": "full", "u": 2, "update_frames": 0, "epochs": 1})
@example(
    {
        "part_sizes": [39],
        "tap": "conv4_1",
        "crop_size": 96,
        "narrow_above": 0.0,
        "narrow_motion": 1.0,
        "min_box_agreement": 0.0,
    }
)
@pytest.mark.filterwarnings("ignore::tracking_parts.LearningWarning")
@example({"convnet": "frozen_trunk", "learning_rate": 1.0, "update": "parallel", "u": 1})
@example({"ridge": 1e-8, "head_ridge": 0.0})
@example({"mask_power": 10.0, "mask_width": 0.01, "mask_floor": 0.0})
def test_what_is_accepted_can_track(values: dict[str, Any]) -> None:
    try:
        config = TrackerConfig.from_dict({**SMALL, **values})
    except ConfigError as error:
        assert "\n" not in str(error)
        return
    assert_tracks(config)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.dictionaries(NAMES, ANYTHING, max_size=3), ANYTHING))
@example({1: 2})
@example({"u": 10**400})
@example({"update": np.array([1, 2])})
def test_any_dictionary_is_settings_or_refused(values: Any) -> None:
    try:
        config = TrackerConfig.from_dict(values)
    except ConfigError as error:
        assert "\n" not in str(error) and len(str(error)) < 400
        return
    assert TrackerConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@settings(max_examples=100, deadline=None)
@given(VALID)
def test_settings_survive_yaml(values: dict[str, Any]) -> None:
    try:
        config = TrackerConfig.from_dict(values)
    except ConfigError:
        return
    assert TrackerConfig.from_dict(yaml.safe_load(yaml.safe_dump(config.to_dict()))) == config


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=30), st.builds("{}={}".format, NAMES, st.one_of(st.text(max_size=12), ANYTHING))))
@example("u=" + "9" * 5000)
@example("part_sizes=" + "[" * 100_000)
@example("alpha=1e999")
@example("n_max=1" + "0" * 400)
def test_any_text_is_a_setting_or_refused(text: str) -> None:
    try:
        TrackerConfig().override_from_text([text])
    except ConfigError as error:
        assert "\n" not in str(error) and len(str(error)) < 400


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, 10**400])
def test_no_number_is_too_large_to_be_refused(value: float) -> None:
    for name, setting in SETTINGS.items():
        if isinstance(setting.default, (int, float)) and not isinstance(setting.default, bool):
            with pytest.raises(ConfigError, match=name):
                TrackerConfig().override(**{name: value})
