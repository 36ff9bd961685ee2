"""``python -m benchmarks.camera``: how far objects move in a frame, in the picture and from where the camera says.

No tracker runs: the ground truth itself is what was found in every frame. For each sequence and for all, the mean
movement in object sizes and how many movements are large, measured from the last place in the picture, from the last
place in the scene, and from the one that :class:`Camera` chooses.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracking_parts import Box
from tracking_parts.camera import Camera, small_picture
from tracking_parts.frames import as_bgr
from tracking_parts.geometry import Point
from tracking_parts.io.sequences import find_sequences
from tracking_parts.io.video import open_source

GUESSES = ("picture", "scene", "chosen")
LARGE = (0.2, 0.4, 0.8)  # object sizes

Distances = tuple[float, float, float]  # of one movement, from each of the guesses


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.camera", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder of sequences with ground truth")
    options = parser.parse_args(arguments)
    everything: list[Distances] = []
    for sequence in find_sequences(options.data):
        found = list(distances(options.data / sequence.name))
        everything += found
        print(f"{sequence.name}: {table(found)}", flush=True)
    print(f"all: {table(everything)}")
    return 0


def distances(folder: Path) -> Iterator[Distances]:
    """From frame to frame of one sequence, in object sizes; frames without ground truth are left out."""
    camera: Camera | None = None
    last: tuple[Point, float] | None = None  # where it was, and its size
    with open_source(folder) as source:
        for raw, polygon in zip(source, source.ground_truth or (), strict=False):
            frame = as_bgr(raw)
            now = None if polygon is None else place_and_size(np.asarray(polygon))
            if camera is None:
                camera, last = Camera(small_picture(frame)), now
                continue
            scene = camera.sees(small_picture(frame), frame.shape)
            if last is None or now is None:
                camera, last = camera.after(scene), now
                continue
            (before, size), (place, _) = last, now
            in_scene = (before[0] + scene.moved[0], before[1] + scene.moved[1])
            guesses = (before, in_scene, camera.carried(before, scene))
            in_picture, from_scene, from_chosen = (math.dist(place, guess) / size for guess in guesses)
            yield in_picture, from_scene, from_chosen
            camera = camera.after_finding(scene, (place[0] - before[0], place[1] - before[1]), size)
            last = now


def place_and_size(polygon: NDArray[np.float64]) -> tuple[Point, float]:
    """Its corners' mean, and the side of a square as large as it."""
    x, y = polygon[:, 0], polygon[:, 1]
    area = abs(float(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))) / 2
    box = Box.around(polygon)
    return (float(x.mean()), float(y.mean())), max(math.sqrt(area), 0.1 * max(box.w, box.h), 1.0)


def table(found: Sequence[Distances]) -> str:
    """One line: the mean, and how many are large, of each guess."""
    if not found:
        return "no movement"
    parts = []
    for guess, of_guess in zip(GUESSES, np.array(found).T, strict=True):
        counts = ", ".join(f"{int((of_guess > large).sum())} above {large}" for large in LARGE)
        parts.append(f"{guess} {of_guess.mean():.3f} ({counts})")
    return f"{len(found)} movements; " + "; ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
