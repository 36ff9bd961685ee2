"""How sure the society is, and when to say that the target is lost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tracking_parts.config import TrackerConfig
from tracking_parts.filter_parts.society import PartVotes
from tracking_parts.result import State
from tracking_parts.voting import Decision, peak


@dataclass(frozen=True)
class Evidence:
    """What one frame says about the decision."""

    part_agreement: float  # share of voting parts whose vote fell near the chosen centre
    pathway_distance: float  # between the pathways' centres, in cells; nan while the ConvNetPart does not vote
    filter_strength: float  # F_t at the chosen centre; 1 is the first frame's own response
    convnet_strength: float  # C_t at the chosen centre; nan while the ConvNetPart does not vote


def gather_evidence(
    votes: PartVotes, convnet_map: Tensor | None, decision: Decision, agreed: NDArray[np.bool_]
) -> Evidence:
    """How far parts and pathways agree on the decision."""
    voting = votes.voting
    share = float(agreed[voting].mean()) if voting.any() else 0.0
    column, row = round(decision.centre[0]), round(decision.centre[1])
    strength = float(votes.vote_map[row, column])
    if convnet_map is None:
        return Evidence(share, math.nan, strength, math.nan)
    filter_centre, convnet_centre = peak(votes.vote_map), peak(convnet_map)
    distance = math.dist(filter_centre, convnet_centre)
    return Evidence(share, distance, strength, float(convnet_map[row, column]))


def confidence(evidence: Evidence, config: TrackerConfig) -> float:
    """Agreement of parts and of pathways in [0, 1]: a logistic of the evidence (weights: docs/decisions.md)."""
    bias, agreement, distance, filters, convnet = config.confidence_weights
    total = bias + agreement * evidence.part_agreement + filters * evidence.filter_strength
    if not math.isnan(evidence.pathway_distance):
        total += distance * min(evidence.pathway_distance / 4.0, 2.0)
        total += convnet * max(0.0, min(evidence.convnet_strength, 1.0))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total))))


@dataclass(frozen=True)
class StateMonitor:
    """Tracking, uncertain or lost, from the run of confidences; a pure transition."""

    state: State = State.TRACKING
    missing_for: int = 0  # frames in a row in which the target counted as missing

    def after(self, confidence: float, config: TrackerConfig) -> StateMonitor:
        """The state after one more frame. Lost needs several frames in a row; one good frame ends it."""
        missing_for = self.missing_for + 1 if confidence < config.lost_below else 0
        if confidence >= config.uncertain_below:
            return StateMonitor(State.TRACKING, 0)
        if missing_for >= config.lost_after or (self.state is State.LOST and missing_for):
            return StateMonitor(State.LOST, missing_for)
        return StateMonitor(State.UNCERTAIN, missing_for)
