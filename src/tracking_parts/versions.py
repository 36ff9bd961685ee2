"""What a run was made with: recorded beside every result."""

from __future__ import annotations

import platform
from importlib import metadata

PACKAGES = (
    "tracking-parts",
    "torch",
    "numpy",
    "opencv-python-headless",
    "opencv-contrib-python-headless",
    "av",
    "ncnn",
)


def versions() -> dict[str, str]:
    """Versions of Python and of those packages that are installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
