"""Google Chat: Takeout's files, their names, dates, threads and damage."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from appliance.formats.google_chat import _time
from appliance.ingest.sources import UnreadSource, detect_documents
from appliance.types import MessageRecord, SessionRecord

IDA = {"name": "Ida Holm", "email": "ida@example.org", "user_type": "Human"}
RUI = {"name": "Rui Paz", "email": "rui@example.org", "user_type": "Human"}
EVA = {"name": "Eva Lind", "email": "eva@example.org", "user_type": "Human"}


def said(number: int, who: dict, text: str | None, topic: str = "", **more: Any) -> dict:
    topic = topic or f"T{number}"
    message = {
        "creator": who,
        "created_date": f"Monday, March 3, 2025 at 9:15:{number:02}\u202fAM UTC",
        "text": text,
        "topic_id": topic,
        "message_id": f"AAQ1/{topic}/T{number}",
    } | more
    return {key: value for key, value in message.items() if value is not None}


MESSAGES = [
    said(1, IDA, "Lunch?\n"),
    said(2, RUI, "Yes!", topic="T1", reactions=[
        {"emoji": {"unicode": "🎉"}, "reactor_emails": ["ida@example.org", "eva@example.org"]}]),
    said(3, IDA, "At one", updated_date="Monday, March 3, 2025 at 9:20:00 AM UTC", created_date=None,
         previous_message_versions=[{"created_date": "Monday, March 3, 2025 at 9:15:03 AM UTC", "text": "At 1"}]),
    said(4, RUI, "Fine", quoted_message_metadata={"message_id": "AAQ1/T3/T3", "text": "At one"}),
    said(5, IDA, None, attached_files=[{"original_name": "menu.pdf", "export_name": "File-menu.pdf"}]),
    said(6, IDA, None, annotations=[{"video_call_metadata": {"meeting_space": {"meeting_url": "https://m.example/x"}}}]),
    {"message_id": "AAQ1/T7/T7", "topic_id": "T7", "message_state": "DELETED"},
]  # fmt: skip


def test_messages(read: Callable[..., Any]) -> None:
    got = read(json.dumps({"messages": MESSAGES}), "messages.json")
    assert got.format == "google_chat"
    assert [(s.external_id, s.title) for s in got.sessions] == [("AAQ1", None)]
    assert [(m.role, m.author, m.text, m.reply_to, dict(m.metadata)) for m in got.messages] == [
        ("user", "Ida Holm", "Lunch?\n", None, {}),
        ("user", "Rui Paz", "Yes!", "AAQ1/T1/T1", {"reactions": [
            {"emoji": "🎉", "by": "Ida Holm"}, {"emoji": "🎉", "by": "eva@example.org"}]}),
        ("user", "Ida Holm", "At one", None, {"edited": True}),
        ("user", "Rui Paz", "Fine", "AAQ1/T3/T3", {}),
        ("user", "Ida Holm", "[attachment: menu.pdf]", None, {"attachments": [{"name": "menu.pdf"}]}),
        ("user", "Ida Holm", "https://m.example/x", None, {}),
    ]  # fmt: skip
    assert [m.sent_at.second for m in got.messages] == [1, 2, 3, 4, 5, 6]
    assert [m.external_id for m in got.messages][:2] == ["AAQ1/T1/T1", "AAQ1/T1/T2"]
    assert [n.message for n in got.notes] == ["skipped 1 deleted message without text"]
    assert got.problems == []


@pytest.mark.parametrize(
    ("written", "hour", "minute"),
    [
        ("Monday, March 3, 2025 at 9:15:30 AM UTC", 9, 15),
        ("Monday, March 3, 2025 at 9:15:30\u202fPM UTC", 21, 15),
        ("Monday, March 3, 2025 at 12:05:30 AM UTC", 0, 5),
        ("Monday, March 3, 2025 at 12:05:30 PM UTC", 12, 5),
        ("Monday, 3 March 2025 at 21:15:30 UTC", 21, 15),
        ("Mon, Mar 3, 2025, 9:15:30 a.m. UTC", 9, 15),
        ("2025-03-03T09:15:30Z", 9, 15),
        ("Montag, 3. März 2025 um 09:15:30 UTC", 9, 15),
        ("lunes, 3 de marzo de 2025, 21:15:30 UTC", 21, 15),
        ("lundi 3 mars 2025 à 21:15:30 UTC", 21, 15),
        ("2025年3月3日月曜日 21:15:30 UTC", 21, 15),
    ],
)
def test_dates(written: str, hour: int, minute: int) -> None:
    assert _time(written) == datetime(2025, 3, 3, hour, minute, 30, tzinfo=UTC)


@pytest.mark.parametrize("written", ["", "soon", "Monday, March 33, 2025 at 9:15:30 AM UTC", "9:15 AM", None, 1.5e300,
                                     "Mar 3, 2025 at 25:00 UTC", "Xyz 3, 2025 at 9:00 UTC"])  # fmt: skip
def test_dates_that_are_none(written: Any, read: Callable[..., Any]) -> None:
    assert _time(written) is None
    message = said(1, IDA, "kept") | {"created_date": written}
    got = read(json.dumps({"messages": [message]}))
    assert (got.texts, got.messages[0].sent_at, got.problems) == (["kept"], None, [])
    assert bool(got.notes) is bool(written)


def test_newest_first(read: Callable[..., Any]) -> None:
    at_once = [said(n, IDA, f"words {n}", created_date="Monday, March 3, 2025 at 9:15:30 AM UTC") for n in (3, 4)]
    messages = [*MESSAGES[:2], *at_once, said(59, IDA, "last")]
    forth = read(json.dumps({"messages": messages}))
    back = read(json.dumps({"messages": messages[::-1]}))
    assert [m.text for m in back.messages] == [m.text for m in forth.messages]
    assert [m.reply_to for m in back.messages] == [m.reply_to for m in forth.messages]


def takeout(root: Path, group: dict, packed: bool = False, person: dict | None = None) -> Path:
    files = {
        "Takeout/Google Chat/Groups/DM AAQ1/messages.json": {"messages": MESSAGES},
        "Takeout/Google Chat/Groups/DM AAQ1/group_info.json": group,
        "Takeout/Google Chat/Users/User 77/user_info.json": person or {"user": IDA},
    }
    if packed:
        with zipfile.ZipFile(root / "takeout.zip", "w") as archive:
            for name, value in files.items():
                archive.writestr(name, json.dumps(value))
        return root / "takeout.zip"
    for name, value in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(json.dumps(value))
    return root


def titles(path: Path) -> list[str | None]:
    found = [f for f in detect_documents([path]) if not isinstance(f, UnreadSource)]
    assert [f.format for f in found] == ["google_chat"]
    records = list(found[0].parser.parse(found[0].document))
    assert sum(isinstance(r, MessageRecord) for r in records) == 6
    return [r.title for r in records if isinstance(r, SessionRecord)]


@pytest.mark.parametrize("packed", [False, True])
def test_a_direct_message_is_called_after_the_other_one(tmp_path: Path, packed: bool) -> None:
    assert titles(takeout(tmp_path, {"members": [IDA, RUI]}, packed)) == ["Rui Paz"]


def test_a_space_has_a_name(tmp_path: Path) -> None:
    assert titles(takeout(tmp_path, {"name": "Kitchen", "members": [IDA, RUI, EVA]})) == ["Kitchen"]
    named = {"user": IDA, "membership_info": [{"group_id": "DM AAQ1", "group_name": "Cooks"}, 5, {}]}
    assert titles(takeout(tmp_path, {"members": [IDA, RUI]}, person=named)) == ["Cooks"]
    assert titles(takeout(tmp_path, {"members": "none"}, person={"user": 5})) == [None]


def test_a_file_without_ids_is_known_by_its_folder(read: Callable[..., Any]) -> None:
    message = {"creator": IDA, "created_date": "Monday, March 3, 2025 at 9:15:30 AM UTC", "text": "x"}
    data = json.dumps({"messages": [message]})
    got = read(data, "Takeout/Google Chat/Groups/Space AAB2/messages.json")
    assert [s.external_id for s in got.sessions] == ["Space AAB2"]
    assert got.messages[0].external_id is None
    ids = {read(data, name).sessions[0].external_id for name in ("a.json", "b.json")}
    assert len(ids) == 1


def test_the_same_id_twice(read: Callable[..., Any]) -> None:
    got = read(json.dumps({"messages": [said(1, IDA, "one"), said(1, IDA, "two")]}))
    assert [(m.external_id, m.text) for m in got.messages] == [("AAQ1/T1/T1", "one"), (None, "two")]


@pytest.mark.parametrize("wrong", [None, 5, "x", [], {}, [None], {"a": None}, True, [[[]]]])
def test_wrong_types_cost_only_their_place(read: Callable[..., Any], wrong: Any) -> None:
    for message in MESSAGES:
        for key in message:
            data = json.dumps({"messages": [message | {key: wrong}, wrong, said(9, RUI, "kept")]})
            assert read(data, forced="google_chat").texts[-1] == "kept"
    assert read(json.dumps({"messages": wrong}), forced="google_chat").messages == []
    assert read(json.dumps(wrong), forced="google_chat").messages == []


def test_a_cut_off_file_keeps_every_whole_message(read: Callable[..., Any]) -> None:
    data = json.dumps({"messages": MESSAGES})
    expected = [m.text for m in read(data).messages]
    for cut in range(0, len(data), 50):
        got = read(data[:cut], forced="google_chat")
        assert got.texts == expected[: len(got.texts)]
        assert len(got.texts) >= data[:cut].count('"topic_id"') - 3


def test_collected_sample(exports: Path) -> None:
    found = [f for f in detect_documents([exports / "google_chat"]) if not isinstance(f, UnreadSource)]
    assert [f.format for f in found] == ["google_chat"]
    session, *records = found[0].parser.parse(found[0].document)
    assert isinstance(session, SessionRecord) and session.title == "Ben Tern"
    messages = [record for record in records if isinstance(record, MessageRecord)]
    assert [(m.author, m.text) for m in messages] == [
        ("Ada Quill", "Morning! Ready for the demo?"),
        ("Ben Tern", "Almost.\nSlides are in https://example.org/deck"),
        ("Ada Quill", "[attachment: agenda.pdf]"),
    ]
    assert messages[1].sent_at == datetime(2025, 3, 3, 9, 16, 2, tzinfo=UTC)
