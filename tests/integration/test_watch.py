"""When watched folders are read: once, by themselves, and only what is whole."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.ingest import watcher as watcher_module
from appliance.ingest.watcher import ReadFile
from appliance.types import FileReport
from appliance_models import HashEmbedder
from tests.waits import until
from tests.watch_runs import SETTLE, contents, lines, opened, read_once, reading, watching, zipped

REST = 0.05
"""Seconds that a slow reading takes."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "exports"
    made.mkdir()
    return made


@pytest.fixture
def memory(home: Path) -> Iterator[Appliance]:
    with opened(home) as memory:
        yield memory


class Clock:
    """The watcher's clock, which goes on when a test says so. It is slow, so that no file seems to be an old one."""

    def __init__(self) -> None:
        self._now = time.time() - 3600
        self.monotonic = time.monotonic

    def time(self) -> float:
        return self._now

    def go_on(self, seconds: float) -> None:
        self._now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(watcher_module, "time", made)
    return made


def test_once_reads_what_is_there_and_the_second_time_nothing(memory: Appliance, folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "a.jsonl").write_text(lines("ana", 3))
    (memory.home.inbox / "b.jsonl").write_text(lines("ben", 2))
    (folder / "notes.md").write_text("# Shopping\n")
    (folder / ".claude").mkdir()
    (folder / ".claude" / ".hidden.jsonl").write_text(lines("hidden", 1))
    (folder / ".git").mkdir()
    (folder / ".git" / "litter.jsonl").write_text(lines("litter", 1))
    (folder / "half.jsonl.part").write_text(lines("half", 1))
    reports = read_once(memory, folder)
    assert sorted((Path(r.path).name, r.status, r.new) for r in reports) == [
        (".hidden.jsonl", "ok", 1),
        ("a.jsonl", "ok", 3),
        ("b.jsonl", "ok", 2),
        ("notes.md", "skipped", 0),
    ]
    assert len(contents(memory)) == 6
    assert read_once(memory, folder) == []
    files = memory.status()["files"]
    assert (files["read"], files["skipped"], files["queued"], files["failed"]) == (3, 1, 0, 0)


def test_what_lands_is_found_without_another_command(memory: Appliance, folder: Path) -> None:
    with watching(memory, folder) as reports:
        zipped(folder / "export.zip", "top/chat.jsonl", lines("ana", 3))
        until(lambda: len(reports) == 1)
        assert [hit.text for hit in memory.search("ana says 1", limit=1)] == ["ana says 1"]
        # The same zip dropped again adds nothing.
        zipped(folder / "export (1).zip", "top/chat.jsonl", lines("ana", 3))
        until(lambda: len(reports) == 2)
        assert (reports[1].new, reports[1].duplicates) == (0, 3)
        # A newer export, under the same name, adds the delta.
        zipped(folder / "export.zip", "top/chat.jsonl", lines("ana", 5))
        until(lambda: len(reports) == 3)
        assert (reports[2].new, reports[2].duplicates) == (2, 3)
        shutil.copytree(folder, folder.with_name("elsewhere"))
        folder.with_name("elsewhere").rename(folder / "moved in")
        until(lambda: len(reports) == 5)
    assert contents(memory) == [f"ana says {n}" for n in range(5)]


def test_a_file_that_is_still_being_written_is_waited_for(memory: Appliance, folder: Path, clock: Clock) -> None:
    with watching(memory, folder) as reports:
        with (folder / "slow.jsonl").open("w") as file:
            for n in range(10):
                file.write(lines("slow", n + 1, n))
                file.flush()
                reports.look()
                clock.go_on(SETTLE * 0.6)
                reports.look()
                assert not reports, "it was read before it was whole"
        clock.go_on(SETTLE)
        until(lambda: len(reports) == 1)
    assert reports[0].new == 10


def test_files_that_arrive_together_are_read_together(memory: Appliance, folder: Path, clock: Clock) -> None:
    """What is being unpacked has its files arrive one after the other."""
    with watching(memory, folder) as reports:
        (folder / "export").mkdir()
        for n in range(6):
            (folder / "export" / f"{n}.jsonl").write_text(lines(f"s{n}", 1))
            reports.look()
            clock.go_on(SETTLE * 0.6)
            reports.look()
            assert not reports
        clock.go_on(SETTLE)
        until(lambda: len(reports) == 6)


