"""Variants: messages that say the same, and the fingerprints by which they are found.

Every conversational message that has been compared has a row in ``fingerprint``: a digest, which equal texts of one
scope and role share, and for one message of each text the bands, which nearly equal texts are likely to share. Every
message that has a variant has a row in ``variant`` with the number of their group, which has no meaning elsewhere.
Outside of this module the earliest message stands for the group; an index finds it at once in groups of any size, and a
message that is stored later can take its place. No message is left out for being a variant: the rows only say which
messages belong together.

Triggers delete the rows of a message that is deleted or changed; the other messages of its group stay together.
"""

from __future__ import annotations

import hashlib
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from appliance.lazy_dataclasses import dataclass
from appliance.store import messages
from appliance.store.damage import ROLE_SQL
from appliance.store.sql import JSON_KEYS_SQL, PAGE_ROWS, fetch_in_one_step, fetch_int, json_keys, placeholders
from appliance.store.visibility import NOT_EXPIRED
from appliance.timestamps import now
from appliance.types import Message, Role

How = Literal["exact", "words", "meaning"]
"""What first linked a message with another: the same text, nearly the same words, or the same meaning."""

BAND_COUNT = 5
"""The bands of a fingerprint, each with a column and an index of its own; ``near_duplicates`` says why five."""

UNDATED_AT = 1 << 62
"""The time of messages without one, which makes them the last of their group."""

_COLUMNS = tuple(f"band{number}" for number in range(1, BAND_COUNT + 1))


@dataclass(frozen=True, slots=True)
class ComparableMessage:
    """A conversational message to compare with others. ``at`` is in microseconds since 1970."""

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
class NearbyMessage:
    """A message in the surroundings of another in its session. ``digest`` and ``row`` are those of its vector; None if
    it has none yet, has several, or has not been compared; ``group`` is the number of its variants."""

    id: int
    order_at: int
    position: int
    at: int | None
    role: Role
    author: str | None
    digest: bytes | None
    row: int | None
    group: int | None


def normalize_text(text: str) -> str:
    """Return a text in composed form (NFC), without case, and with single spaces."""
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def text_digest(user_id: str, namespace: str, role: Role, text: str) -> int:
    """Return a digest that equal normalised texts of one scope and role share: 64 bits of a BLAKE2b, signed.

    Equal digests only suggest equal texts: ``find_exact_duplicate`` compares them.
    """
    return int.from_bytes(hash_parts(8, user_id, namespace, role, text).digest(), "big", signed=True)


def hash_parts(size: int, *parts: str) -> hashlib.blake2b:
    """Return a hash of texts that depends on where each of them ends; ``size`` is that of the digest in bytes."""
    digest = hashlib.blake2b(digest_size=size)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest


# --- writing within the transaction of a batch ----------------------------------------------------------


def without_fingerprint(db: sqlite3.Connection, chunks: Sequence[int]) -> list[int]:
    """Return the conversational messages of the given chunks that have no fingerprint yet, by key.

    A message that changes loses its chunks, so an existing chunk belongs to the text that it was made from.
    """
    rows = db.execute(
        "SELECT DISTINCT m.id FROM chunk c JOIN message m ON m.id = c.message_id"
        f" WHERE c.id IN {JSON_KEYS_SQL} AND m.talk = 1"
        " AND NOT EXISTS (SELECT 1 FROM fingerprint f WHERE f.message_id = m.id) ORDER BY m.id",
        (json_keys(chunks),),
    )
    return [key for (key,) in rows]


def comparable_messages(db: sqlite3.Connection, keys: Sequence[int]) -> list[ComparableMessage]:
    """Return the messages with the given keys, by key."""
    rows = db.execute(
        "SELECT m.id, m.session_id, s.user_id, s.namespace, m.role, m.author, m.at, m.order_at,"
        " m.position, m.text FROM message m JOIN session s ON s.id = m.session_id"
        f" WHERE m.id IN {JSON_KEYS_SQL} ORDER BY m.id",
        (json_keys(keys),),
    )
    return [ComparableMessage(*values) for values in rows]


def add_fingerprint(tx: sqlite3.Connection, key: int, digest: int, bands: Sequence[int] | None) -> None:
    """Store the fingerprint of a message. ``bands`` is None if another message with its text has them, or if it is too
    short to be compared by words."""
    tx.execute(
        f"INSERT INTO fingerprint (message_id, digest, {', '.join(_COLUMNS)}) VALUES (?, ?, {placeholders(_COLUMNS)})",
        (key, digest, *(bands or (None,) * BAND_COUNT)),
    )


