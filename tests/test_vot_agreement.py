"""VOT's own toolkit and we say the same of the same trajectories.

The toolkit (0.7.4) differs from us in three known ways, each of which is pinned here:

* its overlap counts pixels after rounding to whole ones; fed with its overlaps, our measures give its figures;
* entry ``n`` of its EAO curve averages ``n`` tracked frames, ours ``n`` frames with the one of the start: its interval
  ``low … high`` is our ``low + 1 … high + 1``;
* its R weighs the sequences' failures by their lengths.
"""

from __future__ import annotations

import csv
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from synthetic import moving_boxes, render_sequence
from tracking_parts.evaluation import measures
from tracking_parts.evaluation.experiment import read_frame, size_of
from tracking_parts.evaluation.measures import SequenceScore
from tracking_parts.evaluation.protocol import ResetProtocol, load_protocol
from tracking_parts.evaluation.reset import run_reset, score_trajectory
from tracking_parts.evaluation.trackers import choose_tracker
from tracking_parts.evaluation.trajectory import Code, Trajectory, read_trajectory
from tracking_parts.geometry import Box, Polygon
from tracking_parts.integrations.vot_workspace import init_workspace
from tracking_parts.io.sequences import Sequence, find_sequences, read_ground_truth
from vot_toolkit import ROOT, ToolkitFigures, analyse, run_vot, toolkit_overlaps, toolkit_python, write_toolkit_sequence

pytestmark = pytest.mark.timeout(900)  # the toolkit compiles its overlap when it is first used

EAO_INTERVAL = (4, 12)  # lengths that the short sequences below reach
PROTOCOL = f"kind: reset\nname: short\nskip: 5\nburn_in: 4\neao_interval: [{EAO_INTERVAL[0]}, {EAO_INTERVAL[1]}]\n"


@dataclass(frozen=True)
class ToolkitRun:
    """One tracker's results in a workspace, and what the toolkit says of them."""

    trajectories: list[Trajectory]
    sequences: list[Sequence]
    figures: ToolkitFigures
    overlaps: list[list[float]]

    @property
    def scores(self) -> list[SequenceScore]:
        """Our view of the trajectories, with the toolkit's overlaps."""
        return [
            score_with(trajectory, overlaps)
            for trajectory, overlaps in zip(self.trajectories, self.overlaps, strict=True)
        ]

    def first(self, count: int) -> ToolkitRun:
        """Only the first sequences, as far as trajectories and overlaps go."""
        return replace(
            self,
            trajectories=self.trajectories[:count],
            sequences=self.sequences[:count],
            overlaps=self.overlaps[:count],
        )

    @property
    def lengths(self) -> list[int]:
        return [len(trajectory) for trajectory in self.trajectories]


def score_with(trajectory: Trajectory, overlaps: list[float]) -> SequenceScore:
    compared = [
        math.nan if isinstance(region, Code) else overlap
        for region, overlap in zip(trajectory.regions, overlaps, strict=True)
    ]
    return SequenceScore(np.array(compared), trajectory.starts, trajectory.failures)


def read_run(workspace: Path, tracker: str, sequences: list[Sequence]) -> ToolkitRun:
    results = workspace / "results" / tracker / "baseline"
    trajectories = [read_trajectory(results / one.name / f"{one.name}_001.txt") for one in sequences]
    told = toolkit_overlaps(workspace, tracker)
    return ToolkitRun(trajectories, sequences, analyse(workspace, tracker), [told[one.name] for one in sequences])


def slanted(box: Box) -> Polygon:
    """A slanted parallelogram of about the box's size, with coordinates that four decimals write exactly."""
    left, top, right, bottom = box.xyxy
    return ((left + 4, top - 2), (right + 2, top + 4), (right - 4, bottom + 2), (left - 2, bottom - 4))


def write_short_sequences(folder: Path) -> None:
    """One object that jumps, upright, so that the tracker fails once; one with a slanted ground truth."""
    jumping = [*moving_boxes(18), *moving_boxes(17, start=Box(95, 20, 32, 28), step=(-1.0, 0.5))]
    write_toolkit_sequence(folder / "jumping", render_sequence(jumping, (160, 96)))
    moving = render_sequence(moving_boxes(25, step=(1.0, 0.5)), (128, 96), seed=3)
    write_toolkit_sequence(folder / "slanted", moving, [slanted(box) for box in moving.boxes])
    (folder / "list.txt").write_text("jumping\nslanted\n", encoding="utf-8")


