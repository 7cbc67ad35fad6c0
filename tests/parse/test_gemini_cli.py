"""Gemini CLI: sessions as JSON, logs that say again what has changed, checkpoints."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest

from appliance.formats import parser_of
from appliance.formats.base import Document
from appliance.types import MessageRecord

HEADER = {
    "sessionId": "6d0e3c6a-0000-4000-8000-000000000001",
    "projectHash": "ab12",
    "startTime": "2026-03-01T09:00:00.000Z",
    "lastUpdated": "2026-03-01T09:05:00.000Z",
}


def message(key: str, kind: str, content: object, **more: object) -> dict:
    return {"id": key, "timestamp": f"2026-03-01T09:00:0{key[-1]}.000Z", "type": kind, "content": content} | more


CALL = {
    "id": "read-7",
    "name": "read_file",
    "args": {"file_path": "boats.md"},
    "status": "success",
    "result": [{"functionResponse": {"id": "read-7", "name": "read_file", "response": {"output": "Ana, Bea"}}}],
}
TALK = [
    message("m1", "user", [{"text": "Who owns"}, {"text": "the boats?"}]),
    message("m2", "gemini", "", thoughts=[{"subject": "Look", "description": "In the file."}], toolCalls=[CALL]),
    message("m3", "gemini", "Ana and Bea.", model="gemini-x"),
    message("m4", "info", "Request cancelled."),
]


def test_a_session(read):
    got = read(json.dumps(HEADER | {"messages": TALK, "summary": "Boats"}, indent=2), "session-1.json")
    assert got.format == "gemini_cli"
    assert [(s.external_id, s.title, s.created_at) for s in got.sessions] == [
        (HEADER["sessionId"], "Boats", datetime(2026, 3, 1, 9, tzinfo=UTC))
    ]
    assert [(m.role, m.text, m.external_id) for m in got.messages] == [
        ("user", "Who owns\nthe boats?", "m1"),
        ("tool", "Look\nIn the file.", "m2-thoughts"),
        ("tool", "read_file\nfile_path: boats.md", "m2-call-read-7"),
        ("tool", "Ana, Bea", "m2-result-read-7"),
        ("assistant", "Ana and Bea.", "m3"),
        ("system", "Request cancelled.", "m4"),
    ]
    assert got.messages[2].metadata == {"tools": [{"kind": "call", "name": "read_file"}], "files": ["boats.md"]}
    assert got.messages[3].metadata == {"tools": [{"kind": "result", "name": "read_file"}]}
    assert got.messages[4].metadata == {"model": "gemini-x"}
    assert got.problems == got.notes == []


def lines(*records: dict) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_a_log_tells_the_last_state_of_a_message_once(read):
    waiting = TALK[1] | {"toolCalls": [{k: v for k, v in CALL.items() if k != "result"}]}
    told = lines(HEADER, TALK[0], waiting, {"$set": {"summary": "Boats"}}, TALK[1], TALK[2])
    got = read(told, "session-1.jsonl")
    whole = read(json.dumps(HEADER | {"messages": TALK[:3], "summary": "Boats"}))
    assert [(m.external_id, m.role, m.text) for m in got.messages] == [
        (m.external_id, m.role, m.text) for m in whole.messages
    ]
    assert got.sessions == whole.sessions
    earlier = read(lines(HEADER, TALK[0], waiting))
    assert {m.external_id for m in earlier.messages} < {m.external_id for m in got.messages}


def test_what_was_taken_back_is_a_side_branch(read):
    got = read(
        lines(
            HEADER,
            message("m1", "user", "Hello."),
            message("m2", "user", "Red sails."),
            message("m3", "gemini", "Red it is."),
            {"$rewindTo": "m2"},
            message("m4", "user", "White sails."),
        )
    )
    assert [(m.text, m.metadata.get("branch", False)) for m in got.messages] == [
        ("Hello.", False),
        ("Red sails.", True),
        ("Red it is.", True),
        ("White sails.", False),
    ]


def test_a_compressed_context_does_not_unsay_what_was_said(read):
    got = read(lines(HEADER, *TALK[:1], {"$set": {"messages": [TALK[2]]}}))
    assert got.texts == ["Who owns\nthe boats?", "Ana and Bea."]


def test_an_open_session_is_no_error_and_a_cut_off_file_is(read):
    whole = lines(HEADER, *TALK).encode()
    before = 0
    for cut in range(len(json.dumps(HEADER)) + 1, len(whole), 11):
        got = read(whole[:cut], forced="gemini_cli")
        assert got.problems == []
        assert len(got.messages) >= before
        before = len(got.messages)
    for indent in (None, 2):
        data = json.dumps(HEADER | {"messages": TALK}, indent=indent).encode()
        cut = data.index(b"Request cancelled")
        got = read(data[:cut])
        assert got.texts[-1] == "Ana and Bea."
        assert got.problems
        for cut in range(60, len(data), 50):
            read(data[:cut], forced="gemini_cli")


def test_a_damaged_record_of_a_list_is_named_and_not_read_by_half(read):
    records = [json.dumps(record) for record in (HEADER, message("m1", "user", "Whole"), message("m2", "user", "Half"))]
    records[2] = records[2].replace('{"', '{lost, "', 1)
    got = read("[\n" + ",\n".join([*records, json.dumps(message("m3", "user", "Whole, too"))]) + "\n]")
    assert got.texts == ["Whole", "Whole, too"]
    assert [problem.message for problem in got.problems] == [
        "the record is not valid JSON; its undamaged parts were kept",
        "the message is damaged or cut off; skipped",
    ]


def test_what_the_person_typed_and_what_the_model_got(read):
    got = read(lines(HEADER, message("m1", "user", "Sum up @a.md\n--- a.md ---\nx", displayContent="Sum up @a.md")))
    assert [(m.role, m.text, m.metadata) for m in got.messages] == [
        ("user", "Sum up @a.md", {}),
        ("system", "Sum up @a.md\n--- a.md ---\nx", {"hidden": True}),
    ]


def test_checkpoints_and_the_old_history(read):
    history = [
        {"role": "user", "parts": [{"text": "This is the Gemini CLI. We are setting up the context for our chat."}]},
        {"role": "user", "parts": [{"text": "Ahoy"}, {"inlineData": {"mimeType": "image/png", "data": "x"}}]},
        {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": "Ahoy!"}], "ts": 1772355600},
        {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {"path": "/"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a"}}}]},
    ]
    for data in (history, {"history": history}):
        got = read(json.dumps(data), "x/.gemini/checkpoint-a.json")
        assert got.format == "gemini_cli"
        assert [(m.role, m.text) for m in got.messages[1:]] == [
            ("user", "Ahoy"), ("tool", "Hm."), ("assistant", "Ahoy!"), ("tool", "ls\npath: /"), ("tool", "a"),
        ]  # fmt: skip
        assert got.messages[0].metadata == {"hidden": True}
        assert got.messages[1].metadata == {"attachments": [{"name": "image/png"}]}
        assert got.messages[3].sent_at == datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize("wrong", [None, 7, "x", [], {}, [[]], {"content": 3}, True])
def test_wrong_types_at_every_key_cost_only_their_place(wrong):
    broken = [TALK[1] | {key: wrong} for key in TALK[1]] + [TALK[1] | {"toolCalls": [CALL | {k: wrong}]} for k in CALL]
    broken += [message("m5", "user", [wrong, {"text": wrong}]), {"$set": wrong}, {"$set": {"messages": wrong}}]
    for value in broken:
        for data in (lines(HEADER, value, TALK[2]), json.dumps(HEADER | {"messages": [value, wrong, TALK[2]]})):
            raw = data.encode()
            document = Document("x", len(raw), lambda raw=raw: io.BytesIO(raw))
            records = list(parser_of("gemini_cli").parse(document))
            assert [r.text for r in records if isinstance(r, MessageRecord)][-1] == "Ana and Bea."


def test_collected_samples(read, exports):
    base = exports / "gemini_cli"
    expected = {
        "agent-sessions__small.json": [
            ("user", "Hello"), ("tool", "Short reasoning placeholder."), ("assistant", "Hi!"),
        ],
        "agentsview__standard_session.json": [
            ("user", "Fix the login bug"), ("assistant", "Looking at the auth module..."),
            ("user", "That looks right"), ("assistant", "Applied the fix."),
        ],
        "agentsview__thinking_only.json": [
            ("user", "Explain how this works"),
            ("tool", "Understanding request\nThe user wants an explanation of the system.\n\n"
             "Planning response\nI should describe the config loading flow."),
            ("assistant", "Here is how it works: the system reads the config file on startup."),
        ],
        "agentsview__tool_calls.json": [
            ("user", "Read this file"), ("tool", "Planning\nI need to read the file first."),
            ("assistant", "Let me read it."), ("tool", "read_file\nfile_path: main.go"),
        ],
    }  # fmt: skip
    for name, said in expected.items():
        got = read(base / name)
        assert (got.format, list(zip(got.roles, got.texts, strict=True))) == ("gemini_cli", said)
        assert len(got.sessions) == 1
        assert got.problems == got.notes == []
    assert got.messages[0].sent_at == datetime(2024, 1, 1, 10, tzinfo=UTC)