def find_exact_duplicate(tx: sqlite3.Connection, message: ComparableMessage, digest: int, text: str) -> int | None:
    """Return a message of the same scope and role with the same normalised ``text``, or None."""
    row = tx.execute(
        "SELECT m.id, m.text FROM fingerprint f JOIN message m ON m.id = f.message_id"
        " JOIN session s ON s.id = m.session_id"
        " WHERE f.digest = ? AND s.user_id = ? AND s.namespace = ? AND m.role = ? LIMIT 1",
        (digest, message.user_id, message.namespace, message.role),
    ).fetchone()
    return int(row[0]) if row is not None and normalize_text(row[1]) == text else None


def find_band_matches(
    tx: sqlite3.Connection, message: ComparableMessage, bands: Sequence[int], limit: int
) -> list[int]:
    """Return up to ``limit`` messages of the same scope and role that share bands, those that share most first.

    For each band only the ``limit`` messages stored first are considered, so that a very common band costs no more than
    any other.
    """
    by_band = (f"SELECT * FROM (SELECT message_id FROM fingerprint WHERE {c} = ? LIMIT ?)" for c in _COLUMNS)
    rows = tx.execute(
        f"SELECT f.message_id FROM ({' UNION ALL '.join(by_band)}) f"
        " JOIN message m ON m.id = f.message_id JOIN session s ON s.id = m.session_id"
        " WHERE s.user_id = ? AND s.namespace = ? AND m.role = ? AND m.id <> ?"
        " GROUP BY f.message_id ORDER BY count(*) DESC, f.message_id LIMIT ?",
        (*(value for band in bands for value in (band, limit)), message.user_id, message.namespace, message.role,
         message.id, limit),
    )  # fmt: skip
    return [key for (key,) in rows]


def group_numbers(db: sqlite3.Connection, keys: Sequence[int]) -> dict[int, int]:
    """Return the number of the group of each of the messages that has variants."""
    query = f"SELECT message_id, memory FROM variant WHERE message_id IN {JSON_KEYS_SQL}"
    return dict(db.execute(query, (json_keys(keys),)).fetchall())


def link(tx: sqlite3.Connection, first: int, second: int, how: How) -> None:
    """Make two messages, which have fingerprints, variants of each other; their groups become one."""
    groups_by_message = group_numbers(tx, (first, second))
    if not groups_by_message:
        (number,) = tx.execute("SELECT coalesce(max(memory), 0) + 1 FROM variant").fetchone()
    elif len(groups_by_message) == 1:
        (number,) = groups_by_message.values()
    else:
        number = _merge_groups(tx, groups_by_message[first], groups_by_message[second])
    for key in {first, second}.difference(groups_by_message):
        tx.execute(
            f"INSERT INTO variant (message_id, memory, at, how) SELECT id, ?, coalesce(at, {UNDATED_AT}), ?"
            " FROM message WHERE id = ?",
            (number, how, key),
        )


def _merge_groups(tx: sqlite3.Connection, first: int, second: int) -> int:
    """Merge the smaller group into the larger, so that over all merges each message moves only a few times."""
    if first == second:
        return first
    query = "SELECT count(*) FROM variant WHERE memory = ?"
    smaller, larger = sorted((first, second), key=lambda number: (fetch_int(tx, query, (number,)), number))
    tx.execute("UPDATE variant SET memory = ? WHERE memory = ?", (larger, smaller))
    return larger


def nearby_messages(
    tx: sqlite3.Connection, generation: int, session: int, position: tuple[int, int, int], limit: int, *, before: bool
) -> list[NearbyMessage]:
    """Return up to ``limit`` conversational messages before or after a place (time, position, key) of a session,
    nearest first, with the places of their vectors in a generation."""
    sign, order = ("<", "DESC") if before else (">", "ASC")
    rows = tx.execute(
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
        (generation, session, *position, limit),
    )
    return [NearbyMessage(*values) for values in rows]


# --- reading --------------------------------------------------------------------------------------------


def group_heads(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, int]:
    """Return the earliest message of its group for each of the messages that has variants."""
    rows = fetch_in_one_step(
        db,
        "SELECT v.message_id, (SELECT h.message_id FROM variant h WHERE h.memory = v.memory"
        f" ORDER BY h.at, h.message_id LIMIT 1) FROM variant v WHERE v.message_id IN {JSON_KEYS_SQL}",
        (json_keys(keys),),
        columns=2,
    )
    return dict(rows)


