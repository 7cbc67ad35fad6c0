"""People in the database: what sources say of authors, what a person decided, and whom authors are derived to be.

Keys are SQLite's integers; the public id of a person is "p3".
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, cast

import msgspec

from appliance.store import identities
from appliance.store.lexical import fold, fold_marks, has_as_words
from appliance.store.sql import JSON_KEYS_SQL, fetch_in_one_step, has_row, json_keys, to_json
from appliance.store.visibility import NOT_EXPIRED
from appliance.timestamps import now
from appliance.types import Identity, Scope

MIN_CALLED_CHARACTERS = 2
"""A single letter in a question is no name."""

CONTACTS = "contacts"
"""The source of address-book entries."""

IS_ME, MAYBE_ME = 1, 2
"""What ``person.me`` says: it is the person whose memory it is, or it may be."""

Node = tuple[str, str, str]
"""An identity as a link sees it: its source ("" for addresses and numbers, which are the same everywhere), kind and
value, names without case."""


ME_WORDS = frozenset(("me", "ich", "yo", "moi"))
"""What stands for the person whose memory it is, once that is known."""


@dataclass(frozen=True, slots=True)
class PersonDecision:
    """What a person decided: that ``identities`` and ``others`` are one (merge) or not (split), that the person with
    ``identities`` is called ``name`` (rename), or is the owner of the memory (me)."""

    kind: Literal["merge", "split", "rename", "me"]
    identities: tuple[Node, ...]
    others: tuple[Node, ...] = ()
    name: str | None = None
    key: int = 0
    at: int = 0


@dataclass(frozen=True, slots=True)
class StoredPerson:
    """A person as it was derived last. ``bare`` are the names that link nothing. ``maybe_me`` says that the person may
    be the one whose memory it is."""

    key: int
    name: str
    me: bool
    identities: tuple[Identity, ...]
    bare: frozenset[Identity]
    maybe_me: bool = False


def public_id(key: int) -> str:
    return f"p{key}"


def person_key(public: str) -> int | None:
    """Return the store's key of a person's public id, or None if the text is not one."""
    return int(public[1:]) if re.fullmatch(r"p[1-9]\d{0,17}", public) else None


def to_node(identity: Identity) -> Node:
    source = "" if identity.kind in ("address", "number") else identity.source
    return source, identity.kind, fold(identity.value) if identity.kind == "name" else identity.value


# --- what is derived --------------------------------------------------------------------------------------


def stale_scopes(db: sqlite3.Connection) -> list[Scope]:
    """Return the scopes whose people have to be derived again."""
    return [Scope(user, namespace) for user, namespace in db.execute("SELECT user_id, namespace FROM people_stale")]


def is_stale(db: sqlite3.Connection) -> bool:
    """Whether the people of any scope have to be derived again."""
    return has_row(db, "SELECT 1 FROM people_stale LIMIT 1")


def mark_stale(tx: sqlite3.Connection, scope: Scope) -> None:
    tx.execute("INSERT OR IGNORE INTO people_stale VALUES (?, ?)", (scope.user_id, scope.namespace))


def clear_stale(tx: sqlite3.Connection, scope: Scope) -> None:
    tx.execute("DELETE FROM people_stale WHERE user_id = ? AND namespace = ?", (scope.user_id, scope.namespace))


def scopes(db: sqlite3.Connection) -> list[Scope]:
    """Return the scopes with an address book or a decision about people."""
    rows = db.execute(
        "SELECT user_id, namespace FROM profile WHERE id IN (SELECT profile_id FROM contact_file)"
        " UNION SELECT user_id, namespace FROM person_decision ORDER BY 1, 2"
    )
    return [Scope(user, namespace) for user, namespace in rows]


def people(db: sqlite3.Connection, scope: Scope, keys: Collection[int] | None = None) -> list[StoredPerson]:
    """Return the people of a scope as they were derived last, all or those with the given keys."""
    where, values = "p.user_id = ? AND p.namespace = ?", [scope.user_id, scope.namespace]
    if keys is not None:
        where, values = f"{where} AND p.id IN {JSON_KEYS_SQL}", [*values, json_keys(sorted(keys))]
    known: dict[int, list[Identity]] = defaultdict(list)
    bare: dict[int, set[Identity]] = defaultdict(set)
    for key, source, kind, value, is_bare in db.execute(
        "SELECT i.person_id, i.source, i.kind, i.value, i.bare FROM person p"
        f" JOIN person_identity i ON i.person_id = p.id WHERE {where} ORDER BY i.person_id, i.source, i.kind, i.value",
        values,
    ):
        identity = Identity(source, kind, value)
        known[key].append(identity)
        if is_bare:
            bare[key].add(identity)
    rows = db.execute(f"SELECT id, name, me FROM person p WHERE {where} ORDER BY id", values)
    return [
        StoredPerson(key, name, me == IS_ME, tuple(known[key]), frozenset(bare[key]), me == MAYBE_ME)
        for key, name, me in rows
    ]


def owner_of(db: sqlite3.Connection, key: int) -> Scope | None:
    """Return the scope of a person."""
    row = db.execute("SELECT user_id, namespace FROM person WHERE id = ?", (key,)).fetchone()
    return None if row is None else Scope(*row)


def me(db: sqlite3.Connection, scope: Scope) -> int | None:
    """Return the key of the person whose memory it is, if it is known."""
    query = "SELECT id FROM person WHERE user_id = ? AND namespace = ? AND me = 1"
    row = db.execute(query, (scope.user_id, scope.namespace)).fetchone()
    return None if row is None else int(row[0])


def writers(db: sqlite3.Connection, scope: Scope) -> set[int]:
    """Return the people who wrote in a session that has not expired, and the one whose memory it is."""
    rows = db.execute(
        "SELECT DISTINCT a.person_id FROM session_author a JOIN session s ON s.id = a.session_id"
        f" WHERE s.user_id = ? AND s.namespace = ? AND {NOT_EXPIRED} AND a.person_id IS NOT NULL",
        (scope.user_id, scope.namespace, now()),
    )
    own = me(db, scope)
    return {key for (key,) in rows} | ({own} if own is not None else set())


def own_authors(db: sqlite3.Connection, sessions: Iterable[int]) -> dict[tuple[int, str], bool]:
    """Return, for the authors of some sessions who are known as people, whether each is the person whose memory it
    is."""
    rows = db.execute(
        "SELECT a.session_id, a.author, p.me = 1 FROM session_author a JOIN person p ON p.id = a.person_id"
        f" WHERE a.session_id IN {JSON_KEYS_SQL}",
        (json_keys(sessions),),
    )
    return {(session, author): bool(is_me) for session, author, is_me in rows}


def authors_of(db: sqlite3.Connection, keys: Iterable[int]) -> list[tuple[int, str]]:
    """Return the sessions and authors that are these people."""
    query = f"SELECT session_id, author FROM session_author WHERE person_id IN {JSON_KEYS_SQL}"
    return cast(list[tuple[int, str]], db.execute(query, (json_keys(keys),)).fetchall())


def uses_by_others(db: sqlite3.Connection, scope: Scope, names: Iterable[str], keys: Collection[int]) -> set[str]:
    """Return those of the names by which somebody else than these people wrote in any session."""
    query = (
        "SELECT DISTINCT m.author FROM (SELECT value AS author FROM json_each(?1)) n"
        " JOIN message m ON m.author = n.author JOIN session s ON s.id = m.session_id"
        " LEFT JOIN session_author a ON a.session_id = m.session_id AND a.author = m.author"
        " WHERE s.user_id = ?2 AND s.namespace = ?3"
        " AND (a.person_id IS NULL OR a.person_id NOT IN (SELECT value FROM json_each(?4)))"
    )
    rows = db.execute(query, (json_keys(names), scope.user_id, scope.namespace, json_keys(keys)))
    return {author for (author,) in rows}


def aliases(db: sqlite3.Connection, scope: Scope, uses: Collection[tuple[int, str]]) -> dict[tuple[int, str], str]:
    """Return the other names of the authors of some sessions, in one text each, as far as they have any."""
    if not uses:
        return {}
    wanted = set(uses)
    sessions = json_keys({session for session, _ in wanted})
    # Most people have one name: the authors of some hundred sessions are read only if one of them has more.
    names: dict[int, set[str]] = {}
    for key, name, value in fetch_in_one_step(
        db,
        "SELECT p.id, CAST(p.name AS TEXT), CAST(i.value AS TEXT)"
        " FROM (SELECT DISTINCT a.person_id AS id FROM json_each(?) j"
        " CROSS JOIN session_author a ON a.session_id = j.value) one CROSS JOIN person p ON p.id = one.id"
        " CROSS JOIN person_identity i ON i.person_id = p.id"
        " WHERE p.user_id = ? AND p.namespace = ? AND i.kind IN ('name', 'handle') AND i.value <> p.name",
        (sessions, scope.user_id, scope.namespace),
        columns=3,
    ):
        names.setdefault(key, {name}).add(value)
    if not names:
        return {}
    found = fetch_in_one_step(
        db,
        "SELECT a.session_id, CAST(a.author AS TEXT), CAST(a.person_id AS INTEGER) FROM json_each(?) j"
        " CROSS JOIN session_author a ON a.session_id = j.value",
        (sessions,),
        columns=3,
    )
    return {
        (session, author): " ".join(sorted(names[key] - {author}))
        for session, author, key in found
        if key in names and (session, author) in wanted
    }


def is_in_aliases(db: sqlite3.Connection, scope: Scope, word: str) -> bool:
    """Whether a name of a person in a scope has this word or part of a word, without case."""
    return any(fold(word) in fold(name) for name in names(db, scope))


def names(db: sqlite3.Connection, scope: Scope) -> Iterator[str]:
    """Yield the names and user names of the people of a scope."""
    for (name,) in db.execute(
        "SELECT p.name FROM person p WHERE p.user_id = ?1 AND p.namespace = ?2 UNION SELECT i.value FROM person p"
        " JOIN person_identity i ON i.person_id = p.id WHERE p.user_id = ?1 AND p.namespace = ?2"
        " AND i.kind IN ('name', 'handle')",
        (scope.user_id, scope.namespace),
    ):
        yield name


def has_writer(db: sqlite3.Connection, scope: Scope, name: str) -> bool:
    """Whether a person of a scope who wrote messages has this name."""
    return wrote_openly(db, _keys_named(db, scope, name)[0])


def evidence(db: sqlite3.Connection, key: int) -> tuple[str, ...]:
    """Return why the identities of a person belong together, a sentence each."""
    rows = db.execute("SELECT words FROM person_evidence WHERE person_id = ? ORDER BY words", (key,))
    return tuple(words for (words,) in rows)


# --- what a person decides ---------------------------------------------------------------------------------


def decisions(db: sqlite3.Connection, scope: Scope) -> list[PersonDecision]:
    """Return what was decided about the people of a scope, oldest first."""
    rows = db.execute(
        "SELECT kind, identities, others, name, id, at FROM person_decision WHERE user_id = ? AND namespace = ?"
        " ORDER BY id",
        (scope.user_id, scope.namespace),
    )
    return [
        PersonDecision(kind, _nodes(known), _nodes(others), name, key, at)
        for kind, known, others, name, key, at in rows
    ]


def _nodes(text: str) -> tuple[Node, ...]:
    return tuple(msgspec.json.decode(text, type=list[tuple[str, str, str]]))


def add_decision(tx: sqlite3.Connection, scope: Scope, decision: PersonDecision) -> None:
    """Note a decision, unless the same one is noted with the same time."""
    values = (
        scope.user_id, scope.namespace, decision.kind, to_json(sorted(decision.identities)),
        to_json(sorted(decision.others)), decision.name, decision.at or now(),
    )  # fmt: skip
    same = (
        "SELECT 1 FROM person_decision WHERE (user_id, namespace, kind, identities, others, at) = (?, ?, ?, ?, ?, ?)"
        " AND name IS ?"
    )
    if not has_row(tx, same, (*values[:5], values[6], values[5])):
        tx.execute(
            "INSERT INTO person_decision (user_id, namespace, kind, identities, others, name, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            values,
        )


def remove_decision(tx: sqlite3.Connection, key: int) -> None:
    tx.execute("DELETE FROM person_decision WHERE id = ?", (key,))


def forget_nodes(tx: sqlite3.Connection, scope: Scope, kept: Collection[Node]) -> None:
    """Take identities that are not ``kept`` out of the decisions of a scope; a decision that is about none of those
    that are left goes."""
    for decision in decisions(tx, scope):
        known = [node for node in decision.identities if node in kept]
        others = [node for node in decision.others if node in kept]
        is_empty = not known or (decision.kind in ("merge", "split") and len(known) + len(others) < 2)
        if decision.kind == "split" and not others:
            is_empty = True
        if is_empty:
            remove_decision(tx, decision.key)
        elif len(known) < len(decision.identities) or len(others) < len(decision.others):
            tx.execute(
                "UPDATE person_decision SET identities = ?, others = ? WHERE id = ?",
                (to_json(known), to_json(others), decision.key),
            )


# --- finding people -------------------------------------------------------------------------------------------


def find(db: sqlite3.Connection, scope: Scope, reference: str) -> list[StoredPerson]:
    """Return the people whom a reference means: the one with this id, or with whom that one was merged, else those with
    this name, address, number or id; without any, those with this part of a name."""
    key = person_key(reference)
    if key is not None:
        return people(db, scope, [key]) or _merged_with(db, scope, key)
    if not reference.strip():
        return []
    if means_me(reference) and (own := me(db, scope)) is not None:
        return people(db, scope, [own])
    exact, partial = _keys_named(db, scope, reference)
    return people(db, scope, exact or partial)


def _merged_with(db: sqlite3.Connection, scope: Scope, key: int) -> list[StoredPerson]:
    """The people who have what a person was known by who is not there any more."""
    nodes = set(
        db.execute(
            "SELECT source, kind, value FROM person_node WHERE user_id = ? AND namespace = ? AND person_id = ?",
            (scope.user_id, scope.namespace, key),
        )
    )
    if not nodes:
        return []
    return [one for one in people(db, scope) if not nodes.isdisjoint(map(to_node, one.identities))]


def means_me(reference: str) -> bool:
    """Whether a name stands for the person whose memory it is."""
    return fold(reference) in ME_WORDS


def _keys_named(db: sqlite3.Connection, scope: Scope, reference: str) -> tuple[set[int], set[int]]:
    """The keys of the people with this name, address, number or id, and of those with this part of a name."""
    part, exact, partial = fold_marks(reference), set[int](), set[int]()
    address, number = identities.normalise_address(reference), identities.normalise_number(reference)
    owner = (scope.user_id, scope.namespace)
    for key, name in db.execute("SELECT id, name FROM person WHERE user_id = ? AND namespace = ?", owner):
        if part in (folded := fold_marks(name)):
            (exact if folded == part else partial).add(key)
    rows = db.execute(
        "SELECT i.person_id, i.kind, i.value FROM person p JOIN person_identity i ON i.person_id = p.id"
        " WHERE p.user_id = ? AND p.namespace = ?",
        owner,
    )
    for key, kind, value in rows:
        if kind == "address":
            is_exact = value == address
        elif kind == "number":
            is_exact = number is not None and identities.is_same_number(value, number)
        else:
            folded = fold_marks(value).removeprefix("@") if kind == "handle" else fold_marks(value)
            is_exact = folded == part.removeprefix("@")
            if not is_exact and kind != "id" and part in folded:
                partial.add(key)
        if is_exact:
            exact.add(key)
    return exact, partial | exact


def matching(db: sqlite3.Connection, scope: Scope, reference: str, *, whole: bool = False) -> list[StoredPerson]:
    """Return the people whom the value of a filter means: the one with this id, else all with this name or, unless it
    is ``whole``, part of a name, or with this address, number or id."""
    key = person_key(reference)
    if key is not None and (known := people(db, scope, [key])):
        return known
    if means_me(reference) and (own := me(db, scope)) is not None:
        return people(db, scope, [own])
    exact, partial = _keys_named(db, scope, reference)
    return people(db, scope, exact if whole else partial)


def called(db: sqlite3.Connection, scope: Scope, phrase: str) -> list[StoredPerson]:
    """Return the people whom a phrase of a question names, and who wrote in a session that shares its messages: by a
    whole name, address or number, with the family name first ("Müllers Hans"), or else by whole words of a name."""
    words = fold(phrase).split()
    if not words or len(phrase) < MIN_CALLED_CHARACTERS:
        return []
    turned = " ".join((*words[1:], words[0]))
    for spelled in (phrase, turned, turned.removesuffix("'s"), turned.removesuffix("’s"), turned.removesuffix("s")):
        if exact := _keys_named(db, scope, spelled)[0]:
            break
    else:
        _, partial = _keys_named(db, scope, phrase)
        exact = {
            one.key
            for one in people(db, scope, partial)
            if any(has_as_words(name, phrase) for name in _names_and_handles(one))
        }
    return [one for one in people(db, scope, exact) if one.me or wrote_openly(db, [one.key])]


def _names_and_handles(person: StoredPerson) -> list[str]:
    return [person.name, *(one.value for one in person.identities if one.kind in ("name", "handle"))]


def wrote_openly(db: sqlite3.Connection, keys: Collection[int]) -> bool:
    """Whether any of these people wrote in a session that shares its messages with others."""
    query = (
        "SELECT 1 FROM session_author a JOIN session s ON s.id = a.session_id"
        f" WHERE a.person_id IN {JSON_KEYS_SQL} AND s.storage_scope IN ('all', 'conversational') LIMIT 1"
    )
    return has_row(db, query, (json_keys(sorted(keys)),))


def authors_of_messages(db: sqlite3.Connection, keys: Iterable[int]) -> dict[Scope, set[int]]:
    """Return the people who wrote some messages, by scope; also scopes in which none of the authors is known."""
    found: dict[Scope, set[int]] = {}
    for user, namespace, person in db.execute(
        "SELECT DISTINCT s.user_id, s.namespace, a.person_id FROM message m JOIN session s ON s.id = m.session_id"
        " LEFT JOIN session_author a ON a.session_id = m.session_id AND a.author = m.author"
        f" WHERE m.id IN {JSON_KEYS_SQL}",
        (json_keys(keys),),
    ):
        known = found.setdefault(Scope(user, namespace), set())
        if person is not None:
            known.add(person)
    return found


def forget_decisions(tx: sqlite3.Connection, scope: Scope) -> set[str]:
    """Delete what was decided about the people of a scope; returns the names that were given."""
    names = {one.name for one in decisions(tx, scope) if one.name}
    tx.execute("DELETE FROM person_decision WHERE user_id = ? AND namespace = ?", (scope.user_id, scope.namespace))
    return names
