"""Several who watch at once: they follow one watcher, and folders come and go while it runs."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.engine import watching as watching_module
from appliance.types import FileReport
from tests.waits import PATIENCE, until
from tests.watch_runs import lines, opened, read_once, reading


@pytest.fixture
def memory(home: Path) -> Iterator[Appliance]:
    with opened(home) as memory:
        yield memory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "exports"
    made.mkdir()
    return made


@contextmanager
def following(
    memory: Appliance, *folders: Path, user: str | None = None
) -> Iterator[tuple[list[FileReport], list[str]]]:
    """What a watcher reports, and what hinders it."""
    reports: list[FileReport] = []
    troubles: list[str] = []
    watcher = memory.watcher(folders, user_id=user, on_read=reports.append, on_trouble=troubles.append)
    thread = threading.Thread(target=watcher.run, daemon=True)
    thread.start()
    try:
        yield reports, troubles
    finally:
        watcher.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def names(reports: list[FileReport]) -> list[str]:
    return sorted(Path(report.path).name for report in reports)


def test_two_who_watch_hear_of_their_own_files_and_of_the_inbox_once(
    memory: Appliance, folder: Path, tmp_path: Path
) -> None:
    (other := tmp_path / "other").mkdir()
    with following(memory, folder) as (first, _), following(memory, other) as (second, _):
        (folder / "a.jsonl").write_text(lines("ana", 2))
        (other / "b.jsonl").write_text(lines("ben", 1))
        (memory.home.inbox / "c.jsonl").write_text(lines("kim", 1))
        until(lambda: len(memory.sessions.list()) == 3 and len(first) == len(second) == 2)
        assert (names(first), names(second)) == (["a.jsonl", "c.jsonl"], ["b.jsonl", "c.jsonl"])
        assert not any(report.duplicates for report in first)


@pytest.mark.slow
def test_when_one_leaves_the_other_goes_on(memory: Appliance, folder: Path) -> None:
    with following(memory, folder) as (first, _):
        with following(memory, folder) as (second, _):
            (folder / "a.jsonl").write_text(lines("ana", 1))
            until(lambda: first and second)
        (folder / "b.jsonl").write_text(lines("ben", 1))
        until(lambda: len(first) == 2)
    assert len(second) == 1
    assert read_once(memory, folder) == []


def test_a_folder_that_is_added_is_read_and_one_that_is_removed_is_not(memory: Appliance, folder: Path) -> None:
    (folder / "a.jsonl").write_text(lines("ana", 1))
    (memory.home.inbox / "before.jsonl").write_text(lines("zoe", 1))
    with following(memory) as (reports, _):
        until(lambda: len(reports) == 1)  # the watcher runs
        change = memory.watching.add([str(folder)])
        assert change.paths == (str(folder),) and change.is_followed
        assert memory.watching.add([str(folder)]).paths == ()
        until(lambda: len(reports) == 2)
        (folder / "b.jsonl").write_text(lines("ben", 1))
        until(lambda: len(reports) == 3)
        assert memory.watching.remove([f"{folder}/"]).paths == (str(folder),)
        (folder / "c.jsonl").write_text(lines("eve", 1))
        (memory.home.inbox / "d.jsonl").write_text(lines("kim", 1))
        until(lambda: len(reports) == 4)
    assert names(reports) == ["a.jsonl", "b.jsonl", "before.jsonl", "d.jsonl"]
    assert not memory.watching.add([str(folder)]).is_followed


@pytest.mark.slow
def test_another_user_does_not_read_a_watched_folder_again(memory: Appliance, folder: Path, tmp_path: Path) -> None:
    (own := tmp_path / "own").mkdir()
    with following(memory, folder) as (first, _):
        (folder / "a.jsonl").write_text(lines("ana", 1))
        until(lambda: first)  # a folder belongs to the watcher that begins first
        with following(memory, folder, own, user="ana") as (second, troubles):
            (own / "b.jsonl").write_text(lines("ben", 1))
            (folder / "c.jsonl").write_text(lines("kim", 1))
            until(lambda: len(first) == 2 and second and troubles)
    assert len(troubles) == 1 and "watched already, for another user" in troubles[0]
    assert (names(first), names(second)) == (["a.jsonl", "c.jsonl"], ["b.jsonl"])


@pytest.mark.slow
def test_an_error_of_the_reader_ends_all_and_a_new_watch_begins_again(memory: Appliance, folder: Path) -> None:
    def failing(read: watching_module.ReadFile) -> watching_module.ReadFile:
        def raising(root: Path, path: Path) -> list[FileReport]:
            raise OSError("the reader is broken")

        return raising

    with reading(failing):
        (folder / "a.jsonl").write_text(lines("ana", 1))
        with pytest.raises(OSError, match="broken"):
            read_once(memory, folder)
    assert len(read_once(memory, folder)) == 1


def test_side_files_are_read_with_their_export(memory: Appliance, folder: Path) -> None:
    export = folder / "slack"
    (export / "harbour").mkdir(parents=True)
    (export / "users.json").write_text(json.dumps([{"id": "U1", "name": "ana", "profile": {"real_name": "Ana"}}]))
    (export / "channels.json").write_text(json.dumps([{"id": "C1", "name": "harbour", "members": ["U1"]}]))
    (export / "logs.json").write_text(json.dumps([{"user_id": "U1"}]))
    record = {"type": "message", "user": "U1", "text": "The ferry leaves at nine", "ts": "1700000000.000100"}
    (export / "harbour/2023-11-14.json").write_text(json.dumps([record]))
    reports = {Path(report.path).name: report for report in read_once(memory, folder)}
    assert {name for name, report in reports.items() if report.read_with} == {"users.json", "channels.json"}
    files = {os.path.basename(file.path): (file.state, file.reason) for file in memory.overview.files()}
    assert files["users.json"] == ("read", "read with the Slack export")
    assert files["logs.json"][0] == "skipped"
