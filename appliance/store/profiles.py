"""What sources say of the authors of sessions and of people in address books: profiles with their identities."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from appliance.store import identities
from appliance.store.sql import JSON_KEYS_SQL, has_row, json_keys
from appliance.types import ContactRecord, Identity, IdentityKind, ParticipantRecord, Scope

_KEY_KINDS: Sequence[IdentityKind] = ("id", "address", "number", "handle", "name")
"""By which identity a profile is told from others: the first that it has."""

MAX_IDENTITIES = 200
"""More values of one profile are not an account of a person."""


@dataclass(frozen=True, slots=True)
class Profile:
    """An account or an entry of an address book (a card), as one source describes it."""

    key: int
    source: str
    me: bool
    is_card: bool
    identities: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AuthorUse:
    """An author of a session: the format of the session, and the profiles that its export gives the author.
    ``is_among_people`` is False where an assistant takes part."""

    session: int
    source: str
    author: str
    profiles: tuple[int, ...] = ()
    is_among_people: bool = True


# --- what sources say, within the transaction of an ingest ------------------------------------------------


def add_participants(
    tx: sqlite3.Connection, scope: Scope, source: str, session: int, records: Iterable[ParticipantRecord]
) -> None:
    """Store what an export says of the authors of a session, as far as they wrote in it."""
    for record in records:
        wrote = "SELECT 1 FROM session_author WHERE session_id = ? AND author = ?"
        if has_row(tx, wrote, (session, record.author)):
            profile = _upsert_profile(tx, scope, source, record.identities, me=record.me)
            if profile is not None:
                tx.execute(
                    "INSERT OR IGNORE INTO participant (session_id, author, profile_id) VALUES (?, ?, ?)",
                    (session, record.author, profile),
                )


def add_contact(tx: sqlite3.Connection, scope: Scope, source: str, file: int, record: ContactRecord) -> None:
    """Store an entry of an address book, which a file holds."""
    profile = _upsert_profile(tx, scope, source, record.identities, me=record.me)
    if profile is not None:
        tx.execute("INSERT OR IGNORE INTO contact_file (profile_id, source_id) VALUES (?, ?)", (profile, file))


def _upsert_profile(
    tx: sqlite3.Connection, scope: Scope, source: str, stated: Iterable[tuple[IdentityKind, str]], *, me: bool
) -> int | None:
    """Store a profile with its identities; returns its key, or None if nothing identifies it."""
    normal = [(kind, value) for kind, raw in stated if (value := identities.normalise(kind, raw)) is not None]
    values = list(dict.fromkeys(normal))[:MAX_IDENTITIES]
    if not values:
        return None
    kind, value = min(values, key=lambda one: _KEY_KINDS.index(one[0]))
    key = f"{kind}:{value}"
    if source == "contacts":  # two entries may share a number
        key += "".join(f"\x1f{value}" for kind, value in values if kind == "name")
    row = tx.execute(
        "INSERT INTO profile (user_id, namespace, source, key, me) VALUES (?1, ?2, ?3, ?4, ?5)"
        " ON CONFLICT (user_id, namespace, source, key) DO UPDATE SET me = max(me, ?5) RETURNING id",
        (scope.user_id, scope.namespace, source, key, int(me)),
    ).fetchone()
    tx.executemany(
        "INSERT OR IGNORE INTO profile_identity (profile_id, kind, value) VALUES (?, ?, ?)",
        [(row[0], kind, value) for kind, value in values],
    )
    return int(row[0])


# --- reading ----------------------------------------------------------------------------------------------


def profiles(db: sqlite3.Connection, scope: Scope) -> list[Profile]:
    """Return the profiles of a scope."""
    owner = (scope.user_id, scope.namespace)
    values: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for key, kind, value in db.execute(
        "SELECT i.profile_id, i.kind, i.value FROM profile p JOIN profile_identity i ON i.profile_id = p.id"
        " WHERE p.user_id = ? AND p.namespace = ?",
        owner,
    ):
        values[key].append((kind, value))
    rows = db.execute(
        "SELECT id, source, me, EXISTS (SELECT 1 FROM contact_file WHERE profile_id = p.id) FROM profile p"
        " WHERE user_id = ? AND namespace = ? ORDER BY id",
        owner,
    )
    return [Profile(key, source, bool(me), bool(card), tuple(values[key])) for key, source, me, card in rows]


def author_uses(db: sqlite3.Connection, scope: Scope) -> list[AuthorUse]:
    """Return the authors of the sessions of a scope."""
    owner = (scope.user_id, scope.namespace)
    by_author: dict[tuple[int, str], list[int]] = defaultdict(list)
    for session, author, profile in db.execute(
        "SELECT p.session_id, p.author, p.profile_id FROM participant p JOIN session s ON s.id = p.session_id"
        " WHERE s.user_id = ? AND s.namespace = ?",
        owner,
    ):
        by_author[session, author].append(profile)
    rows = db.execute(
        "SELECT a.session_id, s.format, a.author, NOT EXISTS (SELECT 1 FROM message WHERE session_id = s.id"
        " AND role = 'assistant' AND talk = 1) FROM session s JOIN session_author a ON a.session_id = s.id"
        " WHERE s.user_id = ? AND s.namespace = ? ORDER BY a.session_id, a.author",
        owner,
    ).fetchall()
    return [
        AuthorUse(session, format, author, tuple(by_author.get((session, author), ())), bool(among))
        for session, format, author, among in rows
    ]


def participants(db: sqlite3.Connection, session: int) -> list[tuple[str, Profile]]:
    """Return the authors of a session whose export says more of them, with what it says."""
    rows = db.execute(
        "SELECT a.author, p.id, p.source, p.me FROM participant a JOIN profile p ON p.id = a.profile_id"
        " WHERE a.session_id = ? ORDER BY a.author, p.source, p.key",
        (session,),
    ).fetchall()
    return [(author, Profile(key, source, bool(me), False, _identities(db, key))) for author, key, source, me in rows]


def contacts(db: sqlite3.Connection, scope: Scope) -> list[tuple[Profile, str, str, int]]:
    """Return the entries of the address books of a scope, each with the path, format and size of its file."""
    rows = db.execute(
        "SELECT p.id, p.source, p.me, f.path, f.format, f.bytes FROM profile p"
        " JOIN contact_file c ON c.profile_id = p.id JOIN source f ON f.id = c.source_id"
        " WHERE p.user_id = ? AND p.namespace = ? ORDER BY p.source, p.key, f.path",
        (scope.user_id, scope.namespace),
    ).fetchall()
    return [
        (Profile(key, source, bool(me), True, _identities(db, key)), path, format, size)
        for key, source, me, path, format, size in rows
    ]


def _identities(db: sqlite3.Connection, profile: int) -> tuple[tuple[str, str], ...]:
    query = "SELECT kind, value FROM profile_identity WHERE profile_id = ? ORDER BY kind, value"
    return tuple(db.execute(query, (profile,)).fetchall())


# --- erasing ----------------------------------------------------------------------------------------------


def remove_cards(tx: sqlite3.Connection, scope: Scope, known: Iterable[Identity]) -> None:
    """Take the entries of address books that have any of these identities out of the memory."""
    for one in known:
        tx.execute(
            "DELETE FROM contact_file WHERE profile_id IN (SELECT i.profile_id FROM profile_identity i"
            " JOIN profile p ON p.id = i.profile_id WHERE p.user_id = ? AND p.namespace = ? AND p.source = ?"
            " AND i.kind = ? AND i.value = ?)",
            (scope.user_id, scope.namespace, one.source, one.kind, one.value),
        )


def forget_address_books(tx: sqlite3.Connection, scope: Scope) -> set[str]:
    """Delete the address books of a scope; returns the names, addresses and numbers in them."""
    owner = (scope.user_id, scope.namespace)
    names = {
        value
        for (value,) in tx.execute(
            "SELECT i.value FROM profile p JOIN profile_identity i ON i.profile_id = p.id"
            " WHERE p.user_id = ? AND p.namespace = ?",
            owner,
        )
    }
    tx.execute(
        "DELETE FROM contact_file WHERE profile_id IN (SELECT id FROM profile WHERE user_id = ? AND namespace = ?)",
        owner,
    )
    return names


def contacts_of_source(
    db: sqlite3.Connection, scope: Scope, format: str, files: Iterable[int]
) -> list[tuple[int, int]]:
    """Return the entries of address books of a scope that came from a format or from one of these files, each with the
    key of the file."""
    rows = db.execute(
        "SELECT p.id, f.id FROM profile p JOIN contact_file c ON c.profile_id = p.id"
        " JOIN source f ON f.id = c.source_id"
        f" WHERE p.user_id = ? AND p.namespace = ? AND (f.format = ? OR f.id IN {JSON_KEYS_SQL}) ORDER BY p.id, f.id",
        (scope.user_id, scope.namespace, format, json_keys(files)),
    )
    return [(profile, file) for profile, file in rows]


def forget_contacts(tx: sqlite3.Connection, entries: Iterable[tuple[int, int]]) -> set[Scope]:
    """Delete entries of address books, as far as these files hold them; returns their scopes."""
    scopes: set[Scope] = set()
    for profile, file in entries:
        found = tx.execute("SELECT user_id, namespace FROM profile WHERE id = ?", (profile,)).fetchone()
        if found is not None:
            scopes.add(Scope(*found))
            tx.execute("DELETE FROM contact_file WHERE profile_id = ? AND source_id = ?", (profile, file))
    return scopes
