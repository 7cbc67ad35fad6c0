"""Databases are read from a snapshot: the folder stays as it is, the program that writes never waits, and no half is
read."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from appliance.formats import sqlite
from appliance.formats.base import Document
from tests.discovery import layouts
from tests.discovery.layouts import tree


@pytest.fixture
def document(tmp_path: Path) -> Document:
    path = layouts.cursor(tmp_path)
    return Document(str(path), path.stat().st_size, partial(path.open, "rb"), path=path)


@pytest.fixture
def program(document: Document) -> Iterator[sqlite3.Connection]:
    """The program that has the database open, with changes in its log."""
    assert document.path is not None
    with closing(sqlite3.connect(document.path, isolation_level=None, timeout=0)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("CREATE TABLE pair (a INTEGER, b INTEGER)")
        writer.execute("INSERT INTO pair VALUES (0, 0)")
        yield writer


def pairs(document: Document) -> list[tuple[int, int]]:
    with sqlite.open_readonly(document) as reader:
        return reader.execute("SELECT a, b FROM pair").fetchall()


def test_the_folder_stays_as_it_is(document: Document, program: sqlite3.Connection, tmp_path: Path) -> None:
    before = tree(tmp_path)
    assert pairs(document) == [(0, 0)], "what is in the log is read"
    assert "pair" in sqlite.table_names(document)
    assert tree(tmp_path) == before


def test_a_database_that_is_closed_is_read_in_place(document: Document, tmp_path: Path) -> None:
    before = tree(tmp_path)
    with sqlite.open_readonly(document) as reader:
        assert reader.execute("PRAGMA database_list").fetchone()[2] == str(document.path)
        with pytest.raises(sqlite3.OperationalError):
            reader.execute("DELETE FROM cursorDiskKV")
    assert tree(tmp_path) == before


def test_the_program_writes_and_clears_its_log_while_it_is_read(
    document: Document, program: sqlite3.Connection
) -> None:
    with sqlite.open_readonly(document) as reader:
        program.execute("BEGIN EXCLUSIVE")
        program.execute("UPDATE pair SET a = 1, b = 1")
        program.execute("COMMIT")
        assert program.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0, "nothing holds a lock"
        assert reader.execute("SELECT a, b FROM pair").fetchall() == [(0, 0)]
    assert pairs(document) == [(1, 1)]


def test_no_half_of_a_change_is_read(document: Document, program: sqlite3.Connection) -> None:
    stop, refused = threading.Event(), []

    def write(path: Path) -> None:
        filler = json.dumps("x" * 50_000)
        with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as writer:
            for number in range(1, 10_000):
                if stop.is_set():
                    return
                try:
                    writer.execute("BEGIN IMMEDIATE")
                    writer.execute("UPDATE pair SET a = ?", (number,))
                    writer.execute("INSERT OR REPLACE INTO ItemTable VALUES (?, ?)", (str(number % 7), filler))
                    writer.execute("UPDATE pair SET b = ?", (number,))
                    writer.execute("COMMIT")
                    if number % 5 == 0:
                        writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
                except sqlite3.OperationalError as error:
                    refused.append(error)

    assert document.path is not None
    thread = threading.Thread(target=write, args=(document.path,))
    thread.start()
    read = 0
    try:
        for _ in range(400):
            try:
                with sqlite.open_readonly(document) as reader:
                    ((first, second),) = reader.execute("SELECT a, b FROM pair").fetchall()
                    assert first == second
                    assert reader.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                    read += 1
                if read == 20:
                    break
            except sqlite3.OperationalError as error:
                if "changes it all the time" not in str(error):
                    raise
    finally:
        stop.set()
        thread.join()
    assert read and not refused


def test_a_database_with_a_rollback_journal_is_read_as_it_was_before_the_change(tmp_path: Path) -> None:
    path = layouts.goose(tmp_path) / "sessions.db"
    document = Document(str(path), path.stat().st_size, partial(path.open, "rb"), path=path)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("BEGIN IMMEDIATE")
        writer.executemany("INSERT INTO sessions VALUES (?, '', ?, '', '')", ((n, "x" * 2000) for n in range(200)))
        assert sqlite.is_in_use(path)
        before = tree(tmp_path)
        with sqlite.open_readonly(document) as reader:
            assert reader.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
        assert tree(tmp_path) == before
        writer.execute("ROLLBACK")
