"""What is known of a person: facts with their evidence, as a program and the command line hold them.

Rules read what the person says (``reader``), facts follow from that and from what the person decides (``timeline``),
and both are kept in the truth (``store.facts``). What has not been read yet is read before anything is answered."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import get_args

from appliance import moments
from appliance.errors import UsageError
from appliance.memory.facts import model, reading, timeline, wording
from appliance.memory.facts.reader import read
from appliance.store import facts as store
from appliance.store import statements as stated
from appliance.store.database import Database
from appliance.store.facts import Row
from appliance.store.messages import message_id
from appliance.store.statements import Decision
from appliance.types import Fact, FactKind, FactState, Scope

MOST_BEFORE_ANSWER = 20_000
"""Messages that are read before an answer, about a second's work; a large import is left to the background."""

PATIENCE = 5.0
"""Seconds that an answer waits for a reading in the background; after that it says what is known so far."""

NOTE = "note"
"""The attribute of what the person adds and no rule understands."""


@dataclass(frozen=True, slots=True)
class Host:
    """What facts need of the engine that they live in: ``owner`` is the configured user, ``name`` what that person is
    called in chats among people."""

    database: Database
    owner: str
    name: str


_Told = tuple[FactKind, str, str, str, str, str | None]
"""Kind, subject, attribute, value, how it was told, since when."""


