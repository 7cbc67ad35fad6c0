"""``recover`` saves what a damaged database still holds: nothing sound is left out, and nothing is invented."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.engine.recovery import recover
from appliance.errors import HomeError, HomeLocked, NotFound, StoreCorrupt
from appliance.store.text_frames import FrameWriter
from appliance.types import RecoveryReport
from appliance_models import HashEmbedder
from tests.damages import break_text, overwrite_page, page_size, pages_of, root_page
from tests.homes import copied
from tests.stored_sessions import ingest, line


def open_memory(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


LINES = [
    line(session, number, f"{session} {number}: " + "the violin rests beside the lantern. " * (1 + number % 7))
    for session in "abc"
    for number in range(40)
] + [line("long", number, f"A long text, {number}. " + "harbour lights at night " * 900) for number in range(3)]
SECRET = "The spare keys are with Mrs Aydin"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with four conversations, an edited message, a pin, and messages that were forgotten."""
    folder = tmp_path_factory.mktemp("built")
    with open_memory(folder / "home") as memory:
        ingest(memory, folder, [*LINES, *(line("gone", number, f"{SECRET}, {number}") for number in range(9))])
        ingest(memory, folder, [line("a", 3, "a 3: said in another way", session_title="Lanterns")])
        memory.pins.pin("b-2")
        memory.erasure.forget(memory.erasure.preview("gone"))
    return folder / "home"


@pytest.fixture
def closed(built: Path, home: Path) -> Path:
    """A copy of it as this test's own home."""
    return copied(built, home)


def contents(home: Path) -> dict[str, dict[str, Any]]:
    with open_memory(home) as memory:
        return {one["message_id"]: one for one in memory.export()}


def is_reported(report: RecoveryReport, message: str) -> bool:
    return any(part.where == message for part in report.lost)


@pytest.mark.slow
def test_a_sound_memory_is_recovered_whole(closed: Path, tmp_path: Path) -> None:
    report = recover(closed, tmp_path / "new")
    assert not report.lost and report.messages == len(LINES)
    assert contents(tmp_path / "new") == contents(closed)
    with open_memory(closed) as old, open_memory(tmp_path / "new") as new:
        assert [m.id for m in new.sessions.messages("a")] == [m.id for m in old.sessions.messages("a")]
        assert [receipt.id for receipt in new.erasure.receipts()] == [receipt.id for receipt in old.erasure.receipts()]
        new.reindex(vectors=True)
        assert not new.verify().problems
        assert new.sessions.create().add("user", "hello").id == old.sessions.create().add("user", "hello").id
        ingest(new, tmp_path, [line("gone", 1, f"{SECRET}, 1")])
        assert not any(SECRET in one["content"] for one in new.export())