def numbers(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, int]:
    """Return the number that each of the messages shares with its variants, of those that have any."""
    query = f"SELECT message_id, memory FROM variant WHERE message_id IN {JSON_KEYS_SQL}"
    return dict(db.execute(query, (json_keys(keys),)).fetchall())


def others(
    db: sqlite3.Connection, keys: Iterable[int], condition: str, values: Sequence[object]
) -> dict[int, list[int]]:
    """Return the variants of each of the messages that its own author said and that meet a condition on ``message m``
    and ``session s``."""
    rows = db.execute(
        "SELECT v.message_id, m.id FROM variant v JOIN message a ON a.id = v.message_id"
        " JOIN variant o ON o.memory = v.memory AND o.message_id <> v.message_id"
        " JOIN message m ON m.id = o.message_id AND m.author IS a.author JOIN session s ON s.id = m.session_id"
        f" WHERE v.message_id IN {JSON_KEYS_SQL} AND {condition} ORDER BY m.id",
        (json_keys(keys), *values),
    )
    found: dict[int, list[int]] = {}
    for key, other in rows:
        found.setdefault(key, []).append(other)
    return found


def group_members(db: sqlite3.Connection, key: int) -> list[tuple[int, str | None, How]]:
    """Return key, time (ISO 8601) and kind of link of a message and all its variants, by time, those without a time
    last; empty if it has no variants."""
    return db.execute(
        "SELECT v.message_id, m.sent_at, v.how FROM variant v JOIN message m ON m.id = v.message_id"
        " JOIN session s ON s.id = m.session_id"
        " WHERE v.memory = (SELECT memory FROM variant WHERE message_id = ?)"
        f" AND {NOT_EXPIRED} ORDER BY v.at, v.message_id",
        (key, now()),
    ).fetchall()


def list_variants(db: sqlite3.Connection, reference: str) -> list[Message]:
    """Return a message and all its variants, by time; the message alone if it has none.

    Raises:
        NotFound: There is no such message.
    """
    row = messages.find(db, reference)
    keys = [key for key, *_ in group_members(db, row.id)]
    rows: Mapping[int, messages.MessageRow] = messages.get(db, keys) if keys else {row.id: row}
    return [messages.to_message(rows[key]) for key in keys or rows if key in rows]


def count(db: sqlite3.Connection) -> int:
    """Return the number of messages that are variants of an earlier one."""
    return fetch_int(db, "SELECT count(*) - count(DISTINCT memory) FROM variant")


# --- verifying and rebuilding ---------------------------------------------------------------------------


def disagreements(db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Yield the messages whose fingerprint or variants do not agree with the messages themselves, and why."""
    after = 0
    while page := db.execute(
        f"SELECT m.id, f.digest, s.user_id, s.namespace, {ROLE_SQL}, m.talk, m.text"
        " FROM fingerprint f JOIN message m ON m.id = f.message_id JOIN session s ON s.id = m.session_id"
        " WHERE f.message_id > ? ORDER BY f.message_id LIMIT ?",
        (after, PAGE_ROWS),
    ).fetchall():
        for key, stored_digest, user_id, namespace, role, talk, text in page:
            if not talk or stored_digest != text_digest(user_id, namespace, role, normalize_text(text)):
                yield key, "its fingerprint belongs to another text"
        after = page[-1][0]
    for (key,) in db.execute(
        "SELECT v.message_id FROM variant v JOIN message m ON m.id = v.message_id"
        f" WHERE v.at <> coalesce(m.at, {UNDATED_AT})"
    ):
        yield key, "its time among its variants is not its own"
    for key, count, owners in db.execute(
        "SELECT min(v.message_id), count(*),"
        " count(DISTINCT m.role || char(31) || s.user_id || char(31) || s.namespace)"
        " FROM variant v JOIN message m ON m.id = v.message_id JOIN session s ON s.id = m.session_id"
        " GROUP BY v.memory HAVING count(*) < 2 OR count(DISTINCT m.role || char(31) || s.user_id"
        " || char(31) || s.namespace) > 1"
    ):
        yield key, "it is a variant of nothing" if count < 2 else f"its variants belong to {owners} scopes or roles"


def delete_all(tx: sqlite3.Connection) -> None:
    """Delete all fingerprints and variants; the next batches of the indexer make them again."""
    tx.execute("DELETE FROM variant")
    tx.execute("DELETE FROM fingerprint")
