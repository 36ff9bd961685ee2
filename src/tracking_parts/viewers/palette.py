"""One palette for every picture, after Okabe and Ito: told apart by readers with any common form of colour blindness.

Colours are BGR, as OpenCV draws them. Where colour carries a meaning, a shape or a word carries it as well.
"""

from __future__ import annotations

from tracking_parts.result import State

Colour = tuple[int, int, int]

BACKGROUND: Colour = (32, 26, 22)
PANEL: Colour = (50, 42, 36)
TEXT: Colour = (240, 238, 236)
MUTED: Colour = (178, 170, 162)
BLACK: Colour = (0, 0, 0)
WHITE: Colour = (255, 255, 255)

GREEN: Colour = (115, 158, 0)
YELLOW: Colour = (66, 228, 240)
VERMILION: Colour = (0, 94, 213)
SKY_BLUE: Colour = (233, 180, 86)
ORANGE: Colour = (0, 159, 230)
GREY: Colour = (190, 190, 190)
MAGENTA: Colour = (255, 0, 255)
CYAN: Colour = (255, 255, 0)

FAULT = ORANGE  # of learning; vermilion is hard to read in small letters

STATE_COLOURS: dict[State, Colour] = {State.TRACKING: GREEN, State.UNCERTAIN: YELLOW, State.LOST: VERMILION}

# In the order of the roles' codes: candidate, reliable, gold.
ROLE_NAMES = ("candidate", "reliable", "gold")
ROLE_COLOURS: tuple[Colour, Colour, Colour] = (GREY, SKY_BLUE, ORANGE)

FILTER_PEAK = MAGENTA
CONVNET_PEAK = CYAN
DECISION_PEAK = WHITE


def readable_on(background: Colour) -> Colour:
    """Black or white, whichever can be read on a colour (perceived brightness, ITU-R BT.601)."""
    blue, green, red = background
    return BLACK if 0.114 * blue + 0.587 * green + 0.299 * red > 120 else WHITE
