"""got10k's own experiments run our tracker, and their figures are ours on the same boxes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from synthetic import SyntheticSequence
from tracking_parts.errors import ConfigError
from tracking_parts.evaluation import one_pass_measures as measures
from tracking_parts.geometry import Box
from tracking_parts.integrations import got10k as integration
from tracking_parts.integrations.got10k import Got10kTracker
from tracking_parts.io.sequences import read_sequence

NAMES = ("Crossing", "Deer")  # OTB's class looks for its own names only


@pytest.fixture
def experiments(monkeypatch: pytest.MonkeyPatch) -> Any:
    """got10k's experiments, drawing without a display and fetching nothing."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    module = pytest.importorskip("got10k.experiments")
    monkeypatch.setattr(module.otb.OTB, "_download", lambda *_: None)
    return module


def write_frames(folder: Path, sequence: SyntheticSequence, digits: int) -> None:
    folder.mkdir(parents=True)
    for number, frame in enumerate(sequence.frames, start=1):
        cv2.imwrite(str(folder / f"{number:0{digits}d}.jpg"), frame, [cv2.IMWRITE_JPEG_QUALITY, 95])


def write_boxes(path: Path, boxes: list[Box], origin: float) -> None:
    rows = [f"{box.x + origin:.4f},{box.y + origin:.4f},{box.w:.4f},{box.h:.4f}\n" for box in boxes]
    path.write_text("".join(rows), encoding="utf-8")


def write_otb(root: Path, sequences: list[SyntheticSequence]) -> Path:
    """OTB's layout, whose first pixel is (1, 1)."""
    for name, sequence in zip(NAMES, sequences, strict=True):
        write_frames(root / name / "img", sequence, 4)
        write_boxes(root / name / "groundtruth_rect.txt", sequence.boxes, origin=1.0)
    return root


def write_got10k(root: Path, sequences: list[SyntheticSequence]) -> Path:
    """GOT-10k's validation set with the files that its report reads."""
    for name, sequence in zip(NAMES, sequences, strict=True):
        folder = root / "val" / name
        write_frames(folder, sequence, 8)
        write_boxes(folder / "groundtruth.txt", sequence.boxes, origin=0.0)
        width, height = sequence.size_wh
        (folder / "meta_info.ini").write_text(f"[METAINFO]\nresolution: ({width}, {height})\n", encoding="utf-8")
        for attribute, value in (("cover", 8), ("absence", 0), ("cut_by_image", 0)):
            (folder / f"{attribute}.label").write_text(f"{value}\n" * len(sequence), encoding="utf-8")
    (root / "val" / "list.txt").write_text("\n".join(NAMES) + "\n", encoding="utf-8")
    return root


def read_boxes(path: Path, origin: float = 0.0) -> list[Box]:
    rows: NDArray[np.float64] = np.loadtxt(path, delimiter=",")
    return [Box(x - origin, y - origin, w, h) for x, y, w, h in rows.tolist()]


def test_otb_experiment(
    experiments: Any, tmp_path: Path, moving_object: SyntheticSequence, growing_object: SyntheticSequence
) -> None:
    """Success and precision as OTB defines them: our measures on the boxes that got10k recorded."""
    root = write_otb(tmp_path / "OTB", [moving_object, growing_object])
    experiment = experiments.ExperimentOTB(
        str(root), 2015, result_dir=str(tmp_path / "results"), report_dir=str(tmp_path / "reports")
    )
    experiment.run(Got10kTracker("fast", origin=1.0))
    overall = experiment.report(["STP"])["STP"]["overall"]

    scores = []
    for name, sequence in zip(NAMES, (moving_object, growing_object), strict=True):
        answers = read_boxes(tmp_path / "results" / "OTB2015" / "STP" / f"{name}.txt", origin=1.0)
        assert min(answer.overlap(truth) for answer, truth in zip(answers, sequence.boxes, strict=True)) > 0.5
        truth = [Box.around(polygon) if polygon else None for polygon in read_sequence(root / name).ground_truth]
        scores.append(measures.score_boxes(answers, truth))
    curve = measures.mean_curve([[measures.success_curve(one.overlaps)] for one in scores])
    assert curve == pytest.approx(overall["success_curve"], abs=1e-12)
    assert np.mean([measures.success_auc(one.overlaps) for one in scores]) == pytest.approx(overall["success_score"])
    assert np.mean([measures.precision_at(one.distances) for one in scores]) == pytest.approx(
        overall["precision_score"]
    )
    assert 0.5 < overall["success_score"] < 1


def test_got10k_experiment(
    experiments: Any, tmp_path: Path, moving_object: SyntheticSequence, growing_object: SyntheticSequence
) -> None:
    """AO and SR: got10k leaves the first frame out and pools the frames of all sequences."""
    root = write_got10k(tmp_path / "GOT-10k", [moving_object, growing_object])
    experiment = experiments.ExperimentGOT10k(
        str(root), "val", result_dir=str(tmp_path / "results"), report_dir=str(tmp_path / "reports")
    )
    experiment.run(Got10kTracker("fast"))
    overall = experiment.report(["STP"])["STP"]["overall"]

    pooled = []
    for name in NAMES:
        results = tmp_path / "results" / "GOT-10k" / "STP" / name
        assert sorted(path.name for path in results.iterdir()) == [f"{name}_001.txt", f"{name}_time.txt"]
        answers = read_boxes(results / f"{name}_001.txt")
        truth = [
            Box.around(polygon) if polygon else None for polygon in read_sequence(root / "val" / name).ground_truth
        ]
        pooled.append(measures.box_overlaps(answers, truth)[1:])
    overlaps = np.concatenate(pooled)
    assert overlaps.mean() == pytest.approx(overall["ao"], abs=1e-9)
    assert np.mean(overlaps > 0.5) == pytest.approx(overall["sr"])
    # Every fifth of its 101 thresholds is one of our 21.
    assert measures.success_curve(overlaps) == pytest.approx(overall["succ_curve"][::5], abs=1e-12)
    assert json.loads((tmp_path / "reports" / "GOT-10k" / "STP" / "performance.json").read_text())["STP"]


def test_origin_and_colours_are_converted(moving_object: SyntheticSequence) -> None:
    """The same pixels as PIL's RGB and with coordinates from 1 give the same boxes, moved by 1."""
    pytest.importorskip("got10k")
    images = pytest.importorskip("PIL.Image")
    from tracking_parts import Tracker

    first, second = moving_object.frames[:2]
    tracker = Got10kTracker("fast", origin=1.0, name="ours")
    x, y, w, h = moving_object.boxes[0].xywh
    tracker.init(images.fromarray(first[:, :, ::-1]), np.array([x + 1, y + 1, w, h]))
    answer = tracker.update(images.fromarray(second[:, :, ::-1]))
    with Tracker("fast") as plain:
        plain.init(first, (x, y, w, h))
        expected = plain.update(second).box.xywh
    assert answer == pytest.approx(np.add(expected, (1, 1, 0, 0)), abs=1e-9)
    assert (tracker.name, tracker.is_deterministic) == ("ours", True)


def test_without_got10k_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integration, "ToolkitTracker", object)
    with pytest.raises(ConfigError, match=r"tracking-parts\[got10k\]"):
        Got10kTracker("fast")
