"""The paper's theory (section 3.1 and supplement 7.2–7.4) for random D, λ and weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tracking_parts.filter_parts.closed_form import (
    dual_coefficients,
    rescale_to_own_patch,
    weighted_solution_factor,
)

Matrix = NDArray[np.float64]

EXAMPLES = settings(max_examples=40)
SEEDS = st.integers(0, 10_000)
COUNTS = st.integers(2, 14)
LENGTHS = st.integers(1, 20)
RIDGES = st.floats(1e-3, 100)
WEIGHTS = st.floats(1e-3, 1e4)


def random_data(seed: int, count: int, length: int) -> Matrix:
    return np.random.default_rng(seed).normal(size=(count, length))


def ridge_solution(data: Matrix, targets: Matrix, penalty: float, weights: Matrix | None = None) -> Matrix:
    """Ridge regression as an ordinary least-squares problem with √λ I below the data: no normal equations."""
    root = np.sqrt(np.ones(len(data)) if weights is None else weights)[:, None]
    length = data.shape[1]
    augmented = np.concatenate([root * data, np.sqrt(penalty) * np.eye(length)])
    wanted = np.concatenate([root * targets, np.zeros((length, targets.shape[1]))])
    return np.asarray(np.linalg.lstsq(augmented, wanted, rcond=None)[0])


def close(actual: Matrix, expected: Matrix) -> bool:
    return bool(np.allclose(actual, expected, rtol=1e-6, atol=1e-8 * max(1.0, float(np.abs(expected).max()))))


def our_classifiers(data: Matrix, ridge: float) -> tuple[Matrix, float]:
    """C = Dᵀ A by the library, and the λ it used: its ``ridge`` counts in units of the mean energy of a patch."""
    gram = torch.from_numpy(data @ data.T)
    penalty = ridge * float(gram.diagonal().mean())
    return data.T @ dual_coefficients(gram, ridge).numpy(), penalty


@EXAMPLES
@given(SEEDS, COUNTS, LENGTHS, RIDGES)
def test_primal_is_dual(seed: int, count: int, length: int, ridge: float) -> None:
    data = random_data(seed, count, length)
    ours, penalty = our_classifiers(data, ridge)
    primal = np.linalg.solve(data.T @ data + penalty * np.eye(length), data.T)
    assert close(ours, np.asarray(primal, dtype=np.float64))


@EXAMPLES
@given(SEEDS, COUNTS, LENGTHS, RIDGES)
def test_closed_form_against_an_independent_solver(seed: int, count: int, length: int, ridge: float) -> None:
    data = random_data(seed, count, length)
    ours, penalty = our_classifiers(data, ridge)
    assert close(ours, ridge_solution(data, np.eye(count), penalty))


@EXAMPLES
@given(SEEDS, COUNTS, LENGTHS, RIDGES, WEIGHTS)
def test_weighting_the_positive_only_rescales(seed: int, count: int, length: int, ridge: float, weight: float) -> None:
    data = random_data(seed, count, length)
    ours, penalty = our_classifiers(data, ridge)
    for index in range(count):
        weights = np.ones(count)
        weights[index] = weight
        weighted = ridge_solution(data, np.eye(count)[:, index : index + 1], penalty, weights)[:, 0]
        q = weighted_solution_factor(weight, float(data[index] @ ours[:, index]))
        assert q > 0
        assert close(weighted, q * ours[:, index])


@EXAMPLES
@given(SEEDS, COUNTS, LENGTHS, RIDGES, WEIGHTS, WEIGHTS)
def test_direction_is_the_same_for_any_weight(
    seed: int, count: int, length: int, ridge: float, first: float, second: float
) -> None:
    data = random_data(seed, count, length)
    _, penalty = our_classifiers(data, ridge)
    directions = []
    for weight in (first, second):
        weights = np.ones(count)
        weights[0] = weight
        solution = ridge_solution(data, np.eye(count)[:, :1], penalty, weights)[:, 0]
        directions.append(solution / np.linalg.norm(solution))
    assert float(directions[0] @ directions[1]) == pytest.approx(1.0, abs=1e-9)


def test_weighting_a_negative_does_change_the_direction() -> None:
    """The theorem is about the positive sample; the test above could not pass for just any weight."""
    data = random_data(3, 6, 8)
    plain = ridge_solution(data, np.eye(6)[:, :1], 1.0)[:, 0]
    weighted = ridge_solution(data, np.eye(6)[:, :1], 1.0, np.array([1, 50, 1, 1, 1, 1.0]))[:, 0]
    cosine = plain @ weighted / np.linalg.norm(plain) / np.linalg.norm(weighted)
    assert float(cosine) < 0.999


@EXAMPLES
@given(SEEDS, COUNTS, LENGTHS, RIDGES)
def test_supplement_states_the_same_factor(seed: int, count: int, length: int, ridge: float) -> None:
    """Supplement 7.3 weighs the positive by n − 1 on top of its 1: q = n / (1 + (n − 1) dᵀc)."""
    data = random_data(seed, count, length)
    ours, _ = our_classifiers(data, ridge)
    own = float(data[0] @ ours[:, 0])
    supplement = count / (1 + (count - 1) * own)
    assert weighted_solution_factor(float(count), own) == pytest.approx(supplement, rel=1e-12)


@EXAMPLES
@given(SEEDS, COUNTS, LENGTHS, RIDGES)
def test_rescaled_classifiers_respond_one_on_their_own_patch(seed: int, count: int, length: int, ridge: float) -> None:
    data = random_data(seed, count, length)
    gram = torch.from_numpy(data @ data.T)
    coefficients, responses = rescale_to_own_patch(gram, dual_coefficients(gram, ridge))
    classifiers = data.T @ coefficients.numpy()
    assert np.allclose(np.diag(responses.numpy()), 1.0, rtol=0, atol=1e-12)
    assert close(data @ classifiers, responses.numpy())
    assert np.allclose(np.einsum("ik,ki->i", data, classifiers), 1.0, atol=1e-6)


@pytest.mark.parametrize("contrast", [1e-3, 1.0, 1e3])
def test_one_ridge_serves_every_contrast(contrast: float) -> None:
    """λ counts in patch energies, so the rescaled responses do not depend on how bright the features are."""
    data = random_data(5, 8, 12)
    results = []
    for scaled in (data, data * contrast):
        gram = torch.from_numpy(scaled @ scaled.T)
        results.append(rescale_to_own_patch(gram, dual_coefficients(gram, 0.5))[1].numpy())
    assert np.allclose(results[0], results[1], atol=1e-9)


def test_an_empty_patch_stays_finite() -> None:
    gram = torch.zeros(3, 3)
    coefficients, responses = rescale_to_own_patch(gram, dual_coefficients(gram, 1.0))
    assert torch.isfinite(coefficients).all()
    assert torch.isfinite(responses).all()
