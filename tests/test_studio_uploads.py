"""Files that come from the page."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from cli_helpers import make_video
from studio_helpers import make_client, make_studio
from tracking_parts.errors import SourceError
from tracking_parts.studio.decoder import Decoder
from tracking_parts.studio.decoder_process import MEMORY_BYTES
from tracking_parts.studio.studio import Studio
from tracking_parts.studio.uploads import UploadLimits

SMALL = UploadLimits(largest_bytes=100_000, most_files=2)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    made, _ = make_studio(tmp_path, limits=SMALL)
    yield made
    made.close()


@pytest.fixture
def client(studio: Studio) -> TestClient:
    return make_client(studio)


def kept(studio: Studio) -> list[Path]:
    return sorted(studio.uploads.folder.iterdir()) if studio.uploads.folder.is_dir() else []


def test_a_video_becomes_a_project_under_a_name_of_ours(studio: Studio, client: TestClient, tmp_path: Path) -> None:
    content = make_video(tmp_path / "x.mp4", 5).read_bytes()
    answer = client.post("/api/uploads", params={"name": "../../holiday.mp4"}, content=content)
    assert answer.status_code == 200 and answer.json()["name"] == "holiday"
    (path,) = kept(studio)
    assert path.suffix == ".video" and path.stem.isalnum() and len(path.stem) == 32
    assert path.stat().st_mode & 0o177 == 0
    assert client.get(f"/api/projects/{answer.json()['id']}/frames/4.jpg").content.startswith(b"\xff\xd8")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html><script>alert(1)</script></html>",
        b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n/etc/passwd\n",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"\x7fELF" + bytes(200),
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        b"PK\x03\x04" + bytes(100),
        b"\x00\x00\x00\x18ftypisom" + bytes(1000),
    ],
)
def test_what_is_no_video_is_refused_and_not_kept(studio: Studio, client: TestClient, content: bytes) -> None:
    answer = client.post("/api/uploads", params={"name": "x.mp4"}, content=content)
    assert answer.status_code == 400
    assert answer.json()["message"]
    assert kept(studio) == [] and studio.store.projects() == []


def test_a_large_file_is_refused_by_what_it_says_and_by_what_it_is(studio: Studio, client: TestClient) -> None:
    start = b"\x00\x00\x00\x18ftypisom"
    said = client.post("/api/uploads", content=start + bytes(SMALL.largest_bytes))
    streamed = client.post("/api/uploads", content=(start + bytes(40_000) for _ in range(5)))
    for answer in (said, streamed):
        assert answer.status_code == 400 and "larger than" in answer.json()["message"]
    assert kept(studio) == []


def test_the_number_of_uploads_is_bounded(studio: Studio, client: TestClient, tmp_path: Path) -> None:
    content = make_video(tmp_path / "x.mp4", 3).read_bytes()
    made = [client.post("/api/uploads", content=content).json()["id"] for _ in range(2)]
    refused = client.post("/api/uploads", content=content)
    assert refused.status_code == 400 and "delete a project" in refused.json()["message"]
    client.delete(f"/api/projects/{made[0]}")
    assert len(kept(studio)) == 1
    assert client.post("/api/uploads", content=content).status_code == 200


def test_uploads_are_never_served(studio: Studio, client: TestClient, tmp_path: Path) -> None:
    client.post("/api/uploads", content=make_video(tmp_path / "x.mp4", 3).read_bytes())
    (path,) = kept(studio)
    for address in (f"/uploads/{path.name}", f"/static/{path.name}", f"/api/uploads/{path.name}"):
        assert client.get(address).status_code in (404, 405)


def test_half_uploads_are_removed_at_the_next_start(tmp_path: Path) -> None:
    first, _ = make_studio(tmp_path)
    first.uploads.folder.mkdir(parents=True)
    (first.uploads.folder / "left.part").write_bytes(b"x")
    (first.uploads.folder / "orphan.video").write_bytes(b"x")
    first.close()
    second, _ = make_studio(tmp_path)
    assert kept(second) == []


def test_the_decoder_is_another_process_with_limits(tmp_path: Path) -> None:
    with Decoder(make_video(tmp_path / "x.mp4", 3)) as decoder:
        number = decoder._process.pid
        assert number != os.getpid()
        assert resource.prlimit(number, resource.RLIMIT_FSIZE) == (0, 0)
        assert 0 < resource.prlimit(number, resource.RLIMIT_AS)[0] <= MEMORY_BYTES
        assert resource.prlimit(number, resource.RLIMIT_NOFILE)[0] <= 64


def test_a_decoder_that_dies_or_hangs_is_one_error(tmp_path: Path) -> None:
    with Decoder(make_video(tmp_path / "x.mp4", 3), frame_seconds=0.2) as decoder:
        os.kill(decoder._process.pid, 19)  # SIGSTOP: it hangs
        with pytest.raises(SourceError, match="too long"):
            decoder.read(0)
        with pytest.raises(SourceError, match="stopped"):
            decoder.read(1)


def test_a_recording_that_is_no_camera_is_refused(client: TestClient) -> None:
    answer = client.post("/api/open", json={"kind": "camera", "name": "/etc/passwd"})
    assert answer.status_code == 400 and "no camera" in answer.json()["message"]
