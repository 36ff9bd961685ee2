"""Work that an answer does not wait for."""

from __future__ import annotations

import threading

import pytest

from core_helpers import follow, small_tracker
from synthetic import SyntheticSequence
from tracking_parts.afterwards import Afterwards


def test_work_is_done_once_when_it_is_needed() -> None:
    done: list[int] = []
    afterwards = Afterwards(may_wait=True)
    afterwards.add(lambda: done.append(1))
    assert done == []
    afterwards.add(lambda: done.append(2))
    assert done == [1]
    afterwards.finish()
    afterwards.finish()
    assert done == [1, 2]


def test_what_may_not_wait_is_done_at_once() -> None:
    done: list[int] = []
    Afterwards(may_wait=False).add(lambda: done.append(1))
    assert done == [1]


def test_meanwhile_it_is_done_in_another_thread() -> None:
    afterwards, here = Afterwards(may_wait=True), threading.get_ident()
    threads: list[int] = []
    begun = threading.Event()

    def work() -> None:
        begun.set()
        threads.append(threading.get_ident())

    for _ in range(2):
        afterwards.add(work)
        with afterwards.meanwhile():
            assert begun.wait(20)  # would hang if it were done after the block
        begun.clear()
    assert len(threads) == 2 and here not in threads
    with afterwards.meanwhile():  # nothing to do
        pass
    afterwards.drop()
    assert not any(thread.name.startswith("stp-learning") for thread in threading.enumerate())


def test_what_goes_wrong_is_raised_once() -> None:
    afterwards = Afterwards(may_wait=True)
    afterwards.add(lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(ZeroDivisionError), afterwards.meanwhile():
        pass
    afterwards.finish()
    afterwards.add(lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    afterwards.drop()
    afterwards.finish()


def test_learning_beside_the_network_changes_no_box(moving_object: SyntheticSequence) -> None:
    """Each answer, and what was learned, is that of a tracker that learns before it goes on."""
    with small_tracker(u=2) as beside, small_tracker(u=2) as before:
        follow(beside, moving_object, 1)
        follow(before, moving_object, 1)
        for frame in moving_object.frames[1:12]:
            expected = before.update(frame)
            before.finish_learning()
            assert beside.update(frame) == expected
        assert beside.trace.summary() == before.trace.summary()
