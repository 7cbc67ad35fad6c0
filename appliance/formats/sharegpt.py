"""ShareGPT: ``{id, conversations: [{from, value}]}``, as a list or one per line.

The format has no times; a turn's id is its number in the conversation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from appliance.formats import agent_records, json_stream
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_text, first_text
from appliance.formats.records import parse_objects
from appliance.formats.salvage import is_whole
from appliance.types import InputProblem, Record, SessionRecord

_FIRST_KEYS = (("id", "conversations"), ("id", "items"), ("conversations", "system"))
_LISTS = ("conversations", "conversation", "items")


def matches(head: DocumentHead) -> float:
    """The confidence that these are conversations of turns with ``from`` and ``value``."""
    best = 0.0
    for record in json_stream.preview(head.text):
        for turn in _turns(record) or ():
            if {"from", "value"} <= as_dict(turn).keys():
                best = max(best, 0.95 if agent_records.is_turn(turn) else 0.7)
    return best


def parse(document: Document) -> Iterator[Record]:
    return parse_objects(document, _FIRST_KEYS, "conversation", partial(_conversation, Counter()))


def _turns(record: Any) -> list[Any] | None:
    fields = as_dict(record)
    return next((fields[key] for key in _LISTS if isinstance(fields.get(key), list)), None)


def _conversation(id_counts: Counter[str], data: dict[str, Any], where: str) -> Iterator[Record]:
    turns = _turns(data)
    if turns is None:
        yield InputProblem(where, "has no messages; skipped", harmless=is_whole(data))
        return
    identity = as_id(data.get("id"))
    # A number is only the place in the file, which is not unique between files.
    if identity is None or identity.isdecimal():
        identity = agent_records.made_id("sharegpt", *agent_records.opening_turns(turns))
    elif identity in id_counts:
        yield InputProblem(where, f"the id {identity} occurs twice; imported as two conversations", harmless=True)
    session = agent_records.unique_id(identity, id_counts)
    yield SessionRecord(session, as_text(data.get("title")) or None, None, agent_records.model_of(data.get("model")))
    prompt = first_text(data, "system", "system_prompt")
    if prompt.strip():
        yield agent_records.system_prompt(session, prompt, where)
    yield from agent_records.turn_messages(session, turns, where)
