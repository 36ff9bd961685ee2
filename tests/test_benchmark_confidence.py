"""The fit and the calibration error on figures whose truth is known, and the whole command on small sequences."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.confidence import Samples, calibration_error, fit_logistic, left_out, logistic, main
from core_helpers import SMALL, real_weights
from synthetic import moving_boxes, render_sequence, write_vot_folder

WEIGHTS = np.array([-1.0, 3.0, -2.0, 0.0, 1.0])


def drawn(count: int, seed: int = 0) -> Samples:
    random = np.random.default_rng(seed)
    terms = np.column_stack([np.ones(count), random.uniform(0, 1, (count, 4))])
    chance = logistic(terms @ WEIGHTS)
    good = (random.uniform(size=count) < chance).astype(float)
    return Samples(terms, chance, good, np.arange(count) % 7, np.zeros(count, bool))


def test_the_fit_finds_the_weights_that_drew_the_figures() -> None:
    samples = drawn(40_000)
    assert fit_logistic(samples.terms, samples.good, ridge=0.0) == pytest.approx(WEIGHTS, abs=0.15)


def test_what_is_true_is_calibrated_and_what_is_not_is_not() -> None:
    samples = drawn(40_000)
    assert calibration_error(samples.said, samples.good) < 0.015
    assert calibration_error(np.ones(40_000), samples.good) == pytest.approx(1 - samples.good.mean(), abs=1e-6)
    assert calibration_error(left_out(samples), samples.good) < 0.03


def test_a_sequence_is_not_judged_by_itself() -> None:
    """Of one sequence the opposite is true: whoever had seen it would say so."""
    samples = drawn(4_000)
    odd = samples.sequence == 3
    good = np.where(odd, 1.0 - (samples.said > 0.5), samples.said > 0.5)
    said = left_out(Samples(samples.terms, samples.said, good, samples.sequence, samples.away))
    assert np.corrcoef(said[odd], good[odd])[0, 1] < -0.3
    assert np.corrcoef(said[~odd], good[~odd])[0, 1] > 0.3


@pytest.mark.network
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real_weights()  # skips where there are none
    for seed in (0, 1):
        write_vot_folder(tmp_path / "data" / f"moving{seed}", render_sequence(moving_boxes(16), seed=seed))
    small = [f"--set={name}={json.dumps(value)}" for name, value in SMALL.items() if not isinstance(value, str)]
    main(["--data", str(tmp_path / "data"), "--threads=1", f"--out={tmp_path / 'samples.json'}", *small])
    told = capsys.readouterr().out
    assert "46 frames, 16 of them of another scene" in told
    assert "weights fitted on all: (" in told
    content = json.loads((tmp_path / "samples.json").read_text())
    away, said = np.array(content["away"]), np.array(content["said"])
    assert said[~away].mean() > said[away].mean() + 0.3
