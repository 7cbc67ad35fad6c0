"""``verify`` names every row that nobody but the disk has changed, whatever the program itself did with it before."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.store import digests, text_frames
from appliance.store.database import Database
from appliance_models import HashEmbedder
from tests.stored_sessions import DAY, clean, ingest, line

STORES = Path(__file__).parent.parent / "stores"


def damage(home: Path, *statements: str) -> None:
    """Change rows behind the program's back, without the triggers that would hide it."""
    connection = sqlite3.connect(home / "recall.db", isolation_level=None)
    connection.create_function("searchable", 1, str, deterministic=True)
    text_frames.register(connection)
    triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, sql in triggers:
        connection.execute(sql)
    connection.close()


def opened(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


def problems(home: Path) -> dict[str, str]:
    with opened(home) as memory:
        found: dict[str, str] = {}
        for problem in memory.verify().problems:
            found[problem.where] = "\n".join(filter(None, (found.get(problem.where), problem.message)))
        return found


@pytest.mark.parametrize(
    "change",
    [
        "sent_at = '2025-02-02T10:00:00+00:00'",
        "at = at + 1",
        "author = 'Bea'",
        "author = NULL",
        'metadata = \'{"mood":"good"}\'',
        "reply_to = 'other'",
        "role = 'assistant'",
        "external_id = 'a-17'",
        "order_at = order_at + 1",
        "pinned = 1",
        "added_at = added_at - 1",
    ],
)
def test_a_changed_column_is_named_by_its_message(home: Path, tmp_path: Path, change: str) -> None:
    with opened(home) as memory:
        ingest(memory, tmp_path, [line("a", 1, "the key is red", author="Ana"), line("a", 2, "fine")])
        clean(memory)
    damage(home, f"UPDATE message SET {change} WHERE id = 1")
    found = problems(home)
    assert "not what was stored" in found["m1"] and "m2" not in found


def test_a_text_that_is_no_utf_8_is_named(home: Path, tmp_path: Path) -> None:
    with opened(home) as memory:
        ingest(memory, tmp_path, [line("a", number, f"text {number}") for number in (1, 2)])
    damage(home, "UPDATE message SET body = CAST(x'ff' || body AS TEXT) WHERE id = 1")
    database = Database(home / "recall.db")
    assert [key for key, _ in digests.disagreements(database.read())] == [1]
    database.close()


def test_a_changed_or_lost_revision_is_named(home: Path, tmp_path: Path) -> None:
    with opened(home) as memory:
        for text in ("the key is red", "the key is green", "the key is blue"):
            ingest(memory, tmp_path, [line("a", 1, text)])
        clean(memory)
    damage(home, "UPDATE revision SET author = 'Bea' WHERE number = 1")
    assert "its revision 1 is not what was stored" in problems(home)["m1"]
    damage(home, "DELETE FROM revision WHERE number = 1")
    assert "its revision 1 is gone" in problems(home)["m1"]


def test_a_lost_message_and_a_lost_digest_are_named(home: Path, tmp_path: Path) -> None:
    with opened(home) as memory:
        ingest(memory, tmp_path, [line("a", number, f"text {number}") for number in (1, 2)])
    damage(home, "DELETE FROM message WHERE id = 1", "DELETE FROM message_digest WHERE message_id = 2")
    found = problems(home)
    assert "the message is gone" in found["m1"] and "digest is missing" in found["m2"]


def test_a_damaged_message_that_is_pinned_or_edited_stays_named(home: Path, tmp_path: Path) -> None:
    with opened(home) as memory:
        ingest(memory, tmp_path, [line("a", number, f"text {number}") for number in (1, 2)])
    damage(home, "UPDATE message SET author = 'Bea'")
    with opened(home) as memory:
        memory.pin("m1")
        ingest(memory, tmp_path, [line("a", 2, "in other words")])
    found = problems(home)
    assert "not what was stored" in found["m1"] and "revision 1" in found["m2"]


def test_what_the_program_itself_changes_is_no_damage(memory: Appliance, tmp_path: Path) -> None:
    session = memory.sessions.create()
    ids = [session.add("user", f"text {number}").id for number in range(4)]
    branch = session.branch(ids[1])
    branch.add("user", "another way")
    memory.pin(ids[0])
    ingest(memory, tmp_path, [line("a", 1, "the key is red"), line("a", 1, "the key is green")])
    clean(memory)
    session.delete()  # the branch becomes the owner of what it shares
    memory.unpin(ids[0])
    clean(memory)
    memory.erasure.forget(memory.erasure.preview(ids[0]))
    clean(memory)


@pytest.mark.parametrize("name", ["first", "development"])
def test_what_an_earlier_version_stored_gets_its_digests_in_the_background(home: Path, name: str) -> None:
    home.mkdir(mode=0o700)
    (home / "recall.db").write_bytes(gzip.decompress((STORES / f"{name}.db.gz").read_bytes()))
    waiting = "messages without a digest yet"
    with opened(home) as memory:
        findings = memory.verify()
        assert not findings.problems and findings.checked[waiting] == 4
        memory.run_pending_jobs()
        findings = memory.verify()
        assert not findings.problems and waiting not in findings.checked
    damage(home, "UPDATE message SET author = 'Bea' WHERE id = 1")
    assert "not what was stored" in problems(home)["m1"]


def test_digests_are_filled_in_steps(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(home) as memory:
        ingest(memory, tmp_path, [line("a", number, f"text {number}") for number in range(5)])
    damage(home, "UPDATE message_digest SET digest = NULL")
    monkeypatch.setattr(digests, "PAGE_ROWS", 2)
    database = Database(home / "recall.db")
    steps = iter((True, False))
    assert digests.fill(database, lambda: next(steps)) == 2
    assert digests.count_pending(database.read()) == 3
    assert digests.fill(database, lambda: True) == 3
    database.close()
    assert not problems(home)


def test_filling_ends_beside_a_digest_whose_message_is_lost(home: Path, tmp_path: Path) -> None:
    with opened(home) as memory:
        ingest(memory, tmp_path, [line("a", number, f"text {number}") for number in range(3)])
    damage(home, "UPDATE message_digest SET digest = NULL", "DELETE FROM message WHERE id = 2")
    database = Database(home / "recall.db")
    steps = iter([True] * 5)
    assert digests.fill(database, lambda: next(steps)) == 2
    database.close()


def test_the_span_of_a_session_is_not_reversed_by_a_clock(memory: Appliance, clock: Callable[[float], None]) -> None:
    session = memory.sessions.create()
    before = session.add("user", "before")
    clock(-400 * DAY)
    session.add("user", "with the clock set back")
    clock(+399 * DAY)
    back = session.add("user", "nearly right again")
    info = session.info
    assert info.first_at is not None and info.last_at is not None
    assert info.first_at < info.last_at == before.timestamp
    branch = session.branch(back.id)
    assert branch.info.first_at is not None and branch.info.last_at is not None
    assert branch.info.first_at <= branch.info.last_at
