"""LibreChat: nested and flat, branches, parts, damage; Chatbot UI."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

ROOT = "00000000-0000-0000-0000-000000000000"


def turn(key: str, parent: str | None, text: str, person: bool = True, at: int = 0, **more: Any) -> dict:
    return {
        "messageId": key,
        "conversationId": "c1",
        "createdAt": f"2025-03-01T10:00:{at:02}.000Z",
        "isCreatedByUser": person,
        "parentMessageId": parent,
        "sender": "User" if person else "Model 3",
        "text": text,
        "unfinished": False,
        "error": False,
    } | more


def conversation(messages: Any, **more: Any) -> dict:
    return {
        "conversationId": "c1",
        "endpoint": "agents",
        "title": "Tomatoes",
        "exportAt": "20:33:31 GMT-0400 (Eastern Daylight Time)",
        "branches": True,
        "recursive": False,
        "messages": messages,
    } | more


FLAT = [
    turn("q", ROOT, "When to sow?"),
    turn("a1", "q", "In May.", person=False, at=1),
    turn("a2", "q", "In March, indoors.", person=False, at=2),
    turn("q2", "a2", "And outdoors?", at=30),
]


def nested(messages: list[dict]) -> list[dict]:
    copies = {message["messageId"]: message | {"children": []} for message in messages}
    for message in messages:
        if message["parentMessageId"] in copies:
            copies[message["parentMessageId"]]["children"].append(copies[message["messageId"]])
    return [copy for copy in copies.values() if copy["parentMessageId"] not in copies]


@pytest.mark.parametrize(
    "data",
    [
        conversation(FLAT),
        conversation(nested(FLAT), recursive=True),
        conversation(nested(FLAT)[0], recursive=True),
        {k: v for k, v in conversation([]).items() if k != "messages"} | {"messagesTree": nested(FLAT)},
        [conversation(FLAT)],
    ],
    ids=["flat", "nested", "one root", "tree", "list"],
)
def test_every_form_says_the_same(read: Callable[..., Any], data: Any) -> None:
    got = read(json.dumps(data))
    assert got.format == "librechat"
    assert [(s.external_id, s.title) for s in got.sessions] == [("c1", "Tomatoes")]
    assert [(m.external_id, m.role, m.text, m.reply_to, dict(m.metadata)) for m in got.messages] == [
        ("q", "user", "When to sow?", None, {}),
        ("a1", "assistant", "In May.", "q", {"model": "Model 3", "branch": True}),
        ("a2", "assistant", "In March, indoors.", "q", {"model": "Model 3"}),
        ("q2", "user", "And outdoors?", "a2", {}),
    ]
    assert got.messages[3].sent_at == datetime(2025, 3, 1, 10, 0, 30, tzinfo=UTC)
    assert got.sessions[0].created_at == datetime(2025, 3, 1, 10, tzinfo=UTC)
    assert got.problems == got.notes == []


def test_a_long_conversation_nested_message_in_message(read: Callable[..., Any]) -> None:
    one = '{"messageId":"m%d","isCreatedByUser":true,"parentMessageId":null,"text":"words %d","children":['
    whole = '{"conversationId":"c","messages":[' + "".join(one % (n, n) for n in range(3000))
    got = read(whole + "]}" * 3000 + "]}")
    assert got.texts == [f"words {n}" for n in range(3000)]
    assert got.messages[2999].reply_to == "m2998"
    assert got.problems == got.notes == []
    cut = read(whole[: whole.index("words 2500")])
    assert cut.texts == [f"words {n}" for n in range(2500)]
    assert cut.problems


def test_parts_prompts_files_and_errors(read: Callable[..., Any]) -> None:
    parts = [
        {"type": "think", "think": "Look it up."},
        {"type": "text", "text": {"value": "Let me see."}},
        {"type": "tool_call", "tool_call": {"name": "almanac", "args": '{"month": 3}', "output": "Mild."}},
        {"type": "text", "text": "It will be mild."},
    ]
    messages = [
        turn("q", None, "How is March?", files=[{"filename": "plan.txt", "text": "Sow"}], isEdited=True),
        turn("a", "q", "", person=False, at=1, content=parts, model="m-9"),
        turn("b", "a", ":::thinking\nHm.\nYes.\n:::\n\nDone.", person=False, at=2),
        turn("e", "b", "Something went wrong", person=False, at=3, error=True),
        turn("f", "e", "", at=4),
    ]
    got = read(json.dumps(conversation(messages, options={"model": "m-9", "promptPrefix": "Be short"})))
    assert [(m.external_id, m.role, m.text) for m in got.messages] == [
        ("system", "system", "Be short"),
        ("q", "user", "How is March?\n\n[attachment: plan.txt]\nSow"),
        ("a-reasoning-1", "tool", "Look it up."),
        ("a", "assistant", "Let me see.\n\nIt will be mild."),
        ("a-call-3", "tool", "almanac\nmonth: 3"),
        ("a-result-4", "tool", "Mild."),
        ("b-reasoning-1", "tool", "Hm.\nYes."),
        ("b", "assistant", "Done."),
        ("e", "system", "Something went wrong"),
    ]
    assert got.messages[1].metadata["edited"] is True
    assert got.messages[3].metadata == {"model": "m-9"}
    assert [n.message for n in got.notes] == ["the message is empty; skipped"]
    assert got.problems == []


def test_without_times_ids_and_marks(read: Callable[..., Any]) -> None:
    data = {
        "title": "Old",
        "messagesTree": [{"text": "Hi", "sender": "User", "children": [{"text": "Hello", "sender": "GPT-4"}]}],
    }
    got = read(json.dumps(data))
    assert [(m.role, m.text, m.external_id, m.sent_at) for m in got.messages] == [
        ("user", "Hi", None, None),
        ("assistant", "Hello", None, None),
    ]


def test_circles_dangling_parents_and_ids_that_are_there_twice(read: Callable[..., Any]) -> None:
    messages = [turn("a", "b", "one"), turn("b", "a", "two"), turn("c", "gone", "three"), turn("c", "a", "four")]
    got = read(json.dumps(conversation(messages)))
    assert sorted(got.texts) == ["four", "one", "three", "two"]
    assert [n.message for n in got.notes] == ["the id c occurs twice; the second message gets none"]


@pytest.mark.parametrize("wrong", [None, 5, "x", [], {}, [None], {"a": None}, True, [[[]]]])
def test_wrong_types_cost_only_their_place(read: Callable[..., Any], wrong: Any) -> None:
    good = conversation([turn("k", None, "kept")], conversationId="good")
    for key in turn("m", None, "x", content=[], files=[], children=[], model=""):
        rows = [conversation([turn("m", None, "x") | {key: wrong}]), good]
        assert read(json.dumps(rows), forced="librechat").texts[-1] == "kept"
    for key in (*conversation([]), "options"):
        rows = [conversation([turn("m", None, "x")]) | {key: wrong}, good]
        assert read(json.dumps(rows), forced="librechat").texts[-1] == "kept"
    assert read(json.dumps([wrong, good]), forced="librechat").texts == ["kept"]


@pytest.mark.parametrize("data", [conversation(FLAT), conversation(nested(FLAT)), {"history": [], "prompts": []}])
def test_a_cut_off_file_keeps_every_whole_message(read: Callable[..., Any], data: dict) -> None:
    written = json.dumps(data).encode()
    most = 0
    for cut in range(0, len(written), 50):
        got = read(written[:cut], forced="librechat")
        assert set(got.texts) <= {message["text"] for message in FLAT}
        assert len(got.messages) >= most
        most = len(got.messages)
    assert most >= 3 or "history" in data


CHATBOT = {
    "version": 4,
    "history": [
        {
            "id": "f1",
            "name": "Soup",
            "messages": [{"role": "user", "content": "Leek?"}, {"role": "assistant", "content": "Yes."}],
            "model": {"id": "m-3", "name": "M 3"},
            "prompt": "You are a cook.",
            "temperature": 1,
            "folderId": None,
        },
        {"id": 7, "name": "", "messages": [], "prompt": ""},
        {"name": "Broken", "messages": None},
        None,
    ],
    "folders": [{"id": "x", "name": "Food", "type": "chat"}],
    "prompts": [{"id": "p", "name": "Cook", "content": "Cook {{dish}}", "model": {"id": "m-3"}}],
}


def test_chatbot_ui(read: Callable[..., Any]) -> None:
    got = read(json.dumps(CHATBOT))
    assert got.format == "librechat"
    assert [(s.external_id, s.title) for s in got.sessions] == [("f1", "Soup"), ("7", None)]
    assert [(m.external_id, m.role, m.text) for m in got.messages] == [
        ("system", "system", "You are a cook."),
        ("1", "user", "Leek?"),
        ("2", "assistant", "Yes."),
    ]
    assert got.sessions[0].metadata == {"model": "m-3"}
    assert [p.where for p in got.problems] == ["conversation 4"]


def test_collected_samples(read: Callable[..., Any], exports: Path) -> None:
    got = read(exports / "librechat" / "DumeeApp__librechat-export.json")
    assert got.format == "librechat"
    assert [(s.external_id, s.title) for s in got.sessions] == [
        ("af1ea676-f525-444f-a9ed-7c8dbf062733", "Conversation 1. Web Search")
    ]
    assert got.roles == ["user", "assistant"] * 3
    assert got.texts[0] == "What is the fuel consumption of vw  transporter with 8 people in l/km"
    assert got.texts[5].endswith("/volkswagen/transporter/price/2014/tdi340-381631/)).")
    assert not any(m.metadata.get("branch") for m in got.messages)
    assert got.problems == got.notes == []

    got = read(exports / "librechat" / "DumeeApp__librechat-linear.json")
    assert [(m.role, m.text[:20]) for m in got.messages] == [
        ("user", "tell me a long story"),
        ("assistant", "Of course! Here’s a "),
    ]
    assert got.messages[1].metadata == {"model": "gpt-4o"}
    assert got.problems == got.notes == []


def test_a_record_before_the_first_message_does_not_hide_the_format(read: Callable[..., Any]) -> None:
    whole = conversation([{"note": None}, *FLAT])
    del whole["recursive"]
    got = read(json.dumps(whole))
    assert got.format == "librechat"
    assert set(got.texts) == {turn["text"] for turn in FLAT}
