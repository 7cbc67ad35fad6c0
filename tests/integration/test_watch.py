"""Folders that are read by themselves: what lands is found, once, whole, and nothing is touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance, config
from appliance.engine import ingestion
from appliance.errors import HomeError
from appliance.ingest import watcher as watcher_module
from appliance.ingest.watcher import FolderWatcher, ReadFile
from appliance.store.database import Database
from appliance.types import FileReport
from appliance_models import HashEmbedder
from tests.waits import PATIENCE, until

SETTLE = 0.3
REST = 0.05
"""Seconds that a slow reading takes."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "exports"
    made.mkdir()
    return made


@pytest.fixture
def memory(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Appliance]:
    monkeypatch.setenv("APPLIANCE_WATCH_SETTLE", str(SETTLE))
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as opened:
        yield opened


def lines(name: str, count: int, first: int = 0) -> str:
    return "".join(
        json.dumps({"session_id": name, "message_id": f"{name}-{n}", "role": "user", "content": f"{name} says {n}"})
        + "\n"
        for n in range(first, count)
    )


def zipped(path: Path, name: str, text: str) -> Path:
    """A zip that appears whole, as a browser's finished download does."""
    made = path.with_name(path.name + ".part")
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, text)
    made.replace(path)
    return path


def contents(memory: Appliance) -> list[str]:
    return sorted(line["content"] for line in memory.export())


def read_once(memory: Appliance, folder: Path) -> list[FileReport]:
    reports: list[FileReport] = []
    memory.watcher([folder], on_read=reports.append).run(once=True)
    return reports


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


