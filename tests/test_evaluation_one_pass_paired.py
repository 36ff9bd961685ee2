"""Paired tests by the figures of the one-pass evaluation."""

from __future__ import annotations

import numpy as np
import pytest

from tracking_parts.errors import FormatError
from tracking_parts.evaluation.one_pass_measures import OnePassScore
from tracking_parts.evaluation.one_pass_paired import one_pass_paired_test


def score(overlap: float, distance: float, frames: int = 10) -> OnePassScore:
    """The same in every frame."""
    return OnePassScore(np.full(frames, overlap), np.full(frames, distance), np.full(frames, distance / 100))


def test_differences_by_hand() -> None:
    """AUC: a frame of overlap 0.52 is above 11 of 21 thresholds, one of 0.27 above 6."""
    first = {name: [score(0.52, 5.0)] for name in "abc"}
    second = {"a": [score(0.27, 30.0)], "b": [score(0.52, 5.0), score(0.52, 30.0)], "c": [score(0.52, 30.0)]}
    test = one_pass_paired_test(first, second)
    assert test.sequences == ("a", "b", "c")
    assert [test.auc.first, test.auc.second] == pytest.approx([11 / 21, (6 + 11 + 11) / 63])
    assert test.auc.p == 1.0, "only one sequence differs: every swap gives a difference as large"
    # Within 20 pixels: 1, 1, 1 against 0, 1/2 (the mean of two runs), 0.
    assert test.precision.difference.value == pytest.approx(1 - 1 / 6)
    assert test.precision.p == 2 / 8, "all signs equal, of 1, 1/2 and 1"
    assert [test.precision.difference.low, test.precision.difference.high] == pytest.approx([0.5, 1.0])
    # 46 of 51 thresholds against 21.
    assert test.normalised_precision.first == pytest.approx(46 / 51)
    wide = one_pass_paired_test(first, second, precision_pixels=30.0)
    assert (wide.precision.difference.value, wide.precision.p) == (0.0, 1.0)


def test_only_the_same_sequences_are_paired() -> None:
    with pytest.raises(FormatError, match="only one of them on b"):
        one_pass_paired_test({"a": [score(1, 0)]}, {"a": [score(1, 0)], "b": [score(1, 0)]})
    with pytest.raises(FormatError, match="different numbers of frames on a"):
        one_pass_paired_test({"a": [score(1, 0)]}, {"a": [score(1, 0, frames=9)]})
