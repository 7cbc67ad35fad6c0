"""From messages to facts: pages of unread messages become statements, and the slots that a page touched become
facts.

A page is one transaction. Reading a page twice changes nothing: the statements of a message replace its earlier
ones, and facts follow from statements alone."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date

from appliance import timestamps
from appliance.memory.facts import changes, phrasing, timeline
from appliance.memory.facts.rule_extractor import FactMention, extract_statements
from appliance.secrets.masking import shares_secret
from appliance.store import facts as store
from appliance.store import people
from appliance.store import statements as stated
from appliance.store.database import Database
from appliance.store.facts import DerivedFact, PersistedFact
from appliance.store.sql import from_json
from appliance.store.statements import Decision, PendingStatements, Statement
from appliance.types import LOCAL

PAGE_MESSAGES = 500  # messages of one transaction: at most a quarter of a second, so that no ``add`` waits long
# Pages after which facts are derived from what was read: a slot with many statements is not derived for every page.
PAGES_PER_DERIVATION = 20
PAGE_SLOTS = 100

# Facts are taken only from sessions that share their messages with other sessions.
_SHARED_SCOPES = ("all", "conversational")


def extract_pending(
    database: Database, owner: str, name: str, should_continue: Callable[[], bool], max_messages: int | None = None
) -> int:
    """Read the unread messages and derive the facts that follow.

    Args:
        owner: The configured user.
        name: What the owner is called in chats among people.
        max_messages: The most messages that this call reads.

    Returns:
        The number of messages read.
    """
    done = pages = 0
    while should_continue() and (max_messages is None or done < max_messages):
        page = stated.pending_messages(database.read(), PAGE_MESSAGES)
        if not page:
            break
        _extract_page(database, page, owner, name)
        done, pages = done + len(page), pages + 1
        if pages % PAGES_PER_DERIVATION == 0:
            derive_stale_facts(database, should_continue)
    derive_stale_facts(database, should_continue)
    return done


def _extract_page(database: Database, page: Sequence[PendingStatements], owner: str, name: str) -> None:
    db = database.read()
    sessions = dict.fromkeys(message.session for message in page)
    participants = {session: stated.participants(db, session) for session in sessions}
    own = people.own_authors(db, sessions)
    statements = {
        message.id: list(
            _message_statements(
                message, *participants[message.session], owner, name, own.get((message.session, message.author or ""))
            )
        )
        for message in page
    }
    with database.write() as tx:
        for message in stated.unchanged(tx, page):
            stated.replace_statements(tx, message, statements[message.id])
        for session, (assistant, authors) in participants.items():
            stated.note_participants(tx, session, assistant, authors)


def derive_stale_facts(database: Database, should_continue: Callable[[], bool] = lambda: True) -> None:
    """Derive the facts of all stale slots again, a page of slots a transaction."""
    while should_continue() and not stated.is_up_to_date(database.read()):
        with database.write() as tx:
            derive_stale_page(tx)


def retract_facts(tx: sqlite3.Connection, stated_values: Iterable[tuple[str, str, str, str]]) -> None:
    """Withdraw what rests on erased messages only.

    ``stated_values`` are the values that these messages stated, as (user, namespace, slot, value). A value that no
    other message states is withdrawn even if the person has confirmed it; what the person added stays."""
    by_slot: dict[tuple[str, str, str], list[str]] = {}
    for user_id, namespace, slot, value in stated_values:
        by_slot.setdefault((user_id, namespace, slot), []).append(value)
    for (user_id, namespace, slot), values in by_slot.items():
        remaining_values = [statement.value for statement in slot_statements(tx, user_id, namespace, slot)]
        unsupported = [
            decision
            for decision in stated.decisions(tx, user_id, namespace, slot)
            if any(phrasing.is_same_value(decision.value, value) for value in values)
            and not any(phrasing.is_same_value(decision.value, value) for value in remaining_values)
        ]
        _reject_corrected(tx, (user_id, namespace, slot), unsupported)
        stated.withdraw_decisions(tx, user_id, namespace, slot, [decision.value for decision in unsupported])
    while not stated.is_up_to_date(tx):
        derive_stale_page(tx)


def remove_facts(tx: sqlite3.Connection, facts: Collection[int]) -> None:
    """Remove facts, with what the person decided about their values. What the person had corrected does not come
    back."""
    for user_id, namespace, slot, value in stated.values_of_facts(tx, facts):
        decided = [one for one in stated.decisions(tx, user_id, namespace, slot) if one.value == value]
        _reject_corrected(tx, (user_id, namespace, slot), decided)
    stated.remove_facts(tx, facts)


def _reject_corrected(tx: sqlite3.Connection, scope: tuple[str, str, str], decisions: Iterable[Decision]) -> None:
    """Reject the values of a slot that these decisions corrected: the decisions go, and the values stay wrong."""
    user_id, namespace, slot = scope
    for decision in decisions:
        if decision.how != "corrected":
            continue
        earlier = [one for one in slot_statements(tx, *scope) if timeline.was_known(one, decision)]
        wrong = [one for one in earlier if not phrasing.is_same_value(one.value, decision.value)]
        values = {(one.attribute, one.value) for one in wrong}
        before = [one for one in stated.decisions(tx, *scope) if one.at < decision.at]
        values |= {(one.attribute, one.value) for one in before if one.value != decision.value}
        digests = {one.digest for one in wrong} | {timeline.value_digest(slot, *one) for one in values}
        stated.reject_digests(tx, user_id, namespace, sorted(digests))


def derive_stale_page(tx: sqlite3.Connection) -> None:
    """Derive the facts of one page of stale slots again, and of those that the same changes may mean."""
    stale: dict[tuple[str, str], list[str]] = {}
    for user_id, namespace, slot in stated.stale_slots(tx, PAGE_SLOTS):
        stale.setdefault((user_id, namespace), []).append(slot)
    attributes = sorted(changes.CHANGEABLE)
    for scope, slots in stale.items():
        due = dict.fromkeys(slots)
        resolution = changes.NOTHING_CHANGED
        if timeline.CHANGE_SLOT in due:
            resolution = resolve_changes(tx, *scope)
            changed = stated.changed_slots(tx, *scope, attributes, timeline.CHANGE_SLOT)
            due |= dict.fromkeys(sorted({*changed, *resolution.statements}))
        else:
            known = stated.changeable_slots(tx, *scope, attributes, timeline.CHANGE_SLOT)
            if not known.isdisjoint(slots):
                resolution = resolve_changes(tx, *scope)
                due |= dict.fromkeys(sorted(resolution.related(set(slots), {*known, *resolution.statements})))
        for slot in due:
            _derive_slot(tx, (*scope, slot), resolution)


def _derive_slot(tx: sqlite3.Connection, scope: tuple[str, str, str], resolution: changes.Resolution) -> None:
    user_id, namespace, slot = scope
    statements = [] if slot == timeline.CHANGE_SLOT else stated.statements(tx, *scope)
    statements += resolution.of(slot)
    decisions = stated.decisions(tx, *scope)
    digests = {statement.digest for statement in statements}
    named = {(one.attribute, one.value) for one in statements} | {(one.attribute, one.value) for one in decisions}
    digests |= {timeline.value_digest(slot, *one) for one in named}
    rejected = stated.rejected_digests(tx, user_id, namespace, sorted(digests))
    derived = timeline.derive(statements, decisions, rejected)
    before = store.stored_facts(tx, scope)
    store.replace_slot(tx, scope, derived, before, _match_ids(derived, before))


def resolve_changes(db: sqlite3.Connection, user_id: str, namespace: str) -> changes.Resolution:
    """Return what the changes that a user's messages tell of mean for facts."""
    told = stated.statements(db, user_id, namespace, timeline.CHANGE_SLOT)
    if not told:
        return changes.NOTHING_CHANGED
    return changes.resolve(told, _changeable(db, user_id, namespace, told))


