"""The box from the parts that agreed (paper, supplement 7.1): least squares between expected and actual part positions.

Each part that voted for the chosen centre has an expected position relative to it, its offset, and an actual one,
where it responded most. The match gives a linear map of the offsets: affine as in the paper, a similarity, or a
change of scale alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracking_parts.config import TrackerConfig
from tracking_parts.geometry import Box, Point, Polygon

Matrix = NDArray[np.float64]  # [2, 2], acts on (x, y)
Points = NDArray[np.floating]  # [n, 2]

MIN_PARTS = {"affine": 6, "similarity": 4, "scale": 3}
ROBUST_ROUNDS = 3
PRIOR_PARTS = 2.0  # the identity weighs as much as so many parts: settles collinear and sparse layouts


def fit_linear(expected: Points, actual: Points, model: str) -> Matrix:
    """The linear map, ``actual ≈ map · expected + shift``, robust; the identity where parts are too few or nowhere."""
    if model == "fixed" or len(expected) < MIN_PARTS[model]:
        return np.eye(2)
    expected, actual = np.asarray(expected, dtype=float), np.asarray(actual, dtype=float)
    if not (np.isfinite(expected).all() and np.isfinite(actual).all()):
        return np.eye(2)
    weights: NDArray[np.float64] = np.ones(len(expected))
    linear = np.eye(2)
    for _ in range(ROBUST_ROUNDS):
        share = weights / weights.sum()
        source, target = expected - share @ expected, actual - share @ actual
        linear = _FITS[model](source, target, weights)
        missed = target - source @ linear.T
        weights = _huber_weights(np.sqrt(np.einsum("ij,ij->i", missed, missed)))
    return linear


def _fit_affine(source: Points, target: Points, weights: NDArray[np.float64]) -> Matrix:
    """Weighted least squares with a prior at the identity, so that it is defined for collinear parts too."""
    spread = float((weights[:, None] * source**2).sum() / weights.sum()) / 2
    prior = PRIOR_PARTS * max(spread, 1e-6) * np.eye(2)
    normal = (weights[:, None] * source).T @ source + prior
    mixed = (weights[:, None] * source).T @ target + prior
    return np.asarray(np.linalg.solve(normal, mixed).T)


def _fit_similarity(source: Points, target: Points, weights: NDArray[np.float64]) -> Matrix:
    """Scale and rotation: one complex number."""
    a, b = source[:, 0] + 1j * source[:, 1], target[:, 0] + 1j * target[:, 1]
    energy = float((weights * np.abs(a) ** 2).sum())
    prior = PRIOR_PARTS * max(energy / weights.sum(), 1e-6)
    factor = ((weights * np.conj(a) * b).sum() + prior) / (energy + prior)
    return np.array([[factor.real, -factor.imag], [factor.imag, factor.real]])


def _fit_scale(source: Points, target: Points, weights: NDArray[np.float64]) -> Matrix:
    energy = float(np.einsum("i,ij,ij->", weights, source, source))
    prior = PRIOR_PARTS * max(energy / float(weights.sum()), 1e-6)
    factor = (float(np.einsum("i,ij,ij->", weights, source, target)) + prior) / (energy + prior)
    return np.array([[factor, 0.0], [0.0, factor]])


_FITS = {"affine": _fit_affine, "similarity": _fit_similarity, "scale": _fit_scale}


def _huber_weights(residuals: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 for residuals up to the usual spread, falling as its inverse beyond."""
    middle = np.partition(residuals, len(residuals) // 2)[len(residuals) // 2]
    spread = max(1.4826 * float(middle), 0.1)  # cells; below this all parts are equally good
    return np.asarray(np.minimum(1.0, spread / np.maximum(residuals, 1e-9)))


@dataclass(frozen=True)
class Shape:
    """How the object's outline differs from the first box: a scale for the crop, and a linear map on top of it.

    ``stretch`` is how a person's correction changed the first box's sides beside its scale: the crops keep their sides.
    ``lean`` is how much wider and lower it has become since by its colours: of the same area, but of other sides.
    """

    first_width: float
    first_height: float
    scale: float = 1.0
    linear: tuple[tuple[float, float], tuple[float, float]] = ((1.0, 0.0), (0.0, 1.0))
    stretch: tuple[float, float] = (1.0, 1.0)  # of width and height
    lean: float = 0.0  # logarithm of width by height, against the above

    def polygon(self, centre: Point, times: float = 1.0) -> Polygon:
        """Corners in the image, clockwise from the top left of the first box; of an outline so many times as large."""
        corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) * self._outline
        moved = times * self.scale * corners @ np.array(self.linear).T + np.array(centre)
        first, second, third, fourth = ((float(x), float(y)) for x, y in moved)
        return (first, second, third, fourth)

    def box(self, centre: Point) -> Box:
        return Box.around(self.polygon(centre))

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the unrotated outline, in image pixels."""
        width, height = self._outline
        return (width * self.scale, height * self.scale)

    @property
    def _outline(self) -> tuple[float, float]:
        wider = math.exp(self.lean / 2)
        return (self.first_width * self.stretch[0] * wider, self.first_height * self.stretch[1] / wider)

    def corrected(self, width: float, height: float, config: TrackerConfig) -> Shape:
        """An upright outline of this size, as a person says that it is."""
        ratio = math.sqrt((width * height) / (self.first_width * self.first_height))
        scale = _between(ratio, 1 / config.max_box_change, config.max_box_change)
        stretch = (width / (self.first_width * scale), height / (self.first_height * scale))
        return Shape(self.first_width, self.first_height, scale, stretch=stretch)

    def resized(self, growth: float, config: TrackerConfig) -> Shape:
        """The same outline, so many times as large."""
        return replace(self, scale=_between(self.scale * growth, 1 / config.max_box_change, config.max_box_change))

    def leaning(self, pull: float, config: TrackerConfig) -> Shape:
        """Drawn by a frame's colours (:meth:`ColourPart.lean`), and back to the sides that are known."""
        step = _between(config.lean_gain * pull - config.lean_return * self.lean, -MAX_LEAN_STEP, MAX_LEAN_STEP)
        return replace(self, lean=_between(self.lean + step, -MAX_LEAN, MAX_LEAN))

    def moved_by(self, fitted: Matrix, config: TrackerConfig) -> Shape:
        """The shape after one frame's fit: damped, and bounded per frame and in all.

        A change of scale is measured against the crop, which already has the present scale, so it accumulates.
        Rotation and shear are measured against the parts as they were learned, so the fitted map itself is followed.
        """
        determinant = _determinant(fitted)
        growth = math.sqrt(max(determinant, 1e-6))
        if not determinant > 1e-6 or not _stretch(fitted / growth) <= MAX_STRETCH:
            return self  # a reflection, a collapse, a wild shear or no number at all: no outline does that
        step = _between(1 + config.box_damping * (growth - 1), 1 - config.max_box_step, 1 + config.max_box_step)
        scale = _between(self.scale * step, 1 / config.max_box_change, config.max_box_change)
        present = np.array(self.linear)
        turn = config.box_damping * (fitted / growth - present)
        linear = present + turn * min(1.0, config.max_box_step / max(_stretch(turn), 1e-9))
        if _determinant(linear) < MIN_DETERMINANT:
            return self  # halfway to the opposite side everything is one point, from which no part could be placed
        (a, b), (c, d) = linear.tolist()
        return replace(self, scale=scale, linear=((a, b), (c, d)))


def _determinant(matrix: Matrix) -> float:
    (a, b), (c, d) = matrix.tolist()
    return float(a * d - b * c)


def _stretch(matrix: Matrix) -> float:
    """The largest singular value: by how much the matrix lengthens what it lengthens most."""
    energy = float(np.vdot(matrix, matrix))
    return math.sqrt((energy + math.sqrt(max(energy**2 - 4 * _determinant(matrix) ** 2, 0.0))) / 2)


def _between(value: float, low: float, high: float) -> float:
    return max(low, min(high, value))


MAX_LEAN_STEP = 0.08  # of the logarithm of width by height, per frame
MAX_LEAN = 1.4  # in all: some two times as wide and half as high
MIN_DETERMINANT = 0.05  # of rotation and shear alone, 1 where nothing is squeezed
MAX_STRETCH = 2.0  # of rotation and shear alone: beyond it a fit is not believed
