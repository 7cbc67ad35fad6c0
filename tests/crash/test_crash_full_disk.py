"""A disk without room: every command ends with words, nothing acknowledged is lost, and with room again all goes on."""

from __future__ import annotations

import functools
import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from crash_runs import chat, open_memory, write
from small_disks import MEGABYTE, Kind, fill, free_bytes, mounted
from workers import Workers

from appliance import Appliance, Backups
from appliance.errors import HomeReadOnly
from appliance_tui.main import memory_opener
from tests.homes import copied

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root only")]

STORES = Path(__file__).parent.parent / "stores"
ACTIONS = ("search", "add", "ingest", "reindex", "verify", "forget", "archive")
LINES = chat("ana", 300)
PATIENCE_SECONDS = 120.0


Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(processes: Workers) -> Run:
    return functools.partial(run_in, processes)


def run_in(processes: Workers, action: str, home: Path, *files: Path) -> dict[str, Any]:
    """What a process that did this on a home has said; it must not have been ended by a signal."""
    outcome = processes.run("disk_verbs.work", action, str(home), *map(str, files), kill_after=PATIENCE_SECONDS)
    assert outcome.code == 0, f"{action}: {outcome.code}\n{outcome.errors}"
    said: dict[str, Any] = outcome.acknowledged[-1][1]
    assert said.get("error", "DiskFull") in ("DiskFull", "HomeReadOnly"), said
    if "error" in said:
        names_room = re.search(r"\d [KMG]B", said["message"]) or "the disk is full" in said["message"]
        assert names_room and said["hint"], said
    return said


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed home with a conversation in it."""
    folder = tmp_path_factory.mktemp("built")
    with open_memory(folder / "home") as memory:
        memory.ingest(write(folder / "ana.jsonl", LINES))
    return folder / "home"


@pytest.fixture(params=["tmpfs", "ext4"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    kind: Kind = request.param
    with mounted(tmp_path / "disk", kind, 600) as folder:
        if folder is None:
            pytest.skip("file systems can't be mounted here")
        yield folder


def assert_whole(home: Path, stored: list[str]) -> None:
    """With room again: all work that waits gets done, and nothing is missing."""
    with open_memory(home) as memory:
        memory.embed_pending()
        memory.run_pending_jobs()
        memory.embed_pending()
        assert not memory.verify().problems
        assert memory.status()["counts"]["pending"] == 0
        for message in stored:
            assert "kettle" in memory.message(message).text
        found = memory.search("violin", include_archived=True)  # what was archived is part of the whole
        assert found[0].why
        assert not found.notes


def test_a_full_disk_can_be_read_and_taken_elsewhere(disk: Path, built: Path, tmp_path: Path) -> None:
    home = copied(built, disk / "home")
    fill(disk, leave=0)
    with open_memory(home) as memory:
        assert memory.search("violin")[0].why
        assert len(list(memory.export())) >= len(LINES)
        with pytest.raises(HomeReadOnly, match="the disk is full"):
            memory.sessions.create()
        assert memory.backup(tmp_path / "backups").messages == len(LINES)
    Appliance.restore(tmp_path / "backups", tmp_path / "restored")
    with open_memory(tmp_path / "restored") as memory:
        assert not memory.verify().problems
    (disk / "ballast").unlink()
    with open_memory(home) as memory:
        memory.sessions.create().add("user", "there is room again")
        assert not memory.verify().problems


def test_the_screen_opens_on_a_full_disk_to_be_read(disk: Path, built: Path) -> None:
    home = copied(built, disk / "home")
    fill(disk, leave=0)
    told: list[bool] = []
    with memory_opener(home, on_full_disk=lambda: told.append(True))() as memory:
        assert told and "violin" in memory.search("violin")[0].text
        with pytest.raises(HomeReadOnly, match="the disk is full"):
            memory.sessions.create()
    (disk / "ballast").unlink()
    with memory_opener(home, on_full_disk=lambda: told.append(True))() as memory:
        assert memory.sessions.create() and len(told) == 1


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(
    "leave",
    [pytest.param(0, marks=pytest.mark.campaign), 400_000, pytest.param(9 * MEGABYTE, marks=pytest.mark.campaign)],
)
def test_a_disk_with_hardly_any_room_ends_no_process(
    run: Run, disk: Path, built: Path, tmp_path: Path, action: str, leave: int
) -> None:
    home = copied(built, disk / "home")
    more = write(tmp_path / "more.jsonl", chat("ben", 800))
    ballast = fill(disk, leave=leave)
    assert free_bytes(disk) <= leave + 4096
    said = run(action, home, more)
    if "error" in said and action in ("ingest", "reindex"):
        told = said["message"]
        assert action == "reindex" or any(words in told for words in ("stored", "database", "the disk is full")), told
    found = run("search", home)
    if leave >= 400_000:  # with less, SQLite can't open its log
        assert found["hits"]
    ballast.unlink()
    assert_whole(home, said["stored"])
    if action != "forget":
        with open_memory(home) as memory:
            assert len(memory.sessions.messages("ana")) == len(LINES)


@pytest.mark.parametrize("leave", [pytest.param(0, marks=pytest.mark.campaign), 400_000])
def test_archived_messages_come_back_when_there_is_room(run: Run, disk: Path, built: Path, leave: int) -> None:
    home = copied(built, disk / "home")
    with open_memory(home) as memory:
        memory.archive.run(days=0, importance=1.0)
    ballast = fill(disk, leave=leave)
    run("unarchive", home)
    ballast.unlink()
    run("unarchive", home)
    assert_whole(home, [])
    with open_memory(home) as memory:
        assert memory.archive.status().archived == 0 and len(list(memory.export())) == len(LINES)


@pytest.mark.parametrize("leave", [pytest.param(0, marks=pytest.mark.campaign), 40_000])
def test_a_backup_is_made_and_restored_when_there_is_room(
    run: Run, disk: Path, built: Path, tmp_path: Path, leave: int
) -> None:
    home, backups = copied(built, tmp_path / "home"), disk / "backups"
    ballast = fill(disk, leave=leave)
    assert "error" in run("backup", home, backups)
    ballast.unlink()
    assert "error" not in run("backup", home, backups)
    before = Backups.list(backups)
    with open_memory(home) as memory:
        memory.ingest(write(tmp_path / "ben.jsonl", chat("ben", 800)))
    ballast = fill(disk, leave=leave)
    assert "error" in run("backup", home, backups)
    assert Backups.list(backups) == before and not Backups.verify(backups, read_data=True).problems
    assert "error" in run("restore", disk / "new", backups)
    assert not (disk / "new").exists(), "half a home is none"
    ballast.unlink()
    assert "error" not in run("restore", disk / "new", backups)
    assert_whole(disk / "new", [])


@pytest.mark.parametrize("store", ["first", "development"])
@pytest.mark.parametrize("leave", [pytest.param(0, marks=pytest.mark.campaign), 100_000])
def test_a_home_is_migrated_when_there_is_room(run: Run, disk: Path, store: str, leave: int) -> None:
    home = disk / "home"
    home.mkdir(mode=0o700)
    (home / "recall.db").write_bytes(gzip.decompress((STORES / f"{store}.db.gz").read_bytes()))
    ballast = fill(disk, leave=leave)
    run("verify", home)
    ballast.unlink()
    assert "error" not in run("verify", home)
    with open_memory(home) as memory:
        memory.run_pending_jobs()
        assert len(list(memory.export())) == 4 and not memory.verify().problems


def test_six_megabytes_of_memory_as_a_disk(run: Run, built: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "tmpfs", 6) as disk:
        if disk is None:
            pytest.skip("file systems can't be mounted here")
        home = disk / "home"
        subprocess.run(["cp", "-r", "--sparse=always", built, home], check=True)
        fill(disk, leave=400_000)
        more = write(tmp_path / "more.jsonl", chat("ben", 800))
        for action in ACTIONS:
            run(action, home, more)
        shutil.copytree(home, tmp_path / "saved")
    assert_whole(tmp_path / "saved", [])
