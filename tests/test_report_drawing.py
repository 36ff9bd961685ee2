"""The report's pictures: labels that do not collide, ticks, colours that can be seen, and thumbnails of failures."""

from __future__ import annotations

import base64
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from report_helpers import LOST, RESET, STILL, run_trackers
from tracking_parts.evaluation.experiment import Frame as Image
from tracking_parts.evaluation.report import Chart, Gallery, Key, Notice, Picture
from tracking_parts.evaluation.report.charts import (
    MOST_BANDS,
    Curve,
    Frame,
    Mark,
    curve_chart,
    point_chart,
    ranking_chart,
    shading_words,
)
from tracking_parts.evaluation.report.common_sections import failure_galleries
from tracking_parts.evaluation.report.sequence_charts import Dots, dot_chart
from tracking_parts.evaluation.report.style import DARK, LIGHT, style_sheet
from tracking_parts.evaluation.report.svg import Axis, axis_range, dash_of, round_ticks, shorten, sign_shape, spread
from tracking_parts.evaluation.report.thumbnails import (
    AT_MOST,
    SIZE_WH,
    Failure,
    choose_failures,
    picture_of,
    regions_before,
    window_around,
)
from tracking_parts.evaluation.scoring import TrackerRuns
from tracking_parts.evaluation.statistics import Interval
from tracking_parts.evaluation.trajectory import Code, Trajectory
from tracking_parts.geometry import Box

heights = st.lists(st.floats(0, 300), max_size=12)
FRAME = Frame("title", "caption", "x", "y")


@given(heights)
def test_labels_keep_their_distance_and_order(positions: list[float]) -> None:
    placed = spread(positions, 18, 0, 300)
    in_order = [placed[index] for index in sorted(range(len(positions)), key=lambda index: positions[index])]
    assert all(after - before >= 18 - 1e-9 for before, after in pairwise(in_order))
    assert all(-1e-9 <= at <= 300 + 1e-9 for at in placed)  # twelve of them fit


@given(st.floats(-1e4, 1e4), st.floats(1e-3, 1e4))
def test_ticks_are_round_and_within(low: float, extent: float) -> None:
    ticks = round_ticks(low, low + extent)
    assert 1 <= len(ticks) <= 8
    assert all(low - 1e-6 * extent <= tick <= low + extent * (1 + 1e-6) for tick in ticks)


@given(st.text(max_size=60), st.integers(4, 40))
def test_shortened_names_fit_and_keep_both_ends(words: str, letters: int) -> None:
    short = shorten(words, letters)
    assert len(short) <= letters
    assert short == words or (short[0] == words[0] and short[-1] == words[-1] and "…" in short)


def test_an_axis_has_an_extent_whatever_it_shows() -> None:
    for values in ([], [math.nan], [0.0], [3.0, 3.0], [-1.0, math.inf]):
        low, high = axis_range(values)
        assert low < high and math.isfinite(low) and math.isfinite(high)
    assert Axis((0, 10), (100, 0))(2.5) == 75


def test_trackers_of_one_colour_differ_in_sign_and_dash() -> None:
    for slot in range(8):
        assert sign_shape(slot, (0, 0), 5) != sign_shape(slot + 8, (0, 0), 5)
        assert dash_of(slot) != dash_of(slot + 8)


def luminance(colour: NDArray[np.float64]) -> float:
    """WCAG's relative luminance of red, green, blue in 0 … 1."""
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def rgb(text: str) -> NDArray[np.float64]:
    full = text if len(text) == 7 else "#" + "".join(2 * letter for letter in text[1:])
    return np.array([int(full[place : place + 2], 16) / 255 for place in (1, 3, 5)])


def contrast(first: NDArray[np.float64], second: str) -> float:
    dark, light = sorted((luminance(first), luminance(rgb(second))))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(("place", "slots"), [(0, LIGHT), (1, DARK)], ids=["light", "dark"])
def test_text_and_signs_stand_out(place: int, slots: tuple[str, ...]) -> None:
    def variable(name: str) -> str:
        return style_sheet().split(f"--{name}:")[1 + place].split(";")[0]

    paper = variable("paper")
    for name in ("ink", "muted", "link"):
        assert contrast(rgb(variable(name)), paper) >= 4.5
    assert contrast(rgb(variable("ink")), variable("warn")) >= 4.5
    assert contrast(rgb(variable("muted")), variable("soft")) >= 4.5
    for slot in slots:
        assert contrast(rgb(slot), paper) >= 3
    heat = np.array([int(part) / 255 for part in variable("heat").split(",")])
    strongest = 0.4 * heat + 0.6 * rgb(paper)
    assert contrast(strongest, variable("ink")) >= 4.5


def curves(count: int) -> list[Curve]:
    return [Curve(f"t{slot}", slot, [0, 1], [0.5, math.nan], [0.4, 0.1], [0.6, 0.2]) for slot in range(count)]


def test_too_many_bands_are_left_out_and_the_caption_says_so() -> None:
    few, many = curve_chart(FRAME, curves(MOST_BANDS)), curve_chart(FRAME, curves(MOST_BANDS + 1))
    assert few.svg.count('class="band') == MOST_BANDS and 'class="band' not in many.svg
    assert "Shaded" in shading_words(MOST_BANDS) and "not drawn" in shading_words(MOST_BANDS + 1)


def test_the_best_stands_on_the_right() -> None:
    marks = [Mark("b", 0, Interval(2, 2, 2)), Mark("a", 1, Interval(1, 1, 1))]
    chart = ranking_chart(FRAME, [*marks, Mark("unknown", 2, Interval(math.nan, math.nan, math.nan))])
    assert [key.label for key in chart.legend] == ["1  b", "2  a"]
    assert chart.svg.index(">a<") < chart.svg.index(">b<")


