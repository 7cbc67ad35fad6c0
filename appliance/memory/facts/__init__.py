"""The facts about a person, with their evidence.

Rules read what the person writes (``rule_extractor``), facts follow from that and from what the person decides
(``timeline``), and the database holds both (``store.facts``). Unread messages are read before a call answers."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import get_args

from appliance import requests as r
from appliance import timestamps
from appliance.errors import HomeReadOnly, StoreCorrupt, UsageError, check_unicode
from appliance.memory.facts import changes, decision_undo, extraction, llm_extractor, phrasing, timeline
from appliance.memory.facts.rule_extractor import FactMention, extract_statements
from appliance.store import facts as store
from appliance.store import people
from appliance.store import statements as stated
from appliance.store.database import Database
from appliance.store.facts import FactRow
from appliance.store.messages import message_id
from appliance.store.statements import Decision, PendingStatements
from appliance.types import Fact, FactAddition, FactChange, FactKind, FactState, Scope
from appliance.types.labels import NOTE_ATTRIBUTE

# Messages read before an answer, about a second's work; the background reads a large import.
MAX_MESSAGES_BEFORE_ANSWER = 20_000
# A call waits so long for extraction in the background, then answers with what is known so far.
LOCK_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class FactsContext:
    """What facts need of the engine. ``owner`` is the configured user, ``name`` what the owner is called in chats;
    ``refresh_people`` brings the people up to date, by whom the user's own messages are known."""

    database: Database
    owner: str
    name: str
    refresh_people: Callable[[], object] = lambda: None


# Kind, subject, attribute, value, how it was added, since when.
_StatedFact = tuple[FactKind, str, str, str, str, str | None]


