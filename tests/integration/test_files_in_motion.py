"""Files that come, go and change while they are read, and what is no file: the report is true in each case."""

from __future__ import annotations

import os
import socket
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.ingest import pipeline, sources
from appliance.types import FileReport
from tests.waits import PATIENCE, until
from tests.watch_runs import contents, lines, opened, read_once, watching

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, sockets and links")


@pytest.fixture
def memory(home: Path) -> Iterator[Appliance]:
    with opened(home) as memory:
        yield memory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "exports"
    made.mkdir()
    (made / "good.jsonl").write_text(lines("ana", 2))
    return made


def outcomes(reports: Iterator[FileReport] | tuple[FileReport, ...]) -> dict[str, tuple[str, str]]:
    """The status of each file, and why."""
    return {
        Path(one.path).name: (one.status, (one.errors or one.notes)[0].message if one.errors or one.notes else "")
        for one in reports
    }


def test_what_is_no_file_is_skipped_and_named(memory: Appliance, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "loop").symlink_to("loop")
    (folder / "dead.jsonl").symlink_to("nowhere.jsonl")
    (folder / "again").symlink_to(folder)
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(folder)  # a socket's path is short
        listening.bind("socket.jsonl")
        found = outcomes(memory.ingest(folder).files)
        reports = read_once(memory, folder)
    assert found == {
        "again": ("skipped", "a link to a folder that has been read already"),
        "dead.jsonl": ("skipped", "it is a link to nowhere.jsonl, which does not exist"),
        "good.jsonl": ("ok", ""),
        "loop": ("skipped", "a link that leads to itself"),
        "pipe.jsonl": ("skipped", "not a regular file"),
        "socket.jsonl": ("skipped", "not a regular file"),
    }
    assert [Path(report.path).name for report in reports] == ["good.jsonl"]


def test_downloads_that_go_on_are_not_read(memory: Appliance, folder: Path) -> None:
    (folder / "a.zip.crdownload").write_bytes(b"PK\x03\x04 half")
    (folder / "b.zip").touch()
    (folder / "b.zip.part").write_bytes(b"PK\x03\x04 half")
    (folder / "c.zip").write_bytes(bytes(1000))
    (folder / "c.zip.aria2").touch()
    (folder / "d.zip.download").mkdir()
    (folder / "d.zip.download/d.zip").write_bytes(b"PK\x03\x04 half")
    report = memory.ingest(folder)
    unfinished = ("skipped", "still being written by a program")
    names = ("a.zip.crdownload", "b.zip", "b.zip.part", "c.zip", "c.zip.aria2", "d.zip.download")
    assert outcomes(report.files) == {"good.jsonl": ("ok", ""), **dict.fromkeys(names, unfinished)}
    assert report.complete


@pytest.mark.slow
def test_a_download_is_read_when_it_is_complete(memory: Appliance, folder: Path) -> None:
    with watching(memory, folder) as reports:
        (folder / "export.zip").touch()
        with zipfile.ZipFile(folder / "export.zip.part", "w") as file:
            file.writestr("chat.jsonl", lines("ben", 3))
        (folder / "last.jsonl").write_text(lines("kim", 1))
        until(lambda: len(reports) == 2)  # what came later has settled and is read
        assert {Path(report.path).name for report in reports} == {"good.jsonl", "last.jsonl"}
        (folder / "export.zip.part").replace(folder / "export.zip")
        until(lambda: len(reports) == 3)
    assert [report.status for report in reports] == ["ok"] * 3


def test_a_file_that_is_gone_when_its_turn_comes_is_named(
    memory: Appliance, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "moved.jsonl").write_text(lines("ben", 1))
    opened_file = sources._file

    def moving(path: Path, *more: object, **options: object) -> object:
        (folder / "moved.jsonl").unlink(missing_ok=True)
        return opened_file(path, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(sources, "_file", moving)
    report = memory.ingest(folder)
    found = outcomes(report.files)
    assert found["good.jsonl"][0] == "ok" and not report.complete
    assert found["moved.jsonl"][0] == "failed" and "moved or deleted" in found["moved.jsonl"][1]


@pytest.mark.parametrize("change", ["grows", "goes", "is replaced"])
def test_a_file_that_changes_while_it_is_read_is_said_to(
    memory: Appliance, folder: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path, store = folder / "good.jsonl", pipeline.store

    def changing(*given: object) -> None:
        store(*given)  # type: ignore[arg-type]
        if change == "grows":
            path.write_text(lines("ana", 3))
        elif change == "goes":
            path.unlink()
        else:
            (folder / "new").write_text(lines("ana", 2))
            (folder / "new").replace(path)

    monkeypatch.setattr(pipeline, "store", changing)
    (report,) = memory.ingest(path).files
    assert (report.status, report.new) == ("ok", 2)
    assert ("moved or deleted" if change == "goes" else "it changed while it was read") in report.notes[0].message
    monkeypatch.undo()
    if change != "goes":
        assert memory.ingest(path).files[0].notes == ()


def test_one_file_of_many_may_not_be_read(memory: Appliance, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "secret.jsonl").write_text(lines("ben", 1))
    open_path = Path.open

    def refusing(path: Path, *more: object, **options: object) -> object:
        if path.name == "secret.jsonl":
            raise PermissionError(13, "Permission denied")
        return open_path(path, *more, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refusing)
    reports = read_once(memory, folder)
    assert outcomes(tuple(reports)) == {
        "good.jsonl": ("ok", ""), "secret.jsonl": ("failed", "can't be read: Permission denied"),
    }  # fmt: skip
    assert memory.status()["files"]["failed"] == 1
    report = memory.ingest(folder)
    assert outcomes(report.files)["secret.jsonl"] == (
        "failed",
        "can't be read: Permission denied; check its permissions",
    )
    assert report.total("duplicates") == 2


@pytest.mark.slow
def test_the_same_export_twice_at_once_is_stored_once(memory: Appliance, folder: Path) -> None:
    (folder / "large.jsonl").write_text(lines("ana", 3000))
    reports: list[FileReport] = []

    def ingest() -> None:
        reports.extend(memory.ingest(folder / "large.jsonl", wait=False).files)

    threads = [threading.Thread(target=ingest) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [report.status for report in reports] == ["ok"] * 3
    assert sum(report.new for report in reports) == 3000 and sum(report.duplicates for report in reports) == 6000
    assert len(contents(memory)) == 3000


@pytest.mark.slow
def test_an_import_beside_a_watch_stores_each_message_once(memory: Appliance, folder: Path) -> None:
    with watching(memory, folder) as reports:
        (folder / "large.jsonl").write_text(lines("ben", 2000))
        report = memory.ingest(folder, wait=False)
        until(lambda: len(reports) == 2)
    assert report.total("new") + sum(one.new for one in reports) == 2002
    assert len(contents(memory)) == 2002
