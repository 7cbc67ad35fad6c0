"""What a home knows of its backups: made before a migration, named when something is damaged or forgotten."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance, Backups
from appliance.doctor import stored
from appliance.errors import StoreCorrupt, StoreError, UsageError
from appliance.paths import Home
from appliance.store import migrations
from appliance.store.backup import catalogue, making
from appliance.timestamps import iso_from_microseconds, now
from appliance_models import HashEmbedder


def opened(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with opened(tmp_path / "home") as memory:
        memory.sessions.create(title="notes").add("user", "the saffron elephant is in the blue cupboard")
        yield memory


def now_text() -> str:
    return iso_from_microseconds(now())


def damaged(home: Path) -> None:
    (home / "recall.db").write_bytes(b"no database at all" * 1_000)
    for name in ("recall.db-wal", "recall.db-shm"):
        (home / name).unlink(missing_ok=True)


def test_a_home_knows_where_its_backups_are(memory: Appliance, tmp_path: Path) -> None:
    assert memory.backups.known() == []
    first = memory.backup(tmp_path / "folder")
    second = memory.backup(tmp_path / "one.backup")
    third = memory.backup(tmp_path / "folder")
    folder, file = memory.backups.known()
    assert (folder.path, folder.times, folder.is_reachable) == (str(tmp_path / "folder"), (first.at, third.at), True)
    assert (file.path, file.times) == (str(tmp_path / "one.backup"), (second.at,))
    shutil.rmtree(tmp_path / "folder")
    assert next((one.times, one.is_reachable) for one in memory.backups.known()) == ((first.at, third.at), False)
    with pytest.raises(UsageError, match=r"folder for the backup does not exist"):
        memory.backup(tmp_path / "not" / "there")


def test_a_deleted_backup_is_a_trouble_and_one_out_of_reach_is_not(memory: Appliance, tmp_path: Path) -> None:
    drive = tmp_path / "drive"
    drive.mkdir()
    memory.backup(drive / "folder")
    home = Home(tmp_path / "home")

    def is_told() -> bool:
        return any("was deleted" in line for line in memory.status()["troubles"])

    assert not is_told() and stored.check_backups(home) is None
    shutil.rmtree(drive / "folder")
    assert not is_told(), "the drive may not be connected"
    assert "not in reach now" in catalogue.holding(home, now_text())[0]
    (drive / "another").touch()
    assert is_told() and (check := stored.check_backups(home)) is not None and not check.ok
    assert catalogue.holding(home, now_text()) == []


def test_a_restored_home_knows_where_it_is_from(memory: Appliance, tmp_path: Path) -> None:
    memory.backup(tmp_path / "folder")
    Appliance.restore(tmp_path / "folder", tmp_path / "new")
    with opened(tmp_path / "new") as other:
        assert [one.path for one in other.backups.known()] == [str(tmp_path / "folder")]


def test_the_latest_backup_is_named_when_the_database_is_damaged(memory: Appliance, tmp_path: Path) -> None:
    memory.backup(tmp_path / "folder")
    memory.close()
    damaged(tmp_path / "home")
    with pytest.raises(StoreCorrupt) as error:
        opened(tmp_path / "home")
    assert f"'appliance restore {tmp_path / 'folder'} --home NEW'" in (error.value.hint or "")


def test_without_a_backup_the_exports_are_named(memory: Appliance, tmp_path: Path) -> None:
    memory.close()
    damaged(tmp_path / "home")
    with pytest.raises(StoreCorrupt) as error:
        opened(tmp_path / "home")
    assert "ingest the exports again" in (error.value.hint or "")


def test_a_damaged_list_hinders_nothing(memory: Appliance, tmp_path: Path) -> None:
    memory.backup(tmp_path / "folder")
    (tmp_path / "home" / "backups" / "list.json").write_bytes(b"\xff[")
    assert memory.backups.known() == []
    memory.backup(tmp_path / "folder")
    assert len(memory.backups.known()) == 1
    list_file = tmp_path / "home" / "backups" / "list.json"
    list_file.write_text(re.sub(r"T\d{6}", "q123456", list_file.read_text()))
    assert memory.status()["backup"] is None and len(memory.backups.known()) == 1


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version of the program with one more migration."""
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, ("CREATE TABLE later (id INTEGER)",)))