class Reports(list[FileReport]):
    """What a watcher that runs has read."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.wake: Callable[[], None] = lambda: None

    def look(self) -> None:
        """Let the watcher look, and wait until it has: at everything that happened before."""
        enough = self.looks + 2  # one may be under way

        def looked() -> bool:
            self.wake()
            return self.looks >= enough

        until(looked, "a look")


@contextmanager
def reading(wrap: Callable[[ReadFile], ReadFile]) -> Iterator[None]:
    """Within, every watcher reads its files by a reader around its own."""

    class WrappedWatcher(FolderWatcher):
        def __init__(self, folders: Sequence[Path], database: Database, read: ReadFile, **more: Any) -> None:
            super().__init__(folders, database, wrap(read), **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingestion, "FolderWatcher", WrappedWatcher)
        yield


@contextmanager
def watching(memory: Appliance, folder: Path) -> Iterator[Reports]:
    reports = Reports()

    class CountedWatcher(FolderWatcher):
        def run(self, *, once: bool = False) -> None:
            reports.wake = self._woken.set
            super().run(once=once)

        def _read_settled(self) -> float:
            pause = super()._read_settled()
            reports.looks += 1
            return pause

    watcher = memory.watcher([folder], on_read=reports.append)
    ended: list[BaseException] = []

    def run() -> None:
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(ingestion, "FolderWatcher", CountedWatcher)
                watcher.run()
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield reports
    finally:
        watcher.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive() and not ended, ended


def test_once_reads_what_is_there_and_the_second_time_nothing(memory: Appliance, folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "a.jsonl").write_text(lines("ana", 3))
    (memory.home.inbox / "b.jsonl").write_text(lines("ben", 2))
    (folder / "notes.md").write_text("# Shopping\n")
    (folder / ".hidden.jsonl").write_text(lines("hidden", 1))
    (folder / "half.jsonl.part").write_text(lines("half", 1))
    reports = read_once(memory, folder)
    assert sorted((Path(r.path).name, r.status, r.new) for r in reports) == [
        ("a.jsonl", "ok", 3),
        ("b.jsonl", "ok", 2),
        ("notes.md", "skipped", 0),
    ]
    assert len(contents(memory)) == 5
    assert read_once(memory, folder) == []
    files = memory.status()["files"]
    assert (files["read"], files["skipped"], files["queued"], files["failed"]) == (2, 1, 0, 0)


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
        until(lambda: len(readings) == 2)
        watcher.stop()
        thread.join()
    assert readings[1] - readings[0] >= 9 * REST
    assert len(contents(memory)) == 4


def test_a_file_that_fails_is_named_and_tried_again_when_it_changes(memory: Appliance, folder: Path) -> None:
    path = folder / "chat.jsonl"
    path.write_text("")
    (report,) = read_once(memory, folder)
    assert report.status == "failed"
    (trouble,) = memory.status()["files"]["troubles"]
    assert trouble["path"] == str(path) and "empty" in trouble["reason"]
    assert read_once(memory, folder) == [], "it is not tried again and again"
    path.write_text(lines("ana", 2) + "{broken\n")
    (report,) = read_once(memory, folder)
    assert (report.status, report.new) == ("partial", 2)
    assert "line 3" in memory.status()["files"]["troubles"][0]["reason"]
    path.write_text(lines("ana", 3))
    (report,) = read_once(memory, folder)
    assert (report.status, report.new) == ("ok", 1)
    assert memory.status()["files"]["troubles"] == []


def test_what_an_earlier_version_could_not_read_is_tried_again(
    memory: Appliance, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "new-format.txt").write_text("a chat that only the next version knows")
    (folder / "a.jsonl").write_text(lines("ana", 1))
    assert len(read_once(memory, folder)) == 2 and read_once(memory, folder) == []
    monkeypatch.setattr("appliance.engine.ingestion.__version__", "99.0")
    assert [Path(report.path).name for report in read_once(memory, folder)] == ["new-format.txt"]


def test_what_was_read_for_one_person_is_read_for_another(memory: Appliance, folder: Path) -> None:
    (folder / "a.jsonl").write_text(lines("ana", 1))
    assert len(read_once(memory, folder)) == 1
    for_ben: list[FileReport] = []
    for _ in range(2):
        memory.watcher([folder], user_id="ben", on_read=for_ben.append).run(once=True)
    assert [report.new for report in for_ben] == [1], "once for him, and not again"
    assert memory.search("ana says", user_id="ben", mode="lexical")


def test_a_file_whose_time_alone_changed_is_not_read_again(memory: Appliance, folder: Path) -> None:
    path = folder / "a.jsonl"
    path.write_text(lines("ana", 2))
    read_once(memory, folder)
    os.utime(path, (1, 1))
    assert read_once(memory, folder) == []
    assert memory.status()["files"]["read"] == 1


def test_files_stay_as_they_are(memory: Appliance, folder: Path) -> None:
    zipped(folder / "a.zip", "a.jsonl", lines("ana", 2))
    (folder / "b.jsonl").write_text(lines("ben", 2))

    def facts() -> list[tuple[str, int, int, bytes]]:
        return [(p.name, p.stat().st_mtime_ns, p.stat().st_mode, p.read_bytes()) for p in sorted(folder.iterdir())]

    before = facts()
    read_once(memory, folder)
    assert facts() == before


def test_links_out_of_the_folder_are_not_followed(memory: Appliance, folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "s.jsonl").write_text(lines("secret", 1))
    (folder / "to-file.jsonl").symlink_to(secret / "s.jsonl")
    (folder / "to-folder").symlink_to(secret)
    (folder / "real.jsonl").write_text(lines("ana", 1))
    (folder / "inside.jsonl").symlink_to(folder / "real.jsonl")
    read_once(memory, folder)
    assert contents(memory) == ["ana says 0"]
    with watching(memory, folder) as reports:
        (folder / "another.jsonl").symlink_to(secret / "s.jsonl")
        (folder / "last.jsonl").write_text(lines("ben", 1))
        until(lambda: len(reports) == 1)
    assert contents(memory) == ["ana says 0", "ben says 0"]


def test_watching_the_home_itself_reads_the_inbox_alone(memory: Appliance) -> None:
    (memory.home.inbox / "a.jsonl").write_text(lines("ana", 1))
    (memory.home.models / "b.jsonl").write_text(lines("model", 1))
    read_once(memory, memory.home.root)
    assert contents(memory) == ["ana says 0"]


def test_a_folder_that_is_not_there_is_told(memory: Appliance, folder: Path) -> None:
    with pytest.raises(HomeError, match="There is no such folder"):
        memory.watcher([folder / "gone"])


def test_a_file_that_vanishes_while_it_waits_is_forgotten(memory: Appliance, folder: Path) -> None:
    with watching(memory, folder) as reports:
        (folder / "gone.jsonl").write_text(lines("gone", 1))
        until(lambda: memory.status()["files"]["queued"] == 1)
        (folder / "gone.jsonl").unlink()
        until(lambda: memory.status()["files"]["queued"] == 0)
    assert not reports and not contents(memory)


def test_a_file_that_vanishes_while_it_is_examined_does_not_end_the_watch(
    memory: Appliance, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_within = watcher_module._is_within

    def vanishing(path: Path, root: Path) -> bool:
        if path.name == "gone.jsonl":
            path.unlink(missing_ok=True)
        return is_within(path, root)

    monkeypatch.setattr(watcher_module, "_is_within", vanishing)
    with watching(memory, folder) as reports:
        until(lambda: reports.looks)
        (folder / "gone.jsonl").write_text(lines("gone", 1))
        until(lambda: not (folder / "gone.jsonl").exists())
        (folder / "last.jsonl").write_text(lines("ben", 1))
        until(lambda: len(reports) == 1)
    assert contents(memory) == ["ben says 0"]


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
        until(lambda: len(contents(memory)) == 2)
        watcher.stop()
        thread.join(20)
        assert not thread.is_alive()
    assert "scanning every 0.2 seconds" in troubles[0]


def test_configured_folders_are_watched(home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = folder.with_name("other")
    other.mkdir()
    monkeypatch.setenv("APPLIANCE_WATCH_FOLDERS", os.pathsep.join([str(folder), str(other)]))
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert memory.settings.watch == config.WatchSettings(folders=(str(folder), str(other)))
        assert memory.watcher().folders == [memory.home.inbox, folder, other]
        assert memory.watcher([folder / ".."]).folders == [folder.parent], "what lies in another is in it"


def test_a_folder_that_can_not_be_read_is_told_once(
    memory: Appliance, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "closed").mkdir()
    (folder / "closed" / "a.jsonl").write_text(lines("ana", 1))
    (folder / "z.jsonl").write_text(lines("ben", 1))
    listed = os.scandir

    def refusing(path: Any) -> Any:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", refusing)
    troubles: list[str] = []

    class TwiceWatcher(FolderWatcher):
        def run(self, *, once: bool = False) -> None:
            super().run(once=once)
            super().run(once=once)

    monkeypatch.setattr(ingestion, "FolderWatcher", TwiceWatcher)
    memory.watcher([folder], on_trouble=troubles.append).run(once=True)
    assert contents(memory) == ["ben says 0"]
    assert troubles == [f"{folder}/closed can't be read: Permission denied"]


def test_folders_nested_as_deep_as_a_path_can_be(memory: Appliance, folder: Path) -> None:
    deep = folder
    for _ in range(1200):
        deep = deep / "d"
        os.mkdir(deep)
    try:
        (deep / "a.jsonl").write_text(lines("ana", 1))
        read_once(memory, folder)
        assert contents(memory) == ["ana says 0"]
    finally:  # shutil.rmtree, with which pytest cleans up, is recursive and could not remove it
        subprocess.run(["rm", "-rf", str(folder / "d")], check=True)


def test_names_that_are_not_utf_8(memory: Appliance, folder: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.jsonl"))
    try:
        path.write_text(lines("ana", 1))
    except OSError:
        pytest.skip("this file system wants UTF-8 names")
    assert len(read_once(memory, folder)) == 1 and read_once(memory, folder) == []
    assert contents(memory) == ["ana says 0"]
