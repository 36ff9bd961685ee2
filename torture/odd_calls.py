"""Odd ways to call a tracker: too early, twice, from other threads and processes, with wrong options."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from torture.odd_case import FOLLOWED, Case, Expect, LostItsWayError, follow, with_box
from torture.odd_child import in_child
from torture.odd_players import Ours, as_answer
from torture.odd_scene import Answer, Player, Scene, Seen, moving_scene, overlap

PLAIN = (120, 90, 48, 40)
ELSEWHERE = (30, 150, 40, 40)
PATIENCE = 60.0  # seconds for a forked child


def call_cases() -> list[Case]:
    """Every odd call, in the order of the table."""
    return [*_order(), *_threads(), *_making(), *_several(), *_opencv_style()]


def _order() -> list[Case]:
    return [
        Case("Calls", "`update` before `init`", Expect.REFUSE, _too_early),
        Case("Calls", "`init` twice", Expect.FOLLOW, _twice),
        Case("Calls", "`init` refused, then `init` with a good box", Expect.FOLLOW, _second_try),
        Case("Calls", "`init` refused while following", Expect.FOLLOW, _refused_while_following, ours_only=True),
        Case("Calls", "`update` after `close`", Expect.REFUSE, _after_close, ours_only=True),
        Case("Calls", "`init` five times", Expect.FOLLOW, _often),
        Case("Calls", "`trace` before `init`", Expect.REFUSE, lambda ours: ours.tracker.trace, ours_only=True),
        Case("Calls", "`save` before `init`", Expect.REFUSE, lambda ours: ours.tracker.save("x"), ours_only=True),
    ]


def _threads() -> list[Case]:
    return [
        Case("Calls", "`update` from another thread", Expect.FOLLOW, _other_thread),
        Case("Calls", "`update` from two threads at once", Expect.REFUSE, _two_threads),
        Case("Calls", "fork after `init`, `update` in the child", Expect.FOLLOW, _fork(_go_on), alone=True),
        Case("Calls", "fork after `init`, `init` in the child", Expect.FOLLOW, _fork(_begin_anew), alone=True),
    ]


def _making() -> list[Case]:
    options: dict[str, dict[str, Any]] = {
        "an unknown profile": {"config": "quick"},
        "a dictionary for settings": {"config": {"alpha": 0.5}},
        "None for settings": {"config": None},
        "an unknown device": {"device": "gpu"},
        "a device that is not there": {"device": "cuda:7"},
        "an unknown engine": {"engine": "tensorflow"},
        "a negative seed": {"seed": -1},
        "a word for a seed": {"seed": "seven"},
        "no weights in `weights`": {"weights": {}},
    }
    return [
        Case("Making a tracker", name, Expect.REFUSE, _made_with(wrong), ours_only=True)
        for name, wrong in options.items()
    ]


def _several() -> list[Case]:
    def case(name: str, expect: Expect, play: Callable[[Any, Scene], Any]) -> Case:
        return Case("MultiTracker", name, expect, _with_multi(play), ours_only=True)

    return [
        case("`update` without targets", Expect.ANSWER, _no_targets),
        case("a name twice", Expect.REFUSE, lambda multi, scene: multi.add(scene.frames[0], ELSEWHERE, "a")),
        case("`remove` of an unknown name", Expect.REFUSE, lambda multi, scene: multi.remove("b")),
        case("`remove` twice", Expect.REFUSE, lambda multi, scene: (multi.remove("a"), multi.remove("a"))),
        case("`trace` of an unknown name", Expect.REFUSE, lambda multi, scene: multi.trace("b")),
        case("a list for a name", Expect.REFUSE, lambda multi, scene: multi.add(scene.frames[0], ELSEWHERE, ["b"])),
        case("`remove` of a list", Expect.REFUSE, lambda multi, scene: multi.remove(["a"])),
        case("a boolean for a name", Expect.REFUSE, lambda multi, scene: multi.add(scene.frames[0], ELSEWHERE, True)),
        case("a bad box among good ones", Expect.REFUSE, lambda multi, scene: multi.add(scene.frames[0], (9, 9, 0, 9))),
        case("a frame of another size to `add`", Expect.REFUSE, lambda multi, scene: multi.add(_half(scene), PLAIN)),
        case("a frame of another size to `update`", Expect.REFUSE, lambda multi, scene: multi.update(_half(scene))),
        case("None to `update`", Expect.REFUSE, lambda multi, scene: multi.update(None)),
        case("the same box twice", Expect.FOLLOW, _same_box),
        case("removed between frames", Expect.FOLLOW, _removed_between),
        Case("MultiTracker", "fork after `add`", Expect.FOLLOW, _forked_multi, ours_only=True, alone=True),
    ]


def _opencv_style() -> list[Case]:
    def case(name: str, expect: Expect, play: Callable[[Any], Any]) -> Case:
        return Case("OpenCV's calls", name, expect, lambda ours: play(ours.opencv_style()), ours_only=True)

    return [
        case("as it should be", Expect.FOLLOW, with_box(PLAIN)),
        case("`update` before `init`", Expect.REFUSE, _too_early),
        case("a box of no width", Expect.REFUSE, with_box((120, 90, 0, 40))),
        case("None for a frame", Expect.REFUSE, lambda player: player.init(None, PLAIN)),
    ]


# ---------------------------------------------------------------------- order
def _too_early(player: Player) -> Seen:
    return Seen(player.update(moving_scene().frames[0]), None)


def _twice(player: Player) -> Seen:
    player.init(moving_scene().frames[0], ELSEWHERE)
    player.update(moving_scene().frames[1])
    return follow(player, moving_scene(), PLAIN)


def _second_try(player: Player) -> Seen:
    try:
        player.init(moving_scene().frames[0], (400, 300, 40, 40))
    except Exception:
        return follow(player, moving_scene(), PLAIN)
    return follow(player, moving_scene(), PLAIN)


def _refused_while_following(player: Player) -> Seen:
    scene = moving_scene()
    player.init(scene.frames[0], PLAIN)
    player.update(scene.frames[1])
    try:
        player.init(scene.frames[1], (400, 300, 40, 40))
    except Exception:
        return scene.seen(player.update(scene.frames[2]), 2)
    raise LostItsWayError("takes a box that lies outside the frame")


def _after_close(ours: Ours) -> Seen:
    follow(ours, moving_scene(), PLAIN)
    ours.tracker.close()
    return Seen(ours.update(moving_scene().frames[0]), None)


def _often(player: Player) -> Seen:
    for _ in range(4):
        player.init(moving_scene().frames[0], PLAIN)
    return follow(player, moving_scene(), PLAIN)


# ---------------------------------------------------------------------- threads and processes
def _other_thread(player: Player) -> Seen:
    scene = moving_scene()
    player.init(scene.frames[0], PLAIN)
    for frame in scene.frames[1:]:
        answer = _in_threads([lambda frame=frame: player.update(frame)])[0]  # type: ignore[misc]
    return scene.seen(answer, -1)


def _two_threads(player: Player) -> Seen:
    """If the second caller is refused, the first one must not notice."""
    scene = moving_scene()
    player.init(scene.frames[0], PLAIN)
    together = threading.Barrier(2)

    def work() -> Answer:
        for _ in range(10):
            together.wait(30)
            try:
                answer = player.update(scene.frames[1])
            except Exception:
                together.abort()
                raise
        return answer

    def or_broken() -> Answer:
        try:
            return work()
        except threading.BrokenBarrierError:
            return player.update(scene.frames[1])

    try:
        answers = _in_threads([or_broken, or_broken])
    except Exception:
        after = player.update(scene.frames[2])
        if overlap(after.box, scene.boxes[2]) < FOLLOWED:
            raise LostItsWayError("refuses the second thread, but has lost the object") from None
        raise
    return scene.seen(answers[-1], 1)


def _in_threads(works: list[Callable[[], Answer]]) -> list[Answer]:
    """Every work in a thread of its own; the first error is raised here."""
    answers: list[Any] = [None] * len(works)

    def run(index: int) -> None:
        try:
            answers[index] = works[index]()
        except Exception as error:
            answers[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers


def _go_on(player: Player, scene: Scene) -> Answer:
    return [player.update(frame) for frame in scene.frames[2:]][-1]


def _begin_anew(player: Player, scene: Scene) -> Answer:
    return follow(player, scene, PLAIN).answer


def _fork(work: Callable[[Player, Scene], Answer]) -> Callable[[Player], Seen]:
    """What the child answers; it is killed if it has not in time."""

    def play(player: Player) -> Seen:
        scene = moving_scene()
        player.init(scene.frames[0], PLAIN)
        player.update(scene.frames[1])
        return scene.seen(in_child(lambda: work(player, scene), PATIENCE), -1)

    return play


# ---------------------------------------------------------------------- making, and several
def _made_with(options: dict[str, Any]) -> Callable[[Ours], Seen]:
    def play(ours: Ours) -> Seen:
        made = ours.make(**options)
        return follow(Ours(made), moving_scene(), PLAIN)

    return play


def _half(scene: Scene) -> Any:
    return np.ascontiguousarray(scene.frames[0][::2, ::2])


def _with_multi(play: Callable[[Any, Scene], Any]) -> Callable[[Ours], Seen]:
    """On two targets, the first of which is the scene's object; a refusal must leave both as they are."""

    def run(ours: Ours) -> Seen:
        scene = moving_scene()
        with ours.multi() as multi:
            multi.add(scene.frames[0], PLAIN, "a")
            multi.add(scene.frames[0], ELSEWHERE)
            names = multi.names
            multi.update(scene.frames[1])
            try:
                seen = play(multi, scene)
            except Exception:
                _still_follows(multi, scene, names)
                raise
            return seen if isinstance(seen, Seen) else Seen(Answer(True, PLAIN, "tracking"), None)

    return run


