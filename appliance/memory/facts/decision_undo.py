"""Takes back what a person decided about a fact: what was decided before is kept by the caller, and put back if
nothing else has changed since."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence, Set

import msgspec

from appliance.errors import UsageError
from appliance.lazy_dataclasses import dataclass
from appliance.memory.facts import extraction, phrasing, timeline
from appliance.store import statements as stated
from appliance.store.facts import FactRow, stored_facts
from appliance.store.statements import Decision


@dataclass(frozen=True, slots=True)
class SlotDecisions:
    """What a person decided about a slot. Of the digests ``known`` of its statements and values, ``rejected`` are those
    of rejected ones; both are sorted."""

    decisions: tuple[Decision, ...]
    known: tuple[bytes, ...]
    rejected: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class DecisionSnapshot:
    """What a person had decided at one time about some slots."""

    user_id: str
    namespace: str
    slots: Mapping[str, SlotDecisions]


def snapshot(db: sqlite3.Connection, row: FactRow, values: Sequence[str]) -> DecisionSnapshot:
    """Return what is decided about a fact's slot and about the slots of these values of its attribute."""
    fact = row.fact
    slots = [row.slot, *(timeline.slot_key(fact.subject, fact.kind, fact.attribute, value) for value in values)]
    named = {(fact.attribute, value) for value in values}
    return snapshot_slots(db, fact.user_id, fact.namespace, slots, named)


def snapshot_slots(
    db: sqlite3.Connection, user_id: str, namespace: str, slots: Iterable[str], named: Set[tuple[str, str]]
) -> DecisionSnapshot:
    """Return what is decided about slots. ``named`` are attributes and values that a decision is about to name."""
    scope = (user_id, namespace)
    known = {slot: _known_digests(db, *scope, slot, named) for slot in dict.fromkeys(slots)}
    return DecisionSnapshot(*scope, {slot: _read(db, *scope, slot, known[slot]) for slot in known})


def encode(before: DecisionSnapshot, after: DecisionSnapshot) -> bytes:
    """Return both as bytes for ``decode``; callers keep them and look at nothing in them."""
    return msgspec.json.encode((before, after))


def decode(data: bytes) -> tuple[DecisionSnapshot, DecisionSnapshot]:
    """
    Raises:
        UsageError: The bytes are not those of ``encode``.
    """
    try:
        return msgspec.json.decode(data, type=tuple[DecisionSnapshot, DecisionSnapshot])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError("These bytes take back no decision.", hint="Give what 'decide' returned.") from error


def restore(tx: sqlite3.Connection, before: DecisionSnapshot, after: DecisionSnapshot) -> None:
    """Put back what was decided before, where it is still as it was after.

    Raises:
        UsageError: It is not, or what was decided rests on a message that is gone.
    """
    scope = (after.user_id, after.namespace)
    for slot, decided in after.slots.items():
        if _read(tx, *scope, slot, decided.known) != decided:
            raise UsageError("The fact was changed since.", hint="Decide about it again.")
        lost = [one for one in before.slots[slot].decisions if one not in decided.decisions]
        stated_values = [statement.value for statement in extraction.slot_statements(tx, *scope, slot)]
        if any(one.how != "added" and not _is_among(one.value, stated_values) for one in lost):
            raise UsageError("What the fact rests on was forgotten.", hint="Add the fact by hand.")
    for slot, decided in before.slots.items():
        stated.replace_decisions(tx, *scope, slot, decided.decisions)
        stated.unreject_digests(tx, *scope, {*after.slots[slot].rejected} - {*decided.rejected})
        stated.reject_digests(tx, *scope, {*decided.rejected} - {*after.slots[slot].rejected})


def _read(db: sqlite3.Connection, user_id: str, namespace: str, slot: str, known: Sequence[bytes]) -> SlotDecisions:
    rejected = stated.rejected_digests(db, user_id, namespace, known)
    decisions = stated.decisions(db, user_id, namespace, slot)
    return SlotDecisions(tuple(decisions), tuple(known), tuple(sorted(rejected)))


def _known_digests(
    db: sqlite3.Connection, user_id: str, namespace: str, slot: str, also_named: Set[tuple[str, str]]
) -> list[bytes]:
    """The digests by which statements and values of a slot can be rejected."""
    statements = extraction.slot_statements(db, user_id, namespace, slot)
    named = {(one.attribute, one.value) for one in statements} | also_named
    named |= {(one.attribute, one.value) for one in stated.decisions(db, user_id, namespace, slot)}
    named |= {(one.derived.attribute, one.derived.value) for one in stored_facts(db, (user_id, namespace, slot))}
    digests = {one.digest for one in statements} | {timeline.value_digest(slot, *one) for one in named}
    return sorted(digests)


def _is_among(value: str, values: Iterable[str]) -> bool:
    return any(phrasing.is_same_value(value, other) for other in values)
