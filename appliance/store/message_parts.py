"""What a message is besides words, derived from it: the names of its attachments, whether it has links, whether it is a
page of a document, and which tools and files it mentions.

A placeholder ("image omitted") counts as an attachment whose file is not there, named by its kind."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import get_args

from appliance.errors import UsageError
from appliance.store import mentions
from appliance.store.sql import JSON_KEYS_SQL, has_row, json_keys, placeholders
from appliance.types import AttachmentKind, Contained
from appliance.types import placeholders as app_placeholders

_ADD_PAGES_SQL = (
    "INSERT OR IGNORE INTO document_page (message_id, parent_id, digest) SELECT message_id,"
    " (SELECT m.id FROM message m WHERE m.session_id = p.session_id AND m.external_id = p.parent), digest"
    " FROM document_place p"
)


def add(tx: sqlite3.Connection, written: Iterable[tuple[int, mentions.MessageText]]) -> None:
    """Derive the parts of new messages."""
    attaching, linking, omitted, documents = [], [], [], []
    written = list(written)
    mentions.add(tx, written)
    for key, message in written:
        if '"attachments"' in message.metadata:
            attaching.append(key)
        elif file := app_placeholders.omitted_file(message.text):
            omitted.append((key, file))
        if "http://" in message.text or "https://" in message.text:
            linking.append(key)
        if message.role == "system" and '"document"' in message.metadata:
            documents.append(key)
    _add_attachments(tx, attaching)
    tx.executemany("INSERT OR IGNORE INTO attachment (message_id, number, name) VALUES (?, 0, ?)", omitted)
    if documents:
        tx.execute(f"{_ADD_PAGES_SQL} WHERE message_id IN {JSON_KEYS_SQL}", (json_keys(documents),))
    tx.executemany("INSERT OR IGNORE INTO message_link VALUES (?)", ((key,) for key in linking))


def refresh(tx: sqlite3.Connection, key: int, message: mentions.MessageText) -> None:
    """Derive the parts of a changed message; what is known of the files of attachments that it still has is kept."""
    tx.execute("DELETE FROM message_link WHERE message_id = ?", (key,))
    tx.execute("DELETE FROM mention WHERE message_id = ?", (key,))
    tx.execute("DELETE FROM document_page WHERE message_id = ?", (key,))
    tx.execute(
        "DELETE FROM attachment WHERE message_id = ?1 AND (number, name) NOT IN"
        " (SELECT number, name FROM attached_name WHERE message_id = ?1)",
        (key,),
    )
    add(tx, [(key, message)])


def fill(tx: sqlite3.Connection) -> None:
    """Derive what is missing of all messages."""
    tx.execute("INSERT OR IGNORE INTO message_link SELECT message_id FROM linking")
    tx.execute(_ADD_PAGES_SQL)
    tx.execute(
        "INSERT OR IGNORE INTO attachment (message_id, number, name) SELECT message_id, number, name FROM attached_name"
    )
    register(tx)
    tx.execute(FILL_OMITTED_SQL)
    tx.execute(mentions.FILL_SQL)


def register(connection: sqlite3.Connection) -> None:
    """Give a connection the functions that ``fill`` needs."""
    mentions.register(connection)
    connection.create_function("omitted_file", 1, app_placeholders.omitted_file, deterministic=True)


FILL_OMITTED_SQL = (
    "INSERT OR IGNORE INTO attachment (message_id, number, name) SELECT id, 0, omitted_file(text) FROM message"
    f" WHERE length(text) <= {app_placeholders.MAX_CHARACTERS} AND NOT instr(metadata, '\"attachments\"')"
    " AND omitted_file(text) IS NOT NULL"
)
"""Derives the attachments of placeholders of all messages."""


def has_condition(kinds: Sequence[Contained]) -> tuple[str, tuple[object, ...]]:
    """Return a condition on ``message m``, and its parameters: it has any of these.

    Raises:
        UsageError: There is no such kind.
    """
    for kind in kinds:
        if kind not in get_args(Contained):
            raise UsageError(f"A message can't have {kind!r}.", hint=f"Use one of {', '.join(get_args(Contained))}.")
    parts = []
    listed = [kind for kind in kinds if kind in get_args(AttachmentKind)]
    if "attachment" in kinds:
        listed = list(get_args(AttachmentKind))
    if listed:
        parts.append(f"SELECT message_id FROM attachment WHERE kind IN ({placeholders(listed)})")
    if "link" in kinds:
        parts.append("SELECT message_id FROM message_link")
    if "document" in kinds:
        parts.append("SELECT message_id FROM document_page")
    return f"m.id IN ({' UNION ALL '.join(parts)})", tuple(listed)


def is_containing(db: sqlite3.Connection, key: int, kinds: Sequence[Contained]) -> bool:
    """Whether a message has any of these."""
    condition, values = has_condition(kinds)
    return has_row(db, f"SELECT 1 FROM message m WHERE m.id = ? AND {condition}", (key, *values))


def _add_attachments(tx: sqlite3.Connection, keys: Sequence[int]) -> None:
    if keys:
        tx.execute(
            "INSERT OR IGNORE INTO attachment (message_id, number, name)"
            f" SELECT message_id, number, name FROM attached_name WHERE message_id IN {JSON_KEYS_SQL}",
            (json_keys(keys),),
        )
