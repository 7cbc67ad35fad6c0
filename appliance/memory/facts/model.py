"""Facts by a local model: it proposes, and what it can't quote from the message word for word is left out.

Its facts are marked with its name and are less sure than a rule's, which wins over them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import get_args

import msgspec

from appliance.memory.facts import reading
from appliance.memory.facts.reader import Found
from appliance.store import statements as stated
from appliance.store.database import Database
from appliance.store.statements import Due
from appliance.types import FactKind

Complete = Callable[[Sequence[Mapping[str, str]]], str]
"""Answers a chat of ``role`` and ``content``."""

CONFIDENCE = 0.5
"""Of what a model found: less than any rule's."""

PAGE = 8
"""Messages that are shown to it at once."""

LONGEST = 4_000
"""Characters of a message that are shown; its quotes must be of these."""

LONGEST_VALUE = 200

PROMPT = (
    "You read messages of one person to an assistant and list lasting facts that the person states about themselves,"
    " their people, their projects, tools, dates, preferences, and standing instructions. Leave out questions, plans,"
    " wishes, hypotheticals, quotations, role play and facts about strangers. Answer with a JSON list only. Each item:"
    ' {"message": number, "quote": words copied exactly from that message, "kind": one of profile, relation,'
    ' preference, date, tool, project, instruction, "subject": "me" or a name,'
    ' "attribute": a word or two, "value": the value}.'
    " An empty list if there is nothing."
)


class _Proposed(msgspec.Struct):
    message: int
    quote: str
    kind: FactKind
    subject: str
    attribute: str
    value: str


def propose(complete: Complete, texts: Sequence[str]) -> list[list[Found]]:
    """What a model finds in texts, for each of them; only what quotes its text word for word.

    Whatever ``complete`` raises is passed on; an answer that is no list of facts finds nothing.
    """
    shown = "\n\n".join(f"[{number}] {text[:LONGEST]}" for number, text in enumerate(texts))
    answer = complete([{"role": "system", "content": PROMPT}, {"role": "user", "content": shown}])
    found: list[list[Found]] = [[] for _ in texts]
    for item in _items(answer):
        try:
            one = msgspec.convert(item, _Proposed)
        except msgspec.ValidationError:
            continue
        if not 0 <= one.message < len(texts) or not _is_sound(one):
            continue
        start = texts[one.message][:LONGEST].find(one.quote)
        if start < 0:
            continue
        found[one.message].append(
            Found(
                one.kind, one.subject.strip(), one.attribute.strip().lower(), one.value.strip(), "holds", CONFIDENCE,
                start, start + len(one.quote), "model",
            )
        )  # fmt: skip
    return found


def _is_sound(one: _Proposed) -> bool:
    words = (one.quote, one.subject, one.attribute, one.value)
    return all(text.strip() and len(text) <= LONGEST_VALUE for text in words) and one.kind in get_args(
        FactKind
    )


def _items(answer: str) -> list[object]:
    """The list in an answer, whatever stands around it."""
    start, end = answer.find("["), answer.rfind("]")
    if start < 0 or end < start:
        return []
    try:
        items = msgspec.json.decode(answer[start : end + 1])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return []
    return items if isinstance(items, list) else []


def read_page(
    database: Database,
    complete: Complete,
    name: str,
    goes_on: Callable[[], bool],
    speaks: Callable[[Due], bool],
) -> int:
    """Let a model read the next messages that it has not read; how many it was."""
    page = stated.unasked(database.read(), PAGE)
    if not page or not goes_on():
        return 0
    own = [one for one in page if speaks(one)]
    found = propose(complete, [one.text for one in own]) if own else []
    with database.write() as tx:
        kept = {one.id for one in stated.unchanged(tx, own)}
        for message, proposed in zip(own, found, strict=True):
            if message.id in kept:
                said = reading.statements_of(message, proposed, name)
                stated.add_statements(tx, message.user_id, message.namespace, said)
        stated.note_asked(tx, [one.id for one in page])
        reading.settle_page(tx)
    return len(page)
