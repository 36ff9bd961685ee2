"""Reading .pth files without unpickling: against torch.save as the oracle, and against hostile and damaged files."""

from __future__ import annotations

import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracking_parts.errors import WeightsError
from tracking_parts.io.torch_files import read_torch_file

LAYOUTS = pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "legacy"])


def save(tensors: object, path: Path, is_zip: bool) -> Path:
    torch.save(tensors, path, _use_new_zipfile_serialization=is_zip)
    return path


def state_dictionary() -> OrderedDict[str, torch.Tensor]:
    base = torch.arange(48, dtype=torch.float32)
    return OrderedDict(
        {
            "weight": base.reshape(2, 2, 3, 4).clone(),
            "channels_last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
            "transposed": base.reshape(6, 8).t(),
            "slice": base[5:20:3],  # shares its storage with the one above
            "half": torch.randn(7).half(),
            "double": torch.randn(7, dtype=torch.float64),
            "parameter": torch.nn.Parameter(torch.randn(3, 3)),
            "counter": torch.tensor(12),
            "empty": torch.zeros(0, 3),
        }
    )


@LAYOUTS
def test_reads_what_torch_saved(tmp_path: Path, is_zip: bool) -> None:
    saved = state_dictionary()
    read = read_torch_file(save(saved, tmp_path / "a.pth", is_zip))
    assert list(read) == list(saved)
    for name, tensor in saved.items():
        assert read[name].dtype == torch.float32
        assert read[name].is_contiguous()
        assert torch.equal(read[name], tensor.detach().float())


@LAYOUTS
@pytest.mark.parametrize("protocol", [2, 4])
def test_reads_a_module_and_newer_protocols(tmp_path: Path, is_zip: bool, protocol: int) -> None:
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    path = tmp_path / "net.pth"
    torch.save(net.state_dict(), path, pickle_protocol=protocol, _use_new_zipfile_serialization=is_zip)
    read = read_torch_file(path)
    assert set(read) == set(net.state_dict())
    assert torch.equal(read["0.weight"], net.state_dict()["0.weight"])


@LAYOUTS
def test_reads_only_the_names_asked_for(tmp_path: Path, is_zip: bool) -> None:
    path = save(state_dictionary(), tmp_path / "a.pth", is_zip)
    assert list(read_torch_file(path, {"slice", "absent"})) == ["slice"]


@LAYOUTS
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shapes=st.lists(st.lists(st.integers(1, 4), min_size=0, max_size=4), min_size=1, max_size=6),
    seed=st.integers(0, 99),
)
def test_round_trip_of_any_shapes(tmp_path: Path, is_zip: bool, shapes: list[list[int]], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    saved = {f"t{index}": torch.randn(shape, generator=generator) for index, shape in enumerate(shapes)}
    read = read_torch_file(save(saved, tmp_path / "a.pth", is_zip))
    assert all(torch.equal(read[name], tensor) for name, tensor in saved.items())


def pickled_string(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def test_reads_the_oldest_legacy_files(tmp_path: Path) -> None:
    """As torch wrote before 0.2: Python 2 strings, `_rebuild_tensor`, and parameters made by their class and state."""
    values = torch.arange(6, dtype=torch.float32)
    storage = (
        b"(U\x07storagectorch\nFloatStorage\nU\x0299U\x03cpuK\x06Nt"  # type, key, device, count, no view
        b"Q"
    )
    tensor = b"ctorch._utils\n_rebuild_tensor\n(" + storage + b"K\x00K\x02K\x03\x86K\x03K\x01\x86tR"
    parameter = b"ctorch.nn.parameter\nParameter\n" + tensor + b"\x85R" + b"\x88\x89ccollections\nOrderedDict\n)R\x87b"
    state = b"\x80\x02ccollections\nOrderedDict\n]]U\x01wa" + parameter + b"aa\x85R."
    magic = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
    system = b"\x80\x02}" + pickled_string("little_endian") + b"\x88s."
    keys = b"\x80\x02]U\x0299a."
    path = tmp_path / "old.pth"
    path.write_bytes(
        magic + b"\x80\x02M\xe9\x03." + system + state + keys + struct.pack("<q", 6) + values.numpy().tobytes()
    )
    read = read_torch_file(path)
    assert torch.equal(read["w"], values.reshape(2, 3))


def hostile_pickle(marker: Path) -> bytes:
    return b"\x80\x02cos\nsystem\n" + pickled_string(f"touch {marker}") + b"\x85R."


def test_hostile_files_are_refused_and_never_executed(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    path = tmp_path / "hostile.pth"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", hostile_pickle(marker))
    with pytest.raises(WeightsError, match="no dictionary of tensors"):
        read_torch_file(path)
    path.write_bytes(hostile_pickle(marker))
    with pytest.raises(WeightsError, match="not written by torch"):
        read_torch_file(path)
    assert not marker.exists()


def test_a_call_among_the_tensors_is_not_made(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    path = save({"w": torch.ones(2)}, tmp_path / "a.pth", True)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in members if name.endswith("data.pkl"))
    call = b"cos\nsystem\n" + pickled_string(f"touch {marker}") + b"\x85R"
    members[name] = members[name][:-1] + pickled_string("evil") + call + b"s."
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    assert list(read_torch_file(path)) == ["w"]
    assert not marker.exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", ".pth"),
        (b"hello", ".pth"),
        (b"PK\x03\x04 not really", ".pth"),
        (b"\x80\x02K\x01.", "not written by torch"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "a.pth"
    path.write_bytes(content)
    with pytest.raises(WeightsError, match=reason):
        read_torch_file(path)


@LAYOUTS
@pytest.mark.parametrize("saved", [torch.ones(2), {"epoch": 3}, [torch.ones(1)]], ids=["tensor", "numbers", "list"])
def test_files_without_a_dictionary_of_tensors_are_refused(tmp_path: Path, is_zip: bool, saved: object) -> None:
    with pytest.raises(WeightsError, match="tensors"):
        read_torch_file(save(saved, tmp_path / "a.pth", is_zip))


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = save({"w": torch.ones(100)}, tmp_path / "a.pth", False)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(WeightsError, match="ends within"):
        read_torch_file(path)


def test_a_text_with_a_stray_backslash_does_not_warn(tmp_path: Path) -> None:
    (tmp_path / "a.pth").write_bytes(b"c\\w\n\\w\n.")  # found by the test below
    with pytest.raises(WeightsError):
        read_torch_file(tmp_path / "a.pth")


@LAYOUTS
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_gives_our_error_or_tensors_but_nothing_else(tmp_path: Path, is_zip: bool, data: st.DataObject) -> None:
    path = save({"w": torch.ones(2, 3), "b": torch.ones(3)}, tmp_path / "a.pth", is_zip)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content)
    try:
        read = read_torch_file(path)
    except WeightsError as error:
        assert "\n" not in str(error)
    else:
        assert all(isinstance(tensor, torch.Tensor) for tensor in read.values())
