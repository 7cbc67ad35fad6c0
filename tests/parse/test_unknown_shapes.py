"""Words in a shape that no parser knows: kept as text with a note, or reported; never dropped without a word."""

from __future__ import annotations

import json
from typing import Any

import pytest

from appliance.formats import unknown_text

WORDS = "the ferry leaves at nine"


def claude_code(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": content}} | more


def chatgpt(content: Any) -> list[Any]:
    message = {"author": {"role": "user"}, "content": content, "id": "m"}
    return [{"title": "t", "mapping": {"a": {"message": message}}}]


def grok(message: Any) -> dict[str, Any]:
    response = {"_id": "m", "sender": "human"} | message
    return {"conversations": [{"conversation": {"id": "c"}, "responses": [{"response": response}]}]}


SHAPES: dict[str, list[Any]] = {
    "chatgpt": [
        chatgpt({"content_type": "new", "lines": [{"w": WORDS}]}),
        chatgpt({"content_type": "text", "parts": [{"value": WORDS}]}),
        chatgpt([WORDS]),
    ],
    "claude": [
        [{"uuid": "c", "name": "", "chat_messages": [{"uuid": "m", "sender": "human"} | shape]}]
        for shape in (
            {"content": [{"type": "note", "note": WORDS}]},
            {"content": {"value": WORDS}},
            {"text": {"value": WORDS}},
            {"content": [WORDS]},
        )
    ],
    "deepseek": [
        [{"id": "c", "mapping": {"1": {"message": {"fragments": [{"type": "REQUEST", "content": shape}]}}}}]
        for shape in ({"value": WORDS}, [WORDS])
    ],
    "grok": [
        grok({"message": {"value": WORDS}}),
        grok({"text": WORDS}),
        grok({"message": "", "steps": [{"label": WORDS}]}),
    ],
    "claude_code": [
        claude_code({"value": WORDS}),
        claude_code([{"type": "note", "lines": [WORDS]}]),
        claude_code(None, message=[WORDS]),
        claude_code(None, message=5, body={"v": WORDS}),
    ],
    "codex": [
        {"type": "response_item", "payload": {"type": "message", "role": "user"} | shape}
        for shape in (
            {"content": [{"type": "note", "v": WORDS}]},
            {"content": {"value": WORDS}},
            {"body": {"value": WORDS}},
        )
    ]
    + [{"type": "event_msg", "payload": {"type": "user_message", "message": {"value": WORDS}}}],
    "gemini_cli": [
        {"sessionId": "s", "startTime": "2025-01-01T00:00:00Z", "messages": [{"type": "user", "id": "1"} | shape]}
        for shape in ({"content": {"value": WORDS}}, {"content": [{"type": "new", "v": WORDS}]}, {"body": WORDS})
    ],
    "agents": [
        {"role": "user", "message": {"content": [{"type": "new", "v": WORDS}]}},
        {"role": "user", "message": {"body": {"value": WORDS}}},
    ],
    "aistudio": [
        {"chunkedPrompt": {"chunks": [{"role": "user"} | shape]}}
        for shape in ({"text": {"value": WORDS}}, {"w": WORDS})
    ],
    "lmstudio": [
        {"name": "x", "messages": [{"versions": [{"role": "user"} | shape]}]}
        for shape in ({"content": {"value": WORDS}}, {"content": [{"type": "new", "v": WORDS}]}, {"body": WORDS})
    ],
    "open_webui": [
        [{"id": "c", "chat": {"messages": [{"role": "user"} | shape]}}]
        for shape in ({"content": {"value": WORDS}}, {"content": [{"type": "new", "v": WORDS}]}, {"body": WORDS})
    ],
    "librechat": [
        {"conversationId": "c", "messages": [{"messageId": "m", "isCreatedByUser": True} | shape]}
        for shape in ({"text": {"value": WORDS}}, {"content": [{"type": "new", "v": WORDS}]}, {"body": WORDS})
    ],
    "sharegpt": [
        {"conversations": [{"from": "human"} | shape]} for shape in ({"value": {"v": WORDS}}, {"body": [WORDS]})
    ],
    "openai_jsonl": [
        {"messages": [{"role": "user"} | shape]}
        for shape in ({"content": {"v": WORDS}}, {"content": [{"type": "new", "v": WORDS}]}, {"body": WORDS})
    ],
    "telegram": [{"id": 1, "name": "x", "messages": [{"id": 1, "type": "message", "from": "A", "text": {"v": WORDS}}]}],
    "slack": [[{"type": "message", "user": "U", "ts": "1700000000.000100", "text": {"v": WORDS}}]],
    "meta": [{"participants": [], "messages": [{"sender_name": "A", "timestamp_ms": 1, "content": {"v": WORDS}}]}],
    "google_chat": [{"messages": [{"creator": {"name": "A"}, "topic_id": "t", "text": [WORDS]}]}],
    "signal": [{"date": "2025-03-01T09:00:00", "sender": "A", "body": {"v": WORDS}}],
}


@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name, shapes in SHAPES.items() for shape in shapes])
def test_the_words_of_an_unknown_shape_are_kept(read, name: str, shape: Any) -> None:
    reading = read(json.dumps(shape), forced=name)
    assert any(WORDS in text for text in reading.texts), reading
    kept = [message for message in reading.messages if WORDS in message.text]
    assert {message.role for message in kept} == {"user"}
    known = reading.texts == [WORDS] and not reading.notes
    assert known or any(unknown_text.NOTE in note.message for note in reading.notes)


