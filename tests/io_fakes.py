"""Stand-ins for the network: wheels made on the spot, and a package index that is a folder or is out of reach."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracking_parts.io.download import DownloadError, PinnedWheel, Progress


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def make_wheel(folder: Path, name: str, version: str, members: Mapping[str, bytes]) -> Path:
    """A wheel that pip accepts."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def pin_of(path: Path, requirement: str) -> PinnedWheel:
    content = path.read_bytes()
    return PinnedWheel(requirement, sha256(content), len(content))


@dataclass
class FakeIndex:
    """Takes the place of ``pip_download``: hands out one wheel, or is out of reach while ``wheel`` is None."""

    wheel: Path | None
    requests: list[str] = field(default_factory=list)

    def __call__(self, wheel: PinnedWheel, folder: Path, progress: Progress | None = None) -> None:
        self.requests.append(wheel.requirement)
        if self.wheel is None:
            raise DownloadError(f"pip could not download {wheel.requirement}: no network")
        shutil.copy(self.wheel, folder)


def flip_byte(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0xFF
    path.write_bytes(content)


def recorder() -> tuple[list[tuple[str, int, int | None]], Callable[[str, int, int | None], None]]:
    calls: list[tuple[str, int, int | None]] = []
    return calls, lambda description, done, total: calls.append((description, done, total))
