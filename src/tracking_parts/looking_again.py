"""A frame that one look does not show clearly is looked at again: less narrowly, for another size, widely.

What the narrow look left out may lie around it; what the parts no longer agree on may have another size; what is not
there at all may have moved far, or be anywhere once it is missing (docs/decisions.md). The surest look is believed, if
it is surer by a margin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from tracking_parts.config import TrackerConfig
from tracking_parts.frames import Frame, Reach
from tracking_parts.result import State
from tracking_parts.searching import place_to_search
from tracking_parts.step import Reading
from tracking_parts.target import Target

ReadAt = Callable[[Frame, Target, Reach], Reading]  # one more look at a frame, around the target's last centre
ReadAll = Callable[[Sequence[Callable[[], Reading]]], list[Reading]]  # several looks that need not wait for each other


def look_again(
    target: Target, reading: Reading, read_at: ReadAt, read_all: ReadAll, config: TrackerConfig
) -> tuple[Reading, list[str]]:
    """The reading that is believed, and what was done for it, in words. Another size becomes the target's."""
    events = []
    if reading.view.reach is Reach.NARROW and not target.is_steady(reading, config, tolerance=2.0):
        reading = read_at(reading.view.frame, target, Reach.USUAL)
        events.append("looked again, less narrowly")
    if reading.view.reach is Reach.USUAL and _may_be_of_another_size(target, reading, config):
        reading = _look_for_another_size(target, reading, read_at, read_all, config)
        events.append("looked again, for another size")
    if reading.view.reach is Reach.USUAL and reading.certainty < config.widen_below:
        wide = read_at(reading.view.frame, target, Reach.WIDE)
        reading = wide if wide.certainty > config.widen_gain * reading.certainty else reading
        events.append("looked again, widely")
    if _is_to_be_searched(target, reading, config):
        reading = _search_elsewhere(target, reading, read_at, config)
        events.append("found elsewhere" if reading.view.reach is Reach.ELSEWHERE else "looked elsewhere")
    return reading, events


def _is_to_be_searched(target: Target, reading: Reading, config: TrackerConfig) -> bool:
    is_missing = 0 < config.search_after <= target.monitor.missing_for
    return is_missing and reading.certainty < _sure_elsewhere(target, config)


def _sure_elsewhere(target: Target, config: TrackerConfig) -> float:
    """From which confidence on it is believed to be somewhere that it has not been seen to go to."""
    return max(config.search_sure, config.found_above * target.monitor.usual)


def _search_elsewhere(target: Target, reading: Reading, read_at: ReadAt, config: TrackerConfig) -> Reading:
    """One other place per frame. Parts find their likes in many places; the ConvNetPart must be sure by itself, too."""
    place = place_to_search(target, reading.view.frame)
    if place is None:
        return reading
    found = read_at(reading.view.frame, replace(target, centre=place), Reach.ELSEWHERE)
    sure = found.certainty >= _sure_elsewhere(target, config)
    return found if sure and found.evidence.convnet_strength >= config.search_convnet else reading


def _may_be_of_another_size(target: Target, reading: Reading, config: TrackerConfig) -> bool:
    is_its_turn = target.frame_index % config.resize_every == 0
    return is_its_turn and reading.certainty < config.resize_below and config.box_model != "fixed"


def _look_for_another_size(
    target: Target, reading: Reading, read_at: ReadAt, read_all: ReadAll, config: TrackerConfig
) -> Reading:
    """Parts that see the object at a wrong size agree no more, and could not fit its size: try its neighbours.

    A size that leaves the frame in doubt is not believed: an object that is not there has none.
    """
    best, shape = reading, target.shape
    shapes = [target.shape.resized(growth, config) for growth in (config.resize_step, 1 / config.resize_step)]
    looks = [partial(read_at, reading.view.frame, replace(target, shape=one), Reach.USUAL) for one in shapes]
    for other, its_shape in zip(read_all(looks), shapes, strict=True):
        if other.certainty > config.resize_gain * best.certainty:
            best, shape = other, its_shape
    if target.monitor.after(best.certainty, config).state is not State.TRACKING:
        return reading
    target.shape = shape
    return best
