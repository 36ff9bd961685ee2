"""Text and JSON from files that anybody may have written: bounded in size, and wrong in one way only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tracking_parts.errors import FormatError

LARGEST_TEXT = 32 << 20  # bytes; a region for each of half a million frames takes less


def read_text(path: Path, most_bytes: int = LARGEST_TEXT) -> str:
    """The whole text of a file, with or without a byte-order mark; :class:`FormatError` where there is none."""
    try:
        with path.open("rb") as stream:
            content = stream.read(most_bytes + 1)
        if len(content) > most_bytes:
            raise FormatError(f"cannot read {path}: it has more than {most_bytes} bytes")
        return content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is no text file'}") from error


def parse_json(text: str | bytes) -> Any:
    """What the text says; ``ValueError`` for whatever is wrong with it, lists in lists without end included."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("lists within lists, too deep to be read") from None
