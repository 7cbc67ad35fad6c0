"""Lines of ``{"messages": [{"role", "content"}]}``, as for fine-tuning models, and plain lists of turns.

This is the form in which programs send a conversation to a model. The parser also accepts ids, titles and times
that a program added, and a single conversation as a list of ``{"role", "content"}``. Formats with more specific
keys take precedence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC
from itertools import chain, groupby, islice
from typing import Any

from appliance.formats import agent_records, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, first_text, wrong_type
from appliance.formats.salvage import is_whole
from appliance.formats.timestamps import read_time
from appliance.types import InputProblem, Record, SessionRecord

# Programs with many conversations put an object around the list.
_WRAPPER = "conversations"
_FIRST_KEYS = (("role", "content"), ("content", "role"))
_TURN_KEYS = frozenset(
    "role content name tool_calls tool_call_id function_call weight refusal audio annotations reasoning"
    " reasoning_content".split()
)
_OPTIONAL_TURN_KEYS = frozenset(("id", "timestamp", "created_at", "createdAt", "date", "model"))
_LINE_KEYS = frozenset(("messages", "tools", "functions", "parallel_tool_calls", "tool_choice", "model"))
_IDS = ("id", "conversation_id", "conversationId", "session_id", "sessionId", "uuid", "chat_id")
_TIMES = ("created_at", "createdAt", "create_time", "created", "timestamp", "date")
# The most turns before the first answer of a list that is one conversation.
_MAX_OPENING_TURNS = 200


def matches(head: DocumentHead) -> float:
    """The confidence that these are conversations of ``role`` and ``content`` and nothing else."""
    best = 0.0
    records = json_stream.preview(head.text)
    if len(records) == 1 and isinstance(wrapped := as_dict(records[0]).get(_WRAPPER), list):
        records = tuple(wrapped)
    for record in records:
        fields = as_dict(record)
        turns = [turn for turn in as_list(fields.get("messages")) if isinstance(turn, dict)]
        if turns and all(_is_turn(turn) for turn in turns if is_whole(turn)):
            # Unknown keys without a string say nothing that another format would read.
            unknown = [fields[key] for key in fields.keys() - _LINE_KEYS]
            unknown += [turn[key] for turn in turns for key in turn.keys() - _TURN_KEYS]
            is_bare = next(unknown_text.strings_of(unknown), None) is None
            is_plain = fields.keys() <= _LINE_KEYS and all(turn.keys() <= _TURN_KEYS for turn in turns)
            # Claude.ai sometimes writes such turns, in conversations with these keys.
            is_claude = {"uuid", "created_at"} <= fields.keys()
            best = max(best, 0.9 if is_plain else 0.4 if is_claude else 0.75 if is_bare else 0.6)
    bare = [record for record in records if isinstance(record, dict) and is_whole(record)]
    if bare and all(_is_turn(turn) for turn in bare):
        keys = set[str]().union(*bare)
        best = max(best, 0.8 if keys <= _TURN_KEYS else 0.55 if keys <= _TURN_KEYS | _OPTIONAL_TURN_KEYS else 0.0)
    return best


def parse(document: Document) -> Iterator[Record]:
    """The conversations, one at a time; bare turns are one conversation."""
    id_counts: Counter[str] = Counter()
    among_turns = False

    def is_among_turns(value: json_stream.JsonRecord | InputProblem) -> bool:
        nonlocal among_turns
        if isinstance(value, json_stream.JsonRecord):
            has_messages = isinstance(as_dict(value.data).get("messages"), list)
            among_turns = not has_messages and (among_turns or _is_turn(value.data))
        return among_turns

    for are_turns, values in groupby(json_stream.records(document, _FIRST_KEYS, within=_WRAPPER), is_among_turns):
        if are_turns:
            yield from _single_conversation(values, id_counts)
            continue
        for value in values:
            if isinstance(value, InputProblem):
                yield value
            else:
                yield from _conversation(value.data, f"conversation {value.number}", id_counts)


def _is_turn(value: Any) -> bool:
    return agent_records.is_turn(value) and ({"content", "tool_calls", "function_call"} & value.keys()) != set()


def _conversation(data: Any, where: str, id_counts: Counter[str]) -> Iterator[Record]:
    if not isinstance(data, dict):
        yield wrong_type(where, "conversation", data)
        return
    if title := first_text(data, "title", "name") or None:
        where += f" ({title})"
    turns = data.get("messages")
    if not isinstance(turns, list):
        yield InputProblem(where, "has no list of messages; skipped", harmless=is_whole(data))
        return
    identity = next((i for key in _IDS if (i := as_id(data.get(key))) and not i.isdecimal()), None)
    if identity is None and (problem := agent_records.damaged_opening(turns, where)):
        yield problem
        return
    session = agent_records.unique_id(
        identity or agent_records.made_id("openai", *agent_records.opening_turns(turns)), id_counts
    )
    started = next((data[key] for key in _TIMES if data.get(key)), None)
    created = read_time(started, UTC)
    if created is None and started is not None:
        yield agent_records.unreadable_time(where, started)
    model = data.get("model")
    yield SessionRecord(session, title, created, agent_records.model_of(model, as_dict(model).get("id")))
    yield from agent_records.turn_messages(session, turns, where)


def _single_conversation(
    values: Iterator[json_stream.JsonRecord | InputProblem], id_counts: Counter[str]
) -> Iterator[Record]:
    """The whole file as one conversation, whose id is made from its opening."""
    opening: list[Any] = []
    turns = (value if isinstance(value, InputProblem) else value.data for value in values)
    for turn in islice(turns, _MAX_OPENING_TURNS):
        opening.append(turn)
        if agent_records.role_of(as_text(as_dict(turn).get("role"))) == "assistant":
            break
    identity = agent_records.opening_turns([turn for turn in opening if isinstance(turn, dict)])
    session = agent_records.unique_id(agent_records.made_id("openai", *identity), id_counts)
    yield SessionRecord(session)
    yield from agent_records.turn_messages(session, chain(opening, turns), "conversation 1")
