"""From what both pathways voted to a reading (paper, section 3): the decision, who agreed, and how sure that is.

Who counts as a witness at the picture's edges: docs/decisions.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tracking_parts.confidence import confidence, gather_evidence
from tracking_parts.config import TrackerConfig
from tracking_parts.convnet_part import View
from tracking_parts.filter_parts.society import PartVotes
from tracking_parts.frames import Reach
from tracking_parts.geometry import Point
from tracking_parts.result import State
from tracking_parts.step import Reading
from tracking_parts.target import Target
from tracking_parts.voting import Loudness, VoteMap, combine


@dataclass(frozen=True)
class Votes:
    """What everybody says about one look."""

    filter_map: Tensor  # F_t
    convnet_map: Tensor | None  # C_t; None while the ConvNetPart does not vote
    colour_map: VoteMap | None  # H_t; None where there is no colour part
    of_parts: PartVotes  # each filter part's own vote


def decide(view: View, votes: Votes, target: Target, config: TrackerConfig) -> Reading:
    """P_t and its maximum; in doubt, a place that is not near the last one must be surer by a margin.

    Not while lost, nor elsewhere: nothing speaks for the last place then.
    """
    judge = partial(read_votes, view, votes, target, config)
    reading = judge(target.mask(view, config))  # M_c
    nothing_near = target.monitor.state is State.LOST or view.reach is Reach.ELSEWHERE
    if reading.certainty >= config.near_below or nothing_near:
        return reading
    near = judge(target.near_mask(view, config))
    elsewhere = math.dist(near.decision.centre, reading.decision.centre) > config.agreement_radius
    if not elsewhere or reading.certainty >= config.near_gain * near.certainty:
        return reading
    return replace(near, prospect=reading.prospect)


def read_votes(view: View, votes: Votes, target: Target, config: TrackerConfig, mask: VoteMap) -> Reading:
    """P_t under a mask and its maximum, which parts agreed with it, and the evidence for it."""
    usual = target.loudness if config.vote_scale == "usual" else Loudness()
    colour_weight = config.colour_weight * target.colour.trust if target.colour is not None else 0.0
    decision = combine(votes.filter_map, votes.convnet_map, config.alpha, mask, usual, votes.colour_map, colour_weight)
    agreed = votes.of_parts.agreement(decision.centre, config.agreement_radius)
    witnesses = who_could_see(votes.of_parts, decision.centre, view, config)
    evidence = gather_evidence(witnesses, agreed, decision, target.loudness)
    return Reading(
        view=view,
        votes=votes.of_parts,
        filter_map=votes.filter_map,
        convnet_map=votes.convnet_map,
        colour_map=votes.colour_map,
        decision=decision,
        prospect=decision.vote_map,
        agreed=agreed,
        evidence=evidence,
        certainty=confidence(evidence, config),
    )


def who_could_see(votes: PartVotes, centre: Point, view: View, config: TrackerConfig) -> NDArray[np.bool_]:
    """Voting parts whose place would be in the picture, were the object there; all of them if these are too few."""
    if not config.mind_edges:
        return votes.voting
    seeing = votes.voting & view.picture_in_map.holds(votes.offsets + np.array(centre))
    return seeing if seeing.sum() >= FEWEST_WITNESSES else votes.voting


FEWEST_WITNESSES = 5
