"""Exports in a folder that are damaged as a whole: failed with the place, never skipped as if they were no chats."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from appliance.ingest.sources import DetectedDocument, UnreadSource, detect_documents
from appliance.types import InputProblem, MessageRecord
from tests.fuzz.samples import SAMPLES, marks

CHATGPT = next(sample for sample in SAMPLES if sample.format == "chatgpt")


def outcome(folder: Path, name: str, data: bytes) -> tuple[str, list[str], list[InputProblem]]:
    """The status of a file in a folder, the texts of its messages, and its problems."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    (found,) = (
        f for f in detect_documents([folder]) if not isinstance(f, UnreadSource) or f.path.startswith(str(path))
    )
    if isinstance(found, UnreadSource):
        assert found.path == str(path)
        return found.status, [], list(found.errors)
    records = list(found.parser.parse(found.document))
    texts = [record.text for record in records if isinstance(record, MessageRecord)]
    problems = [record for record in records if isinstance(record, InputProblem) and not record.harmless]
    return "failed" if problems and not texts else "partial" if problems else "ok", texts, problems


def database(path: Path, rows: int = 400) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT); CREATE TABLE chat (ROWID INTEGER PRIMARY KEY);"
            "CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);"
            "CREATE TABLE message (ROWID INTEGER PRIMARY KEY, guid TEXT, text TEXT, date INTEGER, handle_id INTEGER);"
        )
        values = [(n, f"g{n}", f"message {n} " + "x" * 100, n) for n in range(rows)]
        connection.executemany("INSERT INTO message VALUES (?, ?, ?, ?, 0)", values)
        connection.commit()
    return path.read_bytes()


@pytest.mark.parametrize("share", [0.9, 0.5, 0.2, 0.02, 0.001, 0.0001, 0])
def test_a_truncated_database(tmp_path: Path, share: float) -> None:
    data = database(tmp_path / "whole.db")
    status, _, problems = outcome(tmp_path / "folder", "chat.db", data[: int(len(data) * share)])
    assert status in ("failed", "partial")
    assert problems


@pytest.mark.parametrize("name", ["webui.db", "somebody's.db"])
def test_a_database_of_nothing_but_a_header(tmp_path: Path, name: str) -> None:
    status, _, problems = outcome(tmp_path, name, b"SQLite format 3\x00" + b"\xff" * 3000)
    assert (status, problems[0].message[:24]) == ("failed", "the database is damaged:")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_conversations_in_another_encoding(tmp_path: Path, encoding: str) -> None:
    text = CHATGPT.data.decode()
    status, texts, _ = outcome(tmp_path, "conversations.json", text.encode(encoding))
    assert (status, marks("\n".join(texts))) == ("ok", marks(text))
    # Cut within a character.
    cut = text.encode(encoding)[: -len("]".encode(encoding)) * 40 - 1]
    status, texts, problems = outcome(tmp_path, "conversations.json", cut)
    assert (status, bool(problems)) == ("partial", True)
    assert texts[:2]


@pytest.mark.parametrize(
    "name",
    ["conversations.json", "conversations-003.json", "_chat.txt", "WhatsApp Chat with Ana.txt", "a/rollout-x.jsonl",
     "chat.db", "sms.db", "webui.db", "My Activity.html", "MyActivity.json", "message_1.json", "result.json",
     "general/2024-05-01.json", "prod-grok-backend.json", "session-1.json", "1750000000000.conversation.json",
     "messages.html", "any.jsonl"],
)  # fmt: skip
@pytest.mark.parametrize("data", [b"", b"\x00" * 4096])
def test_an_empty_file_with_the_name_of_an_export(tmp_path: Path, name: str, data: bytes) -> None:
    status, _, problems = outcome(tmp_path, name, data)
    assert status == "failed"
    assert problems[0].message == ("the file holds nothing but zeros" if data else "the file is empty (0 bytes)")


@pytest.mark.parametrize("name", ["notes.txt", "inbox.mbox", "package.json", "x"])
def test_other_empty_files_are_no_exports(tmp_path: Path, name: str) -> None:
    assert outcome(tmp_path, name, b"")[0] == "ok"


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("conversations.json", b"\x1f\x8b\x08\x00garbage\xff\xfe\x01", "failed"),
        ("conversations.json", b'{"error": "rate limited"}', "failed"),
        ("message_1.json", b"<html>404</html>", "failed"),
        ("result.json", b"\xff\xfe\xfd\xfc\x00\x01", "failed"),
        ("result.json", b'{"tests": 12, "passed": true}', "skipped"),
        ("2024-05-01.json", b'{"steps": 9000}', "skipped"),
        ("package.json", b'{"name": "x", "scripts": {"test": "y"}}', "skipped"),
    ],
)
def test_a_file_with_the_name_of_an_export_that_no_parser_reads(
    tmp_path: Path, name: str, data: bytes, expected: str
) -> None:
    assert outcome(tmp_path, name, data)[0] == expected


@pytest.mark.parametrize("ts", ["", "soon", None, "1714557601", {}])
def test_a_slack_day_without_usable_times(tmp_path: Path, ts: object) -> None:
    day = [{"type": "message", "user": "U1", "text": f"hello {n}", "ts": ts} for n in range(3)]
    status, texts, problems = outcome(tmp_path, "general/2024-05-01.json", json.dumps(day).encode())
    assert texts == ["hello 0", "hello 1", "hello 2"] if ts != "1714557601" else texts
    if ts != "1714557601":
        assert (status, [problem.where for problem in problems]) == ("partial", ["line 1"] * 3)


def test_turns_of_which_none_has_text_are_no_success(tmp_path: Path) -> None:
    rows = [{"messages": [{"role": "user", "content": []}, {"role": "assistant", "content": None}]}] * 2
    data = "\n".join(map(json.dumps, rows)).encode()
    status, _, problems = outcome(tmp_path, "tuning.jsonl", data)
    assert status == "failed"
    assert problems[-1].message == "no text was found in 4 records of a person or an assistant; nothing was imported"


def test_a_damaged_export_does_not_cost_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "conversations.json").write_bytes(CHATGPT.data)
    (tmp_path / "chat.db").write_bytes(b"SQLite format 3\x00")
    found = list(detect_documents([tmp_path]))
    assert [f.status if isinstance(f, UnreadSource) else f.format for f in found] == ["failed", "chatgpt"]
    assert isinstance(found[1], DetectedDocument)
