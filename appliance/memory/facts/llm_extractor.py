"""Facts from a local model. The model proposes, and the program checks.

A fact is dropped if its quote does not stand in the message word for word, if the quote is a question, a condition or
the words of others, or if the fact has a name or a number that the message does not have.

The facts carry the model's name. They are less certain than the facts of a rule, which win over them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from appliance.memory.facts import extraction, phrasing
from appliance.memory.facts.rule_extractor import FactMention, is_stated
from appliance.runtime.decoding import convert
from appliance.store import statements as stated
from appliance.store.database import Database
from appliance.store.statements import PendingStatements
from appliance.types import FactKind

Complete = Callable[[Sequence[Mapping[str, str]]], str]  # answers a chat of ``role`` and ``content``

MODEL_CONFIDENCE = 0.5  # less than any rule's
PAGE_MESSAGES = 8  # messages shown to the model at once
MAX_MESSAGE_CHARACTERS = 4_000  # characters of a message that are shown; its quotes must come from these
MAX_VALUE_CHARACTERS = 200
_NAME_OR_NUMBER = re.compile(r"\b[A-ZÄÖÜÁÉÍÓÚÑ]\w+|\d+")

PROMPT = (
    "You read messages of one person to an assistant and list lasting facts that the person states about themselves,"
    " their people, their projects, plans, wishes, tools, dates, preferences, and standing instructions. Leave out"
    " questions, hypotheticals, quotations, role play and facts about strangers. Answer with a JSON list only. Each"
    " item:"
    ' {"message": number, "quote": words copied exactly from that message, "kind": one of profile, relation,'
    ' preference, date, tool, project, instruction, "subject": "me" or a name,'
    ' "attribute": a word or two, "value": the value}.'
    " An empty list if there is nothing."
)


class _ProposedFact(msgspec.Struct):
    message: int
    quote: str
    kind: FactKind
    subject: str
    attribute: str
    value: str


def propose_facts(complete: Complete, texts: Sequence[str]) -> list[list[FactMention]]:
    """Return what a model finds in each of the texts. A proposal counts only if it quotes its text word for word.

    An answer that is no list of facts yields nothing. Whatever ``complete`` raises is passed on."""
    shown = "\n\n".join(f"[{number}] {text[:MAX_MESSAGE_CHARACTERS]}" for number, text in enumerate(texts))
    answer = complete([{"role": "system", "content": PROMPT}, {"role": "user", "content": shown}])
    found: list[list[FactMention]] = [[] for _ in texts]
    for item in _parse_items(answer):
        try:
            proposal = convert(item, _ProposedFact)
        except msgspec.ValidationError:
            continue
        if not 0 <= proposal.message < len(texts) or not _is_valid(proposal):
            continue
        start = texts[proposal.message][:MAX_MESSAGE_CHARACTERS].find(proposal.quote)
        if start < 0:
            continue
        text = texts[proposal.message]
        if not is_stated(text, start, start + len(proposal.quote)) or not _is_in(proposal, text):
            continue
        subject, attribute, value = proposal.subject.strip(), proposal.attribute.strip().lower(), proposal.value.strip()
        end = start + len(proposal.quote)
        found[proposal.message].append(
            FactMention(proposal.kind, subject, attribute, value, "holds", MODEL_CONFIDENCE, start, end, "model")
        )
    return found


def _is_in(proposal: _ProposedFact, text: str) -> bool:
    """Whether a message has the names and numbers of a fact, and whom it is about."""
    said = text.casefold()
    subject = proposal.subject.strip()
    if subject != phrasing.USER_SUBJECT and subject.casefold() not in said:
        return False
    return all(word.casefold() in said for word in _NAME_OR_NUMBER.findall(proposal.value))


def _is_valid(proposal: _ProposedFact) -> bool:
    words = (proposal.quote, proposal.subject, proposal.attribute, proposal.value)
    return all(text.strip() and len(text) <= MAX_VALUE_CHARACTERS for text in words)


def _parse_items(answer: str) -> list[object]:
    """The JSON list in an answer, whatever stands around it."""
    start, end = answer.find("["), answer.rfind("]")
    if start < 0 or end < start:
        return []
    try:
        items = msgspec.json.decode(answer[start : end + 1])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return []
    return items if isinstance(items, list) else []


def extract_page(
    database: Database,
    complete: Complete,
    name: str,
    should_continue: Callable[[], bool],
    is_own_message: Callable[[PendingStatements], bool],
) -> int:
    """Have a model read the next messages that it has not read yet.

    Returns:
        The number of messages read.
    """
    page = stated.without_model_reading(database.read(), PAGE_MESSAGES)
    if not page or not should_continue():
        return 0
    own_messages = [message for message in page if is_own_message(message)]
    found = propose_facts(complete, [message.text for message in own_messages]) if own_messages else []
    with database.write() as tx:
        unchanged_ids = {message.id for message in stated.unchanged(tx, own_messages)}
        for message, mentions in zip(own_messages, found, strict=True):
            if message.id in unchanged_ids:
                statements = extraction.to_statements(message, mentions, name)
                stated.add_statements(tx, message.user_id, message.namespace, statements)
        stated.mark_read_by_model(tx, [message.id for message in page])
        extraction.derive_stale_page(tx)
    return len(page)