def test_a_page_that_the_disk_cannot_read_is_left_out(
    closed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, size = pages_of(closed, "message")[1], page_size(closed)
    real = os.pread

    def failing(descriptor: int, count: int, start: int) -> bytes:
        if start == (page - 1) * size:
            raise OSError(errno.EIO, "Input/output error")
        return real(descriptor, count, start)

    monkeypatch.setattr("appliance.store.pages.os.pread", failing)
    report = recover(closed, tmp_path / "new")
    assert 0 < len(LINES) - report.messages <= size // 50
    assert any(part.where == f"page {page}" for part in report.lost)


def test_what_is_only_in_the_log_is_recovered(home: Path, tmp_path: Path) -> None:
    with open_memory(home) as memory:
        ingest(memory, tmp_path, LINES)
        copy = tmp_path / "copy"
        copy.mkdir()
        for name in ("recall.db", "recall.db-wal"):
            (copy / name).write_bytes((home / name).read_bytes())
    assert (copy / "recall.db-wal").stat().st_size > 100_000
    assert recover(copy / "recall.db", tmp_path / "new").messages == len(LINES)


def test_archived_texts_come_back_as_ordinary_ones(closed: Path, tmp_path: Path) -> None:
    expected = contents(closed)
    frame = FrameWriter(None).pack(expected["b-7"]["content"])
    connection = sqlite3.connect(closed / "recall.db")
    connection.create_function("unpack", 1, str, deterministic=True)
    for (trigger,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute("UPDATE message SET body = ? WHERE external_id = 'b-7'", (frame,))
    connection.commit()
    connection.close()
    assert not recover(closed, tmp_path / "new").lost
    assert contents(tmp_path / "new") == expected


@pytest.mark.parametrize("table", ["message", "session", "message_digest", "sqlite_schema", "revision", "forgotten"])
@pytest.mark.parametrize("filling", [b"\xff", b"\0"])
def test_without_the_root_of_a_table_its_pages_are_still_found(
    closed: Path, tmp_path: Path, table: str, filling: bytes
) -> None:
    expected = contents(closed)
    overwrite_page(closed, 1 if table == "sqlite_schema" else root_page(closed, table), filling)
    report = recover(closed, tmp_path / "new")
    assert report.lost or table not in ("message", "session")
    found = contents(tmp_path / "new")
    text = {name: one["content"] for name, one in found.items()}
    assert text == {name: one["content"] for name, one in expected.items()}
    if table != "session":
        assert found == expected
    assert not any(SECRET in one for one in text.values())


@pytest.mark.parametrize("kind", ["leaf", "overflow", "internal"])
def test_a_page_takes_only_its_own_messages_along(closed: Path, tmp_path: Path, kind: str) -> None:
    expected = contents(closed)
    for number in pages_of(closed, "message", kind)[:1]:
        overwrite_page(closed, number)
    report = recover(closed, tmp_path / "new")
    found = contents(tmp_path / "new")
    assert len(found) == report.messages >= len(expected) - 60
    for name, one in found.items():
        if one != expected[name]:
            assert one["metadata"]["damaged"] is True
    with open_memory(tmp_path / "new") as memory:
        ids = {one.external_id: one.id for s in "abc" for one in memory.sessions.messages(s)}
    assert len([part for part in report.lost if part.where.startswith("m")]) >= len(expected) - len(found)
    assert len(set(ids.values())) == len(ids)


def test_a_text_that_is_not_what_was_stored_is_kept_and_marked(closed: Path, tmp_path: Path) -> None:
    break_text(closed, "b 7: the violin", b"b 7: the v\xff\xfelin")
    report = recover(closed, tmp_path / "new")
    with open_memory(tmp_path / "new") as memory:
        message = memory.message("b-7")
        assert "v\ufffd\ufffdlin" in message.text and message.metadata["damaged"] is True
        assert is_reported(report, message.id)
        memory.reindex(vectors=True)
        assert not memory.verify().problems
    assert report.messages == len(LINES)


def test_an_old_page_does_not_bring_back_what_was_deleted(home: Path, tmp_path: Path) -> None:
    with open_memory(home) as memory:
        ingest(memory, tmp_path, [*LINES, *(line("gone", number, f"{SECRET}, {number}") for number in range(9))])
    before = (home / "recall.db").read_bytes()
    size, pages = page_size(home), set(pages_of(home, "message"))
    with open_memory(home) as memory:
        memory.sessions.get("gone").delete()
    after = bytearray((home / "recall.db").read_bytes())
    for number in pages:  # a disk that lost its latest writes
        after[(number - 1) * size : number * size] = before[(number - 1) * size : number * size]
    (home / "recall.db").write_bytes(after)
    recover(home, tmp_path / "new")
    found = contents(tmp_path / "new")
    assert len(found) == len(LINES) and not any(SECRET in one["content"] for one in found.values())


def test_a_folder_in_the_place_of_the_lock_hinders_nothing(closed: Path, tmp_path: Path) -> None:
    (closed / "lock").unlink()
    (closed / "lock").mkdir()
    assert recover(closed, tmp_path / "new").messages


def test_what_is_gone_is_gone_and_the_rest_is_there(closed: Path, tmp_path: Path) -> None:
    expected = contents(closed)
    with (closed / "recall.db").open("r+b") as file:
        file.truncate(file.seek(0, 2) // 2)
    report = recover(closed, tmp_path / "new")
    found = contents(tmp_path / "new")
    assert report.messages == len(found)
    assert all(one["content"] == expected[name]["content"] for name, one in found.items())


def test_it_is_refused_where_it_would_overwrite_or_disturb(closed: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    with pytest.raises(HomeError, match="not empty"):
        recover(closed, tmp_path / "full")
    with pytest.raises(HomeError, match="already a memory"):
        recover(closed, closed)
    with pytest.raises(NotFound):
        recover(tmp_path / "nowhere", tmp_path / "new")
    with open_memory(closed), pytest.raises(HomeLocked):
        recover(closed, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_recovered_memory_finds_by_words_at_once_and_by_meaning_later(closed: Path, tmp_path: Path) -> None:
    (closed / "config.toml").write_text('user = "ana"\n')
    recover(closed, tmp_path / "new")
    with Appliance.open(tmp_path / "new", worker=False) as memory:
        assert memory.settings.user == "ana"
        assert memory.search("lantern violin", user_id="me")
        assert memory.status()["counts"]["pending"] > 0
        assert not memory.verify().problems


@pytest.mark.parametrize("text", ["", "Nothing of this is a message.\n" * 500], ids=["empty", "text"])
def test_a_file_that_is_no_database_is_refused_and_leaves_no_home(tmp_path: Path, text: str) -> None:
    (tmp_path / "recall.db").write_text(text)
    with pytest.raises(StoreCorrupt, match="This file is no database"):
        recover(tmp_path, tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
