"""``stp bench score`` and ``stp bench report`` from the outside, on results of trackers with known figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from tracking_parts.cli import app
from tracking_parts.evaluation.protocol import VOT2016, load_protocol
from tracking_parts.evaluation.ranking import ranked
from tracking_parts.evaluation.runner import run
from tracking_parts.evaluation.scoring import load_runs

LOSES = "trackers_for_tests:LosesAtOnce"
STILL = "trackers_for_tests:StandsStill"


def bench(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["bench", *arguments])


@pytest.fixture
def scored(vot_data: Path, tmp_path: Path) -> list[str]:
    """Results of a perfect and of a bad tracker, as the options that find them."""
    protocol = _short_protocol(tmp_path)
    run(["identity", LOSES], vot_data, tmp_path / "out", protocol=str(protocol))
    return ["--data", str(vot_data), "--out", str(tmp_path / "out"), "--protocol", str(protocol)]


def line_of(tracker: str, output: str) -> str:
    return next(line for line in output.splitlines() if tracker in line)


def test_scores_the_best_first(scored: list[str]) -> None:
    shown = bench("score", *scored)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.index("identity") < shown.stdout.index("LosesAtOnce")
    assert " 2.00 " in line_of("LosesAtOnce", shown.stdout) and " 0.00 " in line_of("identity", shown.stdout)
    assert "note:" not in shown.stderr


def test_scores_by_sequence_and_as_markdown(scored: list[str]) -> None:
    shown = bench("score", *scored, "--by-sequence", "--markdown")
    assert shown.exit_code == 0, shown.output
    assert "| growing | 12 | 0 | 2 |" in shown.stdout
    assert "| tracker | EAO | A | failures | R | R\\* | fps |" in shown.stdout


def test_one_tracker_and_a_paired_test(scored: list[str]) -> None:
    alone = bench("score", *scored, "--tracker", "identity")
    assert alone.exit_code == 0 and "LosesAtOnce" not in alone.stdout
    paired = bench("score", *scored, "--against", "identity")
    assert paired.exit_code == 0, paired.output
    assert "tracker minus identity" in paired.stdout and "+4" in paired.stdout
    wrong = bench("score", *scored, "--tracker", "nobody")
    assert wrong.exit_code != 0 and "no results of 'nobody'" in str(wrong.exception)


def test_uneven_runs_are_noted(scored: list[str]) -> None:
    (Path(scored[3]) / "identity" / "moving" / "moving_001.txt").unlink()
    shown = bench("score", *scored)
    assert shown.exit_code == 0
    assert shown.stderr.startswith("stp: note: the trackers were run on different sequences")


def test_a_report_beside_the_results(scored: list[str], tmp_path: Path) -> None:
    done = bench("report", *scored, "--against", "identity", "--title", "Good & bad")
    assert done.exit_code == 0, done.output
    assert "<h1>Good &amp; bad</h1>" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Against identity" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    elsewhere = bench("report", *scored, "--to", str(tmp_path / "page.html"))
    assert elsewhere.exit_code == 0 and (tmp_path / "page.html").exists()


def test_one_pass_from_run_to_report(vot_data: Path, tmp_path: Path) -> None:
    options = ["--data", str(vot_data), "--out", str(tmp_path / "ope"), "--protocol", "ope"]
    ran = bench("run", "identity", LOSES, *options)
    assert ran.exit_code == 0, ran.output
    shown = bench("score", *options)
    assert "0.952" in line_of("identity", shown.stdout)  # a perfect tracker passes 20 of 21 thresholds
    report = bench("report", *options)
    assert report.exit_code == 0, report.output
    assert "lost" in (tmp_path / "ope" / "report.md").read_text(encoding="utf-8")


def test_repetitions_and_a_protocol_of_ones_own(vot_data: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("kind: reset\nname: mine\neao_interval: [2, 9]\nskip: 1\n", encoding="utf-8")
    options = ["--data", str(vot_data), "--out", str(tmp_path / "out"), "--protocol", str(tmp_path / "mine.yaml")]
    ran = bench("run", LOSES, *options, "--repetitions", "2", "--sequences", "moving")
    assert ran.exit_code == 0 and "2 of 2 results" in ran.stdout
    second = tmp_path / "out" / "trackers_for_tests-LosesAtOnce" / "moving" / "moving_002.txt"
    assert second.read_text(encoding="utf-8").splitlines() == ["1", "2"] * 6
    assert " 6.0 " in line_of("LosesAtOnce", bench("score", *options).stdout)


@pytest.mark.parametrize("name", ["vot2016", "noreset"])
def test_ranking(name: str, vot_data: Path, tmp_path: Path) -> None:
    protocol = load_protocol(name)
    run([LOSES, STILL, "identity"], vot_data, tmp_path / "out", protocol=protocol)
    short = protocol if protocol != VOT2016 else load_protocol(str(_short_protocol(tmp_path)))
    found = ranked(load_runs(tmp_path / "out", vot_data, protocol), short)
    assert [tracker.name for tracker in found] == ["identity", STILL, LOSES]


def _short_protocol(folder: Path) -> Path:
    path = folder / "short.yaml"
    path.write_text("kind: reset\nname: short\neao_interval: [3, 8]\n", encoding="utf-8")
    return path