def add_real_sequence(folder: Path, shared: Path) -> None:
    """A short real one beside them, where it is at hand: 41 frames of a small and fast ball."""
    real = shared / "vot2016-20" / "ball2"
    if real.is_dir():
        (folder / "ball2").symlink_to(real.resolve())
        (folder / "list.txt").write_text("jumping\nslanted\nball2\n", encoding="utf-8")


def make_workspace(folder: Path, data: Path, protocol: str | None = None) -> Path:
    if protocol is not None:
        folder.mkdir()
        (folder / "short.yaml").write_text(protocol, encoding="utf-8")
    rules = str(folder / "short.yaml") if protocol is not None else "vot2016"
    report = init_workspace(folder, arguments=["--profile", "fast", "--threads", "1"], data=data, protocol=rules)
    assert report.missing == ()
    return folder


@pytest.fixture(scope="module")
def short_run(tmp_path_factory: pytest.TempPathFactory) -> ToolkitRun:
    """The real tracker, run by the real toolkit over TraX, and analysed by it."""
    toolkit_python()
    pytest.importorskip("trax")
    base = tmp_path_factory.mktemp("short")
    write_short_sequences(base / "data")
    add_real_sequence(base / "data", Path(os.environ.get("STP_DATA") or ROOT.parent / "shared"))
    workspace = make_workspace(base / "workspace", base / "data", PROTOCOL)
    said = run_vot("evaluate", "--workspace", str(workspace), "stp")
    assert "Evaluation concluded successfuly" in said, said
    return read_run(workspace, "stp", find_sequences(base / "data"))


def assert_agreement(run: ToolkitRun, interval: tuple[int, int], burn_in: int) -> None:
    """Accuracy and failures exactly, EAO with the interval one frame later, up to the toolkit's single precision."""
    scores, figures = run.scores, run.figures
    assert [len(score.failures) for score in scores] == figures.sequence_failures
    assert [measures.accuracy([score], burn_in) for score in scores] == pytest.approx(
        figures.sequence_accuracy, abs=1e-12
    )
    assert measures.accuracy(scores, burn_in) == pytest.approx(figures.accuracy, abs=1e-12)
    failures = [len(score.failures) for score in scores]
    assert np.average(failures, weights=run.lengths) == pytest.approx(figures.robustness, abs=1e-12)
    later = (interval[0] + 1, interval[1] + 1)
    assert measures.expected_average_overlap(scores, later) == pytest.approx(figures.eao, abs=1e-6)
    assert measures.expected_average_overlap(scores, interval) != pytest.approx(figures.eao, abs=1e-6)


def test_measures_of_a_run_by_the_toolkit(short_run: ToolkitRun) -> None:
    assert sum(short_run.figures.sequence_failures) >= 1  # else there would be little to agree on
    assert_agreement(short_run, EAO_INTERVAL, burn_in=4)


def test_exact_overlap_is_near_the_toolkits(short_run: ToolkitRun) -> None:
    """Objects of 30 pixels: counting whole ones moves an overlap by about a tenth at most, and little on average."""
    synthetic = short_run.first(2)
    for trajectory, sequence, overlaps in zip(
        synthetic.trajectories, synthetic.sequences, synthetic.overlaps, strict=True
    ):
        exact = score_trajectory(trajectory, sequence, size_of(read_frame(sequence, 0))).overlaps
        counted = score_with(trajectory, overlaps).overlaps
        assert np.nanmax(np.abs(exact - counted)) < 0.13  # a pixel along both sides: 2 of 30 twice
        assert abs(np.nanmean(exact) - np.nanmean(counted)) < 0.05


def test_our_own_experiment_gives_the_same_trajectories(short_run: ToolkitRun) -> None:
    """TraX, the toolkit's restarts and its files on one side, our runner on the other.

    On large objects: where a tiny one is just missed, pixels and exact areas may disagree about the failure.
    """
    synthetic = short_run.first(2)
    choice = choose_tracker("stp:fast")
    protocol = ResetProtocol("short", EAO_INTERVAL, burn_in=4)
    try:
        ours = [run_reset(choice.factory, sequence, protocol) for sequence in synthetic.sequences]
    finally:
        choice.close()
    for theirs, mine in zip(synthetic.trajectories, ours, strict=True):
        assert (theirs.starts, theirs.failures) == (mine.starts, mine.failures)
        for one, other in zip(theirs.regions, mine.regions, strict=True):
            assert isinstance(one, Code) == isinstance(other, Code)
            if not isinstance(one, Code):
                assert np.allclose(one, np.array(other), atol=0.01)


