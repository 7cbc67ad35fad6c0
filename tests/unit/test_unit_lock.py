"""One owner a home: the second is told who the first is, and the lock dies with its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from appliance.errors import HomeLocked
from appliance.store.lock import OwnerLock

HOLDER = """
import sys, time
from pathlib import Path
from appliance.store.lock import OwnerLock
OwnerLock(Path(sys.argv[1])).acquire("serve")
print("held", flush=True)
time.sleep(600)
"""


def test_the_second_is_told_who_the_first_is(tmp_path: Path) -> None:
    first, second = OwnerLock(tmp_path / "lock"), OwnerLock(tmp_path / "lock")
    first.acquire("an import")
    with pytest.raises(HomeLocked) as refused:
        second.acquire("a search")
    assert f"in use by 'an import' (process {os.getpid()})" in str(refused.value)
    assert str(tmp_path) in str(refused.value) and refused.value.exit_code == 3
    first.release()
    second.acquire("a search")
    with pytest.raises(HomeLocked, match="a search"):
        first.acquire("again")
    second.release()
    second.release()


def test_one_that_was_refused_did_not_take_the_lock_with_it(tmp_path: Path) -> None:
    first = OwnerLock(tmp_path / "lock")
    first.acquire("first")
    for _ in range(3):
        with pytest.raises(HomeLocked, match="first"):
            OwnerLock(tmp_path / "lock").acquire("second")
    first.release()


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_the_lock_dies_with_its_process(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "lock")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert holder.stdout is not None
    with holder.stdout as lines:
        assert next(lines) == "held\n"
        lock = OwnerLock(tmp_path / "lock")
        with pytest.raises(HomeLocked, match=rf"in use by 'serve' \(process {holder.pid}\)\."):
            lock.acquire("me")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    lock.acquire("me")
    lock.release()


def test_a_note_that_can_t_be_read_does_not_hide_the_refusal(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = OwnerLock(path)
    first.acquire("x")
    for note in (b"", b"\xff\xfe", b"[1]", b'{"pid": 3}'):
        path.write_bytes(note)
        with pytest.raises(HomeLocked, match="in use by another process"):
            OwnerLock(path).acquire("y")
    first.release()


def test_the_file_is_private(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path / "lock")
    lock.acquire("x")
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
    lock.release()
