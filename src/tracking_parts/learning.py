"""What is learned after the answer (paper, section 3): roles, new candidates, confident frames, the ConvNetPart.

Nothing is learned while unsure: what is learned from a wrong place would lead there again.
"""

from __future__ import annotations

import math

import numpy as np

from tracking_parts.colour_part import CONFIRMED_RATE
from tracking_parts.confidence import Evidence
from tracking_parts.config import TrackerConfig
from tracking_parts.convnet_part.pathway import Look, View
from tracking_parts.convnet_part.updating import train_soundly
from tracking_parts.errors import LearningError
from tracking_parts.filter_parts.patches import edge_density
from tracking_parts.frames import Reach
from tracking_parts.geometry import Box
from tracking_parts.learning_faults import faults_in, tolerated, warn_of
from tracking_parts.result import State
from tracking_parts.roles import Role
from tracking_parts.step import Reading
from tracking_parts.target import Target


class Learner:
    """Teaches targets by a configuration. It remembers nothing itself, and tells in words what it did (events)."""

    def __init__(self, config: TrackerConfig) -> None:
        self._config = config

    # ------------------------------------------------------------------ the first frame
    def learn_first(self, target: Target, view: View, box_in_map: Box, look: Look) -> list[str]:
        """Learn the first parts, which vote at once (nobody else could), and begin to teach the ConvNetPart."""
        events: list[str] = []
        with tolerated(events, "learning parts"):
            count = self._learn_parts(target, view, box_in_map, Role.RELIABLE)
            events.append(f"learned {count} parts")
        with tolerated(events, "keeping the first frame"):
            self._keep_first(target, view, box_in_map, look)
        self._train_first(target, events)
        if not target.convnet_votes and faults_in(events) and not len(target.parts):
            raise LearningError(f"nothing could be learned from the first frame: {faults_in(events)}")
        self._learn_colours(target, view, self._config.colour_rate, events)
        self._tell_faults(target, events)
        return events

    def _keep_first(self, target: Target, view: View, box_in_map: Box, look: Look) -> None:
        """The first view always teaches the ConvNetPart, also as it might look later."""
        size = target.object_in_map(view.window)
        target.memory.add_first(target.convnet.sample(view, box_in_map.centre, size, 0))
        if self._config.augment and self._config.convnet_learns:
            for variant in target.convnet.variants(view, box_in_map.centre, size, look):
                target.memory.add_variant(variant)

    def _train_first(self, target: Target, events: list[str]) -> None:
        """The first training, once all first frames are there; from then on the ConvNetPart votes."""
        if target.convnet_votes or not target.memory.has_all_first or not self._config.convnet_learns:
            return
        with tolerated(events, "the first training of the ConvNetPart"):
            loss = train_soundly(target.convnet, target.memory.first, [], is_first=True)
            target.convnet_votes = True
            events.append(f"first training of the ConvNetPart on {len(target.memory.first)} frames, loss {loss:.4f}")

    # ------------------------------------------------------------------ a frame that a person confirmed
    def learn_confirmed(self, target: Target, reading: Reading) -> list[str]:
        """Learn from a frame in which the place is certain, whatever the settings say of learning later.

        New parts vote at once. Training is waited for.
        """
        target.parts.observe(reading.agreed)
        target.observe_colours(reading)
        box_in_map = Box.from_centre(reading.decision.centre, *target.object_in_map(reading.view.window))
        events = ["corrected by hand"]
        with tolerated(events, "learning parts"):
            count = self._learn_parts(target, reading.view, box_in_map, Role.RELIABLE)
            events.append(f"learned {count} parts")
        self._learn_colours(target, reading.view, max(self._config.colour_rate, CONFIRMED_RATE), events)
        if self._config.convnet_learns:
            self._teach_confirmed(target, reading, events)
        self._tell_faults(target, events)
        return events

    def _teach_confirmed(self, target: Target, reading: Reading, events: list[str]) -> None:
        size = target.object_in_map(reading.view.window)
        sample = target.convnet.sample(reading.view, reading.decision.centre, size, target.frame_index)
        if not target.memory.has_all_first:
            target.memory.add_first(sample)
            self._train_first(target, events)
            return
        target.memory.recent.append(sample)
        target.convnet, news = target.updates.train_whole(target.convnet, target.memory.first, target.memory.recent)
        events.append(news)

    # ------------------------------------------------------------------ every frame
    def learn(self, target: Target, reading: Reading) -> tuple[bool, list[str]]:
        """Roles, new candidates, confident frames and the ConvNetPart; whether the frame was highly confident."""
        if not self.may_learn(target, reading):
            return False, []
        events = self._go_on_training(target)
        target.parts.observe(reading.agreed)
        target.observe_colours(reading)
        highly_confident = self._judge(target, reading.evidence)
        target.frames_since_learning += 1
        if reading.view.reach is not Reach.NARROW:  # which shows too little of the background
            self._learn_colours(target, reading.view, self._config.colour_rate, events)
            with tolerated(events, "keeping the frame"):
                self._keep_sample(target, reading, highly_confident, events)
            if target.frames_since_learning >= self._config.u:
                target.frames_since_learning = 0
                self._update_parts(target, reading, events)
                self._update_convnet(target, events)
            elif target.frames_since_learning % self._config.update_every == 0:
                self._update_convnet(target, events)
        self._tell_faults(target, events)
        return highly_confident, events

    def may_learn(self, target: Target, reading: Reading) -> bool:
        """Not while unsure, nor from the view, wide or of another place, in which a lost object was found again."""
        sure = target.monitor.state is State.TRACKING or not self._config.freeze_when_unsure
        return sure and reading.view.reach not in (Reach.WIDE, Reach.ELSEWHERE)

    def _learn_colours(self, target: Target, view: View, rate: float, events: list[str]) -> None:
        """Not in the paper: docs/decisions.md."""
        if self._config.colour_weight > 0:
            with tolerated(events, "learning colours"):
                target.learn_colours(view, rate)

    def is_due(self, target: Target) -> bool:
        """Whether the next frame is one of those that are always learned from."""
        last_of_u = self._config.learns_later and target.frames_since_learning + 1 >= self._config.u
        return last_of_u or (self._config.convnet_learns and not target.memory.has_all_first)

    def parts_agree(self, evidence: Evidence) -> bool:
        """Whether enough parts voted for the decision to be trusted about more than the centre."""
        return evidence.part_agreement >= self._config.min_box_agreement

    def _judge(self, target: Target, evidence: Evidence) -> bool:
        """Is this a highly confident frame? It then also tells how loud the pathways are when they are right."""
        both_vote = target.convnet_votes and not math.isnan(evidence.pathway_distance)
        highly_confident = both_vote and target.rule.judge(evidence.pathway_distance)
        if highly_confident or (not target.convnet_votes and self.parts_agree(evidence)):
            target.loudness = target.loudness.after(evidence.filter_peak, evidence.convnet_peak)
        return highly_confident

    def _keep_sample(self, target: Target, reading: Reading, highly_confident: bool, events: list[str]) -> None:
        """Keep what the ConvNetPart may learn from: the first frames always, later ones with their verdict."""
        if not self._config.convnet_learns or (target.memory.has_all_first and self._config.update == "none"):
            return
        size = target.object_in_map(reading.view.window)
        sample = target.convnet.sample(reading.view, reading.decision.centre, size, target.frame_index)
        if target.memory.has_all_first:
            target.memory.add(sample, highly_confident)
        else:
            target.memory.add_first(sample)
            self._train_first(target, events)

    def _go_on_training(self, target: Target) -> list[str]:
        """This frame's share of a training under way, or what came of one in the background."""
        target.convnet, news = target.updates.collect(target.convnet)
        return [] if news is None else [news]

    # ------------------------------------------------------------------ every U frames
    def _update_parts(self, target: Target, reading: Reading, events: list[str]) -> None:
        """Test the roles, then learn new candidates on this frame; all parts or none are changed."""
        parts = target.parts
        before = (parts.banks, parts.next_id, parts.references)
        with tolerated(events, "learning parts"):
            try:
                events += self._renew_parts(target, reading)
            except BaseException:
                parts.restore(*before)
                raise

    def _renew_parts(self, target: Target, reading: Reading) -> list[str]:
        events = []
        if self._config.roles == "all":
            promoted, removed = target.parts.test_roles()
            events.append(f"promoted {promoted} parts, removed {removed}")
        if self._config.new_parts:
            box_in_map = Box.from_centre(reading.decision.centre, *target.object_in_map(reading.view.window))
            role = Role.CANDIDATE if self._config.roles == "all" else Role.RELIABLE
            count = self._learn_parts(target, reading.view, box_in_map, role)
            events.append(f"added {count} {'candidates' if role is Role.CANDIDATE else 'voting parts'}")
        return events

    def _learn_parts(self, target: Target, view: View, box_in_map: Box, role: Role) -> int:
        edges = edge_density(view.crop, view.window.shape)
        picture = view.picture_in_map if self._config.mind_edges else None
        return target.parts.learn(view.features, edges, box_in_map, role, np.array(target.shape.linear), picture)

    def _update_convnet(self, target: Target, events: list[str]) -> None:
        """Train on the first N frames and the last N that the strategy chose, if enough of them are new."""
        if not target.convnet_votes:
            self._train_first(target, events)  # it has failed before
            return
        if self._config.update == "none":
            return
        target.frames_to_teach += target.memory.choose()
        if target.frames_to_teach >= self._config.min_new_frames:
            target.frames_to_teach = 0
            with tolerated(events, "training of the ConvNetPart"):
                events.append(target.updates.train(target.convnet, target.memory.first, list(target.memory.recent)))

    def _tell_faults(self, target: Target, events: list[str]) -> None:
        """Once per object; the trace has them all."""
        fault = faults_in(events)
        if fault and not target.fault_told:
            target.fault_told = True
            warn_of(fault, target.frame_index)
