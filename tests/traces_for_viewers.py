"""Synthetic traces and results that look like the real ones, for the tests of viewers, trace files and the command."""

from __future__ import annotations

import cv2
import numpy as np

from tracking_parts.frames import Frame
from tracking_parts.geometry import Box, CropWindow
from tracking_parts.result import Result, State
from tracking_parts.trace import FloatMap, FrameTrace, PartsTrace


def some_result(x: float = 30, y: float = 20, state: State = State.TRACKING, confidence: float = 0.8) -> Result:
    box = Box(x, y, 24, 18)
    return Result(box, box.polygon, confidence, state)


def some_picture(width: int, height: int, seed: int = 0) -> Frame:
    noise = np.random.default_rng(seed).integers(0, 256, (max(2, height // 8), max(2, width // 8), 3), dtype=np.uint8)
    return np.asarray(cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC), dtype=np.uint8)


def some_trace(
    frame_index: int = 7,
    parts: int = 90,
    crop: Frame | None = None,
    convnet_votes: bool = True,
    state: State = State.TRACKING,
) -> FrameTrace:
    """A crop of 128 pixels, 32 x 32 cells, the object in the middle; F_t a little off, C_t on the spot."""
    rng = np.random.default_rng(frame_index)
    window = CropWindow(left=40, top=20, width=160, height=160, crop_width=128, crop_height=128, stride=4)
    centre = (15.7, 16.2)
    box = Box.from_centre(window.image_from_map(centre), 70, 56)
    filter_centre = (17.0, 15.0)
    votes = rng.normal(centre, 1.2, (parts, 2))
    votes[::5] = rng.uniform(0, 31, (len(votes[::5]), 2))
    agreed = np.hypot(*(votes - centre).T) < 2
    blob = _blob(centre, 3.0)
    return FrameTrace(
        frame_index=frame_index,
        result=Result(box, box.polygon, 0.81, state),
        tracked=box,
        window=window,
        crop=some_picture(128, 128) if crop is None else crop,
        filter_votes=_blob(filter_centre, 4.0) * np.float32(0.4),
        convnet_votes=_blob(centre, 2.0) if convnet_votes else np.zeros_like(blob),
        colour_votes=_blob(centre, 4.0),
        combined_votes=blob * np.float32(0.6),
        filter_centre=filter_centre,
        convnet_centre=centre,
        centre=centre,
        pathway_distance=1.8 if convnet_votes else float("nan"),
        part_agreement=float(agreed.mean()) if parts else 0.0,
        highly_confident=convnet_votes,
        parts=PartsTrace(
            ids=np.arange(parts, dtype=np.int64),
            sizes=rng.choice([3, 5, 7], (parts, 1)).repeat(2, axis=1).astype(np.int64),
            offsets=rng.uniform(-6, 6, (parts, 2)).astype(np.float32),
            roles=rng.choice([0, 1, 2], parts, p=[0.3, 0.5, 0.2]).astype(np.int8),
            votes=votes.astype(np.float32),
            strengths=rng.uniform(0, 1, parts).astype(np.float32),
            agreed=agreed.astype(np.bool_),
        ),
        events=("added 31 candidates", "trained the ConvNetPart on 40 frames, loss 0.0123") if frame_index else (),
    )


def _blob(centre: tuple[float, float], spread: float) -> FloatMap:
    rows, columns = np.mgrid[0:32, 0:32]
    squared = (columns - centre[0]) ** 2 + (rows - centre[1]) ** 2
    return np.asarray(np.exp(-squared / (2 * spread**2)), dtype=np.float32)