class FactService:
    """The facts of a memory. Ids are "f7"; the user is the configured one unless named."""

    def __init__(self, context: FactsContext) -> None:
        self._context = context
        self._lock = threading.Lock()

    def list(self, request: r.ListFactsRequest) -> Sequence[Fact]:
        """See ``ListFactsRequest``."""
        self._check_kind_and_state(request.kind, request.state)
        if request.as_of is not None and request.state is not None:
            raise UsageError(
                "The arguments state and as_of exclude each other.", hint="A state is that of the present."
            )
        at = timestamps.to_microseconds(timestamps.parse_as_of(request.as_of)) if request.as_of is not None else None
        states = () if at is not None else (request.state or "held",)
        scope = replace(self._scope(request.user_id, request.namespace), agent_id=request.agent_id)
        rows = store.query(self._read_up_to_date(), scope, states=states, kind=request.kind, at=at)
        return [row.fact for row in rows]

    def profile(self, request: r.ProfileRequest) -> Sequence[Fact]:
        """See ``ProfileRequest``."""
        order = {"instruction": 0, "profile": 1, "relation": 2, "date": 3, "project": 4, "tool": 5, "preference": 6}
        held = self.list(r.ListFactsRequest(request.user_id, request.namespace, agent_id=request.agent_id))
        latest = sorted(held, key=lambda fact: fact.said_at or "", reverse=True)
        return sorted(latest, key=lambda fact: (order.get(fact.kind, len(order)), -round(fact.confidence, 1)))

    def review(self, request: r.ReviewFactsRequest) -> Sequence[Fact]:
        """See ``ReviewFactsRequest``."""
        return self.list(r.ListFactsRequest(request.user_id, request.namespace, state="review"))

    def get(self, request: r.FactRequest) -> Fact:
        """See ``FactRequest``."""
        return self._row(request.id, request.user_id, request.namespace).fact

    def history(self, request: r.FactHistoryRequest) -> Sequence[Fact]:
        """See ``FactHistoryRequest``."""
        db = self._read_up_to_date()
        if request.attribute is None and store.fact_key(request.subject):
            row = self._row(request.subject, request.user_id, None)
            scope = Scope(row.fact.user_id, row.fact.namespace)
            return [row.fact for row in store.query(db, scope, slot=row.slot)]
        scope = self._scope(request.user_id, request.namespace)
        return [row.fact for row in store.query(db, scope, subject=request.subject, attribute=request.attribute)]

    def confirm(self, request: r.ConfirmFactRequest) -> Fact:
        """See ``ConfirmFactRequest``."""
        row = self._row(request.id, request.user_id, None)
        how, since = ("ended", None) if row.ends else ("confirmed", row.fact.since)
        return self._decide(row.fact, row.fact.value, how, since)

    def correct(self, request: r.CorrectFactRequest) -> Fact:
        """See ``CorrectFactRequest``."""
        row = self._row(request.id, request.user_id, None)
        fact, value = row.fact, _normalize_value(request.value)
        if timeline.slot_key(fact.subject, fact.kind, fact.attribute, value) != row.slot:
            # The attribute may have many values, and this one was wrong.
            self.reject(r.RejectFactRequest(request.id, user_id=request.user_id))
        return self._decide(fact, value, "corrected", fact.since)

    def reject(self, request: r.RejectFactRequest) -> Fact:
        """See ``RejectFactRequest``."""
        row = self._row(request.id, request.user_id, None)
        fact = row.fact
        scope = (fact.user_id, fact.namespace)
        cited_ids = {quote.message_id for quote in fact.evidence}
        with self._context.database.write() as tx:
            said = extraction.slot_statements(tx, *scope, row.slot)
            cited = [item for item in said if message_id(item.message) in cited_ids]
            if row.ends:  # that it ended is wrong, and the value is not
                cited, values = [item for item in cited if item.mode not in ("holds", "corrects")], set()
            else:
                values = {statement.value for statement in cited} | {fact.value}
            digests = [statement.digest for statement in cited]
            digests += [timeline.value_digest(row.slot, fact.attribute, value) for value in values]
            stated.reject_digests(tx, *scope, digests)
            # What was added by hand stays, rejected: without its decision it could not come back as it was.
            stated.withdraw_decisions(tx, *scope, row.slot, values if cited else ())
            extraction.derive_stale_page(tx)
        facts = [row.fact for row in store.query(self._read_up_to_date(), Scope(*scope), slot=row.slot)]
        return next((current for current in facts if current.id == request.id), replace(fact, state="rejected"))

    def decide(self, request: r.DecideFactRequest) -> FactChange:
        """See ``DecideFactRequest``."""
        id, value, user_id = request.id, request.value, request.user_id
        if (value is not None) != (request.decision == "correct"):
            raise UsageError("A value belongs to a correction, and only to it.")
        row = self._row(id, user_id, None)
        values = [row.fact.value, *([] if value is None else [_normalize_value(value)])]
        before = decision_undo.snapshot(self._context.database.read(), row, values)
        match request.decision:
            case "confirm":
                fact = self.confirm(r.ConfirmFactRequest(id, user_id=user_id))
            case "correct":
                fact = self.correct(r.CorrectFactRequest(id, value or "", user_id=user_id))
            case "reject":
                fact = self.reject(r.RejectFactRequest(id, user_id=user_id))
            case _:
                raise UsageError(f"There is no decision {request.decision!r}.", hint="Use confirm, correct or reject.")
        after = decision_undo.snapshot(self._context.database.read(), row, values)
        return FactChange(fact, decision_undo.encode(before, after))

    def undo(self, request: r.UndoFactRequest) -> Sequence[Fact]:
        """See ``UndoFactRequest``."""
        before, after = decision_undo.decode(request.undo)
        with self._context.database.write() as tx:
            decision_undo.restore(tx, before, after)
            extraction.derive_stale_page(tx)
        db, scope = self._read_up_to_date(), Scope(before.user_id, before.namespace)
        return [row.fact for slot in before.slots for row in store.query(db, scope, slot=slot)]

    def add(self, request: r.AddFactRequest) -> Sequence[Fact]:
        """See ``AddFactRequest``."""
        return self._add(request).facts

    def add_undoably(self, request: r.AddFactUndoablyRequest) -> FactAddition:
        """See ``AddFactUndoablyRequest``."""
        return self._add(request)

    def _add(self, request: r.AddFactRequest | r.AddFactUndoablyRequest) -> FactAddition:
        self._check_kind_and_state(request.kind, None)
        scope = self._scope(request.user_id, request.namespace)
        text, attribute, value = request.text, request.attribute, request.value
        if (text is None) == (attribute is None) or (attribute is None) != (value is None):
            raise UsageError("A fact needs either a text, or an attribute and its value.")
        stated_facts: list[_StatedFact]
        if attribute is not None and value is not None:
            words = (_normalize_value(request.subject), _normalize_value(attribute), _normalize_value(value))
            stated_facts = [(request.kind, *words, "added", None)]
        else:
            sentence = _normalize_value(text or "")
            _check_is_statement(sentence)
            mentions = [item for item in extract_statements(sentence, date.today()) if item.value]
            changed = [item for item in mentions if changes.is_change(item)]
            stated_facts = [
                (
                    item.kind,
                    item.subject,
                    item.attribute,
                    item.value,
                    "ended" if item.mode == "ended" else "added",
                    item.since,
                )
                for item in mentions
                if item not in changed
            ]
            for item in changed:
                stated_facts += self._meant(scope, item)
            stated_facts = stated_facts or [("note", request.subject, NOTE_ATTRIBUTE, sentence, "added", None)]
        slots = [timeline.slot_key(subject, kind, name, value) for kind, subject, name, value, _, _ in stated_facts]
        named = {(name, value) for _, _, name, value, _, _ in stated_facts}
        with self._context.database.write() as tx:
            before = decision_undo.snapshot_slots(tx, scope.user_id, scope.namespace, slots, named)
            for stated_fact in stated_facts:
                _add_decision(tx, scope, stated_fact)
            extraction.derive_stale_page(tx)
            after = decision_undo.snapshot_slots(tx, scope.user_id, scope.namespace, slots, named)
        db = self._read_up_to_date()
        facts = tuple(
            row.fact
            for slot in dict.fromkeys(slots)
            for row in store.query(db, scope, slot=slot)
            if row.fact.made_by == timeline.PERSON and row.fact.state in ("held", "ended")
        )
        return FactAddition(facts, decision_undo.encode(before, after))

    def _meant(self, scope: Scope, change: FactMention) -> Sequence[_StatedFact]:
        """What a person's word takes back or moves.

        Raises:
            UsageError: It may be one of several facts.
        """
        db = self._read_up_to_date()
        certain, doubted = extraction.meant_facts(db, scope.user_id, scope.namespace, change)
        if doubted:
            texts = ", ".join(
                phrasing.fact_sentence(one.subject, one.kind, one.attribute, one.value) for one in doubted
            )
            raise UsageError(
                f"It is not clear which fact is meant; nothing was changed. It may be: {texts}.",
                hint="Name it as the fact does, or reject the fact by its id.",
            )
        how = {"ended": "ended"}
        return [(one.kind, one.subject, one.attribute, one.value, how.get(one.mode, "added"), None) for one in certain]

    def extract_pending(
        self, should_continue: Callable[[], bool] = lambda: True, max_messages: int | None = None
    ) -> int:
        """Read messages that have not been read for facts, as a background job. Returns their number."""
        if not self._lock.acquire(timeout=LOCK_TIMEOUT_SECONDS):
            return 0  # another thread is reading a large backlog
        try:
            return extraction.extract_pending(
                self._context.database, self._context.owner, self._context.name, should_continue, max_messages
            )
        finally:
            self._lock.release()

    def pending(self, request: r.PendingFactsRequest) -> int:
        """See ``PendingFactsRequest``."""
        return stated.count_pending(self._context.database.read())

    def extract_with_model(
        self,
        complete: Callable[[Sequence[Mapping[str, str]]], str],
        name: str,
        should_continue: Callable[[], bool] = lambda: True,
    ) -> int:
        """Have a model read a page of messages that it has not read, the newest first. Returns their number.

        Args:
            complete: Answers a chat.
            name: Marks the facts that the model finds. What it cannot quote is left out.
        """
        context = self._context

        def is_own_message(message: PendingStatements) -> bool:
            db = context.database.read()
            own = people.own_authors(db, [message.session]).get((message.session, message.author or ""))
            participants = stated.participants(db, message.session)
            return extraction.is_own_message(message, *participants, context.owner, context.name, own)

        return llm_extractor.extract_page(context.database, complete, name, should_continue, is_own_message)

    def refresh(self) -> None:
        """Read as many unread messages as an answer may wait for."""
        self._read_up_to_date()

    def _read_up_to_date(self) -> sqlite3.Connection:
        """A connection, after as many unread messages have been read as an answer may wait for, or as a damaged
        page or a read-only home lets be read."""
        with suppress(StoreCorrupt, HomeReadOnly):
            self._context.refresh_people()
        db = self._context.database.read()
        if stated.has_pending(db) or not stated.is_up_to_date(db):
            with suppress(StoreCorrupt, HomeReadOnly):
                self.extract_pending(max_messages=MAX_MESSAGES_BEFORE_ANSWER)
        return db

    def _row(self, id: str, user_id: str | None, namespace: str | None) -> FactRow:
        scope = None if user_id is None else Scope(user_id, namespace or "")
        return store.get(self._read_up_to_date(), id, scope)

    def _decide(self, fact: Fact, value: str, how: str, since: str | None) -> Fact:
        scope = Scope(fact.user_id, fact.namespace)
        with self._context.database.write() as tx:
            slot = _add_decision(tx, scope, (fact.kind, fact.subject, fact.attribute, value, how, since))
            extraction.derive_stale_page(tx)
        facts = [row.fact for row in store.query(self._read_up_to_date(), scope, slot=slot)]
        states = ("ended",) if how == "ended" else ("held", "ended")  # a date may be past
        return next(item for item in reversed(facts) if item.state in states and item.made_by == timeline.PERSON)

    def _scope(self, user_id: str | None, namespace: str) -> Scope:
        return Scope(self._context.owner if user_id is None else user_id, namespace)

    @staticmethod
    def _check_kind_and_state(kind: str | None, state: str | None) -> None:
        for value, known, noun in ((kind, get_args(FactKind), "kind"), (state, get_args(FactState), "state")):
            if value is not None and value not in known:
                raise UsageError(f"There is no {noun} {value!r}.", hint=f"Use one of {', '.join(known)}.")