def test_what_goes_on_changing_is_read_all_the_same(
    memory: Appliance, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher_module, "MAX_SETTLE_WAIT_SECONDS", 0.4)
    with watching(memory, folder) as reports, (folder / "live.jsonl").open("w") as file:
        for n in range(1000):
            file.write(lines("live", n + 1, n))
            file.flush()
            time.sleep(0.02)
            if reports or contents(memory):
                break
        else:
            pytest.fail("a session that goes on is never read")
    read_once(memory, folder)
    assert len(contents(memory)) == n + 1


def test_a_long_file_that_grows_is_not_read_all_the_time(memory: Appliance, folder: Path) -> None:
    path = folder / "live.jsonl"
    path.write_text(lines("live", 3))
    watcher = memory.watcher([folder])
    readings: list[float] = []

    def slowly(read: ReadFile) -> ReadFile:
        def slow(root: Path, file: Path) -> Sequence[FileReport]:
            readings.append(time.monotonic())
            time.sleep(REST)
            return read(root, file)

        return slow

    with reading(slowly):
        thread = threading.Thread(target=watcher.run, daemon=True)
        thread.start()
        until(lambda: len(readings) == 1 and memory.status()["files"]["read"] == 1)
        path.write_text(lines("live", 4))
        until(lambda: len(readings) == 2 and len(contents(memory)) == 4)
        path.write_text(lines("live", 5))
        until(lambda: len(readings) == 3)
        watcher.stop()
        thread.join()
    assert readings[2] - readings[1] >= 9 * REST  # the first reading has only new messages, and says nothing yet
    assert len(contents(memory)) == 5


def test_a_file_that_changes_while_it_is_read_is_read_again(memory: Appliance, folder: Path) -> None:
    path = folder / "a.jsonl"
    path.write_text(lines("ana", 2))
    grown: list[Path] = []

    def while_it_grows(read: ReadFile) -> ReadFile:
        def growing(root: Path, file: Path) -> Sequence[FileReport]:
            reports = read(root, file)
            if not grown:
                grown.append(file)
                with file.open("a") as more:
                    more.write(lines("ana", 3, 2))
            return reports

        return growing

    with reading(while_it_grows):
        memory.watcher([folder]).run(once=True)
    assert contents(memory) == [f"ana says {n}" for n in range(3)]
    assert memory.status()["files"]["read"] == 1


def test_once_ends_although_a_file_never_rests(memory: Appliance, folder: Path) -> None:
    (folder / "a.jsonl").write_text(lines("ana", 1))
    count = [1]

    def while_it_grows(read: ReadFile) -> ReadFile:
        def growing(root: Path, file: Path) -> Sequence[FileReport]:
            reports = read(root, file)
            count[0] += 1
            file.write_text(lines("ana", count[0]))
            return reports

        return growing

    with reading(while_it_grows):
        memory.watcher([folder]).run(once=True)
    assert memory.status()["files"]["queued"] == 1 and len(contents(memory)) == watcher_module.MAX_READS_ONCE
    read_once(memory, folder)
    assert len(contents(memory)) == count[0] and memory.status()["files"]["queued"] == 0


def test_without_events_everything_is_looked_at_now_and_then(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from watchdog.observers import Observer

    def refuse(self: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(Observer, "start", refuse)
    monkeypatch.setattr(watcher_module, "POLL_INTERVAL_SECONDS", 0.2)
    monkeypatch.setenv("APPLIANCE_WATCH_SETTLE", "0")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        troubles: list[str] = []
        watcher = memory.watcher([folder], on_trouble=troubles.append)
        thread = threading.Thread(target=watcher.run, daemon=True)
        thread.start()
        (folder / "a.jsonl").write_text(lines("ana", 2))
        until(lambda: len(contents(memory)) == 2 and len(troubles) == 1)
        watcher.stop()
        thread.join(20)
        assert not thread.is_alive()
    assert "scanning every 0.2 seconds" in troubles[0]
