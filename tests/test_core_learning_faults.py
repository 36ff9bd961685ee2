"""Learning that raises, hangs or explodes: tracking goes on with what was learned before, and says so once."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from core_helpers import follow, overlaps, small_tracker
from synthetic import SyntheticSequence, moving_boxes, render_sequence
from tracking_parts import LearningError, LearningWarning, Tracker
from tracking_parts.box_estimation import Shape, fit_linear
from tracking_parts.convnet_part.background import BackgroundUpdates
from tracking_parts.convnet_part.linear import LinearPathway
from tracking_parts.convnet_part.pathway import Progress
from tracking_parts.filter_parts import learning as part_learning
from tracking_parts.filter_parts.closed_form import dual_coefficients
from tracking_parts.filter_parts.society import FilterParts
from tracking_parts.io.trace_files import TraceWriter, read_trace
from tracking_parts.viewers.drawing import Image
from tracking_parts.viewers.explain import render_trace
from tracking_parts.viewers.palette import FAULT
from tracking_parts.voting import Loudness, combine

VIDEO = render_sequence(moving_boxes(24))
WAYS: dict[str, dict[str, Any]] = {
    "at once": {"update": "full", "update_frames": 0},
    "in pieces": {"update": "full", "update_frames": 3},
    "in the background": {"update": "parallel", "confident_radius": 99.0},
}
honest = LinearPathway.training


def tracker_that_learns(way: str) -> Tracker:
    return small_tracker(u=3, **WAYS[way])


def numbers(tracker: Tracker) -> list[Tensor]:
    assert tracker._target is not None
    return [tensor.clone() for tensor in tracker._target.convnet.learned()]


def raises(self: LinearPathway, first: Any, recent: Any, is_first: bool) -> Iterator[Progress]:
    for progress in honest(self, first, recent, is_first):
        self._filters = [weights + 1 for weights in self._filters]  # half done: what it leaves must not be used
        yield progress
        raise ZeroDivisionError("by way of trial")


def explodes(self: LinearPathway, first: Any, recent: Any, is_first: bool) -> Iterator[Progress]:
    for progress in honest(self, first, recent, is_first):
        self._filters = [weights * torch.nan for weights in self._filters]
        yield progress


def ends_early(self: LinearPathway, first: Any, recent: Any, is_first: bool) -> Iterator[Progress]:
    yield from ()


def goes_on_after_faults(tracker: Tracker, count: int) -> list[str]:
    """Track on through the video; the faults of its frames. What was learned before is still there at the end."""
    before = numbers(tracker)
    faults = []
    for frame, truth in zip(VIDEO.frames[1:count], VIDEO.boxes[1:count], strict=True):
        result = tracker.update(frame)
        assert result.box.overlap(truth) > 0.4
        assert np.isfinite([*result.box.xywh, result.confidence]).all()
        faults.append(tracker.trace.fault)
    assert all(torch.equal(now, then) for now, then in zip(numbers(tracker), before, strict=True))
    return [fault for fault in faults if fault]


# --------------------------------------------------------------------------- the ConvNetPart
@pytest.mark.parametrize("training", [raises, explodes, ends_early])
@pytest.mark.parametrize("way", WAYS)
def test_a_training_that_fails_costs_nothing_else(
    way: str, training: Callable[..., Iterator[Progress]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with tracker_that_learns(way) as tracker:
        tracker.init(VIDEO.frames[0], VIDEO.boxes[0])
        monkeypatch.setattr(LinearPathway, "training", training)
        wait_for_every_training(monkeypatch)
        with pytest.warns(LearningWarning, match="failed") as told:
            faults = goes_on_after_faults(tracker, len(VIDEO.frames))
        assert len(told) == 1, "told once, however often it fails"
        assert len(faults) > 2
        assert all("training" in fault for fault in faults)
        monkeypatch.setattr(LinearPathway, "training", honest)
        before = numbers(tracker)
        for _ in range(8):
            tracker.update(VIDEO.frames[-1])
        assert not torch.equal(before[0], numbers(tracker)[0]), "it learns again as soon as it can"


def wait_for_every_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training in the background is done by the next frame, so that what happens does not depend on the machine."""
    monkeypatch.setattr(BackgroundUpdates, "collect", _patient(BackgroundUpdates.collect))


