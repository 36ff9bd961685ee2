"""One frame's work, kept for the trace."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tracking_parts.confidence import Evidence
from tracking_parts.convnet_part import View
from tracking_parts.filter_parts.society import PartVotes
from tracking_parts.geometry import Box, Point
from tracking_parts.learning_faults import faults_in
from tracking_parts.result import Result
from tracking_parts.trace import FrameTrace, PartsTrace
from tracking_parts.voting import Decision, Opinion, VoteMap, peak


@dataclass(frozen=True)
class Reading:
    """What the tracker saw in one frame, what the parts said, and what was decided; on the first frame nobody votes."""

    view: View
    votes: PartVotes | None  # each part's own vote
    filter_map: Tensor | None  # F_t
    convnet_map: Tensor | None  # C_t
    colour_map: VoteMap | None  # H_t
    decision: Decision  # P_t
    prospect: VoteMap  # P_t of all places, also where only those near the last one were believed
    agreed: NDArray[np.bool_]  # which parts agreed with the decision
    evidence: Evidence
    certainty: float  # the confidence that follows from it


def first_reading(view: View, centre_in_map: Point) -> Reading:
    """Of the first frame: nobody votes, and what was given is certain."""
    nothing = np.zeros(tuple(view.features.shape[1:]), np.float32)
    decision = Decision(nothing, centre_in_map, Opinion(centre_in_map, 1.0, 1.0))
    evidence = Evidence(1.0, math.nan, 1.0, 1.0, 1.0, None)
    return Reading(view, None, None, None, None, decision, nothing, np.zeros(0, bool), evidence, 1.0)


def told_reading(reading: Reading, centre_in_map: Point, radius: float) -> Reading:
    """The same look, judged by where a person says that the object is."""
    votes = reading.votes
    if votes is None:
        return reading
    agreed = votes.agreement(centre_in_map, radius)
    share = float(agreed[votes.voting].mean()) if votes.voting.any() else 0.0
    return replace(
        reading,
        decision=replace(reading.decision, centre=centre_in_map),
        agreed=agreed,
        evidence=replace(reading.evidence, part_agreement=share),
        certainty=1.0,
    )


@dataclass(frozen=True)
class Step:
    """A reading, the answer that came of it, and what was learned afterwards."""

    reading: Reading
    result: Result
    highly_confident: bool
    events: tuple[str, ...]


def build_trace(frame_index: int, step: Step, tracked: Box) -> FrameTrace:
    """A read-only picture of one frame's work, after which the object is taken to be in ``tracked``."""
    reading = step.reading
    votes, filter_map = reading.votes, reading.filter_map
    convnet_map = None if reading.decision.convnet is None else reading.convnet_map  # what is not finite did not vote
    nothing = np.zeros(tuple(reading.view.features.shape[1:]), np.float32)
    return FrameTrace(
        frame_index=frame_index,
        result=step.result,
        tracked=tracked,
        window=reading.view.window,
        crop=reading.view.crop,
        filter_votes=nothing if filter_map is None else filter_map.cpu().numpy(),
        convnet_votes=nothing if convnet_map is None else convnet_map.cpu().numpy(),
        colour_votes=nothing if reading.colour_map is None else reading.colour_map,
        combined_votes=reading.decision.vote_map,
        filter_centre=reading.decision.centre if filter_map is None else peak(filter_map),
        convnet_centre=reading.decision.centre if convnet_map is None else peak(convnet_map),
        centre=reading.decision.centre,
        pathway_distance=reading.evidence.pathway_distance,
        part_agreement=reading.evidence.part_agreement,
        highly_confident=step.highly_confident,
        parts=PartsTrace.empty()
        if votes is None
        else PartsTrace(
            ids=votes.ids,
            sizes=votes.sizes,
            offsets=votes.offsets,
            roles=votes.roles,
            votes=votes.positions,
            strengths=votes.strengths,
            agreed=reading.agreed,
        ),
        events=step.events,
        fault=faults_in(step.events),
    )
