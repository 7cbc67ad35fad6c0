"""Messages that say the same: fingerprints to find them by, and the memories whose variants they are.

A ``fingerprint`` is kept of every message of talk that has been looked at: a digest that equal texts of one
scope and role share, and, of one message of each text, the bands that nearly equal texts are likely to
share. A ``variant`` is kept of every message that has its like. It carries the number of their memory, which
means nothing outside; to others a memory is its earliest message, which a message that is stored later can
become, and which the index finds at once however many variants there are. Nothing is ever left out for
being a variant: a row here only says what belongs together.

When a message goes or says something else, its rows go with it (triggers see to that); the others of its
memory stay together.
"""

from __future__ import annotations

import hashlib
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from appliance.moments import now
from appliance.store import messages
from appliance.store.sql import LISTED, PAGE, at_once, listed, marks, pages
from appliance.store.visible import NOT_EXPIRED
from appliance.types import Message, Role

How = Literal["exact", "words", "meaning"]
"""What first linked a message with its like: the same text, nearly the same words, or the same meaning."""

BANDS = 5
"""How many bands a fingerprint has (``copies`` says why); each has a column and an index of its own."""

UNDATED = 1 << 62
"""Stands for the time of a message that has none: behind all others of its memory."""

_COLUMNS = tuple(f"band{number}" for number in range(1, BANDS + 1))


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message of talk as it is compared with others. ``at`` is in microseconds since 1970."""

    id: int
    session: int
    user_id: str
    namespace: str
    role: Role
    author: str | None
    at: int | None
    order_at: int
    position: int
    text: str


@dataclass(frozen=True, slots=True)
class Beside:
    """A message of a session among those around another. ``digest`` and ``row`` are of its vector; None when
    it has none yet, or several, or has not been looked at."""

    id: int
    order_at: int
    position: int
    at: int | None
    role: Role
    author: str | None
    digest: bytes | None
    row: int | None
    memory: int | None


def normalised(text: str) -> str:
    """A text without what makes no difference: composed, without case, each run of white space one space."""
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def digest(user_id: str, namespace: str, role: Role, text: str) -> int:
    """What equal normalised texts of one scope and role have in common: 64 bits of a BLAKE2b, signed.

    They only propose: ``twin`` compares the texts.
    """
    found = blake(8, user_id, namespace, role, text)
    return int.from_bytes(found.digest(), "big", signed=True)


def blake(size: int, *parts: str) -> hashlib.blake2b:
    """A hash of texts that sees where each ends."""
    found = hashlib.blake2b(digest_size=size)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        found.update(len(data).to_bytes(8, "big"))
        found.update(data)
    return found


# --- written within the transaction of a round ----------------------------------------------------------


def unseen(db: sqlite3.Connection, chunks: Sequence[int]) -> list[int]:
    """The messages of talk that the given chunks are of and that have no fingerprint yet.

    A message whose text changes loses its chunks with it, so that a chunk that is there is of the text that
    it was made from.
    """
    found: set[int] = set()
    for page in pages(chunks):
        found.update(
            key
            for (key,) in db.execute(
                "SELECT m.id FROM chunk c JOIN message m ON m.id = c.message_id"
                f" WHERE c.id IN ({marks(page)}) AND m.talk = 1"
                " AND NOT EXISTS (SELECT 1 FROM fingerprint f WHERE f.message_id = m.id)",
                page,
            )
        )
    return sorted(found)


def spoken(db: sqlite3.Connection, keys: Sequence[int]) -> list[Spoken]:
    """The given messages, by key."""
    found: list[Spoken] = []
    for page in pages(keys):
        for values in db.execute(
            "SELECT m.id, m.session_id, s.user_id, s.namespace, m.role, m.author, m.at, m.order_at,"
            " m.position, m.text FROM message m JOIN session s ON s.id = m.session_id"
            f" WHERE m.id IN ({marks(page)}) ORDER BY m.id",
            page,
        ):
            found.append(Spoken(*values))
    return found


def texts(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, str]:
    """The texts of the given messages."""
    found: dict[int, str] = {}
    for page in pages(sorted(set(keys))):
        found.update(db.execute(f"SELECT id, text FROM message WHERE id IN ({marks(page)})", page))
    return found


def enter(tx: sqlite3.Connection, key: int, digest: int, bands: Sequence[int] | None) -> None:
    """Note that a message has been looked at. ``bands`` are None when another of its text has them, or when
    it is too short for a nearly equal one."""
    tx.execute(
        f"INSERT INTO fingerprint (message_id, digest, {', '.join(_COLUMNS)})"
        f" VALUES (?, ?, {marks(_COLUMNS)})",
        (key, digest, *(bands or (None,) * BANDS)),
    )


def twin(tx: sqlite3.Connection, message: Spoken, digest: int, text: str) -> int | None:
    """A message of the same scope and role with the same normalised ``text``, if there is one."""
    row = tx.execute(
        "SELECT m.id, m.text FROM fingerprint f JOIN message m ON m.id = f.message_id"
        " JOIN session s ON s.id = m.session_id"
        " WHERE f.digest = ? AND s.user_id = ? AND s.namespace = ? AND m.role = ? LIMIT 1",
        (digest, message.user_id, message.namespace, message.role),
    ).fetchone()
    return int(row[0]) if row is not None and normalised(row[1]) == text else None


def resembling(tx: sqlite3.Connection, message: Spoken, bands: Sequence[int], limit: int) -> list[int]:
    """Messages of the same scope and role that share bands, those with most in common first.

    Of each band the ``limit`` that were stored first are seen, so that a band that very many share costs no
    more than another.
    """
    of_a_band = (
        f"SELECT * FROM (SELECT message_id FROM fingerprint WHERE {c} = ? LIMIT ?)" for c in _COLUMNS
    )
    found = tx.execute(
        f"SELECT f.message_id FROM ({' UNION ALL '.join(of_a_band)}) f"
        " JOIN message m ON m.id = f.message_id JOIN session s ON s.id = m.session_id"
        " WHERE s.user_id = ? AND s.namespace = ? AND m.role = ? AND m.id <> ?"
        " GROUP BY f.message_id ORDER BY count(*) DESC, f.message_id LIMIT ?",
        (
            *(value for band in bands for value in (band, limit)),
            message.user_id,
            message.namespace,
            message.role,
            message.id,
            limit,
        ),
    )
    return [key for (key,) in found]


def memories(db: sqlite3.Connection, keys: Sequence[int]) -> dict[int, int]:
    """The number of the memory of each of the given messages that has its like."""
    found: dict[int, int] = {}
    for page in pages(keys):
        found.update(
            db.execute(f"SELECT message_id, memory FROM variant WHERE message_id IN ({marks(page)})", page)
        )
    return found


def link(tx: sqlite3.Connection, one: int, other: int, how: How) -> None:
    """Make two messages, which have fingerprints, variants of one memory; two memories become one."""
    there = memories(tx, (one, other))
    if not there:
        (number,) = tx.execute("SELECT coalesce(max(memory), 0) + 1 FROM variant").fetchone()
    elif len(there) == 1:
        (number,) = there.values()
    else:
        number = _merged(tx, there[one], there[other])
    for key in {one, other}.difference(there):
        tx.execute(
            f"INSERT INTO variant (message_id, memory, at, how) SELECT id, ?, coalesce(at, {UNDATED}), ?"
            " FROM message WHERE id = ?",
            (number, how, key),
        )


def _merged(tx: sqlite3.Connection, one: int, other: int) -> int:
    """The smaller memory becomes a part of the larger: over all merges a message moves but a few times."""
    if one == other:
        return one
    sizes = {
        number: tx.execute("SELECT count(*) FROM variant WHERE memory = ?", (number,)).fetchone()[0]
        for number in (one, other)
    }
    smaller, larger = sorted(sizes, key=lambda number: (sizes[number], number))
    tx.execute("UPDATE variant SET memory = ? WHERE memory = ?", (larger, smaller))
    return larger


def around(
    tx: sqlite3.Connection,
    generation: int,
    session: int,
    place: tuple[int, int, int],
    limit: int,
    *,
    before: bool,
) -> list[Beside]:
    """The next messages of talk before or behind a place (time, position, key) of a session, the nearest
    first, with where a generation's vector of each is."""
    sign, order = ("<", "DESC") if before else (">", "ASC")
    return [
        Beside(*values)
        for values in tx.execute(
            "SELECT m.id, m.order_at, m.position, m.at, m.role, m.author,"
            " CASE WHEN f.message_id IS NOT NULL AND (SELECT count(*) FROM chunk d"
            " WHERE d.message_id = m.id AND d.generation = ?1) = 1 THEN c.digest END, e.row, v.memory"
            " FROM message m LEFT JOIN fingerprint f ON f.message_id = m.id"
            " LEFT JOIN variant v ON v.message_id = m.id"
            " LEFT JOIN chunk c ON c.message_id = m.id AND c.generation = ?1 AND c.start = 0"
            " LEFT JOIN embedding e ON e.generation = ?1 AND e.digest = c.digest"
            " WHERE m.session_id = ?2 AND m.talk = 1"
            f" AND (m.order_at, m.position, m.id) {sign} (?3, ?4, ?5)"
            f" ORDER BY m.order_at {order}, m.position {order}, m.id {order} LIMIT ?6",
            (generation, session, *place, limit),
        )
    ]