def _changeable(db: sqlite3.Connection, user_id: str, namespace: str, told: Sequence[Statement]) -> list[Statement]:
    """The statements and decisions about what a message can take back or move; ``told`` are those that do."""
    attributes = sorted(changes.CHANGEABLE)
    statements = stated.changeable_statements(db, user_id, namespace, attributes, timeline.CHANGE_SLOT)
    known = [*told, *statements]
    decided = [
        (timeline.value_digest(slot, one.attribute, one.value), timeline.decision_statement(one, slot, known))
        for slot, one in stated.changeable_decisions(db, user_id, namespace, attributes)
    ]
    rejected = stated.rejected_digests(db, user_id, namespace, sorted({digest for digest, _ in decided}))
    return [*statements, *(statement for digest, statement in decided if digest not in rejected)]


def meant_facts(
    db: sqlite3.Connection, user_id: str, namespace: str, change: FactMention
) -> tuple[list[Statement], list[Statement]]:
    """Return the statements that follow if the person says now that something is taken back or moved: those that are
    certain, and those that may be meant."""
    now = timestamps.now()
    said = Statement(
        message=0, slot=timeline.CHANGE_SLOT, kind=change.kind, subject=change.subject, attribute=change.attribute,
        value=change.value, mode=change.mode, confidence=1.0, since=None, until=None, start=0, stop=0,
        made_by=timeline.PERSON, by_model=False, digest=b"said now", order_at=now, at=now,
        said_at=timestamps.iso_from_microseconds(now),
    )  # fmt: skip
    told = stated.statements(db, user_id, namespace, timeline.CHANGE_SLOT)
    statements = _changeable(db, user_id, namespace, told)
    said = replace(said, order_at=max([now, *(statement.order_at for statement in statements)]))
    resolution = changes.resolve([*told, said], statements)
    meant = [one for statements in resolution.statements.values() for one in statements if one.made_by == said.made_by]
    doubted = [one for one in meant if one.mode in (timeline.DOUBTED_END, timeline.PROPOSED)]
    return [one for one in meant if one not in doubted], doubted


