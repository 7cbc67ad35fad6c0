"""iMessage: the words of both columns, who said them, reactions, chats, and databases that are damaged."""

from __future__ import annotations

import io
import plistlib
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.formats import parser_of
from appliance.formats.base import Document
from appliance.formats.imessage import archived_text
from appliance.ingest.sources import DetectedDocument, detect_documents
from appliance.types import InputProblem, MessageRecord, SessionRecord

# 2025-03-01 09:00:00 UTC
NINE = 762512400
SECOND = 10**9


def archive(text: str, name: bytes = b"NSString") -> bytes:
    """A text as the app archives it, with the marks around it that a reader has to step over."""
    data = text.encode()
    if len(data) < 128:
        size = bytes([len(data)])
    else:
        wide = len(data) >= 1 << 16
        size = (b"\x82" if wide else b"\x81") + len(data).to_bytes(4 if wide else 2, "little")
    head = b"\x04\x0bstreamtyped\x81\xe8\x03\x84\x01@\x84\x84\x84\x12NSAttributedString\x00\x84\x84\x08NSObject\x00"
    return head + b"\x85\x92\x84\x84\x84\x08" + name + b"\x01\x94\x84\x01+" + size + data + b"\x86\x84\x02iI\x01\x05"


SCHEMA = """
CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT, service TEXT);
CREATE TABLE chat (ROWID INTEGER PRIMARY KEY, guid TEXT, chat_identifier TEXT, display_name TEXT);
CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);
CREATE TABLE chat_handle_join (chat_id INTEGER, handle_id INTEGER);
CREATE TABLE attachment (ROWID INTEGER PRIMARY KEY, filename TEXT, transfer_name TEXT, mime_type TEXT);
CREATE TABLE message_attachment_join (message_id INTEGER, attachment_id INTEGER);
CREATE TABLE message (ROWID INTEGER PRIMARY KEY, guid TEXT, text, attributedBody, subject, date,
    is_from_me INTEGER DEFAULT 0, handle_id DEFAULT 0, other_handle, item_type DEFAULT 0, group_title,
    group_action_type DEFAULT 0, associated_message_guid, associated_message_type DEFAULT 0,
    associated_message_emoji, thread_originator_guid, date_edited DEFAULT 0, date_retracted DEFAULT 0,
    message_summary_info, cache_has_attachments DEFAULT 0);
INSERT INTO handle VALUES (1, '+32470000001', 'iMessage'), (2, 'ben@example.org', 'iMessage');
INSERT INTO chat VALUES (1, 'iMessage;-;+32470000001', '+32470000001', ''),
    (2, 'iMessage;+;chat77', 'chat77', 'Ferry trip');
INSERT INTO chat_handle_join VALUES (1, 1), (2, 1), (2, 2);
"""


class Base:
    """A database of the app with two people, a chat with one and a group with both."""

    def __init__(self, path: Path, schema: str = SCHEMA) -> None:
        self.path = path
        self.count = 0
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(schema)

    def say(self, chat: int | None, id_: str | None, **columns: object) -> int:
        self.count += 1
        values = {"guid": id_, "date": (NINE + self.count) * SECOND, "handle_id": 1} | columns
        names = ", ".join(values)
        with closing(sqlite3.connect(self.path)) as connection:
            row = connection.execute(
                f"INSERT INTO message ({names}) VALUES ({', '.join('?' * len(values))})", tuple(values.values())
            ).lastrowid
            if chat is not None:
                connection.execute("INSERT INTO chat_message_join VALUES (?, ?)", (chat, row))
            connection.commit()
        assert row is not None
        return row

    def run(self, statement: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection:
            connection.executescript(statement)


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path / "chat.db")


def test_words_of_both_columns_and_who_said_them(base, read):
    base.say(1, "g1", text="Is the ferry late?")
    base.say(1, "g2", attributedBody=archive("No, at nine ⛴"), is_from_me=1)
    base.say(1, "g3", text="", attributedBody=archive("x" * 300))
    base.say(1, "g4", subject="Tickets", text="are in the bag")
    got = read(base.path)
    assert got.format == "imessage"
    assert [(s.external_id, s.title) for s in got.sessions] == [("iMessage;-;+32470000001", "+32470000001")]
    assert [(m.external_id, m.author, m.role, m.text) for m in got.messages] == [
        ("g1", "+32470000001", "user", "Is the ferry late?"),
        ("g2", "Me", "user", "No, at nine ⛴"),
        ("g3", "+32470000001", "user", "x" * 300),
        ("g4", "+32470000001", "user", "Tickets\nare in the bag"),
    ]
    assert got.messages[0].sent_at == datetime(2025, 3, 1, 9, 0, 1, tzinfo=UTC)
    assert got.sessions[0].created_at == got.messages[0].sent_at
    assert got.problems == got.notes == []


