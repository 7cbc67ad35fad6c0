"""What was erased for good is remembered, without remembering it: by keyed digests of its source's ids.

So reading the same export again does not bring a message back.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from appliance.store.sql import LISTED, listed, marks, pages

KEY_BYTES = 32
DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a message came from: whose memory, which format, and the source's own ids of chat and message."""

    user_id: str
    namespace: str
    format: str
    session: str
    message: str


def origins(db: sqlite3.Connection, keys: Collection[int]) -> list[Origin]:
    """Where the given messages came from."""
    rows = db.execute(
        "SELECT s.user_id, s.namespace, s.format, s.external_id, m.external_id FROM message m"
        f" JOIN session s ON s.id = m.session_id WHERE m.id IN {LISTED}",
        (listed(keys),),
    )
    return [Origin(*row) for row in rows]


def note(tx: sqlite3.Connection, gone: Iterable[Origin]) -> None:
    """Remember that these were erased. Of each two digests: within its chat, and for a chat that is known by its
    messages only, whatever its file is called."""
    row = tx.execute("SELECT key FROM forgotten_key").fetchone()
    key = row[0] if row else secrets.token_bytes(KEY_BYTES)
    if not row:
        tx.execute("INSERT INTO forgotten_key VALUES (1, ?)", (key,))
    tx.executemany(
        "INSERT OR IGNORE INTO forgotten VALUES (?)",
        ((_digest(key, one, in_chat),) for one in gone for in_chat in (True, False)),
    )


def known(tx: sqlite3.Connection, origins: Sequence[Origin], *, in_chat: bool) -> set[str]:
    """Which of these messages, by their external ids, were erased. ``in_chat`` compares the chat's id too: right where
    the source gives messages ids of their own, which another chat may use again."""
    row = tx.execute("SELECT key FROM forgotten_key").fetchone()
    if not row:
        return set()
    digests = {_digest(row[0], one, in_chat): one.message for one in origins}
    found: set[str] = set()
    for page in pages(list(digests)):
        for (digest,) in tx.execute(f"SELECT digest FROM forgotten WHERE digest IN ({marks(page)})", page):
            found.add(digests[digest])
    return found


def take_back(tx: sqlite3.Connection, origins: Iterable[Origin]) -> None:
    """Let these be stored again."""
    row = tx.execute("SELECT key FROM forgotten_key").fetchone()
    if row:
        tx.executemany(
            "DELETE FROM forgotten WHERE digest = ?",
            ((_digest(row[0], one, in_chat),) for one in origins for in_chat in (True, False)),
        )


def _digest(key: bytes, one: Origin, in_chat: bool) -> bytes:
    parts = (one.user_id, one.namespace, one.format, *((one.session,) if in_chat else ()), one.message)
    said = b"".join(
        b"%d:%s" % (len(part), part) for part in (p.encode("utf-8", "surrogatepass") for p in parts)
    )
    return hashlib.blake2b(
        said, key=key, digest_size=DIGEST_BYTES, person=b"chat" if in_chat else b"any"
    ).digest()
