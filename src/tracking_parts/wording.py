"""How errors repeat what they were given."""

from __future__ import annotations

MAX_QUOTED = 100  # characters


def in_short(value: object) -> str:
    """What was given, on one line of bounded length; of an error, its message.

    >>> in_short("a" * 200)[-3:]
    'aa…'
    """
    try:
        text = str(value) if isinstance(value, Exception) else repr(value)
    except Exception:  # somebody else's repr, or an integer of too many digits
        text = f"a value of type {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= MAX_QUOTED else f"{text[: MAX_QUOTED - 1]}…"