def test_confidence_is_kept_by_the_toolkit(short_run: ToolkitRun) -> None:
    for trajectory in short_run.trajectories:
        told = [trajectory.values["confidence"][index] for index, one in enumerate(trajectory.regions) if one != 0]
        assert len(trajectory.values["confidence"]) == len(trajectory)
        assert all(0 <= value <= 1 for value in told if not math.isnan(value))
        assert sum(math.isnan(value) for value in told) <= len(trajectory.starts)


@pytest.fixture(scope="module")
def published_run(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> ToolkitRun:
    """ECO's raw results on VOT2016 in a workspace without images: the toolkit needs only their size."""
    toolkit_python()
    raw, truth = shared_data / "oracle" / "eco-vot2016", shared_data / "groundtruth" / "vot2016"
    if not raw.is_dir():
        pytest.skip(f"no raw results at {raw}")
    base = tmp_path_factory.mktemp("published")
    workspace, data = base / "workspace", base / "data"
    with (Path(__file__).parent / "data" / "vot2016_image_sizes.csv").open(encoding="utf-8") as file:
        sizes = {row["sequence"]: (row["width"], row["height"]) for row in csv.DictReader(file)}
    sequences = []
    for name, (width, height) in sorted(sizes.items()):
        regions = (truth / f"{name}.txt").read_text(encoding="utf-8")
        result = workspace / "results" / "stp" / "baseline" / name / f"{name}_001.txt"
        for path, text in (
            (data / name / "groundtruth.txt", regions),
            (data / name / "sequence", f"width={width}\nheight={height}\nlength={len(regions.splitlines())}\n"),
            (result, (raw / f"{name}.txt").read_text(encoding="utf-8")),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        sequences.append(Sequence(name, [], read_ground_truth(truth / f"{name}.txt"), {}))
    (data / "list.txt").write_text("\n".join(sizes) + "\n", encoding="utf-8")
    make_workspace(workspace, data)
    return read_run(workspace, "stp", sequences)


def test_measures_of_published_results(published_run: ToolkitRun) -> None:
    protocol = load_protocol("vot2016")
    assert isinstance(protocol, ResetProtocol)
    assert len(published_run.trajectories) == 60
    assert sum(published_run.figures.sequence_failures) == 43
    assert_agreement(published_run, protocol.eao_interval, protocol.burn_in)


def test_what_counting_pixels_does_to_published_figures(published_run: ToolkitRun) -> None:
    """The table in docs/integrations.md: exact overlap against the toolkit's, all else equal."""
    with (Path(__file__).parent / "data" / "vot2016_image_sizes.csv").open(encoding="utf-8") as file:
        sizes = {row["sequence"]: (int(row["width"]), int(row["height"])) for row in csv.DictReader(file)}
    exact = [
        score_trajectory(trajectory, sequence, sizes[sequence.name])
        for trajectory, sequence in zip(published_run.trajectories, published_run.sequences, strict=True)
    ]
    counted = published_run.scores
    differences = np.concatenate([one.overlaps - other.overlaps for one, other in zip(exact, counted, strict=True)])
    assert np.nanmean(differences) == pytest.approx(-0.0032, abs=5e-4)
    assert np.nanpercentile(np.abs(differences), [50, 95, 100]) == pytest.approx([0.006, 0.032, 0.135], abs=1e-3)
    assert measures.accuracy(exact) == pytest.approx(0.5470, abs=1e-4)
    assert measures.accuracy(counted) == pytest.approx(0.5501, abs=1e-4)
    assert measures.expected_average_overlap(exact, (108, 371)) == pytest.approx(0.3714, abs=1e-4)
    assert measures.expected_average_overlap(exact, (109, 372)) == pytest.approx(0.3706, abs=1e-4)
    assert measures.expected_average_overlap(counted, (109, 372)) == pytest.approx(0.3731, abs=1e-4)
