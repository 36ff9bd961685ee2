"""When and how the ConvNetPart learns while tracking goes on: at once, in pieces, or in the background on a copy."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from tracking_parts.confident_frames import TrainingFrame
from tracking_parts.convnet_part.pathway import CentrePathway, Progress

ROUNDING = 1e-9  # of shares of a training

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Unfinished:
    """A training under way, told by where it began: doing the same pieces again leads to the same net."""

    begun_from: CentrePathway
    frames_done: int


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
            return self._done(pathway.train(first, recent, is_first=False), len(first) + len(recent))
        while self._pieces is not None:  # the last training has not had frames enough
            self._go_on()
        self.resume(pathway, first, recent, 0)
        return f"training of the ConvNetPart on {len(first) + len(recent)} frames begins"

    def train_whole(
        self, pathway: CentrePathway, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame]
    ) -> tuple[CentrePathway, str]:
        """A training that is waited for, after the one under way, if there is one."""
        while self._pieces is not None:
            self._go_on()
        return pathway, self._done(pathway.train(first, tuple(recent), is_first=False), len(first) + len(recent))

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
            self._go_on()

    def collect(self, pathway: CentrePathway) -> tuple[CentrePathway, str | None]:
        """One frame's share of the work; the pathway learns where it stands."""
        if self._pieces is None:
            return pathway, None
        loss = self._go_on()
        if loss is None:
            return pathway, None
        return pathway, self._done(loss, sum(map(len, self._lessons)))

    def _go_on(self) -> float | None:
        """Pieces until this frame's share is reached; the loss if that was the last one."""
        self._frames_done += 1
        for progress in self._pieces or ():
            if progress.share > 1 - ROUNDING:
                self._pieces, self._begun_from = None, None
                return float(progress.loss)
            if progress.share > self._frames_done / self._frames - ROUNDING:
                break
        return None

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


class BackgroundUpdates:
    """Training on a copy, swapped in whole when done, while tracking goes on; a fault never stops tracking."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stp-training")
        self._job: Future[tuple[CentrePathway, float]] | None = None

    def train(self, pathway: CentrePathway, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame]) -> str:
        if self._job is not None:
            return "skipped a training: the last one is still running"
        copy = pathway.clone()
        frames = (tuple(first), tuple(recent))

        def work() -> tuple[CentrePathway, float]:
            return copy, copy.train(*frames, is_first=False)

        self._job = self._executor.submit(work)
        return f"started training on {len(first) + len(recent)} frames in the background"

    def collect(self, pathway: CentrePathway) -> tuple[CentrePathway, str | None]:
        """The newest trained pathway, and what happened, if a training ended since the last call."""
        if self._job is None or not self._job.done():
            return pathway, None
        job, self._job = self._job, None
        try:
            trained, loss = job.result()
        except Exception as error:  # whatever went wrong in training, tracking goes on with the last good net
            log.warning("training in the background failed, tracking goes on with the last net: %s", error)
            return pathway, f"training failed: {error}"
        return trained, f"swapped in the ConvNetPart trained in the background, loss {loss:.4f}"

    def train_whole(
        self, pathway: CentrePathway, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame]
    ) -> tuple[CentrePathway, str]:
        """A training that is waited for, after the one under way, if there is one."""
        pathway, _ = self.wait(pathway)
        self.train(pathway, first, recent)
        pathway, news = self.wait(pathway)
        return pathway, news or ""

    @property
    def unfinished(self) -> None:
        """What is to be saved is waited for."""
        return None

    def wait(self, pathway: CentrePathway) -> tuple[CentrePathway, str | None]:
        """Like :meth:`collect`, but a running training is waited for first."""
        if self._job is not None:
            futures.wait([self._job])
        return self.collect(pathway)

    def close(self) -> None:
        """Wait for a running training and end the worker."""
        self._executor.shutdown(wait=True, cancel_futures=True)
