"""Build the wheel twice, in two places, and compare them byte for byte: ``python -m tools.wheel`` (``make wheel``).

The build uses the setuptools that is installed here (pinned in constraints.txt), so that it needs no network. Times in
the wheel are those of the last commit (``SOURCE_DATE_EPOCH`` if set).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.dependencies import ROOT

SOURCES = ("pyproject.toml", "README.md", "LICENSE", "src")
FIRST_OF_ZIP = 315532800  # 1980-01-01: no zip file knows an earlier day


class NotReproducibleError(Exception):
    """Two builds of the same source differ."""


def source_date(root: Path = ROOT) -> int:
    """Seconds since 1970 that count as the time of the build."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    command = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
    try:
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return FIRST_OF_ZIP


def copy_sources(root: Path, folder: Path) -> Path:
    """What the wheel is made of, and nothing that an earlier build left; modes are the same whoever copies."""
    folder.mkdir(parents=True)
    for name in SOURCES:
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copyfile(root / name, folder / name)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def build(source: Path, out: Path, epoch: int) -> Path:
    """One wheel, by the setuptools of this environment."""
    command = [sys.executable, "-m", "pip", "-qq", "--no-input", "--disable-pip-version-check", "wheel"]
    command += ["--no-deps", "--no-build-isolation", "--no-cache-dir", "-w", str(out), str(source)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "PYTHONHASHSEED": "0"}
    subprocess.run(command, check=True, env=environment)
    (wheel,) = out.glob("*.whl")
    return wheel


def build_twice(root: Path, out: Path, epoch: int | None = None) -> Path:
    """The wheel in ``out``, if a second build elsewhere gave the same bytes."""
    epoch = source_date(root) if epoch is None else epoch
    with tempfile.TemporaryDirectory(prefix="stp-wheel-") as folder:
        places = [Path(folder) / name for name in ("first", "second-and-elsewhere")]
        wheels = [build(copy_sources(root, place / "source"), place / "wheel", epoch) for place in places]
        first, second = (wheel.read_bytes() for wheel in wheels)
        if first != second or wheels[0].name != wheels[1].name:
            raise NotReproducibleError(f"two builds differ: {wheels[0].name} {_digest(first)} and {_digest(second)}")
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copyfile(wheels[0], out / wheels[0].name))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args(arguments)
    try:
        wheel = build_twice(ROOT, options.out)
    except NotReproducibleError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{wheel}\nsha256 {_digest(wheel.read_bytes())}, the same in two builds")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
