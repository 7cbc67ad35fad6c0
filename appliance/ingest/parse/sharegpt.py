"""ShareGPT: ``{id, conversations: [{from, value}]}``, a list of such, or one a line.

There are no times; a turn's number in its conversation is what it is known by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from appliance.ingest.parse import jsonstream, pieces
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_text
from appliance.ingest.parse.salvage import is_whole
from appliance.types import Problem, Record, SessionRecord

_FIRST_KEYS = (("id", "conversations"), ("id", "items"), ("conversations", "system"))
_LISTS = ("conversations", "conversation", "items")


def matches(head: Head) -> float:
    """How surely these are conversations of turns with ``from`` and ``value``."""
    best = 0.0
    for record in jsonstream.preview(head.text):
        for turn in _turns(record) or ():
            if {"from", "value"} <= as_dict(turn).keys():
                best = max(best, 0.95 if pieces.is_turn(turn) else 0.7)
    return best


def parse(document: Document) -> Iterator[Record]:
    """The conversations, one at a time."""
    taken: Counter[str] = Counter()
    for value in jsonstream.records(document, _FIRST_KEYS):
        if isinstance(value, Problem):
            yield value
        else:
            yield from _conversation(value.data, f"conversation {value.number}", taken)


def _turns(record: Any) -> list[Any] | None:
    given = as_dict(record)
    return next((given[key] for key in _LISTS if isinstance(given.get(key), list)), None)


def _conversation(data: Any, where: str, taken: Counter[str]) -> Iterator[Record]:
    if not isinstance(data, dict):
        yield Problem(where, f"not a conversation but a {type(data).__name__}; passed over")
        return
    given = _turns(data)
    if given is None:
        yield Problem(where, "has no messages (no conversations); passed over", harmless=is_whole(data))
        return
    identity = as_id(data.get("id"))
    # A bare number says only the place in the file, and every file has those.
    if identity is None or identity.isdecimal():
        identity = pieces.made_id("sharegpt", *pieces.opening(given))
    elif identity in taken:
        yield Problem(where, f"the id {identity} is there twice; taken as two conversations", harmless=True)
    session = pieces.numbered(identity, taken)
    yield SessionRecord(session, as_text(data.get("title")) or None, None, pieces.model_of(data.get("model")))
    prompt = as_text(data.get("system")) or as_text(data.get("system_prompt"))
    if prompt.strip():
        yield pieces.system_prompt(session, prompt, where)
    yield from pieces.listed(session, given, where)
