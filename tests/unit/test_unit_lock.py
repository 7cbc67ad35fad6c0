"""One owner a home: the second is told who the first is, and the lock dies with its process."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from appliance.errors import HomeLocked
from appliance.runtime import file_locks
from appliance.store.lock import OwnerLock, read_owner
from appliance.types import Owner

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


class FullDisk:
    """``os.pwrite`` where the disk has no block left: files that have none stay empty (``blocks`` of 0), or, where a
    block is never written over, all stay as they are (-1)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, blocks: int) -> None:
        self._pwrite, self._blocks = os.pwrite, blocks
        monkeypatch.setattr(os, "pwrite", self.write)

    def write(self, descriptor: int, data: bytes, offset: int) -> int:
        if self._blocks < 0 or not os.fstat(descriptor).st_size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._pwrite(descriptor, data, offset)


def test_the_owner_is_named_though_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = OwnerLock(tmp_path / "lock")
    lock.acquire("before")
    lock.release()
    assert read_owner(tmp_path / "lock") is None
    FullDisk(monkeypatch, blocks=0)
    lock.acquire("an import of many files")
    assert read_owner(tmp_path / "lock") == Owner(os.getpid(), "an import of many files")
    lock.announce(tmp_path / "socket", lambda: None)
    with pytest.raises(HomeLocked, match="in use by 'an import of many files'"):
        OwnerLock(tmp_path / "lock").acquire("a search")
    lock.release()
    assert read_owner(tmp_path / "lock") is None


@pytest.mark.parametrize("blocks", [0, -1])
def test_an_owner_that_can_t_be_named_is_not_called_by_the_name_of_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int
) -> None:
    path = tmp_path / "lock"
    path.write_bytes(b'{"pid": 1, "purpose": "one that was killed"}' if blocks else b"")
    with monkeypatch.context() as patched:
        FullDisk(patched, blocks)
        lock = OwnerLock(path)
        lock.acquire("an import")
        assert read_owner(path) is None
        with pytest.raises(HomeLocked, match=r"in use by another process\."):
            OwnerLock(path).acquire("a search")
    lock.announce(tmp_path / "socket", lambda: None)
    assert read_owner(path) == Owner(os.getpid(), "an import", str(tmp_path / "socket"))
    lock.release()


def test_the_file_is_private(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path / "lock")
    lock.acquire("x")
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
    lock.release()


def test_a_file_is_locked_for_one_at_a_time(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    try:
        file_locks.lock(first, wait=False)
        with pytest.raises(BlockingIOError):
            file_locks.lock(second, wait=False)
        waiting = threading.Thread(target=file_locks.lock, args=(second,), kwargs={"wait": True})
        waiting.start()
        file_locks.unlock(first)
        waiting.join(10)
        assert not waiting.is_alive()
        with pytest.raises(BlockingIOError):
            file_locks.lock(first, wait=False)
    finally:
        os.close(first)
        os.close(second)