def _patient(collect: Callable[..., Any]) -> Callable[..., Any]:
    def patiently(self: BackgroundUpdates, pathway: Any) -> Any:
        if self._job is not None:
            assert self._job.done.wait(60)
        return collect(self, pathway)

    return patiently


def test_a_first_training_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = small_tracker(u=3)
    monkeypatch.setattr(LinearPathway, "training", explodes)
    with pytest.warns(LearningWarning, match="frame 0 the first training of the ConvNetPart failed"):
        tracker.init(VIDEO.frames[0], VIDEO.boxes[0])
    assert "not finite" in tracker.trace.fault or "no longer finite" in tracker.trace.fault
    monkeypatch.setattr(LinearPathway, "training", honest)
    seen = [tracker.update(frame) and bool(tracker.trace.convnet_votes.any()) for frame in VIDEO.frames[1:8]]
    assert not seen[0] and seen[-1]


def test_a_training_that_hangs_is_reported_once_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    woken = threading.Event()

    def hangs(self: LinearPathway, first: Any, recent: Any, is_first: bool) -> Iterator[Progress]:
        assert woken.wait(100)
        yield from honest(self, first, recent, is_first)

    monkeypatch.setattr("tracking_parts.tracker.BackgroundUpdates", lambda: BackgroundUpdates(0.2, 0.2))
    tracker = tracker_that_learns("in the background")
    tracker.init(VIDEO.frames[0], VIDEO.boxes[0])
    monkeypatch.setattr(LinearPathway, "training", hangs)
    faults: list[str] = []
    events: list[str] = []
    with pytest.warns(LearningWarning, match="has not ended") as told:
        for frame in VIDEO.frames[1:]:
            tracker.update(frame)
            time.sleep(0.05)
            faults.append(tracker.trace.fault)
            events += tracker.trace.events
    assert len([fault for fault in faults if fault]) == len(told) == 1
    assert any("skipped" in event for event in events)
    assert tracker.state().tensors, "saving does not wait for ever either"
    tracker.close()
    woken.set()


def test_closing_stops_a_training_after_its_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def never_ends(self: LinearPathway, first: Any, recent: Any, is_first: bool) -> Iterator[Progress]:
        while True:
            begun.set()
            time.sleep(0.01)
            yield Progress(0.5, torch.tensor(1.0))

    tracker = tracker_that_learns("in the background")
    tracker.init(VIDEO.frames[0], VIDEO.boxes[0])
    monkeypatch.setattr(LinearPathway, "training", never_ends)
    for frame in VIDEO.frames[1:6]:
        tracker.update(frame)
    assert begun.wait(60)
    tracker.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "stp-training"]


# --------------------------------------------------------------------------- the parts
def test_parts_that_cannot_be_learned_leave_the_others_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = small_tracker(u=3, update="none")
    tracker.init(VIDEO.frames[0], VIDEO.boxes[0])
    whole = FilterParts.learn

    def half(self: FilterParts, *arguments: Any) -> int:
        whole(self, *arguments)
        raise MemoryError("by way of trial")

    assert tracker._target is not None
    parts = tracker._target.parts
    count, next_id = len(parts), parts.next_id
    monkeypatch.setattr(FilterParts, "learn", half)
    with pytest.warns(LearningWarning, match="learning parts failed: MemoryError: by way of trial") as told:
        results = [tracker.update(frame) for frame in VIDEO.frames[1:]]
    assert len(told) == 1
    assert (len(parts), parts.next_id) == (count, next_id)
    assert min(overlaps(results, SyntheticSequence(VIDEO.frames[1:], VIDEO.boxes[1:]))) > 0.4
    assert not any("promoted" in event for event in tracker.trace.events if tracker.trace.fault)


