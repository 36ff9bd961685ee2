"""How sure the society is, and when to say that the target is lost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracking_parts.config import TrackerConfig
from tracking_parts.result import State
from tracking_parts.voting import Decision, Loudness


@dataclass(frozen=True)
class Evidence:
    """What one frame says about the decision. While the ConvNetPart does not vote, the parts speak for it."""

    part_agreement: float  # share of voting parts, in sight of it, whose vote fell near the chosen centre
    pathway_distance: float  # between the pathways' centres, in cells; nan while the ConvNetPart does not vote
    filter_strength: float  # F_t at the chosen centre, in units of its usual peak
    convnet_strength: float  # C_t at the chosen centre; 1 is what it was taught
    filter_peak: float  # maximum of F_t
    convnet_peak: float | None  # maximum of C_t; None while the ConvNetPart does not vote


def gather_evidence(
    witnesses: NDArray[np.bool_], agreed: NDArray[np.bool_], decision: Decision, usual: Loudness
) -> Evidence:
    """How far parts and pathways agree on the decision; of the parts, those that vote and could see it."""
    share = float(agreed[witnesses].mean()) if witnesses.any() else 0.0
    filters, convnet = decision.filters, decision.convnet
    relative = filters.at_chosen / usual.filters if usual.filters > 0 else 1.0
    if convnet is None:
        return Evidence(share, math.nan, relative, relative, filters.peak, None)
    distance = math.dist(filters.centre, convnet.centre)
    return Evidence(share, distance, relative, convnet.at_chosen, filters.peak, convnet.peak)


def confidence(evidence: Evidence, config: TrackerConfig) -> float:
    """How likely the box overlaps the object by more than half: a fitted logistic of the evidence."""
    terms = confidence_terms(evidence, config)
    total = sum(weight * term for weight, term in zip(config.confidence_weights, terms, strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total))))


def confidence_terms(evidence: Evidence, config: TrackerConfig) -> tuple[float, float, float, float, float]:
    """What the weights of the logistic weigh: 1, agreement of the parts, distance of the pathways, F_t, C_t."""
    if math.isnan(evidence.pathway_distance):
        apart = 1.0 - min(evidence.part_agreement / config.min_box_agreement, 1.0) if config.min_box_agreement else 0.0
    else:
        apart = min(evidence.pathway_distance / FAR_APART, 1.0)
    return (
        1.0,
        evidence.part_agreement,
        apart,
        min(max(evidence.filter_strength, 0.0), 1.5),
        min(max(evidence.convnet_strength, 0.0), 1.0),
    )


FAR_APART = 6.0  # cells between the pathways' centres beyond which it no longer matters how far


@dataclass(frozen=True)
class StateMonitor:
    """Tracking, uncertain or lost, from the run of confidences; a pure transition."""

    state: State = State.TRACKING
    missing_for: int = 0  # frames in a row in which the target counted as missing
    usual: float = 0.0  # running mean of the confidence while tracking; 0 before the first vote

    def after(self, confidence: float, config: TrackerConfig) -> StateMonitor:
        """The state after one more frame. Lost needs several frames in a row; one good frame ends it.

        How sure a society is while all is well differs from object to object: what is far below its own level is
        missing too, although another one would be content with it. Once the object was missing for some frames, more
        is asked of what claims to be it.
        """
        doubtful = self.missing_for >= config.doubt_after
        unusual = (config.found_above if doubtful else config.unusual_below) * self.usual
        missing_for = self.missing_for + 1 if confidence < max(config.lost_below, unusual) else 0
        if confidence >= max(config.uncertain_below, unusual):
            usual = self.usual + USUAL_RATE * (confidence - self.usual) if self.usual else confidence
            return StateMonitor(State.TRACKING, 0, usual)
        if missing_for >= config.lost_after or (self.state is State.LOST and missing_for):
            return StateMonitor(State.LOST, missing_for, self.usual)
        return StateMonitor(State.UNCERTAIN, missing_for, self.usual)


USUAL_RATE = 0.05  # remembers some twenty frames
