"""Forgetting: which messages are meant, what goes with them, and the proof that they are gone.

``select`` says what would go, ``erase`` takes it out of the truth in one transaction and opens a receipt, ``search``
looks through every file of the home for what is left of it. Between the last two the engine makes ledger, index,
full text and the database's own file anew. A receipt holds counts and dates, never a word of what was forgotten.
"""

from __future__ import annotations

import mmap
import os
import sqlite3
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec

from appliance import paths
from appliance.errors import NotFound, UsageError
from appliance.memory.facts import reading
from appliance.moments import iso_of, now
from appliance.store import forgotten, lexical, lineage, messages, removal, sessions, statements
from appliance.store.database import Database
from appliance.store.sql import LISTED, listed, to_json
from appliance.types import ROLES, Doomed, Filters, Proof, Receipt, Scope

PIECE = 32
"""Characters of a piece of text that is looked for: long enough to be nobody else's, short enough to lie within one
page of the database in at least one of a message's three places."""

SHORTEST = 12
"""Bytes: of a shorter text ("ok, thanks") no trace could be told from another's."""

READ_AT_MOST = 20_000_000_000
"""Bytes to be looked through, files times pieces: about ten seconds. It bounds how many of the texts are looked for."""

PIECES_AT_LEAST = 8


# --- what is meant --------------------------------------------------------------------------------------


def select(
    db: sqlite3.Connection,
    scope: Scope,
    *,
    references: Sequence[str] = (),
    source: str | None = None,
    query: str | None = None,
    everything: bool = False,
) -> Doomed:
    """The messages of a scope that are meant: those of ids (of messages and of sessions), narrowed to those that came
    from a ``source`` (a format's name, or a file's path) and to those that hold ``query`` as it stands, now or in an
    earlier form. Without any of these ``everything`` of the scope, sessions
    without a message and facts too.

    Raises:
        UsageError: nothing is named, or the query has frequent words only.
        NotFound: no such message or session in the scope, or nothing from such a source.
    """
    if not (references or source or query or everything):
        raise UsageError("nothing is named to forget", hint="name messages, sessions, a source or words")
    parts, values = ["s.user_id = ?", "s.namespace = ?"], [scope.user_id, scope.namespace]
    whole: set[int] = set()
    if references:
        named, whole = _named(db, scope, references)
        parts.append(f"m.id IN {LISTED}")
        values.append(listed(named))
    if source:
        parts.append("(s.format = ? OR f.path = ?)")
        values += [source, source]
    if query:
        parts.append(f"m.id IN {LISTED}")
        values.append(listed(_holding(db, scope, query)))
    rows = db.execute(
        "SELECT m.id, m.session_id, length(m.text), s.format, f.path FROM message m"
        " JOIN session s ON s.id = m.session_id"
        f" LEFT JOIN source f ON f.id = m.source_id WHERE {' AND '.join(parts)} ORDER BY m.id",
        values,
    ).fetchall()
    if source and not rows:
        raise NotFound(f"no message came from {source!r}", hint="'appliance sessions' shows the sources")
    formats: dict[str, int] = {}
    for _, _, _, format, _ in rows:
        formats[format] = formats.get(format, 0) + 1
    keys = [key for key, *_ in rows]
    left = _with_others_left(db, {session for _, session, *_ in rows}, keys)
    emptied = {session for _, session, *_ in rows} - left
    everything = not (references or source or query)
    if everything:
        emptied |= sessions.keys(db, scope)
    return Doomed(
        messages=tuple(keys),
        # A session goes with its last message, but for one whose messages were named one by one.
        sessions=tuple(sorted((emptied if not references else emptied & whole) | (whole - left))),
        touched=tuple(sorted({session for _, session, *_ in rows} | whole)),
        characters=sum(length for _, _, length, _, _ in rows),
        formats=formats,
        files=tuple(sorted({path for *_, path in rows if path and Path(path).is_file()})),
        facts=statements.count(db, scope) if everything else statements.resting_on(db, keys),
        all_of=scope if everything else None,
    )


