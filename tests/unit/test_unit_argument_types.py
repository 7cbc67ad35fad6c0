"""Types of arguments and results are used by many threads at once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import make_dataclass
from typing import Any

import pytest

from appliance import requests as r
from appliance.runtime import decoding
from appliance.transports import codec

THREADS = 8


@pytest.fixture(autouse=True)
def _hasty_threads() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def run_together(work: Callable[[], object]) -> int:
    """Run it in all threads at the same time; returns how many came to its end."""
    together, done = threading.Barrier(THREADS), []

    def run() -> None:
        together.wait()
        work()
        done.append(True)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(done)


# Without a lock around the first use of a type, msgspec ended the process within a few rounds of each.


def test_threads_that_use_a_request_first_at_the_same_time_do_not_end_the_process() -> None:
    def check() -> None:
        codec.check_types(r.SearchRequest("otter"))
        codec.check_types(r.AddMessageRequest("s1", "user", "otter"))

    for _ in range(30):
        codec._arguments.cache_clear()
        assert run_together(check) == THREADS


def test_threads_that_use_a_result_first_at_the_same_time_do_not_end_the_process() -> None:
    for number in range(30):
        part = make_dataclass(f"Part{number}", [("places", Mapping[str, int]), ("names", tuple[str, ...])])
        whole: Any = make_dataclass(f"Whole{number}", [(f"part{n}", part | None, None) for n in range(8)])
        assert run_together(lambda whole=whole: decoding.decode(b"{}", whole)) == THREADS
