"""Pictures: they show what they should, where they should, and never change what they are given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from traces_for_viewers import some_picture, some_result, some_trace
from tracking_parts.frames import Frame
from tracking_parts.geometry import Box
from tracking_parts.result import Result, State
from tracking_parts.trace import FrameTrace
from tracking_parts.viewers import explain
from tracking_parts.viewers.annotate import annotate
from tracking_parts.viewers.contact_sheet import ContactSheet, write_image
from tracking_parts.viewers.drawing import Image, text_size, wrap
from tracking_parts.viewers.palette import CYAN, MAGENTA, ROLE_COLOURS, STATE_COLOURS, Colour


def shows(picture: Image, colour: Colour, tolerance: int = 12) -> NDArray[np.bool_]:
    """Where a picture has a colour."""
    return np.asarray((np.abs(picture.astype(int) - colour) <= tolerance).all(axis=2), dtype=np.bool_)


# --------------------------------------------------------------------------- annotate
def test_annotate_changes_a_copy_only() -> None:
    frame = some_picture(160, 120)
    before = frame.copy()
    picture = annotate(frame, some_result(), "cup")
    assert np.array_equal(frame, before)
    assert picture.shape == frame.shape and picture.dtype == np.uint8
    assert not np.array_equal(picture, frame)
    assert not np.shares_memory(picture, frame)


def test_annotate_accepts_a_read_only_view() -> None:
    frame = some_picture(160, 120)[::1, ::-1]
    frame.setflags(write=False)
    assert annotate(frame, some_result()).shape == frame.shape


@pytest.mark.parametrize("state", list(State))
def test_annotate_draws_the_polygon_in_the_colour_of_the_state(state: State) -> None:
    frame = np.full((240, 320, 3), 90, np.uint8)
    box = Box(100, 120, 80, 60)
    picture = annotate(frame, Result(box, box.polygon, 0.5, state))
    marked = shows(picture, STATE_COLOURS[state])
    assert marked[150, 99:102].any() and marked[150, 179:182].any()  # left and right edge
    assert marked[119:122, 140].any() and marked[179:182, 140].any()  # top and bottom edge
    assert not marked[150, 110:170].any()  # the inside stays free


def test_annotate_follows_a_rotated_polygon() -> None:
    frame = np.full((200, 200, 3), 90, np.uint8)
    diamond = ((100.0, 60.0), (140.0, 100.0), (100.0, 140.0), (60.0, 100.0))
    result = Result(Box(60, 60, 80, 80), diamond, 0.5, State.TRACKING)
    marked = shows(annotate(frame, result), STATE_COLOURS[State.TRACKING], 30)
    assert marked[118:123, 118:123].any()
    assert not marked[130:139, 130:139].any()  # the corner of the upright box


def test_lines_are_as_thick_as_the_frame_is_large() -> None:
    def share(width: int) -> float:
        height = width * 3 // 4
        box = Box(width * 0.3, height * 0.4, width * 0.3, height * 0.3)
        picture = annotate(np.full((height, width, 3), 90, np.uint8), Result(box, box.polygon, 0.5, State.LOST))
        return float((picture != 90).any(axis=2).mean())

    assert share(2560) == pytest.approx(share(1280), rel=0.25)


def test_the_confidence_bar_grows_with_confidence() -> None:
    frame = np.full((240, 320, 3), 90, np.uint8)

    def white(confidence: float) -> int:
        # Yellow carries black letters, so all that is white is the bar.
        result = some_result(100, 120, State.UNCERTAIN, confidence)
        return int(shows(annotate(frame, result), (255, 255, 255), 5).sum())

    assert white(0.0) == 0 < white(0.4) < white(0.9)


@pytest.mark.parametrize(
    "box",
    [Box(-50, -50, 20, 20), Box(500, 500, 30, 30), Box(0, 0, 320, 240), Box(1e9, 0, 5, 5), Box(float("nan"), 0, 5, 5)],
    ids=["above", "below", "everything", "far away", "not finite"],
)
def test_annotate_survives_any_box(box: Box) -> None:
    picture = annotate(some_picture(320, 240), Result(box, box.polygon, float("nan"), State.LOST), "naïve ☃")
    assert picture.shape == (240, 320, 3)


# --------------------------------------------------------------------------- contact sheet
def test_contact_sheet_is_an_even_choice_in_bounded_memory() -> None:
    sheet = ContactSheet(cells=4, columns=2, cell_width=40)
    most = 0
    for index in range(1000):
        sheet.add(index, np.full((30, 40, 3), index % 251, np.uint8), {"": some_result()})
        most = max(most, len(sheet))
    assert most <= 4 * 8 + 1
    chosen = [sheet._kept[round(i)][0] for i in np.linspace(0, len(sheet._kept) - 1, 4)]
    gaps = np.diff(chosen)
    assert chosen[0] == 0 and chosen[-1] > 900
    assert gaps.max() - gaps.min() <= 64


def test_contact_sheet_has_a_cell_per_frame_and_starts_with_the_first() -> None:
    sheet = ContactSheet(cells=12, columns=4, cell_width=80)
    for index in range(5):
        sheet.add(index, np.full((60, 80, 3), 40 * index + 20, np.uint8), {"": some_result(2, 2)})
    picture = sheet.render()
    gap = 4
    assert picture.shape == (gap + 2 * (60 + gap), gap + 4 * (80 + gap), 3)
    assert abs(int(picture[gap + 55, gap + 70, 0]) - 20) < 3  # frame 0, top left
    assert abs(int(picture[gap + 60 + gap + 55, gap + 70, 0]) - 180) < 3  # frame 4, second row


def test_contact_sheet_keeps_the_shape_of_tall_and_small_frames() -> None:
    sheet = ContactSheet(cells=2, columns=2, cell_width=90)
    frame = some_picture(30, 60)
    before = frame.copy()
    sheet.add(3, frame, {"": some_result(4, 5)})
    assert sheet.render().shape[0] == 4 + 180 + 4
    assert np.array_equal(frame, before)


def test_an_empty_contact_sheet_says_so() -> None:
    with pytest.raises(ValueError, match="no frames"):
        ContactSheet().render()
    with pytest.raises(ValueError, match="needs cells"):
        ContactSheet(cells=0)


def test_write_image_names_the_path_it_cannot_write(tmp_path: Path) -> None:
    picture = some_picture(20, 20)
    write_image(tmp_path / "new" / "a.png", picture)
    read = cv2.imread(str(tmp_path / "new" / "a.png"))
    assert read is not None and np.array_equal(read, picture)
    with pytest.raises(OSError, match=r"suffix '\.xyz'"):
        write_image(tmp_path / "a.xyz", picture)


# --------------------------------------------------------------------------- explain
def test_explain_shows_roles_peaks_and_state() -> None:
    trace = some_trace()
    picture = explain.render_trace(trace)
    assert picture.shape == (900, 1600, 3)
    for colour in (*ROLE_COLOURS, MAGENTA, CYAN, STATE_COLOURS[State.TRACKING]):
        assert shows(picture, colour).sum() > 30, colour


def test_explain_does_not_change_the_trace() -> None:
    trace = some_trace()
    before = {name: getattr(trace, name).copy() for name in ("crop", "filter_votes", "combined_votes")}
    explain.render_trace(trace)
    assert all(np.array_equal(getattr(trace, name), value) for name, value in before.items())


def crop_panel(trace: FrameTrace) -> Image:
    top, left = explain._HEADER + explain._CAPTION, explain._MARGIN
    return explain.render_trace(trace)[top : top + explain._CROP_SIDE, left : left + explain._CROP_SIDE]


def test_explain_draws_a_part_where_vote_and_offset_put_it() -> None:
    """Part centre in cells = vote + offset; cell k has its middle at (k + 0.5) * stride pixels of the crop."""
    trace = some_trace(parts=1, crop=np.zeros((128, 128, 3), np.uint8))
    parts = replace(
        trace.parts,
        sizes=np.array([[5, 5]]),
        offsets=np.array([[-6.0, 3.0]], np.float32),
        votes=np.array([[12.0, 24.0]], np.float32),
        roles=np.array([2], np.int8),
        agreed=np.array([False]),
    )
    panel = crop_panel(replace(trace, parts=parts))
    rows, columns = np.nonzero(shows(panel, ROLE_COLOURS[2], 60))
    zoom = explain._CROP_SIDE / 128
    assert columns.mean() == pytest.approx((12 - 6 + 0.5) * 4 * zoom, abs=2)
    assert rows.mean() == pytest.approx((24 + 3 + 0.5) * 4 * zoom, abs=2)
    assert columns.max() - columns.min() == pytest.approx(5 * 4 * zoom * explain._PART_SHARE, abs=4)


def test_explain_draws_the_box_where_it_lies_in_the_crop() -> None:
    trace = some_trace(parts=0, crop=np.zeros((128, 128, 3), np.uint8))
    rows, columns = np.nonzero(shows(crop_panel(trace), STATE_COLOURS[State.TRACKING], 40))
    expected = trace.window.box_in_crop(trace.result.box)
    zoom = explain._CROP_SIDE / 128
    assert columns.min() == pytest.approx(expected.x * zoom, abs=4)
    assert columns.max() == pytest.approx((expected.x + expected.w) * zoom, abs=4)
    assert rows.min() == pytest.approx(expected.y * zoom, abs=4)
    assert rows.max() == pytest.approx((expected.y + expected.h) * zoom, abs=4)


def test_explain_shows_no_peak_of_a_pathway_that_did_not_vote() -> None:
    panel = crop_panel(some_trace(parts=0, crop=np.zeros((128, 128, 3), np.uint8), convnet_votes=False))
    assert not shows(panel, CYAN).any()
    assert shows(panel, MAGENTA).any()


def test_explain_survives_the_first_frame_and_odd_values() -> None:
    zero = np.zeros((32, 32), np.float32)
    nan = float("nan")
    first = replace(
        some_trace(0, parts=0),
        filter_votes=zero,
        convnet_votes=zero,
        combined_votes=zero,
        pathway_distance=nan,
        part_agreement=nan,
        events=(),
    )
    assert explain.render_trace(first).shape == (900, 1600, 3)
    broken = some_trace()
    votes = np.full_like(broken.parts.votes, nan)
    odd = replace(
        broken,
        parts=replace(broken.parts, votes=votes),
        filter_votes=np.full((32, 32), -1, np.float32),
        convnet_votes=np.full((32, 32), np.nan, np.float32),
        events=tuple(f"event {number} with a long description that needs more than one line" for number in range(30)),
    )
    assert explain.render_trace(odd).shape == (900, 1600, 3)


def test_wrap_breaks_between_words_and_loses_none() -> None:
    words = "trained the ConvNetPart on 40 frames in 312 ms"
    lines = wrap(words, 12, 150)
    assert len(lines) > 1
    assert " ".join(lines) == words
    assert all(text_size(line, 12)[0] <= 150 for line in lines)
    assert text_size(wrap("x" * 200, 12, 150)[0], 12)[0] <= 150


def test_labels_of_several_do_not_cover_each_other() -> None:
    frame: Frame = np.zeros((400, 600, 3), np.uint8)
    labels: list[Box] = []
    for x in (200, 210, 220, 230):
        result = replace(some_result(), box=Box(x, 180, 40, 40), polygon=Box(x, 180, 40, 40).polygon)
        frame = annotate(frame, result, "a long name", labels)
    assert len(labels) == 4
    for one in labels:
        assert sum(one.intersection(other) for other in labels) == pytest.approx(one.area)
        assert one.y >= 0 and one.y + one.h <= 400
