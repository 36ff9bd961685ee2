"""Ground truth, natural order, and the layouts of data sets."""

from __future__ import annotations

import math
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracking_parts.errors import FormatError, SourceError, TrackingPartsError
from tracking_parts.geometry import Box
from tracking_parts.io.sequences import find_sequences, natural_key, parse_region, read_ground_truth, read_sequence

coordinates = st.floats(-1e5, 1e5)
sizes = st.floats(1e-3, 1e5)
separators = st.sampled_from([",", "\t", " ", ", ", ";", "  "])


def write_images(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for value, name in enumerate(names):
        cv2.imwrite(str(folder / name), np.full((4, 6, 3), value, np.uint8))


def make_vot(folder: Path, count: int = 3, truth: str = "1,2,3,4\n2,3,4,5\n3,4,5,6\n", inner: str = "color") -> Path:
    write_images(folder / inner, [f"{number:08d}.jpg" for number in range(1, count + 1)])
    (folder / "groundtruth.txt").write_text(truth)
    return folder


def make_otb(folder: Path, count: int, rows: int, truth_name: str = "groundtruth_rect.txt") -> Path:
    write_images(folder / "img", [f"{number:04d}.jpg" for number in range(1, count + 1)])
    (folder / truth_name).write_text("".join(f"{row + 1}\t11\t30\t40\n" for row in range(rows)))
    return folder


@given(coordinates, coordinates, sizes, sizes, separators, st.sampled_from([0.0, 1.0]))
def test_rectangles_of_any_kind(x: float, y: float, w: float, h: float, separator: str, origin: float) -> None:
    text = separator.join(repr(value) for value in (x, y, w, h))
    assert parse_region(text, origin=origin) == Box(x - origin, y - origin, w, h).polygon


@given(st.lists(coordinates, min_size=8, max_size=8), separators)
def test_polygons_of_any_kind(values: list[float], separator: str) -> None:
    polygon = parse_region(separator.join(repr(value) for value in values) + "\r\n")
    assert polygon is not None
    assert [value for point in polygon for value in point] == values


@given(st.integers(0, 7), st.sampled_from([4, 8]), st.sampled_from(["nan", "NaN", "NAN"]))
def test_a_row_with_nan_means_not_visible(position: int, length: int, spelling: str) -> None:
    fields = ["1.5"] * length
    fields[position % length] = spelling
    assert parse_region(",".join(fields)) is None


@pytest.mark.parametrize("text", ["0,0,0,0", "5,5,0,3", "5,5,3,-1"])
def test_a_rectangle_without_area_means_not_visible(text: str) -> None:
    assert parse_region(text) is None


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "1,2,3,4,5", "a,b,c,d", "1,2,3,inf", "m0,0,5,5,1,2", "1 2 3 4,x"])
def test_other_rows_are_refused(text: str) -> None:
    with pytest.raises(FormatError):
        parse_region(text)


@given(st.text(max_size=80))
def test_any_text_gives_a_region_or_our_error(text: str) -> None:
    try:
        polygon = parse_region(text)
    except FormatError as error:
        assert "\n" not in str(error)
    else:
        assert polygon is None or all(math.isfinite(value) for point in polygon for value in point)


def test_the_line_of_a_fault_is_named(tmp_path: Path) -> None:
    path = tmp_path / "groundtruth.txt"
    path.write_text("1,2,3,4\n\n1,2,3,4\n")
    with pytest.raises(FormatError, match=r"groundtruth\.txt, line 2: 0 numbers"):
        read_ground_truth(path)
    path.write_text("\n\n")
    with pytest.raises(FormatError, match="is empty"):
        read_ground_truth(path)
    path.write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(FormatError, match="no text file"):
        read_ground_truth(path)
    path.write_bytes(b"\xef\xbb\xbf1,2,3,4\r\nNaN,NaN,NaN,NaN\r\n\r\n")  # as some editors leave it
    assert read_ground_truth(path) == (Box(1, 2, 3, 4).polygon, None)


@given(st.lists(st.integers(0, 10**6), unique=True, max_size=20), st.sampled_from(["", "frame", "a1_"]))
def test_numbers_sort_as_numbers(numbers: list[int], prefix: str) -> None:
    paths = [Path(f"{prefix}{number}.png") for number in numbers]
    assert sorted(paths, key=natural_key) == [Path(f"{prefix}{number}.png") for number in sorted(numbers)]


@given(st.lists(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1), max_size=8))
def test_any_names_have_one_order(names: list[str]) -> None:
    paths = [Path("folder") / name for name in set(names) - {".", ".."}]
    assert sorted(paths, key=natural_key) == sorted(reversed(paths), key=natural_key)


@pytest.mark.parametrize("inner", ["color", "."])
def test_vot_and_got10k_layouts(tmp_path: Path, inner: str) -> None:
    folder = make_vot(tmp_path / "ball", inner=inner)
    (folder / "occlusion.label").write_text("0\n1\n0\n")
    (folder / "size_change.tag").write_text("1\n")
    (folder / "cover.label").write_text("8\n4\n0\n")
    (folder / "absence.label").write_text("0\n0\n1\n")
    (folder / "sequence").write_text("name=ball\nfps=30\nlength=3\n")
    sequence = read_sequence(folder)
    assert sequence.name == "ball"
    assert [path.name for path in sequence.frames] == ["00000001.jpg", "00000002.jpg", "00000003.jpg"]
    assert sequence.ground_truth[0] == Box(1, 2, 3, 4).polygon
    assert sequence.ground_truth[1] is not None and sequence.ground_truth[2] is None
    assert sequence.attributes == {"occlusion": (False, True, False), "size_change": (True, False, False)}
    assert sequence.fps == 30
    assert len(sequence) == 3


