"""Protocols as data files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tracking_parts.errors import ConfigError
from tracking_parts.evaluation.protocol import (
    VOT2016,
    VOT2017,
    OnePassProtocol,
    Protocol,
    ResetProtocol,
    load_protocol,
    load_reset_protocol,
    parse_protocol,
)

MINE = """
kind: reset
name: mine
eao_interval: [50, 80]
failure_overlap: 0.1
skip: 3
"""


def test_the_package_knows_four_protocols() -> None:
    names = ["noreset", "ope", "vot2016", "vot2017"]
    assert [load_protocol(name).name for name in names] == names


def test_vot() -> None:
    assert ResetProtocol("vot2016", (108, 371), failure_overlap=0, skip=5, burn_in=10, init_box="area") == VOT2016
    assert VOT2017.eao_interval == (100, 356)


def test_one_pass() -> None:
    assert load_protocol("ope") == OnePassProtocol("ope", "enclosing", "rectangle", 20, 0, 10)
    assert load_protocol("noreset") == OnePassProtocol("noreset", "area", "polygon", 20, 0, 10)


def test_anybody_can_write_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE, encoding="utf-8")
    assert load_protocol(str(path)) == ResetProtocol("mine", (50, 80), failure_overlap=0.1, skip=3)


def test_a_reset_protocol_where_one_is_needed() -> None:
    assert load_reset_protocol("vot2017") == VOT2017
    with pytest.raises(ConfigError, match="'ope' is not reset-based"):
        load_reset_protocol("ope")


def test_unknown_names_and_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'vot2099': choose one of noreset, ope, vot2016, vot2017, or give a \.yaml"):
        load_protocol("vot2099")
    with pytest.raises(ConfigError, match=r"cannot read .*gone\.yaml: No such file"):
        load_protocol(str(tmp_path / "gone.yaml"))
    (tmp_path / "binary.yml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(ConfigError, match=r"cannot read .*binary\.yml"):
        load_protocol(str(tmp_path / "binary.yml"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1, 2", "is not YAML"),
        ("- a list", "has a key 'kind'"),
        ("kind: other\nname: x", "one of reset, one-pass"),
        (f"{MINE}skips: 5", "unknown skips; known are name, eao_interval"),
        ("kind: reset\nname: x", "eao_interval missing"),
        (MINE.replace("[50, 80]", "50"), "eao_interval: 50 is no tuple"),
        (MINE.replace("[50, 80]", "[50, 60, 70]"), "eao_interval"),
        (MINE.replace("skip: 3", "skip: 2.5"), "skip: 2.5 is no int"),
        (MINE.replace("skip: 3", "skip: true"), "skip: True is no int"),
        (MINE.replace("0.1", "much"), "failure_overlap: 'much' is no float"),
        (MINE.replace("mine", "7"), "name: 7 is no str"),
        ("kind: one-pass\nname: x\noverlap: round", "overlap is polygon or rectangle, not 'round'"),
        ("kind: !!python/object/apply:os.getcwd []", "is not YAML"),
    ],
)
def test_mistakes_are_named(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_protocol(text, "mine.yaml")


@pytest.mark.parametrize(
    "make",
    [
        lambda: ResetProtocol("x", (10, 20), skip=0),
        lambda: ResetProtocol("x", (10, 20), burn_in=-1),
        lambda: ResetProtocol("x", (9, 8)),
        lambda: ResetProtocol("x", (1, 8)),
        lambda: ResetProtocol("x", (10, 20), failure_overlap=1.5),
        lambda: ResetProtocol("x", (10, 20), init_box="round"),  # type: ignore[arg-type]
        lambda: OnePassProtocol("x", precision_pixels=0),
        lambda: OnePassProtocol("x", lost_for=0),
        lambda: OnePassProtocol("x", lost_overlap=float("nan")),
    ],
)
def test_senseless_protocols_are_refused(make: Callable[[], Protocol]) -> None:
    with pytest.raises(ConfigError, match="protocol x"):
        make()
