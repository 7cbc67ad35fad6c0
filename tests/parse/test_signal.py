"""Signal: a message a line, and the text forms."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.formats import parser_of
from appliance.ingest.sources import DetectedDocument, UnreadSource, detect_documents
from appliance.types import InputProblem, MessageRecord
from tests.parse.conftest import document_of


def line(**more: object) -> dict[str, object]:
    empty = {"quote": "", "sticker": "", "reactions": [], "attachments": []}
    return {"date": "2025-03-01T09:00:00", "sender": "Ana", "body": "hello  "} | empty | more


def lines(*messages: dict[str, object]) -> str:
    return "\n".join(json.dumps(message, ensure_ascii=False) for message in messages) + "\n"


def test_a_message_a_line(read):
    data = lines(
        line(),
        line(sender="Me", body="Me too", quote="\n\n> hello\n> there\n\n", reactions=[["Ana", "👍"]]),
        line(sender="Ben", body="", attachments=[{"name": "pier.jpg", "path": "media/pier.jpg"}]),
        line(body="", sticker="🦭", reactions=[{"name": "Ben", "emoji": "😂"}]),
        line(sender="No-Sender", body="Missed voice call", call=True),
        line(body="", deleted=True),
        line(body=""),
    )
    got = read(data, "Ferry trip/data.json")
    assert got.format == "signal"
    assert [(s.external_id, s.title) for s in got.sessions] == [("signal:Ferry trip", "Ferry trip")]
    assert [(m.role, m.author, m.text, dict(m.metadata)) for m in got.messages] == [
        ("user", "Ana", "hello", {}),
        ("user", "Me", "Me too", {"reactions": [{"emoji": "👍", "by": "Ana"}], "quote": "hello\nthere"}),
        ("user", "Ben", "[attachment: pier.jpg]", {"attachments": [{"name": "pier.jpg"}]}),
        ("user", "Ana", "🦭", {"reactions": [{"emoji": "😂", "by": "Ben"}]}),
        ("system", None, "Missed voice call", {}),
        ("user", "Ana", "(This message was deleted)", {"deleted": True}),
    ]
    assert got.messages[0].sent_at == datetime(2025, 3, 1, 9)
    assert got.problems == []
    assert [n.message for n in got.notes] == ["the message is empty; skipped"]


def test_the_text_beside_it_is_the_same_chat(tmp_path: Path) -> None:
    chat = tmp_path / "export" / "Ana"
    chat.mkdir(parents=True)
    (chat / "data.json").write_text(lines(line(sender="Me")))
    (chat / "chat.md").write_text("[2025-03-01 09:00:00] Me: hello  \n")
    found = [item for item in detect_documents([tmp_path / "export"], me="Kim") if isinstance(item, DetectedDocument)]
    assert [item.format for item in found] == ["signal", "signal"]
    records = [list(item.parser.parse(item.document)) for item in found]
    assert [r.message for r in records[0] if isinstance(r, InputProblem)] == [
        "skipped; the same chat is imported from data.json"
    ]
    (message,) = [r for r in records[1] if isinstance(r, MessageRecord)]
    assert message.author == "Kim"
    (alone,) = detect_documents([chat / "chat.md"])
    assert not isinstance(alone, UnreadSource)
    assert any(isinstance(r, MessageRecord) for r in alone.parser.parse(alone.document))


def test_the_text_of_the_program(read):
    data = (
        "[2025-03-01 09:00:00] Ana: When?  \n"
        "[2025-03-01 09:01:00] Me: \n\n> When?\n\nAt nine:\nthe ferry  \n(- Ana: 👍, Ben: 😂 -)\n"
        "[2025-03-01 09:02:00] Ana: ![pier.jpg](./media/pier.jpg)  \n"
        "[2025-03-01 09:03:00] Ben: (This message was deleted)\n"
        "\n\n"
    )
    got = read(data, "signal/Ferry/chat.md")
    assert got.format == "signal"
    assert got.sessions[0].title == "Ferry"
    assert [(m.author, m.text, dict(m.metadata)) for m in got.messages] == [
        ("Ana", "When?", {}),
        (
            "Me",
            "\n\n> When?\n\nAt nine:\nthe ferry",
            {"reactions": [{"emoji": "👍", "by": "Ana"}, {"emoji": "😂", "by": "Ben"}]},
        ),
        ("Ana", "[attachment: pier.jpg]", {"attachments": [{"name": "pier.jpg"}]}),
        ("Ben", "(This message was deleted)", {"deleted": True}),
    ]


def test_a_name_before_the_time_in_brackets(read):
    got = read("Ana (2025-03-01 09:00:00 UTC): hello\nmore\nBen Maes (2025-03-01 09:01 UTC): hi: you\n")
    assert got.format == "signal"
    assert [(m.author, m.text, m.sent_at) for m in got.messages] == [
        ("Ana", "hello\nmore", datetime(2025, 3, 1, 9, tzinfo=UTC)),
        ("Ben Maes", "hi: you", datetime(2025, 3, 1, 9, 1, tzinfo=UTC)),
    ]


def test_a_chat_without_a_name_is_known_by_its_first_message(read):
    first = read(lines(line(), line(body="two")), "a/b.json", "signal")
    later = read(lines(line(), line(body="two"), line(body="three")), "elsewhere.json", "signal")
    other = read(lines(line(body="two")), "a/b.json", "signal")
    assert first.sessions[0].external_id == later.sessions[0].external_id != other.sessions[0].external_id


def test_other_texts_are_left_to_others(read):
    whatsapp = "[01/03/2025, 09:00:00] Ana: hello\n[01/03/2025, 09:00:05] Ben: hi\n"
    assert read(whatsapp).format == "whatsapp"


@pytest.mark.parametrize("key", ["date", "sender", "body", "quote", "sticker", "reactions", "attachments"])
@pytest.mark.parametrize("value", [None, 5, "x", [], [1, [2]], {"a": 1}, True, "\ud800"])
def test_wrong_types_cost_only_their_place(read, key, value):
    got = read(json.dumps(line(body="before")) + "\n" + json.dumps(line(**{key: value})) + "\n[]\n")
    assert got.texts[0] == "before"
    assert got.messages[0].sent_at is not None


def test_files_cut_at_every_byte():
    for data in (
        lines(*(line(body=f"message {n}") for n in range(4))),
        "".join(f"[2025-03-01, 09:0{n}] Ana: message {n}\nmore\n" for n in range(4)),
    ):
        for cut in range(len(data)):
            records = list(parser_of("signal").parse(document_of(data[:cut].encode())))
            texts = [r.text for r in records if isinstance(r, MessageRecord)]
            for number in range(4):
                after = data.find("\n", data.find(f"message {number}"))
                if cut > after:
                    assert any(text.startswith(f"message {number}") for text in texts)


def test_collected_samples(read, exports):
    got = read(exports / "signal" / "chat-miner__test_export.txt")
    assert got.format == "signal"
    assert [(m.author, m.role, m.text, m.sent_at) for m in got.messages] == [
        ("Jane Doe", "user", "Hello John!", datetime(2019, 12, 24, 12, 23)),
        ("John Doe", "user", "Hello\nJane!", datetime(2020, 1, 17, 21, 49)),
    ]
    assert got.problems == got.notes == []
