"""The lock whose holders take turns: one says that it waits, and one that gives up holds up no other."""

from __future__ import annotations

import threading

import pytest

from appliance.runtime.fair_lock import FairLock


def test_a_free_lock_is_held_without_a_word() -> None:
    lock, told = FairLock(), []
    with lock.held(0.0, lambda: told.append("waits")):
        assert not lock.is_awaited
    with lock:
        pass
    assert not told


def test_a_wait_is_said_once_and_then_ends_with_the_lock() -> None:
    lock, waits, held = FairLock(), threading.Event(), threading.Event()

    def take() -> None:
        with lock.held(0.0, waits.set):
            held.set()

    with lock:
        thread = threading.Thread(target=take)
        thread.start()
        assert waits.wait(30) and lock.is_awaited and not held.is_set()
    thread.join(30)
    assert held.is_set() and not lock.is_awaited


def test_who_gives_up_waiting_holds_up_no_other() -> None:
    lock = FairLock()

    def give_up() -> None:
        raise KeyboardInterrupt

    with lock:
        with pytest.raises(KeyboardInterrupt), lock.held(0.0, give_up):
            pytest.fail("the lock is held by another")
        assert not lock.is_awaited
    with lock:
        pass
    with pytest.raises(ZeroDivisionError), lock.held(0.0, give_up):
        raise ZeroDivisionError
    with lock:
        pass
