"""When and how the ConvNetPart learns while tracking goes on: at once, in pieces, or in the background on a copy.

Whichever way: a training that raises, or ends in numbers that are not finite, leaves the net as it was before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tracking_parts.confident_frames import TrainingFrame
from tracking_parts.convnet_part.pathway import CentrePathway, Progress
from tracking_parts.errors import LearningError
from tracking_parts.learning_faults import fault_of

ROUNDING = 1e-9  # of shares of a training


@dataclass(frozen=True)
class Unfinished:
    """A training under way, told by where it began: doing the same pieces again leads to the same net."""

    begun_from: CentrePathway
    frames_done: int


def train_soundly(
    pathway: CentrePathway, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame], is_first: bool
) -> float:
    """A whole training; gives its loss. If it fails, the pathway is what it was before, and the error is raised."""
    before = pathway.clone()
    try:
        *_, last = pathway.training(first, recent, is_first)
        return sound_loss(pathway, last.loss)
    except Exception:
        pathway.load_tensors(before.tensors())
        raise


@torch.inference_mode()
def sound_loss(pathway: CentrePathway, loss: Tensor) -> float:
    """The loss, if it and all that was learned are finite; the device is waited for once."""
    # Zero times what is not finite is not a number.
    tainted = [(0.0 * tensor).sum() for tensor in pathway.learned()]
    found = float(torch.stack([loss, *tainted]).sum())
    if not math.isfinite(found):
        raise LearningError("the net's numbers are no longer finite")
    return found


class SequentialUpdates:
    """Training in the frames that follow, a piece in each, so that no frame waits for a whole one: deterministic.

    With ``frames`` = 0 tracking waits for the whole training.
    """

    def __init__(self, frames: int = 0) -> None:
        self._frames = frames
        self._lessons: tuple[tuple[TrainingFrame, ...], tuple[TrainingFrame, ...]] = ((), ())
        self._pieces: Iterator[Progress] | None = None
        self._begun_from: CentrePathway | None = None  # a copy made before the first piece
        self._frames_done = 0

    def train(self, pathway: CentrePathway, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame]) -> str:
        if self._frames == 0:
            return self._done(train_soundly(pathway, first, recent, is_first=False), len(first) + len(recent))
        while self._pieces is not None:  # the last training has not had frames enough
            self._go_on(pathway)
        self.resume(pathway, first, recent, 0)
        return f"training of the ConvNetPart on {len(first) + len(recent)} frames begins"

    def train_whole(
        self, pathway: CentrePathway, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame]
    ) -> tuple[CentrePathway, str]:
        """A training that is waited for, after the one under way, if there is one."""
        try:
            while self._pieces is not None:
                self._go_on(pathway)
            loss = train_soundly(pathway, first, recent, is_first=False)
        except Exception as error:
            return pathway, fault_of("training of the ConvNetPart", error)
        return pathway, self._done(loss, len(first) + len(recent))

    def resume(
        self,
        pathway: CentrePathway,
        first: Sequence[TrainingFrame],
        recent: Sequence[TrainingFrame],
        frames_done: int,
    ) -> None:
        """Begin a training, given the pathway as it was before, and do the pieces of so many frames at once."""
        self._lessons = (tuple(first), tuple(recent))
        self._begun_from, self._frames_done = pathway.clone(), 0
        self._pieces = pathway.training(*self._lessons, is_first=False)
        for _ in range(frames_done):
            self._go_on(pathway)

    def collect(self, pathway: CentrePathway) -> tuple[CentrePathway, str | None]:
        """One frame's share of the work; the pathway learns where it stands."""
        if self._pieces is None:
            return pathway, None
        try:
            loss = self._go_on(pathway)
        except Exception as error:
            return pathway, fault_of("training of the ConvNetPart", error)
        return pathway, None if loss is None else self._done(loss, sum(map(len, self._lessons)))

    def _go_on(self, pathway: CentrePathway) -> float | None:
        """Pieces until this frame's share is reached; the loss if that was the last one."""
        try:
            return self._do_share(pathway)
        except Exception:
            before = self._begun_from
            self._pieces, self._begun_from = None, None
            if before is not None:
                pathway.load_tensors(before.tensors())
            raise

    def _do_share(self, pathway: CentrePathway) -> float | None:
        self._frames_done += 1
        for progress in self._pieces or ():
            if progress.share > 1 - ROUNDING:
                loss = sound_loss(pathway, progress.loss)
                self._pieces, self._begun_from = None, None
                return loss
            if progress.share > self._frames_done / self._frames - ROUNDING:
                # The net votes between pieces. On a device that would have to be waited for, its votes are judged.
                if progress.loss.device.type == "cpu":
                    sound_loss(pathway, progress.loss)
                return None
        raise LearningError("it ended before it was done")

    @property
    def unfinished(self) -> Unfinished | None:
        return None if self._begun_from is None else Unfinished(self._begun_from, self._frames_done)

    @staticmethod
    def _done(loss: float, frames: int) -> str:
        return f"trained the ConvNetPart on {frames} frames, loss {loss:.4f}"

    def wait(self, pathway: CentrePathway) -> tuple[CentrePathway, str | None]:
        return pathway, None

    def close(self) -> None:
        """Nothing to end."""