def _still_follows(multi: Any, scene: Scene, names: tuple[Any, ...]) -> None:
    results = multi.update(scene.frames[2])
    if set(results) - set(names) or ("a" in results and overlap(results["a"].box.xywh, scene.boxes[2]) < FOLLOWED):
        raise LostItsWayError("refuses, but does not go on as before")


def _no_targets(multi: Any, scene: Scene) -> Seen:
    for name in multi.names:
        multi.remove(name)
    if multi.update(scene.frames[2]) != {}:
        raise LostItsWayError("has answers without targets")
    return Seen(Answer(True, PLAIN, "an empty dictionary"), None)


def _same_box(multi: Any, scene: Scene) -> Seen:
    multi.add(scene.frames[1], scene.boxes[1], "twin")
    return scene.seen(as_answer(multi.update(scene.frames[2])["twin"]), 2)


def _removed_between(multi: Any, scene: Scene) -> Seen:
    multi.remove(multi.names[1])
    return scene.seen(as_answer(multi.update(scene.frames[2])["a"]), 2)


def _forked_multi(ours: Ours) -> Seen:
    def work(multi: Any, scene: Scene) -> Seen:
        return scene.seen(in_child(lambda: as_answer(multi.update(scene.frames[2])["a"]), PATIENCE), 2)

    return _with_multi(work)(ours)
