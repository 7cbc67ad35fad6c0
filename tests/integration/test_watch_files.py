"""What of watched folders is read: files that fail, vanish or changed, links, nested and closed folders."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.engine import watching as watching_module
from appliance.errors import HomeError
from appliance.ingest import watcher as watcher_module
from appliance.ingest.watcher import FolderWatcher
from appliance.settings import WatchSettings
from appliance.types import FileReport
from appliance_models import HashEmbedder
from tests.waits import until
from tests.watch_runs import contents, lines, opened, read_once, watching, zipped


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "exports"
    made.mkdir()
    return made


@pytest.fixture
def memory(home: Path) -> Iterator[Appliance]:
    with opened(home) as memory:
        yield memory


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
    monkeypatch.setattr("appliance.engine.watching.__version__", "99.0")
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
    is_within = watcher_module.is_within

    def vanishing(path: Path, root: Path) -> bool:
        if path.name == "gone.jsonl":
            path.unlink(missing_ok=True)
        return is_within(path, root)

    monkeypatch.setattr(watcher_module, "is_within", vanishing)
    with watching(memory, folder) as reports:
        until(lambda: reports.looks)
        (folder / "gone.jsonl").write_text(lines("gone", 1))
        until(lambda: not (folder / "gone.jsonl").exists())
        (folder / "last.jsonl").write_text(lines("ben", 1))
        until(lambda: len(reports) == 1)
    assert contents(memory) == ["ben says 0"]


def test_configured_folders_are_watched(home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = folder.with_name("other")
    other.mkdir()
    monkeypatch.setenv("APPLIANCE_WATCH_FOLDERS", os.pathsep.join([str(folder), str(other)]))
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert memory.settings.watch == WatchSettings(folders=(str(folder), str(other)))
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
        def read_present(self, done: Callable[[], None]) -> None:
            again = super().read_present
            again(lambda: again(done))

    monkeypatch.setattr(watching_module, "FolderWatcher", TwiceWatcher)
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
