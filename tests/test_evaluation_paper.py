"""The paper's tables by one command."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracking_parts.cli import app
from tracking_parts.errors import ConfigError, FormatError
from tracking_parts.evaluation import paper_plan, published
from tracking_parts.evaluation.paper import PaperData, estimate_paper, run_paper, write_paper_report
from tracking_parts.evaluation.paper_plan import PaperPlan, PaperTable, Version, available_peers, plan_paper, probe
from tracking_parts.evaluation.runner import run
from tracking_parts.evaluation.trackers import choose_tracker
from tracking_parts.io.sequences import find_sequences

GOOD, BAD = "identity", "trackers_for_tests:LosesAtOnce"
TELLING = "trackers_for_tests:TellsDistances"
PLAN = PaperPlan(
    ours=TELLING,
    peers=(BAD,),
    tables=(
        PaperTable(
            3,
            "Roles of the parts",
            "One is better.",
            (Version("One role", BAD), Version("All roles", TELLING)),
            published.TABLE_3,
            "All roles",
        ),
    ),
    speed=(Version("Parallel update", GOOD),),
)


def test_every_version_of_the_paper_is_in_the_plan() -> None:
    plan = plan_paper("default", ["opencv:csrt"])
    assert plan.trackers == (
        "stp:default",
        "opencv:csrt",
        "stp:default?alpha=1&colour_weight=0",
        "stp:default?alpha=0&update=full&colour_weight=0",
        "stp:default?colour_weight=0",
        "stp:default?roles=one",
        "stp:default?update=none",
        "stp:default?update=full",
        "stp:default?update=random",
        "stp:default?update=parallel",
    )
    assert [table.number for table in plan.tables] == [2, 3, 4]
    for tracker in plan.trackers:
        choose_tracker(tracker).close()


def test_where_nobody_minds_colours_no_version_is_without_them() -> None:
    assert not any("colour" in tracker for tracker in plan_paper("paper", []).trackers)


@pytest.mark.parametrize("table", plan_paper("paper", []).tables, ids=lambda table: f"table {table.number}")
def test_versions_and_published_rows_have_the_same_names(table: PaperTable) -> None:
    labels = [version.label for version in table.versions]
    assert set(table.published) == set(labels) and table.reference in labels


def test_published_figures_agree_with_themselves() -> None:
    """The best version of tables 2 to 4 is the tracker of table 1."""
    for row in (published.TABLE_2["Combined"], published.TABLE_3["All roles"], published.TABLE_4["HCFs update"]):
        for data_set, figures in row.items():
            whole = published.TABLE_1["STP"][data_set]
            assert (figures.eao, figures.accuracy) == (whole.eao, whole.accuracy)
            assert figures.robustness == pytest.approx(whole.robustness, abs=0.006)  # printed as 0.76 and 0.765
    assert math.isnan(published.TABLE_1["CFWCR"]["vot2016"].robustness_star)


def test_peers_that_can_be_run() -> None:
    assert "opencv:mil" in available_peers()
    assert "opencv:nope" not in available_peers()


def test_it_says_what_it_would_take(vot_data: Path, tmp_path: Path) -> None:
    data = [PaperData("vot2016", vot_data)]
    estimates = {one.tracker: one for one in estimate_paper(PLAN, data, tmp_path, repetitions=2, threads=1)}
    assert set(estimates) == {TELLING, BAD, GOOD}
    assert (estimates[BAD].sequences, estimates[BAD].frames, estimates[BAD].measured) == (4, 48, False)
    assert estimates[BAD].seconds > 0
    run_paper(PLAN, [PaperData("vot2016", vot_data, subset=1)], tmp_path, {"processes": 1})
    later = {one.tracker: one for one in estimate_paper(PLAN, data, tmp_path, repetitions=1, threads=1)}
    assert (later[BAD].sequences, later[BAD].frames, later[BAD].measured) == (1, 12, True)
    run_paper(PLAN, data, tmp_path, {"processes": 1})
    assert [one.seconds for one in estimate_paper(PLAN, data, tmp_path, repetitions=1, threads=1)] == [0, 0, 0]


def test_nobody_can_tell_how_long_the_paper_trains(vot_data: Path) -> None:
    assert math.isnan(probe("stp:paper", find_sequences(vot_data)[0], "area"))


def test_the_report_holds_the_tables(vot_data: Path, tmp_path: Path) -> None:
    data = [PaperData("vot2016", vot_data), PaperData("vot2017", vot_data)]
    outcomes = run_paper(PLAN, data, tmp_path, {"processes": 1, "seed": 3})
    assert {one.status for one in outcomes} == {"done"} and len(outcomes) == 12
    page, markdown = write_paper_report(PLAN, data, tmp_path, tmp_path / "paper.html", "stp bench paper")
    text = markdown.read_text(encoding="utf-8")
    assert "## Table 1: against other trackers" in text and "2 of 60 sequences were run" in text
    assert re.search(r"\| CFWCR \(published\) \| 0\.390 \| 0\.81 \| 0\.58 \| – \| 0\.303", text)
    assert "## Table 3: roles of the parts" in text
    assert re.search(r"\| One role \(measured\) \|.*\| 0\.310, 0\.71, 0\.47 \|", text)
    assert "Parallel update, vot2017" in text and "correlate with r = " in text
    assert "## vot2016 in detail" in text and "## vot2017 in detail" in text
    html = page.read_text(encoding="utf-8")
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert "<svg" in html and "http://" not in html.replace("http://www.w3.org/2000/svg", "")


def test_the_command(vot_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper_plan, "probe", lambda tracker, sequence, init_box: 2.0)

    def invoke(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["bench", "paper", "--out", str(tmp_path / "out"), *arguments])
        assert done.exit_code == 0, done.output
        return done.output

    data = ["--vot2016", str(vot_data), "--subset", "1", "--peers", "identity"]
    planned = invoke(*data, "--plan")
    assert "identity" in planned and "update=parallel" in planned and "0:01:00" in planned  # 10 x 12 frames
    assert not (tmp_path / "out").exists()
    with pytest.raises(ConfigError, match="--vot2016 FOLDER"):
        CliRunner().invoke(app, ["bench", "paper", "--out", str(tmp_path)], catch_exceptions=False)


def test_a_report_on_nothing_says_so(vot_data: Path, tmp_path: Path) -> None:
    run(["identity"], vot_data, tmp_path / "vot2016")
    with pytest.raises(FormatError, match="no results of stp:default"):
        write_paper_report(
            plan_paper("default", []), [PaperData("vot2016", vot_data)], tmp_path, tmp_path / "p.html", ""
        )


def test_an_interrupted_run_is_reported_as_far_as_it_went(vot_data: Path, tmp_path: Path) -> None:
    """Versions that share no sequence yet cannot be tested against each other: a dash, not a traceback."""
    run([TELLING], vot_data, tmp_path / "vot2016", sequences=["moving"])
    run([BAD], vot_data, tmp_path / "vot2016", sequences=["growing"])
    data = [PaperData("vot2016", vot_data)]
    _, markdown = write_paper_report(PLAN, data, tmp_path, tmp_path / "paper.html", "stp bench paper")
    assert re.search(r"\| One role \(measured\) \|.*\| – \| – \| 0\.310", markdown.read_text(encoding="utf-8"))
