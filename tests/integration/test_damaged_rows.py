"""A database with damaged rows or pages: what is sound is found, exported and named, and so is what is not."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.errors import IncompleteExport, StoreCorrupt
from appliance.store import damage_scans
from appliance.store.damage_scans import TableScan
from appliance_models import HashEmbedder
from tests.damages import break_text, overwrite_page, pages_of, root_page
from tests.engines import engine_of
from tests.stored_sessions import ingest, line


def open_memory(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


LINES = [
    line(session, number, f"The violin of {session} is number {number}") for session in "ab" for number in range(9)
]


@pytest.fixture
def closed(home: Path, tmp_path: Path) -> Path:
    """A closed home with two conversations of nine messages."""
    with open_memory(home) as memory:
        ingest(memory, tmp_path, LINES)
    return home


def exported(memory: Appliance) -> tuple[list[dict[str, Any]], IncompleteExport | None]:
    lines = []
    try:
        for one in memory.export():
            lines.append(one)
    except IncompleteExport as error:
        return lines, error
    return lines, None


def broken_id(memory: Appliance, external_id: str) -> str:
    return memory.message(external_id).id


def test_an_archived_text_that_is_damaged_is_named(closed: Path) -> None:
    with open_memory(closed) as memory:
        memory.archive.run(days=0, importance=1.0)
        named = broken_id(memory, "a-4")
    with closing(sqlite3.connect(closed / "recall.db")) as db:
        (frame,) = db.execute("SELECT body FROM message WHERE external_id = 'a-4'").fetchone()
    content = (closed / "recall.db").read_bytes()
    assert content.count(frame) == 1
    (closed / "recall.db").write_bytes(content.replace(frame, frame[:-1] + bytes([frame[-1] ^ 1])))
    with open_memory(closed) as memory:
        lines, error = exported(memory)
        assert len(lines) == len(LINES) and error is not None and named in str(error)
        assert named in {problem.where for problem in memory.verify().problems}


def test_two_bytes_that_are_no_text_stop_nothing_and_are_named(closed: Path) -> None:
    break_text(closed, "violin of a is number 4", b"violin of a is n\xff\xfeber 4")
    with open_memory(closed) as memory:
        named = broken_id(memory, "a-4")
        assert memory.message("a-4").text == "The violin of a is n\ufffd\ufffdber 4"
        lines, error = exported(memory)
        assert {one["message_id"] for one in lines} == {one["message_id"] for one in LINES}
        assert error is not None and named in str(error) and error.exit_code == 1
        assert len("".join(memory.export_markdown(user_id="nobody"))) == 0
        assert {hit.external_id for hit in memory.search("violin", limit=30)} >= {"a-4", "b-8"}
        assert {hit.external_id for hit in memory.search("violin", limit=30, mode="lexical")} >= {"a-4", "b-8"}
        assert memory.context("violin").text
        assert named in memory.status()["health"] and "damaged" in memory.status()["health"]
        problems = {problem.where: problem.message for problem in memory.verify().problems}
        assert "text" in problems[named] and not any("SQL" in message for message in problems.values())


def test_a_damaged_message_can_be_indexed_again_and_forgotten(closed: Path, tmp_path: Path) -> None:
    break_text(closed, "violin of a is number 4", b"violin of a is n\xff\xfeber 4")
    with open_memory(closed) as memory:
        memory.reindex()
        memory.reindex(vectors=True)
        assert [problem.where for problem in memory.verify().problems] == [broken_id(memory, "a-4")]
        memory.erasure.forget(memory.erasure.preview("a-4"))
        assert not memory.verify().problems and memory.status()["health"] == "ok"


def test_reading_its_export_again_mends_a_damaged_message(closed: Path, tmp_path: Path) -> None:
    break_text(closed, "violin of a is number 4", b"violin of a is n\xff\xfeber 4")
    with open_memory(closed) as memory:
        ingest(memory, tmp_path, LINES)
        assert memory.message("a-4").text == "The violin of a is number 4"
        assert memory.status()["health"] == "ok"
        assert exported(memory) == (list(memory.export()), None)


def test_a_damaged_title_name_or_metadata_is_named(home: Path, tmp_path: Path) -> None:
    more: dict[str, Any] = {"session_title": "Lanterns", "author": "Ottoline", "metadata": {"files": ["plan.txt"]}}
    with open_memory(home) as memory:
        ingest(memory, tmp_path, [line("a", 0, "The harbour at night", **more), line("a", 1, "Yes")])
    for text, replacement in (
        ("Lanterns", b"Lan\xff\xffrns"),
        ("Ottoline", b"Ott\xff\xfeine"),
        ('{"files"', b'{"files{'),
    ):
        content = (home / "recall.db").read_bytes()
        (home / "recall.db").write_bytes(content.replace(text.encode(), replacement))
    with open_memory(home) as memory:
        message = memory.message("a-0")
        assert message.author == "Ott\ufffd\ufffdine" and message.text == "The harbour at night"
        assert message.metadata == {}
        assert [info.title for info in memory.sessions.list()] == ["Lan\ufffd\ufffdrns"]
        lines, error = exported(memory)
        assert len(lines) == 2 and error is not None
        problems = {problem.where: problem.message for problem in memory.verify().problems}
        assert "author" in problems[message.id] and "metadata" in problems[message.id]
        assert "title" in problems[message.session_id]
        assert memory.search("harbour")


LONG = [
    line(session, number, f"The violin of {session} is number {number}. " + "It rests beside the lantern. " * 9)
    for session in "ab"
    for number in range(40)
]


@pytest.fixture
def large(home: Path, tmp_path: Path) -> Path:
    """A closed home with two conversations whose messages take many pages."""
    with open_memory(home) as memory:
        ingest(memory, tmp_path, LONG)
    return home


@pytest.mark.parametrize("index", ["message_order", "sqlite_autoindex_message_1", "chunk_message"])
@pytest.mark.parametrize("kind", ["leaf", "root"])
def test_a_damaged_index_of_the_database_is_named_and_made_again(large: Path, index: str, kind: str) -> None:
    pages = pages_of(large, index)
    overwrite_page(large, pages[len(pages) // 2] if kind == "leaf" else root_page(large, index))
    with open_memory(large) as memory:
        problems = memory.verify().problems
        assert any("appliance reindex" in problem.message for problem in problems)
        memory.reindex()
        assert not memory.verify().problems
        assert {one["message_id"] for one in memory.export()} == {one["message_id"] for one in LONG}


def test_a_page_of_messages_that_is_gone_takes_only_its_own_messages_along(large: Path) -> None:
    pages = pages_of(large, "message")
    overwrite_page(large, pages[len(pages) // 2])
    with open_memory(large) as memory:
        lines, error = exported(memory)
        assert error is not None
        lost = {f"m{number}" for number in range(1, 81) if f"m{number} " in str(error)}
        assert 0 < len(lost) < 20 and len(lines) == 80 - len(lost)
        whole = {one["message_id"]: one["content"] for one in LONG}
        assert all(whole[one["message_id"]] == one["content"] for one in lines)
        for mode in ("hybrid", "lexical", "dense"):
            hits = memory.search("violin lantern", limit=80, mode=mode, per_session=80)
            assert any("damaged" in note for note in hits.notes)
            assert len(hits) > 40 and not lost & {hit.message_id for hit in hits}
        assert lost <= {problem.where for problem in memory.verify().problems}
        assert "the database is damaged" in memory.status()["health"]
        assert memory.context("violin").text


@pytest.mark.parametrize("name", ["sqlite_autoindex_message_1", "message_fts_data"])
def test_a_status_looks_at_the_pages_of_all_tables(large: Path, name: str) -> None:
    overwrite_page(large, pages_of(large, name)[0])
    with open_memory(large) as memory:
        assert "the database is damaged (table " in memory.status()["health"]
        if name != "message_fts_data":
            memory.reindex()
            assert memory.status()["health"] == "ok"


def test_a_status_names_a_message_that_is_not_what_was_stored(closed: Path) -> None:
    break_text(closed, "violin of a is number 4", b"violin of a is number 5")
    with open_memory(closed) as memory:
        named = broken_id(memory, "a-4")
        assert f"the database is damaged ({named})" in memory.status()["health"]
        memory.erasure.forget(memory.erasure.preview("a-4"))
        assert memory.status()["health"] == "ok"


def test_tables_that_take_too_long_are_said_to_be_unchecked(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overwrite_page(large, pages_of(large, "sqlite_autoindex_message_1")[0])
    with open_memory(large) as memory:
        db, scan = engine_of(memory)._database.read(), TableScan()
        assert scan.run(db, 0.0) == [] and "message" in scan.unchecked
        assert [row.where for row in scan.run(db, 60.0)] == ["table message"] and scan.unchecked == []
        monkeypatch.setattr(damage_scans, "_STEPS_BETWEEN_LOOKS", 1)
        monkeypatch.setattr(damage_scans.time, "monotonic", iter(range(1_000_000)).__next__)
        scan = TableScan()
        assert scan.run(db, 2) == [] and "chunk" in scan.unchecked
        monkeypatch.undo()
        assert memory.status()["unchecked_tables"] == []


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("damage", ["emptied", "gone", "gone but for its log", "replaced"])
def test_a_database_that_is_gone_beside_its_vectors_is_no_new_memory(closed: Path, damage: str, create: bool) -> None:
    path = closed / "recall.db"
    if damage == "emptied":
        path.write_bytes(b"")
    elif damage == "replaced":
        path.unlink()
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
    else:
        path.unlink()
    if damage == "gone but for its log":
        (closed / "recall.db-wal").write_bytes(b"\x37\x7f\x06\x82" * 1_000)
        (closed / "vectors" / "g1.ledger").unlink()
    before = {file: file.read_bytes() for file in closed.rglob("*") if file.is_file() and "shard" not in file.parts}
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match=r"recall\.db") as refused:
            Appliance.open(closed, create=create, worker=False, embedder=HashEmbedder())
        assert "backup" in str(refused.value.hint)
    del before[closed / "lock"]
    assert {file: file.read_bytes() for file in before} == before
    assert path.exists() == (damage in ("emptied", "replaced"))


def test_a_new_memory_begins_beside_a_ledger_without_vectors(home: Path) -> None:
    (home / "vectors").mkdir(parents=True)
    (home / "vectors" / "g1.ledger").write_bytes(bytes(4_096))
    with open_memory(home) as memory:
        assert memory.status()["health"] == "ok"
