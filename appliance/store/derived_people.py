"""Writes the people of a scope as they were derived: who they are, and who the authors of its sessions are."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence

from appliance.lazy_dataclasses import dataclass
from appliance.store.people import IS_ME, MAYBE_ME, Node, people
from appliance.types import Identity, Scope


@dataclass(frozen=True, slots=True)
class DerivedPerson:
    """A person to be stored; ``key`` is that of the stored person that it is, None for a new one."""

    key: int | None
    name: str
    me: bool
    identities: frozenset[Identity]
    bare: frozenset[Identity]
    evidence: frozenset[str]
    maybe_me: bool = False

    def own_mark(self) -> int:
        """The value of ``person.me``."""
        return IS_ME if self.me else MAYBE_ME if self.maybe_me else 0


def replace_people(
    tx: sqlite3.Connection,
    scope: Scope,
    derived: Sequence[DerivedPerson],
    authors: Mapping[tuple[int, str], int | None],
) -> list[int]:
    """Store the derived people of a scope in place of those before, and who the authors of its sessions are: numbers
    of ``derived``. Only what has changed is written. Returns the keys of the people."""
    before = {person.key: person for person in people(tx, scope)}
    kept = {person.key for person in derived if person.key is not None}
    tx.executemany("DELETE FROM person WHERE id = ?", [(key,) for key in before.keys() - kept])
    keys: list[int] = []
    for person in derived:
        known = None if person.key is None else before.get(person.key)
        if known is None:
            (key,) = tx.execute(
                "INSERT INTO person (id, user_id, namespace, name, me) VALUES (?, ?, ?, ?, ?) RETURNING id",
                (person.key, scope.user_id, scope.namespace, person.name, person.own_mark()),
            ).fetchone()
        else:
            key = known.key
            if (known.name, known.me, known.maybe_me) != (person.name, person.me, person.maybe_me):
                tx.execute("UPDATE person SET name = ?, me = ? WHERE id = ?", (person.name, person.own_mark(), key))
        keys.append(int(key))
        if known is None or {*known.identities} != person.identities | person.bare or known.bare != person.bare:
            tx.execute("DELETE FROM person_identity WHERE person_id = ?", (key,))
            tx.executemany(
                "INSERT INTO person_identity (person_id, source, kind, value, bare) VALUES (?, ?, ?, ?, ?)",
                [
                    (key, one.source, one.kind, one.value, int(one in person.bare))
                    for one in person.identities | person.bare
                ],
            )
        tx.execute("DELETE FROM person_evidence WHERE person_id = ?", (key,))
        tx.executemany("INSERT INTO person_evidence VALUES (?, ?)", [(key, words) for words in person.evidence])
    stored = {
        (session, author): key
        for session, author, key in tx.execute(
            "SELECT a.session_id, a.author, a.person_id FROM session s JOIN session_author a ON a.session_id = s.id"
            " WHERE s.user_id = ? AND s.namespace = ?",
            (scope.user_id, scope.namespace),
        )
    }
    changed = [
        (key, *author)
        for author, number in authors.items()
        if stored.get(author) != (key := None if number is None else keys[number])
    ]
    tx.executemany("UPDATE session_author SET person_id = ? WHERE session_id = ? AND author = ?", changed)
    return keys


def node_homes(db: sqlite3.Connection, scope: Scope) -> dict[Node, int]:
    """Return the key of the person that each identity of a scope was first of."""
    rows = db.execute(
        "SELECT source, kind, value, person_id FROM person_node WHERE user_id = ? AND namespace = ?",
        (scope.user_id, scope.namespace),
    )
    return {(source, kind, value): key for source, kind, value, key in rows}


def replace_node_homes(
    tx: sqlite3.Connection, scope: Scope, before: Mapping[Node, int], people: Iterable[tuple[int, Collection[Node]]]
) -> None:
    """Note the keys of the people whom identities are first of, given those ``before``: an identity keeps the key of
    a person who was merged into another, but not one that another person has now."""
    by_key = dict(people)
    homes = {
        node: home if (home := before.get(node, key)) not in by_key else key
        for key, nodes in by_key.items()
        for node in nodes
    }
    owner = (scope.user_id, scope.namespace)
    tx.executemany(
        "DELETE FROM person_node WHERE (user_id, namespace, source, kind, value) = (?, ?, ?, ?, ?)",
        [(*owner, *node) for node in before.keys() - homes.keys()],
    )
    tx.executemany(
        "INSERT OR REPLACE INTO person_node (user_id, namespace, source, kind, value, person_id)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [(*owner, *node, key) for node, key in homes.items() if before.get(node) != key],
    )


def read_facts_again(tx: sqlite3.Connection, authors: Iterable[tuple[int, str]]) -> None:
    """Let the messages of authors of sessions be read for facts again."""
    tx.executemany(
        "INSERT OR IGNORE INTO fact_due SELECT id FROM message WHERE session_id = ? AND author = ? AND role = 'user'"
        " AND talk",
        list(authors),
    )
