"""Scenes whose object is known in every frame: drawn ones, the bundled clips, sequences with ground truth."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.textures import paste, random_texture
from benchmarks.videos import RABBIT, ROOT, Clip, back_and_forth
from tracking_parts import Tracker, TrackerConfig
from tracking_parts.errors import SourceError
from tracking_parts.evaluation.experiment import start_box
from tracking_parts.frames import Frame, as_bgr
from tracking_parts.geometry import Box, Polygon
from tracking_parts.io.clips import fetch_clip
from tracking_parts.io.sequences import Sequence as VideoSequence
from tracking_parts.io.sequences import find_sequences
from tracking_parts.io.video import read_image

log = logging.getLogger(__name__)

WANDERS = 0.12  # how far a drawn object goes to either side, in sides of the picture
SURE = 0.5  # least confidence at which the tracker's own boxes count as the truth of a clip
# Objects in the bundled clips: name, clip, first frame, the one after the last, box. Neighbours are of different clips.
CLIP_OBJECTS = (
    ("rabbit's head", RABBIT[0], RABBIT[1], 132, RABBIT[2]),
    ("driver's face", "carphone_pristine.mp4", 0, 120, Box(60, 18, 54, 82)),
    ("cyclist", "bikes.mp4", 106, 137, Box(378, 25, 100, 135)),
    ("driver's bow tie", "carphone_pristine.mp4", 0, 120, Box(80, 97, 46, 24)),
    ("saddle bag", "bikes.mp4", 208, 242, Box(275, 54, 80, 85)),
)


@dataclass(frozen=True)
class Scene:
    """Frames in order, and the object's box in each."""

    name: str
    frames: list[Frame]
    boxes: list[Box]

    def lasting(self, count: int) -> Scene:
        """So many frames of it: where there are fewer, time turns round at the end, so that nothing jumps."""
        return Scene(self.name, list(back_and_forth(self.frames, count)), list(back_and_forth(self.boxes, count)))


def drawn_scene(seed: int, count: int, size_wh: tuple[int, int] = (320, 240)) -> Scene:
    """A textured object that wanders over a textured background."""
    random = np.random.default_rng(seed)
    background = random_texture(random, *size_wh, coarseness=float(random.uniform(2, 8)))
    width, height = (float(side) for side in random.uniform(36, 64, 2))
    texture = random_texture(random, round(width), round(height), coarseness=float(random.uniform(2, 6)))
    phases, periods = random.uniform(0, 2 * math.pi, 2), random.uniform(90, 160, 2)
    boxes = []
    for turns in np.arange(count)[:, None] / periods:
        x, y = (0.5 + WANDERS * np.sin(phases + 2 * math.pi * turns)) * size_wh
        boxes.append(Box.from_centre((float(x), float(y)), width, height))
    return Scene(f"drawn {seed}", [paste(background, texture, box) for box in boxes], boxes)


def clip_scenes(count: int, objects: Sequence[tuple[str, str, int, int, Box]] = CLIP_OBJECTS) -> Iterator[Scene]:
    """Objects of the bundled clips where the tracker, shown all of it, sees them; up to where it is unsure."""
    tracker = Tracker(TrackerConfig.profile("default").override(tell_below=0.0, tell_margin=0.0))  # taken for the truth
    for name, file, start, end, box in objects:
        try:
            clip = Clip(name, fetch_clip(file), box, start, min(end, start + count))
        except SourceError as error:
            log.warning("left out %s: %s", name, error)
            continue
        frames = list(clip.frames())
        results = [tracker.init(frames[0], box), *(tracker.update(frame) for frame in frames[1:])]
        sure = next((i for i, result in enumerate(results) if result.confidence < SURE), len(results))
        if sure < len(results):
            log.info("%s: of %d frames the first %d are clear", name, len(results), sure)
        yield Scene(name, frames[:sure], [result.box for result in results[:sure]])


def sequence_scene(sequence: VideoSequence, count: int) -> Scene:
    """The first frames of a sequence with ground truth, up to the first in which the object is not visible."""
    truths = [start_box(truth, "area") for truth in _until_none(sequence)]
    paths = sequence.frames[: min(count, len(truths))]
    return Scene(sequence.name, [as_bgr(read_image(path)) for path in paths], truths[: len(paths)])


def _until_none(sequence: VideoSequence) -> Iterator[Polygon]:
    for truth in sequence.ground_truth:
        if truth is None:
            return
        yield truth


def sequences_at_hand(data: Path | None) -> list[VideoSequence]:
    """Those of a folder; without one, those of ``STP_DATA`` or beside the repository, if there are any."""
    folder = data or Path(os.environ.get("STP_DATA") or ROOT.parent / "shared") / "vot2016-20"
    if data is None and not folder.is_dir():
        return []
    return find_sequences(folder)


def drawn_scenes(how_many: int, count: int) -> Iterator[Scene]:
    return (drawn_scene(seed, count) for seed in islice(range(1000), how_many))