def _add_decision(tx: sqlite3.Connection, scope: Scope, stated_fact: _StatedFact) -> str:
    """Store a decision of the person; its value is not rejected any more, nor are the statements of a value that
    holds. Returns the slot."""
    kind, subject, attribute, value, how, since = stated_fact
    slot = timeline.slot_key(subject, kind, attribute, value)
    accepted = [timeline.value_digest(slot, attribute, value)]
    if how != "ended":
        accepted += [
            statement.digest
            for statement in extraction.slot_statements(tx, scope.user_id, scope.namespace, slot)
            if statement.mode in ("holds", "corrects")
            and statement.attribute == attribute
            and phrasing.is_same_value(statement.value, value)
        ]
    stated.unreject_digests(tx, scope.user_id, scope.namespace, accepted)
    decision = Decision(kind, subject, attribute, value, how, since, timestamps.now())
    stated.add_decision(tx, scope.user_id, scope.namespace, slot, decision)
    return slot


def _check_is_statement(sentence: str) -> None:
    """Raise UsageError for what states nothing: a question, a single word, or no words."""
    hint = "State it, such as 'I live in Berlin', or give an attribute and its value."
    if sentence.endswith("?"):
        raise UsageError("A question is not a fact; nothing was added.", hint=hint)
    if sum(any(map(str.isalnum, word)) for word in sentence.split()) < 2 and sentence.isascii():
        raise UsageError(f"{sentence!r} states nothing; nothing was added.", hint=hint)


def _normalize_value(text: str) -> str:
    plain = " ".join(text.split())
    if not plain:
        raise UsageError("A fact must not be empty.", hint="Give a text.")
    check_unicode(plain, repr(plain))
    return plain
