"""A grid of evenly spaced annotated frames: a whole run at one glance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from tracking_parts.geometry import Box
from tracking_parts.io.files import write_atomically
from tracking_parts.result import Result
from tracking_parts.viewers.annotate import annotate_all
from tracking_parts.viewers.drawing import Image, put_text, text_size, tint
from tracking_parts.viewers.palette import BACKGROUND, BLACK, TEXT

_SPARE = 8  # thumbnails kept per cell: the more, the more even the final choice


class ContactSheet:
    """Collects frames of a run of unknown length in bounded memory, and lays out the sheet.

    Every ``step``-th frame is kept as a thumbnail; when there are too many, every second one is dropped and the step
    doubles. Memory stays flat for a camera that runs for a day.
    """

    def __init__(self, cells: int = 12, columns: int = 4, cell_width: int = 400) -> None:
        if cells < 1 or columns < 1 or cell_width < 1:
            raise ValueError(f"a contact sheet needs cells, columns and a width, got {cells}, {columns}, {cell_width}")
        self._cells, self._columns, self._cell_width = cells, columns, cell_width
        self._step = 1
        self._seen = 0
        self._kept: list[tuple[int, Image]] = []

    def __len__(self) -> int:
        """Thumbnails held now."""
        return len(self._kept)

    def add(self, frame_index: int, frame: Image, results: Mapping[str, Result]) -> None:
        """Offer the next frame, with the answers by the targets' names; its number is what the sheet shows."""
        if self._seen % self._step == 0:
            self._kept.append((frame_index, self._thumbnail(frame, results)))
        self._seen += 1
        if len(self._kept) > self._cells * _SPARE:
            self._kept = self._kept[::2]
            self._step *= 2

    def _thumbnail(self, frame: Image, results: Mapping[str, Result]) -> Image:
        rows, columns = frame.shape[:2]
        zoom = self._cell_width / columns
        size_wh = (self._cell_width, max(1, round(rows * zoom)))
        method = cv2.INTER_AREA if zoom < 1 else cv2.INTER_CUBIC
        small = np.asarray(cv2.resize(frame, size_wh, interpolation=method), dtype=np.uint8)
        # Shrunk first and drawn on afterwards: the label stays legible at any cell size.
        return annotate_all(small, {name: _scaled(result, zoom) for name, result in results.items()})

    def render(self) -> Image:
        """The sheet so far. Needs one frame at least."""
        if not self._kept:
            raise ValueError("a contact sheet of no frames")
        count = min(self._cells, len(self._kept))
        chosen = [self._kept[round(i)] for i in np.linspace(0, len(self._kept) - 1, count)]
        columns = min(self._columns, count)
        gap = max(4, self._cell_width // 50)
        cell_height = max(thumbnail.shape[0] for _, thumbnail in chosen)
        rows = math.ceil(count / columns)
        height, width = gap + rows * (cell_height + gap), gap + columns * (self._cell_width + gap)
        sheet = np.full((height, width, 3), BACKGROUND, np.uint8)
        for position, (frame_index, thumbnail) in enumerate(chosen):
            top = gap + position // columns * (cell_height + gap)
            left = gap + position % columns * (self._cell_width + gap)
            sheet[top : top + thumbnail.shape[0], left : left + self._cell_width] = thumbnail
            _put_number(sheet, frame_index, left, top, self._cell_width)
        return sheet

    def save(self, path: Path) -> None:
        write_image(path, self.render())


def write_image(path: Path, image: Image, parameters: Sequence[int] = ()) -> None:
    """Write a picture in the format of the path's suffix; an ``OSError`` names the path that could not be written.

    ``parameters`` are those of ``cv2.imencode``.
    """
    try:
        encoded, data = cv2.imencode(path.suffix or ".png", image, parameters)
    except cv2.error as error:
        raise OSError(f"cannot write {path}: no picture format has the suffix {path.suffix!r}") from error
    if not encoded:
        raise OSError(f"cannot write {path}: the picture could not be encoded")
    write_atomically(path, data.tobytes())


def _scaled(result: Result, zoom: float) -> Result:
    box = Box(*(value * zoom for value in result.box.xywh))
    first, second, third, fourth = ((x * zoom, y * zoom) for x, y in result.polygon)
    return replace(result, box=box, polygon=(first, second, third, fourth))


def _put_number(sheet: Image, frame_index: int, left: int, top: int, cell_width: int) -> None:
    capital = max(8.0, cell_width / 32)
    words = str(frame_index)
    width, height = text_size(words, capital)
    pad = capital * 0.5
    tint(sheet, left, top, left + width + 2 * pad, top + height + 2 * pad, BLACK, 0.7)
    put_text(sheet, words, (left + pad, top + pad), capital, TEXT)
