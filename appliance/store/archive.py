"""The archive: messages whose text is a compressed frame, outside of the full text and of the index.

An archived message keeps its row, its chunks and its vectors in the ledger. ``message.text`` is a generated column over
``body``, which holds the text or its frame: so everything that reads texts reads archived ones too. A message is
archived exactly if it has a row in ``archived``; moving it, either way, is one transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

import ahocorasick_rs

from appliance.lazy_dataclasses import dataclass
from appliance.store import chunks, digests, lexical, messages, text_frames
from appliance.store.database import Database
from appliance.store.generation_states import ACTIVE_SQL
from appliance.store.sql import JSON_KEYS_SQL, PAGE_ROWS, fetch_int, has_row, json_keys, read_by_halves
from appliance.store.text_frames import FrameDamaged, FrameReader, FrameWriter
from appliance.timestamps import now
from appliance.types import Role, Scope

TRACE_CHARACTERS = 4
"""The length from which on a piece of a deleted text counts as a trace in a dictionary: a PIN has four digits."""


MAX_SAMPLES = 5_000
MAX_SAMPLE_CHARACTERS = 2_000
"""A dictionary is trained on up to so many texts, and on the beginnings of long ones: training on more takes longer and
gives no better one."""


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A dictionary of archived texts, by the number that zstd gave it."""

    id: int
    content: bytes


@dataclass(frozen=True, slots=True)
class ArchiveSize:
    """The number of archived messages, and the bytes of their frames and of the dictionaries."""

    messages: int
    frame_bytes: int
    dictionary_bytes: int


# --- moving ------------------------------------------------------------------------------------------


def archivable(tx: sqlite3.Connection, keys: Collection[int]) -> list[int]:
    """Return those of the messages that are not archived, are as they were stored, and wait for no vector: a text
    without one would have to be embedded from the archive."""
    rows = tx.execute(
        f"SELECT m.id FROM message m WHERE m.id IN {JSON_KEYS_SQL}"
        " AND NOT EXISTS (SELECT 1 FROM archived a WHERE a.message_id = m.id)"
        " AND NOT EXISTS (SELECT 1 FROM chunk c JOIN outbox o ON o.chunk_id = c.id"
        f"                WHERE c.message_id = m.id AND o.work = 'put' AND o.generation = {ACTIVE_SQL}) ORDER BY m.id",
        (json_keys(digests.intact(tx, keys)),),
    )
    return [key for (key,) in rows]


def archive(tx: sqlite3.Connection, keys: Sequence[int], dictionary: Dictionary | None, at: int) -> None:
    """Archive messages that ``archivable`` has returned within this transaction.

    Args:
        tx: The transaction.
        keys: The messages.
        dictionary: The dictionary of their frames, if there is one.
        at: When they were chosen, in microseconds since 1970.
    """
    writer = FrameWriter(dictionary.content if dictionary else None)
    moved = json_keys(keys)
    lexical.remove_from_index(tx, keys)
    bodies = tx.execute(f"SELECT id, body FROM message WHERE id IN {JSON_KEYS_SQL}", (moved,)).fetchall()
    tx.executemany("UPDATE message SET body = ? WHERE id = ?", [(writer.pack(text), key) for key, text in bodies])
    tx.executemany(
        "INSERT INTO archived (message_id, at, dictionary) VALUES (?, ?, ?)",
        [(key, at, dictionary.id if dictionary else None) for key, _ in bodies],
    )
    chunks.drop_points(tx, keys)


def restore(tx: sqlite3.Connection, keys: Iterable[int]) -> list[int]:
    """Bring messages back into the full text and the index; returns those that were archived. A message whose frame is
    damaged stays as it is."""
    restored: list[int] = []
    for key, text in _archived_texts(tx, keys):
        if text is not None:
            tx.execute("UPDATE message SET body = ? WHERE id = ?", (text, key))  # a trigger ends its archiving
            restored.append(key)
    lexical.add_to_index(tx, restored)
    chunks.requeue(tx, restored)
    return restored


def _archived_texts(tx: sqlite3.Connection, keys: Iterable[int]) -> list[tuple[int, str | None]]:
    """The texts of those of the messages that are archived; None where the frame is damaged."""
    rows = tx.execute(
        "SELECT m.id, m.body FROM archived a JOIN message m ON m.id = a.message_id"
        f" WHERE a.message_id IN {JSON_KEYS_SQL} ORDER BY m.id",
        (json_keys(keys),),
    ).fetchall()
    reader = text_frames.reader_of(tx)
    return [(key, _unpack(reader, body)) for key, body in rows]


def _unpack(reader: FrameReader, body: object) -> str | None:
    try:
        return reader.unpack(body) if isinstance(body, bytes) else None
    except FrameDamaged:
        return None


# --- reading -----------------------------------------------------------------------------------------


def archived(db: sqlite3.Connection, keys: Iterable[int]) -> set[int]:
    """Return those of the messages that are archived."""
    rows = db.execute(f"SELECT message_id FROM archived WHERE message_id IN {JSON_KEYS_SQL}", (json_keys(keys),))
    return {key for (key,) in rows}


