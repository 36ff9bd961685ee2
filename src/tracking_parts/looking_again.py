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
from tracking_parts.searching import places_to_search
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
        found = _look_elsewhere(target, reading, read_at, read_all, config)
        if found is not None:
            is_it = _is_it(target, found, config)
            reading = found if is_it else reading
            events.append("found elsewhere" if is_it else "looked elsewhere")
    return reading, events


def _is_to_be_searched(target: Target, reading: Reading, config: TrackerConfig) -> bool:
    missing_since = target.monitor.missing_for - config.search_after
    is_its_turn = config.search_after > 0 and missing_since >= 0 and missing_since % config.search_every == 0
    return is_its_turn and not _ends_the_doubt(target, reading, config)


def _ends_the_doubt(target: Target, reading: Reading, config: TrackerConfig) -> bool:
    return target.monitor.after(reading.certainty, config).state is State.TRACKING


def _look_elsewhere(
    target: Target, reading: Reading, read_at: ReadAt, read_all: ReadAll, config: TrackerConfig
) -> Reading | None:
    """At two other places of the picture, at the next two next time: the surer look, if there are such places."""
    turn = PLACES_AT_ONCE * ((target.monitor.missing_for - config.search_after) // config.search_every)
    frame = reading.view.frame
    places = places_to_search(target, frame, range(turn, turn + PLACES_AT_ONCE))
    looks = [partial(read_at, frame, replace(target, centre=place), Reach.ELSEWHERE) for place in places]
    return max(read_all(looks), key=lambda look: look.certainty) if looks else None


PLACES_AT_ONCE = 2  # side by side, a thread each


def _is_it(target: Target, found: Reading, config: TrackerConfig) -> bool:
    """Parts find their likes in many places; the ConvNetPart, too, must be sure, by itself."""
    convnet = found.decision.convnet
    if convnet is None or convnet.at_chosen < config.search_convnet or found.certainty < config.search_sure:
        return False
    return _ends_the_doubt(target, found, config)


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
    if not _ends_the_doubt(target, best, config):
        return reading
    target.shape = shape
    return best