@pytest.mark.parametrize("content", [None, 5, [], {}, [{"type": "new"}], {"id": "1f0e"}])
@pytest.mark.parametrize("name", ["claude_code", "codex", "gemini_cli", "openai_jsonl", "chatgpt"])
def test_a_record_without_any_text_is_reported(read, name: str, content: Any) -> None:
    record = {
        "claude_code": claude_code(content),
        "codex": {"type": "response_item", "payload": {"type": "message", "role": "user", "content": content}},
        "gemini_cli": {"sessionId": "s", "startTime": "x", "messages": [{"type": "user", "content": content}]},
        "openai_jsonl": {"messages": [{"role": "user", "content": content}]},
        "chatgpt": chatgpt(content),
    }[name]
    reading = read(json.dumps(record), forced=name)
    assert reading.messages == []
    assert any("the file holds no messages" not in entry.message for entry in reading.notes + reading.problems)


def test_what_describes_a_record_is_not_its_text() -> None:
    record = {
        "id": "m1", "role": "user", "createdAt": "2025-01-01", "modelSlug": "x-1", "usage": {"note": "cheap"},
        "thing": {"uuid": "7c9e6679-7425-40de-944b-e07fc1f90ae7", "deep": [{"w": "one"}, "two", 3, None]},
        "data": "QUJD" * 40,
    }  # fmt: skip
    assert list(unknown_text.strings_of(record)) == ["one", "two"]


def test_a_record_without_a_speaker_and_with_words_under_an_unknown_key(read) -> None:
    messages = [{"id": "1", "type": "user", "content": "hi"}, {"id": "2", "type": None, "utterance": WORDS}]
    reading = read(json.dumps({"sessionId": "s", "startTime": "2025-01-01T00:00:00Z", "messages": messages}))
    assert list(zip(reading.roles, reading.texts, strict=True)) == [("user", "hi"), ("system", WORDS)]
    assert reading.problems[0].message == "unknown type ''; imported as system"


@pytest.mark.parametrize("words", ["b", WORDS])
def test_an_agents_record_with_the_speaker_null_is_kept_as_system(read, words: str) -> None:
    lines = [
        {"role": "user", "message_id": "m0", "content": "a"},
        {"role": None, "message_id": "m1", "utterance": words},
    ]
    for text in ("".join(json.dumps(one) + "\n" for one in lines), json.dumps([{"messages": lines}])):
        reading = read(text, forced="agents")
        assert list(zip(reading.roles, reading.texts, strict=True)) == [("user", "a"), ("system", words)]
        assert [one.message for one in reading.problems] == ["the role is missing or unknown; imported as system"]


def test_a_record_of_a_list_of_messages_with_a_sentence_and_no_speaker_is_named(read) -> None:
    said = {"role": "assistant", "content": "c"}
    reading = read(json.dumps([{"messages": [{"kind": None, "remark": WORDS}, said]}]), forced="agents")
    assert reading.texts == ["c"]
    (note,) = reading.notes
    assert (note.where, note.message) == ("message 1", "the record has text and no known speaker; left out")
