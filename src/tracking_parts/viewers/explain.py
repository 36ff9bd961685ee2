"""One picture of one frame's trace: what the society saw, how each pathway voted and what was decided.

After the paper's qualitative figures: the crop with its parts coloured by role, and the maps F_t, C_t and P_t over it.
"""

from __future__ import annotations

import math

import cv2
import numpy as np

from tracking_parts.geometry import Point
from tracking_parts.trace import FloatMap, FrameTrace
from tracking_parts.viewers.drawing import (
    Image,
    put_peak,
    put_polygon,
    put_text,
    text_size,
    tint,
    wrap,
)
from tracking_parts.viewers.palette import (
    BACKGROUND,
    CONVNET_PEAK,
    DECISION_PEAK,
    FAULT,
    FILTER_PEAK,
    MUTED,
    PANEL,
    ROLE_COLOURS,
    ROLE_NAMES,
    STATE_COLOURS,
    TEXT,
    Colour,
    readable_on,
)

WIDTH, HEIGHT = 1600, 900
_SCALE = 2  # drawn at twice the size and averaged down: OpenCV's thin letters come out crisp
_MARGIN = 28
_HEADER = 84
_CAPTION = 34
_CROP_SIDE = HEIGHT - _HEADER - _CAPTION - _MARGIN  # 754
_MAP_SIDE = (HEIGHT - _HEADER - 2 * _CAPTION - _MARGIN - 18) // 2
_SMALL_SIDE = 96
_GAP = 40  # between the two columns of maps
_RIGHT = WIDTH - _MARGIN - 2 * _MAP_SIDE - _GAP
_PART_SHARE = 0.3  # parts overlap a lot; drawn at this share of their size they can be told apart
_PEAKS: tuple[tuple[str, str, Colour], ...] = (
    ("+", "peak of F_t", FILTER_PEAK),
    ("x", "peak of C_t", CONVNET_PEAK),
    ("o", "decision, peak of P_t", DECISION_PEAK),
)


