"""The archive in the database: texts move into frames and back, and every reader reads them all the same."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.store import archive, archive_policy, digests, lexical, messages
from appliance.store.archive import Dictionary
from appliance.store.check import check_archive
from appliance.store.database import Database
from appliance.store.text_frames import UNREADABLE, FrameDamaged, FrameReader, FrameWriter, train
from appliance.types import VerifyReport

WORDS = ["harbour", "lighthouse", "ferry", "deadline", "Lisbon", "cello", "market", "meeting", "invoice", "garden"]


def texts(count: int, seed: int = 1) -> list[str]:
    picked = random.Random(seed)
    return [f"On day {n} we spoke of the {' and the '.join(picked.sample(WORDS, 4))}." for n in range(count)]


@pytest.mark.parametrize("text", ["", "a", "grüße 🙂\0 end", "x" * 100_000, *texts(3)])
def test_a_frame_gives_its_text_back(text: str) -> None:
    number, content = train(texts(400)) or (0, b"")
    assert content
    frame = FrameWriter(content).pack(text)
    assert FrameReader({number: content}.get).unpack(frame) == text
    with pytest.raises(FrameDamaged):
        FrameReader(lambda wanted: None).unpack(frame)


def test_a_frame_with_any_byte_changed_gives_no_text() -> None:
    number, content = train(texts(400)) or (0, b"")
    frame = FrameWriter(content).pack(texts(1)[0])
    reader = FrameReader({number: content}.get)
    for at in range(len(frame)):
        damaged = bytearray(frame)
        damaged[at] ^= 0x41
        read = reader.unpack_or_mark(bytes(damaged))
        assert read in (UNREADABLE, texts(1)[0])  # some bits of a header mean nothing


def test_too_little_text_gives_no_dictionary() -> None:
    assert train([]) is None
    assert train(["short"] * 50) is None
    assert train(texts(20)) is None


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "recall.db")
    with database.write() as tx:
        tx.execute(
            "INSERT INTO session (user_id, namespace, agent_id, format, external_id, created_at)"
            " VALUES ('me', '', '', 'local', 's', 0)"
        )
        tx.execute("INSERT INTO session_fts (rowid, title) VALUES (1, '')")
        tx.executemany(
            "INSERT INTO message (session_id, external_id, position, order_at, role, talk, added_at, body)"
            " VALUES (1, ?, ?, ?, 'user', 1, 0, ?)",
            [(f"m{n}", n, n, text) for n, text in enumerate(texts(400))],
        )
        lexical.add_to_index(tx, range(1, 401))
        digests.refresh(tx, range(1, 401))
    yield database
    database.close()


def move(database: Database, keys: range) -> Dictionary | None:
    with database.write() as tx:
        dictionary = archive.add_dictionary(tx, [*messages.texts_with_revisions(tx, keys)])
        archive.archive(tx, archive.archivable(tx, keys), dictionary, 0)
    return dictionary


def agreement(database: Database) -> list[tuple[str, str]]:
    report = VerifyReport()
    check_archive(database.read(), report)
    with database.dry_run() as tx:
        assert lexical.is_consistent(tx)
    return [(problem.where, problem.message) for problem in report.problems]


def test_archived_messages_read_as_before_and_come_back_as_they_were(database: Database) -> None:
    before = database.read().execute("SELECT * FROM message").fetchall()
    moved = range(1, 301)
    assert move(database, moved) is not None
    db = database.read()
    assert [text for (text,) in db.execute("SELECT text FROM message ORDER BY id")] == texts(400)
    assert messages.texts(db, [7, 350]) == {7: texts(400)[6], 350: texts(400)[349]}
    assert archive.archived(db, [7, 350]) == {7}
    size = archive.size(db)
    assert size.messages == 300 and size.frame_bytes < sum(map(len, texts(300))) / 2
    found = db.execute("SELECT rowid FROM message_fts WHERE message_fts MATCH 'day' ORDER BY rowid").fetchall()
    assert [key for (key,) in found] == list(range(301, 401))
    assert agreement(database) == []
    with database.write() as tx:
        assert archive.archivable(tx, moved) == []
        assert archive.restore(tx, [1, 2, 399]) == [1, 2]
        assert archive.restore(tx, [1, 2]) == []
    assert agreement(database) == [] and archive.count(db) == 298
    with database.write() as tx:
        archive.restore(tx, moved)
    assert db.execute("SELECT * FROM message").fetchall() == before
    assert agreement(database) == [] and archive.is_empty(db)


def test_nothing_derived_from_a_message_changes_when_it_moves(database: Database) -> None:
    with database.write() as tx:
        tx.execute("DELETE FROM fact_due")
        tx.execute("DELETE FROM summary_due")
        tx.executemany("INSERT INTO fingerprint (message_id, digest) VALUES (?, ?)", [(n, n) for n in range(1, 401)])
    move(database, range(1, 401))
    with database.write() as tx:
        archive.restore(tx, range(1, 401))
    db = database.read()
    counts = [db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("fact_due", "summary_due", "fingerprint")]
    assert counts == [0, 0, 400]


def test_a_message_that_changes_in_its_source_is_not_archived_any_more(database: Database) -> None:
    move(database, range(1, 401))
    with database.write() as tx:
        lexical.remove_from_index(tx, [5])
        new = messages.MessageInsert("m4", 4, 4, None, None, "user", None, "Quite another text.", True, None, "{}")
        messages.revise(tx, 5, None, new)
        lexical.add_to_index(tx, [5])
    db = database.read()
    assert archive.archived(db, [4, 5]) == {4}
    assert db.execute("SELECT text FROM revision").fetchall() == [(texts(400)[4],)]
    assert agreement(database) == []


def test_damage_is_named_and_ends_nothing(database: Database) -> None:
    move(database, range(1, 401))
    with database.write() as tx:
        (frame,) = tx.execute("SELECT body FROM message WHERE id = 9").fetchone()
        tx.execute("UPDATE message SET body = ? WHERE id = 9", (frame[:-6] + bytes(6),))
        tx.execute("DELETE FROM archived WHERE message_id = 11")
    assert database.read().execute("SELECT text FROM message WHERE id = 9").fetchone() == (UNREADABLE,)
    report = VerifyReport()
    check_archive(database.read(), report)
    assert [problem.where for problem in report.problems] == ["m9", "m11"]
    assert all("restore a backup" in problem.message for problem in report.problems)
    with database.write() as tx:
        assert archive.restore(tx, [8, 9]) == [8]
        assert tx.execute("SELECT body FROM message WHERE id = 9").fetchone()[0][:8] == frame[:8]


def test_a_damaged_page_of_a_dictionary_ends_no_reading(database: Database) -> None:
    assert move(database, range(1, 400)) is not None
    database.compact()
    name = "SELECT max(pageno) FROM dbstat WHERE name = 'archive_dictionary'"
    with closing(sqlite3.connect(database.path)) as other:
        (page,) = other.execute(name).fetchone()
        (size,) = other.execute("PRAGMA page_size").fetchone()
    database.close()
    with database.path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    with closing(Database(database.path)) as damaged:
        read = messages.texts(damaged.read(), range(1, 401))
        assert read[1] == UNREADABLE and read[400] == texts(400)[399]
        assert [where for where, _ in archive.damage(damaged.read())] == [*range(1, 400)]


def forget(tx: sqlite3.Connection, key: int) -> None:
    learned = archive.learned_pieces(tx, [key])
    lexical.remove_from_index(tx, [key])
    tx.execute("DELETE FROM message WHERE id = ?", (key,))
    archive.retire_dictionaries(tx, learned)


def test_a_dictionary_is_retired_for_a_text_that_only_it_has_left(database: Database) -> None:
    # Said often enough for the dictionary to learn it, and by one message only.
    secret = "my code is 4711-hazelnut, " * 40
    with database.write() as tx:
        lexical.remove_from_index(tx, [3])
        tx.execute("UPDATE message SET body = ? WHERE id = 3", (secret,))
        digests.refresh(tx, [3])
        lexical.add_to_index(tx, [3])
    dictionary = move(database, range(1, 401))
    assert dictionary is not None and b"4711" in dictionary.content
    with database.write() as tx:
        forget(tx, 7)  # says nothing that others do not say
        assert not archive.has_retired_dictionaries(tx) or b"day 6 " in dictionary.content
        tx.execute("UPDATE archive_dictionary SET retired = 0")
        forget(tx, 3)
        assert archive.has_retired_dictionaries(tx)
        assert archive.dictionaries(tx, retired=False) == []
        lexical.optimize(tx)
    assert archive.rewrite_all_retired_frames(database) == 398
    assert archive.rewrite_all_retired_frames(database) == 0
    new = archive.current_dictionary(database.read())
    assert new is not None and b"4711" not in new.content and b"hazelnut" not in new.content
    expected = [text for n, text in enumerate(texts(400), 1) if n not in (3, 7)]
    assert [text for (text,) in database.read().execute("SELECT text FROM message ORDER BY id")] == expected
    assert agreement(database) == []
    database.compact()
    content = b"".join(path.read_bytes() for path in database.path.parent.glob("recall.db*"))
    assert b"4711-" not in content and b"hazelnut" not in content  # migrations have times with any digits


def test_what_comes_back_is_looked_up_without_reading_the_whole_archive(database: Database) -> None:
    db, asked = database.read(), []
    db.set_trace_callback(asked.append)
    assert archive_policy.to_restore(db, 5) == []
    db.set_trace_callback(None)
    plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {asked[0]}")]
    assert plan and not any(step.startswith("SCAN a") for step in plan)
