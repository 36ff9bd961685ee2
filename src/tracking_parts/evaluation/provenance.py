"""What made a result: written once beside it, and compared before anything is added to it."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tracking_parts.errors import ConfigError, FormatError
from tracking_parts.evaluation.protocol import ResetProtocol
from tracking_parts.evaluation.trackers import TrackerChoice
from tracking_parts.io.files import write_atomically
from tracking_parts.versions import versions

FILE_NAME = "run.json"
DECIDES_THE_RESULT = ("tracker", "settings", "seed", "protocol")


def describe_run(choice: TrackerChoice, seed: int, protocol: ResetProtocol, threads: int) -> dict[str, Any]:
    """Everything needed to repeat a run, ready for JSON."""
    return {
        "tracker": choice.spec.text,
        "settings": choice.settings,
        "seed": seed,
        "protocol": asdict(protocol) | {"eao_interval": list(protocol.eao_interval)},
        "threads": threads,
        "versions": versions(),
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
        },
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def claim_folder(folder: Path, choice: TrackerChoice, seed: int, protocol: ResetProtocol, threads: int) -> None:
    """Describe the run in its folder; refuse a folder whose results were made by another tracker or other settings."""
    description = json.loads(json.dumps(describe_run(choice, seed, protocol, threads)))
    saved = read_description(folder)
    if saved is None:
        write_atomically(folder / FILE_NAME, (json.dumps(description, indent=2) + "\n").encode())
        return
    different = [key for key in DECIDES_THE_RESULT if saved.get(key) != description[key]]
    if different:
        raise ConfigError(f"{folder} holds results with another {', '.join(different)}: choose another folder")


def read_description(folder: Path) -> dict[str, Any] | None:
    """The description in a tracker's folder, or None where nobody wrote one."""
    path = folder / FILE_NAME
    if not path.exists():
        return None
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from error
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
