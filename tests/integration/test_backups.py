"""Backups: made while the memory is in use, incremental, checked, and restored into a new home."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance, Backups
from appliance.errors import DiskFull, HomeError, NotFound, StoreCorrupt, StoreError, StoreVersion, UsageError
from appliance.paths import Home
from appliance.store import migrations
from appliance.store.backup import catalogue, making, retention
from appliance.store.backup.storage import FolderStorage
from appliance_models import HashEmbedder


def lines(count: int, session: str = "s", first: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "session_id": session,
            "message_id": f"{session}-{number}",
            "role": ("user", "assistant")[number % 2],
            "timestamp": f"2024-03-01T10:{number // 60 % 60:02}:{number % 60:02}Z",
            "content": f"message {number} of {session} about lantern {number * 7919 % 1000}",
        }
        for number in range(first, first + count)
    ]


def write(path: Path, content: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in content), encoding="utf-8")
    return path


def opened(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with opened(tmp_path / "home") as memory:
        memory.ingest(write(tmp_path / "a.jsonl", lines(300)))
        memory.pin("s-3")
        yield memory


def test_what_is_restored_is_what_was_there(memory: Appliance, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    report = memory.backup(tmp_path / "backups", progress=lambda done, left: steps.append((done, left)))
    assert steps and steps[-1][1] == 0
    assert (report.messages, Path(report.path)) == (300, tmp_path / "backups")
    assert report.new_bytes < report.bytes
    restored = Appliance.restore(tmp_path / "backups", tmp_path / "new")
    assert (restored.messages, restored.lost, restored.backup) == (300, (), report.id)
    with opened(tmp_path / "new") as other:
        assert list(other.export()) == list(memory.export())
        other.embed_pending()
        assert not other.verify().problems
        assert [hit.external_id for hit in other.search("lantern 7")] == [
            hit.external_id for hit in memory.search("lantern 7")
        ]
        assert other.message("s-3").pinned


@pytest.mark.parametrize("name", ["one.backup", "folder.zip"])
def test_a_file_holds_one_backup_and_is_replaced_as_a_whole(memory: Appliance, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    memory.backup(path)
    memory.sessions.create(title="later").add("user", "something new")
    memory.backup(path)
    assert path.is_file() and [one.messages for one in Backups.list(path)] == [301]
    assert not Backups.verify(path, read_data=True).problems
    assert Appliance.restore(path, tmp_path / "new").messages == 301


@pytest.mark.slow
def test_the_second_backup_writes_only_what_is_new(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "b.jsonl", lines(2_000, "b")))
    first = memory.backup(tmp_path / "backups")
    same = memory.backup(tmp_path / "backups")
    assert same.new_bytes == 0
    memory.ingest(write(tmp_path / "c.jsonl", lines(20, "c")))
    second = memory.backup(tmp_path / "backups")
    assert 0 < second.new_bytes < first.new_bytes / 3
    listed = Backups.list(tmp_path / "backups")
    assert [one.id for one in listed] == [second.id, same.id, first.id]
    assert [one.messages for one in listed] == [2_320, 2_300, 2_300]
    for id, count in ((first.id, 2_300), (second.id, 2_320)):
        Appliance.restore(tmp_path / "backups", tmp_path / id, id=id)
        with opened(tmp_path / id) as other:
            assert other.overview.counts()["messages"] == count
            other.embed_pending()
            assert not other.verify().problems


def test_a_backup_is_of_one_moment_while_others_write(memory: Appliance, tmp_path: Path) -> None:
    stop = threading.Event()
    session = memory.sessions.create(title="busy")

    def add() -> None:
        number = 0
        while not stop.is_set():
            session.add("user", f"note {number} about the harbour")
            memory.embed_pending()
            number += 1

    writer = threading.Thread(target=add)
    writer.start()
    try:
        reports = [memory.backup(tmp_path / "backups") for _ in range(5)]
    finally:
        stop.set()
        writer.join()
    for report in reports:
        home = tmp_path / report.id
        Appliance.restore(tmp_path / "backups", home, id=report.id)
        with opened(home) as other:
            assert other.overview.counts()["messages"] == report.messages
            other.embed_pending()
            assert not other.verify().problems


def test_an_existing_home_is_never_overwritten(memory: Appliance, tmp_path: Path) -> None:
    memory.backup(tmp_path / "backups")
    with pytest.raises(HomeError, match="already a memory"):
        Appliance.restore(tmp_path / "backups", tmp_path / "home")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "diary.txt").write_text("mine")
    with pytest.raises(HomeError, match="not empty"):
        Appliance.restore(tmp_path / "backups", tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["diary.txt"]
    (tmp_path / "empty").mkdir()
    assert Appliance.restore(tmp_path / "backups", tmp_path / "empty").messages == 300


def test_a_backup_goes_neither_into_the_memory_nor_among_other_files(memory: Appliance, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="within the memory"):
        memory.backup(tmp_path / "home" / "copy")
    with pytest.raises(StoreError, match="other files"):
        memory.backup(tmp_path)
    (tmp_path / "letter.txt").write_text("Dear Ana")
    with pytest.raises(StoreCorrupt, match="not a backup"):
        memory.backup(tmp_path / "letter.txt")
    assert (tmp_path / "letter.txt").read_text() == "Dear Ana"


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such file or folder"):
        Backups.list(tmp_path / "nowhere")
    with pytest.raises(NotFound, match="no backups in this folder"):
        Backups.verify(tmp_path)
    assert not (tmp_path / "new").exists()


def test_a_folder_that_may_not_be_read_is_no_folder_without_backups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = Path.stat

    def stat(path: Path, **more: bool) -> os.stat_result:
        if path.parent == tmp_path:  # as in a folder without rights; a test may run as root
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return find(path, **more)

    monkeypatch.setattr(Path, "stat", stat)
    with pytest.raises(StoreError, match="can't be read: Permission denied"):
        Appliance.restore(tmp_path, tmp_path / "home" / "new")


def test_an_unknown_id_is_said(memory: Appliance, tmp_path: Path) -> None:
    memory.backup(tmp_path / "backups")
    with pytest.raises(NotFound, match="1999"):
        Appliance.restore(tmp_path / "backups", tmp_path / "new", id="1999")


def test_a_backup_of_a_newer_version_is_refused(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.backup(tmp_path / "backups")
    monkeypatch.setattr(migrations, "latest", lambda: 1)
    with pytest.raises(StoreVersion, match="newer version"):
        Appliance.restore(tmp_path / "backups", tmp_path / "new")


def test_a_backup_of_an_older_version_is_migrated_when_it_is_opened(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.backup(tmp_path / "backups")
    Appliance.restore(tmp_path / "backups", tmp_path / "new")
    before = migrations.latest()
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, ("CREATE TABLE later (id INTEGER)",)))
    with opened(tmp_path / "new") as other:
        assert other.overview.counts()["messages"] == 300
    with sqlite3.connect(tmp_path / "new" / "recall.db") as db:
        assert db.execute("PRAGMA user_version").fetchone() == (before + 1,)
    db.close()


# --- damage ---------------------------------------------------------------------------------------------------


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_every_damage_of_a_pack_is_found_by_reading_it(memory: Appliance, tmp_path: Path) -> None:
    report = memory.backup(tmp_path / "backups")
    (pack,) = (tmp_path / "backups" / "packs").iterdir()
    size = pack.stat().st_size
    for at in (0, 5, 40, size // 3, size // 2, size - 1):
        flip(pack, at)
        assert not Backups.verify(tmp_path / "backups").problems, "the size is right"
        (problem,) = Backups.verify(tmp_path / "backups", read_data=True).problems
        assert (problem.where, problem.backups) == (f"packs/{pack.name}", (report.id,))
        flip(pack, at)
    assert not Backups.verify(tmp_path / "backups", read_data=True).problems


def test_packs_without_any_manifest_are_no_sound_backup(memory: Appliance, tmp_path: Path) -> None:
    memory.backup(tmp_path / "backups")
    (manifest,) = (tmp_path / "backups" / "backups").iterdir()
    manifest.unlink()
    assert "missing" in Backups.verify(tmp_path / "backups").problems[0].message


def test_a_missing_or_shortened_part_is_found_without_reading(memory: Appliance, tmp_path: Path) -> None:
    report = memory.backup(tmp_path / "backups")
    (pack,) = (tmp_path / "backups" / "packs").iterdir()
    whole = pack.read_bytes()
    pack.write_bytes(whole[:-7])
    assert "bytes instead of" in Backups.verify(tmp_path / "backups").problems[0].message
    pack.unlink()
    assert Backups.verify(tmp_path / "backups").problems[0].message == "It is missing."
    with pytest.raises(StoreCorrupt, match="missing"):
        Appliance.restore(tmp_path / "backups", tmp_path / "new")
    assert not (tmp_path / "new").exists() and not list(tmp_path.glob(".new*")), "nothing is left behind"
    pack.write_bytes(whole)
    flip(tmp_path / "backups" / "backups" / report.id, 100)
    assert "manifest" in Backups.verify(tmp_path / "backups").problems[0].message


def test_without_its_vectors_a_home_is_restored_and_that_is_said(memory: Appliance, tmp_path: Path) -> None:
    memory.backup(tmp_path / "backups")
    (tmp_path / "home" / "extra").mkdir()
    # Blocks that zstd can't join with those of the database: a pack of its own.
    (tmp_path / "home" / "extra" / "noise").write_bytes(bytes(range(256)) * 100)
    second = memory.backup(tmp_path / "backups")
    (tmp_path / "backups" / "packs" / f"{second.id}-1").unlink()
    restored = Appliance.restore(tmp_path / "backups", tmp_path / "new")
    assert [part.where for part in restored.lost] == ["extra/noise"]
    with opened(tmp_path / "new") as other:
        assert len(list(other.export())) == 300


def test_a_damaged_earlier_backup_does_not_stop_the_next(memory: Appliance, tmp_path: Path) -> None:
    memory.backup(tmp_path / "backups")
    for pack in (tmp_path / "backups" / "packs").iterdir():
        pack.unlink()
    report = memory.backup(tmp_path / "backups")
    assert Appliance.restore(tmp_path / "backups", tmp_path / "new", id=report.id).messages == 300


# --- interruptions --------------------------------------------------------------------------------------------


def test_an_interrupted_backup_is_invisible_and_its_rest_is_removed(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = memory.backup(tmp_path / "backups")
    memory.ingest(write(tmp_path / "b.jsonl", lines(200, "b")))

    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(making.Repository, "write_manifest", fail)
        with pytest.raises(KeyboardInterrupt):
            memory.backup(tmp_path / "backups")
    assert not (tmp_path / "home" / "backup.tmp").exists()
    assert [one.id for one in Backups.list(tmp_path / "backups")] == [first.id]
    assert not Backups.verify(tmp_path / "backups", read_data=True).problems
    second = memory.backup(tmp_path / "backups")
    packs = sorted(path.name for path in (tmp_path / "backups" / "packs").iterdir())
    assert packs == [f"{first.id}-0", f"{second.id}-1"]


def test_a_full_disk_is_said_and_the_earlier_backup_stays(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.backup(tmp_path / "backups")
    memory.ingest(write(tmp_path / "b.jsonl", lines(200, "b")))
    write_entry = FolderStorage.write

    def full(storage: FolderStorage, name: str, data: bytes) -> None:
        if name.startswith("packs/"):
            monkeypatch.setattr("appliance.store.backup.storage.write_file_atomically", no_room)
        write_entry(storage, name, data)

    def no_room(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(FolderStorage, "write", full)
        with pytest.raises(DiskFull, match="no room for the backup") as error:
            memory.backup(tmp_path / "backups")
        assert error.value.hint and "Earlier backups" in error.value.hint
    assert not Backups.verify(tmp_path / "backups", read_data=True).problems
    assert len(Backups.list(tmp_path / "backups")) == 1


def test_a_half_restored_home_is_not_taken_for_one(memory: Appliance, tmp_path: Path) -> None:
    memory.backup(tmp_path / "backups")
    # As a restoration that was killed leaves it.
    work = tmp_path / ".new.restoring"
    (work / "vectors").mkdir(parents=True)
    (work / "recall.db.new").write_bytes(b"half")
    with pytest.raises(HomeError):
        Appliance.open(tmp_path / "new", create=False)
    with pytest.raises(HomeError):
        Appliance.open(work, create=False)
    assert Appliance.restore(tmp_path / "backups", tmp_path / "new").messages == 300
    assert not work.exists() and not (tmp_path / "new" / "recall.db.new").exists()


def test_two_processes_do_not_write_into_one_folder(memory: Appliance, tmp_path: Path) -> None:
    from appliance.store.backup import storage

    memory.backup(tmp_path / "backups")
    with storage.writing(tmp_path / "backups"), pytest.raises(StoreError, match="Another backup"):
        memory.backup(tmp_path / "backups")


def test_secrets_of_this_machine_are_left_out(memory: Appliance, tmp_path: Path) -> None:
    (tmp_path / "home" / "token").write_text("secret")
    (tmp_path / "home" / "config.toml").write_text("")
    memory.backup(tmp_path / "backups")
    Appliance.restore(tmp_path / "backups", tmp_path / "new")
    restored = {path.name for path in (tmp_path / "new").iterdir()}
    assert restored == {"recall.db", "vectors", "config.toml", "lock", "backups"}
    assert [path.name for path in (tmp_path / "new" / "backups").iterdir()] == ["list.json"]


def test_files_are_private(memory: Appliance, tmp_path: Path) -> None:
    memory.backup(tmp_path / "backups")
    memory.backup(tmp_path / "one.backup")
    Appliance.restore(tmp_path / "backups", tmp_path / "new")
    for path in [*(tmp_path / "backups").rglob("*"), tmp_path / "one.backup", *(tmp_path / "new").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
    shutil.rmtree(tmp_path / "new")


# --- which are kept -------------------------------------------------------------------------------------------


def test_backups_that_are_not_kept_go_with_what_only_they_needed(memory: Appliance, tmp_path: Path) -> None:
    first = memory.backup(tmp_path / "backups")
    memory.ingest(write(tmp_path / "b.jsonl", lines(300, "b")))
    second = memory.backup(tmp_path / "backups")
    memory.sessions.get("b").delete()
    third = memory.backup(tmp_path / "backups", keep="1d")
    assert third.removed == (first.id, second.id)
    assert [one.id for one in Backups.list(tmp_path / "backups")] == [third.id]
    checked = Backups.verify(tmp_path / "backups", read_data=True)
    assert not checked.problems
    assert checked.packs == len(list((tmp_path / "backups" / "packs").iterdir()))
    assert memory.backup(tmp_path / "backups").new_bytes == 0, "the next one is still compared with it"
    assert Appliance.restore(tmp_path / "backups", tmp_path / "new").messages == 300
    with opened(tmp_path / "new") as other:
        assert list(other.export()) == list(memory.export())


def test_what_was_forgotten_is_in_no_pack_when_only_later_backups_are_kept(memory: Appliance, tmp_path: Path) -> None:
    memory.sessions.create(title="notes").add("user", "the saffron elephant is in the blue cupboard")
    memory.backup(tmp_path / "backups")
    assert b"saffron elephant" in all_blocks(tmp_path / "backups")
    memory.erasure.forget(memory.erasure.preview(query="saffron elephant"))
    memory.backup(tmp_path / "backups")
    assert b"saffron elephant" in all_blocks(tmp_path / "backups"), "the earlier backup still has it"
    memory.backup(tmp_path / "backups", keep="1d")
    assert b"saffron elephant" not in all_blocks(tmp_path / "backups")
    assert not Backups.verify(tmp_path / "backups", read_data=True).problems


def all_blocks(folder: Path) -> bytes:
    """What all packs hold, whether a backup needs it or not."""
    from appliance.store.backup import packs

    found = b""
    for path in (folder / "packs").iterdir():
        pack = packs.decode(path.read_bytes(), path.name)
        for frame in range(len(pack.frames)):
            found += b"".join(block for _, block in pack.frame_blocks(frame))
    return found


def test_without_what_a_home_remembers_the_packs_are_read(memory: Appliance, tmp_path: Path) -> None:
    memory.backup(tmp_path / "backups")
    shutil.rmtree(tmp_path / "home" / "backups")
    assert memory.backup(tmp_path / "backups").new_bytes == 0
    Appliance.restore(tmp_path / "backups", tmp_path / "new")
    with opened(tmp_path / "new") as other:
        other.sessions.create(title="x").add("user", "in the restored one")
        report = other.backup(tmp_path / "backups")
    assert 0 < report.new_bytes < report.bytes / 4


def test_keeping_needs_a_folder_and_a_policy(memory: Appliance, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a folder"):
        memory.backup(tmp_path / "one.backup", keep="7d")
    with pytest.raises(UsageError, match="Invalid retention"):
        memory.backup(tmp_path / "backups", keep="a week")
    assert not (tmp_path / "backups").exists()


def test_nothing_is_removed_while_a_kept_backup_cannot_be_read(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = memory.backup(tmp_path / "backups")
    memory.backup(tmp_path / "backups")
    flip(tmp_path / "backups" / "backups" / first.id, 80)
    monkeypatch.setattr(retention.RetentionPolicy, "kept", lambda policy, ids: {ids[0], ids[-1]})
    with pytest.raises(StoreCorrupt, match="manifest"):
        memory.backup(tmp_path / "backups", keep="1d")
    assert len(list((tmp_path / "backups" / "backups").iterdir())) == 3


def test_nothing_is_removed_while_a_pack_that_is_written_anew_is_damaged(memory: Appliance, tmp_path: Path) -> None:
    memory.backup(tmp_path / "backups")
    memory.ingest(write(tmp_path / "b.jsonl", lines(300, "b")))
    memory.backup(tmp_path / "backups")
    memory.sessions.get("b").delete()
    for pack in (tmp_path / "backups" / "packs").iterdir():
        flip(pack, pack.stat().st_size // 2)
    with pytest.raises(StoreCorrupt):
        memory.backup(tmp_path / "backups", keep="1d")
    assert len(list((tmp_path / "backups" / "backups").iterdir())) == 3


def test_a_backup_is_known_although_its_maker_was_ended_after_it(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance.store.backup.previous.remember", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        memory.backup(tmp_path / "backups")
    (known,) = catalogue.known(Home(tmp_path / "home"))
    assert known.path == str(tmp_path / "backups") and len(known.times) == 1