def render_trace(trace: FrameTrace) -> Image:
    """A BGR picture of 1600 x 900 pixels."""
    canvas = np.full((HEIGHT * _SCALE, WIDTH * _SCALE, 3), BACKGROUND, np.uint8)
    _draw_header(canvas, trace)
    _draw_crop(canvas, trace)
    columns = (_RIGHT, _RIGHT + _MAP_SIDE + _GAP)
    rows = (_HEADER, HEIGHT - _MARGIN - _MAP_SIDE - _CAPTION)
    peaks = _peaks_in_map(trace)
    _draw_map(canvas, trace, "F_t  filter parts", trace.filter_votes, peaks[:1], (columns[0], rows[0]))
    _draw_map(canvas, trace, "C_t  ConvNetPart", trace.convnet_votes, peaks[1:2], (columns[1], rows[0]))
    _draw_map(canvas, trace, "P_t  combined", trace.combined_votes, peaks, (columns[0], rows[1]))
    _draw_notes(canvas, trace, (columns[1], rows[1]))
    small = cv2.resize(canvas, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
    return np.asarray(small, dtype=np.uint8)


def _text(
    canvas: Image, words: str, left: float, top: float, height: float, colour: Colour = TEXT, bold: bool = False
) -> float:
    """Text in picture coordinates; returns where it ends."""
    end = put_text(canvas, words, (left * _SCALE, top * _SCALE), height * _SCALE, colour, bold)
    return end / _SCALE


def _rectangle(canvas: Image, left: float, top: float, width: float, height: float, colour: Colour) -> None:
    edges = (left * _SCALE, top * _SCALE, (left + width) * _SCALE, (top + height) * _SCALE)
    tint(canvas, *edges, colour, 1.0)


def _draw_header(canvas: Image, trace: FrameTrace) -> None:
    top = 30.0
    left = _text(canvas, f"frame {trace.frame_index}", _MARGIN, top, 22, bold=True) + 30
    state_colour = STATE_COLOURS[trace.result.state]
    state = str(trace.result.state)
    width = text_size(state, 17 * _SCALE)[0] / _SCALE + 28
    _rectangle(canvas, left, top - 7, width, 36, state_colour)
    _text(canvas, state, left + 14, top + 2, 17, readable_on(state_colour))
    left = _labelled_bar(canvas, "confidence", trace.result.confidence, left + width + 34, top, state_colour)
    left = _labelled_bar(canvas, "parts that agree", trace.part_agreement, left + 34, top, TEXT)
    left = _fact(canvas, "pathways apart", _distance_words(trace.pathway_distance), left + 34, top)
    _fact(canvas, "highly confident frame", "yes" if trace.highly_confident else "no", left + 34, top)


def _distance_words(distance: float) -> str:
    return "-" if math.isnan(distance) else f"{distance:.1f} cells"


def _labelled_bar(canvas: Image, label: str, share: float, left: float, top: float, colour: Colour) -> float:
    _text(canvas, label, left, top - 10, 11, MUTED)
    width = 150
    known = math.isfinite(share)
    _rectangle(canvas, left, top + 12, width, 14, PANEL)
    _rectangle(canvas, left, top + 12, width * min(max(share, 0.0), 1.0) if known else 0, 14, colour)
    return _text(canvas, f"{share:.2f}" if known else "-", left + width + 10, top + 11, 15)


def _fact(canvas: Image, label: str, value: str, left: float, top: float) -> float:
    label_end = _text(canvas, label, left, top - 10, 11, MUTED)
    return max(label_end, _text(canvas, value, left, top + 11, 15))


def _draw_crop(canvas: Image, trace: FrameTrace) -> None:
    _text(canvas, "what the network saw, and where the parts found themselves", _MARGIN, _HEADER + 9, 13)
    panel = _enlarged(trace.crop, _CROP_SIDE * _SCALE)
    zoom = panel.shape[0] / trace.window.crop_height
    _draw_parts(panel, trace, zoom)
    corners = [_times(trace.window.crop_from_image(corner), zoom) for corner in trace.result.polygon]
    put_polygon(panel, corners, STATE_COLOURS[trace.result.state], 3 * _SCALE)
    for (shape, _, colour), point in reversed(_peaks_in_map(trace)):
        put_peak(panel, shape, _times(trace.window.crop_from_map(point), zoom), 10 * _SCALE, colour)
    _paste(canvas, panel, _MARGIN, _HEADER + _CAPTION, _CROP_SIDE)


def _draw_parts(panel: Image, trace: FrameTrace, zoom: float) -> None:
    """Small boxes where the parts responded most: filled if the vote agreed with the decision, hollow if it did not."""
    parts = trace.parts
    # Gold last, so that the few are not hidden by the many; disagreeing parts below the agreeing ones.
    for index in np.lexsort((parts.roles, parts.agreed)):
        place = parts.votes[index] + parts.offsets[index]
        x, y = _times(trace.window.crop_from_map((float(place[0]), float(place[1]))), zoom)
        if not (math.isfinite(x) and math.isfinite(y)):
            continue
        rows, columns = parts.sizes[index] * trace.window.stride * zoom * _PART_SHARE / 2
        _draw_part(panel, (x, y), (columns, rows), ROLE_COLOURS[int(parts.roles[index])], bool(parts.agreed[index]))


def _draw_part(panel: Image, centre: Point, half: Point, colour: Colour, agreed: bool) -> None:
    left, top = centre[0] - half[0], centre[1] - half[1]
    right, bottom = centre[0] + half[0], centre[1] + half[1]
    if agreed:
        tint(panel, left, top, right, bottom, colour, 0.35)
    thickness = _SCALE + 1 if agreed else _SCALE
    corners = (round(left), round(top)), (round(right), round(bottom))
    cv2.rectangle(panel, *corners, colour, thickness, cv2.LINE_AA)


def _peaks_in_map(trace: FrameTrace) -> list[tuple[tuple[str, str, Colour], Point]]:
    points = (trace.filter_centre, trace.convnet_centre, trace.centre)
    votes = (trace.filter_votes, trace.convnet_votes, trace.combined_votes)
    # A pathway that did not vote has no peak worth showing.
    return [(mark, point) for mark, point, votes_map in zip(_PEAKS, points, votes, strict=True) if votes_map.any()]


def _draw_map(
    canvas: Image,
    trace: FrameTrace,
    title: str,
    votes: FloatMap,
    peaks: list[tuple[tuple[str, str, Colour], Point]],
    left_top: tuple[int, int],
) -> None:
    left, top = left_top
    end = _text(canvas, title, left, top + 9, 13)
    side = _MAP_SIDE * _SCALE
    grey = cv2.cvtColor(cv2.cvtColor(_enlarged(trace.crop, side), cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR)
    if votes.any():
        _text(canvas, f"peak {float(_finite(votes).max()):.3g}", end + 16, top + 11, 11, MUTED)
        panel = _heat_over(np.asarray(grey, dtype=np.uint8), votes)
        zoom = grey.shape[0] / trace.window.crop_height
        for (shape, _, colour), point in reversed(peaks):
            put_peak(panel, shape, _times(trace.window.crop_from_map(point), zoom), 8 * _SCALE, colour)
    else:
        panel = (grey // 3).astype(np.uint8)
        words = "did not vote in this frame"
        width, height = text_size(words, 13 * _SCALE)
        put_text(panel, words, ((panel.shape[1] - width) / 2, (panel.shape[0] - height) / 2), 13 * _SCALE, MUTED)
    _paste(canvas, panel, left, top + _CAPTION, _MAP_SIDE)


def _finite(votes: FloatMap) -> FloatMap:
    return np.nan_to_num(np.asarray(votes, np.float32), nan=0.0, posinf=0.0, neginf=0.0)


def _heat_over(grey: Image, votes: FloatMap) -> Image:
    """Viridis over a grey picture: the stronger the votes, the less of the picture shines through."""
    finite = _finite(votes)
    strength = np.clip(finite, 0, None) / max(float(finite.max()), 1e-12)
    large = np.clip(cv2.resize(strength, grey.shape[1::-1], interpolation=cv2.INTER_LINEAR), 0, 1)
    colours = cv2.applyColorMap(np.round(large * 255).astype(np.uint8), cv2.COLORMAP_VIRIDIS)
    opacity = (0.45 + 0.4 * large)[:, :, None]
    return np.round(grey * (1 - opacity) + colours * opacity).astype(np.uint8)


def _draw_notes(canvas: Image, trace: FrameTrace, left_top: tuple[int, int]) -> None:
    """The legend with the role counts, and what was learned after the answer."""
    left, top = left_top[0], left_top[1] + _CAPTION
    _text(canvas, "legend", left, left_top[1] + 9, 13)
    _rectangle(canvas, left, top, _MAP_SIDE, _MAP_SIDE, PANEL)
    _draw_colour_votes(canvas, trace, (left + _MAP_SIDE - _SMALL_SIDE - 18, top + 16))
    left, y = left + 18, top + 20.0
    for name, colour in zip(ROLE_NAMES, ROLE_COLOURS, strict=True):
        _legend_box(canvas, left, y, colour, filled=True)
        _text(canvas, f"{trace.role_counts()[name]:>4}  {name}", left + 30, y, 13)
        y += 27
    _legend_box(canvas, left, y, TEXT, filled=True)
    end = _text(canvas, "agreed", left + 30, y, 13, MUTED)
    _legend_box(canvas, end + 20, y, TEXT, filled=False)
    _text(canvas, "did not", end + 50, y, 13, MUTED)
    y += 34
    for shape, words, colour in _PEAKS:
        put_peak(canvas, shape, ((left + 9) * _SCALE, (y + 7) * _SCALE), 6.5 * _SCALE, colour)
        _text(canvas, words, left + 30, y, 13)
        y += 27
    _draw_events(canvas, trace, left, y + 12, top + _MAP_SIDE)


def _draw_colour_votes(canvas: Image, trace: FrameTrace, left_top: tuple[int, int]) -> None:
    """H_t in a corner of the legend; nothing where no colour part votes."""
    if not trace.colour_votes.any():
        return
    left, top = left_top
    grey = cv2.cvtColor(
        cv2.cvtColor(_enlarged(trace.crop, _SMALL_SIDE * _SCALE), cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR
    )
    _paste(canvas, _heat_over(np.asarray(grey, dtype=np.uint8), trace.colour_votes), left, top, _SMALL_SIDE)
    _text(canvas, "H_t  colours", left, top + _SMALL_SIDE + 6, 11, MUTED)


def _legend_box(canvas: Image, left: float, top: float, colour: Colour, filled: bool) -> None:
    near = (round(left * _SCALE), round((top - 2) * _SCALE))
    far = (round((left + 18) * _SCALE), round((top + 16) * _SCALE))
    if filled:
        tint(canvas, *near, *far, colour, 0.35)
    cv2.rectangle(canvas, near, far, colour, _SCALE, cv2.LINE_AA)


def _draw_events(canvas: Image, trace: FrameTrace, left: float, top: float, bottom: float) -> None:
    """What failed stands first and in a colour of its own: it must not be cut off."""
    _text(canvas, "learned after the answer", left, top, 12, MUTED)
    line, width = 23, (_MAP_SIDE - 36) * _SCALE
    room = max(1, int((bottom - top - 20) // line))
    learned = [event for event in trace.events if event not in trace.fault] or ([] if trace.fault else ["nothing"])
    lines = [(part, FAULT) for part in wrap(trace.fault, 12 * _SCALE, width) if part]
    lines += [(part, TEXT) for event in learned for part in wrap(event, 12 * _SCALE, width)]
    if len(lines) > room:
        lines = [*lines[: room - 1], (f"and {len(lines) - room + 1} lines more", TEXT)]
    for number, (words, colour) in enumerate(lines, start=1):
        _text(canvas, words, left, top + number * line, 12, colour)


def _times(point: Point, zoom: float) -> Point:
    return (point[0] * zoom, point[1] * zoom)


def _enlarged(crop: Image, side: int) -> Image:
    """The crop, its longer side as long as given."""
    zoom = side / max(crop.shape[:2])
    size = (round(crop.shape[1] * zoom), round(crop.shape[0] * zoom))
    method = cv2.INTER_CUBIC if zoom > 1 else cv2.INTER_AREA
    return np.asarray(cv2.resize(crop, size, interpolation=method), dtype=np.uint8)


def _paste(canvas: Image, panel: Image, left: float, top: float, side: float) -> None:
    """Into the middle of a square."""
    _rectangle(canvas, left, top, side, side, PANEL)
    x = round(left * _SCALE) + (round(side * _SCALE) - panel.shape[1]) // 2
    y = round(top * _SCALE) + (round(side * _SCALE) - panel.shape[0]) // 2
    canvas[y : y + panel.shape[0], x : x + panel.shape[1]] = panel
