"""Whatever stands in a column instead of its value, as one bit may bring about: each verb answers, or says in words
what is wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from crash_runs import open_memory, write

from appliance import Appliance
from appliance.errors import ApplianceError, IncompleteExport, StoreCorrupt
from appliance.store import text_frames
from tests.homes import copied

pytestmark = pytest.mark.slow

SAMPLE = 12
"""Damages in the slow step; the campaign does all, in shards."""

SHARDS = 10
VALUES = {"bytes": "x'3133ff'", "number": "77", "nothing": "NULL", "other words": "'wrong'"}
QUESTION = "the violin at the harbour"

Damage = tuple[str, str, str]
"""A table, a column, and a key of ``VALUES``."""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed home with archived messages, facts, summaries and a receipt."""
    folder = tmp_path_factory.mktemp("built")
    said = ["My name is Ben and I live in city {}.", "The violin at the harbour is old, says {}.", "I like tea {}."]
    lines = [
        {"session_id": session, "message_id": f"{session}-{n}", "role": ("user", "assistant")[n % 2],
         "content": said[n % 3].format(n), "author": "Ben", "session_title": "About the violin",
         "timestamp": f"2024-03-{1 + n % 28:02}T10:00:00Z", "metadata": {"place": "here"}}
        for session in ("ben", "ana") for n in range(30)
    ]  # fmt: skip
    with open_memory(folder / "home") as memory:
        memory.ingest(write(folder / "chat.jsonl", lines))
        memory.run_pending_jobs()
        memory.archive.run(days=0, importance=1.0)
        memory.sessions.create(title="new").add("user", "My password is Wint3r!kettle. I live in Rome.")
        gone = memory.sessions.create(title="gone").add("user", "nobody has to know about the lighthouse")
        memory.erasure.forget(memory.erasure.preview(gone.id))
        memory.facts.add("I live in Oslo")
        memory.search(QUESTION)
        memory.run_pending_jobs()
    return folder


def damages(home: Path) -> list[Damage]:
    """One for each kind of value in each column of the tables that have rows."""
    with closing(_connect(home)) as db:
        tables = [row[1] for row in db.execute("PRAGMA main.table_list") if row[2] == "table" and "_fts" not in row[1]]
        return [
            (table, column, kind)
            for table in sorted(tables)
            if not table.startswith(("sqlite_", "_sqlite_")) and db.execute(f"SELECT 1 FROM {table}").fetchone()
            for _, column, *_ in db.execute(f"PRAGMA table_info({table})")
            for kind in VALUES
        ]


def _connect(home: Path) -> sqlite3.Connection:
    db = sqlite3.connect(home / "recall.db", isolation_level=None)
    text_frames.register(db)
    return db


def damage(home: Path, table: str, column: str, kind: str) -> bool:
    """Put another value into one row, past all constraints; False if the column can't hold it."""
    with closing(_connect(home)) as db:
        db.execute("PRAGMA writable_schema = 1")
        rules = db.execute("SELECT name, type, sql FROM sqlite_schema WHERE tbl_name = ?", (table,)).fetchall()
        (schema,) = (sql for name, _, sql in rules if name == table)
        db.execute("UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE name = ?", (table,))
    with closing(_connect(home)) as db:
        db.execute("PRAGMA ignore_check_constraints = 1")
        triggers = [(name, sql) for name, type, sql in rules if type == "trigger"]
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        try:
            keys = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[5]]
            middle = f"SELECT {', '.join(keys)} FROM {table} LIMIT 1 OFFSET (SELECT count(*) / 2 FROM {table})"
            sql = f"UPDATE {table} SET {column} = {VALUES[kind]} WHERE ({', '.join(keys)}) IN ({middle})"
            return bool(db.execute(sql).rowcount)
        except sqlite3.Error:
            return False
        finally:
            for _, sql in triggers:
                db.execute(sql)
            db.execute("PRAGMA writable_schema = 1")
            db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (schema, table))


def verbs(memory: Appliance, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "status", memory.status
    yield "search", lambda: memory.search(QUESTION, include_archived=True)
    yield "question", lambda: memory.search("Where do I live?")
    yield "meaning", lambda: memory.search(QUESTION, mode="dense")
    yield "context", lambda: memory.context(QUESTION)
    yield "sessions", memory.sessions.list
    yield "facts", memory.facts.list
    yield "summaries", memory.summaries.list
    yield "receipts", memory.erasure.receipts
    yield "archive", memory.archive.status
    yield "export", lambda: list(memory.export())
    yield "verify", memory.verify
    yield "backup", lambda: memory.backups.make(folder / "backups")
    yield "add", lambda: memory.sessions.create().add("user", "one more thing about the violin")
    yield "ingest", lambda: memory.ingest(folder / "chat.jsonl")
    yield "jobs", memory.run_pending_jobs
    yield "forget", lambda: memory.erasure.forget(memory.erasure.preview("ana"))


def check(built: Path, folder: Path, one: Damage) -> list[str]:
    """The verbs that end without words."""
    home = copied(built / "home", folder / "home")
    (folder / "chat.jsonl").write_bytes((built / "chat.jsonl").read_bytes())
    deaths: list[str] = []
    words: list[str] = []
    if not damage(home, *one):
        return deaths
    try:
        with Appliance.open(home, create=False, worker=False) as memory:
            for verb, run in verbs(memory, folder):
                try:
                    run()
                except ApplianceError as error:
                    words.append(str(error))
                except Exception as error:
                    deaths.append(f"{' '.join(one)}: {verb}: {type(error).__name__} {error}")
    except ApplianceError as error:
        words.append(str(error))
    assert all(words)
    return deaths


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(
    "shard", ["sample", *(pytest.param(str(n), marks=pytest.mark.campaign) for n in range(SHARDS))]
)
def test_any_value_of_another_kind_is_survived_or_named(built: Path, tmp_path: Path, shard: str) -> None:
    every = damages(built / "home")
    chosen = Random(3).sample(every, SAMPLE) if shard == "sample" else every[int(shard) :: SHARDS]
    deaths = []
    for number, one in enumerate(chosen):
        (folder := tmp_path / str(number)).mkdir()
        deaths += check(built, folder, one)
    assert not deaths, "\n".join(deaths)


@pytest.mark.parametrize("column", ["role", "author", "at", "metadata", "sent_at", "reply_to"])
def test_a_message_with_bytes_for_a_text_is_found_exported_and_named(built: Path, tmp_path: Path, column: str) -> None:
    home = copied(built / "home", tmp_path / "home")
    assert damage(home, "message", column, "bytes")
    with open_memory(home) as memory:
        exported = []
        with suppress(IncompleteExport):
            exported += memory.export()
        assert len(exported) == 61
        assert len(memory.search(QUESTION, include_archived=True, limit=60)) >= 20
        problems = [problem.message.partition(":")[0] for problem in memory.verify().problems]
        assert f"the stored bytes of {column} are damaged" in problems


def test_an_error_that_damage_explains_names_the_damaged_row(built: Path, tmp_path: Path) -> None:
    home = copied(built / "home", tmp_path / "home")
    assert damage(home, "generation", "model", "bytes")
    with (
        open_memory(home) as memory,
        pytest.raises(StoreCorrupt, match="row 1 of generation: the stored bytes of model"),
    ):
        memory.search(QUESTION)
