"""What the paper reports, as published: figures to stand beside measured ones, never among them.

Its protocol is VOT's, run with VOT's toolkit; the speeds are on a GTX TITAN X.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublishedFigures:
    """One tracker on one data set; ``nan`` where the paper gives nothing."""

    eao: float
    robustness: float  # R: failures per sequence
    accuracy: float
    robustness_star: float = math.nan  # R*


PublishedRow = Mapping[str, PublishedFigures]  # by data set


def _row(vot2017: tuple[float, ...] | None, vot2016: tuple[float, ...] | None) -> PublishedRow:
    figures = {"vot2017": vot2017, "vot2016": vot2016}
    return {name: PublishedFigures(*numbers) for name, numbers in figures.items() if numbers is not None}


# EAO, R, A, R*: VOT2017, then VOT2016, as the paper orders them.
TABLE_1: Mapping[str, PublishedRow] = {
    "STP": _row((0.309, 0.76, 0.44, 0.206), (0.361, 0.47, 0.48, 0.140)),
    "CFWCR": _row((0.303, 1.2, 0.48, 0.267), (0.39, 0.81, 0.58)),
    "ECO": _row((0.28, 1.13, 0.48, 0.276), (0.374, 0.72, 0.54, 0.200)),
    "CCOT": _row((0.267, 1.31, 0.49, 0.318), (0.331, 0.85, 0.52, 0.238)),
    "Staple": _row((0.169, 2.5, 0.53, 0.688), (0.295, 1.35, 0.54, 0.378)),
    "ASMS": _row((0.169, 2.23, 0.49, 0.623), (0.212, 1.925, 0.5, 0.522)),
    "CCCT": _row(None, (0.223, 1.83, 0.442, 0.461)),
    "EBT": _row(None, (0.291, 0.9, 0.44, 0.252)),
    "CSRDCF": _row((0.256, 1.368, 0.491, 0.356), None),
    "MCPF": _row((0.248, 1.548, 0.510, 0.427), None),
    "ANT": _row((0.168, 2.16, 0.464, 0.632), None),
}
TABLE_2: Mapping[str, PublishedRow] = {
    "FilterParts only": _row((0.25, 0.99, 0.42), (0.306, 0.80, 0.44)),
    "ConvNetPart only": _row((0.205, 2.09, 0.43), (0.265, 1.53, 0.46)),
    "Combined": _row((0.309, 0.765, 0.44), (0.361, 0.47, 0.48)),
}
TABLE_3: Mapping[str, PublishedRow] = {
    "One role": _row((0.262, 0.99, 0.44), (0.31, 0.715, 0.47)),
    "All roles": _row((0.309, 0.765, 0.44), (0.361, 0.47, 0.48)),
}
TABLE_4: Mapping[str, PublishedRow] = {
    "No update": _row((0.28, 0.95, 0.43), (0.34, 0.7, 0.48)),
    "Full update": _row((0.284, 0.92, 0.44), (0.327, 0.66, 0.46)),
    "HCFs update": _row((0.309, 0.765, 0.44), (0.361, 0.47, 0.48)),
    # "of the same number as in the case of the true HCF measure, we again obtained the same drop of 2 %"; no row.
    "Random update": {},
}
SPEED: Mapping[str, float] = {  # frames per second on a GTX TITAN X
    "HCFs update": 4.0,
    "No update": 30.0,
    "Parallel update": 30.0,
}
