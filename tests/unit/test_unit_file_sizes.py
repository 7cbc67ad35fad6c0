"""The bound on the size of files: for as long as a block runs, whichever threads are in one."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from appliance.runtime.file_sizes import bounded_file_sizes

resource = pytest.importorskip("resource")


def grow(path: Path, length: int) -> None:
    with path.open("ab") as file:
        file.truncate(length)


def test_a_file_that_would_grow_beyond_it_is_an_error(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with bounded_file_sizes(1_000_000):
        grow(tmp_path / "small", 900_000)
        with pytest.raises(OSError, match="too large"):
            grow(tmp_path / "large", 2_000_000)
    grow(tmp_path / "large", 2_000_000)
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == before


def test_blocks_of_several_threads_end_in_any_order(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with bounded_file_sizes(1_000_000):
            entered.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    with bounded_file_sizes(1_000_000):
        thread.start()
        entered.wait(30)
    with pytest.raises(OSError, match="too large"):
        grow(tmp_path / "large", 2_000_000)
    leave.set()
    thread.join()
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == before
