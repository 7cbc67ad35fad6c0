"""Sessions cleared and deleted, each in one transaction, with all that is made of their messages.

What goes: messages with their revisions, chunks, full text, fingerprints and links to copies; their points leave
the index by the outbox. What stays until it is forgotten for good: the numbers of a point that was deleted, until
the index settles; the row of a vector in the ledger, which is a digest's and no message's any more; words in
segments of the full text that were not merged since; and old pages in the write-ahead log until it is used anew.
The database's own pages are written over (``secure_delete``).

What a branch shares is not taken from it: the branch that reaches furthest becomes the owner of the common past,
and the others become branches of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from appliance.store import chunks, lexical, sessions
from appliance.store.sql import marks, pages
from appliance.types import Removed, StorageScope

_STRICTER: Sequence[StorageScope] = ("all", "conversational", "summaries_only", "none")
"""The scopes, each giving less than the one before."""

_APART = 1 << 20
"""Between the positions of messages that are put behind others: what comes in between later finds room."""


def clear(tx: sqlite3.Connection, session: int) -> Removed:
    """Remove the messages of a session and what was made of them; what it shared as a branch is shared no more."""
    removed = _hand_over(tx, session)
    keys = [key for (key,) in tx.execute("SELECT id FROM message WHERE session_id = ?", (session,))]
    lexical.withdraw(tx, keys)
    chunks.drop(tx, keys)
    for page in pages(keys):
        tx.execute(f"DELETE FROM message WHERE id IN ({marks(page)})", page)
    for made in ("summary", "working", "summary_due"):
        tx.execute(f"DELETE FROM {made} WHERE session_id = ?", (session,))
    # A title that was found is words of theirs.
    tx.execute(
        "UPDATE session SET parent_id = NULL, branch_at = NULL,"
        " title = CASE titled WHEN 'found' THEN NULL ELSE title END,"
        " titled = CASE titled WHEN 'found' THEN 'given' ELSE titled END WHERE id = ?",
        (session,),
    )
    return Removed(len(keys), removed.kept, removed.heir)


def delete(tx: sqlite3.Connection, session: int) -> Removed:
    """Remove a session with its messages."""
    removed = clear(tx, session)
    tx.execute("DELETE FROM session WHERE id = ?", (session,))
    return removed


def _hand_over(tx: sqlite3.Connection, session: int) -> Removed:
    """Give the past that branches need to the one of them that needs most of it."""
    branches = tx.execute(
        "SELECT s.id, m.order_at, m.position, m.id, s.storage_scope FROM session s"
        " JOIN message m ON m.id = s.branch_at"
        " WHERE s.parent_id = ? ORDER BY m.order_at DESC, m.position DESC, m.id DESC, s.id",
        (session,),
    ).fetchall()
    if not branches:
        return Removed(0)
    heir, *place, scope = branches[0]
    keys = [
        key
        for (key,) in tx.execute(
            "SELECT id FROM message WHERE session_id = ? AND (order_at, position, id) <= (?, ?, ?)",
            (session, *place),
        )
    ]
    _make_room(tx, heir, place[0], place[1])
    _rename_twins(tx, session, heir, keys)
    for page in pages(keys):
        tx.execute(f"UPDATE message SET session_id = ? WHERE id IN ({marks(page)})", (heir, *page))
    parent, branch_at, given = tx.execute(
        "SELECT parent_id, branch_at, storage_scope FROM session WHERE id = ?", (session,)
    ).fetchone()
    tx.execute("UPDATE session SET parent_id = ? WHERE parent_id = ?", (heir, session))
    sessions.change(
        tx,
        heir,
        parent_id=parent,
        branch_at=branch_at,
        # What was kept back must not come out with another owner.
        storage_scope=max(given, scope, key=_STRICTER.index),
    )
    chunks.requeue_session(tx, heir)
    tx.execute(
        "INSERT INTO summary_due (session_id, changes, at) SELECT ?, ?, active_at FROM session WHERE id = ?"
        " ON CONFLICT (session_id) DO UPDATE SET changes = changes + excluded.changes",
        (heir, len(keys), heir),
    )
    return Removed(0, len(keys), sessions.public_id(heir))


def _make_room(tx: sqlite3.Connection, heir: int, order_at: int, position: int) -> None:
    """Put a branch's own messages behind the place where it begins, in their order: by their times alone, some
    could stand within the past."""
    early = tx.execute(
        "SELECT id FROM message WHERE session_id = ? AND order_at <= ? ORDER BY order_at, position, id",
        (heir, order_at),
    ).fetchall()
    tx.executemany(
        "UPDATE message SET order_at = ?, position = ? WHERE id = ?",
        [(order_at, position + number * _APART, key) for number, (key,) in enumerate(early, 1)],
    )


def _rename_twins(tx: sqlite3.Connection, session: int, heir: int, keys: Sequence[int]) -> None:
    """Give messages another external id whose own the heir has too: within a session it names one."""
    for page in pages(keys):
        for key, name in tx.execute(
            f"SELECT id, external_id FROM message WHERE id IN ({marks(page)}) AND external_id IN"
            " (SELECT external_id FROM message WHERE session_id = ?)",
            (*page, heir),
        ).fetchall():
            tx.execute(
                "UPDATE message SET external_id = ? WHERE id = ?",
                (f"{name} of {sessions.public_id(session)} m{key}", key),
            )