def test_the_person_has_the_name_that_was_given(base):
    base.say(1, "g1", text="hello", is_from_me=1)
    (found,) = detect_documents([base.path], me="Kim")
    assert isinstance(found, DetectedDocument)
    (message,) = [r for r in found.parser.parse(found.document) if isinstance(r, MessageRecord)]
    assert message.author == "Kim"


def test_every_chat_is_a_conversation_in_the_order_of_time(base, read):
    base.say(2, "g1", text="third", date=(NINE + 30) * SECOND, handle_id=2)
    base.say(1, "g2", text="alone")
    base.say(2, "g3", text="first", date=(NINE + 10) * SECOND)
    base.say(2, "g4", text="second", date=(NINE + 20) * SECOND)
    base.say(None, "g5", text="outside of any chat", handle_id=2)
    got = read(base.path)
    assert {s.external_id: s.title for s in got.sessions} == {
        "imessage:ben@example.org": "ben@example.org",
        "iMessage;-;+32470000001": "+32470000001",
        "iMessage;+;chat77": "Ferry trip",
    }
    assert [(m.author, m.text) for m in got.messages if m.session == "iMessage;+;chat77"] == [
        ("+32470000001", "first"),
        ("+32470000001", "second"),
        ("ben@example.org", "third"),
    ]


def test_reactions_stand_at_their_message_and_what_was_taken_back_is_gone(base, read):
    base.say(2, "g1", text="We leave at six")
    base.say(2, "r1", associated_message_guid="p:0/g1", associated_message_type=2001, handle_id=2, text="Liked …")
    base.say(2, "r2", associated_message_guid="bp:g1", associated_message_type=2000, is_from_me=1)
    base.say(2, "r3", associated_message_guid="g1", associated_message_type=3001, handle_id=2)
    base.say(2, "r4", associated_message_guid="p:0/g1", associated_message_type=2006, associated_message_emoji="🦭")
    base.say(2, "r5", associated_message_guid="p:0/gone", associated_message_type=2003)
    got = read(base.path)
    assert got.texts == ["We leave at six"]
    assert got.messages[0].metadata == {
        "reactions": [{"emoji": "❤️", "by": "Me"}, {"emoji": "🦭", "by": "+32470000001"}]
    }
    assert [n.message for n in got.notes] == ["skipped 1 reaction to messages that are not in the database"]


def test_replies_edits_and_what_was_unsent(base, read):
    base.say(1, "g1", text="Shall we?")
    base.say(1, "g2", text="Yes!", thread_originator_guid="g1", date_edited=5)
    base.say(1, "g3", date_retracted=5)
    edits = {"ec": {"0": [{"d": 1.0, "t": archive("frist")}, {"d": 2.0, "t": archive("first")}]}}
    summary = plistlib.dumps(edits, fmt=plistlib.FMT_BINARY)
    base.say(1, "g4", message_summary_info=summary, date_edited=5)
    got = read(base.path)
    assert [(m.role, m.text, m.reply_to, dict(m.metadata)) for m in got.messages] == [
        ("user", "Shall we?", None, {}),
        ("user", "Yes!", "g1", {"edited": True}),
        ("system", "unsent a message", None, {"deleted": True}),
        ("user", "first", None, {"edited": True}),
    ]


def test_what_lies_in_recently_deleted_is_marked(base, read):
    base.run("CREATE TABLE chat_recoverable_message_join (chat_id INTEGER, message_id INTEGER)")
    row = base.say(None, "g1", text="never mind")
    base.run(f"INSERT INTO chat_recoverable_message_join VALUES (1, {row})")
    got = read(base.path)
    assert [(m.session, m.text, dict(m.metadata)) for m in got.messages] == [
        ("iMessage;-;+32470000001", "never mind", {"deleted": True})
    ]


def test_files_are_named_and_their_placeholder_is_left_out(base, read):
    photo = base.say(1, "g1", text="\ufffc", cache_has_attachments=1)
    both = base.say(1, "g2", text="\ufffcLook at this", cache_has_attachments=1)
    base.say(1, "g3", text="\ufffc", cache_has_attachments=1)
    base.run(
        "INSERT INTO attachment VALUES (1, '~/Library/Messages/Attachments/ab/IMG_1.heic', NULL, 'image/heic'),"
        f" (2, NULL, 'plan.pdf', NULL); INSERT INTO message_attachment_join VALUES ({photo}, 1), ({both}, 2)"
    )
    got = read(base.path)
    assert got.texts == ["[attachment: IMG_1.heic]", "Look at this", "[attachment: file]"]
    assert got.messages[1].metadata["attachments"] == [{"name": "plan.pdf"}]


def test_events_are_notices(base, read):
    base.say(2, "g1", item_type=1, other_handle=2)
    base.say(2, "g2", item_type=2, group_title="Ferry trip", is_from_me=1)
    base.say(2, "g3", item_type=3, handle_id=2)
    base.say(2, "g4", item_type=99)
    got = read(base.path)
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("system", "+32470000001", "added ben@example.org"),
        ("system", "Me", "named the conversation Ferry trip"),
        ("system", "ben@example.org", "left the conversation"),
        ("system", "+32470000001", "notice of the app (kind 99)"),
    ]


