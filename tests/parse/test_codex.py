"""Codex CLI: two streams that tell the same, injected context, dialects."""

from __future__ import annotations

import io
import json
from collections import Counter
from datetime import UTC, datetime

import pytest

from appliance.formats import parser_of
from appliance.formats.base import Document
from appliance.types import MessageRecord

SESSION = "0199aaaa-0000-7000-8000-000000000001"
NAME = f"rollout-2026-03-01T09-00-00-{SESSION}.jsonl"
META = {"id": SESSION, "timestamp": "2026-03-01T09:00:00Z", "cwd": "/home/ines/boats"}


class Clock:
    """Lines with a second between them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, outer: str, **payload: object) -> None:
        time = f"2026-03-01T09:00:{len(self.lines):02d}.000Z"
        self.lines.append(json.dumps({"timestamp": time, "type": outer, "payload": payload}) + "\n")

    def model(self, role: str, *texts: str, **more: object) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text} for text in texts]
        self("response_item", type="message", role=role, content=content, **more)

    def shown(self, kind: str, message: str, **more: object) -> None:
        self("event_msg", type=kind, message=message, **more)

    @property
    def text(self) -> str:
        return "".join(self.lines)


def session() -> Clock:
    log = Clock()
    log("session_meta", **META)
    log.model("developer", "Mind the sandbox.")
    log.model("user", "# AGENTS.md instructions for /home/ines/boats\n\nBe brief.")
    log.model("user", "<environment_context>\n<cwd>/home/ines/boats</cwd>\n</environment_context>")
    log.model("user", "Rename the harbour table.")
    log.shown("user_message", "Rename the harbour table.", images=[])
    log("event_msg", type="agent_reasoning", text="**Looking**")
    log("response_item", type="reasoning", summary=[{"type": "summary_text", "text": "**Looking**"}])
    log("response_item", type="function_call", name="shell", call_id="c1", arguments='{"command":["ls"]}')
    log("response_item", type="function_call_output", call_id="c1", output="db.sql")
    log("event_msg", type="token_count", info=None)
    log.shown("agent_message", "Done.")
    log.model("assistant", "Done.", id="msg-9")
    return log


def test_both_streams_are_one_conversation(read):
    got = read(session().text, NAME)
    assert got.format == "codex"
    (header,) = got.sessions
    assert (header.external_id, header.created_at, header.metadata) == (
        SESSION,
        datetime(2026, 3, 1, 9, tzinfo=UTC),
        {"folder": "/home/ines/boats"},
    )
    assert [(m.role, m.text.partition("\n")[0]) for m in got.messages] == [
        ("system", "Mind the sandbox."),
        ("system", "# AGENTS.md instructions for /home/ines/boats"),
        ("system", "<environment_context>"),
        ("user", "Rename the harbour table."),
        ("tool", "**Looking**"),
        ("tool", "shell"),
        ("tool", "db.sql"),
        ("assistant", "Done."),
    ]
    assert all(m.metadata == {"hidden": True} for m in got.messages[:3])
    call, result = got.messages[5:7]
    assert (call.external_id, call.text) == ("c1-call", 'shell\ncommand: ["ls"]')
    assert (result.external_id, result.reply_to, result.author) == ("c1-output", "c1-call", "shell")
    assert got.problems == got.notes == []


def test_a_later_state_of_the_file_adds_only_what_is_new(read):
    lines = session().lines
    told = [(m.external_id, m.sent_at, m.role, m.text) for m in read("".join(lines), NAME).messages]
    for count in range(1, len(lines)):
        before = read("".join(lines[:count]), NAME)
        now = [(m.external_id, m.sent_at, m.role, m.text) for m in before.messages]
        assert now == told[: len(now)], count
        assert before.sessions in ([], read("".join(lines), NAME).sessions)


def test_said_twice_is_kept_twice(read):
    log = Clock()
    log("session_meta", **META)
    for _ in range(2):
        log.shown("user_message", "Yes.")
        log.model("user", "Yes.")
        log.model("assistant", "Fine.")
        log.shown("agent_message", "Fine.")
    assert read(log.text).texts == ["Yes.", "Fine.", "Yes.", "Fine."]


def test_what_only_one_stream_has_is_kept(read):
    log = Clock()
    log("session_meta", **META)
    log.shown("user_message", "Which boats?")
    log.model("assistant", "Three of them.")
    log.shown("user_message", "Name them.")
    log.shown("agent_message", "Ana, Bea, Cleo.")
    assert list(zip(read(log.text).roles, read(log.text).texts, strict=True)) == [
        ("user", "Which boats?"),
        ("assistant", "Three of them."),
        ("user", "Name them."),
        ("assistant", "Ana, Bea, Cleo."),
    ]


def test_without_the_shown_stream_marks_tell_what_was_injected(read):
    log = Clock()
    log("session_meta", **META)
    log.model("user", "<user_instructions>\nBe brief.\n</user_instructions>")
    log.model("user", "<environment_context>\n</environment_context>", "Which boats?", id="m1")
    log.model("user", "<b>Bold</b> is a tag.")
    got = read(log.text)
    assert [(m.role, m.text, m.external_id) for m in got.messages[1:]] == [
        ("user", "Which boats?", "m1"),
        ("system", "<environment_context>\n</environment_context>", "m1-context"),
        ("user", "<b>Bold</b> is a tag.", None),
    ]


def test_with_the_shown_stream_what_it_lacks_was_injected(read):
    log = Clock()
    log("session_meta", **META)
    log.model("user", "Some preamble of a plugin.")
    log.model("user", "<environment_context> is a tag, why?")
    log.shown("user_message", "<environment_context> is a tag, why?")
    got = read(log.text)
    assert [(m.role, m.text[:4]) for m in got.messages] == [("system", "Some"), ("user", "<env")]


def test_text_without_a_twin_is_the_persons_where_the_shown_stream_has_gaps(read):
    log = Clock()
    log("session_meta", **META)
    log.model("user", "<environment_context>\n</environment_context>")
    log.model("user", "Which boats?")
    log.shown("user_message", "Which boats?")
    log.model("assistant", "Three of them.")
    log.model("user", "Name them.")
    log.model("assistant", "Ana, Bea, Cleo.")
    log.model("user", "Which is the oldest?")
    log.shown("user_message", "Which is the oldest?")
    log.model("assistant", "Bea.")
    got = read(log.text)
    assert [(m.role, m.text) for m in got.messages if m.role == "user"] == [
        ("user", "Which boats?"),
        ("user", "Name them."),
        ("user", "Which is the oldest?"),
    ]
    assert got.roles[0] == "system"


def test_text_without_a_twin_was_injected_where_every_answered_turn_is_shown(read):
    log = Clock()
    log("session_meta", **META)
    for question in ("Which boats?", "Name them."):
        log.model("user", "The rules of the house.")
        log.model("user", question)
        log.shown("user_message", question)
        log("response_item", type="function_call", name="shell", call_id=question, arguments="{}")
        log.model("assistant", "Here.")
        log.shown("agent_message", "Here.")
    got = read(log.text)
    assert [m.text for m in got.messages if m.role == "user"] == ["Which boats?", "Name them."]
    assert [m.text for m in got.messages if m.role == "system"] == ["The rules of the house."] * 2


def test_a_turn_that_has_no_answer_yet_is_the_persons(read):
    log = Clock()
    log("session_meta", **META)
    log.model("user", "Which boats?")
    log.shown("user_message", "Which boats?")
    log.model("assistant", "Three of them.")
    log.model("user", "Name them.")
    log("turn_context", cwd="/home/ines/boats")
    assert [m.text for m in read(log.text).messages if m.role == "user"] == ["Which boats?", "Name them."]


def test_items_pictures_and_titles(read):
    log = Clock()
    log("session_meta", **META)
    log("event_msg", type="thread_name_updated", thread_name="Boats")
    item = {"type": "UserMessage", "id": "i1", "content": [{"type": "text", "text": "What is this?"}]}
    log("event_msg", type="item_completed", item=item)
    log.shown("user_message", "What is this?", local_images=["/tmp/boat.png"])
    log.shown("user_message", "And this?", local_images=["/tmp/quay.png"])
    log.model("user", '<image name=[Image #1] path="/tmp/quay.png">', "</image>", "And this?")
    item = {"type": "AgentMessage", "id": "i2", "content": [{"type": "Text", "text": "A quay."}]}
    log("event_msg", type="item_completed", item=item)
    log("event_msg", type="item_completed", item={"type": "CommandExecution", "stdout": "x"})
    got = read(log.text)
    assert got.sessions[0].title == "Boats"
    assert [(m.role, m.text, m.external_id, dict(m.metadata)) for m in got.messages] == [
        ("user", "What is this?", "i1", {}),
        ("user", "And this?", None, {"attachments": [{"name": "quay.png"}]}),
        ("assistant", "A quay.", "i2", {}),
    ]


def test_the_oldest_dialect(read):
    lines = [
        {"id": SESSION, "timestamp": "2025-04-20T10:00:00Z", "instructions": "", "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List."}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"output":"a.txt"}'},
        {"created_at": "2025-04-20T10:00:09Z", "role": "assistant", "content": "One file."},
        {"role": "assistant", "content": None, "function_call": {"name": "shell", "arguments": '{"cmd":"ls"}'}},
        {"role": "function", "name": "shell", "content": "a.txt"},
    ]
    got = read("\n".join(map(json.dumps, lines)) + "\n")
    assert (got.format, got.sessions[0].external_id) == ("codex", SESSION)
    assert [(m.role, m.text) for m in got.messages] == [
        ("user", "List."),
        ("tool", "shell"),
        ("tool", '{"output":"a.txt"}'),
        ("assistant", "One file."),
        ("tool", "shell\ncmd: ls"),
        ("tool", "a.txt"),
    ]
    assert got.messages[3].sent_at == datetime(2025, 4, 20, 10, 0, 9, tzinfo=UTC)


def test_patches_name_their_files(read):
    patch = "*** Begin Patch\n*** Update File: db.sql\n+x\n*** Add File: a/b.md\n*** End Patch"
    log = Clock()
    log("session_meta", **META)
    log("response_item", type="custom_tool_call", name="apply_patch", call_id="c1", input=patch)
    log("response_item", type="function_call", name="shell", arguments=json.dumps({"command": ["apply_patch", patch]}))
    got = read(log.text)
    assert [m.metadata["files"] for m in got.messages] == [["db.sql", "a/b.md"]] * 2


def test_agents_threads_are_apart(read):
    log = Clock()
    parent = "0199aaaa-0000-7000-8000-000000000009"
    log("session_meta", **META, source={"subagent": {"other": "review"}}, parent_thread_id=parent)
    log.model("assistant", "Reviewed.")
    log("response_item", type="agent_message", author="scout", content=[{"type": "input_text", "text": "All clear."}])
    got = read(log.text)
    assert got.sessions[0].metadata == {"folder": "/home/ines/boats", "sidechain": True, "parent": parent}
    assert [(m.session, m.author, m.text, m.metadata["sidechain"]) for m in got.messages] == [
        (SESSION, None, "Reviewed.", True),
        (f"{SESSION}/agents", "scout", "All clear.", True),
    ]


def test_a_fork_is_the_session_that_its_first_line_names(read):
    log = Clock()
    log("session_meta", **META)
    log("session_meta", **META | {"id": "0199aaaa-0000-7000-8000-000000000002"})
    log.shown("user_message", "On we go.")
    assert [s.external_id for s in read(log.text).sessions] == [SESSION]


def test_without_meta_data_the_name_or_the_beginning_tells_the_session(read):
    lines = session().lines[1:]
    assert read("".join(lines), f"old/{NAME}").sessions[0].external_id == SESSION
    one, more = (read("".join(lines[:n]), "x.jsonl").sessions[0].external_id for n in (5, 12))
    assert one == more


def test_cut_anywhere_it_is_only_open(read):
    data = session().text.encode()
    before = 0
    for cut in range(1, len(data), 50):
        got = read(data[:cut], NAME, forced="codex")
        assert got.problems == []
        assert len(got.messages) >= before
        before = len(got.messages)


@pytest.mark.parametrize("wrong", [None, 7, "x", [], {}, [[]], {"content": 3}, True])
def test_wrong_types_at_every_key_cost_only_their_record(wrong):
    good = json.dumps({"type": "event_msg", "payload": {"type": "agent_message", "message": "kept"}})
    lines = session().lines
    for line in lines:
        data = json.loads(line)
        broken = [data | {key: wrong} for key in data]
        broken += [data | {"payload": data["payload"] | {key: wrong}} for key in data["payload"]]
        broken += [data["payload"] | {key: wrong} for key in data["payload"]]
        broken.append(data | {"payload": data["payload"] | {"content": [wrong, {"type": wrong, "text": wrong}]}})
        for value in broken:
            raw = f"{json.dumps(value)}\n{good}\n".encode()
            document = Document("x", len(raw), lambda raw=raw: io.BytesIO(raw))
            records = list(parser_of("codex").parse(document))
            assert [r.text for r in records if isinstance(r, MessageRecord)][-1] == "kept"


def test_collected_samples(read, exports):
    base = exports / "codex_cli"
    for name in ("agent-sessions__codex_051_usage.jsonl", "agent-sessions__codex_052_raw.jsonl"):
        got = read(base / name)
        assert (got.format, got.messages, got.problems) == ("codex", [], [])
        assert [note.message for note in got.notes] == ["the file holds no messages"]

    expected = {
        "agentsview__fc_args_1.jsonl": [
            ("user", "inspect files"), ("tool", "exec_command\ncmd: rg --files\nworkdir: /tmp"),
        ],
        "agentsview__fc_stdin.jsonl": [
            ("user", "send input"), ("tool", "write_stdin\nchars: yes\n\nsession_id: sess-42"),
        ],
        "agentsview__function_calls.jsonl": [
            ("user", "Run the tests"), ("tool", "shell_command\nRunning tests"), ("tool", "apply_patch\nFixing typo"),
        ],
        "agentsview__standard_session.jsonl": [
            ("user", "Add rate limiting"), ("assistant", "I'll add rate limiting to the API."),
        ],
        "polylogue__text_only_stream.jsonl": [
            ("user", "What is the capital of France?"), ("assistant", "The capital of France is Paris."),
        ],
        "polylogue__tool_call_stream.jsonl": [
            ("user", "List the files in /tmp."), ("tool", "exec_command\ncmd: ls /tmp"),
            ("tool", "file1.txt\nfile2.txt"), ("assistant", "There are two files: file1.txt and file2.txt."),
        ],
    }  # fmt: skip
    for name, said in expected.items():
        got = read(base / name)
        assert (got.format, list(zip(got.roles, got.texts, strict=True))) == ("codex", said)
        assert got.problems == []
    got = read(base / "polylogue__text_only_stream.jsonl")
    assert got.messages[0].sent_at == datetime(2025, 1, 15, 10, 0, 5, tzinfo=UTC)
    assert got.messages[0].external_id == "msg-user-1"

    got = read(base / "polylogue__functions_exec_single.jsonl")
    assert got.roles == ["tool", "tool"]

    got = read(base / "agent-sessions__small.jsonl")
    told = [(m.role, m.text) for m in got.messages if m.role in ("user", "assistant") and "[trimmed" not in m.text]
    assert told == [("user", "List the files"), ("assistant", "Found 2 files.")]
    assert Counter(m.role for m in got.messages if m.text.startswith("[trimmed") and m.role == "user") == {"user": 1}
    assert got.problems == []
