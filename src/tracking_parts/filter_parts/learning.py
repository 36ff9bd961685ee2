"""Learning parts from one frame: closed form, discriminative test, cover of the box (paper, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracking_parts.config import TrackerConfig
from tracking_parts.errors import LearningError
from tracking_parts.filter_parts.closed_form import dual_coefficients, rescale_to_own_patch
from tracking_parts.filter_parts.correlation import descriptors, gram_matrix
from tracking_parts.filter_parts.patches import (
    Size,
    Tops,
    covered_cells,
    negative_tops,
    part_sizes_in_cells,
    positive_tops,
)
from tracking_parts.geometry import Box


@dataclass(frozen=True)
class Classifiers:
    """All one-versus-all classifiers of one size on one frame, before selection."""

    size: Size
    positives: Tops  # [p, 2]
    patches: Tops  # [n, 2] positives first, then negatives: the rows of D
    coefficients: Tensor  # [n, p] dual coordinates of the positives' classifiers, rescaled to 1 on the own patch
    ratio: NDArray[np.float64]  # [p] own response / largest response on a negative
    descriptors: Tensor | None = None  # D, [n, rows · columns · c], if it was formed


@dataclass(frozen=True)
class DualForm:
    """Filters by their coordinates over the patches of one frame: ``c_i = Dᵀ a_i``."""

    reference: Tensor  # [c, h, w]
    patches: Tops  # [n, 2]
    coefficients: Tensor  # [n, m]

    def keep(self, columns: NDArray[np.int64]) -> DualForm:
        """Only some filters."""
        chosen = torch.as_tensor(columns, device=self.coefficients.device)
        return replace(self, coefficients=self.coefficients[:, chosen])

    def filters(self, size: Size, matrix: Tensor | None = None) -> Tensor:
        """The filters themselves, [m, c, rows, columns], from D; without it one row of cells at a time."""
        channels, (rows, columns) = self.reference.shape[0], size
        if matrix is None:
            by_row = [
                self.coefficients.T @ descriptors(self.reference, self.patches + np.array([row, 0]), (1, columns))
                for row in range(rows)
            ]
            cells = torch.stack(by_row, dim=1)
        else:
            cells = self.coefficients.T @ matrix
        return cells.view(-1, rows, columns, channels).permute(0, 3, 1, 2).contiguous()


@dataclass(frozen=True)
class LearnedParts:
    """Selected parts of one size, learned on one frame."""

    size: Size
    tops: Tops  # [m, 2]
    filters: Tensor  # [m, c, rows, columns]
    ratio: NDArray[np.float64]  # [m]
    dual: DualForm | None = None


def learn_parts(
    features: Tensor,
    edges: NDArray[np.float32],
    box_in_map: Box,
    config: TrackerConfig,
    picture_in_map: Box | None = None,
) -> list[LearnedParts]:
    """Parts of every size from one frame's features [c, h, w] and edge density [h, w]; the smallest size first.

    A size of which no patch could be selected, because smaller ones have taken all grid points and cover the box, is
    not learned at all. Patches that lie outside the picture, if told, were not seen and are no parts.
    """
    map_size = (features.shape[1], features.shape[2])
    to_cover = box_in_map if picture_in_map is None else box_in_map.within(picture_in_map)
    classifiers: list[Classifiers] = []
    selected: list[NDArray[np.bool_]] = []
    for size in part_sizes_in_cells(config.part_sizes, box_in_map, map_size):
        positives = positive_tops(box_in_map, size, config.grid_stride, map_size, config.min_inside, picture_in_map)
        taken = _taken_points(classifiers, selected)
        if (
            taken.issuperset(_grid_points(positives, size))
            and not _bare(classifiers, selected, to_cover, map_size).any()
        ):
            continue
        classifiers.append(learn_classifiers(features, edges, box_in_map, size, config, picture_in_map))
        selected = select_discriminative(classifiers, config.t_d)
    selected = cover_box(classifiers, selected, to_cover, map_size)
    return [
        _form_filters(features, learned, _strongest(learned, chosen, config))
        for learned, chosen in zip(classifiers, selected, strict=True)
        if chosen.any()
    ]


def learn_classifiers(
    features: Tensor,
    edges: NDArray[np.float32],
    box_in_map: Box,
    size: Size,
    config: TrackerConfig,
    picture_in_map: Box | None = None,
) -> Classifiers:
    """``C = Dᵀ (D Dᵀ + λ I)⁻¹`` over the positives and hard negatives of one size, in the dual."""
    map_size = (features.shape[1], features.shape[2])
    positives = positive_tops(box_in_map, size, config.grid_stride, map_size, config.min_inside, picture_in_map)
    negatives = negative_tops(box_in_map, size, config.negative_stride, edges, config.n_negatives, MAX_NEGATIVE_INSIDE)
    patches = np.concatenate([positives, negatives])
    gram, matrix = gram_matrix(features, patches, size)
    coefficients, responses = rescale_to_own_patch(gram, dual_coefficients(gram, config.ridge))
    count = len(positives)
    worst = responses[count:, :count].amax(dim=0).cpu().numpy() if len(negatives) else np.zeros(count)
    if not np.isfinite(worst).all():
        raise LearningError(f"the classifiers of {size[0]}x{size[1]} cells are not finite")
    ratio = 1.0 / np.maximum(worst, 1e-6)  # the own response is 1
    return Classifiers(size, positives, patches, coefficients[:, :count].float(), ratio, matrix)


MAX_NEGATIVE_INSIDE = 0.1  # a negative may touch the box by this share of its area, or tall objects would have none


def select_discriminative(classifiers: list[Classifiers], t_d: float) -> list[NDArray[np.bool_]]:
    """Which classifiers become parts: smaller sizes first, each grid point taken once, ratio above t_d."""
    taken: set[tuple[int, int]] = set()
    selected: list[NDArray[np.bool_]] = []
    for learned in classifiers:
        chosen = np.zeros(len(learned.positives), dtype=bool)
        for index, point in enumerate(_grid_points(learned.positives, learned.size)):
            if point not in taken and learned.ratio[index] > t_d:
                taken.add(point)
                chosen[index] = True
        selected.append(chosen)
    return selected


def cover_box(
    classifiers: list[Classifiers], selected: list[NDArray[np.bool_]], box_in_map: Box, map_size: Size
) -> list[NDArray[np.bool_]]:
    """Add the most discriminative patches that cover what the selected ones leave bare, until the box is covered."""
    selected = [chosen.copy() for chosen in selected]
    bare = _bare(classifiers, selected, box_in_map, map_size)
    if not bare.any():
        return selected
    covers = [covered_cells(learned.positives, learned.size, map_size) for learned in classifiers]
    while bare.any():
        best: tuple[float, int, int] | None = None
        for which, (learned, cover) in enumerate(zip(classifiers, covers, strict=True)):
            useful = (cover & bare).any(axis=(1, 2)) & ~selected[which]
            if useful.any():
                index = int(np.argmax(np.where(useful, learned.ratio, -1.0)))
                if best is None or learned.ratio[index] > best[0]:
                    best = (float(learned.ratio[index]), which, index)
        if best is None:  # no patch reaches the rest, e.g. at the border of the map
            break
        selected[best[1]][best[2]] = True
        bare &= ~covers[best[1]][best[2]]
    return selected


def _grid_points(tops: Tops, size: Size) -> list[tuple[int, int]]:
    """Patch centres rounded down to whole cells: patches of odd and even size at one grid point share it."""
    half = np.array([(size[0] - 1) // 2, (size[1] - 1) // 2])
    return [(int(row), int(column)) for row, column in tops + half]


def _taken_points(classifiers: list[Classifiers], selected: list[NDArray[np.bool_]]) -> set[tuple[int, int]]:
    """Grid points at which a part was selected."""
    pairs = zip(classifiers, selected, strict=True)
    return {point for one, chosen in pairs for point in _grid_points(one.positives[chosen], one.size)}


def _bare(
    classifiers: list[Classifiers], selected: list[NDArray[np.bool_]], box_in_map: Box, map_size: Size
) -> NDArray[np.bool_]:
    """Cells of the box that no selected patch covers, of the whole map."""
    bare = _box_cells(box_in_map, map_size)
    for learned, chosen in zip(classifiers, selected, strict=True):
        bare &= ~covered_cells(learned.positives[chosen], learned.size, map_size).any(axis=0)
    return bare


def _box_cells(box_in_map: Box, map_size: Size) -> NDArray[np.bool_]:
    """Cells whose centre lies in the box."""
    rows, columns = (np.arange(length) for length in map_size)
    in_rows = (rows >= box_in_map.y) & (rows <= box_in_map.y + box_in_map.h)
    in_columns = (columns >= box_in_map.x) & (columns <= box_in_map.x + box_in_map.w)
    return np.asarray(in_rows[:, None] & in_columns[None, :])


def _strongest(learned: Classifiers, chosen: NDArray[np.bool_], config: TrackerConfig) -> NDArray[np.int64]:
    """Indices of the chosen classifiers, the most discriminative ones if there are too many."""
    indices = np.flatnonzero(chosen)
    order = np.argsort(-learned.ratio[indices], kind="stable")[: config.max_parts_per_learning]
    return np.sort(indices[order])


def _form_filters(features: Tensor, learned: Classifiers, chosen: NDArray[np.int64]) -> LearnedParts:
    """``c_i = Dᵀ a_i`` for the selected parts only."""
    dual = DualForm(features, learned.patches, learned.coefficients).keep(chosen)
    filters = dual.filters(learned.size, learned.descriptors)
    return LearnedParts(learned.size, learned.positives[chosen], filters, learned.ratio[chosen], dual)
