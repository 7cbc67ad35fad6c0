"""Transactions: all or nothing, also when the disk or the commit itself refuses, and errors of our own kind."""

from __future__ import annotations

import gc
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import StoreCorrupt, StoreError
from appliance.store import database as module
from appliance.store.database import Database

INSERT = "INSERT INTO source (path, format, bytes, first_at, last_at) VALUES (?, 'native', 0, 0, 0)"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "recall.db")
    yield opened
    opened.close()


def store(database: Database, *paths: str, but: Exception | None = None) -> None:
    """Enter sources in one transaction; with ``but`` it ends by raising that."""
    with database.write() as tx:
        tx.executemany(INSERT, [(path,) for path in paths])
        if but is not None:
            raise but


def paths(database: Database) -> list[str]:
    """What another process would see."""
    connection = sqlite3.connect(database.path)
    found = [path for (path,) in connection.execute("SELECT path FROM source ORDER BY id")]
    connection.close()
    return found


def test_a_block_that_raises_leaves_nothing(database: Database) -> None:
    with pytest.raises(KeyError):
        store(database, "a", but=KeyError())
    store(database, "b")
    assert paths(database) == ["b"]


def test_a_trial_leaves_nothing_and_sees_what_it_did(database: Database) -> None:
    with database.trial() as tx:
        with database.write() as inner:
            inner.execute(INSERT, ("a",))
        assert tx.execute("SELECT count(*) FROM source").fetchone() == (1,)
    assert paths(database) == []


def test_a_transaction_within_another_is_a_part_of_it(database: Database) -> None:
    with database.write():
        store(database, "a")
        assert paths(database) == [], "it is not committed by itself"
    assert paths(database) == ["a"]


def test_a_full_disk_is_said_as_that_and_writing_goes_on_later(database: Database) -> None:
    with database.write() as tx:
        tx.execute(INSERT, ("before",))
        (pages,) = tx.execute("PRAGMA page_count").fetchone()
    with database.write() as tx:
        tx.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match="full") as refused:
        store(database, *(f"{number}" * 3_000 for number in range(100)))
    assert str(database.path) in str(refused.value) and "room" in str(refused.value.hint)
    with database.write() as tx:
        tx.execute("PRAGMA max_page_count = 100000")
        tx.execute(INSERT, ("after",))
    assert paths(database) == ["before", "after"]


def test_after_a_commit_that_failed_the_next_one_counts(database: Database) -> None:
    def store_what_belongs_to_nothing() -> None:
        with database.write() as tx:
            tx.execute("PRAGMA defer_foreign_keys = ON")
            tx.execute("INSERT INTO embedding VALUES (99, x'00', 0)")

    with pytest.raises(sqlite3.IntegrityError):
        store_what_belongs_to_nothing()
    store(database, "after")
    assert paths(database) == ["after"]


def test_readers_see_what_is_committed_and_can_t_write(database: Database) -> None:
    with database.write() as tx:
        tx.execute(INSERT, ("a",))
        assert database.read().execute("SELECT count(*) FROM source").fetchall() == [(0,)]
    assert list(database.read().execute("SELECT path FROM source")) == [("a",)]
    with pytest.raises(StoreError, match="readonly"):
        database.read().execute(INSERT, ("b",))


def test_writers_of_several_threads_take_turns(database: Database) -> None:
    def write(name: str) -> None:
        for number in range(20):
            with database.write() as tx:
                (count,) = tx.execute("SELECT count(*) FROM source").fetchone()
                tx.execute(INSERT, (f"{name}{number} as number {count}",))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [int(path.split()[-1]) for path in paths(database)] == list(range(80))


def test_damage_is_said_where_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "recall.db"
    database = Database(path)
    with database.write() as tx:
        tx.executemany(INSERT, [(f"{number}" * 300,) for number in range(200)])
        (root,) = tx.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'source'").fetchone()
        (size,) = tx.execute("PRAGMA page_size").fetchone()
    database.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    database = Database(path)
    for read in (lambda rows: rows.fetchall(), lambda rows: rows.fetchone(), list):
        with pytest.raises(StoreCorrupt, match="damaged") as refused:
            read(database.read().execute("SELECT path, bytes FROM source"))
        assert "backup" in str(refused.value.hint)
    database.close()


def test_an_interrupt_within_a_function_of_ours_stays_an_interrupt(
    memory: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = memory.sessions.create()
    session.add("user", "before")

    def interrupted(text: str) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as now:
        now.setattr(module, "searchable", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.add("user", "during")
    session.add("user", "after")
    assert [message.text for message in session.messages()] == ["before", "after"]
    assert not memory.verify().problems


def test_a_threads_connection_goes_with_the_thread(database: Database) -> None:
    store(database, "a")
    for _ in range(20):
        thread = threading.Thread(target=lambda: database.read().execute("SELECT 1").fetchone())
        thread.start()
        thread.join()
        gc.collect()  # a connection and its cursors hold each other
    assert len(database._open_readers) == 1  # the last one's: the next thread closes it


def test_what_a_thread_began_to_read_can_be_read_on_when_it_has_ended(database: Database) -> None:
    store(database, "a", "b")
    began: list[sqlite3.Cursor] = []
    thread = threading.Thread(target=lambda: began.append(database.read().execute("SELECT path FROM source")))
    thread.start()
    thread.join()
    assert [path for (path,) in began[0]] == ["a", "b"]
