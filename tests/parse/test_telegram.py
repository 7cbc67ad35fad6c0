"""Telegram Desktop: one chat, the whole account, HTML pages."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.formats import parser_of
from appliance.ingest.sources import DetectedDocument, detect_documents
from appliance.types import InputProblem, MessageRecord, SessionRecord
from tests.parse.conftest import document_of, reading_of


def message(number: int, **more: object) -> dict:
    return {
        "id": number,
        "type": "message",
        "date": "2024-05-01T12:00:00",
        "date_unixtime": str(1714557600 + number),
        "from": "Ana",
        "from_id": "user1",
        "text": f"message {number}",
    } | more


MESSAGES = [
    {"id": 1, "type": "service", "date_unixtime": "1714557601", "actor": "Ana", "actor_id": "user1",
     "action": "create_group", "title": "Garden", "members": ["Ana", "Ben"], "text": ""},
    message(2, text=["Look ", {"type": "link", "text": "https://e.org"}, {"type": "bold", "text": "!"}]),
    message(3, **{"from": None, "from_id": "user9", "reply_to_message_id": 2, "edited": "2024-05-01T12:09:00"}),
    message(4, text="", photo="photos/photo_1@01-05-2024.jpg", reactions=[
        {"type": "emoji", "count": 3, "emoji": "🌱", "recent": [{"from": "Ben", "from_id": "user2"}]}]),
    message(5, text="", file="(File not included. Change data exporting settings to download.)",
            media_type="voice_message", duration_seconds=4),
    message(6, text="", poll={"question": "When?", "answers": [{"text": "Now"}, {"text": "Later"}]}),
    message(7, forwarded_from="Cleo", file="files/a.pdf", file_name="plan.pdf", text="read this"),
    message(8, text=""),
    message(9, date_unixtime="soon", date="2024-05-01T12:00:09"),
    {"id": 10, "type": "service", "date_unixtime": "1714557610", "actor": "Ben", "action": "phone_call",
     "duration_seconds": 35, "text": ""},
]  # fmt: skip
CHAT = {"name": "Garden", "type": "private_group", "id": 4711, "messages": MESSAGES}


def test_one_chat(read):
    got = read(json.dumps(CHAT))
    assert got.format == "telegram"
    assert got.sessions == [SessionRecord("4711", "Garden", None, {"type": "private_group"})]
    assert [(m.external_id, m.role, m.author, m.text) for m in got.messages] == [
        ("1", "system", "Ana", "create group: Garden, Ana, Ben"),
        ("2", "user", "Ana", "Look https://e.org!"),
        ("3", "user", "user9", "message 3"),
        ("4", "user", "Ana", "[attachment: photo_1@01-05-2024.jpg]"),
        ("5", "user", "Ana", "[attachment: voice message]"),
        ("6", "user", "Ana", "When?\n- Now\n- Later"),
        ("7", "user", "Ana", "read this"),
        ("9", "user", "Ana", "message 9"),
        ("10", "system", "Ben", "phone call: 35 s"),
    ]
    _, second, answer, photo, _, _, forwarded, local, _ = got.messages
    assert second.sent_at == datetime(2024, 5, 1, 10, 0, 2, tzinfo=UTC)
    assert (answer.reply_to, answer.metadata) == ("2", {"edited": True})
    assert photo.metadata["reactions"] == [{"emoji": "🌱", "by": "Ben"}, {"emoji": "🌱", "count": 2}]
    assert forwarded.metadata == {"attachments": [{"name": "plan.pdf"}], "forwarded_from": "Cleo"}
    assert local.sent_at == datetime(2024, 5, 1, 12, 0, 9)
    assert got.problems == []
    assert [note.message for note in got.notes] == ["skipped 1 message without text"]


@pytest.mark.parametrize(
    ("more", "sent"),
    [
        ({"date_unixtime": "0"}, datetime(2024, 5, 1, 12)),
        ({"date_unixtime": "99999999999"}, datetime(2024, 5, 1, 12)),
        ({"date_unixtime": "-5"}, datetime(2024, 5, 1, 12)),
        ({"date": "1970-01-01T00:00:00"}, datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ({"date": "2024-05-02T00:00:00"}, datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ({"date": "2023-05-02T00:00:00"}, datetime(2024, 5, 1, 10, tzinfo=UTC)),
    ],
)
def test_of_two_times_the_possible_one_is_taken(read, more, sent):
    got = read(json.dumps(CHAT | {"messages": [message(0, **more)]}))
    assert [m.sent_at for m in got.messages] == [sent]
    assert bool(got.notes) == (sent.tzinfo is None)


def account() -> dict:
    return {
        "about": "Here is the data you requested. Remember: Telegram is ad free, it doesn't use your data.",
        "personal_information": {"first_name": "Ana"},
        "contacts": {"about": "yours", "list": [{"user_id": 2, "first_name": "Ben"}]},
        "chats": {
            "about": "This page lists all chats",
            "list": [
                CHAT,
                {"name": None, "type": "personal_chat", "id": 12, "messages": [message(2), message(3)]},
                {"type": "saved_messages", "id": 1, "messages": [message(7)]},
                {"name": "Empty", "type": "bot_chat", "id": 13, "messages": []},
            ],
        },
        "left_chats": {"list": [{"name": "Old", "type": "private_supergroup", "id": 14, "messages": [message(1)]}]},
        "sessions": {"list": []},
    }


def test_the_whole_account(read):
    got = read(json.dumps(account(), indent=1))
    assert [(s.external_id, s.title) for s in got.sessions] == [
        ("4711", "Garden"),
        ("12", None),
        ("1", "Saved Messages"),
        ("14", "Old"),
    ]
    assert [m.external_id for m in got.messages if m.session == "12"] == ["2", "3"]
    assert [m.text for m in got.messages if m.session == "14"] == ["message 1"]
    assert got.messages[1].where.startswith("chat 1 (Garden), line ")
    # A chat is the same, whether it was exported by itself or with all others.
    alone = read(json.dumps(CHAT | {"name": "Allotment"}))
    assert alone.sessions[0].external_id == "4711"
    assert [m.external_id for m in alone.messages] == [m.external_id for m in got.messages if m.session == "4711"]
    assert got.problems == []


def test_an_account_is_known_before_its_first_chat(read):
    data = account() | {"contacts": {"list": [{"user_id": n, "first_name": "x" * 50} for n in range(2000)]}}
    ordered = {key: data[key] for key in ("about", "personal_information", "contacts", "chats")}
    assert len(json.dumps(ordered["contacts"])) > 70_000
    assert read(json.dumps(ordered)).format == "telegram"


def test_ids_and_names_behind_the_messages_are_found(read):
    got = read(json.dumps({"messages": [message(1)], "id": 5, "name": "Late", "type": "x"}))
    assert [(s.external_id, s.title) for s in got.sessions] == [("5", "Late")]


def test_without_an_id_the_first_message_tells(read):
    bare = [{"type": "message", "date_unixtime": "1714557600", "from": "Ana", "text": t} for t in ("a", "b")]
    one = read(json.dumps({"messages": bare}))
    two = read(json.dumps({"messages": [*bare, message(5)], "name": "Named now"}))
    assert one.sessions[0].external_id == two.sessions[0].external_id
    assert [m.external_id for m in one.messages] == [None, None]


def test_ids_that_are_there_twice(read):
    data = CHAT | {"messages": [message(2), message(1), message(2), message(1, text="other"), message(1)]}
    got = read(json.dumps(data))
    assert [(m.external_id, m.text) for m in got.messages] == [("2", "message 2"), ("1", "message 1"), (None, "other")]


@pytest.mark.parametrize("wrong", [None, 5, "x", [], [3], {}, {"a": 1}, True, 1e400])
@pytest.mark.parametrize("key", sorted({key for each in MESSAGES for key in each}))
def test_wrong_types_cost_only_their_place(key, wrong):
    messages = [each | {key: wrong} for each in MESSAGES] + [message(99, text="last")]
    data = json.dumps(CHAT | {"messages": messages}).encode()
    records = list(parser_of("telegram").parse(document_of(data)))
    assert [r.text for r in records if isinstance(r, MessageRecord)][-1] == "last"


@pytest.mark.parametrize("wrong", [None, 5, "x", [3], {"a": 1}])
def test_wrong_types_around_the_messages(read, wrong):
    for data, count in (
        (CHAT | {"messages": wrong}, 0),
        ({"chats": wrong}, 0),
        ({"chats": {"list": wrong}}, 0),
        ({"chats": {"list": [wrong, CHAT]}}, 9),
        (CHAT | {"id": wrong, "name": wrong, "type": wrong}, 9),
    ):
        assert len(read(json.dumps(data), forced="telegram").messages) == count


def test_cut_anywhere_every_whole_message_is_kept():
    data = json.dumps(account()).encode()
    whole = [r for r in parser_of("telegram").parse(document_of(data)) if isinstance(r, MessageRecord)]
    for cut in range(0, len(data), 50):
        records = list(parser_of("telegram").parse(document_of(data[:cut])))
        messages = [r for r in records if isinstance(r, MessageRecord)]
        assert [(m.session, m.external_id) for m in messages] == [
            (m.session, m.external_id) for m in whole[: len(messages)]
        ]
        assert cut == 0 or any(isinstance(r, InputProblem) and not r.harmless for r in records)


PAGE = """<!DOCTYPE html>
<html><head><meta charset="utf-8"/><title>Exported Data</title></head>
 <body onload="CheckLocation();">
  <div class="page_wrap">
   <div class="page_header"><div class="content"><div class="text bold">