def test_a_backup_is_made_before_a_migration(memory: Appliance, tmp_path: Path, request: Any) -> None:
    memory.close()
    before = migrations.latest()
    request.getfixturevalue("later")
    own = tmp_path / "home" / "backups" / catalogue.BEFORE_MIGRATION
    with opened(tmp_path / "home") as again:
        assert [one.path for one in again.backups.known()] == [str(own)]
        assert len(Backups.list(own)) == 1
    with opened(tmp_path / "home"):
        assert len(Backups.list(own)) == 1, "none without a migration"
    request.getfixturevalue("monkeypatch").undo()
    Appliance.restore(own, tmp_path / "old")
    assert migrations.latest() == before
    with opened(tmp_path / "old") as old:
        assert [line["content"] for line in old.export()] == ["the saffron elephant is in the blue cupboard"]


def test_a_new_home_needs_no_backup(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as memory:
        assert memory.backups.known() == []


@pytest.mark.usefixtures("later")
def test_without_room_for_the_backup_nothing_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:-1])
        with opened(tmp_path / "home") as memory:
            memory.sessions.create(title="x").add("user", "one")

    def full(home: Any) -> None:
        raise StoreError("The backup can't be written: No space left on device.")

    with monkeypatch.context() as patched:
        patched.setattr(making, "make_before_migration", full)
        with pytest.raises(StoreError, match="No space left"):
            opened(tmp_path / "home")
    assert migrations.is_due(tmp_path / "home" / "recall.db")
    with opened(tmp_path / "home") as memory:
        assert memory.overview.counts()["messages"] == 1


def test_a_receipt_names_the_backups_that_may_still_hold_it(memory: Appliance, tmp_path: Path) -> None:
    made = memory.backup(tmp_path / "folder")
    receipt = memory.erasure.forget(memory.erasure.preview(query="saffron elephant"))
    assert receipt.backups == (f"{tmp_path / 'folder'} ({made.at[:10]})",)
    memory.backup(tmp_path / "folder", keep="1d")
    (again,) = memory.erasure.receipts()
    assert again.backups == (), "only a later backup is left"


def test_a_file_that_was_replaced_without_a_note_is_not_named(memory: Appliance, tmp_path: Path) -> None:
    """As if the process had ended after the file was replaced."""
    target, noted = tmp_path / "one.backup", memory.home.root / "backups" / "list.json"
    memory.backup(target)
    before = noted.read_bytes()
    receipt = memory.erasure.forget(memory.erasure.preview("m1"))
    assert receipt.backups == (f"{target} ({receipt.at[:10]})",)
    memory.backup(target)
    noted.write_bytes(before)
    assert memory.erasure.receipts()[0].backups == ()


def test_forgetting_removes_the_backup_in_the_home(memory: Appliance, tmp_path: Path, request: Any) -> None:
    memory.close()
    request.getfixturevalue("later")
    with opened(tmp_path / "home") as again:
        receipt = again.erasure.forget(again.erasure.preview(query="saffron elephant"))
        assert receipt.backups == () == tuple(again.backups.known())
    assert not (tmp_path / "home" / "backups" / catalogue.BEFORE_MIGRATION).exists()


def test_a_backup_in_the_home_that_is_gone_is_not_listed_for_ever(memory: Appliance, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    making.make_before_migration(home)
    shutil.rmtree(home.backups / catalogue.BEFORE_MIGRATION)  # as by a process that ended right after it
    assert catalogue.known(home)
    catalogue.remove_own(home)
    assert not catalogue.known(home)


def test_what_a_killed_backup_leaves_is_removed_at_the_next_opening(memory: Appliance, tmp_path: Path) -> None:
    memory.close()
    (tmp_path / "home" / "backup.tmp").write_bytes(b"saffron elephant")
    with opened(tmp_path / "home"):
        assert not (tmp_path / "home" / "backup.tmp").exists()
