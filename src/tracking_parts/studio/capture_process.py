"""A camera recorded to numbered pictures: ``python -m tracking_parts.studio.capture_process SOURCE FOLDER FPS MOST``.

Each picture appears whole under its number, so that a recording can be looked at and tracked while it goes on, and is
good up to its last picture whatever ends it. Prints how many there are; ends when its standard input does.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from tracking_parts.errors import SourceError
from tracking_parts.frames import as_bgr
from tracking_parts.io.video import open_source
from tracking_parts.viewers.contact_sheet import write_image


def main(source: str, folder: Path, fps: float, most: int) -> int:
    """Record until told to stop, until the source ends, or until there are enough pictures."""
    ended = threading.Event()
    threading.Thread(target=wait_for_end, args=[ended], daemon=True).start()
    try:
        record(source, folder, fps, most, ended)
    except (SourceError, OSError) as error:
        print(f"error {error}", flush=True)
        return 1
    return 0


def wait_for_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def record(source: str, folder: Path, fps: float, most: int, ended: threading.Event) -> None:
    """At most ``fps`` pictures a second: those between are left out."""
    with open_source(source) as frames:
        folder.mkdir(parents=True, exist_ok=True)
        count, due = 0, time.monotonic()
        for frame in frames:
            if ended.is_set() or count >= most:
                return
            now = time.monotonic()
            if now < due:
                continue
            due = max(due + 1 / fps, now)
            unfinished = folder / ".unfinished.jpg"
            write_image(unfinished, as_bgr(frame))
            unfinished.replace(folder / f"{count:06d}.jpg")
            count += 1
            print(count, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