# --- read back ------------------------------------------------------------------------------------------


def groups(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, int]:
    """The memory, by the key of its earliest message, of each of the given messages that has its like."""
    rows = at_once(
        db,
        "SELECT v.message_id, (SELECT h.message_id FROM variant h WHERE h.memory = v.memory"
        f" ORDER BY h.at, h.message_id LIMIT 1) FROM variant v WHERE v.message_id IN {LISTED}",
        (listed(keys),),
        columns=2,
    )
    return dict(rows)


def of(db: sqlite3.Connection, key: int) -> list[tuple[int, str | None, How]]:
    """Key, time and way of linking of every message that says what the given one says, itself among them, in
    order of time, those without a time last; empty when it has no like."""
    return db.execute(
        "SELECT v.message_id, m.sent_at, v.how FROM variant v JOIN message m ON m.id = v.message_id"
        " JOIN session s ON s.id = m.session_id"
        " WHERE v.memory = (SELECT memory FROM variant WHERE message_id = ?)"
        f" AND {NOT_EXPIRED} ORDER BY v.at, v.message_id",
        (key, now()),
    ).fetchall()


def said(db: sqlite3.Connection, reference: str) -> list[Message]:
    """The same as messages; the message alone when it has no like.

    Raises:
        NotFound: there is no such message.
    """
    asked = messages.message(db, reference)
    keys = [key for key, *_ in of(db, asked.id)]
    rows: Mapping[int, messages.Row] = messages.get(db, keys) if keys else {asked.id: asked}
    return [messages.public(rows[key]) for key in keys or rows if key in rows]


