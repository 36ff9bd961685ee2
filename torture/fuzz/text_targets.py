"""Targets for what people write and tools exchange as text: ground truth, results, settings, rules, figures."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from torture.fuzz.target import Target, as_file, scratch, split_choice
from tracking_parts.cli_run import parse_box
from tracking_parts.config import TrackerConfig
from tracking_parts.errors import FormatError
from tracking_parts.evaluation.gate import compare, read_gate
from tracking_parts.evaluation.one_pass import score_one_pass
from tracking_parts.evaluation.protocol import OnePassProtocol, parse_protocol
from tracking_parts.evaluation.provenance import circumstances, read_description
from tracking_parts.evaluation.reset import score_trajectory
from tracking_parts.evaluation.trackers import TrackerSpec
from tracking_parts.evaluation.trajectory import Code, read_trajectory
from tracking_parts.geometry import Box
from tracking_parts.io.results import READABLE_FORMATS, read_results
from tracking_parts.io.sequences import Sequence, find_sequences, read_ground_truth

BOUNDS_WH = (64, 48)
# Every file that a sequence's folder is searched for.
SEQUENCE_FILES = (
    *("groundtruth.txt", "groundtruth_rect.txt", "groundtruth_rect.2.txt", "list.txt", "sequence"),
    *("occlusion.tag", "absence.label", "cover.label"),
)


def ground_truth(content: bytes) -> None:
    path = as_file(content, "groundtruth.txt")
    for region in (*read_ground_truth(path), *read_ground_truth(path, origin=1.0)):
        if region is not None and not np.isfinite(region).all():
            raise AssertionError(f"a region that is not finite: {region}")


def sequence_files(content: bytes) -> None:
    name, text = split_choice(content, SEQUENCE_FILES)
    folder = scratch() / "sequences"
    for kept in SEQUENCE_FILES:
        (folder / kept).unlink(missing_ok=True)
    as_file(b"", "sequences/0001.jpg")
    as_file(b"", "sequences/0002.jpg")
    if name not in ("groundtruth.txt", "groundtruth_rect.txt", "groundtruth_rect.2.txt"):
        as_file(b"1,1,5,5\n1,1,5,5\n", "sequences/groundtruth.txt")
    as_file(text, f"sequences/{name}")
    for sequence in find_sequences(folder):
        if len(sequence.ground_truth) != len(sequence.frames):
            raise AssertionError("as many regions as frames")


def results(content: bytes) -> None:
    name, text = split_choice(content, READABLE_FORMATS)
    for row in read_results(as_file(text, "results.txt"), name):
        if row.box is not None and not row.box.is_finite:
            raise AssertionError(f"a box that is not finite: {row.box}")


def trajectory(content: bytes) -> None:
    """A result of anybody's, the times and values beside it, and both ways to score it."""
    regions, _, rest = content.partition(b"%")
    seconds, _, values = rest.partition(b"%")
    path = as_file(regions, "results/ball_001.txt")
    for text, name in ((seconds, "ball_001_time.txt"), (values, "ball_001_confidence.value")):
        if text:
            as_file(text, f"results/{name}")
        else:
            (path.parent / name).unlink(missing_ok=True)
    answered = read_trajectory(path)
    sequence = _sequence_of(len(answered))
    with suppress(FormatError):
        _check_overlaps(score_trajectory(answered, sequence, BOUNDS_WH).overlaps)
    _check_overlaps(score_one_pass(answered, sequence, OnePassProtocol("fuzz", overlap="polygon"), BOUNDS_WH).overlaps)
    _check_overlaps(score_one_pass(answered, sequence, OnePassProtocol("fuzz"), BOUNDS_WH).overlaps)
    if not all(isinstance(region, Code) or len(region) == 4 for region in answered.regions):
        raise AssertionError("a region without four corners")


@cache
def _sequence_of(length: int) -> Sequence:
    truth = Box(10, 10, 20, 20).polygon
    return Sequence("ball", [Path("none")] * length, (truth,) * length, {})


def _check_overlaps(overlaps: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    known = overlaps[~np.isnan(overlaps)]
    if ((known < 0) | (known > 1)).any():
        raise AssertionError(f"overlaps outside of 0 to 1: {known}")


def settings(content: bytes) -> None:
    """``--set``, ``--box``, a tracker's name with options, and settings as a state keeps them."""
    kind, rest = split_choice(content, ("set", "box", "spec", "saved"))
    text = rest.decode("utf-8", "replace")
    if kind == "set":
        TrackerConfig().override_from_text(text.splitlines())
    elif kind == "box":
        parse_box(text)
    elif kind == "spec":
        assert len(TrackerSpec.parse(text).folder_name.encode()) <= 4 * len(text) + 4
    else:
        with suppress(ValueError, RecursionError):
            saved = json.loads(text)
            if isinstance(saved, dict):
                TrackerConfig.from_dict(saved)


def protocol(content: bytes) -> None:
    parse_protocol(content.decode("utf-8", "replace"), "rules.yaml")


def gate(content: bytes) -> None:
    committed = read_gate(as_file(content, "metrics.json"))
    compare(committed, committed.sequences)


def run_description(content: bytes) -> None:
    folder = as_file(content, "described/run.json").parent
    circumstances(read_description(folder) or {})


TARGETS = (
    Target("ground_truth", ground_truth, words=(b"NaN", b"\t", b"1,1,0,0", b"1e308,1e308,1e308,1e308\n")),
    Target("sequence_files", sequence_files, words=(b"fps=30\n", b"absence", b"\n\n\n", b"1", b"0")),
    Target("results", results, words=(b'"state": "lost"', b'"polygon": [[', b"2\n", b"0\n")),
    Target("trajectory", trajectory, words=(b"1\n", b"2\n", b"0\n", b"1e308,1e308,1e308,1e308\n", b"%", b"1e-320")),
    Target("settings", settings, words=(b"part_sizes=", b"alpha=", b"supports=[", b"?", b"&", b"=", b"crop_size")),
    Target("protocol", protocol, words=(b"kind: reset", b"eao_interval: [", b"&a", b"*a", b"<<: ", b"!!int ", b"? ")),
    Target("gate", gate, words=(b'"sequences": {', b'"overlap_margin": ', b'"frames": ')),
    Target("run_description", run_description, words=(b'"continued": [', b'"versions": {')),
)