@pytest.mark.parametrize("both", [False, True])
def test_an_object_of_which_nothing_can_be_learned(both: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_solution(*_: Any) -> Tensor:
        raise LearningError("no inverse")

    monkeypatch.setattr(part_learning, "dual_coefficients", no_solution)
    if both:
        monkeypatch.setattr(LinearPathway, "training", raises)
    tracker = small_tracker()
    if both:
        with pytest.raises(LearningError, match="nothing could be learned from the first frame"):
            tracker.init(VIDEO.frames[0], VIDEO.boxes[0])
        monkeypatch.undo()
        follow(tracker, VIDEO, 4)
        return
    with pytest.warns(LearningWarning, match="learning parts failed: no inverse"):
        results = follow(tracker, VIDEO, 6)
    assert min(overlaps(results, VIDEO)) > 0.4, "one pathway alone tracks"


# --------------------------------------------------------------------------- solves and votes
def test_an_indefinite_matrix_is_regularised_more() -> None:
    ones = torch.ones(40, 40)
    assert torch.isfinite(dual_coefficients(ones - 1e-6 * torch.eye(40), ridge=0.0)).all()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_has_no_solution(value: float) -> None:
    gram = torch.eye(5)
    gram[2, 3] = gram[3, 2] = value
    with pytest.raises(LearningError, match="5 patches"):
        dual_coefficients(gram, 0.1)


@pytest.mark.parametrize("model", ["affine", "similarity", "scale"])
def test_a_box_is_not_fitted_to_places_that_are_nowhere(model: str) -> None:
    places = np.random.default_rng(0).normal(size=(9, 2))
    lost = places.copy()
    lost[3] = np.nan
    assert np.array_equal(fit_linear(places, lost, model), np.eye(2))


def test_a_shape_never_collapses() -> None:
    config = small_tracker(box_model="affine").config
    shape = Shape(20.0, 10.0)
    for wild in (np.full((2, 2), np.nan), -np.eye(2), np.zeros((2, 2)), 1e30 * np.eye(2)):
        for _ in range(60):
            shape = shape.moved_by(wild, config)
            (a, b), (c, d) = shape.linear
            assert a * d - b * c > 0.04 and shape.scale > 0


def test_votes_that_are_not_finite_do_not_count() -> None:
    votes = torch.rand(8, 8, generator=torch.Generator().manual_seed(0))
    mask = np.ones((8, 8), np.float32)
    broken = votes.clone()
    broken[2, 2] = torch.nan
    alone = combine(votes, None, 0.6, mask, Loudness())
    without = combine(votes, broken, 0.6, mask, Loudness())
    assert without.convnet is None and without.centre == alone.centre
    nobody = combine(broken, broken, 0.6, mask, Loudness())
    assert np.isfinite([*nobody.centre, nobody.filters.peak]).all()


# --------------------------------------------------------------------------- where it shows
def test_a_fault_is_in_the_trace_its_files_and_its_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = tracker_that_learns("at once")
    tracker.init(VIDEO.frames[0], VIDEO.boxes[0])
    monkeypatch.setattr(LinearPathway, "training", raises)
    with TraceWriter(tmp_path / "trace") as writer, warnings.catch_warnings():
        warnings.simplefilter("ignore", LearningWarning)
        for frame in VIDEO.frames[1:7]:
            tracker.update(frame)
            writer.write(tracker.trace)
    (number,) = [index for index in range(1, 5) if read_trace(tmp_path, index).fault]
    trace = read_trace(tmp_path, number)
    assert trace.fault == "training of the ConvNetPart failed: ZeroDivisionError: by way of trial"
    assert trace.fault in trace.events and trace.summary()["fault"] == trace.fault
    well = render_trace(read_trace(tmp_path, number - 1))
    assert coloured(render_trace(trace)) > coloured(well) + 200, "it stands out"


def coloured(picture: Image) -> int:
    """Pixels in the colour of faults, below the maps' captions on the right."""
    return int((np.abs(picture[600:, 1200:].astype(int) - FAULT).max(axis=2) < 40).sum())
