"""Types of arguments are checked by many threads at once."""

from __future__ import annotations

import sys
import threading

from appliance import requests as r
from appliance.transports import codec

THREADS = 8


def test_threads_that_use_a_request_first_at_the_same_time_do_not_end_the_process() -> None:
    # Without a lock around the first use, msgspec ended the process within a few rounds.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(30):
            codec._arguments.cache_clear()
            together, done = threading.Barrier(THREADS), []

            def check(together: threading.Barrier = together, done: list[bool] = done) -> None:
                together.wait()
                codec.check_types(r.SearchRequest("otter"))
                codec.check_types(r.AddMessageRequest("s1", "user", "otter"))
                done.append(True)

            threads = [threading.Thread(target=check) for _ in range(THREADS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(done) == THREADS
    finally:
        sys.setswitchinterval(interval)