class Facts:
    """The facts of a memory. Ids are "f7"; a user is the configured one unless named."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = threading.Lock()

    # --- what is known --------------------------------------------------------------------------------

    def list(
        self,
        user_id: str | None = None,
        namespace: str = "",
        *,
        kind: FactKind | None = None,
        state: FactState | None = None,
        as_of: str | date | datetime | None = None,
        agent_id: str | None = None,
    ) -> Sequence[Fact]:
        """What holds now, the latest said last; in another ``state`` if one is named; or what held ``as_of`` a day
        (its end) or a moment, as far as is known today. ``agent_id`` narrows to what was said in sessions in which
        that agent takes part, and what was added by hand.

        Raises:
            UsageError: no such kind or state, a date that is none, or both ``state`` and ``as_of``.
        """
        self._check(kind, state)
        if as_of is not None and state is not None:
            raise UsageError("a state is of now: it can't be asked for together with another time")
        at = moments.microseconds(moments.asked(as_of)) if as_of is not None else None
        states = () if at is not None else (state or "held",)
        scope = replace(self._scope(user_id, namespace), agent_id=agent_id)
        rows = store.of(self._read(), scope, states=states, kind=kind, at=at)
        return [row.fact for row in rows]

    def profile(
        self, user_id: str | None = None, namespace: str = "", *, agent_id: str | None = None
    ) -> Sequence[Fact]:
        """What holds, for an assistant: standing instructions first, then by kind, the surest and latest first."""
        order = {
            "instruction": 0,
            "profile": 1,
            "relation": 2,
            "date": 3,
            "project": 4,
            "tool": 5,
            "preference": 6,
        }
        held = self.list(user_id, namespace, agent_id=agent_id)
        latest = sorted(held, key=lambda fact: fact.said_at or "", reverse=True)
        return sorted(latest, key=lambda fact: (order[fact.kind], -round(fact.confidence, 1)))

    def review(self, user_id: str | None = None, namespace: str = "") -> Sequence[Fact]:
        """What waits for the person: statements that contradict what holds and can't be settled."""
        return self.list(user_id, namespace, state="review")

    def get(self, id: str, *, user_id: str | None = None, namespace: str | None = None) -> Fact:
        """The fact of an id; only of ``user_id``'s where one is named.

        Raises:
            NotFound: there is none.
        """
        return self._row(id, user_id, namespace).fact

    show = get

    def history(
        self, subject: str, attribute: str | None = None, *, user_id: str | None = None, namespace: str = ""
    ) -> Sequence[Fact]:
        """All that was ever known of an attribute, in the order in which it was said: of the fact of an id ("f7"), or
        of a ``subject`` ("me") and an ``attribute`` (None: all of them). What was rejected is among it.

        Raises:
            NotFound: no such fact.
        """
        db = self._read()
        if attribute is None and store.fact_key(subject):
            row = self._row(subject, user_id, None)
            scope = Scope(row.fact.user_id, row.fact.namespace)
            return [one.fact for one in store.of(db, scope, slot=row.slot)]
        scope = self._scope(user_id, namespace)
        return [one.fact for one in store.of(db, scope, subject=subject, attribute=attribute)]

    # --- what the person says of it -------------------------------------------------------------------

    def confirm(self, id: str, *, user_id: str | None = None) -> Fact:
        """Say that a fact is so: it holds, whatever contradicted it, and no message changes it. Of one that says that
        another has ended: that one has.

        Raises:
            NotFound: no such fact.
        """
        row = self._row(id, user_id, None)
        fact = row.fact
        return self._decide(
            row, fact.value, "ended" if row.ends else "confirmed", None if row.ends else fact.since
        )

    def correct(self, id: str, value: str, *, user_id: str | None = None) -> Fact:
        """Say what a fact should have been all along; the fact that is so now.

        Raises:
            NotFound: no such fact.
            UsageError: the value is empty.
        """
        row = self._row(id, user_id, None)
        value = _value(value)
        fact = row.fact
        slot = timeline.place(fact.subject, fact.kind, fact.attribute, value)
        if slot != row.slot:  # of many values, one was wrong and another is meant
            self.reject(id, user_id=user_id)
            return self._add(Scope(fact.user_id, fact.namespace), fact, value, "corrected", fact.since)
        return self._decide(row, value, "corrected", fact.since)

    def reject(self, id: str, *, user_id: str | None = None) -> Fact:
        """Say that a fact is not so. It does not come back from the same words, nor when they are read in again;
        whoever says it anew only asks.

        Raises:
            NotFound: no such fact.
        """
        row = self._row(id, user_id, None)
        fact = row.fact
        scope = (fact.user_id, fact.namespace)
        cited = {quote.message_id for quote in fact.evidence}
        with self._host.database.write() as tx:
            said = stated.statements(tx, *scope, row.slot)
            digests = [one.digest for one in said if message_id(one.message) in cited]
            values = {one.value for one in said if message_id(one.message) in cited} | {fact.value}
            digests += [timeline.value_digest(row.slot, fact.attribute, value) for value in values]
            stated.refuse(tx, *scope, digests)
            stated.undecide(tx, *scope, row.slot, values)
            reading.settle_page(tx)
        found = [
            one.fact for one in store.of(self._read(), Scope(*scope), slot=row.slot) if one.fact.id == id
        ]
        return found[0] if found else replace(fact, state="rejected")

    def add(
        self,
        text: str | None = None,
        *,
        attribute: str | None = None,
        value: str | None = None,
        kind: FactKind = "profile",
        subject: str = wording.ME,
        user_id: str | None = None,
        namespace: str = "",
    ) -> Sequence[Fact]:
        """Tell something: a sentence ("I live in Berlin", read as a message would be; one that is not understood is
        kept as a note), or an ``attribute`` with its ``value``. The facts that hold by it.

        Raises:
            UsageError: neither a text nor an attribute with a value, or both.
        """
        self._check(kind, None)
        scope = self._scope(user_id, namespace)
        if (text is None) == (attribute is None) or (attribute is None) != (value is None):
            raise UsageError("a fact is added as a sentence, or as an attribute with its value")
        if attribute is not None and value is not None:
            found: list[_Told] = [(kind, _value(subject), _value(attribute), _value(value), "added", None)]
        else:
            sentence = _value(text or "")
            found = [
                (
                    one.kind,
                    one.subject,
                    one.attribute,
                    one.value,
                    "ended" if one.mode == "ended" else "added",
                    one.since,
                )
                for one in read(sentence, date.today())
                if one.value
            ] or [(kind, subject, NOTE, sentence, "added", None)]
        slots = []
        with self._host.database.write() as tx:
            for of_kind, who, name, said, how, since in found:
                slot = timeline.place(who, of_kind, name, said)
                stated.allow(tx, scope.user_id, scope.namespace, [timeline.value_digest(slot, name, said)])
                decision = Decision(of_kind, who, name, said, how, since, moments.now())
                stated.decide(tx, scope.user_id, scope.namespace, slot, decision)
                slots.append(slot)
            reading.settle_page(tx)
        db = self._read()
        return [
            row.fact
            for slot in dict.fromkeys(slots)
            for row in store.of(db, scope, slot=slot)
            if row.fact.made_by == timeline.PERSON and row.fact.state in ("held", "ended")
        ]

    # --- reading --------------------------------------------------------------------------------------

    def read_due(self, goes_on: Callable[[], bool] = lambda: True, most: int | None = None) -> int:
        """Read the messages that have not been read for facts; how many it was. A task of the background."""
        if not self._lock.acquire(timeout=PATIENCE):
            return 0  # another thread is at it, with much before it
        try:
            return reading.read_due(self._host.database, self._host.owner, self._host.name, goes_on, most)
        finally:
            self._lock.release()

    def pending(self) -> int:
        """How many messages wait to be read for facts."""
        return stated.pending(self._host.database.read())

    def ask_model(
        self,
        complete: Callable[[Sequence[Mapping[str, str]]], str],
        name: str,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> int:
        """Let a model read a page of messages that it has not read, the newest first; how many it was. ``complete``
        answers a chat, ``name`` is what its facts are marked with. What it can't quote is left out."""
        return model.read_page(
            self._host.database,
            complete,
            name,
            goes_on,
            lambda one: reading.speaks(
                one,
                *stated.talkers(self._host.database.read(), one.session),
                self._host.owner,
                self._host.name,
            ),
        )

    # --- what the verbs share ---------------------------------------------------------------------------

    def _read(self) -> sqlite3.Connection:
        """A connection on which what could be read has been."""
        db = self._host.database.read()
        if stated.has_due(db) or not stated.is_settled(db):
            self.read_due(most=MOST_BEFORE_ANSWER)
        return db

    def _row(self, id: str, user_id: str | None, namespace: str | None) -> Row:
        scope = None if user_id is None else Scope(user_id, namespace or "")
        return store.get(self._read(), id, scope)

    def _decide(self, row: Row, value: str, how: str, since: str | None) -> Fact:
        return self._add(Scope(row.fact.user_id, row.fact.namespace), row.fact, value, how, since)

    def _add(self, scope: Scope, fact: Fact, value: str, how: str, since: str | None) -> Fact:
        slot = timeline.place(fact.subject, fact.kind, fact.attribute, value)
        decision = Decision(fact.kind, fact.subject, fact.attribute, value, how, since, moments.now())
        with self._host.database.write() as tx:
            stated.allow(
                tx, scope.user_id, scope.namespace, [timeline.value_digest(slot, fact.attribute, value)]
            )
            stated.decide(tx, scope.user_id, scope.namespace, slot, decision)
            reading.settle_page(tx)
        rows = [row.fact for row in store.of(self._read(), scope, slot=slot)]
        state = "ended" if how == "ended" else "held"
        return next(one for one in reversed(rows) if one.state == state and one.made_by == timeline.PERSON)

    def _scope(self, user_id: str | None, namespace: str) -> Scope:
        return Scope(self._host.owner if user_id is None else user_id, namespace)

    @staticmethod
    def _check(kind: str | None, state: str | None) -> None:
        for value, known, called in (
            (kind, get_args(FactKind), "kind"),
            (state, get_args(FactState), "state"),
        ):
            if value is not None and value not in known:
                raise UsageError(f"no {called} {value!r}", hint="one of " + ", ".join(known))


def _value(text: str) -> str:
    plain = " ".join(text.split())
    if not plain:
        raise UsageError("a fact without words says nothing")
    try:
        plain.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{plain!r} is not valid Unicode at character {error.start}") from error
    return plain
