"""The numeric functions of both pathways, one by one, on another device: their results stay there, unread.

No GPU was ever used for these tests. A pretended device (:mod:`fake_device`) has the values, keeps tensors apart and
counts who waits for it; torch's own ``meta`` device has shapes and no values, and there torch itself judges what may be
mixed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from core_helpers import random_weights, small_config, smooth_features, training_frame
from fake_device import CPU, FAR, FakeDevice, FarTensor
from tracking_parts.convnet_part import build_pathway
from tracking_parts.convnet_part.linear import ConjugateGradient, scores_adjoint, sliding_scores
from tracking_parts.convnet_part.net import CentreHead
from tracking_parts.features import Projection, TorchTrunk, normalise_cells
from tracking_parts.filter_parts.bank import PartBank
from tracking_parts.filter_parts.closed_form import dual_coefficients, rescale_to_own_patch
from tracking_parts.filter_parts.composite import CompositeFilter
from tracking_parts.filter_parts.correlation import correlate, descriptors, gram_matrix, responses_of_patches
from tracking_parts.filter_parts.learning import DualForm, learn_classifiers
from tracking_parts.filter_parts.society import FilterParts
from tracking_parts.geometry import Box
from tracking_parts.roles import Role
from tracking_parts.voting import Loudness, combine, smooth, uncertainty_mask

META = torch.device("meta")
BOX = Box(5.3, 6.2, 8.0, 7.0)
TOPS = np.array([[0, 1], [3, 4], [5, 5], [9, 2]])
FEATURES = smooth_features(0)  # [12, 20, 20]
EDGES = np.asarray(np.random.default_rng(0).random((20, 20)), np.float32)

Function = Callable[[torch.device], Tensor]


def parts_on(where: torch.device) -> FilterParts:
    """Parts learned on the CPU and brought to a device, as from a file."""
    parts = FilterParts(small_config())
    parts.learn(FEATURES, EDGES, BOX, Role.RELIABLE)
    moved = FilterParts(small_config())
    banks = [PartBank(**{**vars(bank), "filters": bank.filters.to(where)}) for bank in parts.banks]
    moved.restore(banks, parts.next_id)
    return moved


def trunk(where: torch.device) -> Tensor:
    rgb = torch.linspace(0, 1, 2 * 3 * 32 * 32).view(2, 3, 32, 32).to(where)
    return TorchTrunk(random_weights(), ("conv2_1", "conv3_1"), where)(rgb)["conv3_1"]


def projected(where: torch.device) -> Tensor:
    projection = Projection.fit(FEATURES[None], 5, 0.5)
    return Projection(projection.mean.to(where), projection.axes.to(where), 0.5)(FEATURES.to(where))


def part_votes(where: torch.device) -> Tensor:
    """What :meth:`FilterParts.hear` computes before it fetches it."""
    return torch.cat([maps.flatten() for maps in parts_on(where)._responses(FEATURES.to(where))])


def solved(where: torch.device) -> Tensor:
    matrix = (FEATURES[0] @ FEATURES[0].T + torch.eye(20)).to(where)
    start = torch.zeros(20, device=where)
    solver = ConjugateGradient(lambda x: matrix @ x, FEATURES[1, 0].to(where), start)
    for _ in range(3):
        solver.step()
    return solver.x


def trained(convnet: str) -> Function:
    """What a pathway has learned after the first pieces of a training."""

    def train(where: torch.device) -> Tensor:
        config = small_config(convnet=convnet, first_steps=4, epochs=1)
        pathway = build_pathway(config, random_weights(), 12, where, 0)
        first = [training_frame(smooth_features(seed).to(where), (9.0, 11.0), seed) for seed in range(3)]
        *_, last = pathway.training(first[:2], first[2:], is_first=True)
        return last.loss

    return train


def head(where: torch.device) -> Tensor:
    torch.manual_seed(0)
    centre_map: Tensor = CentreHead(12).to(where)(FEATURES.to(where)[None])
    return centre_map.detach()


def dual_filters(where: torch.device) -> Tensor:
    coefficients = torch.linspace(-1, 1, 4 * 3).view(4, 3).to(where)
    return DualForm(FEATURES.to(where), TOPS, coefficients).keep(np.array([0, 2])).filters((5, 5))


def rescaled(where: torch.device) -> Tensor:
    gram = FEATURES.to(where).flatten(1) @ FEATURES.to(where).flatten(1).T
    return rescale_to_own_patch(gram, gram.double())[1]


STAYING: dict[str, Function] = {  # wait for nobody
    "trunk": trunk,
    "cells": lambda where: normalise_cells(FEATURES.to(where), 0.5),
    "projection": projected,
    "correlation": lambda where: correlate(FEATURES.to(where), FEATURES.to(where)[None, :, :3, :4]),
    "descriptors": lambda where: descriptors(FEATURES.to(where), TOPS, (3, 3)),
    "patches": lambda where: responses_of_patches(FEATURES.to(where), FEATURES.to(where), TOPS, (3, 3)),
    "Gram matrix": lambda where: gram_matrix(FEATURES.to(where), TOPS, (3, 3))[0],
    "Gram matrix of many": lambda where: gram_matrix(FEATURES.to(where)[:2], np.tile(TOPS, (300, 1)), (5, 5))[0],
    "rescaling": rescaled,
    "filters": dual_filters,
    "composite filter": lambda where: CompositeFilter.of_voters(parts_on(where).banks).weights,  # type: ignore[union-attr]
    "votes": lambda where: parts_on(where).vote(FEATURES.to(where)),
    "parts' votes": part_votes,
    "smoothing": lambda where: smooth(FEATURES.to(where)[0], 0.7),
    "scores": lambda where: sliding_scores(FEATURES.to(where)[None], FEATURES.to(where)[:, :3, :5]),
    "adjoint": lambda where: scores_adjoint(FEATURES.to(where)[None], FEATURES.to(where)[:1], (3, 5)),
    "conjugate gradient": solved,
    "linear training": trained("linear"),
    "training of the last layers": trained("frozen_trunk"),
    "last layers": head,
}
WAITING: dict[str, tuple[int, Function]] = {  # and how often each waits
    "axes": (2, lambda where: Projection.fit(FEATURES.to(where)[None], 5, 0.5).axes),
    "coefficients": (2, lambda where: dual_coefficients(torch.eye(6, device=where), 0.1)),
    "classifiers": (
        3,
        lambda where: learn_classifiers(FEATURES.to(where), EDGES, BOX, (3, 3), small_config()).coefficients,
    ),
}


def check_on_the_device(function: Function, waits: int) -> None:
    expected = function(CPU)
    with FakeDevice() as device:
        found = function(FAR)
        assert isinstance(found, FarTensor)
        assert device.waits.total() == waits, device.waits
    assert torch.allclose(found.near, expected, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("name", STAYING)
def test_what_is_computed_on_the_device_stays_there(name: str) -> None:
    check_on_the_device(STAYING[name], waits=0)


@pytest.mark.parametrize("name", WAITING)
def test_what_must_wait_waits_as_often_as_it_says(name: str) -> None:
    waits, function = WAITING[name]
    check_on_the_device(function, waits)


def test_the_decision_is_taken_on_the_host_and_waits_once() -> None:
    mask = uncertainty_mask((20, 20), (8, 9), 3, 2, 0)
    expected = combine(FEATURES[0], FEATURES[1], 0.6, mask, Loudness())
    with FakeDevice() as device:
        found = combine(FEATURES.to(FAR)[0], FEATURES.to(FAR)[1], 0.6, mask, Loudness())
        assert device.waits.total() == 1, device.waits
    assert np.allclose(found.vote_map, expected.vote_map, atol=1e-6)
    assert found.centre == pytest.approx(expected.centre, abs=1e-4)


@pytest.mark.parametrize("name", STAYING)
def test_torch_itself_finds_all_tensors_on_one_device(name: str) -> None:
    """On ``meta`` there are no values: whatever read one, or mixed devices, would raise."""
    found, expected = STAYING[name](META), STAYING[name](CPU)
    assert found.is_meta
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
