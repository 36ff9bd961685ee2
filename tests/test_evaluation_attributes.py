"""Figures per attribute: by hand, against the plain measures, and on published raw results."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_evaluation_measures import oracle_scores, runs_with_failures, score_of
from tracking_parts.errors import FormatError
from tracking_parts.evaluation import measures
from tracking_parts.evaluation.attributes import AttributeFigures, Labels, attribute_figures
from tracking_parts.evaluation.measures import SequenceScore
from tracking_parts.evaluation.protocol import VOT2016
from tracking_parts.io.sequences import read_sequence

NAN = math.nan


def flags(text: str) -> tuple[bool, ...]:
    return tuple(sign == "x" for sign in text)


def by_name(
    runs: list[tuple[SequenceScore, Labels]], eao_interval: tuple[int, int] = (2, 3), burn_in: int = 1
) -> dict[str, AttributeFigures]:
    return {one.name: one for one in attribute_figures(runs, eao_interval, burn_in)}


def test_by_hand() -> None:
    # Segments of frames 0 … 6 (failed in frame 2) and 7 … 9.
    score = score_of([NAN, 0.8, NAN, NAN, NAN, NAN, NAN, NAN, 0.6, 0.4], (0, 7), (2,))
    figures = by_name([(score, {"occlusion": flags("-xx-----x-"), "blur": flags("-------xxx")})])
    assert list(figures) == ["blur", "occlusion", "empty"]
    occlusion, blur, empty = figures["occlusion"], figures["blur"], figures["empty"]
    assert (occlusion.frames, occlusion.failures) == (3, 1)
    assert occlusion.failures_per_hundred_frames == pytest.approx(100 / 3)
    assert occlusion.accuracy == pytest.approx((0.8 + 0.6) / 2)
    # Shares of the segments: 2 of 7 frames and 1 of 3. Means of 2 frames: 0.8 and 0.6; of 3 frames: 0.4 and 0.5.
    shares = np.array([2 / 7, 1 / 3])
    expected = (shares @ [0.8, 0.6] + shares @ [0.4, 0.5]) / shares.sum() / 2
    assert occlusion.eao == pytest.approx(expected)
    assert (blur.frames, blur.failures, blur.failures_per_hundred_frames) == (3, 0, 0)
    assert blur.accuracy == pytest.approx(0.5) and blur.eao == pytest.approx((0.6 + 0.5) / 2)
    # Frames 0 and 3 … 6, of which none is compared with the truth.
    assert (empty.frames, empty.failures) == (5, 0)
    assert math.isnan(empty.accuracy) and empty.eao == pytest.approx((0.8 + 0.4) / 2)


def test_accuracy_weighs_runs_by_their_frames_with_the_attribute() -> None:
    first, second = score_of([NAN, 0.9, 0.3]), score_of([NAN, 0.5, 0.5, 0.5, 0.5])
    figures = by_name([(first, {"blur": flags("-x-")}), (second, {"blur": flags("-xxx-")})])
    assert figures["blur"].accuracy == pytest.approx((0.9 * 1 + 0.5 * 3) / 4)


def test_burn_in_counts_from_the_start_and_not_from_the_attribute() -> None:
    score = score_of([NAN, 0.9, 0.8, 0.3, 0.2])
    assert by_name([(score, {"blur": flags("-xxxx")})], burn_in=3)["blur"].accuracy == pytest.approx(0.25)
    assert math.isnan(by_name([(score, {"blur": flags("-xx--")})], burn_in=3)["blur"].accuracy)


def test_an_attribute_that_no_frame_shows() -> None:
    figures = by_name([(score_of([NAN, 0.5, 0.5]), {"blur": flags("---")})])
    assert (figures["blur"].frames, figures["blur"].failures) == (0, 0)
    unknown = (figures["blur"].failures_per_hundred_frames, figures["blur"].accuracy, figures["blur"].eao)
    assert all(map(math.isnan, unknown))
    assert figures["empty"].frames == 3


def test_sequences_without_labels_say_nothing() -> None:
    score = score_of([NAN, 0.5, 0.5])
    assert attribute_figures([(score, {})], (2, 3), 1) == []
    assert attribute_figures([], (2, 3), 1) == []
    figures = by_name([(score, {}), (score, {"blur": flags("-x-")})])
    assert (figures["blur"].frames, figures["empty"].frames) == (1, 2)


def test_a_label_missing_in_one_sequence_is_not_shown_there() -> None:
    score = score_of([NAN, 0.5, 0.5])
    figures = by_name([(score, {"blur": flags("-x-")}), (score, {"occlusion": flags("xx-")})])
    assert [figures[name].frames for name in ("blur", "occlusion", "empty")] == [1, 2, 3]


def test_empty_is_what_we_say_whatever_a_file_says() -> None:
    score = score_of([NAN, 0.5, 0.5])
    figures = by_name([(score, {"blur": flags("-x-"), "empty": flags("xxx")})])
    assert list(figures) == ["blur", "empty"] and figures["empty"].frames == 2


def test_labels_of_another_length_are_refused() -> None:
    with pytest.raises(FormatError, match="blur is given for 2 frames of a sequence of 3"):
        by_name([(score_of([NAN, 0.5, 0.5]), {"blur": (True, False)})])


@given(st.lists(runs_with_failures(), min_size=1, max_size=5))
def test_an_attribute_of_every_frame_gives_the_plain_measures(scores: list[SequenceScore]) -> None:
    figures = by_name([(score, {"all": (True,) * score.length}) for score in scores], (2, 30), burn_in=2)
    everything, empty = figures["all"], figures["empty"]
    assert everything.frames == sum(score.length for score in scores)
    assert everything.failures == measures.failure_count(scores)
    assert everything.failures_per_hundred_frames == pytest.approx(measures.failures_per_hundred_frames(scores))
    assert everything.accuracy == pytest.approx(measures.accuracy(scores, 2), nan_ok=True)
    assert everything.eao == pytest.approx(measures.expected_average_overlap(scores, (2, 30)), nan_ok=True)
    assert (empty.frames, empty.failures) == (0, 0) and math.isnan(empty.eao)


@given(runs_with_failures(), st.data())
def test_every_frame_and_failure_is_somewhere(score: SequenceScore, data: st.DataObject) -> None:
    frames = st.lists(st.booleans(), min_size=score.length, max_size=score.length).map(tuple)
    labels = {"blur": data.draw(frames), "occlusion": data.draw(frames)}
    figures = by_name([(score, labels)])
    shown = [name for name in figures if figures[name].frames]
    assert sum(figures[name].frames for name in shown) >= score.length
    assert sum(figures[name].failures for name in shown) >= len(score.failures)
    either = sum(a or b for a, b in zip(labels["blur"], labels["occlusion"], strict=True))
    assert figures["empty"].frames == score.length - either


def test_published_raw_results_by_attribute(shared_data: Path) -> None:
    """ECO on the daily twenty: 13 failures, each in a labelled frame or in an empty one."""
    folder = shared_data / "vot2016-20"
    names = (folder / "list.txt").read_text(encoding="utf-8").split()
    scores = oracle_scores(shared_data, names)
    labels = [read_sequence(folder / name).attributes for name in names]
    figures = by_name(list(zip(scores, labels, strict=True)), VOT2016.eao_interval, VOT2016.burn_in)
    assert list(figures) == ["camera_motion", "illum_change", "motion_change", "occlusion", "size_change", "empty"]
    assert all(one.failures <= 13 for one in figures.values())
    assert sum(one.failures for one in figures.values()) >= 13
    # Occluded objects are lost more often than those that nothing happens to.
    assert figures["occlusion"].failures_per_hundred_frames > figures["empty"].failures_per_hundred_frames
    assert figures["occlusion"].eao < measures.expected_average_overlap(scores, VOT2016.eao_interval)
