"""Anybody's results: other layouts, other clocks, and what must not be scored by rules it was not made by."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from report_helpers import LOST, ONE_PASS, PERFECT, RESET, run_trackers
from tracking_parts.errors import FormatError
from tracking_parts.evaluation.protocol import OnePassProtocol, ResetProtocol, load_protocol
from tracking_parts.evaluation.runner import run
from tracking_parts.evaluation.scoring import load_runs
from tracking_parts.evaluation.trajectory import read_trajectory


def write_result(folder: Path, sequence: str, lines: list[str]) -> Path:
    path = folder / sequence / f"{sequence}_001.txt"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


# Layouts


@pytest.mark.parametrize(("protocol", "experiment"), [(RESET, "baseline"), (ONE_PASS, "unsupervised")])
def test_the_toolkits_folder_of_an_experiment_is_understood(
    vot_data: Path, tmp_path: Path, protocol: ResetProtocol | OnePassProtocol, experiment: str
) -> None:
    run_trackers(vot_data, tmp_path / "made", protocol, (PERFECT,))
    shutil.copytree(tmp_path / "made" / "identity", tmp_path / "out" / "theirs" / experiment)
    shutil.copytree(tmp_path / "made" / "identity", tmp_path / "out" / "other" / "something-else")
    (found,) = load_runs(tmp_path / "out", vot_data, protocol)
    assert (found.name, found.folder.name, len(found.runs)) == ("theirs", "theirs", 2)
    assert [one.name for one in load_runs(tmp_path / "out", vot_data, protocol, ["theirs"])] == ["theirs"]


def test_the_toolkits_times_are_found(tmp_path: Path) -> None:
    path = write_result(tmp_path, "bag", ["1", "1,2,3,4"])
    path.with_name("bag_001_time.value").write_text("0.5\n0.25\n", encoding="utf-8")
    read = read_trajectory(path)
    assert read.seconds == (0.5, 0.25) and read.values == {}


def test_matlabs_times_have_a_column_per_repetition(tmp_path: Path) -> None:
    path = write_result(tmp_path, "bag", ["1", "1,2,3,4"])
    shutil.copy(path, path.with_name("bag_002.txt"))
    shutil.copy(path, path.with_name("bag_003.txt"))
    path.with_name("bag_time.txt").write_text("0.5,0.1\n0.25,0.2\n", encoding="utf-8")
    assert read_trajectory(path).seconds == (0.5, 0.25)
    assert read_trajectory(path.with_name("bag_002.txt")).seconds == (0.1, 0.2)
    assert read_trajectory(path.with_name("bag_003.txt")).seconds == (), "nobody wrote its times"


# Other rules


def test_results_say_by_which_rules_they_were_made(vot_data: Path, tmp_path: Path) -> None:
    run([PERFECT], vot_data, tmp_path / "once", protocol="ope", threads=1)
    with pytest.raises(FormatError, match="results of protocol ope: vot2016 has other rules"):
        load_runs(tmp_path / "once", vot_data, load_protocol("vot2016"))
    run([PERFECT], vot_data, tmp_path / "resets", protocol="vot2016", threads=1)
    for other in (load_protocol("noreset"), ResetProtocol("late", (3, 10), skip=7), ResetProtocol("x", (3, 9), 0.1)):
        with pytest.raises(FormatError, match="results of protocol vot2016"):
            load_runs(tmp_path / "resets", vot_data, other)
    # The interval, the burn-in and the box are not about failures and restarts.
    for alike in (load_protocol("vot2017"), ResetProtocol("x", (3, 9), burn_in=2, init_box="enclosing")):
        assert len(load_runs(tmp_path / "resets", vot_data, alike)) == 1


def test_restarts_are_not_scored_as_one_pass(vot_data: Path, tmp_path: Path) -> None:
    """Its tracker is put back on the object again and again: it would look far too good."""
    run_trackers(vot_data, tmp_path / "out", RESET, (LOST,))
    with pytest.raises(FormatError, match=r"moving_001\.txt: moving: the result has failures and restarts"):
        load_runs(tmp_path / "out", vot_data, ONE_PASS)


def test_one_pass_is_not_scored_as_a_run_without_failures(vot_data: Path, tmp_path: Path) -> None:
    run_trackers(vot_data, tmp_path / "out", ONE_PASS, (LOST,))
    with pytest.raises(FormatError, match=r"moving_001\.txt: lost in frames 2 to 12 without a failure"):
        load_runs(tmp_path / "out", vot_data, RESET)


def test_a_single_frame_without_overlap_is_let_pass(vot_data: Path, tmp_path: Path) -> None:
    """Toolkits count pixels: where the object is just missed, theirs may see an overlap and ours none."""
    run_trackers(vot_data, tmp_path / "out", RESET, (PERFECT,))
    path = tmp_path / "out" / "identity" / "moving" / "moving_001.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines[:-1], "-500,-500,5,5"]) + "\n", encoding="utf-8")
    (found,) = load_runs(tmp_path / "out", vot_data, RESET)
    assert found.runs[0].score.overlaps[-1] == 0


def test_a_result_without_a_start_is_refused(vot_data: Path, tmp_path: Path) -> None:
    write_result(tmp_path / "out" / "theirs", "moving", ["10,10,30,30"] * 12)
    with pytest.raises(FormatError, match="says nowhere that the tracker was started"):
        load_runs(tmp_path / "out", vot_data, RESET)
    assert len(load_runs(tmp_path / "out", vot_data, ONE_PASS)) == 1
