"""Drawing in SVG: text that is escaped, axes with round ticks, and signs that differ in shape as well as in colour.

Colours are CSS classes (``s0``, ``s1``, … for the trackers), so that one picture serves light, dark and paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

SLOTS = 8  # colours; after that they come again with other dashes and signs
LETTER = 7.2  # pixels that a letter takes at the size of 12 pixels, on average and on the safe side
DASHES = ("", "7 3", "2 3", "9 3 2 3")


def colour_class(slot: int) -> str:
    return f"s{slot % SLOTS}"


def dash_of(slot: int) -> str:
    """Neighbouring trackers differ in dash too: on paper without colour, and for whoever sees none."""
    return DASHES[(slot + slot // SLOTS) % len(DASHES)]


def shorten(words: str, letters: int) -> str:
    """Cut the middle out of a long name: what tells trackers apart stands at both ends.

    >>> shorten("stp:default?alpha=1", 12)
    'stp:de…pha=1'
    """
    if len(words) <= letters:
        return words
    kept = max(letters - 1, 2)
    return f"{words[: kept - kept // 2]}…{words[-(kept // 2) :]}"


@dataclass(frozen=True, slots=True)
class Axis:
    """A straight map from values to pixels; ``pixels`` may run backwards, as they do upwards."""

    values: tuple[float, float]
    pixels: tuple[float, float]

    def __call__(self, value: float) -> float:
        (low, high), (start, end) = self.values, self.pixels
        return start + (value - low) / (high - low) * (end - start)

    def ticks(self, about: int = 5) -> list[float]:
        return round_ticks(*self.values, about)


def round_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two values.

    >>> round_ticks(0, 1, 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / max(about, 1)
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


def axis_range(values: Sequence[float], around: float = 0.08) -> tuple[float, float]:
    """The finite values with some air; never empty, so that one value, or none, can be drawn too."""
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    air = (high - low) * around or max(abs(high) * 0.1, 0.05)
    return low - air, high + air


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move labels as little as possible until none is nearer than ``gap`` to the next, within bounds where they fit.

    >>> spread([5, 50, 5], 10, 0, 100)
    [0.0, 50.0, 10.0]
    """
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    # Without the room of the labels before it, each label's place must not fall: groups that do share their mean.
    groups: list[list[float]] = []
    for rank, index in enumerate(order):
        groups.append([positions[index] - rank * gap])
        while len(groups) > 1 and _mean(groups[-2]) > _mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    placed = [_mean(group) for group in groups for _ in group]
    found = [0.0] * len(order)
    for rank, index in enumerate(order):
        found[index] = max(min(placed[rank], high - (len(order) - 1) * gap), low) + rank * gap
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def number(value: float) -> str:
    """A tick's label: no needless zeros, a real minus sign."""
    return f"{value:g}".replace("-", "−")


@dataclass(slots=True)
class Drawing:
    """One picture under construction; its title and description are for those who cannot see it."""

    width: float
    height: float
    title: str
    description: str
    _elements: list[str] = field(default_factory=list)

    def line(self, start: tuple[float, float], end: tuple[float, float], cls: str) -> None:
        (x1, y1), (x2, y2) = start, end
        self._elements.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{cls}"/>')

    def rect(self, left: float, top: float, width: float, height: float, cls: str, hint: str = "") -> None:
        shape = f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" class="{cls}"'
        self._elements.append(_with_hint(shape, "rect", hint))

    def path(self, points: Sequence[tuple[float, float]], cls: str, dash: str = "", hint: str = "") -> None:
        """A line through the points, or with the class ``band`` an area."""
        if not points:
            return
        steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self._elements.append(_with_hint(f'<path d="M{steps}" class="{cls}"{dashes}', "path", hint))

    def text(
        self, at: tuple[float, float], words: str, cls: str = "", anchor: str = "start", hint: str = "", turn: float = 0
    ) -> None:
        x, y = at
        turned = f' transform="rotate({turn:g} {x:.1f} {y:.1f})"' if turn else ""
        inner = escape(words) + (f"<title>{escape(hint)}</title>" if hint and hint != words else "")
        named = f' class="{cls}"' if cls else ""
        self._elements.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}{turned}>{inner}</text>')

    def sign(self, at: tuple[float, float], slot: int, hint: str = "", radius: float = 5) -> None:
        """A tracker's sign."""
        shape = sign_shape(slot, at, radius)
        tag = shape[1:].split(" ", 1)[0]
        self._elements.append(_with_hint(f'{shape} class="sign {colour_class(slot)}"', tag, hint))

    def label(self, at: tuple[float, float], words: str, room: float, cls: str = "", anchor: str = "start") -> None:
        """Text cut to the room there is; the whole of it shows under the pointer."""
        self.text(at, shorten(words, max(4, int(room / LETTER))), cls, anchor, hint=words)

    def file(self, style: str) -> str:
        """The picture as a file of its own, with its style in it."""
        namespace = 'xmlns="http://www.w3.org/2000/svg"'
        size = f'width="{self.width:g}" height="{self.height:g}"'
        inner = self.svg().removeprefix("<svg ").replace('role="img">', f'role="img"><style>{style}</style>', 1)
        return f"<svg {namespace} {size} {inner}\n"

    def svg(self) -> str:
        # Without identifiers: they would have to be unique in a page that may hold the same chart of many data sets.
        return (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img">'
            f"<title>{escape(self.title)}</title><desc>{escape(self.description)}</desc>"
            + "".join(self._elements)
            + "</svg>"
        )


def sign_shape(slot: int, at: tuple[float, float], radius: float) -> str:
    """The open tag of a tracker's shape: circle, square, diamond, triangle, and the latter two upside down or wide."""
    x, y = at
    r = radius
    corners = {
        1: [(-r, -r), (r, -r), (r, r), (-r, r)],
        2: [(0, -1.4 * r), (1.4 * r, 0), (0, 1.4 * r), (-1.4 * r, 0)],
        3: [(0, -1.3 * r), (1.2 * r, r), (-1.2 * r, r)],
        4: [(0, 1.3 * r), (1.2 * r, -r), (-1.2 * r, -r)],
    }.get((slot + slot // SLOTS) % 5)
    if corners is None:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{1.1 * r:.1f}"'
    places = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{places}"'


def _with_hint(opened: str, tag: str, hint: str) -> str:
    return f"{opened}><title>{escape(hint)}</title></{tag}>" if hint else f"{opened}/>"
