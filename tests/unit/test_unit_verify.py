"""``verify`` names each kind of disagreement, and where it is; a sound home has none."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from appliance import Appliance
from appliance.store import text_frames
from appliance.store.check import MANUAL_SOURCE, SourceCoverage
from appliance.store.index import edge
from appliance.store.index.protocol import IndexPoint, PointFields
from appliance.store.passages import text_digest
from appliance.store.vectors import HEADER_BYTES
from appliance.types import InputProblem
from appliance_models import HashEmbedder

LINES = [
    {"session_id": "s", "message_id": f"s-{i}", "role": "user", "content": text}
    for i, text in enumerate(
        ("the harbour at night", "a violin in the market", " ".join(f"word{i}" for i in range(400)))
    )
]
ROW_BYTES = 16 + 4 + 2 * 32


@pytest.fixture
def whole(home: Path, tmp_path: Path) -> Path:
    """A closed home with three messages, the last in several chunks."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.ingest(path)
    return home


def problems(home: Path) -> list[InputProblem]:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        return memory.verify().problems


@contextmanager
def behind_its_back(home: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(home / "recall.db")
    text_frames.register(connection)
    yield connection
    connection.commit()
    connection.close()


@contextmanager
def index_of(home: Path) -> Iterator[edge.EdgeIndex]:
    (folder,) = (home / "index").iterdir()
    index = edge.open_edge(folder, 32)
    yield index
    index.close()


def test_a_sound_home_has_no_problems_and_says_what_was_looked_at(whole: Path) -> None:
    with Appliance.open(whole, worker=False, embedder=HashEmbedder()) as memory:
        findings = memory.verify()
    assert not findings.problems
    assert findings.checked["messages"] == 3 and findings.checked["sessions"] == 1
    assert findings.checked["characters"] == sum(len(line["content"]) for line in LINES)
    assert findings.checked["chunks"] == findings.checked["points"] == findings.checked["vectors"] == 4


@pytest.mark.parametrize(
    ("statement", "where", "says"),
    [
        ("DELETE FROM chunk WHERE message_id = 2", "m2", "characters 0 to 22 are not in any chunk"),
        ("DELETE FROM chunk WHERE message_id = 3 AND start = 0", "m3", "characters 0 to"),
        ("UPDATE chunk SET stop = stop - 1 WHERE message_id = 2", "m2", "characters 21 to 22"),
        ("UPDATE chunk SET stop = 99 WHERE message_id = 1", "m1", "spans 0 to 99 of 20 characters"),
        ("UPDATE chunk SET start = 3 WHERE message_id = 1", "m1", "characters 0 to 3 are not in any chunk"),
        ("UPDATE message SET body = 'the harbour at Night' WHERE id = 1", "m1", "another text"),
        ("UPDATE message SET author = 'Ana' WHERE id = 1", "m1", "another text"),
        ("UPDATE message SET body = 'a cello in the market!' WHERE id = 2", "recall.db", "full text"),
        ("DELETE FROM message_fts_data WHERE id > 10", "recall.db", "full text"),
        ("DELETE FROM message_fts_docsize WHERE id = 2", "recall.db", "full text"),
        ("UPDATE embedding SET digest = x'00' WHERE row = 1", "g1.ledger", "row 1 has the vector of another text"),
        ("UPDATE embedding SET digest = x'00' WHERE row = 1", "g1.ledger", "1 chunk has no vector"),
        ("DELETE FROM embedding WHERE row = 1", "g1.ledger", "row 1 does not belong to any text"),
        ("PRAGMA foreign_keys = OFF; DELETE FROM session", "recall.db", "names a session that does not exist"),
    ],
)
def test_a_change_behind_its_back_is_named(whole: Path, statement: str, where: str, says: str) -> None:
    with behind_its_back(whole) as connection:
        connection.create_function("searchable", 1, lambda text: text)
        connection.executescript(statement)
    found = [(problem.where, problem.message) for problem in problems(whole)]
    assert any(at == where and says in message for at, message in found), found


def test_full_text_that_lacks_a_row_or_holds_other_words_is_named(whole: Path) -> None:
    with behind_its_back(whole) as connection:
        connection.create_function("searchable", 1, lambda text: text or "")
        connection.execute("INSERT INTO message_fts (message_fts, rowid, text) VALUES"
                           " ('delete', 1, 'the harbour at night')")  # fmt: skip
    (problem, *_) = problems(whole)
    assert problem.where == "recall.db" and "reindex" in problem.message
    with Appliance.open(whole, worker=False, embedder=HashEmbedder()) as memory:
        memory.reindex()
        assert not memory.verify().problems


def test_a_point_that_is_gone_is_named(whole: Path) -> None:
    with index_of(whole) as index:
        index.delete([2])
        index.upsert([stray(900)])  # as many as before: only looking at each tells
    found = {(problem.where, problem.message.split(":")[0]) for problem in problems(whole)}
    assert found == {("index", "chunk 2 has no point"), ("index", "point 900 does not belong to any chunk")}


def stray(id: int) -> IndexPoint:
    fields = PointFields("me", "", (), 1, "user", "native", conversational=True, at=None)
    vector = np.zeros(32, np.float32)
    vector[3] = 1.0
    return IndexPoint(id, vector, "stray", "stray", fields)


def test_a_stray_point_is_named(whole: Path) -> None:
    with index_of(whole) as index:
        index.upsert([stray(900)])
    assert [problem.message.split(":")[0] for problem in problems(whole)] == ["point 900 does not belong to any chunk"]


def test_a_point_with_another_vector_is_named(whole: Path) -> None:
    with index_of(whole) as index:
        index.upsert([stray(2)])
    assert [problem.message.split(":")[0] for problem in problems(whole)] == [
        "point 2 has a different vector than the ledger"
    ]


@pytest.mark.parametrize(("row", "byte"), [(0, 0), (0, 16), (3, 20), (3, ROW_BYTES - 1)])
def test_a_flipped_bit_in_a_ledger_row_is_named(whole: Path, row: int, byte: int) -> None:
    (path,) = (whole / "vectors").iterdir()
    data = bytearray(path.read_bytes())
    data[HEADER_BYTES + row * ROW_BYTES + byte] ^= 0x10
    path.write_bytes(data)
    found = [problem for problem in problems(whole) if problem.where == "g1.ledger"]
    assert [problem.message.split(":")[0] for problem in found] == [f"row {row} is damaged"]
    with Appliance.open(whole, worker=False, embedder=HashEmbedder()) as memory:
        memory.reindex(vectors=True)
        assert not memory.verify().problems


def test_what_waits_is_no_disagreement(home: Path, tmp_path: Path, whole: Path) -> None:
    path = tmp_path / "b.jsonl"
    edited = {**LINES[0], "content": "the harbour at dawn"}
    added = {**LINES[0], "message_id": "s-9", "content": "and one more"}
    path.write_text("".join(json.dumps(line) + "\n" for line in (edited, added)), encoding="utf-8")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.ingest(path, wait=False)
        findings = memory.verify()
        assert not findings.problems and findings.checked["pending"] > 1


def test_verify_changes_nothing(whole: Path) -> None:
    with index_of(whole) as index:
        index.upsert([stray(900)])
    first = problems(whole)
    before = {path: path.read_bytes() for path in (whole / "vectors").iterdir()}
    with behind_its_back(whole) as connection:
        dump = (list(connection.execute("SELECT * FROM chunk")), list(connection.execute("SELECT * FROM message")))
    assert problems(whole) == first
    assert {path: path.read_bytes() for path in (whole / "vectors").iterdir()} == before
    with behind_its_back(whole) as connection:
        assert dump == (
            list(connection.execute("SELECT * FROM chunk")),
            list(connection.execute("SELECT * FROM message")),
        )


def test_a_deep_look_finds_what_the_model_would_not_read_to_its_end(whole: Path) -> None:
    text = LINES[2]["content"]
    with behind_its_back(whole) as db:
        # As an engine would have left it that chunked for a longer window: one chunk, with its right digest.
        db.execute("DELETE FROM chunk WHERE message_id = 3 AND start > 0")
        db.execute("UPDATE chunk SET stop = ?, digest = ? WHERE message_id = 3", (len(text), text_digest(text)))
    with Appliance.open(whole, worker=False, embedder=HashEmbedder(max_positions=300)) as memory:
        assert not any("tokens" in problem.message for problem in memory.verify().problems)
        (found,) = [p for p in memory.verify(deep=True).problems if "tokens" in p.message]
    assert found.where == "m3" and "the model reads only 300" in found.message


def test_the_books_account_for_every_source(whole: Path, tmp_path: Path) -> None:
    with Appliance.open(whole, worker=False, embedder=HashEmbedder()) as memory:
        memory.sessions.create(title="notes").add("user", "by hand")
        books = memory.verify(deep=True).sources
    lengths = sum(len(line["content"]) for line in LINES)
    assert books[str(tmp_path / "a.jsonl")] == SourceCoverage(3, lengths, lengths, 4, 4)
    assert books[MANUAL_SOURCE] == SourceCoverage(1, 7, 7, 1, 0)
