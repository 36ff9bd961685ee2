"""What the package needs, as it is installed here: versions, licences, who needs whom, and whether all is pinned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
PACKAGE = "tracking-parts"
ONLY_FOR_US = {"dev"}  # extras that no user installs


@dataclass(frozen=True)
class Dependency:
    """One installed distribution."""

    name: str  # canonical
    version: str
    required: bool  # False: of an extra only
    needs: tuple[str, ...]
    exact: bool  # whoever needs it wants exactly this version
    distribution: metadata.Distribution


def user_extras(provided: Iterable[str]) -> list[str]:
    return sorted(set(provided) - ONLY_FOR_US)


def applies(requirement: Requirement, extras: Iterable[str]) -> bool:
    """Whether a requirement counts here, for one of the extras or for none."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def resolve(requirements: Iterable[str], extras: Iterable[str]) -> dict[str, Dependency]:
    """All that is needed directly or by others, of what is installed; an extra that is not installed is left out.

    A required distribution that is missing raises :class:`importlib.metadata.PackageNotFoundError`.
    """
    wanted = [Requirement(text) for text in requirements]
    found: dict[str, Dependency] = {}
    for requirement in wanted:
        if applies(requirement, ()):
            _walk(requirement, True, found)
    for requirement in wanted:
        if applies(requirement, extras) and _is_installed(requirement.name):
            _walk(requirement, False, found)
    return dict(sorted(found.items()))


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _walk(requirement: Requirement, required: bool, found: dict[str, Dependency]) -> None:
    name = canonicalize_name(requirement.name)
    exact = any(specifier.operator in ("==", "===") for specifier in requirement.specifier)
    known = found.get(name)
    if known is not None and (known.required or not required) and known.exact >= exact and not requirement.extras:
        return
    distribution = metadata.distribution(requirement.name)
    asked = [child for child in map(Requirement, distribution.requires or ()) if applies(child, requirement.extras)]
    children = [child for child in asked if _is_installed(child.name) or (required and applies(child, ()))]
    needs = {canonicalize_name(child.name) for child in children} | set(known.needs if known else ())
    required = required or bool(known and known.required)
    exact = exact or bool(known and known.exact)
    found[name] = Dependency(name, distribution.version, required, tuple(sorted(needs)), exact, distribution)
    for child in children:
        _walk(child, required, found)


def installed_dependencies() -> dict[str, Dependency]:
    """Of the package as it is installed here, its extras included."""
    own = metadata.distribution(PACKAGE)
    return resolve(own.requires or (), user_extras(own.metadata.get_all("Provides-Extra") or ()))


def read_pins(path: Path = CONSTRAINTS) -> dict[str, str]:
    """Name and version of every line that applies here; a line that pins nothing exactly raises ValueError."""
    pins: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.split("#")[0].strip()
        if not text:
            continue
        requirement = Requirement(text)
        specifiers = list(requirement.specifier)
        if len(specifiers) != 1 or specifiers[0].operator != "==" or specifiers[0].version.endswith("*"):
            raise ValueError(f"{path.name}: {text!r} is no exact version")
        if applies(requirement, ()):
            name = canonicalize_name(requirement.name)
            if name in pins:
                raise ValueError(f"{path.name} pins {name} twice")
            pins[name] = specifiers[0].version
    return pins


def unpinned(dependencies: Mapping[str, Dependency], pins: Mapping[str, str]) -> list[str]:
    """What is wrong, in words. What another one pins exactly, as torch does its CUDA libraries, needs no line."""
    faults = []
    for name, dependency in dependencies.items():
        if name not in pins:
            if not dependency.exact:
                faults.append(f"{name} {dependency.version} is not pinned")
        elif Version(pins[name]).public != Version(dependency.version).public:
            faults.append(f"{name} is pinned to {pins[name]}, but {dependency.version} is installed")
    return faults
