"""ShareGPT: ``{id, conversations: [{from, value}]}``, as a list or one per line.

The format has no times; a turn's id is its number in the conversation. The first exports hold answers as the HTML of
the page; it becomes text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from appliance.formats import agent_records, json_stream, markup
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_text, first_text
from appliance.formats.records import parse_objects
from appliance.formats.salvage import is_whole
from appliance.types import InputProblem, Record, SessionRecord

_FIRST_KEYS = (("id", "conversations"), ("id", "items"), ("conversations", "system"))
_BLOCKS = "div|p|pre|ol|ul|h[1-6]|table|blockquote"
# A counter of the page's versions of an answer stands before its HTML.
_HTML = re.compile(rf"\s*(?:\d+ / \d+\s*)?(<(?:{_BLOCKS})\b[^>]*>.*</(?:{_BLOCKS})>)\s*", re.DOTALL)
_PAGE_MARKUP = re.compile(r"""<div\b[^>]*\bclass=["'][^"']*\b(?:markdown|prose|whitespace-pre-wrap)\b""")
_BUTTON = re.compile(r"<(button|svg)\b.*?</\1>", re.DOTALL)
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
        if problem := agent_records.damaged_opening(turns, where):
            yield problem
            return
        identity = agent_records.made_id("sharegpt", *agent_records.opening_turns(turns))
    elif identity in id_counts:
        yield InputProblem(where, f"the id {identity} occurs twice; imported as two conversations", harmless=True)
    session = agent_records.unique_id(identity, id_counts)
    yield SessionRecord(session, as_text(data.get("title")) or None, None, agent_records.model_of(data.get("model")))
    prompt = first_text(data, "system", "system_prompt")
    if prompt.strip():
        yield agent_records.system_prompt(session, prompt, where)
    yield from agent_records.turn_messages(session, _without_html(turns), where)


def _without_html(turns: list[Any]) -> list[Any]:
    """The turns, with the HTML of the page as text. A conversation was copied from a page if its answers are HTML; what
    a person or a model says about HTML stays as it is."""
    values = [(as_text(as_dict(turn).get("from")), as_text(as_dict(turn).get("value"))) for turn in turns]
    answers = [value for who, value in values if agent_records.role_of(who) == "assistant" and value.strip()]
    is_page = bool(answers) and all(_HTML.fullmatch(answer) for answer in answers)
    return [
        turn | {"value": markup.text_of(_BUTTON.sub("", found[1]))}
        if (found := _HTML.fullmatch(value)) and (is_page or _PAGE_MARKUP.match(found[1]))
        else turn
        for turn, (_, value) in zip(turns, values, strict=True)
    ]
