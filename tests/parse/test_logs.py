"""What logs of agents have in common: lines, the open end, ids, and nothing that raises."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.formats import agent_logs, parser_of, read_head
from appliance.formats.base import Document
from appliance.types import InputProblem, MessageRecord, SessionRecord

FORMATS = ("claude_code", "codex", "gemini_cli", "agents")


def document(data: bytes, name: str = "x.jsonl") -> Document:
    return Document(name, len(data), lambda: io.BytesIO(data))


def entries(data: bytes) -> tuple[list[object], list[InputProblem]]:
    found = list(agent_logs.entries(document(data)))
    return [e.data for e in found if isinstance(e, agent_logs.LogEntry)], [
        p for p in found if isinstance(p, InputProblem)
    ]


def test_lines_lists_and_objects_over_many_lines():
    one, two = {"a": 1}, {"b": [2]}
    for text in (
        '{"a":1}\n{"b":[2]}\n',
        '{"a":1}\r\n\r\n{"b":[2]}',
        '{"a":1}{"b":[2]}\n',
        '[{"a":1},{"b":[2]}]',
        '[\n {"a":1},\n {"b":[2]}\n]\n',
        '{\n "a": 1\n}\n{\n "b": [\n  2\n ]\n}\n',
    ):
        for encoded in (text.encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16")):
            assert entries(encoded) == ([one, two], [])


def test_only_the_end_may_be_open():
    objects, problems = entries(b'{"a":1}\n{"b"\n{"c":3}\n{"d":"\xc3')
    assert objects == [{"a": 1}, {"c": 3}]
    assert [(p.where, p.harmless) for p in problems] == [("line 2", False), ("line 4", True)]


def test_other_values_zero_bytes_and_depth_cost_a_line():
    deep = b'{"a":' * 300 + b"1" + b"}" * 300
    objects, problems = entries(b'{"a":1}\n7\nnull\n\x00\x00\n' + deep + b'\n{"b":2}\n')
    assert (objects[0], objects[-1]) == ({"a": 1}, {"b": 2})
    assert {p.where for p in problems} >= {"line 2", "line 3", "line 4"}


def test_ids_that_can_be_none():
    assert agent_logs.own_id("a-1") == "a-1"
    assert agent_logs.own_id(7) == "7"
    assert [agent_logs.own_id(value) for value in ("", "[left out]", "two words", None, True, 1.5, [])] == [None] * 7


def test_equal_words_of_two_streams_are_one_and_of_one_stream_are_two():
    echoes = agent_logs.EchoFilter()
    assert [echoes.is_echo(stream, "user", "yes ") for stream in ("a", "b", "a", "b", "b")] == [
        False, True, False, True, False,
    ]  # fmt: skip
    assert not echoes.is_echo("c", "assistant", "yes")


KEYS = (
    "type uuid parentUuid sessionId session_id message role content parts text id parentId data payload event item"
    " timestamp time messages history loglines isSidechain agentId isMeta attachment toolCalls thoughts tool_calls name"
    " input arguments $set $rewindTo step_index source call_id output summary leafUuid origin kind part"
    " meta supersedesUuids retractedMessageUuids systemPayload toolRequests functionCall functionResponse tool_use_id"
).split()
WORDS = (
    "user assistant system tool message session_meta response_item event_msg user_message agent_message item_completed"
    " UserMessage tool_use tool_result thinking text gemini model function_call function_call_output reasoning"
    " turn.prompt context.append_message context.append_loop_event content.part tool.call user.message PLANNER_RESPONSE"
    " USER_INPUT queued_command prompt toolResult session compacted a b <system-reminder>x</system-reminder>y"
).split(" ")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=25,
)


@pytest.mark.parametrize("name", FORMATS)
@given(records=st.lists(VALUES, max_size=6), cut=st.integers(0, 30), array=st.booleans())
def test_no_records_raise_and_what_comes_can_be_stored(name, records, cut, array):
    text = json.dumps(records) if array else "".join(json.dumps(record) + "\n" for record in records)
    data = text.encode()[: len(text) - cut or None]
    parser = parser_of(name)
    assert 0 <= parser.matches(read_head(document(data))) <= 1
    sessions: set[str] = set()
    seen: set[tuple[str, str]] = set()
    for record in parser.parse(document(data)):
        if isinstance(record, SessionRecord):
            assert record.external_id not in sessions
            sessions.add(record.external_id)
        elif isinstance(record, MessageRecord):
            assert record.session in sessions
            assert record.text.strip()
            json.dumps(dict(record.metadata))
            if record.external_id is not None:
                assert (record.session, record.external_id) not in seen
                seen.add((record.session, record.external_id))
