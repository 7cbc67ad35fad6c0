"""Lines of ``{"messages": [{"role", "content"}]}``, as models are fine-tuned with, and plain lists of turns.

The common tongue of assistants' programs: a conversation as it is sent to a model. Read here is also
what some program wrote in that form with an id, a title or times of its own, and one conversation as a
list of ``{"role", "content"}``. A format that is known by more than that comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC
from itertools import chain, islice
from typing import Any

from appliance.ingest.parse import jsonstream, pieces
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.when import read_time
from appliance.types import Problem, Record, SessionRecord

_FIRST_KEYS = (("role", "content"), ("content", "role"))
_TURN = frozenset(
    (
        "role content name tool_calls tool_call_id function_call weight refusal audio annotations"
        " reasoning reasoning_content"
    ).split()
)
_TOLD = frozenset(("id", "timestamp", "created_at", "createdAt", "date", "model"))
_LINE = frozenset(("messages", "tools", "functions", "parallel_tool_calls", "tool_choice", "model"))
_IDS = ("id", "conversation_id", "conversationId", "session_id", "sessionId", "uuid", "chat_id")
_TIMES = ("created_at", "createdAt", "create_time", "created", "timestamp", "date")
# Turns that may stand before the first answer of a list that is one conversation.
_OPENING = 200


def matches(head: Head) -> float:
    """How surely these are conversations of ``role`` and ``content`` and nothing else."""
    best = 0.0
    records = jsonstream.preview(head.text)
    for record in records:
        given = as_dict(record)
        listed = [turn for turn in as_list(given.get("messages")) if isinstance(turn, dict)]
        if listed and all(_is_turn(turn) for turn in listed if is_whole(turn)):
            plain = given.keys() <= _LINE and all(turn.keys() <= _TURN for turn in listed)
            # Claude.ai writes its turns so at times, and calls the conversation by other keys.
            foreign = {"uuid", "created_at"} <= given.keys()
            best = max(best, 0.9 if plain else 0.4 if foreign else 0.6)
    bare = [record for record in records if isinstance(record, dict) and is_whole(record)]
    if bare and all(_is_turn(turn) for turn in bare):
        plain, told = (all(turn.keys() <= keys for turn in bare) for keys in (_TURN, _TURN | _TOLD))
        best = max(best, 0.8 if plain else 0.55 if told else 0.0)
    return best


def parse(document: Document) -> Iterator[Record]:
    """The conversations, one at a time; turns that stand by themselves are one conversation."""
    taken: Counter[str] = Counter()
    values = jsonstream.records(document, _FIRST_KEYS)
    for value in values:
        if isinstance(value, Problem):
            yield value
        elif _is_turn(value.data) and "messages" not in value.data:
            yield from _one(chain([value], values), taken)
        else:
            yield from _conversation(value.data, f"conversation {value.number}", taken)


def _is_turn(value: Any) -> bool:
    return pieces.is_turn(value) and ({"content", "tool_calls", "function_call"} & value.keys()) != set()


def _conversation(data: Any, where: str, taken: Counter[str]) -> Iterator[Record]:
    if not isinstance(data, dict):
        yield Problem(where, f"not a conversation but a {type(data).__name__}; passed over")
        return
    if title := as_text(data.get("title")) or as_text(data.get("name")) or None:
        where += f" ({title})"
    given = data.get("messages")
    if not isinstance(given, list):
        yield Problem(where, "has no messages (no list of them); passed over", harmless=is_whole(data))
        return
    identity = next((i for key in _IDS if (i := as_id(data.get(key))) and not i.isdecimal()), None)
    session = pieces.numbered(identity or pieces.made_id("openai", *pieces.opening(given)), taken)
    started = next((data[key] for key in _TIMES if data.get(key)), None)
    created = read_time(started, UTC)
    if created is None and started is not None:
        yield pieces.unreadable(where, started)
    model = data.get("model")
    yield SessionRecord(session, title, created, pieces.model_of(model, as_dict(model).get("id")))
    yield from pieces.listed(session, given, where)


def _one(values: Iterator[jsonstream.Value | Problem], taken: Counter[str]) -> Iterator[Record]:
    """The whole file as one conversation. Its opening is held, as it is known by that."""
    held: list[Any] = []
    given = (value if isinstance(value, Problem) else value.data for value in values)
    for turn in islice(given, _OPENING):
        held.append(turn)
        if pieces.role_of(as_text(as_dict(turn).get("role"))) == "assistant":
            break
    opening = pieces.opening([turn for turn in held if isinstance(turn, dict)])
    session = pieces.numbered(pieces.made_id("openai", *opening), taken)
    yield SessionRecord(session)
    yield from pieces.listed(session, chain(held, given), "conversation 1")
