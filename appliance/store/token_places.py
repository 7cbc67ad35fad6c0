"""Where the token vectors of each text are in the token ledger, as the database knows it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from appliance.store.passages import Passage, passage, split_messages
from appliance.store.sql import JSON_KEYS_SQL, fetch_int, fetch_readable, json_keys, read_transaction
from appliance.store.token_vectors import TokenPlace


class TokenLedgerState(NamedTuple):
    """What made the token vectors of a ledger, the numbers in each, and where the file ends."""

    identity: str
    dimension: int
    end: int


class ChunkWithoutTokens(NamedTuple):
    """A chunk whose text has a vector, and no token vectors yet; ``passage`` is what the model reads."""

    chunk: int
    digest: bytes
    passage: Passage


def state(db: sqlite3.Connection, generation: int) -> TokenLedgerState | None:
    """Return the state of a generation's token ledger; None if it has none."""
    row = db.execute("SELECT identity, dimension, bytes FROM token_ledger WHERE generation = ?", (generation,))
    found = row.fetchone()
    return None if found is None else TokenLedgerState(*found)


def begin(tx: sqlite3.Connection, generation: int, identity: str, dimension: int) -> None:
    """Begin an empty token ledger for a generation, in place of the one that it may have."""
    remove(tx, generation)
    tx.execute(
        "INSERT INTO token_ledger (generation, identity, dimension) VALUES (?, ?, ?)", (generation, identity, dimension)
    )


def remove(tx: sqlite3.Connection, generation: int) -> None:
    """Forget the token ledger of a generation. The caller removes its file."""
    tx.execute("DELETE FROM token_place WHERE generation = ?", (generation,))
    tx.execute("DELETE FROM token_ledger WHERE generation = ?", (generation,))


def add(tx: sqlite3.Connection, generation: int, places: Mapping[bytes, TokenPlace], end: int) -> None:
    """Note records that have reached the disk; ``end`` is where the file ends with them. A text that was erased
    meanwhile has no vector any more, and gets no place."""
    tx.executemany(
        "INSERT OR REPLACE INTO token_place (generation, digest, start, tokens)"
        " SELECT generation, digest, ?, ? FROM embedding WHERE generation = ? AND digest = ?",
        [(place.start, place.tokens, generation, digest) for digest, place in places.items()],
    )
    tx.execute("UPDATE token_ledger SET bytes = ? WHERE generation = ?", (end, generation))


def of_messages(db: sqlite3.Connection, generation: int, keys: Collection[int]) -> dict[int, list[TokenPlace]]:
    """Return the places of the chunks of messages; without messages that have none."""
    found: dict[int, list[TokenPlace]] = {}
    for message, start, tokens in fetch_readable(
        db,
        "SELECT c.message_id, p.start, p.tokens FROM chunk c"
        " JOIN token_place p ON p.generation = c.generation AND p.digest = c.digest"
        f" WHERE c.message_id IN {JSON_KEYS_SQL} AND c.generation = ?",
        sorted(keys),
        columns=3,
        after=(generation,),
    ):
        found.setdefault(message, []).append(TokenPlace(start, tokens))
    return found


def all_places(db: sqlite3.Connection, generation: int) -> Iterator[tuple[bytes, TokenPlace]]:
    """Yield the digest and the place of every text that has token vectors."""
    query = "SELECT digest, start, tokens FROM token_place WHERE generation = ? ORDER BY start"
    for digest, start, tokens in db.execute(query, (generation,)):
        yield digest, TokenPlace(start, tokens)


def delete(tx: sqlite3.Connection, generation: int, digests: Collection[bytes]) -> None:
    """Forget the places of texts whose records are damaged, so that they are computed again."""
    query = "DELETE FROM token_place WHERE generation = ? AND digest = ?"
    tx.executemany(query, [(generation, digest) for digest in digests])


_MISSING_SQL = (
    "FROM chunk c JOIN embedding e ON e.generation = c.generation AND e.digest = c.digest"
    " LEFT JOIN token_place p ON p.generation = c.generation AND p.digest = c.digest"
    " WHERE c.generation = ? AND p.digest IS NULL"
)


def count_missing(db: sqlite3.Connection, generation: int) -> int:
    """Return the number of chunks whose text has a vector and no token vectors."""
    return fetch_int(db, f"SELECT count(*) {_MISSING_SQL}", (generation,))


def next_missing(db: sqlite3.Connection, generation: int, limit: int, before: int) -> list[ChunkWithoutTokens]:
    """Return up to ``limit`` chunks with keys below ``before`` whose text has a vector and no token vectors, the newest
    first; more if the last is read together with others."""
    # One state of the database: a message that is edited between the queries must not get its new text under the digest
    # of the old one.
    with read_transaction(db):
        query = f"SELECT c.id, c.digest, c.message_id, c.start, c.stop {_MISSING_SQL} AND c.id < ?"
        rows = db.execute(f"{query} ORDER BY c.id DESC LIMIT ?", (generation, before, limit)).fetchall()
        query = f"SELECT id, author, text FROM message WHERE id IN {JSON_KEYS_SQL}"
        texts = {key: (author, text) for key, author, text in db.execute(query, (json_keys({row[2] for row in rows}),))}
        split = split_messages(db, generation, texts)
        if rows and (section := split.get(rows[-1][1])) is not None:
            query = f"SELECT c.id, c.digest, c.message_id, c.start, c.stop {_MISSING_SQL} AND c.message_id = ?"
            query += " AND c.id < ? ORDER BY c.id DESC"
            others = db.execute(query, (generation, rows[-1][2], rows[-1][0])).fetchall()
            rows += [other for other in others if other[1] in section.digests]
    return [
        ChunkWithoutTokens(
            chunk, digest, split.get(digest) or passage(texts[message][0], texts[message][1][start:stop])
        )
        for chunk, digest, message, start, stop in rows
    ]
