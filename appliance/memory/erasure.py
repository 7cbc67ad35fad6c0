"""Erasure: which messages are meant, what goes with them, and the report that they are gone.

``select`` returns what would go, and ``erase`` takes it out of the database in one transaction and opens a receipt. The
engine then writes the ledger, the index, the full text and the database file anew, and ``memory.traces`` searches for
what is left. A receipt holds counts and dates, never an erased word."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import msgspec

from appliance.errors import NotFound, UsageError
from appliance.memory import erased_texts
from appliance.memory.erased_texts import ErasedTexts
from appliance.memory.facts import extraction
from appliance.store import branches, chunks, deletion, lexical, messages, sessions, statements, tombstones
from appliance.store.database import Database
from appliance.store.sql import JSON_KEYS_SQL, fetch_int, json_keys, to_json
from appliance.timestamps import iso_from_microseconds, now
from appliance.types import ROLES, ErasurePreview, ErasureReport, Filters, Receipt, Scope

_SELECT_RECEIPTS = "SELECT id, at, state, counts, proof FROM erasure"


def select(
    db: sqlite3.Connection,
    scope: Scope,
    *,
    references: Sequence[str] = (),
    source: str | None = None,
    query: str | None = None,
    everything: bool = False,
) -> ErasurePreview:
    """Return the messages of a scope that are meant, and what goes with them.

    Args:
        references: Ids of messages and sessions.
        source: Only messages of a format's name or a file's path.
        query: Only messages that contain these words as they stand, now or in an earlier revision.
        everything: Without any of the others, the whole scope, with its facts and its sessions without messages.

    Raises:
        UsageError: Nothing is named, or the query has frequent words only.
        NotFound: The scope has no such message or session, or nothing from such a source.
    """
    if not (references or source or query or everything):
        raise UsageError("Nothing is selected to forget.", hint="Name messages, sessions, a source or words.")
    parts, values = ["s.user_id = ?", "s.namespace = ?"], [scope.user_id, scope.namespace]
    named_sessions: set[int] = set()
    if references:
        named_messages, named_sessions = _resolve_references(db, scope, references)
        parts.append(f"m.id IN {JSON_KEYS_SQL}")
        values.append(json_keys(named_messages))
    if source:
        parts.append("(s.format = ? OR f.path = ?)")
        values += [source, source]
    if query:
        parts.append(f"m.id IN {JSON_KEYS_SQL}")
        values.append(json_keys(_messages_containing(db, scope, query)))
    rows = db.execute(
        "SELECT m.id, m.session_id, length(m.text), s.format, f.path FROM message m"
        " JOIN session s ON s.id = m.session_id"
        f" LEFT JOIN source f ON f.id = m.source_id WHERE {' AND '.join(parts)} ORDER BY m.id",
        values,
    ).fetchall()
    if source and not rows:
        raise NotFound(f"No message came from {source!r}.", hint="'appliance sessions' shows the sources.")
    keys = [key for key, *_ in rows]
    touched_sessions = {session for _, session, *_ in rows}
    remaining_sessions = _sessions_with_remaining(db, touched_sessions, keys)
    emptied_sessions = touched_sessions - remaining_sessions
    everything = not (references or source or query)
    if everything:
        emptied_sessions |= sessions.keys_in_scope(db, scope)
    elif references:  # a session goes with its last message, unless its messages were named one by one
        emptied_sessions &= named_sessions
    return ErasurePreview(
        messages=tuple(keys),
        sessions=tuple(sorted(emptied_sessions | (named_sessions - remaining_sessions))),
        touched=tuple(sorted(touched_sessions | named_sessions)),
        characters=sum(length for _, _, length, _, _ in rows),
        formats=dict(Counter(format for *_, format, _ in rows)),
        files=tuple(sorted({path for *_, path in rows if path and Path(path).is_file()})),
        facts=statements.count_facts(db, scope) if everything else statements.count_facts_resting_on(db, keys),
        all_of=scope if everything else None,
    )


def _resolve_references(db: sqlite3.Connection, scope: Scope, references: Sequence[str]) -> tuple[list[int], set[int]]:
    """The messages of ids, and the sessions among the references."""
    keys: list[int] = []
    session_keys: set[int] = set()
    for reference in references:
        try:
            info = sessions.find(db, reference, scope.user_id)
        except NotFound:
            keys.append(messages.find(db, reference, scope).id)
            continue
        if info.namespace != scope.namespace:
            raise NotFound(f"User {scope.user_id!r} has no session {reference!r}.")
        key = sessions.key(info)
        session_keys.add(key)
        keys += [row for (row,) in db.execute("SELECT id FROM message WHERE session_id = ?", (key,))]
    return keys, session_keys


def _messages_containing(db: sqlite3.Connection, scope: Scope, query: str) -> list[int]:
    found = lexical.containing_phrases(db, [query], Filters(scope, roles=ROLES), sys.maxsize)
    if found is None:
        raise UsageError(
            f"{query!r} has only frequent words.", hint="Use more words, or name the messages by their ids."
        )
    folded_query = lexical.fold(query)
    earlier = db.execute(
        "SELECT DISTINCT r.message_id, r.text FROM revision r JOIN message m ON m.id = r.message_id"
        " JOIN session s ON s.id = m.session_id WHERE s.user_id = ? AND s.namespace = ?",
        (scope.user_id, scope.namespace),
    )
    return [*found, *(key for key, text in earlier if folded_query in lexical.fold(text))]


def _sessions_with_remaining(db: sqlite3.Connection, keys: Iterable[int], erased: Collection[int]) -> set[int]:
    """The sessions among ``keys`` that keep some of their messages."""
    rows = db.execute(
        f"SELECT DISTINCT session_id FROM message WHERE session_id IN {JSON_KEYS_SQL} AND id NOT IN {JSON_KEYS_SQL}",
        (json_keys(keys), json_keys(erased)),
    )
    return {key for (key,) in rows}


def erase(database: Database, preview: ErasurePreview, erasing: Path) -> tuple[int, ErasedTexts]:
    """Take the messages of a preview out of the database for good. ``erasing`` is the folder of unfinished erasures.

    Returns:
        The key of the open receipt, and the erased texts.
    """
    with database.write() as tx:
        texts = erased_texts.read(tx, preview.messages, preview.characters)
        tombstones.add(tx, tombstones.origins(tx, preview.messages))
        source_keys = _source_keys(tx, preview.messages)
        stated_values = statements.stated_values(tx, preview.messages)
        # A title made of a message's words goes with the message, also from the session's branches.
        tx.execute(
            f"UPDATE session SET title = NULL, titled = 'given' WHERE titled = 'found' AND id IN {JSON_KEYS_SQL}",
            (json_keys(branches.with_branches(tx, preview.touched)),),
        )
        deletion.remove_messages(tx, preview.messages)
        # A message that arrived after the preview was not meant, and keeps its session.
        emptied_sessions = [session for session in preview.sessions if messages.last_order_key(tx, session) is None]
        for session in emptied_sessions:
            deletion.delete(tx, session)
        if preview.all_of is not None:
            statements.withdraw_all_decisions(tx, preview.all_of)
        extraction.retract_facts(tx, stated_values)
        # The name of a file often names the other person of the conversation.
        tx.execute(
            f"DELETE FROM source WHERE id IN {JSON_KEYS_SQL} AND id NOT IN"
            " (SELECT source_id FROM message WHERE source_id IS NOT NULL"
            " UNION SELECT source_id FROM revision WHERE source_id IS NOT NULL)",
            (json_keys(source_keys),),
        )
        counts = {
            "messages": len(preview.messages),
            "sessions": len(emptied_sessions),
            "characters": preview.characters,
            "formats": preview.formats,
            "facts": preview.facts,
            "vectors": chunks.count_orphaned_embeddings(tx),
        }
        (key,) = tx.execute(
            "INSERT INTO erasure (at, state, counts) VALUES (?, 'open', ?) RETURNING id", (now(), to_json(counts))
        ).fetchone()
        erased_texts.keep(erasing, key, texts)
    return int(key), texts


def _source_keys(db: sqlite3.Connection, keys: Collection[int]) -> list[int]:
    """The files from which messages were read, in their present form or an earlier one."""
    encoded_keys = json_keys(keys)
    rows = db.execute(
        f"SELECT source_id FROM message WHERE id IN {JSON_KEYS_SQL} AND source_id IS NOT NULL UNION"
        f" SELECT source_id FROM revision WHERE message_id IN {JSON_KEYS_SQL} AND source_id IS NOT NULL",
        (encoded_keys, encoded_keys),
    )
    return [key for (key,) in rows]


def open_receipts(db: sqlite3.Connection) -> list[int]:
    """Return the keys of the open receipts: files of the home may still hold traces of what they erased."""
    return [key for (key,) in db.execute("SELECT id FROM erasure WHERE state = 'open' ORDER BY id")]


def last_at(db: sqlite3.Connection) -> int | None:
    """When something was last erased, in microseconds since 1970."""
    return fetch_int(db, "SELECT coalesce(max(at), 0) FROM erasure") or None


def record_report(database: Database, key: int, vectors: int, report: ErasureReport) -> None:
    """Store the report of an open receipt. ``vectors`` were erased now; an interrupted erasure may have erased more."""
    with database.write() as tx:
        (encoded_counts,) = tx.execute("SELECT counts FROM erasure WHERE id = ?", (key,)).fetchone()
        counts = msgspec.json.decode(encoded_counts)
        counts["vectors"] = max(vectors, counts.get("vectors", 0))
        tx.execute(
            "UPDATE erasure SET counts = ?, proof = ? WHERE id = ?", (to_json(counts), to_json(asdict(report)), key)
        )


def close_receipt(database: Database, key: int) -> None:
    """Close an open receipt, after the files were rewritten and searched."""
    with database.write() as tx:
        tx.execute("UPDATE erasure SET state = 'done' WHERE id = ?", (key,))


def receipts(db: sqlite3.Connection) -> list[Receipt]:
    """Return all receipts, the latest first."""
    return [_receipt(*row) for row in db.execute(f"{_SELECT_RECEIPTS} ORDER BY id DESC").fetchall()]


def receipt(db: sqlite3.Connection, key: int) -> Receipt:
    return _receipt(*db.execute(f"{_SELECT_RECEIPTS} WHERE id = ?", (key,)).fetchone())


def _receipt(key: int, at: int, state: str, counts: str, encoded_report: str) -> Receipt:
    known = msgspec.json.decode(counts)
    return Receipt(
        id=f"e{key}", at=iso_from_microseconds(at), state=state, messages=known["messages"],
        sessions=known["sessions"], characters=known["characters"], vectors=known.get("vectors", 0),
        formats=known["formats"], proof=_report(encoded_report), facts=known.get("facts", 0),
    )  # fmt: skip


def _report(encoded: str) -> ErasureReport:
    report = msgspec.json.decode(encoded, type=ErasureReport)
    # Reports of earlier versions don't say whether they searched; those that did, searched at least the database.
    return replace(report, searched=report.searched or report.files > 0)
