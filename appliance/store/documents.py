"""Documents: which attachments have text that is read or still to be read, and which messages are their pages.

A page is a message of its own, with the role "system" and its document in its metadata (``types.documents``). It is in
the session of the message that carries the document, at its place, and goes with it. No person said it, so it is not
conversational; a search finds it nevertheless.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import Literal

from appliance.lazy_dataclasses import dataclass
from appliance.store.sql import JSON_KEYS_SQL, fetch_int, json_keys

TextState = Literal["none", "unavailable", "missing", "read", "partial", "failed", "forgotten"]
"""What became of the text of an attachment: ``none`` is no document, ``unavailable`` lacks the library that reads it,
``missing`` was not where its export was, ``partial`` and ``failed`` have a problem."""

IS_PAGE_SQL = "EXISTS (SELECT 1 FROM document_page WHERE message_id = m.id)"
"""Whether ``message m`` is a page of a document."""


@dataclass(frozen=True, slots=True)
class UnreadAttachment:
    """An attachment whose text was not looked for yet, or could not be read by this program before."""

    message: int
    number: int
    name: str
    path: str
    type: str | None
    size: int
    digest: str | None
    source: str | None
    kept: int


def unread(
    db: sqlite3.Connection, *, source: int | None = None, again: bool = False, after: tuple[int, int] = (0, -1),
    limit: int = -1,
) -> list[UnreadAttachment]:  # fmt: skip
    """Return attachments whose files were seen and whose text was not looked for yet, by message.

    Args:
        source: Only those of this source, and then also those without a digest, that were missing, or had no library.
        again: Also those of which pages were forgotten.
        after: Only those behind this message and number.
        limit: At most so many.
    """
    states = ["a.text_state IS NULL"]
    values: list[object] = [*after]
    where = "(a.message_id, a.number) > (?, ?)"
    if source is not None:
        states.append("a.text_state IN ('missing', 'unavailable')")
        where += " AND a.source_id = ?"
        values.append(source)
    if again:
        states.append("a.text_state = 'forgotten'")
    rows = db.execute(
        "SELECT a.message_id, a.number, a.name, a.path, a.type, a.size, a.digest, f.path, a.kept FROM attachment a"
        f" LEFT JOIN source f ON f.id = a.source_id WHERE {where} AND ({' OR '.join(states)})"
        f" AND a.path IS NOT NULL AND a.size IS NOT NULL{' AND a.digest IS NOT NULL' if source is None else ''}"
        " ORDER BY a.message_id, a.number LIMIT ?",
        (*values, limit),
    )
    return [UnreadAttachment(*row) for row in rows.fetchall()]


def note(
    tx: sqlite3.Connection, attachment: UnreadAttachment, state: TextState, pages: int = 0, problem: str = ""
) -> None:
    """Note what became of the text of an attachment, unless its file has changed since."""
    tx.execute(
        "UPDATE attachment SET text_state = ?, pages = ?, problem = ? WHERE message_id = ? AND number = ?"
        " AND digest IS ?",
        (state, pages, problem or None, attachment.message, attachment.number, attachment.digest),
    )


def retry_unavailable(tx: sqlite3.Connection) -> None:
    """Have documents looked at again for which a library was not installed."""
    tx.execute("UPDATE attachment SET text_state = NULL WHERE text_state = 'unavailable'")


def pages_of(db: sqlite3.Connection, keys: Collection[int]) -> set[int]:
    """Return the pages of the documents that messages carry."""
    rows = db.execute(
        f"SELECT message_id FROM document_page WHERE parent_id IN {JSON_KEYS_SQL}"
        " UNION SELECT p.message_id FROM document_page p JOIN document_place d ON d.message_id = p.message_id"
        " JOIN message m ON m.session_id = d.session_id AND m.external_id = d.parent"
        f" WHERE p.parent_id IS NULL AND m.id IN {JSON_KEYS_SQL}",
        (json_keys(keys), json_keys(keys)),
    )
    return {key for (key,) in rows}


def forget(tx: sqlite3.Connection, keys: Collection[int]) -> None:
    """Note that pages are about to be erased: their documents are not read again, and not kept for the messages that
    carry them."""
    tx.execute(
        "UPDATE attachment SET text_state = 'forgotten', pages = 0, problem = NULL, kept = 0"
        " WHERE (message_id, digest) IN (SELECT parent_id, digest FROM document_page"
        f" WHERE message_id IN {JSON_KEYS_SQL})",
        (json_keys(keys),),
    )


def counts(db: sqlite3.Connection) -> dict[str, int]:
    """Return the number of documents that were read, of their pages, and of attachments that are kept."""
    return {
        "documents": fetch_int(db, "SELECT count(*) FROM attachment WHERE text_state IN ('read', 'partial')"),
        "document_pages": fetch_int(db, "SELECT count(*) FROM document_page"),
        "kept_attachments": fetch_int(db, "SELECT count(DISTINCT digest) FROM attachment WHERE kept = 1"),
    }


def disagreements(db: sqlite3.Connection) -> list[int]:
    """Return the messages that are pages by their metadata and not in the table, or the other way round."""
    rows = db.execute(
        "SELECT message_id FROM (SELECT message_id, digest FROM document_place EXCEPT"
        " SELECT message_id, digest FROM document_page) UNION"
        " SELECT message_id FROM (SELECT message_id, digest FROM document_page EXCEPT"
        " SELECT message_id, digest FROM document_place)"
    )
    return [key for (key,) in rows]
