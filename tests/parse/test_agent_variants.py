"""Records of agents in the variants that other programs and versions write: nothing of them is dropped in silence."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest

ASKED, SAID = "Which ferry leaves after nine?", "The slow ferry leaves at half past nine."
PAIR = [("user", ASKED), ("assistant", SAID)]
ISO = "2026-02-06T10:30:00Z"
MS = 1770373800000


def lines(*records: dict[str, Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def said(reading) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in reading.messages if m.role in ("user", "assistant")]


def request(text: str, *response: dict[str, Any]) -> dict[str, Any]:
    return {"requestId": "r1", "message": {"text": text}, "timestamp": MS, "response": list(response)}


REFERENCE = {"kind": "inlineReference", "inlineReference": {"path": "/home/ana/timetable.md", "scheme": "file"}}


def journal(*changes: dict[str, Any], requests: Any = ()) -> bytes:
    state = {"version": 3, "sessionId": "s1", "creationDate": MS, "customTitle": "Ferries", "requests": list(requests)}
    return lines({"kind": 0, "v": state}, *changes)


def test_copilots_journal_is_carried_out(read):
    first = request("to be replaced", {"value": "no"})
    changes = (
        {"kind": 2, "k": ["requests"], "v": [request(ASKED, {"value": "It is in "})], "i": 0},
        {"kind": 1, "k": ["inputState", "inputText"], "v": "not sent"},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [REFERENCE, {"value": ": nine."}]},
        {"kind": 1, "k": ["customTitle"], "v": "The ferry"},
        {"kind": 3, "k": ["hasPendingEdits"]},
    )
    reading = read(journal(*changes, requests=[first]), "chatSessions/s1.jsonl")
    assert said(reading) == [("user", ASKED), ("assistant", "It is in `timetable.md`: nine.")]
    assert reading.sessions[0].title == "The ferry"
    assert [problem.where for problem in reading.problems] == ["line 3"]


def test_an_answer_of_copilot_with_its_parts(read):
    response = (
        {"kind": "thinking", "value": "They want to leave."},
        {"kind": "progressMessage", "content": {"value": "Working"}},
        {"value": {"kind": "markdownContent", "content": {"value": "Nine, says "}}},
        {"kind": "inlineReference", "inlineReference": {"name": "leave()", "location": {"uri": {"path": "/a.py"}}}},
        {
            "kind": "toolInvocationSerialized",
            "toolId": "read",
            "toolCallId": "c",
            "pastTenseMessage": {"value": "Read it"},
        },
    )
    reading = read(journal(requests=[request(ASKED, *response)]), "s1.jsonl")
    assert said(reading) == [("user", ASKED), ("assistant", "Nine, says `leave()`")]
    assert [(m.metadata["tools"][0]["kind"], m.text) for m in reading.messages if m.role == "tool"] == [
        ("reasoning", "They want to leave."),
        ("call", "read\nmessage: Read it"),
    ]


def test_words_beside_reasoning_under_another_key(read):
    messages = [
        {"role": "user", "text": ASKED},
        {
            "role": "assistant", "text": SAID, "reasoning": "They want to leave.",
            "tool_calls": [{"action_id": "c", "tool_name": "read", "arguments_json": '{"path": "a"}'}],
        },
        {"role": "tool", "text": None, "tool_results": [{"action_id": "c", "output_preview": "half past nine"}]},
    ]  # fmt: skip
    reading = read(json.dumps({"session_id": "s", "created_at": ISO, "messages": messages}), "session.json")
    assert said(reading) == PAIR
    tools = [m.text for m in reading.messages if m.role == "tool"]
    assert tools == ["They want to leave.", "read\npath: a", "half past nine"]


def test_a_wrapped_message_among_codexs_records(read):
    data = lines(
        {"type": "session_meta", "payload": {"id": "s"}, "timestamp": ISO},
        {"payload": {"role": "user", "content": [{"type": "input_text", "text": ASKED}]}, "timestamp": ISO},
        {"message": {"role": "assistant", "content": [{"type": "text", "text": SAID}]}, "timestamp": ISO},
    )
    assert said(read(data, "session.jsonl")) == PAIR


def test_a_payload_of_another_program_is_not_codexs(read):
    data = lines(
        {"type": "message", "id": "1", "payload": {"role": "user", "content": ASKED}, "timestamp": ISO},
        {"type": "message", "id": "2", "message": {"role": "assistant", "content": SAID}, "timestamp": ISO},
    )
    reading = read(data, "upload.jsonl")
    assert (reading.format, said(reading)) == ("agents", PAIR)


def test_times_within_copilots_events(read):
    data = lines(
        {"type": "session.start", "data": {"sessionId": "s"}},
        {"type": "user.message", "data": {"content": ASKED, "timestamp": ISO}},
        {"type": "assistant.message", "data": {"content": SAID, "timestamp": ISO}},
    )
    reading = read(data, "events.jsonl")
    assert said(reading) == PAIR
    assert all(m.sent_at is not None for m in reading.messages)


@pytest.mark.parametrize("with_types", [True, False])
def test_what_cline_showed_with_and_without_types(read, with_types):
    records = [{"say": "task", "text": ASKED}, {"say": "text", "text": SAID}]
    if with_types:
        records = [record | {"type": "say", "ts": MS} for record in records]
    assert said(read(json.dumps(records), "task.json")) == PAIR


def test_a_speaker_without_a_known_word_answers_the_person(read):
    messages = [{"author": "human", "text": ASKED}, {"author": "claude_2", "text": SAID}]
    assert said(read(json.dumps({"title": "Ferries", "messages": messages}), "bot.json")) == PAIR


def test_prompts_and_answers_in_pairs(read):
    history = [[{"content": {"Prompt": {"prompt": ASKED}}}, {"Response": {"message_id": "m", "content": SAID}}]]
    assert said(read(json.dumps({"conversation_id": "q", "history": history}), "q.json")) == PAIR


def test_a_systems_prompt_beside_the_messages(read):
    messages = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": SAID, "finish_reason": "stop"}]
    session = {"session_id": "s", "session_start": ISO, "system_prompt": "Be short.", "messages": messages}
    reading = read(json.dumps(session), "session_s.json")
    assert said(reading) == PAIR
    assert [(m.text, m.metadata["hidden"]) for m in reading.messages if m.role == "system"] == [("Be short.", True)]


def test_a_call_and_its_result_in_an_exported_part(read):
    part = {"type": "tool", "id": "c", "name": "read", "input": {"path": "a"}, "output": "half past nine"}
    messages = [
        {"info": {"id": "m1", "role": "user", "time": {"created": MS}}, "parts": [{"type": "text", "text": ASKED}]},
        {"info": {"id": "m2", "role": "assistant"}, "parts": [part, {"type": "text", "text": SAID}]},
    ]
    reading = read(json.dumps({"info": {"id": "s"}, "messages": messages}), "export.json")
    assert said(reading) == PAIR
    assert [m.text for m in reading.messages if m.role == "tool"] == ["read\npath: a", "half past nine"]


def test_a_result_in_another_programs_shape(read):
    result = {"callId": "c", "responseParts": {"functionResponse": {"response": {"output": "half past nine"}}}}
    data = lines(
        {
            "type": "user", "uuid": "u1", "sessionId": "s", "timestamp": ISO,
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": result}]},
        }
    )  # fmt: skip
    assert "half past nine" in read(data, "session.jsonl", "claude_code").texts[0]


def test_claudes_conversations_within_an_object(read):
    message = {"uuid": "m", "sender": "human", "text": ASKED, "created_at": ISO}
    attached = message | {"uuid": "n", "attachments": [{"file_name": "a.txt", "extracted_content": "half past nine"}]}
    conversation = {"uuid": "c", "name": "Ferries", "chat_messages": [message, attached]}
    reading = read(json.dumps({"conversations": [conversation]}), "conversations.json")
    assert reading.format == "claude"
    assert "half past nine" in reading.texts[1]


def test_a_time_within_the_content_of_a_turn(read):
    turn = {"role": "user", "uuid": "m", "content": {"role": "user", "content": ASKED, "timestamp": ISO}}
    reading = read(json.dumps({"uuid": "c", "messages": [turn]}), "design.json")
    assert reading.texts == [ASKED] and reading.messages[0].sent_at is not None


def test_opencodes_files_tell_by_their_place(tmp_path):
    from appliance.ingest import sources
    from appliance.types import MessageRecord

    files = {
        "session/p/s1.json": {"id": "s1", "directory": "/home/ana"},
        "message/s1/m1.json": {"id": "m1", "role": "user", "time": {"created": MS}},
        "message/s1/m2.json": {"id": "m2", "role": "assistant", "createdAt": ISO},
        "part/m1/p.json": {"id": "p1", "type": "text", "text": ASKED},
        "part/m2/p.json": {"id": "p2", "type": "text", "text": SAID},
    }
    for name, value in files.items():
        path = tmp_path / "storage" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    found = [
        record
        for item in sources.detect_documents([tmp_path])
        if isinstance(item, sources.DetectedDocument)
        for record in item.parser.parse(item.document)
    ]
    assert [(m.session, m.text) for m in found if isinstance(m, MessageRecord)] == [("s1", ASKED), ("s1", SAID)]


HISTORY = {
    "history": [
        {
            "user": {"content": {"Prompt": {"prompt": ASKED}}, "timestamp": ISO},
            "assistant": {"Response": {"content": SAID}},
        }
    ]
}
DATABASES = {
    "kiro": (
        "CREATE TABLE conversations_v2 (key TEXT, conversation_id TEXT, value TEXT, created_at INTEGER);",
        [("INSERT INTO conversations_v2 VALUES ('/home/ana', 'k', ?, ?)", (json.dumps(HISTORY), MS))],
    ),
    "llm": (
        "CREATE TABLE conversations (id TEXT, name TEXT, model TEXT);"
        "CREATE TABLE responses (id TEXT, model TEXT, prompt TEXT, system TEXT, response TEXT, conversation_id TEXT,"
        " datetime_utc TEXT);",
        [
            ("INSERT INTO conversations VALUES ('k', 'Ferries', 'm')", ()),
            ("INSERT INTO responses VALUES ('r', 'm', ?, NULL, ?, 'k', '2026-02-06T10:30:00.1')", (ASKED, SAID)),
        ],
    ),
    "ollama": (
        "CREATE TABLE chats (id TEXT, title TEXT, created_at TIMESTAMP); CREATE TABLE tool_calls (id INTEGER);"
        "CREATE TABLE messages (id INTEGER, chat_id TEXT, role TEXT, content TEXT, thinking TEXT, created_at TEXT);",
        [
            ("INSERT INTO chats VALUES ('k', 'Ferries', '2026-02-06 10:30:00')", ()),
            ("INSERT INTO messages VALUES (1, 'k', 'user', ?, '', '2026-02-06 10:30:00')", (ASKED,)),
            ("INSERT INTO messages VALUES (2, 'k', 'assistant', ?, 'Ferries.', '2026-02-06 10:30:05')", (SAID,)),
        ],
    ),
}


@pytest.mark.parametrize("name", DATABASES)
def test_databases_of_local_programs(read, tmp_path, name):
    schema, inserts = DATABASES[name]
    with sqlite3.connect(tmp_path / "data.db") as connection:
        connection.executescript(schema)
        for statement, values in inserts:
            connection.execute(statement, values)
    connection.close()
    reading = read(tmp_path / "data.db")
    assert said(reading) == PAIR
    assert reading.sessions[0].external_id == "k" and reading.messages[0].sent_at is not None
    assert [m.text for m in reading.messages if m.role == "tool"] == (["Ferries."] if name == "ollama" else [])


def test_speakers_that_are_named_as_on_a_page(read):
    turns = [{"speaker": "You", "message": ASKED}, {"speaker": "ChatGPT", "message": SAID}]
    assert said(read(json.dumps({"conversation": {"turns": turns}}), "chat.json")) == PAIR


def test_other_words_in_claude_codes_records(read):
    data = lines(
        {"type": "human", "uuid": "a", "sessionId": "s", "timestamp": ISO, "message": {"content": ASKED}},
        {"type": "tool_call", "uuid": "b", "sessionId": "s", "message": {"tool": "Read", "content": "timetable.md"}},
        {"type": "assistant", "uuid": "c", "sessionId": "s", "timestamp": ISO, "message": {"content": SAID}},
    )
    reading = read(data, ".claude/projects/p/s.jsonl")
    assert said(reading) == PAIR
    assert [(m.author, m.text) for m in reading.messages if m.role == "tool"] == [("Read", "timetable.md")]
    assert not reading.problems


def test_a_tools_record_without_a_speaker(read):
    data = lines(
        {"role": "user", "content": ASKED, "created_at": ISO, "mode": "ask"},
        {"tool": "grep", "arguments": {"pattern": "nine"}, "observation": "half past nine"},
        {"role": "assistant", "content": SAID, "mode": "ask"},
    )
    reading = read(data, "session.jsonl")
    assert said(reading) == PAIR
    assert [m.text for m in reading.messages if m.role == "tool"] == ["grep\npattern: nine", "half past nine"]
