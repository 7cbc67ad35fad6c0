"""Erasure: which messages are meant, what goes with them, and the report that they are gone.

``select`` returns what would go, and ``erase`` takes it out of the database in one transaction and opens a receipt. The
engine then writes the ledger, the index, the full text and the database file anew, and ``memory.traces`` searches for
what is left. A receipt holds counts and dates, never an erased word."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection
from dataclasses import asdict, replace
from pathlib import Path, PurePath

import msgspec

from appliance.memory import block_erasure, erased_texts
from appliance.memory.erased_texts import ErasedTexts
from appliance.memory.facts import extraction
from appliance.memory.people.derivation import NameOfOwner, forget_unbacked
from appliance.runtime.decoding import decode
from appliance.store import (
    branches,
    chunks,
    deletion,
    documents,
    imports,
    messages,
    people,
    profiles,
    statements,
    summaries,
    tombstones,
    watched_files,
)
from appliance.store.database import Database
from appliance.store.sql import JSON_KEYS_SQL, fetch_int, json_keys, to_json
from appliance.timestamps import iso_from_microseconds, now
from appliance.types import ErasurePreview, ErasureReport, Receipt, Scope

UNNAMED_EXPORT = "an export in the inbox"
"""Stands for its path in the stored receipt."""

_SELECT_RECEIPTS = "SELECT id, at, state, counts, proof FROM erasure"


def erase(
    database: Database, preview: ErasurePreview, erasing: Path, own_name: NameOfOwner = lambda scope: ""
) -> tuple[int, ErasedTexts]:
    """Take the messages of a preview out of the database for good, as ``_erase`` does. If that fails, because the disk
    is full for instance, nothing is erased, and no texts of it are kept either."""
    before = erased_texts.files(erasing)
    try:
        return _erase(database, preview, erasing, own_name)
    except Exception:
        erased_texts.discard(erasing, erased_texts.files(erasing) - before)
        raise


def _erase(
    database: Database, preview: ErasurePreview, erasing: Path, own_name: NameOfOwner
) -> tuple[int, ErasedTexts]:
    """Take the messages of a preview out of the database for good. ``erasing`` is the folder of unfinished erasures,
    ``own_name`` what the settings call the person of a scope.

    Returns:
        The key of the open receipt, and the erased texts.
    """
    with database.write() as tx:
        texts = erased_texts.read(tx, preview.messages, preview.characters)
        names = erased_texts.read_names(tx, preview.messages, preview.sessions)
        tombstones.add(tx, tombstones.origins(tx, preview.messages))
        source_keys = _source_keys(tx, preview.messages)
        copies = imports.linked_sources(tx, preview.touched).keys() - source_keys
        stated_values = statements.stated_values(tx, preview.messages)
        silenced = people.authors_of_messages(tx, preview.messages)
        for scope in profiles.forget_contacts(tx, preview.contacts):
            silenced.setdefault(scope, set())
        if preview.all_of is not None:
            silenced.setdefault(preview.all_of, set())
            names |= profiles.forget_address_books(tx, preview.all_of)
            names |= people.forget_decisions(tx, preview.all_of)
        documents.forget(tx, preview.messages)
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
        summaries.delete(tx, preview.summaries)
        by_hand = statements.stated_by_hand(tx, preview.named_facts)
        extraction.remove_facts(tx, preview.named_facts)
        if preview.all_of is not None:
            statements.withdraw_all_decisions(tx, preview.all_of)
        noted, blocks = block_erasure.erase(tx, preview.blocks, preview.by)
        noted += by_hand
        extraction.retract_facts(tx, stated_values)
        for scope, authors in silenced.items():
            names |= forget_unbacked(tx, scope, authors, own_name(scope))
        books = [file for _, file in preview.contacts]
        names |= _forget_files(tx, [*source_keys, *books], copies, preview.all_of)
        texts = replace(texts, texts=[*texts.texts, *noted], count=texts.count + len(noted), names=sorted(names))
        counts = {
            "messages": len(preview.messages),
            "sessions": len(emptied_sessions),
            "characters": preview.characters,
            "formats": preview.formats,
            "facts": preview.facts,
            "vectors": chunks.count_orphaned_embeddings(tx),
            **({"contacts": len(preview.contacts)} if preview.contacts else {}),
            **({"blocks": blocks} if blocks else {}),
        }
        (key,) = tx.execute(
            "INSERT INTO erasure (at, state, counts) VALUES (?, 'open', ?) RETURNING id", (now(), to_json(counts))
        ).fetchone()
        erased_texts.keep(erasing, key, texts)
    return int(key), texts


def _forget_files(
    tx: sqlite3.Connection, source_keys: Collection[int], copies: Collection[int], all_of: Scope | None
) -> set[str]:
    """Forget the names of files from which no message is left: they often name the other person of a conversation. A
    copy, whose messages were all known from another file, goes with the last message of its conversations. With a
    whole scope, files go too from which none ever came. Returns the names."""
    unused = (
        "id NOT IN (SELECT source_id FROM message WHERE source_id IS NOT NULL"
        " UNION SELECT source_id FROM revision WHERE source_id IS NOT NULL UNION SELECT source_id FROM contact_file)"
    )
    without_session = (
        "NOT EXISTS (SELECT 1 FROM source_session l JOIN message m ON m.session_id = l.session_id"
        " WHERE l.source_id = source.id)"
    )
    where = f"{unused} AND (id IN {JSON_KEYS_SQL} OR id IN {JSON_KEYS_SQL} AND {without_session})"
    values: tuple[str, ...] = (json_keys(source_keys), json_keys(copies))
    if all_of is not None:
        where, values = f"{unused} AND {without_session}", ()
    paths = {path for (path,) in tx.execute(f"DELETE FROM source WHERE {where} RETURNING path", values).fetchall()}
    watched = watched_files.without_source(tx, all_of, paths)
    watched_files.forget(tx, watched)
    begun = imports.forget(tx, all_of, paths)
    return {PurePath(path).name for path in paths | begun | {os.fsdecode(path) for path in watched}}


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


def unfinished(db: sqlite3.Connection, erasing: Path) -> str:
    """Say that erasures are not finished, or left something behind, and what finishes them; empty if none."""
    if count := len(open_receipts(db)):
        forgets = "a forget is" if count == 1 else f"{count} forgets are"
        return f"{forgets} not finished, and files may hold traces: 'appliance reindex --pending' finishes this"
    if erasing.is_dir():
        return (
            "the texts of a forget that did not happen are still in the folder 'erasing': 'appliance reindex --pending'"
            " removes them"
        )
    return ""


def last_at(db: sqlite3.Connection) -> int | None:
    """When something was last erased, in microseconds since 1970."""
    return fetch_int(db, "SELECT coalesce(max(at), 0) FROM erasure") or None


def record_report(database: Database, key: int, vectors: int, report: ErasureReport) -> None:
    """Store the report of an open receipt. ``vectors`` were erased now; an interrupted erasure may have erased more.
    The names of exports are not stored: they are to be forgotten, too."""
    report = replace(report, yours=(UNNAMED_EXPORT,) * len(report.yours))
    with database.write() as tx:
        (encoded_counts,) = tx.execute("SELECT counts FROM erasure WHERE id = ?", (key,)).fetchone()
        counts = msgspec.json.decode(encoded_counts)
        counts["vectors"] = max(vectors, counts.get("vectors", 0))
        tx.execute(
            "UPDATE erasure SET counts = ?, proof = ? WHERE id = ?", (to_json(counts), to_json(asdict(report)), key)
        )


def record_points(database: Database, key: int, **found: object) -> None:
    """Add what an erasure has seen on servers to the report of an open receipt: fields of ``ErasureReport``."""
    with database.write() as tx:
        (encoded,) = tx.execute("SELECT proof FROM erasure WHERE id = ?", (key,)).fetchone()
        report = {**msgspec.json.decode(encoded), **found}
        tx.execute("UPDATE erasure SET proof = ? WHERE id = ?", (to_json(report), key))


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
        blocks=known.get("blocks", 0),
    )  # fmt: skip


def _report(encoded: str) -> ErasureReport:
    report = decode(encoded, ErasureReport)
    # Reports of earlier versions don't say whether they searched; those that did, searched at least the database.
    return replace(report, searched=report.searched or report.files > 0)
