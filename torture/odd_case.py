"""What a case of odd input is, and how its outcome is judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from torture.odd_scene import XYWH, Player, Scene, Seen, moving_scene, overlap

FOLLOWED = 0.5  # least overlap with the truth


class Expect(str, Enum):
    """What is right to do."""

    FOLLOW = "follow"  # the object is there: its box, or the plain word that it is lost
    ANSWER = "answer"  # no place is right, but a finite box comes
    REFUSE = "refuse"  # an error that names the problem
    EITHER = "either"  # an answer or an error
    DOUBT = "doubt"  # there is no object: it must not be claimed to be seen


class Kind(str, Enum):
    """What was done."""

    FOLLOWS = "follows"
    ANSWERS = "answers"
    SAYS_LOST = "says lost"
    REFUSES = "refuses"  # an error of the tracker's own; of the peers, which have none, any error that Python can catch
    FOREIGN = "foreign error"  # ours only: an error of numpy, torch, OpenCV or Python
    WRONG = "wrong"  # a box that is not the object's, without a word of doubt
    CRASHES = "crashes"
    HANGS = "hangs"
    ABSENT = "—"  # the tracker has no such call


BAD = (Kind.FOREIGN, Kind.WRONG, Kind.CRASHES, Kind.HANGS)


@dataclass(frozen=True)
class Outcome:
    """What a tracker made of one case."""

    kind: Kind
    detail: str = ""  # the state, the error's message, or what is wrong

    @property
    def survived(self) -> bool:
        return self.kind not in BAD


@dataclass(frozen=True)
class Case:
    """One odd thing done to a tracker.

    Attributes:
        group: Under which heading it stands.
        name: What the user does.
        expect: What is right.
        play: Does it to a tracker; gives the last answer, or lets the tracker's error through.
        ours_only: It uses a call that the peers do not have.
        alone: It needs a process of its own.
    """

    group: str
    name: str
    expect: Expect
    play: Callable[[Any], Seen]
    ours_only: bool = False
    alone: bool = False


class LostItsWayError(Exception):
    """After a refusal the tracker does not go on as before."""


def judge(case: Case, seen: Seen) -> Outcome:
    """The kind of an answer; errors, crashes and hangs are judged by whoever catches them."""
    answer, (width, height) = seen.answer, seen.size_wh
    x, y, w, h = answer.box
    if answer.confidence is not None and not 0 <= answer.confidence <= 1:
        return Outcome(Kind.WRONG, f"confidence {answer.confidence:g}")
    if not answer.found:
        return Outcome(Kind.SAYS_LOST, answer.state)
    if not all(math.isfinite(value) for value in answer.box) or w <= 0 or h <= 0:
        return Outcome(Kind.WRONG, f"claims box ({x:g}, {y:g}, {w:g}, {h:g})")
    if not (-1e-6 <= x + w / 2 <= width + 1e-6 and -1e-6 <= y + h / 2 <= height + 1e-6):
        return Outcome(Kind.WRONG, "claims a box whose centre is outside the frame")
    if case.expect in (Expect.ANSWER, Expect.EITHER):
        return Outcome(Kind.ANSWERS, answer.state)
    if seen.truth is None:
        doubts = answer.state not in ("", "tracking")
        return Outcome(Kind.ANSWERS, answer.state) if doubts else Outcome(Kind.WRONG, "claims to see what is not there")
    found = overlap(answer.box, seen.truth)
    if found >= FOLLOWED:
        return Outcome(Kind.FOLLOWS, answer.state)
    return Outcome(Kind.WRONG, f"claims a box that overlaps the object by {found:.2f}")


def judge_error(error: Exception, own: type[Exception] | None) -> Outcome:
    """``own`` is the base of the tracker's own errors; None: it has none, and any error counts as refusal."""
    text = " ".join(str(error).split())
    if isinstance(error, LostItsWayError):
        return Outcome(Kind.WRONG, text)
    if own is None or (isinstance(error, own) and "\n" not in str(error)):
        return Outcome(Kind.REFUSES, f"{type(error).__name__}: {text}")
    return Outcome(Kind.FOREIGN, f"{type(error).__name__}: {text}")


# ---------------------------------------------------------------------- what most cases do
def follow(player: Player, scene: Scene, box: Any, frames: Sequence[Any] | None = None) -> Seen:
    """Start on the first frame, go through the others."""
    shown = scene.frames if frames is None else frames
    player.init(shown[0], box)
    answers = [player.update(frame) for frame in shown[1:]]
    return scene.seen(answers[-1], len(shown) - 1)


def with_box(box: Any) -> Callable[[Player], Seen]:
    """Start on a box and go on."""
    return lambda player: follow(player, moving_scene(), box)


def with_frames(convert: Callable[[Any], Any]) -> Callable[[Player], Seen]:
    """Every frame in another form."""

    def play(player: Player) -> Seen:
        scene = moving_scene()
        return follow(player, scene, (120, 90, 48, 40), [convert(frame) for frame in scene.frames])

    return play


def midway(make: Callable[[Any], Any], truth: Callable[[XYWH], XYWH] | None = None) -> Callable[[Player], Seen]:
    """One bad frame in the middle; if it is refused, tracking must go on as if it had not been shown.

    ``truth`` says where the object is in the bad frame, from where it would be in a good one; None: nowhere.
    """

    def play(player: Player) -> Seen:
        scene = moving_scene()
        player.init(scene.frames[0], (120, 90, 48, 40))
        player.update(scene.frames[1])
        try:
            answer = player.update(make(scene.frames[2]))
        except Exception:
            after = player.update(scene.frames[3])
            if not after.found or overlap(after.box, scene.boxes[3]) < FOLLOWED:
                raise LostItsWayError("refuses the frame, but does not find the object in the next one") from None
            raise
        return Seen(answer, None if truth is None else truth(scene.boxes[2]))

    return play
