"""The studio over HTTP and its socket."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from cli_helpers import HEIGHT, WIDTH, make_folder, make_video
from studio_helpers import BOX, SOCKET, Tab, make_client, make_studio, wait_for
from tracking_parts.io.video import open_source
from tracking_parts.studio.exports import EXPORT_FORMATS
from tracking_parts.studio.studio import Studio

FRAMES = 12


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    folder = tmp_path / "videos"
    make_video(folder / "clip.mp4", FRAMES)
    make_folder(folder / "images", 4)
    (folder / "notes.txt").write_text("no video")
    made, _ = make_studio(tmp_path, folder)
    yield made
    made.close()


@pytest.fixture
def client(studio: Studio) -> TestClient:
    return make_client(studio)


@pytest.fixture
def project(client: TestClient) -> str:
    return str(client.post("/api/open", json={"kind": "file", "name": "clip.mp4"}).json()["id"])


def tracked(client: TestClient, project: str, names: tuple[str, ...] = ("",)) -> list[int]:
    """Targets that were drawn in frame 2 and tracked to the end."""
    with client.websocket_connect(f"{SOCKET}/api/projects/{project}/socket?tab=a") as socket:
        tab = Tab(socket)
        targets = [tab.ask("add_target", name=name)["target"]["id"] for name in names]
        for place, target in enumerate(targets):
            assert tab.ask("draw", target=target, frame=2, box=[10.0 + 4 * place, *BOX[1:]])["ok"]
        tab.ask("track", frame=2)
        tab.wait_for_phase("done")
    return targets


def test_the_first_page_lists_what_there_is(client: TestClient) -> None:
    offers = client.get("/api/start").json()
    assert offers["files"] == ["clip.mp4", "images"]
    assert offers["projects"] == [] and offers["given"] is None
    assert 'id="start"' in client.get("/").text


def test_opening_again_finds_the_same_project(client: TestClient, project: str) -> None:
    assert client.post("/api/open", json={"kind": "file", "name": "clip.mp4"}).json()["id"] == project
    images = client.post("/api/open", json={"kind": "file", "name": "images"}).json()["id"]
    assert [each["id"] for each in client.get("/api/start").json()["projects"]] == [images, project]


def test_frames_are_pictures_of_the_asked_width(client: TestClient, project: str) -> None:
    for width, expected in ((32, 32), (640, WIDTH)):
        response = client.get(f"/api/projects/{project}/frames/3.jpg?w={width}")
        assert response.headers["content-type"] == "image/jpeg"
        picture = cv2.imdecode(np.frombuffer(response.content, np.uint8), cv2.IMREAD_COLOR)
        assert picture is not None and picture.shape[1] == expected
    missing = client.get(f"/api/projects/{project}/frames/{FRAMES}.jpg")
    assert missing.status_code == 400 and "has no frame" in missing.json()["message"]
    assert client.get(f"/api/projects/{project}/frames/0.jpg?w=100000").status_code == 422


def test_the_socket_tells_what_was_tracked(client: TestClient, project: str) -> None:
    with client.websocket_connect(f"{SOCKET}/api/projects/{project}/socket?tab=a") as socket:
        tab = Tab(socket)
        hello = tab.hear("hello")
        assert hello["project"]["frames"] == FRAMES and hello["targets"] == []
        target = tab.ask("add_target", name="dog", colour="#123456")["target"]
        assert target["name"] == "dog" and target["colour"] == "#123456"
        tab.ask("draw", target=target["id"], frame=0, box=BOX)
        tab.ask("track", frame=0)
        tab.wait_for_phase("done")
        told = [
            row["frame"]
            for message in tab.heard
            if message["kind"] == "rows"
            for row in message["rows"][str(target["id"])]
        ]
        assert told == list(range(FRAMES))
        assert any(message["kind"] == "speed" for message in tab.heard)


NONSENSE = ("", "no json", "[]", "{}", '{"do": "fly"}', '{"do": "draw"}', '{"do": "draw", "target": "x"}', "1")


@pytest.mark.parametrize("text", [*NONSENSE, pytest.param("x" * 20_000, id="long")])
def test_nonsense_over_the_socket_is_answered_in_words(client: TestClient, project: str, text: str) -> None:
    with client.websocket_connect(f"{SOCKET}/api/projects/{project}/socket?tab=a") as socket:
        tab = Tab(socket)
        socket.send_text(text)
        assert "could not be understood" in tab.hear("reply")["message"]
        assert tab.ask("add_target")["ok"]


def test_a_project_belongs_to_one_tab_at_a_time(client: TestClient, project: str) -> None:
    address = f"{SOCKET}/api/projects/{project}/socket"
    with client.websocket_connect(f"{address}?tab=a") as first:
        tab = Tab(first)
        tab.hear("hello")
        with pytest.raises(WebSocketDisconnect) as refused, client.websocket_connect(f"{address}?tab=b") as second:
            second.receive_text()
        assert refused.value.code == 4001
        with client.websocket_connect(f"{address}?tab=b&take=true") as third:
            Tab(third).hear("hello")
            tab.hear("taken")
    with client.websocket_connect(f"{address}?tab=c") as later:
        Tab(later).hear("hello")


def test_a_reload_of_the_same_tab_takes_its_place(client: TestClient, project: str) -> None:
    address = f"{SOCKET}/api/projects/{project}/socket?tab=a"
    with client.websocket_connect(address) as first, client.websocket_connect(address) as second:
        Tab(first).hear("hello")
        Tab(second).hear("hello")


def test_a_copy_has_a_life_of_its_own(client: TestClient, studio: Studio, project: str) -> None:
    (target,) = tracked(client, project)
    copy = client.post(f"/api/projects/{project}/copy").json()["id"]
    (twin,) = studio.store.targets(copy)
    assert studio.store.rows(twin.id) == studio.store.rows(target)
    assert studio.store.drawn(twin.id) == studio.store.drawn(target)
    client.delete(f"/api/projects/{project}")
    assert len(studio.store.rows(twin.id)) == FRAMES - 2


def test_rows_and_the_inside_can_be_read_again(client: TestClient, project: str) -> None:
    (target,) = tracked(client, project)
    content = client.get(f"/api/projects/{project}/rows").json()[str(target)]
    assert content["drawn"] == [2] and [row["frame"] for row in content["rows"]] == list(range(2, FRAMES))
    inside = client.get(f"/api/projects/{project}/inside/{target}/5").json()["inside"]
    assert len(inside["parts"]["ids"]) == 5 and set(inside["maps"]) == {"filter", "convnet", "colour", "combined"}
    assert client.get(f"/api/projects/{project}/inside/{target}/0").json()["inside"] is None
    assert client.get(f"/api/projects/{project}/inside/999/5").status_code == 404


def export(client: TestClient, project: str, format_name: str, **values: Any) -> tuple[str, bytes]:
    number = client.post(f"/api/projects/{project}/exports", json={"format": format_name, **values}).json()["id"]
    answer = wait_for(
        lambda: ((state := client.get(f"/api/exports/{number}").json())["ready"] and state) or state["problem"]
    )
    assert isinstance(answer, dict), answer
    response = client.get(f"/api/exports/{number}/file")
    assert response.headers["content-disposition"].startswith("attachment")
    assert response.headers["content-type"] == "application/octet-stream"
    return answer["ready"], response.content


@pytest.mark.parametrize("format_name", EXPORT_FORMATS)
def test_every_format_can_be_fetched(client: TestClient, project: str, format_name: str, tmp_path: Path) -> None:
    tracked(client, project, ("cat", "dog"))
    name, content = export(client, project, format_name)
    assert content
    path = tmp_path / name
    path.write_bytes(content)
    if format_name == "mp4":
        with open_source(path) as frames:
            assert len(list(frames)) == FRAMES
    elif format_name in ("otb", "vot"):
        with zipfile.ZipFile(path) as archive:
            assert [each.split("_")[1] for each in archive.namelist()] == ["cat", "dog"]
    elif format_name == "coco":
        assert len(json.loads(content)["annotations"]) == 2 * (FRAMES - 2)
    elif format_name == "cvat":
        assert content.count(b"<track ") == 2 and b'label="dog"' in content
    elif format_name == "mot":
        assert {line.split(b",")[1] for line in content.splitlines()} == {b"1", b"2"}


def test_an_export_can_be_of_one_target(client: TestClient, project: str) -> None:
    _, dog = tracked(client, project, ("cat", "dog"))
    name, content = export(client, project, "otb", targets=[dog])
    assert name == "clip_otb.txt" and content.startswith(b"15.0000,13.0000,12.0000,12.0000\n")
    assert len(content.splitlines()) == FRAMES - 2


def test_nothing_to_export_is_said(client: TestClient, project: str) -> None:
    for format_name, words in (("cvat", "no boxes"), ("gif", "unknown format")):
        number = client.post(f"/api/projects/{project}/exports", json={"format": format_name}).json()["id"]
        assert words in wait_for(lambda number=number: client.get(f"/api/exports/{number}").json()["problem"])  # type: ignore[misc]


@pytest.mark.parametrize("with_video", [True, False])
def test_a_project_file_reopens_everything(client: TestClient, studio: Studio, project: str, with_video: bool) -> None:
    (target,) = tracked(client, project, ("dog",))
    _, content = export(client, project, "project", with_video=with_video)
    if with_video:
        client.delete(f"/api/projects/{project}")
    again = client.post("/api/uploads", params={"name": "x.stp"}, content=content).json()["id"]
    (twin,) = studio.store.targets(again)
    assert twin.name == "dog" and twin.id != target
    rows = studio.store.rows(twin.id)
    assert [row.frame for row in rows] == list(range(2, FRAMES))
    assert list(studio.store.drawn(twin.id)) == [2]
    assert studio.store.inside_frames(twin.id) == list(range(2, FRAMES))
    assert client.get(f"/api/projects/{again}/frames/{FRAMES - 1}.jpg").status_code == 200


def test_a_project_file_without_its_video_says_so(client: TestClient, project: str, tmp_path: Path) -> None:
    tracked(client, project)
    _, content = export(client, project, "project", with_video=False)
    other, _ = make_studio(tmp_path / "other")
    answer = make_client(other).post("/api/uploads", content=content)
    assert answer.status_code == 400 and "open the video" in answer.json()["message"]
    other.close()


def test_sizes_are_those_of_the_video(studio: Studio, project: str) -> None:
    kept = studio.store.project(project)
    assert (kept.width, kept.height, kept.frame_count, kept.fps) == (WIDTH, HEIGHT, FRAMES, 25.0)


def test_a_camera_that_does_not_answer_is_said(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracking_parts.studio.studio.cameras", lambda: ["77"])
    response = client.post("/api/open", json={"kind": "camera", "name": "77"})
    assert response.status_code == 400 and "camera" in response.json()["message"]
    absent = client.post("/api/open", json={"kind": "camera", "name": "78"})
    assert absent.json()["message"] == "there is no camera 78 on this computer"
    assert client.get("/api/start").json()["projects"] == []