def _named(db: sqlite3.Connection, scope: Scope, references: Sequence[str]) -> tuple[list[int], set[int]]:
    """The messages of ids, and the sessions that were named."""
    keys: list[int] = []
    whole: set[int] = set()
    for reference in references:
        try:
            info = sessions.find(db, reference, scope.user_id)
        except NotFound:
            keys.append(messages.message(db, reference, scope).id)
            continue
        if info.namespace != scope.namespace:
            raise NotFound(f"{scope.user_id} has no session {reference!r}")
        key = sessions.key(info)
        whole.add(key)
        keys += [row for (row,) in db.execute("SELECT id FROM message WHERE session_id = ?", (key,))]
    return keys, whole


def _holding(db: sqlite3.Connection, scope: Scope, query: str) -> list[int]:
    everybody = Filters(scope, roles=ROLES)
    found = lexical.holding(db, [query], everybody, sys.maxsize)
    if found is None:
        raise UsageError(
            f"{query!r} has frequent words only", hint="name more of it, or the messages by their ids"
        )
    folded = lexical.folded(query)
    earlier = db.execute(
        "SELECT DISTINCT r.message_id, r.text FROM revision r JOIN message m ON m.id = r.message_id"
        " JOIN session s ON s.id = m.session_id WHERE s.user_id = ? AND s.namespace = ?",
        (scope.user_id, scope.namespace),
    )
    return [*found, *(key for key, text in earlier if folded in lexical.folded(text))]


def _with_others_left(db: sqlite3.Connection, keys: Iterable[int], doomed: Collection[int]) -> set[int]:
    """The sessions among ``keys`` that have messages which stay."""
    rows = db.execute(
        f"SELECT DISTINCT session_id FROM message WHERE session_id IN {LISTED} AND id NOT IN {LISTED}",
        (listed(keys), listed(doomed)),
    )
    return {key for (key,) in rows}


# --- taken out --------------------------------------------------------------------------------------------


def erase(database: Database, doomed: Doomed) -> int:
    """Take what is doomed out of the truth, for good; the key of the receipt, which is open."""
    with database.write() as tx:
        forgotten.note(tx, forgotten.origins(tx, doomed.messages))
        read_from = _sources(tx, doomed.messages)
        told = statements.told(tx, doomed.messages)
        # A title that was made of a message's words goes with it, a branch's too.
        tx.execute(
            f"UPDATE session SET title = NULL, titled = 'given' WHERE titled = 'found' AND id IN {LISTED}",
            (listed(lineage.with_branches(tx, doomed.touched)),),
        )
        removal.remove(tx, doomed.messages)
        # What came into a conversation since the look was not meant, and keeps it.
        emptied = [session for session in doomed.sessions if messages.last_place(tx, session) is None]
        for session in emptied:
            removal.delete(tx, session)
        if doomed.all_of is not None:
            statements.withdraw_all(tx, doomed.all_of)
        reading.unlearn(tx, told)
        # A file's name often says with whom somebody spoke.
        tx.execute(
            f"DELETE FROM source WHERE id IN {LISTED} AND id NOT IN"
            " (SELECT source_id FROM message WHERE source_id IS NOT NULL"
            " UNION SELECT source_id FROM revision WHERE source_id IS NOT NULL)",
            (listed(read_from),),
        )
        counts = {
            "messages": len(doomed.messages),
            "sessions": len(emptied),
            "characters": doomed.characters,
            "formats": doomed.formats,
            "facts": doomed.facts,
        }
        (key,) = tx.execute(
            "INSERT INTO erasure (at, state, counts) VALUES (?, 'open', ?) RETURNING id",
            (now(), to_json(counts)),
        ).fetchone()
    return int(key)


def _sources(db: sqlite3.Connection, keys: Collection[int]) -> list[int]:
    """The files that messages were read from, in their present form or an earlier one."""
    some = listed(keys)
    rows = db.execute(
        f"SELECT source_id FROM message WHERE id IN {LISTED} AND source_id IS NOT NULL UNION"
        f" SELECT source_id FROM revision WHERE message_id IN {LISTED} AND source_id IS NOT NULL",
        (some, some),
    )
    return [key for (key,) in rows]


def is_open(db: sqlite3.Connection) -> bool:
    """Whether files of the home may still hold traces of what was forgotten."""
    return db.execute("SELECT 1 FROM erasure WHERE state = 'open' LIMIT 1").fetchone() is not None