def test_old_databases_count_seconds_and_lack_columns(tmp_path, read):
    base = Base(
        tmp_path / "sms.db",
        "CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT);"
        "CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);"
        "CREATE TABLE message (ROWID INTEGER PRIMARY KEY, guid TEXT, text TEXT, date INTEGER, handle_id INTEGER);"
        "INSERT INTO handle VALUES (1, '+32470000001');",
    )
    base.say(7, "g1", text="short", date=NINE)
    base.say(7, "g2", text="from somebody", date=NINE + 1, handle_id=99)
    got = read(base.path)
    assert [(m.author, m.text) for m in got.messages] == [("+32470000001", "short"), ("+32470000001", "from somebody")]
    assert got.messages[0].sent_at == datetime(2025, 3, 1, 9, tzinfo=UTC)
    assert got.sessions[0].external_id == "imessage:+32470000001"


def test_the_ids_stay_when_the_chat_is_renamed_and_grows(base, read):
    base.say(2, "g1", text="one")
    before = read(base.path)
    base.run("UPDATE chat SET display_name = 'Another name'")
    base.say(2, "g2", text="two")
    after = read(base.path, "elsewhere/copy.db")
    assert [s.external_id for s in before.sessions] == [s.external_id for s in after.sessions]
    assert [m.external_id for m in after.messages] == ["g1", "g2"]


@pytest.mark.parametrize("column", ["guid", "text", "attributedBody", "date", "is_from_me", "handle_id"])
@pytest.mark.parametrize("value", [None, -1, 2**62, 1.5, float("inf"), "word", b"\xff\x00", ""])
def test_wrong_types_cost_only_their_place(base, read, column, value):
    base.say(1, "g1", text="before")
    base.say(1, "g2", **({"text": "odd"} | {column: value}))
    base.say(1, "g3", text="after")
    got = read(base.path)
    assert {"before", "after"} <= set(got.texts)


def test_the_same_id_twice(base, read):
    base.say(1, "g1", text="one")
    base.say(1, "g1", text="two")
    got = read(base.path)
    assert [(m.external_id, m.text) for m in got.messages] == [("g1", "one"), (None, "two")]


def test_an_archive_cut_anywhere_gives_its_text_or_nothing():
    for text in ("short", "y" * 200, "z" * 70_000):
        data = archive(text)
        assert archived_text(data) == text
        for cut in range(0, len(data), 1 if len(data) < 1000 else 997):
            assert archived_text(data[:cut]) in (None, text)
    assert archived_text(archive("changing", b"NSMutableString\x01\x84\x84\x08NSString")) == "changing"


def records(data: bytes) -> list[object]:
    return list(parser_of("imessage").parse(Document("chat.db", len(data), lambda: io.BytesIO(data))))


def test_a_damaged_database_keeps_what_can_be_read(base):
    for number in range(400):
        base.say(1 + number % 2, f"g{number}", text=f"message {number} " + "x" * 100)
    data = base.path.read_bytes()
    hit = data.index(b"message 200 ") // 4096 * 4096
    got = records(data[:hit] + b"\xff" * 4096 + data[hit + 4096 :])
    texts = [r.text for r in got if isinstance(r, MessageRecord)]
    assert len(texts) > 300
    assert any(isinstance(r, InputProblem) and not r.harmless for r in got)


def test_a_file_cut_anywhere_raises_nothing(base):
    for number in range(60):
        base.say(1, f"g{number}", text=f"message {number} " + "x" * 100)
    data = base.path.read_bytes()
    for cut in range(0, len(data), 500):
        got = records(data[:cut])
        assert all(isinstance(r, SessionRecord | MessageRecord | InputProblem) for r in got)
    for at in range(100, len(data), 777):
        records(data[:at] + bytes(50) + data[at + 50 :])


def test_collected_sample(read, exports):
    got = read(exports / "imessage" / "imessage_chat" / "chat.db")
    assert got.format == "imessage"
    assert [(s.external_id, s.title) for s in got.sessions] == [("imessage:testemail@gmail.com", "testemail@gmail.com")]
    assert len(got.messages) == 22
    assert sum(m.author == "Me" for m in got.messages) == 12
    assert (got.texts[0], got.texts[2], got.texts[-1]) == ("Yeh", "Woaaaaaah", "Alio was here")
    assert got.messages[0].sent_at == datetime(2023, 11, 5, 2, 50, 50, 393148, tzinfo=UTC)
    assert len(got.texts[18]) == 128
    assert {m.external_id: m.metadata["reactions"] for m in got.messages if m.metadata} == {
        "FC62F43D-2F38-43EC-937E-2129DBBD948A": [{"emoji": "❤️", "by": "Me"}]
    }
    assert got.problems == got.notes == []
