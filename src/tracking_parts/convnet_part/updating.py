"""When and how the ConvNetPart learns while tracking goes on: at once, or in the background on a copy."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor

from tracking_parts.confident_frames import TrainingFrame
from tracking_parts.convnet_part.pathway import CentrePathway

log = logging.getLogger(__name__)


class SequentialUpdates:
    """Tracking waits for the training: deterministic."""

    def train(self, pathway: CentrePathway, first: Sequence[TrainingFrame], recent: Sequence[TrainingFrame]) -> str:
        loss = pathway.train(first, recent, is_first=False)
        return f"trained the ConvNetPart on {len(first) + len(recent)} frames, loss {loss:.4f}"

    def collect(self, pathway: CentrePathway) -> tuple[CentrePathway, str | None]:
        return pathway, None

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

    def wait(self, pathway: CentrePathway) -> tuple[CentrePathway, str | None]:
        """Like :meth:`collect`, but a running training is waited for first."""
        if self._job is not None:
            futures.wait([self._job])
        return self.collect(pathway)

    def close(self) -> None:
        """Wait for a running training and end the worker."""
        self._executor.shutdown(wait=True, cancel_futures=True)