@pytest.mark.parametrize("count", [0, 1, 20])
def test_charts_of_any_number_of_trackers_hold_no_unknown_number(count: int) -> None:
    unknown = Interval(math.nan, math.nan, math.nan)
    marks = [Mark(f"t{slot}", slot, Interval(0.5, 0.5, 0.5), Interval(0.9, 0.8, 1.0)) for slot in range(count)]
    keys = [Key(mark.label, mark.slot) for mark in marks]
    rows = [Dots("some", (0.0,) * count), Dots("none", (math.nan,) * count)]
    charts: list[Chart] = [
        curve_chart(FRAME, curves(count), marked=(0, 1)),
        ranking_chart(FRAME, marks),
        point_chart(FRAME, [*marks, Mark("unknown", count, unknown)]),
        dot_chart(FRAME, keys, rows),
    ]
    for chart in charts:
        assert "nan" not in chart.svg + chart.svg_narrow and "inf" not in chart.svg + chart.svg_narrow


@pytest.fixture
def trackers(vot_data: Path, tmp_path: Path) -> list[TrackerRuns]:
    return run_trackers(vot_data, tmp_path / "out", RESET, (STILL, LOST))


def failures_of(trackers: list[TrackerRuns]) -> list[Failure]:
    return [
        Failure(run, frame, slot)
        for slot, tracker in enumerate(trackers)
        for run in tracker.runs
        for frame in run.score.failures
    ]


def decoded(picture: Picture | None) -> Image:
    assert picture is not None
    head, _, body = picture.uri.partition(",")
    assert head == "data:image/jpeg;base64"
    image = cv2.imdecode(np.frombuffer(base64.b64decode(body), np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    return image


def test_a_picture_shows_truth_and_the_last_region(trackers: list[TrackerRuns]) -> None:
    run = trackers[0].runs[0]
    last = Box(40, 30, 20, 20)
    regions = [*run.trajectory.regions[:4], last.polygon, Code.FAILED, *run.trajectory.regions[6:]]
    failed = replace(run, trajectory=Trajectory(tuple(regions)))
    failure = Failure(failed, 5, 0)
    assert regions_before(failure)[-1] == last.polygon and len(regions_before(failure)) == 3
    picture = picture_of(failure)
    image = decoded(picture)
    assert (image.shape[1], image.shape[0]) == SIZE_WH
    truth = run.sequence.ground_truth[5]
    assert truth is not None and picture is not None and "frame 6" in picture.caption
    window = window_around([truth, last.polygon], (128, 96))
    zoom = SIZE_WH[0] / window.w
    x, y = ((truth[0][0] + truth[1][0]) / 2 - window.x) * zoom, (truth[0][1] - window.y) * zoom
    assert image[round(y), round(x)].min() > 170  # the upper edge, in white


def test_regions_before_a_start_belong_to_another_attempt(trackers: list[TrackerRuns]) -> None:
    run = next(iter(trackers[1].runs))
    assert [regions_before(Failure(run, frame, 1)) for frame in run.score.failures] == [[], [], []]
    assert decoded(picture_of(Failure(run, run.score.failures[0], 1))).any()


def test_a_region_that_is_not_finite_is_not_drawn(trackers: list[TrackerRuns]) -> None:
    run = trackers[0].runs[0]
    nowhere = ((math.nan, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    failed = replace(run, trajectory=Trajectory((Code.STARTED, nowhere, Code.FAILED, *run.trajectory.regions[3:])))
    assert regions_before(Failure(failed, 2, 0)) == []
    far = replace(run, trajectory=Trajectory((Code.STARTED, Box(1e12, 0, 5, 5).polygon, Code.FAILED)))
    assert decoded(picture_of(Failure(far, 2, 0))).shape == (SIZE_WH[1], SIZE_WH[0], 3)


def test_pictures_are_bounded_and_fairly_chosen(trackers: list[TrackerRuns]) -> None:
    failures = failures_of(trackers)
    assert len(failures) == 6 and choose_failures(failures) == failures
    chosen = choose_failures(failures, at_most=3)
    assert [(one.run.sequence.name, one.frame) for one in chosen] == [("moving", 1), ("moving", 5), ("growing", 1)]
    many = [replace(failures[0], frame=index % 12) for index in range(AT_MOST + 5)]
    parts = failure_galleries(trackers, many, "failures")
    assert isinstance(parts[0], Notice) and f"{AT_MOST} of {AT_MOST + 5} failures are shown" in parts[0].text
    gallery = next(part for part in parts if isinstance(part, Gallery))
    assert len(gallery.pictures) == AT_MOST and max(len(one.uri) for one in gallery.pictures) < 40_000


def test_frames_that_are_gone_are_said_not_raised(trackers: list[TrackerRuns]) -> None:
    failures = failures_of(trackers)
    failures[0].run.sequence.frames[failures[0].frame].unlink()
    parts = failure_galleries(trackers, failures, "failures")
    assert isinstance(parts[0], Notice) and parts[0].text.startswith("1 of them cannot be shown")
    assert "trackers_for_tests:StandsStill: no failures." in parts


@given(st.floats(-50, 700), st.floats(-50, 500), st.floats(1, 300), st.floats(1, 300))
def test_the_window_has_the_pictures_proportions(x: float, y: float, w: float, h: float) -> None:
    window = window_around([Box(x, y, w, h).polygon], (640, 480))
    assert window.w / window.h == pytest.approx(SIZE_WH[0] / SIZE_WH[1])
    if x >= 0 and y >= 0 and x + w <= 640 and y + h <= 480:
        assert window.intersection(Box(x, y, w, h)) == pytest.approx(w * h)
