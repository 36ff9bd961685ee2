"""One-versus-all ridge classifiers for all patches at once (paper, section 3.1 and supplement 7.3–7.4).

With one patch descriptor per row of D, the classifier of patch i is column i of ``C = Dᵀ (D Dᵀ + λ I)⁻¹``. Everything
here needs only the Gram matrix ``G = D Dᵀ``: the columns of ``A = (G + λ I)⁻¹`` are the classifiers' coordinates over
the patches, ``C = Dᵀ A``, and ``G A`` holds the response of every classifier (column) on every patch (row).
"""

from __future__ import annotations

import torch
from torch import Tensor

from tracking_parts.errors import LearningError

RIDGE_STEPS = (1.0, 1e2, 1e4)  # by how much λ is raised, at the most
LEAST_RIDGE = 1e-8  # of the patches' energy: what λ is raised from


def dual_coefficients(gram: Tensor, ridge: float) -> Tensor:
    """``A = (G + λ I)⁻¹`` with λ = ``ridge`` times the mean energy of a patch: [n, n].

    The paper does not state λ; relating it to the patches' energy makes one value serve every size and contrast. Where
    rounding leaves the matrix indefinite all the same, λ is raised until it is not.
    """
    gram = gram.double()
    energy = gram.diagonal().mean().clamp_min(1e-12)
    n = gram.shape[0]
    identity = torch.eye(n, dtype=gram.dtype, device=gram.device)
    for raised in RIDGE_STEPS:
        chosen = ridge if raised == 1 else raised * max(ridge, LEAST_RIDGE)
        factor, problem = torch.linalg.cholesky_ex(gram + chosen * energy * identity)
        if not int(problem):
            return torch.cholesky_inverse(factor)
    raise LearningError(f"the products of {n} patches have no inverse: are the features finite?")


def rescale_to_own_patch(gram: Tensor, coefficients: Tensor) -> tuple[Tensor, Tensor]:
    """Scale each classifier to respond 1 on its own patch ("re-scaled to obtain values close to 1 for the positive
    samples").

    Gives the scaled coefficients and the scaled responses ``G A``, [n, n]: column i is classifier i on all patches.
    """
    responses = gram.double() @ coefficients
    own = responses.diagonal().clamp_min(1e-9)
    return coefficients / own, responses / own


def weighted_solution_factor(weight: float, own_response: float) -> float:
    """q = w / (1 + (w − 1) dᵢᵀcᵢ): what weighting the positive sample by w does to the classifier (theorem 1).

    Only its length changes, not its direction; this is why the unweighted closed form may be used and rescaled.

    >>> weighted_solution_factor(1.0, 0.3)
    1.0
    """
    return weight / (1 + (weight - 1) * own_response)
