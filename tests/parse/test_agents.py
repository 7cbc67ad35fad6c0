"""Logs of other coding agents: each dialect's words, tools, order and ids."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest

from appliance.formats import agent_tasks, parser_of
from appliance.formats.base import Document
from appliance.types import MessageRecord

UUID = "5f0c1d7e-0000-4000-8000-00000000000a"


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def said(got) -> list[tuple[str, str]]:
    return list(zip(got.roles, got.texts, strict=True))


def text(words: str) -> list[dict]:
    return [{"type": "text", "text": words}]


SETTINGS = "<USER_SETTINGS_CHANGE>\nx\n</USER_SETTINGS_CHANGE>"
ANTIGRAVITY = [
    {"step_index": 0, "source": "USER_EXPLICIT", "type": "USER_INPUT", "status": "DONE",
     "created_at": "2026-03-01T09:00:00Z",
     "content": f"<USER_REQUEST>\nCount the boats.\n</USER_REQUEST>\n{SETTINGS}"},
    {"step_index": 1, "source": "MODEL", "type": "PLANNER_RESPONSE", "status": "DONE", "thinking": "Look.",
     "tool_calls": [{"name": "view_file", "args": {"AbsolutePath": '"/boats.md"'}}]},
    {"step_index": 2, "source": "MODEL", "type": "VIEW_FILE", "status": "DONE", "content": "Ana, Bea"},
    {"step_index": 3, "source": "SYSTEM", "type": "CHECKPOINT", "status": "DONE", "content": "# Resumed"},
    {"step_index": 4, "source": "MODEL", "type": "PLANNER_RESPONSE", "status": "DONE", "content": "Two."},
]  # fmt: skip


def test_antigravity(read):
    got = read(lines(*ANTIGRAVITY), "transcript.jsonl")
    assert got.format == "agents"
    assert [(m.external_id, m.role, m.text) for m in got.messages] == [
        ("0", "user", "Count the boats."),
        ("0-context-1", "system", SETTINGS),
        ("1-reasoning-1", "tool", "Look."),
        ("1-call-3", "tool", "view_file\nAbsolutePath: /boats.md"),
        ("2", "tool", "Ana, Bea"),
        ("3", "system", "# Resumed"),
        ("4", "assistant", "Two."),
    ]
    assert got.messages[3].metadata["files"] == ["/boats.md"]
    assert [m.external_id for m in got.messages if m.metadata.get("hidden")] == ["0-context-1", "3"]


def event(key: str, kind: str, parent: str | None, **data: object) -> dict:
    return {"type": kind, "data": data, "id": key, "timestamp": "2026-03-01T09:00:01Z", "parentId": parent}


COPILOT = [
    event("e1", "session.start", None, sessionId="s-1", startTime="2026-03-01T09:00:00Z", context={"cwd": "/boats"}),
    event("e2", "system.message", "e1", content="You are helpful."),
    event("e3", "user.message", "e2", content="Count.", attachments=[{"type": "file", "displayName": "boats.md"}]),
    event("e4", "assistant.turn_start", "e3", turnId="t"),
    event("e5", "assistant.message", "e4", content="Let me see.", reasoningText="Hm.", model="m",
          toolRequests=[{"toolCallId": "c1", "name": "view", "arguments": {"path": "boats.md"}}]),
    event("e6", "tool.execution_start", "e5", toolCallId="c1", toolName="view"),
    event("e7", "tool.execution_complete", "e6", toolCallId="c1", result={"content": "Ana"}),
    event("e8", "assistant.message", "e7", content="In the agent.", parentToolCallId="c9", toolRequests=[]),
    event("e9", "assistant.message", "e7", content="One.", toolRequests=[]),
]  # fmt: skip


def test_copilot(read):
    got = read(lines(*COPILOT))
    assert [(s.external_id, s.created_at, s.metadata) for s in got.sessions] == [
        ("s-1", datetime(2026, 3, 1, 9, tzinfo=UTC), {"folder": "/boats"}),
        ("s-1/c9", datetime(2026, 3, 1, 9, 0, 1, tzinfo=UTC), {"sidechain": True, "parent": "s-1", "folder": "/boats"}),
    ]
    assert [(m.external_id, m.role, m.text, m.reply_to) for m in got.messages] == [
        ("e2", "system", "You are helpful.", None),
        ("e3", "user", "Count.", "e2"),
        ("e5-reasoning-1", "tool", "Hm.", "e5"),
        ("e5", "assistant", "Let me see.", "e3"),
        ("e5-call-3", "tool", "view\npath: boats.md", "e5"),
        ("e7", "tool", "Ana", "e5-call-3"),
        ("e8", "assistant", "In the agent.", "e7"),
        ("e9", "assistant", "One.", "e7"),
    ]
    assert got.messages[1].metadata == {"attachments": [{"name": "boats.md"}]}
    assert got.messages[5].metadata == {"tools": [{"kind": "result", "name": "view"}]}
    assert [m.text for m in got.messages if m.metadata.get("sidechain")] == ["In the agent."]


CURSOR = [
    {"role": "user", "message": {"content": text("<user_query>\nCount.\n</user_query>")}},
    {"role": "assistant", "message": {"content": [{"type": "thinking", "thinking": "Hm."}, *text("One.")]}},
    {"type": "turn_ended", "status": "success"},
]


def test_cursor_has_neither_times_nor_ids(read):
    got = read(lines(*CURSOR), f"{UUID}.jsonl")
    assert said(got) == [("user", "Count."), ("tool", "Hm."), ("assistant", "One.")]
    assert got.sessions[0].external_id == UUID
    assert {m.external_id for m in got.messages} == {None}
    one, other = (read(lines(*CURSOR), name).sessions[0].external_id for name in ("a.jsonl", "b.jsonl"))
    assert one != other
    assert read(lines(CURSOR[0]), "a.jsonl").sessions[0].external_id == one


DROID = [
    {"type": "session_start", "id": "d-1", "title": "Boats", "cwd": "/boats"},
    {"type": "message", "id": "m1", "parentId": "d-1", "timestamp": "2026-03-01T09:00:00Z",
     "message": {"role": "user", "content": text("<system-reminder>Be brief.</system-reminder>\nCount.")}},
    {"type": "message", "id": "m2", "parentId": "m1", "message": {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "boats.md"}}]}},
    {"type": "message", "id": "m3", "parentId": "m2", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "Ana"}]}},
]  # fmt: skip


def test_droid(read):
    got = read(lines(*DROID))
    assert [(s.external_id, s.title) for s in got.sessions] == [("d-1", "Boats")]
    assert [(m.external_id, m.role, m.text, m.reply_to) for m in got.messages] == [
        ("m1", "user", "Count.", None),
        ("m1-context-1", "system", "<system-reminder>Be brief.</system-reminder>", "m1"),
        ("m2-call-1", "tool", "Read\nfile_path: boats.md", "m1"),
        ("m3-result-1", "tool", "Ana", "m2-call-1"),
    ]


OPENCLAW = [
    {"type": "session", "id": "o-1", "version": 3, "timestamp": "2026-03-01T09:00:00Z", "cwd": "/boats"},
    {"type": "model_change", "id": "c1", "parentId": "o-1", "modelId": "x"},
    {"type": "message", "id": "m1", "parentId": "c1", "message": {"role": "user", "content": text("List.")}},
    {"type": "message", "id": "m2", "parentId": "m1", "message": {"role": "assistant", "content": [
        *text("Listing."), {"type": "toolCall", "id": "t1", "name": "ls", "arguments": {"path": "."}}]}},
    {"type": "message", "id": "m3", "parentId": "t1", "message": {
        "role": "toolResult", "toolCallId": "t1", "toolName": "ls", "content": text("boats.md")}},
]  # fmt: skip


def test_openclaw(read):
    got = read(lines(*OPENCLAW))
    assert [(m.external_id, m.role, m.text, m.reply_to) for m in got.messages] == [
        ("m1", "user", "List.", None),
        ("m2", "assistant", "Listing.", "m1"),
        ("m2-call-2", "tool", "ls\npath: .", "m2"),
        ("m3", "tool", "boats.md", "m2-call-2"),
    ]


HERMES = {
    "session_id": "h-1",
    "session_start": "2026-03-01T09:00:00Z",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "List."},
        {"role": "assistant", "content": "", "reasoning": "Hm.", "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}]},
        {"role": "tool", "tool_call_id": "t1", "content": "boats.md"},
        {"role": "assistant", "content": "One file."},
    ],
}  # fmt: skip


def test_hermes(read):
    got = read(json.dumps(HERMES, indent=2))
    assert [(s.external_id, s.created_at) for s in got.sessions] == [("h-1", datetime(2026, 3, 1, 9, tzinfo=UTC))]
    assert said(got) == [
        ("system", "Be brief."), ("user", "List."), ("tool", "Hm."), ("tool", "ls\npath: ."), ("tool", "boats.md"),
        ("assistant", "One file."),
    ]  # fmt: skip
    assert got.messages[4].metadata == {"tools": [{"kind": "result", "name": "ls"}]}
    cut = json.dumps(HERMES)
    got = read(cut[: cut.index("One file")])
    assert got.texts[-1] == "boats.md"
    assert got.problems


def kimi(kind: str, at: int, **more: object) -> dict:
    return {"type": kind, "time": 1772355600000 + at, "agentId": "main"} | more


def append(words: str, at: int, kind: str = "user") -> dict:
    message = {"role": "user", "content": text(words), "toolCalls": [], "origin": {"kind": kind}}
    return kimi("context.append_message", at, message=message)


KIMI = [
    {"type": "metadata", "protocol_version": "1.4", "created_at": 1772355600000},
    kimi("turn.prompt", 1, input=text("Go."), origin={"kind": "user"}),
    append("Go.", 2),
    append("<system-reminder>x</system-reminder>", 3, "injection"),
    kimi("context.append_loop_event", 4, event={"type": "step.begin", "uuid": "b1"}),
    kimi("context.append_loop_event", 5, event={"type": "content.part", "uuid": "p1",
         "part": {"type": "think", "think": "Hm."}}),
    kimi("context.append_loop_event", 6, event={"type": "content.part", "uuid": "p2",
         "part": {"type": "text", "text": "Looking."}}),
    kimi("context.append_loop_event", 7, event={"type": "tool.call", "uuid": "p3", "toolCallId": "t1", "name": "Read",
         "args": {"path": "boats.md"}}),
    kimi("context.append_loop_event", 8, event={"type": "tool.result", "toolCallId": "t1",
         "result": {"output": "Ana"}}),
    kimi("turn.steer", 9, input=text("Stop."), origin={"kind": "user"}),
    kimi("turn.prompt", 10, input=text("Go."), origin={"kind": "user"}),
    append("Go.", 11),
    append("Stop.", 12),
]  # fmt: skip


def test_kimi_writes_prompts_twice(read):
    got = read(lines(*KIMI), "wire.jsonl")
    assert said(got) == [
        ("user", "Go."), ("system", "<system-reminder>x</system-reminder>"), ("tool", "Hm."), ("assistant", "Looking."),
        ("tool", "Read\npath: boats.md"), ("tool", "Ana"), ("user", "Stop."), ("user", "Go."),
    ]  # fmt: skip
    assert got.messages[1].metadata == {"hidden": True}
    assert [m.external_id for m in got.messages] == [None, None, "p1-reasoning-1", "p2", "p3-call-1", None, None, None]
    assert got.messages[5].reply_to == "p3-call-1"
    assert got.messages[0].sent_at == datetime(2026, 3, 1, 9, 0, 0, 1000, tzinfo=UTC)


def qwen(key: str, kind: str, parent: str | None, parts: list, role: str = "user", **more: object) -> dict:
    return {
        "uuid": key, "parentUuid": parent, "sessionId": UUID, "timestamp": "2026-03-01T09:00:00Z", "type": kind,
        "cwd": "/boats", "message": {"role": role, "parts": parts},
    } | more  # fmt: skip


HOOK = "<qwen:user-prompt-submit-context>\nx\n</qwen:user-prompt-submit-context>"
CALL = {"id": "t1", "name": "read_file", "args": {"path": "b"}}
RESPONSE = {"id": "t1", "name": "read_file", "response": {"output": "Ana"}}
QWEN = [
    qwen("q1", "user", None, [{"text": "Count."}, {"text": HOOK}]),
    qwen("q2", "assistant", "q1", [{"text": "Hm.", "thought": True}, {"functionCall": CALL}], "model"),
    qwen("q3", "tool_result", "q2", [{"functionResponse": RESPONSE}]),
    qwen("q4", "assistant", "q3", [{"text": "One."}], "model"),
]  # fmt: skip


def test_qwen_and_two_objects_on_one_line(read):
    glued = lines(*QWEN[:2]).replace("}\n{", "}{") + lines(*QWEN[2:])
    for data in (lines(*QWEN), glued):
        got = read(data)
        assert got.format == "agents"
        assert [(m.external_id, m.role, m.reply_to) for m in got.messages] == [
            ("q1", "user", None),
            ("q1-context-1", "system", "q1"),
            ("q2-reasoning-1", "tool", "q1"),
            ("q2-call-2", "tool", "q1"),
            ("q3-result-1", "tool", "q2-call-2"),
            ("q4", "assistant", "q3-result-1"),
        ]
        assert (got.sessions[0].external_id, got.problems) == (UUID, [])


OPENCODE = {
    "info": {"id": "ses_1", "title": "Boats", "directory": "/boats", "time": {"created": 1772355600000}},
    "messages": [
        {"info": {"id": "msg_1", "role": "user", "time": {"created": 1772355601000}},
         "parts": [{"type": "text", "text": "List."}, {"type": "text", "text": "Called Read", "synthetic": True}]},
        {"info": {"id": "msg_2", "role": "assistant", "parentID": "msg_1", "modelID": "m"}, "parts": [
            {"type": "step-start"}, {"type": "reasoning", "text": "Hm."},
            {"type": "tool", "tool": "bash", "callID": "t1",
             "state": {"status": "completed", "input": {"command": "ls"}, "output": "boats.md"}},
            {"type": "text", "text": "One file."}]},
    ],
}  # fmt: skip


def test_opencode_exported(read):
    got = read(json.dumps(OPENCODE, indent=2))
    assert [(s.external_id, s.title, s.created_at, s.metadata) for s in got.sessions] == [
        ("ses_1", "Boats", datetime(2026, 3, 1, 9, tzinfo=UTC), {"folder": "/boats"})
    ]
    assert [(m.external_id, m.role, m.text, m.reply_to) for m in got.messages] == [
        ("msg_1", "user", "List.", None),
        ("msg_1-context-1", "system", "Called Read", "msg_1"),
        ("msg_2-reasoning-1", "tool", "Hm.", "msg_2"),
        ("msg_2-call-2", "tool", "bash\ncommand: ls", "msg_2"),
        ("msg_2-result-3", "tool", "boats.md", "msg_2-call-2"),
        ("msg_2", "assistant", "One file.", "msg_1"),
    ]
    assert (got.format, got.problems) == ("agents", [])


DIALECTS = {
    "antigravity": ANTIGRAVITY, "copilot": COPILOT, "cursor": CURSOR, "droid": DROID, "openclaw": OPENCLAW,
    "kimi": KIMI, "qwen": QWEN,
}  # fmt: skip


@pytest.mark.parametrize("name", DIALECTS)
def test_a_session_that_is_still_open_loses_nothing_and_is_no_error(read, name):
    whole = lines(*DIALECTS[name]).encode()
    told = read(whole, "x.jsonl")
    for cut in range(1, len(whole), 23):
        got = read(whole[:cut], "x.jsonl", forced="agents")
        assert got.problems == []
        assert [(m.session, m.external_id, m.text) for m in got.messages] == [
            (m.session, m.external_id, m.text) for m in told.messages[: len(got.messages)]
        ]


@pytest.mark.parametrize("wrong", [None, 7, "x", [], {}, [[]], {"content": 3}, True, [{"type": "tool_use", "id": []}]])
def test_wrong_types_at_every_key_cost_only_their_record(wrong):
    good = {"type": "message", "id": "z9", "message": {"role": "assistant", "content": "kept"}}
    for records in (*DIALECTS.values(), [HERMES, OPENCODE], OPENCODE["messages"], HERMES["messages"]):
        for record in records:
            broken = [record | {key: wrong} for key in record]
            for key in ("message", "data", "event"):
                if isinstance(record.get(key), dict):
                    broken += [record | {key: record[key] | {inner: wrong}} for inner in record[key]]
            for value in broken:
                raw = lines(value, good).encode()
                document = Document("x", len(raw), lambda raw=raw: io.BytesIO(raw))
                got = [r.text for r in parser_of("agents").parse(document) if isinstance(r, MessageRecord)]
                assert got[-1] == "kept"


def test_the_same_id_twice(read):
    got = read(lines(*DROID[:2], DROID[1], DROID[1] | {"message": {"role": "user", "content": "Other."}}))
    assert [(m.external_id, m.text) for m in got.messages if m.role == "user"] == [("m1", "Count."), (None, "Other.")]


def test_collected_samples(read, exports):
    base = exports / "other_agents" / "agent-sessions"

    def reading(name: str):
        got = read(base / name)
        assert (got.format, got.problems) == ("agents", [])
        return got

    def talk(got) -> list[tuple[str, str]]:
        return [pair for pair in said(got) if pair[0] in ("user", "assistant") and "[trimmed" not in pair[1]]

    got = reading("antigravity__cli_small.jsonl")
    assert talk(got) == [("user", "List the files."), ("assistant", "The directory contains a.txt and b.txt.")]

    got = reading("copilot__small.jsonl")
    assert talk(got) == [("user", "List the files"), ("assistant", "Listing the files."), ("assistant", "Done")]
    assert got.sessions[0].external_id == "copilot_stage0_small"

    got = reading("cursor__small.jsonl")
    assert talk(got) == [
        ("user", "List the files."), ("assistant", "Here are the files."), ("user", "Run ls."),
        ("assistant", "Running ls."),
    ]  # fmt: skip
    assert len(got.messages) == 5

    got = reading("cursor__large.jsonl")
    assert [words for role, words in talk(got) if role == "user"] == [
        "What files are here?",
        "Read file1.txt.",
        "Thanks.",
    ]
    assert [words for role, words in talk(got) if role == "assistant"] == [
        "I will list the files.", "There are two files.", "The file contains: hello world.", "You are welcome.",
    ]  # fmt: skip
    assert len(got.messages) == 12

    got = reading("droid__session_store_small.jsonl")
    assert said(got) == [
        ("user", "Run a command"),
        ("tool", "Execute\ncommand: ls /nope"),
        ("tool", "Error: Command failed (exit code: 1)\nls: /nope: No such file or directory"),
    ]
    assert got.sessions[0].title == "Stage0 Droid Small"

    got = reading("hermes__small.json")
    assert said(got) == [
        ("user", "Summarize this directory."),
        ("assistant", "This directory contains a small Hermes fixture."),
    ]

    assert said(reading("kimi__small.jsonl")) == [("user", "hi"), ("user", "stop"), ("user", "hi")]

    got = reading("openclaw__small.jsonl")
    assert got.roles == ["user", "assistant", "tool", "tool"]
    assert (got.texts[0], got.texts[-1]) == ("List files", "main.swift\nResources\n")

    got = reading("qwen__019f0000-0000-7000-8000-000000000001.jsonl")
    assert talk(got) == [("user", "Inspect the synthetic fixture."), ("assistant", "The synthetic fixture is valid.")]
    assert got.roles == ["user", "system", "tool", "tool", "tool", "assistant", "system"]


def test_an_image_of_a_task_has_its_whole_name_or_none() -> None:
    folder = "/home/ana/" + "a-long-folder/" * 20
    prompt = {
        "ts": 1_760_000_000_000, "type": "say", "say": "text", "text": "what is on these?",
        "images": [f"{folder}garden plan.png", "data:image/png;base64,iVBORw0KGgo="],
    }  # fmt: skip
    turn = agent_tasks.shown_turn(prompt, is_first=True)
    assert turn is not None
    assert [block.name for block in turn.blocks if block.kind == "file"] == ["garden plan.png", "image"]
