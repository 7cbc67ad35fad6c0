"""The catalogue of attachments, and which messages have links.

Names come from the metadata of messages and change with it. What else is known of the files (path, type, size, digest)
is added when an export is read, and is no part of a message: it makes no revision.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from appliance.errors import NotFound
from appliance.lazy_dataclasses import dataclass
from appliance.store import sessions
from appliance.store.lexical import filter_conditions
from appliance.store.message_parts import has_condition
from appliance.store.messages import message_id
from appliance.store.sql import JSON_KEYS_SQL, fetch_int, json_keys, placeholders
from appliance.types import AttachedFile, Attachment, AttachmentKind, AttachmentPage, Contained, Filters

CAPTION_CHARACTERS = 200

_ID = re.compile(r"m([1-9]\d{0,17})\.([1-9]\d{0,8})")
_COLUMNS_SQL = (
    "a.message_id, a.number, m.session_id, s.title, a.name, a.kind, a.type, a.size, a.digest, a.path, f.path,"
    f" m.author, m.sent_at, substr(coalesce(m.text, ''), 1, {CAPTION_CHARACTERS}), a.pages, a.problem, m.role, a.kept"
)
_FROM_SQL = (
    "attachment a JOIN message m ON m.id = a.message_id JOIN session s ON s.id = m.session_id"
    " LEFT JOIN source f ON f.id = coalesce(a.source_id, m.source_id)"
)

_IF_CHANGED_SQL = "CASE WHEN ?4 IS NOT NULL AND ?4 IS NOT digest THEN"
"""Another content has neither the text nor the copy of the one before it."""


def note_files(tx: sqlite3.Connection, session: int, source: int, files: Mapping[str, Sequence[AttachedFile]]) -> None:
    """Add what an export knows of the files of a session's messages, by their external ids. What it does not know
    stays."""
    rows = [
        (one.path, one.type, one.size, one.digest, source if one.path else None, session, external_id, one.name)
        for external_id, several in files.items()
        for one in several
    ]
    tx.executemany(
        "UPDATE attachment SET path = coalesce(?1, path), type = coalesce(?2, type), size = coalesce(?3, size),"
        " digest = CASE WHEN ?4 IS NOT NULL OR (?3 IS NOT size AND NOT kept) THEN ?4 ELSE digest END,"
        f" kept = {_IF_CHANGED_SQL} 0 ELSE kept END, text_state = {_IF_CHANGED_SQL} NULL ELSE text_state END,"
        f" pages = {_IF_CHANGED_SQL} 0 ELSE pages END, problem = {_IF_CHANGED_SQL} NULL ELSE problem END,"
        " source_id = coalesce(?5, source_id)"
        " WHERE message_id = (SELECT id FROM message WHERE session_id = ?6 AND external_id = ?7) AND name = ?8"
        " AND (coalesce(?1, path), coalesce(?2, type), coalesce(?3, size), coalesce(?4, digest),"
        " coalesce(?5, source_id)) IS NOT (path, type, size, digest, source_id)",
        rows,
    )


def known_digests(db: sqlite3.Connection, source: str) -> dict[tuple[str, int], str]:
    """Return the digests of the files that lie beside a source, by path and size."""
    rows = db.execute(
        "SELECT a.path, a.size, a.digest FROM attachment a JOIN source f ON f.id = a.source_id"
        " WHERE f.path = ? AND a.path IS NOT NULL AND a.size IS NOT NULL AND a.digest IS NOT NULL",
        (source,),
    )
    return {(path, size): digest for path, size, digest in rows}


# --- reading ------------------------------------------------------------------------------------------


def chunks_containing(db: sqlite3.Connection, user_id: str, namespace: str, kinds: Sequence[Contained]) -> list[int]:
    """Return the chunks, of all generations, of the messages of a scope that have any of these."""
    condition, values = has_condition(kinds)
    rows = db.execute(
        "SELECT c.id FROM message m JOIN session s ON s.id = m.session_id JOIN chunk c ON c.message_id = m.id"
        f" WHERE {condition} AND s.user_id = ? AND s.namespace = ? ORDER BY c.id",
        (*values, user_id, namespace),
    )
    return [key for (key,) in rows]


@dataclass(frozen=True, slots=True)
class AttachmentFilter:
    """Which attachments to list: those of the messages that pass ``filters``, of these kinds; all without any."""

    filters: Filters
    kinds: tuple[AttachmentKind, ...] = ()


def list_page(db: sqlite3.Connection, wanted: AttachmentFilter, limit: int, offset: int) -> AttachmentPage:
    """Return a page of attachments, the newest first."""
    condition, values = filter_conditions(wanted.filters)
    if wanted.kinds:
        condition, values = f"{condition} AND a.kind IN ({placeholders(wanted.kinds)})", (*values, *wanted.kinds)
    total = fetch_int(
        db,
        "SELECT count(*) FROM attachment a JOIN message m ON m.id = a.message_id JOIN session s ON s.id = m.session_id"
        f" WHERE {condition}",
        values,
    )
    rows = db.execute(
        f"SELECT {_COLUMNS_SQL} FROM {_FROM_SQL} WHERE {condition}"
        " ORDER BY m.order_at DESC, m.id DESC, a.number LIMIT ? OFFSET ?",
        (*values, limit, offset),
    )
    return AttachmentPage(tuple(_attachment(row) for row in rows), total)


def find(db: sqlite3.Connection, reference: str) -> Attachment:
    """Return an attachment by its id ("m345.1").

    Raises:
        NotFound: There is none.
    """
    match = _ID.fullmatch(reference)
    row = (
        match
        and db.execute(
            f"SELECT {_COLUMNS_SQL} FROM {_FROM_SQL} WHERE a.message_id = ? AND a.number = ?",
            (int(match[1]), int(match[2]) - 1),
        ).fetchone()
    )
    if not row:
        raise NotFound(f"There is no attachment {reference!r}.", hint="'appliance attachments' lists their ids.")
    return _attachment(row)


def of_message(db: sqlite3.Connection, key: int) -> list[Attachment]:
    """Return the attachments of a message, in the order in which it names them."""
    rows = db.execute(f"SELECT {_COLUMNS_SQL} FROM {_FROM_SQL} WHERE a.message_id = ? ORDER BY a.number", (key,))
    return [_attachment(row) for row in rows]


def counts(db: sqlite3.Connection) -> dict[str, int]:
    """Return the number of attachments of all users by kind."""
    return dict(db.execute("SELECT kind, count(*) FROM attachment GROUP BY kind ORDER BY kind").fetchall())


def of_messages(db: sqlite3.Connection, keys: Iterable[int]) -> set[int]:
    """Return those of the messages that have attachments."""
    query = f"SELECT DISTINCT message_id FROM attachment WHERE message_id IN {JSON_KEYS_SQL}"
    return {key for (key,) in db.execute(query, (json_keys(keys),))}


def _attachment(row: Sequence[Any]) -> Attachment:
    message, number, session, *rest, role, kept = row
    key = message_id(message)
    values = (f"{key}.{number + 1}", key, sessions.public_id(session), *rest)
    return replace(Attachment(*values), role=role, kept=bool(kept))
