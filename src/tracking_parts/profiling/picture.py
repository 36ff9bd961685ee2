"""A profile as a picture: every frame as a bar stacked by stage, and below it where the mean frame goes, as a flame.

An SVG file of its own: hold the pointer over a bar to read its figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from tracking_parts.evaluation.report.svg import Axis, Drawing, number
from tracking_parts.profiling.figures import Profile, StageFigures
from tracking_parts.profiling.stages import GROUPS, Amounts, Stage

WIDTH, LEFT, RIGHT = 1200, 64, 24
BARS_TOP, BARS_BOTTOM = 110, 430
FLAME_TOP, FLAME_ROW = 506, 40
TABLE_TOP, TABLE_ROW = 672, 24
MOST_BARS = 1100  # of one pixel; longer videos show the slowest of some frames in each
CUT_AT = 6.0  # medians: a bar that is longer is cut off and says so

# One hue per group: reading grey, looking blue, deciding green, learning orange (after Okabe and Ito).
COLOURS = {
    Stage.DECODE: "#8a8f98",
    Stage.CROP: "#9ed0f0",
    Stage.TRUNK: "#0072b2",
    Stage.PROJECT: "#56b4e9",
    Stage.PARTS: "#00755a",
    Stage.CONVNET: "#2fae8a",
    Stage.COLOURS: "#5cc3a4",
    Stage.VOTE: "#86d3b9",
    Stage.BOX: "#c3ead9",
    Stage.LEARN_PARTS: "#d55e00",
    Stage.LEARN_CONVNET: "#f0a030",
    Stage.OTHER: "#d5d7db",
}
DARK = {Stage.DECODE, Stage.TRUNK, Stage.PARTS, Stage.LEARN_PARTS}
GROUP_COLOURS = {"read": "#d9dbdf", "look": "#d3e6f3", "decide": "#d2ebe2", "learn": "#fae3cc", "other": "#ecedef"}


def write_picture(profile: Profile, path: Path) -> None:
    """Write the SVG file."""
    path.write_text(draw_profile(profile), encoding="utf-8")


def draw_profile(profile: Profile) -> str:
    """The whole picture."""
    height = TABLE_TOP + TABLE_ROW * (len(Stage) + 2) + 44
    time = profile.frame_time
    words = f"{profile.fps:.1f} frames per second; median frame {_ms(time.median)}, 99th percentile {_ms(time.p99)}"
    drawing = Drawing(WIDTH, height, "Where the time of each frame goes", words)
    drawing.rect(0, 0, WIDTH, height, "paper")
    _heading(drawing, profile)
    _bars(drawing, profile)
    _flame(drawing, profile)
    _table(drawing, profile)
    return drawing.file(_style())


def _style() -> str:
    fills = "".join(f".{_class(stage)}{{fill:{colour}}}" for stage, colour in COLOURS.items())
    groups = "".join(f".group-{name}{{fill:{colour}}}" for name, colour in GROUP_COLOURS.items())
    return (
        "text{font:13px system-ui,'DejaVu Sans',sans-serif;fill:#22262b}"
        "rect{shape-rendering:crispEdges}.paper{fill:#fff}.title{font-size:22px;font-weight:600}.head{font-size:15px;font-weight:600}"
        ".small{font-size:12px;fill:#5a616b}.light{fill:#fff}.grid{stroke:#e4e6ea}.axis{stroke:#8a8f98}"
        ".level{stroke:#22262b;stroke-dasharray:6 4}.cut{fill:#b00040}.peak{stroke:#b00040}"
        ".on-bars{font-size:12px;paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"
        f".cell{{stroke:#fff;stroke-width:1}}{fills}{groups}"
    )


def _class(stage: Stage) -> str:
    return f"stage-{stage.name.lower().replace('_', '-')}"


def _ms(seconds: float) -> str:
    milliseconds = 1000 * seconds
    return f"{milliseconds:.0f} ms" if milliseconds >= 100 else f"{milliseconds:.3g} ms"


def _heading(drawing: Drawing, profile: Profile) -> None:
    made, time = profile.made_with, profile.frame_time
    threads = made.get("threads", "?")
    drawing.text((LEFT, 36), f"{profile.fps:.1f} fps from file to result", "title")
    told = [str(made[key]) for key in ("source", "profile") if key in made]
    told += [f"engine {made.get('engine', '?')}", f"{threads} thread{'' if threads == 1 else 's'}"]
    told += [f"{len(profile.frames) + 1} frames", f"GEMM peak {profile.peak / 1e9:.0f} GFLOP/s"]
    drawing.text((WIDTH - RIGHT, 34), " · ".join(told), "small", "end")
    facts = f"median {_ms(time.median)}, 95th percentile {_ms(time.p95)}, 99th {_ms(time.p99)}, worst {_ms(time.worst)}"
    ratio = time.p99 / time.median
    drawing.text((LEFT, 62), f"Each frame: {facts}; 99th over median {ratio:.2f}", "")
    drawing.text((LEFT, BARS_TOP - 20), "Milliseconds of every frame, by stage", "head")


# --------------------------------------------------------------------------- the bars
def _bars(drawing: Drawing, profile: Profile) -> None:
    time = profile.frame_time
    step = math.ceil(len(profile.frames) / MOST_BARS)
    shown = [_slowest(profile.frames[at : at + step]) for at in range(0, len(profile.frames), step)]
    top = min(time.worst, max(CUT_AT * time.median, 1.1 * time.p99)) * 1.05
    up = Axis((0.0, 1000 * top), (BARS_BOTTOM, BARS_TOP))
    across = Axis((0.5, len(profile.frames) + 0.5), (LEFT, WIDTH - RIGHT))
    for tick in up.ticks(6):
        drawing.line((LEFT, up(tick)), (WIDTH - RIGHT, up(tick)), "grid")
        drawing.text((LEFT - 8, up(tick) + 4), number(tick), "small", "end")
    for index, frame in enumerate(shown):
        left, right = across(index * step + 0.5), across(min((index + 1) * step, len(profile.frames)) + 0.5)
        _bar(drawing, frame, index * step + 1, (left, right), up)
    _level(drawing, up, time.median, "median")
    _level(drawing, up, time.p99, "99th percentile")
    drawing.line((LEFT, BARS_BOTTOM), (WIDTH - RIGHT, BARS_BOTTOM), "axis")
    for tick in across.ticks(10):
        if tick >= 1 and tick == int(tick):
            drawing.text((across(tick), BARS_BOTTOM + 18), number(tick), "small", "middle")
    note = "frame" if step == 1 else f"frame; every bar is the slowest of {step} frames"
    drawing.text(((LEFT + WIDTH - RIGHT) / 2, BARS_BOTTOM + 36), note, "small", "middle")


def _slowest(frames: Sequence[Amounts]) -> Amounts:
    return max(frames, key=lambda frame: sum(frame.values()))


def _bar(drawing: Drawing, frame: Amounts, index: int, ends: tuple[float, float], up: Axis) -> None:
    left, right = ends
    gap = 0.6 if right - left > 4 else 0.0
    highest, below = up.values[1], 0.0
    whole = 1000 * sum(frame.values())
    for stage in Stage:
        above = min(below + 1000 * frame[stage], highest)
        if above > below:
            hint = f"frame {index}: {_ms(whole / 1000)}, of it {stage.value} {_ms(frame[stage])}"
            height = up(below) - up(above)
            drawing.rect(left + gap / 2, up(above), right - left - gap, height, _class(stage), hint)
        below = above
    if whole > highest:
        middle = (left + right) / 2
        marker = [(middle - 5, BARS_TOP), (middle + 5, BARS_TOP), (middle, BARS_TOP - 8), (middle - 5, BARS_TOP)]
        drawing.path(marker, "cut", hint=f"frame {index}: {_ms(whole / 1000)}")
        if right < WIDTH - RIGHT - 70:
            drawing.text((middle + 8, BARS_TOP), _ms(whole / 1000), "small")
        else:
            drawing.text((middle - 8, BARS_TOP), _ms(whole / 1000), "small", "end")


def _level(drawing: Drawing, up: Axis, seconds: float, name: str) -> None:
    y = up(1000 * seconds)
    drawing.line((LEFT, y), (WIDTH - RIGHT, y), "level")
    drawing.text((WIDTH - RIGHT - 4, y - 5), f"{name} {_ms(seconds)}", "on-bars", "end")


# --------------------------------------------------------------------------- the flame
def _flame(drawing: Drawing, profile: Profile) -> None:
    """The mean frame, the groups it is made of, the stages those are made of: each as wide as its time."""
    figures = {one.stage: one for one in profile.stages}
    mean = profile.frame_time.mean
    across = Axis((0.0, mean), (LEFT, WIDTH - RIGHT))
    drawing.text((LEFT, FLAME_TOP - 12), "The mean frame, rare work shared out", "head")
    fps = f"frame {_ms(mean)}: {1 / mean:.1f} per second once started"
    _cell(drawing, (LEFT, WIDTH - RIGHT), 0, fps, "cell group-other")
    begun = 0.0
    for name, stages in GROUPS.items():
        seconds = sum(figures[stage].seconds.mean for stage in stages)
        ends = (across(begun), across(begun + seconds))
        _cell(drawing, ends, 1, f"{name} {_ms(seconds)}", f"cell group-{name}")
        for stage in stages:
            one = figures[stage].seconds.mean
            words = f"{stage.value.removeprefix('learning: ')} {_ms(one)}"
            ends = (across(begun), across(begun + one))
            _cell(drawing, ends, 2, words, f"cell {_class(stage)}", "light" if stage in DARK else "")
            begun += one


def _cell(drawing: Drawing, ends: tuple[float, float], row: int, words: str, cls: str, letters: str = "") -> None:
    left, right = ends
    top = FLAME_TOP + row * FLAME_ROW
    drawing.rect(left, top, right - left, FLAME_ROW, cls, words)
    room = right - left - 12
    if room > 7.2 * len(words):
        drawing.text((left + 6, top + FLAME_ROW / 2 + 5), words, letters)


# --------------------------------------------------------------------------- the table
BAR_LEFT = 1010
COLUMNS = (300, 390, 480, 570, 660, 760, 880, 990)
HEADS = ("mean ms", "of time", "median", "95th", "99th", "worst", "GFLOP", "of GEMM peak")


def _table(drawing: Drawing, profile: Profile) -> None:
    for x, head in zip(COLUMNS, HEADS, strict=True):
        drawing.text((x, TABLE_TOP), head, "small", "end")
    most = max((one.share_of_peak for one in profile.stages), default=0.0)
    full = max(1.0, most)
    for row, one in enumerate(profile.stages, start=1):
        y = TABLE_TOP + TABLE_ROW * row
        drawing.rect(LEFT, y - 11, 14, 14, _class(one.stage))
        _row(drawing, y, one.stage.value, one, full, _class(one.stage))
    y = TABLE_TOP + TABLE_ROW * (len(Stage) + 1) + 4
    drawing.line((LEFT, y - 17), (WIDTH - RIGHT, y - 17), "axis")
    _row(drawing, y, "whole frame", profile.total, full, "group-other")
    peak_at = BAR_LEFT + (WIDTH - RIGHT - BAR_LEFT) / full
    drawing.line((peak_at, TABLE_TOP + 8), (peak_at, y + 6), "peak")
    drawing.text((peak_at, TABLE_TOP), "peak", "small", "end" if full <= 1.15 else "middle")
    drawing.text((LEFT, y + 32), "The trunk's work is that of direct convolution: Winograd's does less.", "small")


def _row(drawing: Drawing, y: float, name: str, one: StageFigures, full: float, cls: str) -> None:
    time = one.seconds
    texts = [f"{1000 * value:.2f}" for value in (time.mean, time.median, time.p95, time.p99, time.worst)]
    texts.insert(1, f"{one.share_of_time:.1%}")
    counted = one.operations > 0
    texts.append(f"{one.operations / 1e9:.3f}" if counted else "–")
    texts.append(f"{one.share_of_peak:.1%}" if counted else "–")
    drawing.text((LEFT + 22, y), name)
    for x, words in zip(COLUMNS, texts, strict=True):
        drawing.text((x, y), words, "", "end")
    if counted:
        room = WIDTH - RIGHT - BAR_LEFT
        drawing.rect(BAR_LEFT, y - 11, room * one.share_of_peak / full, 14, cls)
