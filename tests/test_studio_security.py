"""Who may talk to the studio, and what they can reach."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from cli_helpers import make_video
from studio_helpers import HOME, PORT, SOCKET, make_client, make_studio
from tracking_parts.studio.access import AccessRules

TOKEN = "a-token-of-some-length"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    folder = tmp_path / "videos"
    folder.mkdir()
    make_video(folder / "good.mp4", 5)
    make_video(tmp_path / "secret.mp4", 5)
    (folder / "link.mp4").symlink_to(tmp_path / "secret.mp4")
    studio, _ = make_studio(tmp_path, folder)
    yield make_client(studio)
    studio.close()


PATHS = ("/", "/static/js/main.js", "/api/start")


@pytest.mark.parametrize("path", PATHS)
def test_the_right_host_is_served(client: TestClient, path: str) -> None:
    for host in (f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}"):
        assert client.get(path, headers={"host": host}).status_code == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    [
        f"evil.example:{PORT}",  # a name that was bound to 127.0.0.1 afterwards
        "127.0.0.1",
        f"127.0.0.1:{PORT + 1}",
        f"127.0.0.1.evil.example:{PORT}",
        f"localhost.:{PORT}",
        f"evil@127.0.0.1:{PORT}",
        f"192.168.1.5:{PORT}",
        "",
        "[",
    ],
)
def test_dns_rebinding_is_refused(client: TestClient, path: str, host: str) -> None:
    response = client.get(path, headers={"host": host})
    assert response.status_code == 421
    assert "import" not in response.text


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"http://localhost:{PORT}", f"https://127.0.0.1:{PORT}"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_other_origins_are_refused(client: TestClient, origin: str, method: str) -> None:
    response = client.request(method, "/api/start", headers={"origin": origin})
    assert response.status_code == 403


def test_our_own_origin_is_welcome(client: TestClient) -> None:
    response = client.post("/api/open", json={"kind": "file", "name": "good.mp4"}, headers={"origin": HOME})
    assert response.status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_site_embeds_is_refused(client: TestClient, site: str) -> None:
    embedded = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
    assert client.get("/api/start", headers=embedded).status_code == 403
    assert client.get("/static/js/main.js", headers=embedded).status_code == 403
    link = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=link).status_code == 200
    assert client.get("/api/start", headers=link).status_code == 403


@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {"host": f"evil.example:{PORT}"}])
def test_sockets_of_others_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    project = client.post("/api/open", json={"kind": "file", "name": "good.mp4"}).json()["id"]
    address = f"{SOCKET}/api/projects/{project}/socket?tab=x"
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(address, headers=headers) as socket:
        socket.receive_text()
    with client.websocket_connect(address, headers={"origin": HOME}) as socket:
        assert "hello" in socket.receive_text()


@pytest.mark.parametrize("path", [*PATHS, "/api/exports/x/file", "/nothing"])
def test_without_the_token_nothing_is_served(tmp_path: Path, path: str) -> None:
    studio, _ = make_studio(tmp_path)
    client = make_client(studio, TOKEN)
    for headers in ({}, {"authorization": "Bearer wrong"}, {"cookie": f"stp_studio_{PORT}=wrong"}, {"cookie": "=;=,"}):
        response = client.get(path, headers=headers)
        assert response.status_code == 401
        assert TOKEN not in response.text
    assert client.get(path, params={"token": "wrong"}).status_code == 401


def test_with_the_token_everything_is_served(tmp_path: Path) -> None:
    studio, _ = make_studio(tmp_path)
    client = make_client(studio, TOKEN)
    assert client.get("/api/start", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    entered = client.get("/", params={"token": TOKEN})
    assert entered.status_code == 200
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert client.get("/api/start", headers={"cookie": cookie.split(";")[0]}).status_code == 200


def test_sockets_need_the_token(tmp_path: Path) -> None:
    studio, _ = make_studio(tmp_path)
    client = make_client(studio, TOKEN)
    with (
        pytest.raises(WebSocketDisconnect) as refused,
        client.websocket_connect(f"{SOCKET}/api/projects/x/socket") as socket,
    ):
        socket.receive_text()
    assert refused.value.code == 1008


def test_a_server_at_all_addresses_answers_to_addresses_not_to_names() -> None:
    rules = AccessRules.for_bind("0.0.0.0", PORT, TOKEN)
    assert rules.is_our_host(f"192.168.1.5:{PORT}") and rules.is_our_host(f"[fe80::1]:{PORT}")
    assert not rules.is_our_host(f"evil.example:{PORT}") and not rules.is_our_host(f"0.0.0.0.evil.example:{PORT}")


@pytest.mark.parametrize(
    "name",
    ["../secret.mp4", "link.mp4", "/etc/passwd", "..", ".", "", "x/../../secret.mp4", "~/x.mp4", "http://x/y.mp4"],
)
def test_paths_outside_the_folder_cannot_be_read(client: TestClient, name: str) -> None:
    response = client.post("/api/open", json={"kind": "file", "name": name})
    assert response.status_code == 400
    assert client.get("/api/start").json()["projects"] == []


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd"]
)
def test_static_files_are_those_of_the_page(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_the_page_is_protected(client: TestClient) -> None:
    for path in PATHS:
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
    assert client.get("/docs").status_code == client.get("/openapi.json").status_code == 404


def test_the_page_fetches_nothing_from_outside() -> None:
    from tracking_parts.studio.app import STATIC

    for path in STATIC.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert "http://" not in text and "https://" not in text and "@import" not in text, path
