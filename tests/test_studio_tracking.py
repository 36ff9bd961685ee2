"""Drawing, tracking, correcting: what a session does, with a tracker that answers at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_helpers import make_folder, make_video
from studio_helpers import BOX, FakeManyTracker, make_studio, wait_for
from tracking_parts.errors import InvalidBoxError, TargetNameError, TrackingPartsError
from tracking_parts.studio.model import BY_HAND
from tracking_parts.studio.plan import Phase
from tracking_parts.studio.session import Session
from tracking_parts.studio.studio import Studio

FRAMES = 20


@pytest.fixture
def made(tmp_path: Path) -> Iterator[tuple[Studio, Session, list[FakeManyTracker]]]:
    make_video(tmp_path / "v" / "clip.mp4", FRAMES)
    studio, trackers = make_studio(tmp_path, tmp_path / "v" / "clip.mp4")
    yield studio, studio.session(studio.open_file("clip.mp4").id), trackers
    studio.close()


def finish(session: Session) -> None:
    assert session._run is not None
    session._run.join(30)
    assert session._run.phase is Phase.DONE, session._run.problem


def pause_at(session: Session, frame: int) -> None:
    wait_for(lambda: session._run is not None and session._run.position >= frame)
    session.pause()
    wait_for(lambda: session._run is not None and session._run.phase is Phase.PAUSED)


def test_every_frame_from_the_drawn_one_on_is_tracked(made: tuple[Studio, Session, list[FakeManyTracker]]) -> None:
    studio, session, _ = made
    target = session.add_target().id
    session.draw(target, 4, BOX)
    session.track(4)
    finish(session)
    rows = studio.store.rows(target)
    assert [row.frame for row in rows] == list(range(4, FRAMES))
    assert rows[0].origin == BY_HAND and rows[0].box.xywh == tuple(BOX)
    assert rows[-1].box.x == pytest.approx(BOX[0] + FRAMES - 5)
    assert studio.store.inside_frames(target) == list(range(4, FRAMES))


def test_a_correction_keeps_what_was_before_it(made: tuple[Studio, Session, list[FakeManyTracker]]) -> None:
    studio, session, trackers = made
    target = session.add_target().id
    session.draw(target, 0, BOX)
    session.track(0)
    finish(session)
    before = studio.store.rows(target)[:10]
    session.draw(target, 10, [30, 20, 10, 10])
    session.track(10)
    finish(session)
    rows = studio.store.rows(target)
    assert rows[:10] == before
    assert rows[10].box.xywh == (30, 20, 10, 10) and rows[11].box.xywh == (31, 20, 10, 10)
    assert len(rows) == FRAMES and len(trackers) == 1


def test_a_correction_teaches_the_tracker_or_starts_it_anew(
    made: tuple[Studio, Session, list[FakeManyTracker]],
) -> None:
    """After the run as well as while paused; what stands in the row is the drawn box either way."""
    studio, session, trackers = made
    session.correct_by("teach")
    target = session.add_target().id
    session.draw(target, 0, BOX)
    session.track(0)
    finish(session)
    session.draw(target, 10, [30, 20, 10, 10])
    session.track(10)
    finish(session)
    assert trackers[0].taught == [(target, (30, 20, 10, 10))] and len(trackers[0].began) == 1
    row = studio.store.row(target, 10)
    assert row is not None and row.origin == BY_HAND and row.box.xywh == (30, 20, 10, 10)

    session.correct_by("anew")
    session.draw(target, 12, [20, 20, 10, 10])
    session.track(12)
    finish(session)
    assert len(trackers[0].taught) == 1 and trackers[0].began[-1] == (target, (20, 20, 10, 10))


def test_boxes_drawn_on_the_way_teach_it(made: tuple[Studio, Session, list[FakeManyTracker]]) -> None:
    studio, session, trackers = made
    session.correct_by("teach")
    target = session.add_target().id
    session.draw(target, 0, BOX)
    session.draw(target, 10, [30, 20, 10, 10])
    session.track(0, everyone=True)
    finish(session)
    assert trackers[0].began == [(target, tuple(BOX))] and trackers[0].taught == [(target, (30, 20, 10, 10))]
    assert [row.frame for row in studio.store.rows(target)] == list(range(FRAMES))
    session.track(0, everyone=True)
    finish(session)
    assert len(trackers[0].began) == 2, "tracking all again begins afresh"


def test_a_target_begun_again_has_no_margin(made: tuple[Studio, Session, list[FakeManyTracker]]) -> None:
    """Its told box is larger where it was in doubt: begun from it, it would grow with every start."""
    studio, session, trackers = made
    target = session.add_target().id
    session.draw(target, 0, BOX)
    session.track(0)
    finish(session)
    row = studio.store.row(target, 5)
    assert row is not None and row.box.w == pytest.approx(1.1 * BOX[2])
    session.track(5)
    finish(session)
    x, y, width, height = BOX
    name, began = trackers[-1].began[-1]
    assert name == target and began == pytest.approx((x + 5, y, width, height))


def test_what_cannot_be_kept_ends_the_run(
    made: tuple[Studio, Session, list[FakeManyTracker]], monkeypatch: pytest.MonkeyPatch
) -> None:
    studio, session, _ = made
    target = session.add_target().id
    session.draw(target, 0, BOX)

    def full(rows: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(studio.store, "put", full)
    session.track(0)
    assert session._run is not None
    session._run.join(30)
    assert session._run.phase is Phase.FAILED and "No space" in session._run.problem


def test_tracking_again_goes_through_all_drawn_boxes(made: tuple[Studio, Session, list[FakeManyTracker]]) -> None:
    studio, session, trackers = made
    target = session.add_target().id
    session.draw(target, 0, BOX)
    session.draw(target, 10, [30, 20, 10, 10])
    session.track(0, everyone=True)
    finish(session)
    assert [box for _, box in trackers[0].began] == [tuple(BOX), (30, 20, 10, 10)]
    assert studio.store.rows(target)[12].box.x == 32


def test_tracking_up_to_a_drawn_box_keeps_its_sequel(made: tuple[Studio, Session, list[FakeManyTracker]]) -> None:
    studio, session, trackers = made
    target = session.add_target().id
    session.draw(target, 10, [30, 20, 10, 10])
    session.track(10)
    finish(session)
    sequel = studio.store.rows(target)
    session.draw(target, 0, BOX)
    session.track(0)
    finish(session)
    rows = studio.store.rows(target)
    assert [row.frame for row in rows] == list(range(FRAMES))
    assert rows[10:] == sequel
    assert len(trackers[0].began) == 2


def test_only_the_corrected_target_is_tracked_again(made: tuple[Studio, Session, list[FakeManyTracker]]) -> None:
    studio, session, trackers = made
    one, two = session.add_target("one").id, session.add_target("two").id
    session.draw(one, 0, BOX)
    session.draw(two, 0, [20, 20, 8, 8])
    session.track(0)
    finish(session)
    others = studio.store.rows(two)
    session.draw(one, 5, [30, 20, 10, 10])
    session.track(5)
    finish(session)
    assert studio.store.rows(two) == others
    assert [name for name, _ in trackers[0].began] == [one, two, one]


def test_a_target_that_is_drawn_later_joins_there(made: tuple[Studio, Session, list[FakeManyTracker]]) -> None:
    studio, session, _ = made
    one, two = session.add_target().id, session.add_target().id
    session.draw(one, 0, BOX)
    session.draw(two, 8, [20, 20, 8, 8])
    session.track(0)
    finish(session)
    assert [row.frame for row in studio.store.rows(two)] == list(range(8, FRAMES))


def test_a_box_corrected_while_paused_counts_when_it_goes_on(tmp_path: Path) -> None:
    make_video(tmp_path / "clip.mp4", FRAMES)
    studio, trackers = make_studio(tmp_path, tmp_path, seconds=0.15)
    session = studio.session(studio.open_file("clip.mp4").id)
    one, two = session.add_target("one").id, session.add_target("two").id
    session.draw(one, 0, BOX)
    session.draw(two, 0, [20, 20, 8, 8])
    session.track(0)
    pause_at(session, 3)
    assert session._run is not None
    position = session._run.position
    session.draw(one, position, [40, 20, 10, 10])
    third = session.add_target("three").id
    session.draw(third, position, [5, 5, 8, 8])
    session.track(position)
    finish(session)
    assert studio.store.row(one, position + 1).start.x == 41  # type: ignore[union-attr]
    assert studio.store.row(third, position + 1).box.x == 6  # type: ignore[union-attr]
    assert [name for name, _ in trackers[0].began] == [one, two, one, third]
    studio.close()


def test_a_box_corrected_while_paused_teaches_when_it_goes_on(tmp_path: Path) -> None:
    make_video(tmp_path / "clip.mp4", FRAMES)
    studio, trackers = make_studio(tmp_path, tmp_path, seconds=0.15)
    session = studio.session(studio.open_file("clip.mp4").id)
    session.correct_by("teach")
    target = session.add_target().id
    session.draw(target, 0, BOX)
    session.track(0)
    pause_at(session, 3)
    assert session._run is not None
    position = session._run.position
    assert [row.frame for row in studio.store.rows(target)] == list(range(position + 1)), "paused: all is kept"
    session.draw(target, position, [40, 20, 10, 10])
    session.track(position)
    finish(session)
    assert len(trackers[0].began) == 1 and trackers[0].taught == [(target, (40, 20, 10, 10))]
    assert studio.store.row(target, position + 1).start.x == 41  # type: ignore[union-attr]
    studio.close()


def test_step_tracks_one_frame_at_a_time(made: tuple[Studio, Session, list[FakeManyTracker]]) -> None:
    studio, session, trackers = made
    target = session.add_target().id
    session.draw(target, 2, BOX)
    for frame in (3, 4, 5):
        session.step(frame - 1)
        wait_for(lambda frame=frame: session._run.phase is Phase.PAUSED and session._run.position == frame)  # type: ignore[misc, union-attr]
    assert [row.frame for row in studio.store.rows(target)] == [2, 3, 4, 5]
    assert len(trackers[0].began) == 1
    session.stop()


def test_a_stopped_run_keeps_what_it_has(tmp_path: Path) -> None:
    make_video(tmp_path / "clip.mp4", FRAMES)
    studio, _ = make_studio(tmp_path, tmp_path, seconds=0.15)
    session = studio.session(studio.open_file("clip.mp4").id)
    target = session.add_target().id
    session.draw(target, 0, BOX)
    session.track(0)
    with pytest.raises(TrackingPartsError, match="at work already"):
        session.track(0)
    wait_for(lambda: session._run is not None and session._run.position >= 2)
    session.stop()
    assert 3 <= len(studio.store.rows(target)) < FRAMES
    studio.close()


def test_erasing_gives_back_what_the_tracker_said(made: tuple[Studio, Session, list[FakeManyTracker]]) -> None:
    studio, session, _ = made
    target = session.add_target().id
    session.draw(target, 0, BOX)
    session.track(0)
    finish(session)
    said = studio.store.row(target, 7)
    session.draw(target, 7, [1, 1, 9, 9])
    session.draw(target, 7, [2, 2, 9, 9])
    assert session.erase(target, 7) == said == studio.store.row(target, 7)
    assert session.erase(target, 0) is None and studio.store.row(target, 0) is None


def test_mistakes_are_said_in_words(made: tuple[Studio, Session, list[FakeManyTracker]]) -> None:
    _, session, _ = made
    with pytest.raises(InvalidBoxError, match="draw a box"):
        session.track(0)
    target = session.add_target("dog").id
    for box in ([0, 0, 0, 0], [-50, -50, 10, 10], [1, 1, float("nan"), 5], [1, 2, 3], ["a", 1, 1, 1]):
        with pytest.raises(InvalidBoxError):
            session.draw(target, 0, box)  # type: ignore[arg-type]
    with pytest.raises(InvalidBoxError, match="no target has a box"):
        session.track(3)
    with pytest.raises(TargetNameError, match="already"):
        session.add_target("dog")
    with pytest.raises(TargetNameError):
        session.draw(999, 0, BOX)


def test_a_recording_is_tracked_while_it_grows(tmp_path: Path) -> None:
    source = make_folder(tmp_path / "pictures", 30)
    studio, _ = make_studio(tmp_path)
    project = studio.record(str(source), "camera 0", fps=1000)
    session = studio.session(project.id)
    target = session.add_target().id
    session.draw(target, 0, BOX)
    session.track(0)
    finish(session)
    count = studio.store.project(project.id).frame_count
    assert count > 5
    assert len(studio.store.rows(target)) == count
    assert session.frame(count - 1, 64).jpeg.startswith(b"\xff\xd8")
    studio.delete(project.id)
    assert not Path(project.source).exists()
    studio.close()


def test_two_projects_do_not_disturb_each_other(tmp_path: Path) -> None:
    make_video(tmp_path / "a.mp4", FRAMES)
    make_video(tmp_path / "b.mp4", FRAMES)
    studio, trackers = make_studio(tmp_path, tmp_path, seconds=0.01)
    sessions = [studio.session(studio.open_file(name).id) for name in ("a.mp4", "b.mp4")]
    targets = [session.add_target().id for session in sessions]
    for session, target, left in zip(sessions, targets, (5.0, 30.0), strict=True):
        session.draw(target, 0, [left, 12, 12, 12])
        session.track(0)
    for session, target, left in zip(sessions, targets, (5.0, 30.0), strict=True):
        finish(session)
        assert studio.store.rows(target)[-1].box.x == left + FRAMES - 1
    assert len(trackers) == 2
    studio.close()
