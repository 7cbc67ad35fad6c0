"""The people who wrote the messages, across sources.

Sources say what identifies their authors (``store.people``), ``linking`` joins what belongs together, ``derivation``
stores the people that follow, and ``proposals`` names those who may be one. What a person decides goes before all that
and can be undone. People are brought up to date before a call answers.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from appliance import requests as r
from appliance.errors import NotFound, UsageError
from appliance.memory.people import derivation, linking, references
from appliance.memory.people.proposals import is_automated, propose
from appliance.store import derived_people, identities, people_figures
from appliance.store import people as store
from appliance.store.database import Database
from appliance.store.lexical import fold
from appliance.store.messages import message_id
from appliance.store.people import Node, PersonDecision, StoredPerson
from appliance.store.people_figures import CountedSessions, Figures
from appliance.store.sessions import public_id as session_id
from appliance.timestamps import iso_from_microseconds
from appliance.types import (
    PeopleChange,
    PeopleList,
    Person,
    PersonConversation,
    PersonDetails,
    PersonSource,
    RecalledMessage,
    Scope,
)

SHOWN_CONVERSATIONS = 10
SHOWN_RECALLED = 5

_NO_FIGURES = Figures()

_UNDONE_WORDS = {
    "merge": "The merge is undone.",
    "split": "The split is undone.",
    "rename": "The name is what it was.",
    "me": "Who you are is what it was.",
}


@dataclass(frozen=True, slots=True)
class PeopleContext:
    """What people need of the engine. ``owner`` is the configured user, ``name`` what the owner is called in chats;
    ``wake_workers`` is called when facts have to be read again."""

    database: Database
    owner: str
    name: str
    wake_workers: Callable[[], None] = lambda: None


class PeopleService:
    """The people of a memory. Ids are "p3"; the user is the configured one unless named."""

    def __init__(self, context: PeopleContext) -> None:
        self._context = context
        self._lock = threading.Lock()

    # --- deriving ---------------------------------------------------------------------------------------

    def refresh(self) -> int:
        """Derive the people of all scopes where something has changed; returns the number of these."""
        with self._lock:
            return derivation.refresh(self._context.database, self.own_name)

    def refresh_pending(self, should_continue: Callable[[], bool]) -> int:
        """``refresh`` as a job of the background."""
        return self.refresh() if should_continue() else 0

    def own_name(self, scope: Scope) -> str:
        """What the settings call the person of a scope."""
        is_owner = scope.user_id == self._context.owner and not scope.namespace
        return self._context.name if is_owner else ""

    # --- reading ----------------------------------------------------------------------------------------

    def list(self, request: r.ListPeopleRequest) -> PeopleList:
        """See ``ListPeopleRequest``."""
        db, scope = self._read_up_to_date(), self._scope(request.user_id, request.namespace)
        found, figures = store.people(db, scope), self._figures(db, scope, shared_only=request.shared_only)
        if request.shared_only:  # nothing is said of people from conversations that are withheld
            writers = self._figures(db, scope).keys()
            found = [one for one in found if one.key in figures or one.key not in writers]
        _, apart = linking.constraints(store.decisions(db, scope))
        people = [_to_person(one, figures.get(one.key, _NO_FIGURES)) for one in found]
        shown = [one for one in people if one.messages or request.everyone]
        shown.sort(key=lambda one: (one.automated, -one.messages, one.last is None, one.name.casefold(), one.id))
        listed = {one.id for one in shown}
        maybe_me = {store.public_id(one.key) for one in found if one.maybe_me}
        proposals = propose(found, apart, figures.keys())
        return PeopleList(
            tuple(shown),
            tuple(one for one in proposals if request.everyone or one.a in listed or one.b in listed),
            tuple(one.id for one in shown if one.id in maybe_me),
        )

    def get(self, request: r.PersonRequest) -> PersonDetails:
        """See ``PersonRequest``."""
        db, scope = self._read_up_to_date(), self._scope(request.user_id, request.namespace)
        person = self._find(db, scope, request.person, shared_only=request.shared_only)
        counted = CountedSessions(scope, request.shared_only)
        by_session = people_figures.by_session(db, counted, person.key, with_unsigned=person.me)
        if not by_session and request.shared_only and person.key in self._figures(db, scope):
            raise references.not_found(request.person)
        by_source: dict[str, Figures] = {}
        total = _NO_FIGURES
        for one in by_session:
            written = Figures(one.messages, 1, one.first, one.last)
            by_source[one.source] = by_source.get(one.source, _NO_FIGURES).with_more(written)
            total = total.with_more(written)
        times, recalled = people_figures.recalled(db, counted, person.key, SHOWN_RECALLED, with_unsigned=person.me)
        people = store.people(db, scope)
        if request.shared_only:
            shared, writers = self._figures(db, scope, shared_only=True), self._figures(db, scope)
            people = [one for one in people if one.key in shared or one.key not in writers]
        _, apart = linking.constraints(store.decisions(db, scope))
        own = store.public_id(person.key)
        active = {person.key, *self._figures(db, scope)}
        return PersonDetails(
            _to_person(person, total),
            store.evidence(db, person.key),
            tuple(
                PersonSource(source, one.messages, one.sessions)
                for source, one in sorted(by_source.items(), key=lambda item: (-item[1].messages, item[0]))
            ),
            tuple(
                PersonConversation(session_id(one.session), one.title, one.source, one.messages, _iso(one.last))
                for one in islice(by_session, SHOWN_CONVERSATIONS)
            ),
            times,
            tuple(RecalledMessage(message_id(key), count, snippet) for key, count, snippet in recalled),
            tuple(one for one in propose(people, apart, active) if own in (one.a, one.b)),
        )

    def me(self, request: r.MeRequest) -> Person | None:
        """See ``MeRequest``."""
        db, scope = self._read_up_to_date(), self._scope(request.user_id, request.namespace)
        key = store.me(db, scope)
        return None if key is None else self._person(db, scope, key)

    def count_proposals(self, scope: Scope) -> int:
        """Return how many pairs of people may be one, by what has been derived so far."""
        db = self._context.database.read()
        _, apart = linking.constraints(store.decisions(db, scope))
        return len(propose(store.people(db, scope), apart, store.writers(db, scope)))

    # --- deciding ---------------------------------------------------------------------------------------

    def merge(self, request: r.MergePeopleRequest) -> PeopleChange:
        """See ``MergePeopleRequest``."""
        db, scope = self._read_up_to_date(), self._scope(request.user_id, request.namespace)
        first, second = self._find(db, scope, request.person), self._find(db, scope, request.other)
        if first.key == second.key:
            raise UsageError(
                f"{request.person!r} and {request.other!r} are the same person, {references.label(first)}."
            )
        self._decide(scope, PersonDecision("merge", _nodes(first), _nodes(second)))
        merged = self._holding(scope, _nodes(first))
        kept = "".join(f": {one.name} ({one.id})" for one in merged[:1])
        words = f"{references.label(first)} and {references.label(second)} are one person{kept}."
        return PeopleChange("merged", words, tuple(merged))

    def split(self, request: r.SplitPersonRequest) -> PeopleChange:
        """See ``SplitPersonRequest``."""
        db, scope = self._read_up_to_date(), self._scope(request.user_id, request.namespace)
        person = self._find(db, scope, request.person)
        if not request.identities:
            raise UsageError(
                "Name what is not this person's.",
                hint="'appliance people show PERSON' lists the identities of a person.",
            )
        parted = {node for one in request.identities for node in _matching_nodes(person, one)}
        if not parted:  # by the ids of people who were merged into this one
            keys = {store.person_key(one) for one in request.identities} - {None, person.key}
            parted = {node for node, key in derived_people.node_homes(db, scope).items() if key in keys}
            parted &= set(_nodes(person))
        if not parted:
            others = [self._find(db, scope, one) for one in request.identities if store.person_key(one)]
            if not others or any(other.key == person.key for other in others):
                raise NotFound(
                    f"{references.label(person)} has no identity {request.identities[0]!r}.",
                    hint=_hint_of_accounts(person, request.identities[0]),
                )
            parted = {node for other in others for node in _nodes(other)}
            rest = _nodes(person)
        else:
            rest = tuple(node for node in _nodes(person) if node not in parted)
        if not rest:
            raise UsageError(
                f"Nothing would be left of {references.label(person)}.", hint="Name only some of its identities."
            )
        self._decide(scope, PersonDecision("split", tuple(sorted(parted)), rest))
        people = self._holding(scope, (*rest, *sorted(parted)))
        words = " and ".join(f"{one.name} ({one.id})" for one in people) + " are different people."
        if own := next((one for one in people if one.me), None):
            words += f" You are {own.name} ({own.id})."
            self._context.wake_workers()
        return PeopleChange("split", words, tuple(people))

    def rename(self, request: r.RenamePersonRequest) -> PeopleChange:
        """See ``RenamePersonRequest``."""
        db, scope = self._read_up_to_date(), self._scope(request.user_id, request.namespace)
        name = " ".join(request.new_name.split())
        if not name:
            raise UsageError("The name of a person is empty.")
        person = self._find(db, scope, request.person)
        self._decide(scope, PersonDecision("rename", _nodes(person), name=name))
        people = self._holding(scope, _nodes(person))
        return PeopleChange("renamed", f"{references.label(person)} is called {name.removesuffix('.')}.", tuple(people))

    def set_me(self, request: r.SetMeRequest) -> PeopleChange:
        """See ``SetMeRequest``."""
        db, scope = self._read_up_to_date(), self._scope(request.user_id, request.namespace)
        person, before = self._find(db, scope, request.person), store.me(db, scope)
        self._decide(scope, PersonDecision("me", _nodes(person)))
        people = self._holding(scope, _nodes(person))
        if before == person.key:
            return PeopleChange("me", f"You are {references.label(person)}, as before.", tuple(people))
        self._context.wake_workers()
        return PeopleChange("me", f"You are {references.label(person)}. Facts are read again.", tuple(people))

    def undo(self, request: r.UndoPeopleRequest) -> PeopleChange:
        """See ``UndoPeopleRequest``."""
        scope = self._scope(request.user_id, request.namespace)
        decided = store.decisions(self._read_up_to_date(), scope)
        if not decided:
            raise NotFound(
                "There is no decision about people to undo.",
                hint="What follows from your exports is corrected with 'appliance people split', 'merge' and 'me'.",
            )
        last = decided[-1]
        with self._context.database.write() as tx:
            store.remove_decision(tx, last.key)
        self.refresh()
        self._context.wake_workers()
        people = self._holding(scope, (*last.identities, *last.others))
        words = _UNDONE_WORDS[last.kind]
        if last.kind == "split" and len({person.id for person in people}) > 1:
            words = "They may be one person again; nothing else has changed."
        return PeopleChange("undone", words, tuple(people))

    def _decide(self, scope: Scope, decision: PersonDecision) -> None:
        with self._context.database.write() as tx:
            store.add_decision(tx, scope, decision)
        self.refresh()

    # --- finding ----------------------------------------------------------------------------------------

    def _scope(self, user_id: str | None, namespace: str) -> Scope:
        return Scope(self._context.owner if user_id is None else user_id, namespace)

    def _read_up_to_date(self) -> sqlite3.Connection:
        self.refresh()
        return self._context.database.read()

    def _figures(self, db: sqlite3.Connection, scope: Scope, *, shared_only: bool = False) -> dict[int, Figures]:
        return people_figures.of_people(db, CountedSessions(scope, shared_only), store.me(db, scope))

    def _person(self, db: sqlite3.Connection, scope: Scope, key: int) -> Person:
        (found,) = store.people(db, scope, [key])
        total = _NO_FIGURES
        for one in people_figures.by_session(db, CountedSessions(scope), key, with_unsigned=found.me):
            total = total.with_more(Figures(one.messages, 1, one.first, one.last))
        return _to_person(found, total)

    def _holding(self, scope: Scope, nodes: Sequence[Node]) -> Sequence[Person]:
        """The people who have these identities now, in the order of the identities."""
        db = self._context.database.read()
        by_node = {node: person.key for person in store.people(db, scope) for node in _nodes(person)}
        keys = dict.fromkeys(by_node[node] for node in nodes if node in by_node)
        return [self._person(db, scope, key) for key in keys]

    def _find(self, db: sqlite3.Connection, scope: Scope, reference: str, *, shared_only: bool = False) -> StoredPerson:
        return references.find_one(db, CountedSessions(scope, shared_only), reference)


def _nodes(person: StoredPerson) -> tuple[Node, ...]:
    return tuple(dict.fromkeys(store.to_node(one) for one in person.identities if one not in person.bare))


def _matching_nodes(person: StoredPerson, value: str) -> list[Node]:
    """The nodes of a person that a value means, as shown or in another spelling."""
    known = [one for one in person.identities if one not in person.bare]
    return [
        store.to_node(one)
        for one in known
        if one.value == value or identities.is_same_value(one.kind, one.value, value)
    ]


def _hint_of_accounts(person: StoredPerson, value: str) -> str:
    """What to name in place of a name that is only what an account is called."""
    sources = {one.source for one in person.bare if fold(one.value) == fold(value)}
    accounts = [one.value for one in person.identities if one.source in sources and one not in person.bare]
    if not accounts:
        return "'appliance people show PERSON' lists the identities of a person."
    return f"An account is called so. Name the account: {' or '.join(accounts)}."


def _iso(at: int | None) -> str | None:
    return None if at is None else iso_from_microseconds(at)


def _to_person(person: StoredPerson, figures: Figures) -> Person:
    return Person(
        store.public_id(person.key),
        person.name,
        person.me,
        person.identities,
        figures.messages,
        figures.sessions,
        _iso(figures.first),
        _iso(figures.last),
        is_automated(person),
    )
