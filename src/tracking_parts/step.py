"""One frame's work, kept for the trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tracking_parts.confidence import Evidence
from tracking_parts.convnet_part import View
from tracking_parts.filter_parts.society import PartVotes
from tracking_parts.result import Result
from tracking_parts.trace import FrameTrace, PartsTrace
from tracking_parts.voting import Decision, peak


@dataclass(frozen=True)
class Step:
    """What the tracker saw, heard, decided and learned; on the first frame nobody voted."""

    view: View
    votes: PartVotes | None
    convnet_map: Tensor | None
    decision: Decision
    evidence: Evidence
    agreed: NDArray[np.bool_]
    highly_confident: bool
    result: Result
    events: tuple[str, ...]


def build_trace(frame_index: int, step: Step) -> FrameTrace:
    """A read-only picture of one frame's work."""
    shape = tuple(step.view.features.shape[1:])
    nothing = np.zeros(shape, np.float32)
    votes = step.votes
    return FrameTrace(
        frame_index=frame_index,
        result=step.result,
        window=step.view.window,
        crop=step.view.crop,
        filter_votes=nothing if votes is None else votes.vote_map.cpu().numpy(),
        convnet_votes=nothing if step.convnet_map is None else step.convnet_map.cpu().numpy(),
        combined_votes=step.decision.vote_map.cpu().numpy(),
        filter_centre=step.decision.centre if votes is None else peak(votes.vote_map),
        convnet_centre=step.decision.centre if step.convnet_map is None else peak(step.convnet_map),
        centre=step.decision.centre,
        pathway_distance=step.evidence.pathway_distance,
        part_agreement=step.evidence.part_agreement,
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
            agreed=step.agreed,
        ),
        events=step.events,
    )