def test_otb_counts_pixels_from_one(tmp_path: Path) -> None:
    sequence = read_sequence(make_otb(tmp_path / "Car", count=2, rows=2))
    assert sequence.ground_truth == (Box(0, 10, 30, 40).polygon, Box(1, 10, 30, 40).polygon)


def test_otb_annotates_only_a_part_of_some_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = read_sequence(make_otb(tmp_path / "Football1", count=5, rows=3))
    assert [path.stem for path in short.frames] == ["0001", "0002", "0003"]
    monkeypatch.setitem(__import__("tracking_parts.io.sequences", fromlist=["x"]).OTB_FIRST_IMAGE, "David", 3)
    late = read_sequence(make_otb(tmp_path / "David", count=6, rows=4))
    assert [path.stem for path in late.frames] == ["0003", "0004", "0005", "0006"]


def test_otb_with_two_objects_is_two_sequences(tmp_path: Path) -> None:
    folder = make_otb(tmp_path / "otb" / "Jogging", 2, 2, "groundtruth_rect.1.txt")
    (folder / "groundtruth_rect.2.txt").write_text("5,5,5,5\n6,6,6,6\n")
    first, second = find_sequences(tmp_path / "otb")
    assert (first.name, second.name) == ("Jogging-1", "Jogging-2")
    assert second.ground_truth[0] == Box(4, 4, 5, 5).polygon
    assert read_sequence(folder).ground_truth == first.ground_truth
    with pytest.raises(SourceError, match="no ground truth"):
        read_sequence(folder, target=3)


def test_images_without_ground_truth_are_a_sequence_too(tmp_path: Path) -> None:
    write_images(tmp_path / "holiday", ["img10.png", "img9.png", "IMG1.PNG", ".hidden.png"])
    (tmp_path / "holiday" / "notes.txt").write_text("not an image")
    sequence = read_sequence(tmp_path / "holiday")
    assert [path.name for path in sequence.frames] == ["IMG1.PNG", "img9.png", "img10.png"]
    assert sequence.ground_truth == ()
    assert sequence.fps is None


def test_ground_truth_of_another_length(tmp_path: Path) -> None:
    only_first = read_sequence(make_vot(tmp_path / "test split", truth="1,2,3,4\n"))
    assert only_first.ground_truth == (Box(1, 2, 3, 4).polygon, None, None)
    with pytest.raises(FormatError, match="4 rows for 3 images"):
        read_sequence(make_vot(tmp_path / "long", truth="1,2,3,4\n" * 4))


def test_find_sequences_follows_the_list_or_the_folders(tmp_path: Path) -> None:
    for name in ("b10", "b9", "a"):
        make_vot(tmp_path / name)
    (tmp_path / "no sequence").mkdir()
    assert [sequence.name for sequence in find_sequences(tmp_path)] == ["a", "b9", "b10"]
    (tmp_path / "list.txt").write_text("b9\n\na\n")
    assert [sequence.name for sequence in find_sequences(tmp_path)] == ["b9", "a"]
    assert [sequence.name for sequence in find_sequences(tmp_path / "a")] == ["a"]
    (tmp_path / "list.txt").write_text("absent\n")
    with pytest.raises(SourceError, match="absent"):
        find_sequences(tmp_path)


def test_folders_that_are_no_sequences(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="no images in"):
        read_sequence(tmp_path / "empty")
    with pytest.raises(SourceError, match="no folder at"):
        read_sequence(tmp_path / "absent")
    with pytest.raises(SourceError, match="no folder at"):
        find_sequences(tmp_path / "absent")
    with pytest.raises(SourceError, match="no sequences in"):
        find_sequences(tmp_path)


def test_bad_attributes_are_refused(tmp_path: Path) -> None:
    folder = make_vot(tmp_path / "ball")
    (folder / "occlusion.label").write_text("0\nyes\n0\n")
    with pytest.raises(TrackingPartsError, match=r"occlusion\.label"):
        read_sequence(folder)


def test_the_real_data_set(shared_data: Path) -> None:
    sequences = find_sequences(shared_data / "vot2016-20")
    assert sequences
    for sequence in sequences:
        assert len(sequence.frames) == len(sequence.ground_truth) > 10
        assert all(polygon is not None and Box.around(polygon).area > 0 for polygon in sequence.ground_truth)
        assert all(len(values) == len(sequence.frames) for values in sequence.attributes.values())
    by_name = {sequence.name: sequence for sequence in sequences}
    if "bag" in by_name:
        bag = by_name["bag"]
        assert bag.ground_truth[0] == ((334.02, 128.36), (438.19, 188.78), (396.39, 260.83), (292.23, 200.41))
        assert len(bag) == 196
        assert bag.attributes["illum_change"][:3] == (False, True, True)