def slot_statements(db: sqlite3.Connection, user_id: str, namespace: str, slot: str) -> list[Statement]:
    """Return all statements of messages from which the facts of a slot follow."""
    statements = stated.statements(db, user_id, namespace, slot)
    return [*statements, *resolve_changes(db, user_id, namespace).of(slot)]


def _match_ids(derived: Sequence[DerivedFact], stored: Sequence[PersistedFact]) -> dict[int, int]:
    """The ids of stored facts that derived facts keep, by the number of the derived fact. A fact keeps the id of an
    equal value: by the first evidence that both have, else in their order."""
    by_evidence: dict[tuple[object, ...], int] = {}
    by_value: dict[tuple[object, ...], list[int]] = {}
    for row in reversed(stored):
        fact = row.derived
        by_value.setdefault(_identity_key(fact), []).append(row.id)
        by_evidence.update({(fact.attribute, fact.ends, message): row.id for message, _, _ in fact.evidence})
    ids: dict[int, int] = {}
    taken: set[int] = set()
    values = {row.id: row.derived.value for row in stored}
    for number, fact in enumerate(derived):
        for message, _, _ in fact.evidence:
            key = by_evidence.get((fact.attribute, fact.ends, message))
            if key is not None and key not in taken and phrasing.is_same_value(values[key], fact.value):
                ids[number] = key
                taken.add(key)
                break
    for number, fact in enumerate(derived):
        candidates = by_value.get(_identity_key(fact), []) if number not in ids else []
        while candidates:
            key = candidates.pop()
            if key not in taken:
                ids[number] = key
                taken.add(key)
                break
    return ids


def _identity_key(fact: DerivedFact) -> tuple[object, ...]:
    return fact.attribute, fact.ends, phrasing.normalize_value(fact.value)


def is_own_message(
    message: PendingStatements, assistant: bool, authors: int, owner: str, name: str, is_me: bool | None = None
) -> bool:
    """Whether the user wrote a message. In a conversation with an assistant, the user wrote all messages of their role;
    among people, the user is recognized as a person (``is_me``, None where the author is not known as one), or by
    name."""
    if message.role != "user" or not message.conversational or message.scope not in _SHARED_SCOPES:
        return False
    if '"deleted":true' in message.metadata and from_json(message.metadata).get("deleted"):
        return False
    if message.author is None or is_me:
        return True
    author = _normalize_name(message.author)
    if author == _normalize_name(message.user_id) or (
        message.user_id == owner and name and author == _normalize_name(name)
    ):
        return True
    return authors < stated.MAX_COUNTED_AUTHORS and (assistant or message.format == LOCAL)


def _normalize_name(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())


def to_statements(
    message: PendingStatements, found: Iterable[FactMention], model: str | None = None
) -> Iterable[Statement]:
    """Yield the facts found in a message in the form in which they are stored, but for those that say a secret;
    ``model`` is the model that found them."""
    for mention in found:
        if shares_secret(mention.value, message.text):
            continue
        slot = timeline.slot_key(mention.subject, mention.kind, mention.attribute, mention.value)
        if changes.is_change(mention):
            slot = timeline.CHANGE_SLOT
        quote = message.text[mention.start : mention.end]
        yield Statement(
            message=message.id, slot=slot, kind=mention.kind, subject=mention.subject, attribute=mention.attribute,
            value=mention.value, mode=mention.mode, confidence=mention.confidence, since=mention.since,
            until=mention.until, start=mention.start, stop=mention.end, made_by=model or mention.rule,
            by_model=model is not None,
            digest=timeline.statement_digest(slot, mention.attribute, mention.value, quote, message.sent_at),
        )  # fmt: skip


def _message_statements(
    message: PendingStatements, assistant: bool, authors: int, owner: str, name: str, is_me: bool | None
) -> Iterable[Statement]:
    if not is_own_message(message, assistant, authors, owner, name, is_me):
        return
    found = extract_statements(message.text, sent_date(message.sent_at))
    among_people = not assistant and (
        authors >= stated.MAX_COUNTED_AUTHORS or (message.format != LOCAL and message.author is not None)
    )
    # Among people an instruction is meant for one of them, not for an assistant.
    yield from to_statements(message, [item for item in found if not among_people or item.kind != "instruction"])


def sent_date(sent_at: str | None) -> date | None:
    """Return the day on which a message was sent; None where it is not known."""
    try:
        return date.fromisoformat(sent_at[:10]) if sent_at else None
    except ValueError:
        return None
