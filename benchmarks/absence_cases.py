"""One absence, watched: what the tracker says while its object is away, what it learns, when it finds it again."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from benchmarks.absent import Absence, make_absent
from benchmarks.scenes import Scene
from tracking_parts import Result, State, Tracker, TrackerConfig
from tracking_parts.frames import Reach
from tracking_parts.geometry import Box
from tracking_parts.looking import search_window
from tracking_parts.tracker_state import TrackerState

LOST_WITHIN, FOUND_WITHIN = 15, 20  # frames
FOUND = 0.3  # overlap, in this frame and the next two
FOLLOWED = 0.3  # overlap before the absence, without which nothing can be lost
LETTERS = {State.TRACKING: "t", State.UNCERTAIN: "u", State.LOST: "L"}


@dataclass(frozen=True)
class Case:
    """One scene and one kind of absence; frames count from 1, the first in which nothing is left of the object, or in
    which something is back of it.

    ``learned`` are the absent frames after which anything learned was other than before, ``learned_unsure`` those of
    them in which the state was not tracking. ``distance`` is between where the object was last seen and where it came
    back, in object sizes.
    """

    scene: str
    kind: str
    followed: bool
    lost_at: int | None
    states: str
    confidences: tuple[float, ...]
    learned: tuple[int, ...]
    learned_unsure: tuple[int, ...]
    in_reach: bool
    distance: float
    found_at: int | None
    states_back: str
    confidences_back: tuple[float, ...]
    overlaps_back: tuple[float, ...]
    confidence_before: float
    evidence: tuple[dict[str, float | None], ...]  # of every frame after the first: what the confidence is made of

    @property
    def lost_in_time(self) -> bool:
        return self.lost_at is not None and self.lost_at <= LOST_WITHIN


def learned_digest(state: TrackerState) -> str:
    """A hash of all that is learned: filters, votes and roles of the parts, the ConvNetPart, the frames it keeps.

    The camera's last picture is what was seen, not what was learned.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(set(state.tensors) - {"camera.picture"}):
        tensor = state.tensors[name].detach().cpu().contiguous()
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.numpy().tobytes())
    kept = {name: state.values[name] for name in ("banks", "next_id", "references", "memory", "training_frames")}
    digest.update(json.dumps(kept, sort_keys=True).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Followed:
    """What was said of the frames before anything changed."""

    results: tuple[Result, ...]
    evidence: tuple[dict[str, float | None], ...]


def watch(tracker: Tracker, absence: Absence, before: Followed) -> Case:
    """Show the rest of the video to a tracker that has seen the frames before anything changed."""
    results, evidence = list(before.results), list(before.evidence)
    learned, unsure, digest = [], [], ""
    for index in range(len(before.results), len(absence.frames)):
        if index == absence.gone:
            digest = learned_digest(tracker.state())
        result = tracker.update(absence.frames[index])
        results.append(result)
        evidence.append(evidence_of(tracker))
        if absence.gone <= index < absence.back:
            last, digest = digest, learned_digest(tracker.state())
            if digest != last:
                learned.append(index - absence.gone + 1)
                if result.state is not State.TRACKING:
                    unsure.append(index - absence.gone + 1)
    case = judge(absence, results, tracker.config)
    return replace(case, learned=tuple(learned), learned_unsure=tuple(unsure), evidence=tuple(evidence))


def evidence_of(tracker: Tracker) -> dict[str, float | None]:
    """Of the last frame, rounded; None where the ConvNetPart said nothing."""
    step = tracker._last
    assert step is not None
    values: dict[str, float | None] = asdict(step.reading.evidence)
    return {name: None if value is None or math.isnan(value) else round(value, 4) for name, value in values.items()}


def judge(absence: Absence, results: Sequence[Result], config: TrackerConfig) -> Case:
    """All that can be told from the answers."""
    away, back = results[absence.gone : absence.back], results[absence.back :]
    overlaps = [result.box.overlap(box) for result, box in zip(results, absence.boxes, strict=True)]
    overlaps_back = overlaps[absence.back :]
    last_seen, comes_back = absence.boxes[absence.seen - 1], absence.boxes[absence.shown]
    return Case(
        scene="",
        kind=absence.kind,
        followed=overlaps[absence.seen - 1] > FOLLOWED,
        lost_at=next((number for number, result in enumerate(away, 1) if result.state is State.LOST), None),
        states="".join(LETTERS[result.state] for result in away),
        confidences=tuple(round(result.confidence, 3) for result in away),
        learned=(),
        learned_unsure=(),
        in_reach=is_in_reach(last_seen, comes_back, config),
        distance=math.dist(last_seen.centre, comes_back.centre) / math.sqrt(last_seen.area),
        found_at=found_at(overlaps_back),
        states_back="".join(LETTERS[result.state] for result in back),
        confidences_back=tuple(round(result.confidence, 3) for result in back),
        overlaps_back=tuple(round(overlap, 2) for overlap in overlaps_back),
        confidence_before=round(float(np.median([r.confidence for r in results[1 : absence.seen]])), 3),
        evidence=(),
    )


def found_at(overlaps: Sequence[float]) -> int | None:
    """The first frame from which on the box is on the object for three frames.

    >>> found_at([0.0, 0.4, 0.0, 0.5, 0.5, 0.5]), found_at([0.9, 0.9, 0.0])
    (4, None)
    """
    for number in range(len(overlaps) - 2):
        if min(overlaps[number : number + 3]) > FOUND:
            return number + 1
    return None


def is_in_reach(last_seen: Box, comes_back: Box, config: TrackerConfig) -> bool:
    """Whether the wider search, around where the object was last seen, shows all of it."""
    window = search_window(last_seen.centre, (last_seen.w, last_seen.h), 1.0, Reach.WIDE, config, 4)
    left, top, right, bottom = comes_back.xyxy
    return (
        window.left <= left
        and window.top <= top
        and right <= window.left + window.width
        and bottom <= window.top + window.height
    )


def cases_of(scene: Scene, other: Scene, tracker: Tracker, kinds: Iterable[str]) -> Iterator[Case]:
    """All kinds of absence of one scene; what they begin with alike is tracked once."""
    seen: tuple[Followed, TrackerState] | None = None
    for kind in kinds:
        absence = make_absent(scene, kind, other)
        if absence is None:
            continue
        if kind == "pan":  # other pictures from the first frame on
            case = watch(tracker, absence, _follow(tracker, absence))
        elif seen is None:
            followed = _follow(tracker, absence)
            seen = (followed, tracker.state())
            case = watch(tracker, absence, followed)
        else:
            followed, state = seen
            case = watch(Tracker.from_state(state, weights=tracker._weights), absence, followed)
        yield replace(case, scene=scene.name)


def _follow(tracker: Tracker, absence: Absence) -> Followed:
    results, evidence = [tracker.init(absence.frames[0], absence.boxes[0])], []
    for frame in absence.frames[1 : absence.seen]:
        results.append(tracker.update(frame))
        evidence.append(evidence_of(tracker))
    return Followed(tuple(results), tuple(evidence))
