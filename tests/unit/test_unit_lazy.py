"""A lazy property is computed once, whichever thread reads it first."""

from __future__ import annotations

import threading

from appliance.runtime.lazy import cached_property


class Lazy:
    computed = 0

    @cached_property
    def value(self) -> list[int]:
        """The value."""
        type(self).computed += 1
        return [self.computed]


def test_it_is_computed_once_for_each_object_whichever_thread_reads_it_first() -> None:
    lazy, start, seen = Lazy(), threading.Barrier(8), []

    def read() -> None:
        start.wait()
        seen.append(lazy.value)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Lazy.computed == 1 and all(one is seen[0] for one in seen)
    assert Lazy().value is not lazy.value


def test_it_can_be_peeked_at_without_computing_it() -> None:
    lazy = Lazy()
    assert Lazy.value.peek(lazy) is None
    value = lazy.value
    assert value is lazy.value is Lazy.value.peek(lazy)
    assert Lazy.value.__doc__ == "The value."
