"""Transactions: all or nothing, also when the disk or the commit itself refuses, and errors of our own kind."""

from __future__ import annotations

import gc
import itertools
import queue
import sqlite3
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import StoreCorrupt, StoreError
from appliance.store import database as module
from appliance.store.database import Database
from tests.engines import engine_of

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
    with database.dry_run() as tx:
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
    session = memory.sessions.create(title="before")

    def interrupted(text: str) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as now:
        now.setattr(module, "searchable", interrupted)
        with pytest.raises(KeyboardInterrupt):  # in a trigger, which puts the words of a title into the full text
            session.rename("during")
    session.rename("after")
    assert [one.title for one in memory.sessions.list() if one.title in ("before", "during", "after")] == ["after"]
    assert not memory.verify().problems


def in_thread(work: Callable[[], object]) -> None:
    """Do something in a thread that has ended when this returns."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    for error in raised:
        raise error


def test_a_threads_connection_goes_with_the_thread(database: Database) -> None:
    store(database, "a")
    for _ in range(20):
        in_thread(lambda: database.read().execute("SELECT 1").fetchone())
    assert len(database._open_readers) == 1  # the last one's: the next thread closes it


def leased(database: Database) -> Generator[str, None, None]:
    """The paths, each of a query of its own: nothing is open in between but the lease."""
    with database.lease() as db:
        for number in range(1, 5):
            yield from (path for (path,) in db.execute("SELECT path FROM source WHERE id = ?", (number,)))


def test_what_a_thread_began_to_read_is_read_on_in_others(database: Database) -> None:
    store(database, "a", "b", "c", "d")
    rows = leased(database)
    found: list[str] = []
    for _ in range(4):
        in_thread(lambda: found.append(next(rows)))
        in_thread(lambda: database.read().execute("SELECT 1").fetchone())  # closes what may be closed
    assert found == ["a", "b", "c", "d"]
    assert len(database._open_readers) == 2
    assert list(rows) == []
    in_thread(database.read)
    assert len(database._open_readers) == 1


def test_a_cursor_of_a_lease_is_read_on_when_its_thread_has_ended(database: Database) -> None:
    store(database, "a", "b")
    began: list[sqlite3.Cursor] = []
    lease = database.lease()
    in_thread(lambda: began.append(lease.__enter__().execute("SELECT path FROM source")))
    for _ in range(3):
        in_thread(lambda: database.read().execute("SELECT 1").fetchone())
    assert [path for (path,) in began[0]] == ["a", "b"]
    lease.__exit__(None, None, None)
    in_thread(database.read)
    with pytest.raises(StoreError, match="closed"):
        began[0].connection.execute("SELECT 1")


def test_a_lease_goes_with_a_generator_that_is_dropped_or_fails(database: Database) -> None:
    store(database, "a", "b")
    for end in ("dropped", "closed", "raised"):
        rows = leased(database)
        in_thread(lambda rows=rows: next(rows))
        if end == "closed":
            rows.close()
        elif end == "raised":
            with pytest.raises(KeyError):
                rows.throw(KeyError())
        del rows
        gc.collect()
        assert not database._open_readers


def test_many_threads_lease_and_read_at_once(database: Database) -> None:
    store(database, *(f"{number}" for number in range(40)))
    query = "SELECT path FROM source WHERE id > ? ORDER BY id LIMIT 5"
    wanted = [f"{number}" for number in range(40)]
    waiting: queue.Queue[Iterator[list[str]] | None] = queue.Queue()
    found: list[list[str]] = []
    failed: list[BaseException] = []

    def pages() -> Iterator[list[str]]:
        with database.lease() as db:
            for start in range(0, 40, 5):
                yield [path for (path,) in db.execute(query, (start,))]

    def begin() -> None:
        try:
            for _ in range(5):
                rows = pages()
                waiting.put(itertools.chain([next(rows)], rows))
        except BaseException as error:
            failed.append(error)

    def go_on() -> None:
        try:
            while (rows := waiting.get(timeout=60)) is not None:
                found.append([path for page in rows for path in page])
        except BaseException as error:
            failed.append(error)

    readers = [threading.Thread(target=go_on) for _ in range(4)]
    for thread in readers:
        thread.start()
    for _ in range(5):
        # Threads come and go, and each new one closes what it takes for left.
        starters = [threading.Thread(target=begin) for _ in range(4)]
        for thread in starters:
            thread.start()
        for thread in starters:
            thread.join()
    for _ in readers:
        waiting.put(None)
    for thread in readers:
        thread.join()
    assert not failed and found == [wanted] * 100
    in_thread(database.read)
    assert len(database._open_readers) == 1 and not database._open_readers[0].leases


def test_an_export_is_read_on_in_other_threads(memory: Appliance) -> None:
    session = memory.sessions.create()
    for number in range(300):
        session.add("user", f"number {number}")
    for verb in (memory.export, memory.export_markdown):
        rows = iter(verb())
        pieces = []
        while True:
            more: list[object] = []
            in_thread(lambda rows=rows, more=more: more.extend(itertools.islice(rows, 50)))
            in_thread(lambda: engine_of(memory)._database.read().execute("SELECT 1").fetchone())
            if not more:
                break
            pieces += more
        assert all(f"number {number}" in str(piece) for number, piece in enumerate(pieces[-300:]))
        assert len(pieces) in (300, 301)


def test_a_database_that_closes_ends_its_leases(tmp_path: Path) -> None:
    database = Database(tmp_path / "recall.db")
    store(database, "a", "b")
    rows = leased(database)
    assert next(rows) == "a"
    database.close()
    with pytest.raises(StoreError, match="closed"):
        next(rows)
    with database.lease() as db, pytest.raises(StoreError, match="closed"):
        db.execute("SELECT 1")
    with pytest.raises(StoreError, match="closed"):
        in_thread(lambda: database.lease().__enter__())
