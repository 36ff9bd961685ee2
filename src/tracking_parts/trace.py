"""What happened inside the tracker in one frame: read-only, for viewers and reports.

Viewers consume a :class:`FrameTrace` and never reach into the tracker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracking_parts.geometry import Box, CropWindow, Point
from tracking_parts.result import Result

FloatMap = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PartsTrace:
    """All living filter parts in one frame, one row each (structure of arrays)."""

    ids: NDArray[np.int64]  # [n] stable over the part's life
    sizes: NDArray[np.int64]  # [n, 2] rows and columns, in cells
    offsets: NDArray[np.float32]  # [n, 2] (x, y) from the object's centre to the part's, in cells
    roles: NDArray[np.int8]  # [n] values of roles.Role: 0 candidate, 1 reliable, 2 gold
    votes: NDArray[np.float32]  # [n, 2] (x, y) in map cells: the centre each part votes for by its strongest response
    strengths: NDArray[np.float32]  # [n] that strongest response; 1 is the response on the part's own patch
    agreed: NDArray[np.bool_]  # [n] the vote fell near the chosen centre

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def empty(cls) -> PartsTrace:
        return cls(
            ids=np.zeros(0, np.int64),
            sizes=np.zeros((0, 2), np.int64),
            offsets=np.zeros((0, 2), np.float32),
            roles=np.zeros(0, np.int8),
            votes=np.zeros((0, 2), np.float32),
            strengths=np.zeros(0, np.float32),
            agreed=np.zeros(0, np.bool_),
        )


@dataclass(frozen=True, slots=True)
class FrameTrace:
    """One frame of the tracker's life. Maps are [rows, columns] of the window's feature map; points are (x, y) in
    cells.

    On the first frame (``init``) there are no votes: the maps are zero and the centres are the object's centre.
    """

    frame_index: int  # 0 is the frame given to init
    result: Result
    tracked: Box  # where the object is taken to be from here on; in doubt the told box is another one
    window: CropWindow  # where the crop lies in the image
    crop: NDArray[np.uint8]  # [size, size, 3] BGR: what the network saw
    filter_votes: FloatMap  # F_t
    convnet_votes: FloatMap  # C_t; zero while the ConvNetPart does not vote
    colour_votes: FloatMap  # H_t, of the colour part; zero where there is none
    combined_votes: FloatMap  # P_t
    filter_centre: Point  # peak of F_t, in map cells
    convnet_centre: Point  # peak of C_t, in map cells
    centre: Point  # peak of P_t: the decision, in map cells
    pathway_distance: float  # between the two pathways' centres, in cells; nan while the ConvNetPart does not vote
    part_agreement: float  # share of the voting parts that agree with the decision
    highly_confident: bool  # HCF: the frame may teach the ConvNetPart
    parts: PartsTrace
    events: tuple[str, ...]  # what was learned after the answer, in words, e.g. "added 31 candidates"
    fault: str = ""  # what of it failed, if anything did; tracking goes on with what was learned before

    def role_counts(self) -> dict[str, int]:
        """How many parts hold each role."""
        names = ("candidate", "reliable", "gold")
        return {name: int(np.count_nonzero(self.parts.roles == code)) for code, name in enumerate(names)}

    def summary(self) -> dict[str, Any]:
        """The scalars, ready for JSON."""
        return {
            "frame": self.frame_index,
            "box": list(self.result.box.xywh),
            "confidence": self.result.confidence,
            "state": str(self.result.state),
            "pathway_distance": None if np.isnan(self.pathway_distance) else self.pathway_distance,
            "part_agreement": self.part_agreement,
            "highly_confident": self.highly_confident,
            **self.role_counts(),
            "events": list(self.events),
            "fault": self.fault,
        }