def count(db: sqlite3.Connection) -> int:
    """Return the number of archived messages."""
    return fetch_int(db, "SELECT count(*) FROM archived")


def is_empty(db: sqlite3.Connection) -> bool:
    """Whether no message is archived."""
    return not has_row(db, "SELECT 1 FROM archived LIMIT 1")


def latest(db: sqlite3.Connection, user_id: str, namespace: str, limit: int, offset: int) -> list[int]:
    """Return a user's archived messages, the latest first."""
    rows = db.execute(
        "SELECT m.id FROM archived a JOIN message m ON m.id = a.message_id JOIN session s ON s.id = m.session_id"
        " WHERE s.user_id = ? AND s.namespace = ?"
        " ORDER BY m.order_at DESC, m.position DESC, m.id DESC LIMIT ? OFFSET ?",
        (user_id, namespace, limit, offset),
    )
    return [key for (key,) in rows]


def keys_after(db: sqlite3.Connection, after: int) -> list[int]:
    """Return the next page of archived messages with keys above ``after``."""
    query = "SELECT message_id FROM archived WHERE message_id > ? ORDER BY message_id LIMIT ?"
    return [key for (key,) in db.execute(query, (after, PAGE_ROWS))]


def stale(db: sqlite3.Connection) -> list[int]:
    """Return the next page of messages whose rows in the archive index are out of date."""
    query = "SELECT message_id FROM archived WHERE stale > 0 ORDER BY message_id LIMIT ?"
    return [key for (key,) in db.execute(query, (PAGE_ROWS,))]


def mark_fresh(tx: sqlite3.Connection, keys: Iterable[int]) -> None:
    """Note that the archive index has the messages as they are in this transaction."""
    tx.execute(f"UPDATE archived SET stale = 0 WHERE message_id IN {JSON_KEYS_SQL}", (json_keys(keys),))


def texts(db: sqlite3.Connection, scope: Scope) -> Iterator[tuple[int, Role, str]]:
    """Yield the archived messages of a scope: key, role and text. Reads all of them: the full text has no archived
    words."""
    after = 0
    select = (
        "SELECT m.id, m.role, m.text FROM archived a JOIN message m ON m.id = a.message_id"
        " JOIN session s ON s.id = m.session_id WHERE s.user_id = ? AND s.namespace = ? AND m.id > ?"
        " ORDER BY m.id LIMIT ?"
    )
    while page := db.execute(select, (scope.user_id, scope.namespace, after, PAGE_ROWS)).fetchall():
        yield from page
        after = page[-1][0]


def containing(db: sqlite3.Connection, scope: Scope, has_words: Callable[[str], bool]) -> list[int]:
    """Return the archived messages of a scope whose texts have certain words."""
    return [key for key, _, text in texts(db, scope) if has_words(text)]


def size(db: sqlite3.Connection) -> ArchiveSize:
    """Return how much is archived. Reads the length of each frame."""
    messages, frames = db.execute(
        "SELECT count(*), coalesce(sum(length(m.body)), 0) FROM archived a JOIN message m ON m.id = a.message_id"
    ).fetchone()
    return ArchiveSize(
        messages, frames, fetch_int(db, "SELECT coalesce(sum(length(content)), 0) FROM archive_dictionary")
    )


def damaged_frames(db: sqlite3.Connection, keys: Sequence[int]) -> list[int]:
    """Return those of the messages that are archived with a damaged frame, without those on damaged pages."""
    return [key for key, text in read_by_halves(partial(_archived_texts, db), keys) if text is None]