def close(database: Database, vectors: int, proofs: dict[int, Proof]) -> None:
    """All that was open is done: the files were made anew. ``proofs`` by the receipts' keys; what an earlier process
    began has none, because nobody knows any more what to look for."""
    with database.write() as tx:
        for key, counts in tx.execute("SELECT id, counts FROM erasure WHERE state = 'open'").fetchall():
            proof = to_json(asdict(proofs[key])) if key in proofs else "{}"
            known = {**msgspec.json.decode(counts), "vectors": vectors}
            tx.execute(
                "UPDATE erasure SET state = 'done', counts = ?, proof = ? WHERE id = ?",
                (to_json(known), proof, key),
            )


def receipts(db: sqlite3.Connection) -> list[Receipt]:
    """All receipts, the latest first."""
    rows = db.execute("SELECT id, at, state, counts, proof FROM erasure ORDER BY id DESC").fetchall()
    return [_receipt(*row) for row in rows]


def receipt(db: sqlite3.Connection, key: int) -> Receipt:
    return _receipt(
        *db.execute("SELECT id, at, state, counts, proof FROM erasure WHERE id = ?", (key,)).fetchone()
    )


def _receipt(key: int, at: int, state: str, counts: str, proof: str) -> Receipt:
    known = msgspec.json.decode(counts)
    return Receipt(
        id=f"e{key}",
        at=iso_of(at),
        state=state,
        messages=known["messages"],
        sessions=known["sessions"],
        characters=known["characters"],
        vectors=known.get("vectors", 0),
        formats=known["formats"],
        proof=msgspec.json.decode(proof, type=Proof),
        facts=known.get("facts", 0),
    )


# --- the proof ----------------------------------------------------------------------------------------------


def pieces(db: sqlite3.Connection, keys: Sequence[int], home_bytes: int) -> list[list[str]]:
    """Pieces of the texts that are about to go, up to three of each, to look for later. Of how many texts is bounded by
    what there is to look through; they are spread evenly over all."""
    most = max(PIECES_AT_LEAST, READ_AT_MOST // max(home_bytes, 1) // 3)
    step = max(1, -(-len(keys) // most))
    some = listed(keys[::step])
    texts = db.execute(
        f"SELECT text FROM message WHERE id IN {LISTED} UNION ALL"
        f" SELECT text FROM revision WHERE message_id IN {LISTED}",
        (some, some),
    )
    found = []
    for (text,) in texts:
        if len(text.encode("utf-8", "surrogatepass")) >= SHORTEST:
            middle = max(0, len(text) // 2 - PIECE // 2)
            found.append([*dict.fromkeys((text[:PIECE], text[middle : middle + PIECE], text[-PIECE:]))])
    return found


def search(db: sqlite3.Connection, root: Path, inbox: Path, texts: Sequence[Sequence[str]]) -> Proof:
    """Look for pieces of forgotten texts in every file of the home. What other messages still say is no trace."""
    wanted = list(dict.fromkeys(piece for text in texts for piece in text))
    still_said: dict[str, bool] = {}
    traces, yours, count, size = [], [], 0, 0
    for path in paths.files(root):
        try:
            there, bytes = _holds(path, wanted)
        except FileNotFoundError:  # the index and the database replace files of theirs while they work
            continue
        count, size = count + (bytes > 0), size + bytes
        if inbox in path.parents:
            yours += [str(path)] if there else []
            continue
        for piece in there:
            if piece not in still_said:
                still_said[piece] = _said(db, piece)
        if not all(still_said[piece] for piece in there):
            traces.append(str(path))
    return Proof(count, size, len(texts), tuple(traces), tuple(yours))


def _holds(path: Path, pieces: Sequence[str]) -> tuple[list[str], int]:
    """Which pieces a file holds, and its size in bytes.

    Raises:
        FileNotFoundError: it is no more.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            return [], 0
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return [one for one in pieces if content.find(one.encode("utf-8", "surrogatepass")) >= 0], size


def _said(db: sqlite3.Connection, piece: str) -> bool:
    """Whether something that stays says this."""
    queries = (
        "SELECT 1 FROM message WHERE instr(text, ?1) OR instr(metadata, ?1) LIMIT 1",
        "SELECT 1 FROM revision WHERE instr(text, ?1) LIMIT 1",
        "SELECT 1 FROM session WHERE instr(coalesce(title, ''), ?1) OR instr(metadata, ?1) LIMIT 1",
    )
    return any(db.execute(query, (piece,)).fetchone() for query in queries)
