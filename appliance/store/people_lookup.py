"""Which people a reference means: an id, "me", or any name, address or number; and whom a phrase names."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from appliance.store import identities
from appliance.store import people as store
from appliance.store.lexical import fold, has_as_words
from appliance.store.people import StoredPerson
from appliance.store.sql import JSON_KEYS_SQL, has_row, json_keys
from appliance.types import Scope

MIN_CALLED_CHARACTERS = 2
"""A question names nobody by a single letter."""


def find(db: sqlite3.Connection, scope: Scope, reference: str) -> list[StoredPerson]:
    """Return the people whom a reference means: the one with this id, else those with this name, address, number or
    id; without any, those with this part of a name."""
    key = store.person_key(reference)
    if key is not None:
        return store.people(db, scope, [key])
    if not reference.strip():
        return []
    if fold(reference) == "me" and (own := store.me(db, scope)) is not None:
        return store.people(db, scope, [own])
    exact, partial = _keys_named(db, scope, reference)
    return store.people(db, scope, exact or partial)


def _keys_named(db: sqlite3.Connection, scope: Scope, reference: str) -> tuple[set[int], set[int]]:
    """The keys of the people with this name, address, number or id, and of those with this part of a name."""
    part, exact, partial = fold(reference), set[int](), set[int]()
    address, number = identities.normalise_address(reference), identities.normalise_number(reference)
    owner = (scope.user_id, scope.namespace)
    for key, name in db.execute("SELECT id, name FROM person WHERE user_id = ? AND namespace = ?", owner):
        if part in (folded := fold(name)):
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
            folded = fold(value).removeprefix("@") if kind == "handle" else fold(value)
            is_exact = folded == part.removeprefix("@")
            if not is_exact and kind != "id" and part in folded:
                partial.add(key)
        if is_exact:
            exact.add(key)
    return exact, partial | exact


def matching(db: sqlite3.Connection, scope: Scope, reference: str) -> list[StoredPerson]:
    """Return the people whom the value of a filter means: the one with this id, else all with this name or part of a
    name, or with this address, number or id."""
    key = store.person_key(reference)
    if key is not None and (known := store.people(db, scope, [key])):
        return known
    if fold(reference) == "me" and (own := store.me(db, scope)) is not None:
        return store.people(db, scope, [own])
    return store.people(db, scope, _keys_named(db, scope, reference)[1])


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
            for one in store.people(db, scope, partial)
            if any(has_as_words(name, phrase) for name in _said(one))
        }
    return [one for one in store.people(db, scope, exact) if one.me or wrote_openly(db, [one.key])]


def _said(person: StoredPerson) -> list[str]:
    return [person.name, *(one.value for one in person.identities if one.kind in ("name", "handle"))]


def wrote_openly(db: sqlite3.Connection, keys: Collection[int]) -> bool:
    """Whether any of these people wrote in a session that shares its messages with others."""
    query = (
        "SELECT 1 FROM session_author a JOIN session s ON s.id = a.session_id"
        f" WHERE a.person_id IN {JSON_KEYS_SQL} AND s.storage_scope IN ('all', 'conversational') LIMIT 1"
    )
    return has_row(db, query, (json_keys(sorted(keys)),))


def has_writer(db: sqlite3.Connection, scope: Scope, name: str) -> bool:
    """Whether a person of a scope who wrote messages has this name."""
    return wrote_openly(db, _keys_named(db, scope, name)[0])