def count(db: sqlite3.Connection) -> int:
    """How many messages say what an earlier one said."""
    (number,) = db.execute("SELECT count(*) - count(DISTINCT memory) FROM variant").fetchone()
    return int(number)


# --- checked and made again -----------------------------------------------------------------------------


def disagreements(db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """The messages whose fingerprint or place among the variants is not what the truth says, and why."""
    after = 0
    while page := db.execute(
        "SELECT m.id, f.digest, s.user_id, s.namespace, m.role, m.talk, m.text"
        " FROM fingerprint f JOIN message m ON m.id = f.message_id JOIN session s ON s.id = m.session_id"
        " WHERE f.message_id > ? ORDER BY f.message_id LIMIT ?",
        (after, PAGE),
    ).fetchall():
        for key, kept, user_id, namespace, role, talk, text in page:
            if not talk or kept != digest(user_id, namespace, role, normalised(text)):
                yield key, "its fingerprint is of another text"
        after = page[-1][0]
    for (key,) in db.execute(
        "SELECT v.message_id FROM variant v JOIN message m ON m.id = v.message_id"
        f" WHERE v.at <> coalesce(m.at, {UNDATED})"
    ):
        yield key, "it stands at another time among the messages that say the same"
    for key, count, owners in db.execute(
        "SELECT min(v.message_id), count(*),"
        " count(DISTINCT m.role || char(31) || s.user_id || char(31) || s.namespace)"
        " FROM variant v JOIN message m ON m.id = v.message_id JOIN session s ON s.id = m.session_id"
        " GROUP BY v.memory HAVING count(*) < 2 OR count(DISTINCT m.role || char(31) || s.user_id"
        " || char(31) || s.namespace) > 1"
    ):
        yield (
            key,
            "it is a variant of nothing" if count < 2 else f"it says the same in {owners} scopes or roles",
        )


def forget(tx: sqlite3.Connection) -> None:
    """Drop all fingerprints and variants: the rounds that follow make them again."""
    tx.execute("DELETE FROM variant")
    tx.execute("DELETE FROM fingerprint")
