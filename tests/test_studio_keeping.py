"""What outlives a page and a server: undo, the lock of the data folder, and which videos may be read again."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.studio_process import START
from cli_helpers import make_video
from studio_helpers import BOX, SOCKET, Tab, make_client, make_studio
from tracking_parts.errors import OutputError, SourceError
from tracking_parts.studio import undoing
from tracking_parts.studio.locking import only_server
from tracking_parts.studio.store import Store
from tracking_parts.studio.studio import Studio

MOVED = [30.0, 20.0, 10.0, 10.0]


# ---------------------------------------------------------------- undo
def test_undo_survives_a_restart(tmp_path: Path) -> None:
    make_video(tmp_path / "clip.mp4", 6)
    studio, _ = make_studio(tmp_path, tmp_path)
    project = studio.open_file("clip.mp4").id
    session = studio.session(project)
    target = session.add_target().id
    session.draw(target, 1, BOX)
    session.draw(target, 1, MOVED)
    session.draw(target, 3, BOX)
    session.undo()
    studio.close()

    again, _ = make_studio(tmp_path, tmp_path)
    session = again.session(project)
    assert session.description()["undo"] == {"can_undo": True, "can_redo": True}
    assert set(again.store.drawn(target)) == {1}
    undone = session.undo()
    assert undone is not None and undone[0].frame == 1
    assert again.store.drawn(target)[1].xywh == tuple(BOX)
    session.redo()
    session.redo()
    assert session.redo() is None
    assert again.store.drawn(target)[1].xywh == tuple(MOVED) and 3 in again.store.drawn(target)
    again.close()


def test_a_new_box_ends_what_could_be_redone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undoing, "MOST_STEPS", 3)
    make_video(tmp_path / "clip.mp4", 6)
    studio, _ = make_studio(tmp_path, tmp_path)
    session = studio.session(studio.open_file("clip.mp4").id)
    target = session.add_target().id
    for frame in range(5):
        session.draw(target, frame, BOX)
    session.undo()
    session.draw(target, 5, BOX)
    assert session.redo() is None
    undone = [step.frame for _ in range(9) if (done := session.undo()) is not None for step in [done[0]]]
    assert undone == [5, 3, 2], "only the last steps are kept"
    session.delete_target(target)
    assert session.undo_log.state() == {"can_undo": False, "can_redo": False}
    studio.close()


def test_undo_over_the_socket(tmp_path: Path) -> None:
    make_video(tmp_path / "clip.mp4", 6)
    studio, _ = make_studio(tmp_path, tmp_path)
    client = make_client(studio)
    project = studio.open_file("clip.mp4").id
    with client.websocket_connect(f"{SOCKET}/api/projects/{project}/socket?tab=a") as socket:
        tab = Tab(socket)
        assert tab.hear("hello")["undo"] == {"can_undo": False, "can_redo": False}
        target = tab.ask("add_target")["target"]["id"]
        assert tab.ask("draw", target=target, frame=2, box=BOX)["undo"]["can_undo"]
        step = tab.ask("undo")["step"]
        assert step == {"target": target, "frame": 2, "drawn": False, "row": None}
        assert tab.ask("undo")["step"] is None
        assert tab.ask("redo")["step"]["row"]["box"] == BOX
        assert tab.ask("erase", target=target, frame=2)["row"] is None
        assert tab.ask("undo")["step"]["drawn"]
        assert tab.ask("correct_by", how="teach")["ok"]
        assert not tab.ask("correct_by", how="magic")["ok"]
    assert studio.store.project(project).correcting == "teach"
    studio.close()


def test_work_of_the_first_version_is_taken_over(tmp_path: Path) -> None:
    store = Store(tmp_path)
    facts = {"name": "x", "kind": "file", "source": "/x.mp4", "frame_count": 9, "fps": 25.0, "width": 64, "height": 48}
    project = store.add_project(**facts).id
    store.close()
    with sqlite3.connect(tmp_path / "studio.sqlite") as database:
        database.executescript(
            "ALTER TABLE project DROP COLUMN correcting; DROP TABLE step; DROP TABLE granted; PRAGMA user_version = 1;"
        )
    database.close()
    store = Store(tmp_path)
    assert store.project(project).correcting == "anew"
    store.grant(tmp_path)
    assert store.granted() == [tmp_path]
    store.close()


# ---------------------------------------------------------------- the lock
def test_a_second_server_is_told_where_the_first_is(tmp_path: Path) -> None:
    with only_server(tmp_path, "http://127.0.0.1:8765/"):
        with (
            pytest.raises(OutputError, match=r"open already at http://127.0.0.1:8765/ .*--data"),
            only_server(tmp_path, "http://127.0.0.1:8766/"),
        ):
            pass
        done = subprocess.run(
            [sys.executable, "-c", START, "studio", "--no-browser", "--port", "0", "--data", str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 2 and "open already at http://127.0.0.1:8765/" in done.stderr
        assert done.stderr.count("\n") == 1
    with only_server(tmp_path, "http://127.0.0.1:8766/"):
        pass


@pytest.mark.timeout(600)
def test_a_killed_server_leaves_no_lock(tmp_path: Path) -> None:
    holder = (
        "import sys, time; from pathlib import Path; from tracking_parts.studio.locking import only_server\n"
        f"with only_server(Path({str(tmp_path)!r}), 'http://x/'):\n    print('held', flush=True); time.sleep(900)"
    )
    process = subprocess.Popen([sys.executable, "-c", holder], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    with pytest.raises(OutputError, match="open already"), only_server(tmp_path, ""):
        pass
    process.kill()
    process.wait()
    process.stdout.close()
    with only_server(tmp_path, ""):
        pass


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(OutputError, match="belongs to another user"), only_server(tmp_path, ""):
        pass


# ---------------------------------------------------------------- which videos may be read
def test_projects_of_earlier_command_lines_can_be_opened_again(tmp_path: Path) -> None:
    make_video(tmp_path / "films" / "clip.mp4", 6)
    studio, _ = make_studio(tmp_path, tmp_path / "films" / "clip.mp4")
    project = studio.open_file("clip.mp4").id
    studio.close()
    later, _ = make_studio(tmp_path)
    assert later.session(project).frame(0, 64).jpeg and later.offers()["projects"][0]["problem"] == ""
    later.close()


def test_a_server_that_others_can_reach_reads_only_what_it_was_given(tmp_path: Path) -> None:
    make_video(tmp_path / "private" / "clip.mp4", 6)
    make_video(tmp_path / "shared" / "clip.mp4", 6)
    studio, _ = make_studio(tmp_path, tmp_path / "private")
    private = studio.open_file("clip.mp4").id
    studio.close()
    reachable = Studio(Store(tmp_path / "data"), studio._make_tracker, tmp_path / "shared", only_opened=True)
    shared = reachable.open_file("clip.mp4").id
    assert reachable.session(shared).frame(0, 64).jpeg
    with pytest.raises(SourceError, match="outside the folder"):
        reachable.session(private)
    with pytest.raises(SourceError, match="outside the folder"):
        reachable.start_export(private, "mp4", None, True)
    offers = {each["id"]: each["problem"] for each in reachable.offers()["projects"]}
    assert offers == {shared: "", private: "its video is elsewhere"}
    client = make_client(reachable)
    assert client.get(f"/api/projects/{private}/frames/0.jpg").status_code == 400
    reachable.close()


def test_no_project_leads_to_a_path_that_nobody_gave(tmp_path: Path) -> None:
    """Neither one that was put into the database, nor a link that came into the folder later."""
    make_video(tmp_path / "secret" / "clip.mp4", 6)
    make_video(tmp_path / "films" / "clip.mp4", 6)
    studio, _ = make_studio(tmp_path, tmp_path / "films")
    planted = studio._add(tmp_path / "secret" / "clip.mp4", "file", "planted").id
    honest = studio.open_file("clip.mp4").id
    (tmp_path / "films" / "clip.mp4").unlink()
    (tmp_path / "films" / "clip.mp4").symlink_to(tmp_path / "secret" / "clip.mp4")
    for project in (planted, honest):
        with pytest.raises(SourceError, match="outside the folder"):
            studio.session(project)
    studio.close()
