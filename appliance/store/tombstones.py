"""Tombstones: keyed digests of the ids of erased messages, so that reading the same export again does not bring them
back, and of the paths of their files. A digest does not reveal the id."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

from appliance.lazy_dataclasses import dataclass
from appliance.store.sql import JSON_KEYS_SQL, json_keys, pages, placeholders

KEY_BYTES = 32
DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class MessageOrigin:
    """The origin of a message: user, namespace and format, and the source's own ids of the chat and the message."""

    user_id: str
    namespace: str
    format: str
    session: str
    message: str


def origins(db: sqlite3.Connection, keys: Collection[int]) -> list[MessageOrigin]:
    """Return the origins of the messages with the given keys."""
    rows = db.execute(
        "SELECT s.user_id, s.namespace, s.format, s.external_id, m.external_id FROM message m"
        f" JOIN session s ON s.id = m.session_id WHERE m.id IN {JSON_KEYS_SQL}",
        (json_keys(keys),),
    )
    return [MessageOrigin(*row) for row in rows]


def add(tx: sqlite3.Connection, origins: Iterable[MessageOrigin]) -> None:
    """Store tombstones for messages, two of each: one with the id of the chat, and one without it for chats that are
    recognised by their messages, whatever the name of their file."""
    tx.executemany("INSERT OR IGNORE INTO forgotten VALUES (?)", _digests(_ensure_key(tx), origins))


def exist(db: sqlite3.Connection) -> bool:
    """Whether any message was ever erased."""
    return _key(db) is not None


def erased_ids(tx: sqlite3.Connection, origins: Sequence[MessageOrigin], *, in_chat: bool) -> set[str]:
    """Return the external ids of those messages that were erased. ``in_chat`` compares the id of the chat too: right
    where the source itself numbers the messages, so that two chats may use the same ids."""
    key = _key(tx)
    if key is None:
        return set()
    digests = {_digest(key, origin, in_chat): origin.message for origin in origins}
    erased: set[str] = set()
    for page in pages(list(digests)):
        for (digest,) in tx.execute(f"SELECT digest FROM forgotten WHERE digest IN ({placeholders(page)})", page):
            erased.add(digests[digest])
    return erased


def remove(tx: sqlite3.Connection, origins: Iterable[MessageOrigin]) -> None:
    """Remove the tombstones of messages, so that they can be stored again."""
    if (key := _key(tx)) is not None:
        tx.executemany("DELETE FROM forgotten WHERE digest = ?", _digests(key, origins))


def adopt(tx: sqlite3.Connection, key: bytes, digests: Iterable[bytes]) -> bool:
    """Store the tombstones of another memory, with its key. Returns False if this one has another key.

    Raises:
        ValueError: The key or a digest is not of its length.
    """
    found = list(digests)
    if len(key) != KEY_BYTES or any(len(digest) != DIGEST_BYTES for digest in found):
        raise ValueError("These are no tombstones.")
    tx.execute("INSERT OR IGNORE INTO forgotten_key VALUES (1, ?)", (key,))
    if _key(tx) != key:
        return False
    tx.executemany("INSERT OR IGNORE INTO forgotten VALUES (?)", [(digest,) for digest in found])
    return True


def path_tombstones(tx: sqlite3.Connection, paths: Sequence[bytes]) -> list[bytes]:
    """Return the keyed digests of paths."""
    key = _ensure_key(tx)
    return [_path_digest(key, path) for path in paths]


def path_digester(db: sqlite3.Connection) -> Callable[[bytes], bytes] | None:
    """Return the function of ``path_tombstones`` for a single path; None if nothing has been forgotten yet."""
    key = _key(db)
    return None if key is None else partial(_path_digest, key)


def _ensure_key(tx: sqlite3.Connection) -> bytes:
    key = _key(tx)
    if key is None:
        key = secrets.token_bytes(KEY_BYTES)
        tx.execute("INSERT INTO forgotten_key VALUES (1, ?)", (key,))
    return key


def _path_digest(key: bytes, path: bytes) -> bytes:
    return hashlib.blake2b(path, key=key, digest_size=DIGEST_BYTES, person=b"path").digest()


def _key(tx: sqlite3.Connection) -> bytes | None:
    row = tx.execute("SELECT key FROM forgotten_key").fetchone()
    return row[0] if row else None


def _digests(key: bytes, origins: Iterable[MessageOrigin]) -> list[tuple[bytes]]:
    return [(_digest(key, origin, in_chat),) for origin in origins for in_chat in (True, False)]


def _digest(key: bytes, origin: MessageOrigin, in_chat: bool) -> bytes:
    parts = (origin.user_id, origin.namespace, origin.format, *((origin.session,) if in_chat else ()), origin.message)
    data = b"".join(b"%d:%s" % (len(part), part) for part in (p.encode("utf-8", "surrogatepass") for p in parts))
    return hashlib.blake2b(data, key=key, digest_size=DIGEST_BYTES, person=b"chat" if in_chat else b"any").digest()
