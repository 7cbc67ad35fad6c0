"""An index is read ahead by another process; whoever opens it waits for that, and nothing is left running."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from appliance.store.index import readahead


@pytest.fixture
def index(tmp_path: Path) -> Path:
    shard = tmp_path / "index" / "g1" / "shard" / "segments"
    shard.mkdir(parents=True)
    (shard / "data.bin").write_bytes(os.urandom(3 << 20))
    return tmp_path / "index"


def test_whoever_opens_it_waits_for_the_process_that_reads(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readahead, "read_shard", lambda shard: pytest.fail("read twice"))
    with readahead.reading_ahead(index):
        (other,) = readahead._reader_processes.values()
        readahead.wait_until_read(index / "g1" / "shard")
        assert other.returncode == 0


def test_what_nobody_opens_ends_with_the_program(index: Path) -> None:
    with readahead.reading_ahead(index):
        (other,) = readahead._reader_processes.values()
    assert other.returncode is not None and not readahead._reader_processes


@pytest.mark.parametrize("why", ["can't be started", "failed"])
def test_it_is_read_here_where_no_other_process_could(index: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    def refuse(*_: object, **__: object) -> object:
        if why == "failed":
            return subprocess_that_fails()
        raise OSError("no more processes")

    process = subprocess.Popen

    def subprocess_that_fails() -> subprocess.Popen[bytes]:
        return process(["false"])

    monkeypatch.setattr(subprocess, "Popen", refuse)
    read: list[str] = []
    monkeypatch.setattr(readahead, "read_shard", read.append)
    with readahead.reading_ahead(index):
        readahead.wait_until_read(index / "g1" / "shard")
    assert read == [str(index / "g1" / "shard")]


def test_files_that_are_read_later_are_left(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = index / "g1" / "shard"
    for name in ("vectors/chunk_0.mmap", "vector_index-own/inverted_index.dat", "payload_storage/page_0.dat",
                 "payload_storage/store/page_0.dat"):  # fmt: skip
        (shard / "segments" / name).parent.mkdir(parents=True, exist_ok=True)
        (shard / "segments" / name).write_bytes(b"x")
    opened: list[str] = []
    real = open

    def note(path: str, *given: object, **named: object) -> object:
        opened.append(os.path.relpath(path, shard))
        return real(path, *given, **named)  # type: ignore[call-overload]

    monkeypatch.setattr("builtins.open", note)
    readahead.read_shard(str(shard))
    assert opened == ["segments/data.bin"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="files are read into this process here")
def test_the_system_reads_every_byte(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (index / "g1" / "shard" / "empty").touch()
    sent: list[int] = []
    send = os.sendfile

    def note(*given: int) -> int:
        sent.append(send(*given))
        return sent[-1]

    monkeypatch.setattr(os, "sendfile", note)
    readahead.read_shard(str(index / "g1" / "shard"))
    assert sum(sent) == 3 << 20


def test_a_file_that_the_system_does_not_send_is_read_here(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = open

    class Noting(io.FileIO):
        def readinto(self, buffer: object) -> int | None:
            read.append(super().readinto(buffer) or 0)  # type: ignore[arg-type]
            return read[-1]

    def refuse(*given: int) -> int:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "sendfile", refuse, raising=False)
    monkeypatch.setattr("builtins.open", lambda path, *_, **__: Noting(path))
    readahead.read_shard(str(index / "g1" / "shard"))
    monkeypatch.setattr("builtins.open", real)
    assert sum(read) == 3 << 20