Garden
   </div></div></div>
   <div class="page_body chat_page"><div class="history">
     <div class="message service" id="message-1"><div class="body details">
1 May 2024
     </div></div>
     <div class="message service" id="message1"><div class="body details">
Ana created group &laquo;Garden&raquo;
     </div></div>
     <div class="message default clearfix" id="message2">
      <div class="pull_left userpic_wrap"><div class="userpic"><div class="initials">A</div></div></div>
      <div class="body">
       <div class="pull_right date details" title="01.05.2024 12:00:02 UTC+02:00">
12:00
       </div>
       <div class="from_name">
Ana
       </div>
       <div class="text">
Roses &amp; <strong>beans</strong><br>at <a href="https://e.org">e.org</a>
       </div>
       <span class="reactions"><span class="reaction"><span class="emoji">🌱</span><span class="userpics">
        <div class="userpic"><div class="initials" title="Ben">B</div></div></span></span></span>
      </div>
     </div>
     <div class="message default clearfix joined" id="message3">
      <div class="body">
       <div class="pull_right date details" title="01.05.2024 12:00:03 UTC+02:00">12:00</div>
       <div class="reply_to details">In reply to <a href="#go_to_message2" onclick="x">this message</a></div>
       <div class="media_wrap clearfix">
        <a class="photo_wrap clearfix pull_left" href="photos/photo_1.jpg"><img class="photo" src="t.jpg"/></a>
       </div>
      </div>
     </div>
     <div class="message default clearfix" id="message4">
      <div class="body">
       <div class="pull_right date details" title="01.05.2024 12:00:04">12:00</div>
       <div class="from_name">Ben</div>
       <div class="forwarded body">
        <div class="from_name">Cleo <span class="date details" title="30.04.2024 09:00:00"> 30.04.2024</span></div>
        <div class="text">seen elsewhere</div>
       </div>
      </div>
     </div>
     <div class="message default clearfix joined" id="message5"><div class="body">
       <div class="pull_right date details" title="01.05.2024 12:00:05 UTC-03:30">12:00</div>
       <div class="media_wrap clearfix"><div class="media clearfix pull_left media_voice_message">
         <div class="fill pull_left"></div><div class="body"><div class="title bold">Voice message</div>
         <div class="description">Not included, change data exporting settings to download.</div>
         <div class="status details">00:04</div></div></div></div>
     </div></div>
     <a class="pagination block_link" href="messages2.html">Next messages</a>
   </div></div>
  </div>
 </body>
