"""Conversations as they are sent to a model: lines, lists, calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

SYSTEM = {"role": "system", "content": "Be brief."}
ASKED = {"role": "user", "content": "Soup?\n"}
SAID = {"role": "assistant", "content": "Leek."}


def lines(*conversations: Any) -> str:
    return "".join(json.dumps({"messages": c} if isinstance(c, list) else c) + "\n" for c in conversations)


def test_lines_are_conversations(read: Callable[..., Any]) -> None:
    got = read(lines([SYSTEM, ASKED, SAID], [ASKED]))
    assert got.format == "openai_jsonl"
    assert len(got.sessions) == 2
    assert [(m.external_id, m.role, m.text, dict(m.metadata)) for m in got.messages] == [
        ("1", "system", "Be brief.", {"hidden": True}),
        ("2", "user", "Soup?\n", {}),
        ("3", "assistant", "Leek.", {}),
        ("1", "user", "Soup?\n", {}),
    ]
    assert got.problems == got.notes == []


def test_calls_results_reasoning_and_parts(read: Callable[..., Any]) -> None:
    call = {"id": "c9", "type": "function", "function": {"name": "find", "arguments": '{"what": "leek"}'}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    parts = [{"type": "text", "text": "This?"}, picture]
    got = read(lines([
        {"role": "user", "content": parts, "name": "ana"},
        {"role": "assistant", "tool_calls": [call], "reasoning_content": "Look."},
        {"role": "tool", "tool_call_id": "c9", "content": "aisle 3"},
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": "Aisle 3.", "function_call": {"name": "f", "arguments": "raw"}},
    ]))  # fmt: skip
    assert [(m.external_id, m.role, m.author, m.text, m.reply_to) for m in got.messages] == [
        ("1", "user", "ana", "This?", None),
        ("2-reasoning-1", "tool", None, "Look.", "2"),
        ("2-call-2", "tool", "find", "find\nwhat: leek", "2"),
        ("3", "tool", "find", "aisle 3", "2-call-2"),
        ("4", "assistant", None, "No.", None),
        ("5", "assistant", None, "Aisle 3.", None),
        ("5-call-2", "tool", "f", "f\nraw", "5"),
    ]
    assert got.messages[0].metadata == {"attachments": [{"name": "image"}]}
    assert got.messages[3].metadata == {"tools": [{"kind": "result", "name": "find"}]}
    assert got.problems == []


@pytest.mark.parametrize("form", ["list", "lines"])
def test_turns_by_themselves_are_one_conversation(read: Callable[..., Any], form: str) -> None:
    turns = [SYSTEM, ASKED, SAID, ASKED, {"role": "assistant", "tool_calls": [{"id": "a", "function": {
        "name": "f", "arguments": ""}}]}, {"role": "tool", "tool_call_id": "a", "content": "4"}]  # fmt: skip
    data = json.dumps(turns) if form == "list" else "\n".join(map(json.dumps, turns))
    got = read(data)
    assert got.format == "openai_jsonl"
    assert len(got.sessions) == 1
    assert [(m.external_id, m.role) for m in got.messages] == [
        ("1", "system"),
        ("2", "user"),
        ("3", "assistant"),
        ("4", "user"),
        ("5-call-1", "tool"),
        ("6", "tool"),
    ]
    assert got.messages[5].author == "f"
    shorter = read(json.dumps(turns[:4]))
    assert [s.external_id for s in shorter.sessions] == [s.external_id for s in got.sessions]


def test_a_list_without_answers(read: Callable[..., Any]) -> None:
    got = read(json.dumps([{"role": "user", "content": f"words {n}"} for n in range(300)]))
    assert got.texts == [f"words {n}" for n in range(300)]
    assert len(got.sessions) == 1


def test_ids_hold_when_lines_are_added_and_conversations_go_on(read: Callable[..., Any]) -> None:
    other = [{"role": "user", "content": "Bread?"}, {"role": "assistant", "content": "Rye."}]
    before = read(lines([ASKED, SAID], other)).sessions
    after = read(lines([SYSTEM, ASKED], [*other, ASKED], [ASKED, SAID, ASKED])).sessions
    assert [s.external_id for s in after[1:]] == [before[1].external_id, before[0].external_id]


def test_conversations_that_begin_alike_stay_apart(read: Callable[..., Any]) -> None:
    got = read(lines([ASKED, SAID], [ASKED, SAID, ASKED], [ASKED, SAID]))
    ids = [s.external_id for s in got.sessions]
    assert ids == [ids[0], ids[0] + "-2", ids[0] + "-3"]


def test_ids_titles_and_times_where_a_program_gives_them(read: Callable[..., Any]) -> None:
    turns = [ASKED | {"id": "m1", "timestamp": "2025-03-01T10:00:00Z"}, SAID | {"timestamp": "soon"}]
    got = read(json.dumps([{"id": "k", "title": "Soup", "created_at": 1740823200, "messages": turns}]))
    assert [(s.external_id, s.title) for s in got.sessions] == [("k", "Soup")]
    assert got.sessions[0].created_at == got.messages[0].sent_at == datetime(2025, 3, 1, 10, tzinfo=UTC)
    assert [m.external_id for m in got.messages] == ["m1", "2"]
    assert [n.message for n in got.notes] == ["the time 'soon' can't be read; left open"]


def test_the_oldest_files_of_chatbot_ui(read: Callable[..., Any]) -> None:
    got = read(json.dumps([{"id": 1, "name": "Soup", "messages": [ASKED, SAID]}]))
    assert (got.format, [s.title for s in got.sessions], got.roles) == (
        "openai_jsonl", ["Soup"], ["user", "assistant"]
    )  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        '{"session_id": "s", "role": "user", "content": "x"}',
        '{"role": "user", "message": {"content": [{"type": "text", "text": "x"}]}}',
        '{"type": "message", "role": "user", "content": "x", "timestamp": "2025-01-01"}',
        '{"messages": [{"creator": {"name": "Ada"}, "text": "x"}]}',
        '{"messages": ["x"]}',
        '[{"name": "README", "content": "x"}]',
        '{"uuid": "c", "name": "", "created_at": "2025-01-01", "messages": [{"role": "user", "content": "x"}]}',
    ],
)
def test_what_others_write_is_left_to_them(data: str) -> None:
    from appliance.formats.base import DocumentHead
    from appliance.formats.openai_jsonl import matches

    assert matches(DocumentHead("x.json", data, False)) < 0.5


@pytest.mark.parametrize("wrong", [None, 5, "x", [], {}, [None], {"a": None}, True, [[[]]]])
def test_wrong_types_cost_only_their_place(read: Callable[..., Any], wrong: Any) -> None:
    good = {"messages": [{"role": "user", "content": "kept"}]}
    for key in ("role", "content", "name", "tool_calls", "function_call", "tool_call_id", "id", "timestamp"):
        data = lines([ASKED | {key: wrong}, {"role": "tool", "content": "y"} | {key: wrong}], good)
        assert read(data, forced="openai_jsonl").texts[-1] == "kept"
    for key in ("messages", "id", "title", "model", "created_at"):
        data = lines({"messages": [ASKED]} | {key: wrong}, good)
        assert read(data, forced="openai_jsonl").texts[-1] == "kept"
    assert read(json.dumps([wrong, good]), forced="openai_jsonl").texts == ["kept"]
    parts = [{"type": kind} | {"text": wrong} for kind in ("text", "thinking", "tool_use", "image", "")]
    for part in (*parts, *({"type": "tool_call", "tool_call": {key: wrong}} for key in ("name", "output"))):
        assert read(lines([{"role": "user", "content": [part]}], good), forced="openai_jsonl").texts[-1] == "kept"


def test_a_bad_line_costs_only_itself(read: Callable[..., Any]) -> None:
    data = lines([ASKED, SAID]) + '{"messages": [{"role": "user", "conte\n' + lines([SYSTEM])
    got = read(data)
    assert got.texts == ["Soup?\n", "Leek.", "Be brief."]
    assert got.problems


@pytest.mark.parametrize("whole", [lines([ASKED, SAID], [ASKED, SAID]), json.dumps([ASKED, SAID] * 4)])
def test_a_cut_off_file_keeps_every_whole_turn(read: Callable[..., Any], whole: str) -> None:
    for cut in range(0, len(whole), 7):
        got = read(whole[:cut], forced="openai_jsonl")
        assert set(got.texts) <= {"Soup?\n", "Leek."}
        assert len(got.texts) >= whole[:cut].count("}") - 2


def test_collected_sample(read: Callable[..., Any], exports: Path) -> None:
    got = read(exports / "openai_jsonl" / "toy_chat_fine_tuning.jsonl")
    assert got.format == "openai_jsonl"
    assert len(got.sessions) == len({s.external_id for s in got.sessions}) == 5
    sua = ["system", "user", "assistant"]
    expected = [*sua, *sua, *sua[1:] * 3, *sua[1:], "system", "assistant", *sua]
    assert got.roles == expected
    assert got.texts[1] == "I fell off my bike today."
    assert len(got.texts[-1]) == 26000 and got.texts[-1].endswith("Eat a banana!")
    assert got.problems == got.notes == []
