"""One run over one sequence, and VOT's text layout of it.

Each line answers for one frame: a code (``1`` started here, ``2`` failed here, ``0`` skipped after a failure) or a
region, as ``x,y,w,h`` or as the corners ``x1,y1,…,x4,y4``. Beside it ``…_time.txt`` holds the seconds of each
frame, and ``…_NAME.value`` what else the tracker told of each frame, such as its confidence.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from tracking_parts.errors import FormatError, one_line, quoted
from tracking_parts.geometry import Box, Polygon
from tracking_parts.io.files import write_atomically
from tracking_parts.io.plain_files import read_text


class Code(IntEnum):
    """A frame without a region to compare."""

    SKIPPED = 0
    STARTED = 1
    FAILED = 2


Region = Code | Polygon


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What a tracker answered for each frame, and the seconds each answer took (0 where it was not asked).

    ``values`` are further numbers by name, one per frame, ``nan`` where the tracker told none.
    """

    regions: tuple[Region, ...]
    seconds: tuple[float, ...] = ()
    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.regions)

    def frames_with(self, code: Code) -> tuple[int, ...]:
        return tuple(index for index, region in enumerate(self.regions) if region is code)

    @property
    def starts(self) -> tuple[int, ...]:
        return self.frames_with(Code.STARTED)

    @property
    def failures(self) -> tuple[int, ...]:
        return self.frames_with(Code.FAILED)

    @property
    def frames_per_second(self) -> float:
        """Speed over the frames that the tracker worked on, starts included; ``nan`` where no time is known."""
        spent = [second for second in self.seconds if second > 0]
        return len(spent) / sum(spent) if spent else float("nan")


def polygon_from_numbers(numbers: list[float]) -> Polygon:
    """Four corners from ``x, y, w, h`` or from eight coordinates."""
    if len(numbers) == 4:
        return Box(*numbers).polygon
    if len(numbers) == 8:
        x1, y1, x2, y2, x3, y3, x4, y4 = numbers
        return ((x1, y1), (x2, y2), (x3, y3), (x4, y4))
    raise FormatError(f"a region has 4 or 8 numbers, not {len(numbers)}")


def parse_region(line: str) -> Region:
    """One line of a VOT result file."""
    try:
        numbers = [float(field) for field in line.split(",")]
        return Code(int(numbers[0])) if len(numbers) == 1 else polygon_from_numbers(numbers)
    except (ValueError, OverflowError) as error:
        raise FormatError(f"not a VOT region: {quoted(line.strip())} ({one_line(error)})") from None


def format_region(region: Region) -> str:
    """The line that :func:`parse_region` reads back, to a ten-thousandth of a pixel."""
    if isinstance(region, Code):
        return str(int(region))
    box = Box.around(region)
    numbers = box.xywh if box.polygon == region else [value for corner in region for value in corner]
    return ",".join(f"{value:.4f}" for value in numbers)


def time_path(result_path: Path) -> Path:
    return result_path.with_name(f"{result_path.stem}_time.txt")


def value_path(result_path: Path, name: str) -> Path:
    return result_path.with_name(f"{result_path.stem}_{name}.value")


def write_trajectory(path: Path, trajectory: Trajectory) -> None:
    """Write the result, its times and values; the result appears last and whole: its presence means finished."""
    if trajectory.seconds:
        _write_column(time_path(path), trajectory.seconds)
    for name, values in trajectory.values.items():
        _write_column(value_path(path, name), values)
    regions = "".join(f"{format_region(region)}\n" for region in trajectory.regions)
    write_atomically(path, regions.encode())


def _write_column(path: Path, numbers: tuple[float, ...]) -> None:
    write_atomically(path, "".join(f"{number:.6f}\n" for number in numbers).encode())


def read_trajectory(path: Path) -> Trajectory:
    """Read anybody's VOT result file; times and values are optional."""
    try:
        regions = tuple(parse_region(line) for line in read_text(path).splitlines() if line.strip())
        values = {
            file.stem.removeprefix(f"{path.stem}_"): tuple(map(_read_value, read_text(file).splitlines()))
            for file in sorted(path.parent.glob(f"{glob.escape(path.stem)}_*.value"))
        }
        # VOT's toolkit keeps the times as one of the values.
        seconds = _read_seconds(path) or values.pop("time", ())
    except ValueError as error:
        raise FormatError(f"{path}: {one_line(error)}") from None
    return Trajectory(regions, seconds, values)


def _read_seconds(path: Path) -> tuple[float, ...]:
    """The times beside a result: ours, or those of VOT's MATLAB toolkit, which has a column for each repetition."""
    sequence, _, repetition = path.stem.rpartition("_")
    of_all_runs = path.with_name(f"{sequence}_time.txt")
    if time_path(path).exists():
        file, column = time_path(path), 0
    elif repetition.isdecimal() and of_all_runs.exists():
        file, column = of_all_runs, int(repetition) - 1
    else:
        return ()
    rows = [line.split(",") for line in read_text(file).splitlines() if line.strip()]
    return tuple(float(row[column]) for row in rows) if all(column < len(row) for row in rows) else ()


def _read_value(line: str) -> float:
    """VOT's toolkit leaves a line empty where there is no value."""
    return float(line) if line.strip() else float("nan")