</html>
"""


def second_page() -> str:
    later = PAGE
    for number in (5, 4, 3, 2, 1):
        later = later.replace(f'id="message{number}"', f'id="message{number}00"')
    return later


def test_a_page(read):
    got = read(PAGE, name="ChatExport/messages.html")
    assert got.format == "telegram"
    assert [s.title for s in got.sessions] == ["Garden"]
    assert [(m.external_id, m.role, m.author, m.text) for m in got.messages] == [
        ("1", "system", None, "Ana created group «Garden»"),
        ("2", "user", "Ana", "Roses & beans\nat e.org"),
        ("3", "user", "Ana", "[attachment: photo_1.jpg]"),
        ("4", "user", "Ben", "seen elsewhere"),
        ("5", "user", "Ben", "[attachment: Voice message]"),
    ]
    assert [m.sent_at for m in got.messages] == [
        None,
        datetime(2024, 5, 1, 10, 0, 2, tzinfo=UTC),
        datetime(2024, 5, 1, 10, 0, 3, tzinfo=UTC),
        datetime(2024, 5, 1, 12, 0, 4),
        datetime(2024, 5, 1, 15, 30, 5, tzinfo=UTC),
    ]
    assert got.messages[1].metadata == {"reactions": [{"emoji": "🌱", "by": "Ben"}]}
    assert got.messages[2].reply_to == "2"
    assert got.messages[3].metadata == {"forwarded_from": "Cleo"}
    assert got.problems == got.notes == []


def test_all_pages_are_one_chat_and_a_renamed_one_stays_the_same(tmp_path: Path):
    (tmp_path / "messages.html").write_text(PAGE)
    (tmp_path / "messages2.html").write_text(second_page())
    found = [reading_of(f.document) for f in detect_documents([tmp_path]) if isinstance(f, DetectedDocument)]
    assert [len(got.messages) for got in found] == [5, 5]
    (one,) = {got.sessions[0].external_id for got in found}
    (tmp_path / "messages.html").write_text(PAGE.replace("\nGarden\n", "\nAllotment\n"))
    found = [reading_of(f.document) for f in detect_documents([tmp_path]) if isinstance(f, DetectedDocument)]
    assert found[0].sessions == [SessionRecord(one, "Allotment")]


def test_pages_beside_json_are_not_read_again(tmp_path: Path):
    (tmp_path / "messages.html").write_text(PAGE)
    (tmp_path / "result.json").write_text(json.dumps(CHAT))
    found = [reading_of(f.document) for f in detect_documents([tmp_path]) if isinstance(f, DetectedDocument)]
    assert sorted(len(got.messages) for got in found) == [0, 9]
    assert all(got.problems == [] for got in found)


def test_a_page_cut_anywhere():
    data = PAGE.encode()
    whole = [r.text for r in parser_of("telegram").parse(document_of(data)) if isinstance(r, MessageRecord)]
    for cut in range(0, len(data), 50):
        records = list(parser_of("telegram").parse(document_of(data[:cut])))
        texts = [r.text for r in records if isinstance(r, MessageRecord)]
        assert texts == whole[: len(texts)]
        if b'class="page_body chat_page"' in data[:cut]:
            assert any(isinstance(r, InputProblem) and not r.harmless for r in records)


def test_html_that_no_browser_knows(read):
    odd = PAGE.replace("Roses", "<![foo[ x ]]> <br/><div/>" + "<b>" * 500 + "Roses")
    assert read(odd).messages[-1].external_id == "5"


def test_collected_samples(read, exports):
    base = exports / "telegram"
    got = read(base / "chat-miner" / "result.json")
    assert [(m.author, m.text) for m in got.messages] == [
        ("Author 1", "Minimal Message"),
        ("Author 2", "Link:https://telegram.org/"),
    ]
    assert got.messages[0].sent_at == datetime(2018, 12, 5, 10, 39, 10, tzinfo=UTC)

    got = read(base / "chatpack-cli" / "result.json")
    assert [(s.external_id, s.title) for s in got.sessions] == [("123456789", "Test Chat")]
    assert [m.author for m in got.messages] == ["Alice", "Bob", "Alice", "Alice", "Bob", "Alice", "Bob"]
    assert got.texts[0] == "Hello! How are you?" and got.texts[-1] == "And this one is from March"
    assert [m.reply_to for m in got.messages] == [None, None, None, None, "4", None, None]
    assert [dict(m.metadata) for m in got.messages] == [{}] * 6 + [{"edited": True}]
    assert got.messages[0].sent_at == datetime(2024, 1, 15, 10, 30)

    got = read(base / "langchain-community" / "ChatExport" / "result.json")
    assert [(s.external_id, s.title) for s in got.sessions] == [("5965280513", "Jimmeny")]
    assert got.texts == [
        "i refuse to converse with you",
        "Hi nemesis",
        "we meet again",
        "you will not trick me this time",
    ]
    assert got.messages[0].sent_at == datetime(2023, 8, 23, 20, 11, 23, tzinfo=UTC)
    assert got.problems == got.notes == []
