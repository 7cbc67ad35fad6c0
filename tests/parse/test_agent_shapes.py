"""Agents that are read by the shape of their records: who spoke, what, and when, in files, trees and databases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.parse.agent_files import (
    ANSWER,
    QUESTION,
    SECONDS,
    START,
    TALK,
    goose_request,
    goose_response,
    lines,
    read_folder,
    write,
)

# The name of a file, its text, and the messages (role and text) that it holds, all of them with a time.
FILES = {
    "goose": (
        "sessions/20260105_080000.jsonl",
        lines(
            {"working_dir": "/home/ines/boats", "description": "Free piers", "message_count": 4, "total_tokens": 9},
            {"role": "user", "created": SECONDS, "content": [{"type": "text", "text": QUESTION}]},
            {"role": "assistant", "created": SECONDS + 1, "content": [goose_request("shell", {"command": "ls"})]},
            {"role": "user", "created": SECONDS + 2, "content": [goose_response("north\nsouth")]},
            {"role": "assistant", "created": SECONDS + 3, "content": [{"type": "text", "text": ANSWER}]},
        ),
        [TALK[0], ("tool", "shell\ncommand: ls"), ("tool", "north\nsouth"), TALK[1]],
    ),
    "jan": (
        "threads/th1/messages.jsonl",
        lines(
            *(
                {
                    "type": "text", "id": f"m{n}", "object": "thread.message", "thread_id": "th1", "role": role,
                    "created_at": (SECONDS + n) * 1000, "completed_at": 0, "status": "ready",
                    "content": [{"type": "text", "text": {"value": text, "annotations": []}}],
                }
                for n, (role, text) in enumerate(TALK)
            )
        ),
        TALK,
    ),
    "amp": (
        "threads/T-1.json",
        json.dumps(
            {
                "v": 3, "id": "T-1", "created": SECONDS * 1000, "title": "Free piers",
                "messages": [
                    {
                        "role": "user", "messageId": 0, "meta": {"sentAt": SECONDS * 1000},
                        "content": [{"type": "text", "text": QUESTION}],
                    },
                    {
                        "role": "assistant", "messageId": 1, "usage": {"timestamp": "2026-01-05T08:00:05Z"},
                        "content": [
                            {"type": "thinking", "thinking": "Look."},
                            {"type": "tool_use", "id": "c1", "name": "Read", "input": {"path": "piers"}},
                        ],
                    },
                    {
                        "role": "user", "messageId": 2, "meta": {"sentAt": (SECONDS + 6) * 1000},
                        "content": [
                            {"type": "tool_result", "toolUseID": "c1", "run": {"status": "done", "result": "north"}}
                        ],
                    },
                    {
                        "role": "assistant", "messageId": 3, "usage": {"timestamp": "2026-01-05T08:00:09Z"},
                        "content": [{"type": "text", "text": ANSWER}],
                    },
                ],
            }
        ),
        [TALK[0], ("tool", "Look."), ("tool", "Read\npath: piers"), ("tool", "north"), TALK[1]],
    ),
    "flat text": (
        "thread.json",
        json.dumps(
            {
                "id": "t1",
                "messages": [
                    {"role": "user", "text": QUESTION, "createdAt": SECONDS * 1000},
                    {"role": "assistant", "text": ANSWER, "createdAt": SECONDS * 1000 + 5},
                ],
            }
        ),
        TALK,
    ),
    "types instead of roles": (
        "log.jsonl",
        lines(
            {"type": "human", "ts": SECONDS * 10**9, "text": QUESTION},
            {"kind": "ai", "time": "2026-01-05T08:00:01Z", "value": ANSWER},
        ),
        TALK,
    ),
    "author and nested time": (
        "log.jsonl",
        lines(
            {"author": {"role": "user"}, "body": QUESTION, "time": {"created": SECONDS * 1000}},
            {"author": {"role": "assistant"}, "body": ANSWER, "time": {"start": SECONDS * 1000 + 9}},
        ),
        TALK,
    ),
    "continue": (
        "sessions/s1.json",
        json.dumps(
            {
                "sessionId": "s1", "title": "Free piers", "workspaceDirectory": "/home/ines/boats",
                "dateCreated": str(SECONDS * 1000),
                "history": [
                    {"message": {"role": "user", "content": QUESTION, "id": "a"}, "contextItems": []},
                    {"message": {"role": "assistant", "content": ANSWER, "id": "b"}, "contextItems": []},
                ],
            }
        ),
        TALK,
    ),
    "copilot events without data": (
        "events.jsonl",
        lines(
            {"session_id": "c1", "type": "user.message", "prompt": QUESTION, "timestamp": SECONDS * 1000},
            {"session_id": "c1", "type": "assistant.message", "output": ANSWER, "timestamp": SECONDS * 1000 + 1},
        ),
        TALK,
    ),
    "copilot history": (
        "history.json",
        json.dumps(
            {
                "history": [
                    {"role": "human", "content": QUESTION, "time": SECONDS * 1000},
                    {"role": "assistant", "result": ANSWER, "time": SECONDS * 1000 + 1},
                ],
                "workspacePath": "/home/ines/boats",
            }
        ),
        TALK,
    ),
    "copilot in an editor": (
        "chatSessions/s1.json",
        json.dumps(
            {
                "version": 3, "sessionId": "s1", "creationDate": SECONDS * 1000,
                "requests": [
                    {
                        "requestId": "r1", "timestamp": SECONDS * 1000, "message": {"text": QUESTION, "parts": []},
                        "response": [{"value": "The northern "}, {"kind": "inlineReference"}, {"value": "one."}],
                    }
                ],
            }
        ),
        TALK,
    ),
    "kimi, earlier": (
        "wire.jsonl",
        lines(
            {"type": "metadata", "protocol_version": "1.3"},
            {
                "timestamp": SECONDS + 0.5,
                "message": {"type": "TurnBegin", "payload": {"user_input": [{"type": "text", "text": QUESTION}]}},
            },
            {
                "timestamp": SECONDS + 1.5,
                "message": {"type": "ContentPart", "payload": {"type": "think", "think": "Look."}},
            },
            {
                "timestamp": SECONDS + 2.5,
                "message": {
                    "type": "ToolCall",
                    "payload": {"type": "function", "id": "c1", "function": {"name": "Glob", "arguments": '{"p": 1}'}},
                },
            },
            {
                "timestamp": SECONDS + 3.5,
                "message": {
                    "type": "ToolResult",
                    "payload": {"tool_call_id": "c1", "return_value": {"is_error": False, "output": "north"}},
                },
            },
            {
                "timestamp": SECONDS + 4.5,
                "message": {"type": "ContentPart", "payload": {"type": "text", "text": ANSWER}},
            },
            {"timestamp": SECONDS + 5.5, "message": {"type": "TurnEnd", "payload": {}}},
        ),
        [TALK[0], ("tool", "Look."), ("tool", "Glob\np: 1"), ("tool", "north"), TALK[1]],
    ),
    "crush, exported": (
        "crush.json",
        json.dumps(
            {
                "id": "c1", "title": "Free piers",
                "messages": [
                    {
                        "id": "a", "role": "user", "created_at": SECONDS,
                        "parts": [{"type": "text", "data": {"text": QUESTION}}],
                    },
                    {
                        "id": "b", "role": "assistant", "created_at": SECONDS + 1,
                        "parts": [
                            {"type": "reasoning", "data": {"thinking": "Look."}},
                            {"type": "tool_call", "data": {"id": "k", "name": "ls", "input": '{"path": "."}'}},
                            {"type": "finish", "data": {"reason": "tool_use"}},
                        ],
                    },
                    {
                        "id": "c", "role": "tool", "created_at": SECONDS + 2,
                        "parts": [{"type": "tool_result", "data": {"tool_call_id": "k", "name": "ls", "content": "n"}}],
                    },
                    {
                        "id": "d", "role": "assistant", "created_at": SECONDS + 3,
                        "parts": [{"type": "text", "data": {"text": ANSWER}}],
                    },
                ],
            }
        ),
        [TALK[0], ("tool", "Look."), ("tool", "ls\npath: ."), ("tool", "n"), TALK[1]],
    ),
    "several sessions in one file": (
        "all.json",
        json.dumps(
            {
                "sessions": [
                    {
                        "id": name,
                        "turns": [{"speaker": role, "text": text, "ts": SECONDS} for role, text in TALK],
                    }
                    for name in ("s1", "s2")
                ]
            }
        ),
        TALK * 2,
    ),
    "prompts and answers in pairs": (
        "kiro.json",
        json.dumps(
            {
                "conversation_id": "k1",
                "history": [
                    {
                        "user": {"content": {"Prompt": {"prompt": "List."}}, "timestamp": "2026-01-05T08:00:00Z"},
                        "assistant": {
                            "ToolUse": {
                                "message_id": "t", "content": "I list.",
                                "tool_uses": [{"id": "k", "name": "fs_read", "args": {"path": "."}}],
                            }
                        },
                    },
                    {
                        "user": {
                            "content": {"ToolUseResults": {"tool_use_results": [{"tool_use_id": "k", "content": "n"}]}},
                            "timestamp": "2026-01-05T08:00:01Z",
                        },
                        "assistant": {"Response": {"message_id": "r", "content": "Done."}},
                    },
                    {
                        "user": {"content": {"Prompt": {"prompt": QUESTION}}, "timestamp": "2026-01-05T08:00:00Z"},
                        "assistant": {"Response": {"message_id": "a", "content": ANSWER}},
                        "request_metadata": {"request_start_timestamp_ms": SECONDS * 1000},
                    }
                ],
                "created_at": SECONDS,
            }
        ),
        [
            ("user", "List."), ("assistant", "I list."), ("tool", "fs_read\npath: ."), ("tool", "n"),
            ("assistant", "Done."), *TALK,
        ],
    ),
    "pairs, one a line": (
        "pairs.jsonl",
        lines(
            {"user": QUESTION, "assistant": ANSWER, "ts": SECONDS},
            {"user": "And now?", "ai": "Free.", "ts": SECONDS},
        ),
        [*TALK, ("user", "And now?"), ("assistant", "Free.")],
    ),
    "types of records": (
        "events.jsonl",
        lines(
            {"session_id": "c1", "type": "userPromptSubmitted", "prompt": QUESTION, "timestamp": SECONDS * 1000},
            {"type": "assistant_response", "result": ANSWER, "timestamp": SECONDS * 1000},
        ),
        TALK,
    ),
    "other records between": (
        "context.jsonl",
        lines(
            {"role": "user", "content": QUESTION, "timestamp": SECONDS},
            {"role": "_checkpoint", "id": 0},
            {"role": "assistant", "content": ANSWER, "timestamp": SECONDS},
        ),
        TALK,
    ),
    "keys of native JSONL, content in parts": (
        "log.jsonl",
        lines(
            {"session_id": "s", "role": "user", "content": [{"type": "text", "text": QUESTION}], "ts": SECONDS},
            {"session_id": "s", "role": "assistant", "content": [{"type": "text", "text": ANSWER}], "ts": SECONDS},
        ),
        TALK,
    ),
    "tools by name": (
        "log.jsonl",
        lines(
            {"role": "user", "content": QUESTION, "ts": SECONDS},
            {
                "role": "tool", "tool_name": "Grep", "tool_input": {"pattern": "pier"}, "tool_output": "north",
                "ts": SECONDS + 1,
            },
            {"role": "assistant", "content": ANSWER, "ts": SECONDS + 2},
        ),
        [TALK[0], ("tool", "Grep\npattern: pier"), ("tool", "north"), TALK[1]],
    ),
}  # fmt: skip


def said(got) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in got.messages]


@pytest.mark.parametrize("name", FILES)
def test_a_program_is_read_by_the_shape_of_its_records(read, name):
    file, text, expected = FILES[name]
    got = read(text, name=f"export/{name}/{file}")
    assert got.format == "agents"
    assert said(got) == expected
    assert got.problems == []
    for message in got.messages:
        sent = message.sent_at or got.sessions[0].created_at
        assert sent is not None and sent.date() == START.date()


def test_what_else_a_file_tells(read):
    got = read(FILES["goose"][1], name="sessions/20260105_080000.jsonl")
    (session,) = got.sessions
    assert (session.title, session.metadata) == ("Free piers", {"folder": "/home/ines/boats"})
    call, result = got.messages[1:3]
    assert (call.metadata["tools"], result.metadata["tools"]) == (
        [{"kind": "call", "name": "shell"}],
        [{"kind": "result", "name": "shell"}],
    )
    (session,) = read(FILES["amp"][1], name="T-1.json").sessions
    assert (session.external_id, session.title, session.created_at) == ("T-1", "Free piers", START)
    (session,) = read(FILES["continue"][1], name="s1.json").sessions
    assert (session.external_id, session.created_at) == ("s1", START)
    assert {s.external_id for s in read(FILES["several sessions in one file"][1]).sessions} == {"s1", "s2"}
    assert read(FILES["copilot in an editor"][1]).messages[0].external_id == "r1"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"name": "pier", "version": "1.0.0", "scripts": {"test": "ls"}}),
        json.dumps({"users": [{"role": "user", "name": "Ana"}, {"role": "admin", "name": "Ben"}]}),
        json.dumps([{"type": "user", "name": "Ana", "id": 3}, {"type": "user", "name": "Ben", "id": 4}]),
        json.dumps({"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"text": "x"}}]}),
        json.dumps({"messages": [{"id": "greeting", "text": "Hello"}, {"id": "bye", "text": "Bye"}]}),
        json.dumps({"rules": [{"kind": "tool", "value": "hammer"}], "model": "x"}),
        lines({"level": "info", "msg": "started", "time": SECONDS}, {"level": "error", "msg": "x", "time": SECONDS}),
        json.dumps({"history": [{"date": "2026-01-05", "text": "opened"}]}),
    ],
)
def test_other_files_are_none(text):
    from appliance.formats import agents
    from appliance.formats.base import DocumentHead

    assert agents.matches(DocumentHead("folder/file.json", text, False)) < 0.5


def test_titles_and_times_beside_the_messages(tmp_path: Path):
    folder = tmp_path / "threads" / "th1"
    folder.mkdir(parents=True)
    (folder / "messages.jsonl").write_text(FILES["jan"][1], encoding="utf-8")
    thread = {"id": "th1", "object": "thread", "title": "Free piers", "created": SECONDS - 100, "assistants": []}
    (folder / "thread.json").write_text(json.dumps(thread), encoding="utf-8")
    sessions, messages, problems = read_folder(tmp_path)
    assert [(s.external_id, s.title, s.created_at.timestamp()) for s in sessions] == [
        ("th1", "Free piers", SECONDS - 100)
    ]
    assert [(m.role, m.text) for m in messages] == TALK
    assert problems == []


def shown(kind: str, text: str, n: int, **more: object) -> dict:
    asks = kind in ("followup", "command")
    return {
        "ts": SECONDS * 1000 + n,
        "type": "ask" if asks else "say",
        ("ask" if asks else "say"): kind,
        "text": text,
        **more,
    }


TASK = {
    "tasks/1767600000000/ui_messages.json": [
        shown("text", QUESTION, 0),
        shown("api_req_started", '{"request": "x"}', 1),
        shown("reasoning", "Look.", 2),
        shown("tool", '{"tool": "listFiles", "path": "piers"}', 3),
        shown("text", "half", 4, partial=True),
        shown("command", "ls", 5),
        shown("command_output", "north", 6),
        shown("followup", '{"question": "Near the town?", "options": []}', 7),
        shown("user_feedback", "Yes.", 8),
        shown("error", "Timeout", 9),
        shown("completion_result", ANSWER, 10),
    ],
    "tasks/1767600000000/api_conversation_history.json": [
        {"role": "user", "content": [{"type": "text", "text": f"<task>\n{QUESTION}\n</task>"}]},
        {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
    ],
    "tasks/1767600000000/task_metadata.json": {"title": "Free piers"},
}


def test_a_task_of_cline_is_read_from_what_was_shown(tmp_path: Path):
    sessions, messages, problems = read_folder(write(tmp_path, TASK))
    assert [(s.external_id, s.title, s.created_at) for s in sessions] == [("1767600000000", "Free piers", START)]
    assert [(m.role, m.text) for m in messages] == [
        ("user", QUESTION),
        ("tool", "Look."),
        ("tool", "listFiles\npath: piers"),
        ("tool", "command\nls"),
        ("tool", "north"),
        ("assistant", "Near the town?"),
        ("user", "Yes."),
        ("system", "Timeout"),
        ("assistant", ANSWER),
    ]
    assert all(m.sent_at is not None for m in messages)
    assert problems == []


def test_a_task_of_cline_without_what_was_shown(tmp_path: Path):
    sent = "tasks/1767600000000/api_conversation_history.json"
    details = "<environment_details>\n# Files\n</environment_details>"
    conversation = [
        {
            "role": "user",
            "content": [{"type": "text", "text": f"<task>\n{QUESTION}\n</task>"}, {"type": "text", "text": details}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}]},
        {"role": "user", "content": [{"type": "text", "text": "[list_files for 'piers'] Result:\n\nnorth"}]},
        {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
    ]
    sessions, messages, problems = read_folder(write(tmp_path, {sent: conversation}))
    assert [(s.external_id, s.created_at) for s in sessions] == [("1767600000000", START)]
    assert [(m.role, m.text) for m in messages] == [
        ("user", QUESTION),
        ("system", details),
        ("assistant", "I look."),
        ("tool", "[list_files for 'piers'] Result:\n\nnorth"),
        ("assistant", ANSWER),
    ]
    assert problems == []