def damage(db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Yield each message whose text and tier do not agree, or whose frame is damaged, with what is wrong."""
    after = 0
    while keys := keys_after(db, after):
        for key in damaged_frames(db, keys):
            yield key, "its archived text is damaged: restore a backup, or ingest its export again"
        after = keys[-1]
    query = (
        "SELECT m.id FROM message m WHERE typeof(m.body) = 'blob'"
        " AND NOT EXISTS (SELECT 1 FROM archived a WHERE a.message_id = m.id)"
    )
    for (key,) in db.execute(query).fetchall():
        yield key, "its text is compressed, but it is not in the archive: restore a backup"


# --- dictionaries ------------------------------------------------------------------------------------


def dictionaries(db: sqlite3.Connection, *, retired: bool | None = None) -> list[Dictionary]:
    """Return the dictionaries, the latest first; only retired ones, or only others, if that is given."""
    where = "" if retired is None else f" WHERE retired = {int(retired)}"
    return [
        Dictionary(*row)
        for row in db.execute(f"SELECT id, content FROM archive_dictionary{where} ORDER BY made_at DESC")
    ]


def current_dictionary(db: sqlite3.Connection) -> Dictionary | None:
    """Return the dictionary for new frames, if there is one."""
    return next(iter(dictionaries(db, retired=False)), None)


def add_dictionary(tx: sqlite3.Connection, samples: Sequence[str]) -> Dictionary | None:
    """Train a dictionary on texts and store it; None if there is too little text for one."""
    trained = text_frames.train([sample[:MAX_SAMPLE_CHARACTERS] for sample in samples])
    if trained is None:
        return None
    tx.execute(
        "INSERT OR IGNORE INTO archive_dictionary (id, made_at, content) VALUES (?, ?, ?)",
        (trained[0], now(), trained[1]),
    )
    return Dictionary(*trained)


def sample_archived(db: sqlite3.Connection, limit: int) -> list[str]:
    """Return up to ``limit`` archived texts, spread evenly."""
    step = max(1, count(db) // limit)
    rows = db.execute(
        "SELECT m.text FROM (SELECT message_id, row_number() OVER (ORDER BY message_id) AS place FROM archived) a"
        " JOIN message m ON m.id = a.message_id WHERE a.place % ? = 0 LIMIT ?",
        (step, limit),
    )
    return [text for (text,) in rows]


def learned_pieces(tx: sqlite3.Connection, keys: Collection[int]) -> dict[int, set[str]]:
    """Return the pieces of the texts of messages that stand in a dictionary, by the number of the dictionary."""
    known = {one.id: set(_pieces(one.content.decode("utf-8", "replace"))) for one in dictionaries(tx, retired=False)}
    every = set().union(*known.values())
    said: set[str] = set()
    for text in messages.texts_with_revisions(tx, keys) if every else ():
        said.update(every.intersection(_pieces(text)))
    return {number: pieces & said for number, pieces in known.items()}


def retire_dictionaries(tx: sqlite3.Connection, learned: Mapping[int, set[str]]) -> None:
    """Retire the dictionaries that hold a piece of a deleted text which no message has any more. ``learned`` is what
    ``learned_pieces`` returned before the texts were deleted."""
    distinctive = _without_present(tx, set().union(*learned.values()))
    tx.executemany(
        "UPDATE archive_dictionary SET retired = 1 WHERE id = ?",
        [(number,) for number, pieces in learned.items() if pieces & distinctive],
    )


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + TRACE_CHARACTERS] for start in range(len(text) - TRACE_CHARACTERS + 1))


def _without_present(tx: sqlite3.Connection, pieces: set[str]) -> set[str]:
    """Those of the pieces that no message has. Most are in the first few texts: few are sought in the others."""
    left, after = set(pieces), 0
    while left:
        query = "SELECT id, text FROM message WHERE id > ? ORDER BY id LIMIT ?"
        page = tx.execute(query, (after, PAGE_ROWS)).fetchall()
        if not page:
            break
        sought = sorted(left)
        machine = ahocorasick_rs.AhoCorasick(sought)
        for _, text in page:
            left.difference_update(
                sought[which] for which, _, _ in machine.find_matches_as_indexes(text, overlapping=True)
            )
        after = page[-1][0]
    return left


def has_retired_dictionaries(db: sqlite3.Connection) -> bool:
    """Whether a retired dictionary is left, so that frames have to be written anew."""
    return has_row(db, "SELECT 1 FROM archive_dictionary WHERE retired = 1")


def rewrite_retired_frames(tx: sqlite3.Connection, dictionary: Dictionary | None) -> int:
    """Write the next page of frames with a retired dictionary anew, with ``dictionary`` or without; returns their
    number. After the last one, the retired dictionaries are deleted."""
    keys = [
        key
        for (key,) in tx.execute(
            "SELECT message_id FROM archived WHERE dictionary IN (SELECT id FROM archive_dictionary WHERE retired = 1)"
            " LIMIT ?",
            (PAGE_ROWS,),
        )
    ]
    writer = FrameWriter(dictionary.content if dictionary else None)
    for key, text in _archived_texts(tx, keys):
        # A damaged frame has lost its text, and no longer needs the dictionary.
        if text is not None:
            tx.execute("UPDATE message SET body = ? WHERE id = ?", (writer.pack(text), key))
        number = dictionary.id if dictionary and text is not None else None
        tx.execute("UPDATE archived SET dictionary = ? WHERE message_id = ?", (number, key))
    if not keys:
        tx.execute("DELETE FROM archive_dictionary WHERE retired = 1")
    return len(keys)


def rewrite_all_retired_frames(database: Database, should_continue: Callable[[], bool] = lambda: True) -> int:
    """Write all frames with a retired dictionary anew, a page a transaction; returns their number."""
    if not has_retired_dictionaries(database.read()):
        return 0
    with database.write() as tx:
        dictionary = current_dictionary(tx)
        if dictionary is None:
            # Within the transaction, so that no text is deleted between its reading and the storing of the dictionary.
            dictionary = add_dictionary(tx, sample_archived(tx, MAX_SAMPLES))
    done = 0
    while should_continue():
        with database.write() as tx:
            written = rewrite_retired_frames(tx, dictionary)
        if not written:
            break
        done += written
    return done
