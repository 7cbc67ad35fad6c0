"""Threads of Facebook Messenger and Instagram: JSON, end to end, HTML."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.formats import parser_of
from appliance.formats.meta import repair_mojibake
from appliance.formats.meta_words import is_notice, read_date, thread_id
from appliance.ingest.sources import DetectedDocument, detect_documents
from appliance.types import InputProblem, MessageRecord, SessionRecord
from tests.parse.conftest import Reading, document_of, reading_of


def mangled(text: str) -> str:
    return text.encode().decode("latin-1")


MESSAGES = [
    {"sender_name": "Ana", "timestamp_ms": 1700000009000, "content": "Ana left the group.", "type": "Unsubscribe"},
    {"sender_name": "Ana", "timestamp_ms": 1700000008000, "content": "Ben missed your call.", "call_duration": 0},
    {"sender_name": "Ana", "timestamp_ms": 1700000007000, "content": mangled("Reacted 😍 to your message ")},
    {"sender_name": "Ana", "timestamp_ms": 1700000006000, "is_unsent": True},
    {"sender_name": "Ana", "timestamp_ms": 1700000005000, "content": "Ben left the group."},
    {
        "sender_name": "Ana",
        "timestamp_ms": 1700000004000,
        "content": "You sent an attachment.",
        "share": {"link": "https://e.org/post", "share_text": mangled("Rosen blühen")},
    },
    {
        "sender_name": mangled("Zoë"),
        "timestamp_ms": 1700000003000,
        "photos": [{"uri": "your/messages/photos/rose.jpg"}],
        "sticker": {"uri": "stickers/wave.png"},
    },
    {"sender_name": "Ana", "timestamp_ms": 1700000002000, "content": "second of one moment"},
    {
        "sender_name": "Ana",
        "timestamp_ms": 1700000002000,
        "content": mangled("first, at the café 🌱"),
        "type": "Generic",
        "reactions": [{"reaction": mangled("❤"), "actor": mangled("Zoë")}],
    },
]
THREAD = {
    "participants": [{"name": "Ana"}, {"name": mangled("Zoë")}],
    "messages": MESSAGES,
    "title": mangled("Café"),
    "is_still_participant": True,
    "thread_path": "inbox/cafe_1234567890",
    "magic_words": [],
}


def test_a_thread(read):
    got = read(json.dumps(THREAD))
    assert got.format == "meta"
    assert got.sessions == [SessionRecord("1234567890", "Café")]
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("user", "Ana", "first, at the café 🌱"),
        ("user", "Ana", "second of one moment"),
        ("user", "Zoë", "[attachment: rose.jpg]\n\n[attachment: wave.png]"),
        ("user", "Ana", "You sent an attachment.\n\n[attachment: https://e.org/post]\nRosen blühen"),
        ("user", "Ana", "Ben left the group."),
        ("system", "Ana", "Reacted 😍 to your message "),
        ("system", "Ana", "Ben missed your call."),
        ("system", "Ana", "Ana left the group."),
    ]
    first = got.messages[0]
    assert first.sent_at == datetime(2023, 11, 14, 22, 13, 22, tzinfo=UTC)
    assert first.metadata == {"reactions": [{"emoji": "❤", "by": "Zoë"}]}
    assert got.messages[2].metadata == {"attachments": [{"name": "rose.jpg"}, {"name": "wave.png"}]}
    assert {m.external_id for m in got.messages} == {None}
    assert got.problems == []
    assert [n.message for n in got.notes] == ["skipped 1 message that had been unsent"]


def test_only_what_was_mangled_is_undone():
    assert repair_mojibake(mangled("naïve 🌱 日本")) == "naïve 🌱 日本"
    for text in ("plain", "café", "日本", "Ã", "\x80"):
        assert repair_mojibake(text) == text


def test_the_lines_of_the_app():
    for text, author, files, expected in (
        ("You sent an attachment.", "Ana", False, True),
        ("You sent an attachment.", "Ana", True, False),
        ("Ana sent a photo.", "Ana Gil", False, True),
        ("Ana Gil named the group Roses.", "Ana Gil", False, True),
        ("Ben named the group Roses.", "Ana Gil", False, False),
        ("Liked a message", "Ana", False, True),
        ("The video chat ended.", "Ana", False, True),
        ("You set the nickname for Ben to Benny.", "Ana", False, True),
        ("You called it", "Ana", False, True),
        ("I called Ben\nYou know", "Ana", False, False),
        ("You are right", "Ana", False, False),
    ):
        assert is_notice(text, author, files) == expected, text


def test_a_thread_is_the_same_in_another_box_and_under_another_name(read):
    assert thread_id("inbox/alice_10203040506070") == thread_id("archived_threads/alicia_10203040506070")
    assert thread_id("inbox/alice_ABC123") == "alice_ABC123"
    assert thread_id("") is None
    nameless = {key: value for key, value in THREAD.items() if key != "thread_path"}
    one = read(json.dumps(nameless))
    two = read(json.dumps(nameless | {"title": "Other"}), name="other.json")
    assert one.sessions[0].external_id == two.sessions[0].external_id
    in_its_folder = read(json.dumps(nameless), name="x/inbox/cafe_1234567890/message_2.json")
    assert in_its_folder.sessions[0].external_id == "1234567890"


def test_all_numbered_files_are_one_thread(tmp_path: Path):
    folder = tmp_path / "messages" / "inbox" / "cafe_1234567890"
    folder.mkdir(parents=True)
    for number in range(1, 12):
        older = [{"sender_name": "Ana", "timestamp_ms": 1700000000000 - number, "content": f"{number}"}]
        (folder / f"message_{number}.json").write_text(json.dumps(THREAD | {"messages": older}))
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, f"messages/inbox/cafe_1234567890/{file.name}")
    for place in (tmp_path / "messages", path):
        found = readings(place)
        assert {s.external_id for got in found for s in got.sessions} == {"1234567890"}
        messages = sorted((m for got in found for m in got.messages), key=lambda m: m.sent_at)
        assert [m.text for m in messages] == [str(n) for n in range(11, 0, -1)]


def readings(path: Path) -> list[Reading]:
    return [reading_of(found.document) for found in detect_documents([path]) if isinstance(found, DetectedDocument)]


def test_end_to_end(read):
    data = {
        "participants": ["Ana", "Ben"],
        "threadName": "Ben_7",
        "messages": [
            {
                "isUnsent": False,
                "media": [],
                "reactions": [{"actor": "Ben", "reaction": mangled("👍")}],
                "senderName": "Ana",
                "text": mangled("früh"),
                "timestamp": 1700000001000,
                "type": "text",
            },
            {
                "isUnsent": False,
                "media": [{"uri": "./media/a.jpg"}],
                "reactions": [],
                "senderName": "Ben",
                "text": "",
                "timestamp": 1700000002000,
                "type": "media",
            },
            {
                "isUnsent": True,
                "media": [],
                "senderName": "Ben",
                "text": "",
                "timestamp": 1700000003000,
                "type": "text",
            },
            {
                "isUnsent": False,
                "senderName": "Ben",
                "text": "Ben called you",
                "timestamp": 1700000004000,
                "type": "placeholder",
            },
        ],
    }
    got = read(json.dumps(data), name="messages/Ben_7.json")
    assert [(s.external_id, s.title) for s in got.sessions] == [("e2ee:Ben_7", "Ben")]
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("user", "Ana", "früh"),
        ("user", "Ben", "[attachment: a.jpg]"),
        ("system", "Ben", "Ben called you"),
    ]
    assert got.messages[0].metadata == {"reactions": [{"emoji": "👍", "by": "Ben"}]}


def block(sender: str, body: str, time: str) -> str:
    return (
        f'<div class="pam _3-95 _2ph- _a6-g uiBoxWhite noborder"><h2 class="_2ph_ _a6-h">{sender}</h2>'
        f'<div class="_2ph_ _a6-p"><div><div></div><div>{body}</div><div></div></div></div>'
        f'<div class="_3-94 _a6-o">{time}</div></div>'
    )


REACTED = '<ul class="_a6-q"><li><span>❤Ben</span></li></ul>'
PAGE = (
    '<html><head><meta charset="utf-8"><title>Café</title></head><body><div class="_a706">'
    '<div class="_a70e"><div>Participants: Ana, Ben</div></div><div role="main">'
    + block("Ana", f"one &amp; <b>two</b><br>café</div><div>{REACTED}", "May 01, 2024 9:05:07 pm")
    + block("Ben", '<a href="photos/rose.jpg"><img src="photos/rose.jpg"/></a>', "May 01, 2024 9:04 PM")
    + block("Ana", "Liked a message", "Apr 30, 2024 12:00 AM")
    + "</div></div></body></html>"
)


def test_a_page(read):
    got = read(PAGE, name="messages/inbox/cafe_1234567890/message_1.html")
    assert got.format == "meta"
    assert got.sessions == [SessionRecord("1234567890", "Café")]
    assert [(m.role, m.author, m.text, m.sent_at) for m in got.messages] == [
        ("system", "Ana", "Liked a message", datetime(2024, 4, 30)),
        ("user", "Ben", "[attachment: rose.jpg]", datetime(2024, 5, 1, 21, 4)),
        ("user", "Ana", "one & two\ncafé", datetime(2024, 5, 1, 21, 5, 7)),
    ]
    assert got.messages[2].metadata == {"reactions": [{"emoji": "❤", "by": "Ben"}]}
    assert got.problems == got.notes == []


OLD = """<html><head><title>Ana - Messages</title></head><body><div class="contents"><h1>Ana</h1><div>
<div class="thread">Ana, Ben<div class="message"><div class="message_header"><span class="user">Ben</span>
<span class="meta">Tuesday, October 10, 2017 at 10:05pm PDT</span></div></div><p>later &amp; last</p>
<div class="message"><div class="message_header"><span class="user">Ana</span>
<span class="meta">Tuesday, October 10, 2017 at 9:05am UTC+02</span></div></div><p>sooner</p></div>
<div class="thread">Ana, Cleo<div class="message"><div class="message_header"><span class="user">Cleo</span>
<span class="meta">Monday, October 9, 2017 at 9:05am XYZ</span></div></div><p>hi</p></div>
</div></div></body></html>"""


def test_the_page_of_2017(read):
    got = read(OLD, name="html/messages.htm")
    assert [s.title for s in got.sessions] == ["Ana, Ben", "Ana, Cleo"]
    assert [(m.author, m.text, m.sent_at) for m in got.messages] == [
        ("Ana", "sooner", datetime(2017, 10, 10, 7, 5, tzinfo=UTC)),
        ("Ben", "later & last", datetime(2017, 10, 11, 5, 5, tzinfo=UTC)),
        ("Cleo", "hi", datetime(2017, 10, 9, 9, 5)),
    ]


def test_dates_of_many_languages():
    for text in (
        "May 01, 2024 9:05 pm",
        "May 1, 2024, 9:05:00 PM",
        "1 May 2024, 21:05",
        "01.05.2024, 21:05",
        "1. Mai 2024, 21:05",
        "1 de maio de 2024 21:05",
        "1 may 2024, 21:05",
        "1 mai 2024 à 21:05",
        "2024-05-01 21:05",
        "01/05/2024 21:05",
        "5/1/24, 9:05 PM",
    ):
        assert read_date(text) == datetime(2024, 5, 1, 21, 5), text
    for text in ("", "hello", "Foo 1, 2024 9:05", "May 41, 2024 9:05 pm", "1.5", "x" * 500):
        assert read_date(text) is None


def test_a_thread_that_is_there_in_both_forms_is_read_once(tmp_path: Path):
    folder = tmp_path / "messages" / "inbox" / "cafe_1234567890"
    folder.mkdir(parents=True)
    (folder / "message_1.html").write_text(PAGE)
    (folder / "message_2.html").write_text(PAGE)
    (folder / "message_1.json").write_text(json.dumps(THREAD))
    assert sorted(len(got.messages) for got in readings(tmp_path)) == [0, 0, 8]


def test_pages_of_something_else_are_no_thread(read):
    posts = "<html><body>" + block("A long caption", "x", "May 01, 2024 9:05 pm") + "</body></html>"
    with pytest.raises(Exception, match="not recognised"):
        read(posts, name="posts_1.html")


@pytest.mark.parametrize("wrong", [None, 5, "x", [], [3], {}, {"a": 1}, True, 1e400])
@pytest.mark.parametrize("key", sorted({key for each in MESSAGES for key in each}))
def test_wrong_types_cost_only_their_place(key, wrong):
    first = {"sender_name": "Ana", "timestamp_ms": 1, "content": "kept"}
    data = json.dumps(THREAD | {"messages": [*({**each, key: wrong} for each in MESSAGES), 3, None, first]}).encode()
    records = list(parser_of("meta").parse(document_of(data)))
    assert "kept" in [r.text for r in records if isinstance(r, MessageRecord)]


@pytest.mark.parametrize("wrong", [None, 5, "x", [3], {"a": 1}])
def test_wrong_types_around_the_messages(read, wrong):
    for key in THREAD:
        got = read(json.dumps(THREAD | {key: wrong}), forced="meta")
        assert len(got.messages) == (0 if key == "messages" else 8)


def test_cut_anywhere_every_whole_message_is_kept():
    data = json.dumps(THREAD).encode()
    for cut in range(0, len(data), 50):
        records = list(parser_of("meta").parse(document_of(data[:cut], "inbox/cafe_1234567890/message_1.json")))
        messages = [r for r in records if isinstance(r, MessageRecord)]
        # Each message but the one that was unsent begins with its sender; the last may be cut.
        begun = data[:cut].count(b'{"sender_name"')
        assert len(messages) >= begun - 2
        assert {m.session for m in messages} <= {"1234567890"}
        assert cut == 0 or any(isinstance(r, InputProblem) and not r.harmless for r in records)


@pytest.mark.parametrize("page", [PAGE, OLD])
def test_pages_cut_anywhere(page):
    data = page.encode()
    for cut in range(0, len(data), 50):
        records = list(parser_of("meta").parse(document_of(data[:cut])))
        texts = [r.text for r in records if isinstance(r, MessageRecord)]
        assert set(texts) <= {
            "one & two\ncafé",
            "[attachment: rose.jpg]",
            "Liked a message",
            "sooner",
            "later & last",
            "hi",
        }
        if b"<body" in data[:cut]:
            assert any(isinstance(r, InputProblem) and not r.harmless for r in records)


def test_collected_samples(read, exports):
    base = exports / "facebook" / "msgvault"
    inside = "your_activity_across_facebook/messages"
    got = read(base / "json_simple" / inside / "inbox/alice_ABC123/message_1.json")
    assert got.sessions == [SessionRecord("alice_ABC123", "Alice Example")]
    assert [(m.author, m.text) for m in got.messages] == [
        ("Test User", "Hello"),
        ("Alice Example", "café time?"),
        ("Test User", "See you soon"),
    ]
    assert got.messages[1].metadata["reactions"] == [
        {"emoji": "❤", "by": "Test User"},
        {"emoji": "👍", "by": "Alice Example"},
    ]
    assert got.messages[0].sent_at == datetime(2020, 9, 13, 12, 26, 40, tzinfo=UTC)
    page = read(base / "html_simple" / inside / "inbox/alice_ABC123/message_1.html")
    assert page.sessions == got.sessions
    assert [(m.author, m.text) for m in page.messages] == [(m.author, m.text) for m in got.messages]
    assert page.messages[0].sent_at == datetime(2020, 9, 13, 12, 26)
    got = read(base / "json_simple" / inside / "archived_threads/zoe_ARCH/message_1.json")
    assert (got.sessions[0].external_id, got.texts) == ("zoe_ARCH", ["Old message in archive"])
    got = read(base / "json_group" / inside / "inbox/crew_GRP123/message_1.json")
    assert got.texts == ["Hey crew", "Hi!", "Hello."]
    got = read(base / "json_with_media" / inside / "inbox/bob_XYZ789/message_1.json")
    assert got.messages[0].text == "Here's a photo"
    assert got.messages[0].metadata == {"attachments": [{"name": "tiny.png"}]}

    got = read(exports / "facebook" / "langchain-community__facebook_chat.json")
    assert (len(got.messages), set(got.roles)) == (11, {"user"})
    assert got.texts[0].startswith("Hi! Im interested in your bag.") and got.texts[-1] == "Bye!"
    assert got.texts[4] == "[attachment: url_of_some_picture.jpg]"

    got = read(exports / "instagram" / "chatpack-cli__instagram_export.json")
    assert [s.title for s in got.sessions] == ["Test Chat"]
    assert [m.author for m in got.messages] == [
        f"{name}_user" for name in "alice bob alice alice bob alice bob".split()
    ]
    assert got.texts[0] == "Hello! How are you?" and got.texts[-1] == "And this one is from March"
    assert got.problems == got.notes == []


@pytest.mark.parametrize(
    ("time", "when"),
    [
        ("Sep 13, 2020, 12:26 PM", datetime(2020, 9, 13, 12, 26)),
        ("Oct 19, 2019 at 2:37 PM", datetime(2019, 10, 19, 14, 37)),
        ("19 окт. 2019 г., 14:37", datetime(2019, 10, 19, 14, 37)),
        ("2019年10月19日 14:37", datetime(2019, 10, 19, 14, 37)),
    ],
)
def test_a_page_with_one_message_and_unknown_class_names(read, time, when):
    message = f'<div class="m"><div>Ana</div><div><p>by the quay</p></div><div class="t">{time}</div></div>'
    page = f"<!DOCTYPE html><html><head><title>Ana</title></head><body>{message}</body></html>"
    got = read(page, name="messages/inbox/ana_XY12345678/message_1.html")
    assert [(m.author, m.text, m.sent_at) for m in got.messages] == [("Ana", "by the quay", when)]


def test_a_page_with_the_newest_message_first_and_times_of_reactions(read):
    def message(who: str, text: str, time: str, more: str = "") -> str:
        return f"<div><h2>{who}</h2><div><div>{text}</div>{more}</div><div>{time}</div></div>"

    reaction = "<div><ul><li><span>❤Ben Ode (May 28, 2025 8:32 am)</span></li></ul></div>"
    rows = [
        message("Ben Ode", "third", "May 28, 2025 8:31 am"), message("ana", "second", "May 28, 2025 8:30 am", reaction),
        message("ana", "first", "May 28, 2025 8:30 am"),
    ]  # fmt: skip
    page = f"<html><head><title>ana</title></head><body><div>{''.join(rows)}</div></body></html>"
    got = read(page, name="your_instagram_activity/messages/inbox/ana_123456789/message_1.html")
    assert got.texts == ["first", "second", "third"]
    assert got.messages[1].metadata == {"reactions": [{"emoji": "❤", "by": "Ben Ode"}]}
