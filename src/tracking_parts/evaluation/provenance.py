"""What made a result: written beside it, and compared before anything is added to it.

Settings, seed and protocol must be the same for all results of a folder. Versions, machine, threads and engine may
change between a run and the one that continues it: whatever was in use when results were added is listed.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tracking_parts.errors import ConfigError, FormatError, one_line
from tracking_parts.evaluation.claims import claim
from tracking_parts.evaluation.protocol import Protocol
from tracking_parts.evaluation.trackers import TrackerChoice
from tracking_parts.io.files import write_atomically
from tracking_parts.io.plain_files import parse_json, read_text
from tracking_parts.versions import versions

FILE_NAME = "run.json"
DECIDES_THE_RESULT = ("tracker", "settings", "seed", "protocol")
CIRCUMSTANCES = ("threads", "engine", "versions", "machine")
CONTINUED = "continued"


def describe_run(
    choice: TrackerChoice, seed: int, protocol: Protocol, threads: int, engine: str = "local"
) -> dict[str, Any]:
    """Everything needed to repeat a run, as JSON gives it back. ``machine`` is where it was started, whatever the
    engine; ``seed`` is that of the first repetition.
    """
    description = {
        "tracker": choice.spec.identity,
        "settings": choice.settings,
        "seed": seed,
        "protocol": asdict(protocol),
        "threads": threads,
        "engine": engine,
        "versions": versions(),
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
        },
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
    plain: dict[str, Any] = json.loads(json.dumps(description))
    return plain


def claim_folder(folder: Path, description: dict[str, Any], adds_results: bool = True) -> None:
    """Describe the run in its folder; refuse a folder whose results were made by another tracker or other settings."""
    saved = read_description(folder) or _write_first(folder, description)
    different = [key for key in DECIDES_THE_RESULT if not _agrees(saved.get(key), description[key])]
    if different:
        raise ConfigError(f"{folder} holds results with another {', '.join(different)}: choose another folder")
    if adds_results and not _is_known(description, saved):
        _write_continuation(folder, description)


def circumstances(description: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What was in use for the results of a folder: for the first ones, and for those that were added later."""
    later = description.get(CONTINUED)
    entries = later if isinstance(later, list) else []
    return [description, *(one for one in entries if isinstance(one, Mapping))]


def _is_known(description: Mapping[str, Any], saved: Mapping[str, Any]) -> bool:
    return any(
        all(_agrees(one.get(key, description[key]), description[key]) for key in CIRCUMSTANCES)
        for one in circumstances(saved)
    )


def _write_continuation(folder: Path, description: dict[str, Any]) -> None:
    """Add what is in use now to the description, unless another run did so at this moment."""
    path = folder / FILE_NAME
    with claim(path, wait=True):
        saved = read_description(folder) or description
        if not _is_known(description, saved):
            now = {key: description[key] for key in (*CIRCUMSTANCES, "started")}
            continued = {**saved, CONTINUED: [*circumstances(saved)[1:], now]}
            write_atomically(path, _as_text(continued))


def _agrees(saved: Any, now: Any) -> bool:
    """Equal in all that was saved: an older version may have written less, and its results are to be continued."""
    if isinstance(saved, dict) and isinstance(now, dict):
        return all(key in now and now[key] == value for key, value in saved.items())
    return bool(saved == now)


def _write_first(folder: Path, description: dict[str, Any]) -> dict[str, Any]:
    """Write the description unless another run that starts at this moment was faster; return what is written."""
    path = folder / FILE_NAME
    with claim(path, wait=True):
        saved = read_description(folder)
        if saved is None:
            write_atomically(path, _as_text(description))
    return saved or description


def _as_text(description: Mapping[str, Any]) -> bytes:
    return (json.dumps(description, indent=2) + "\n").encode()


def read_description(folder: Path) -> dict[str, Any] | None:
    """The description in a tracker's folder, or None where nobody wrote one."""
    path = folder / FILE_NAME
    if not path.exists():
        return None
    try:
        description = parse_json(read_text(path))
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"{path} cannot be read: {one_line(error)}") from error
    if not isinstance(description, dict):
        raise FormatError(f"{path} is not the description of a run")
    return description


def _processor() -> str:
    """The processor's name; Linux keeps it where ``platform`` does not look."""
    if sys.platform == "linux":
        try:
            lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        except OSError:
            lines = []
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
