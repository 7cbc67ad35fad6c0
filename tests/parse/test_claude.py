"""Claude.ai: blocks, attachments, tools, dialects."""

from __future__ import annotations

import json
from datetime import UTC, datetime


def test_blocks_and_attachments(read, fixtures):
    got = read(fixtures / "claude.json")
    assert got.format == "claude"
    assert [(s.external_id, s.title) for s in got.sessions] == [
        ("c1", "Contract"),
        ("c2", None),
        ("c3", "Other dialect"),
    ]
    assert [(m.external_id, m.role) for m in got.messages] == [
        ("m1", "user"),
        ("m2-thinking-1", "tool"),
        ("m2", "assistant"),
        ("m2-tool_use-3", "tool"),
        ("m2-tool_result-4", "tool"),
        ("m3", "user"),
        ("d1", "user"),
        ("d2", "assistant"),
    ]
    question, thinking, answer, call, result, pasted, hello, _ = got.messages
    assert question.text == "Is this \n\nfair?\n\n[attachment: contract.txt]\nRent is 900."
    assert question.metadata["attachments"] == [{"name": "contract.txt", "text": "Rent is 900."}, {"name": "scan.pdf"}]
    assert question.sent_at == datetime(2025, 5, 1, 8, 0, 1, 1, tzinfo=UTC)
    assert (thinking.text, thinking.reply_to) == ("Compare rents.", "m2")
    assert answer.text == "Let me look.\n\nA little high."
    assert (call.text, call.metadata) == (
        "web_search\nquery: rent Gent",
        {"tools": [{"kind": "call", "name": "web_search"}]},
    )
    assert result.text == "850 on average"
    assert pasted.text == "[attachment: pasted text]\npasted words"
    assert pasted.sent_at == datetime(2025, 5, 1, 8, 1, tzinfo=UTC)
    assert hello.sent_at == datetime(2025, 5, 2, 8, 0, 1, tzinfo=UTC)
    assert got.problems == []
    assert {note.message for note in got.notes} == {
        "the message is empty; skipped",
        "the time 'soon' can't be read; left open",
        "skipped 1 block without text (type token_budget)",
    }


def test_text_tells_how_blocks_belong_together(read):
    blocks = [{"type": "text", "text": "The tower is "}, {"type": "text", "text": "330 m high."}]
    message = {"uuid": "a", "sender": "assistant", "text": "The tower is 330 m high.", "content": blocks}
    got = read(json.dumps([{"uuid": "c", "chat_messages": [message]}]))
    assert got.texts == ["The tower is 330 m high."]


def test_side_branches_by_parent_links(read):
    def message(key: str, parent: str, at: int) -> dict:
        return {
            "uuid": key,
            "sender": "human",
            "text": key,
            "parent_message_uuid": parent,
            "created_at": f"2025-01-01T00:00:0{at}Z",
        }

    root = "00000000-0000-4000-8000-000000000000"
    messages = [message("q", root, 1), message("old", "q", 2), message("new", "q", 3), message("next", "new", 4)]
    got = read(json.dumps({"uuid": "c", "name": "", "chat_messages": messages}))
    assert [(m.text, m.reply_to, dict(m.metadata)) for m in got.messages] == [
        ("q", None, {}),
        ("old", "q", {"branch": True}),
        ("new", "q", {}),
        ("next", "new", {}),
    ]


def test_wrong_types_cost_only_their_place(read):
    good = {"uuid": "m", "sender": "human", "text": "kept"}
    data = [
        {"uuid": "c1", "name": "One", "chat_messages": [5, good, {"uuid": "n", "sender": "robot", "text": "hm"}]},
        {"uuid": "c2", "name": "Two", "chat_messages": {"a": 1}},
        {"uuid": "c3", "chat_messages": [{"uuid": "m", "sender": "human", "text": 4, "content": 7}, good]},
        3,
    ]
    got = read(json.dumps(data))
    assert got.texts == ["kept", "hm", "kept"]
    assert got.roles == ["user", "system", "user"]
    assert any(p.where == "conversation 1 (One), message 1" for p in got.problems)
    assert any(p.where == "conversation 2 (Two)" for p in got.problems)


def test_the_same_id_twice(read):
    messages = [{"uuid": "m", "sender": "human", "text": t} for t in ("one", "two")]
    got = read(json.dumps([{"uuid": "c", "chat_messages": messages}]))
    assert [(m.external_id, m.text) for m in got.messages] == [("m", "one"), (None, "two")]


def test_collected_samples(read, exports):
    base = exports / "claude_ai"
    got = read(base / "ai-chat-md-export" / "conversations.json")
    assert [s.title for s in got.sessions] == ["Weather Chat", "Recipe Help"]
    assert got.roles == ["user", "assistant"] * 4
    assert got.messages[0].sent_at == datetime(2025, 1, 14, 9, 30, tzinfo=UTC)

    got = read(base / "gbrain__claude-export.json")
    assert (len(got.sessions), got.roles) == (2, ["user", "assistant", "assistant"])
    assert got.messages[2].text == "[attachment: ignored.pdf]"
    assert got.messages[2].metadata == {"attachments": [{"name": "ignored.pdf"}]}

    got = read(base / "openwebui-importer__claude_thinking_example.json")
    assert [(m.role, m.text[:20]) for m in got.messages] == [
        ("user", "Can you greet me?"),
        ("tool", "The user asked for a"),
        ("assistant", "Hello there! It's gr"),
    ]
    assert got.problems == got.notes == []
