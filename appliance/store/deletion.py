"""Deletes messages, and clears and deletes sessions, in one transaction with everything derived from the messages.

Deleted are messages with their revisions, chunks, full text, fingerprints and variants; the outbox removes their points
from the index. Until an erasure, some traces remain: the values of a deleted point, until the index is optimized; the
row of a vector in the ledger, under a digest that no message has any more; words in segments of the full text that have
not been merged since; and old pages of the write-ahead log, until it is reused. Pages of the database itself are
overwritten (``secure_delete``). A dictionary of the archive that holds a piece of a deleted text is retired.

A branch keeps the messages that it shares: the branch that shares most of them becomes their owner, and the other
branches become branches of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from appliance.store import archive, branches, chunks, digests, lexical, neighbours, sessions, tombstones
from appliance.store.sql import JSON_KEYS_SQL, json_keys
from appliance.types import RemovalResult, StorageScope

_SCOPES_BY_STRICTNESS: Sequence[StorageScope] = ("all", "conversational", "summaries_only", "none")
"""The storage scopes, each sharing less than the one before."""

_POSITION_GAP = 1 << 20
"""The gap between the positions of messages that are moved after others; later messages fit in between."""


def clear(tx: sqlite3.Connection, session: int, *, for_good: bool = False) -> RemovalResult:
    """Delete the messages of a session and everything derived from them. A branch no longer shares messages. If they
    are deleted ``for_good``, reading their export again does not bring them back."""
    transferred = _transfer_to_branch(tx, session)
    keys = [key for (key,) in tx.execute("SELECT id FROM message WHERE session_id = ?", (session,))]
    if for_good:
        query = "SELECT id FROM message WHERE session_id = ? AND source_id IS NOT NULL"
        imported = [key for (key,) in tx.execute(query, (session,))]
        tombstones.add(tx, tombstones.origins(tx, imported))
    _delete_messages(tx, keys)
    for table in ("summary", "working", "summary_due"):
        tx.execute(f"DELETE FROM {table} WHERE session_id = ?", (session,))
    # An extracted title consists of words of the deleted messages.
    tx.execute(
        "UPDATE session SET parent_id = NULL, branch_at = NULL,"
        " title = CASE titled WHEN 'found' THEN NULL ELSE title END,"
        " titled = CASE titled WHEN 'found' THEN 'given' ELSE titled END WHERE id = ?",
        (session,),
    )
    return RemovalResult(len(keys), transferred.kept, transferred.heir)


def delete(tx: sqlite3.Connection, session: int, *, for_good: bool = False) -> RemovalResult:
    """Delete a session with its messages, as ``clear`` does."""
    result = clear(tx, session, for_good=for_good)
    tx.execute("DELETE FROM session WHERE id = ?", (session,))
    return result


def remove_messages(tx: sqlite3.Connection, keys: Collection[int]) -> None:
    """Delete messages of any sessions. Their neighbours are indexed again; a branch that began at one of them now
    begins at the last message before it that is left, which may belong to an earlier session."""
    neighbour_keys = neighbours.with_neighbours(tx, keys).difference(keys)
    deleted = json_keys(keys)
    rows = tx.execute(f"SELECT id FROM session WHERE branch_at IN {JSON_KEYS_SQL}", (deleted,)).fetchall()
    for (branch,) in rows:
        parent = branch_at = None
        for part in reversed(branches.session_parts(tx, branch)[:-1]):
            where, values = branches.parts_condition([part])
            before = tx.execute(
                f"SELECT m.id FROM message m WHERE {where} AND m.id NOT IN {JSON_KEYS_SQL}"
                " ORDER BY m.order_at DESC, m.position DESC, m.id DESC LIMIT 1",
                (*values, deleted),
            ).fetchone()
            if before is not None:
                parent, (branch_at,) = part.session, before
                break
        sessions.update(tx, branch, parent_id=parent, branch_at=branch_at)
    _delete_messages(tx, keys)
    chunks.requeue(tx, neighbour_keys)


def _delete_messages(tx: sqlite3.Connection, keys: Collection[int]) -> None:
    learned = archive.learned_pieces(tx, keys)
    lexical.remove_from_index(tx, keys)
    chunks.delete(tx, keys)
    tx.execute(f"DELETE FROM message WHERE id IN {JSON_KEYS_SQL}", (json_keys(keys),))
    archive.retire_dictionaries(tx, learned)


def _transfer_to_branch(tx: sqlite3.Connection, session: int) -> RemovalResult:
    """Move the messages that branches share to the branch that shares most of them."""
    inheritors = tx.execute(
        "SELECT s.id, m.order_at, m.position, m.id, s.storage_scope FROM session s"
        " JOIN message m ON m.id = s.branch_at"
        " WHERE s.parent_id = ? ORDER BY m.order_at DESC, m.position DESC, m.id DESC, s.id",
        (session,),
    ).fetchall()
    if not inheritors:
        return RemovalResult(0)
    inheriting_branch, *place, scope = inheritors[0]
    query = "SELECT id FROM message WHERE session_id = ? AND (order_at, position, id) <= (?, ?, ?)"
    keys = [key for (key,) in tx.execute(query, (session, *place))]
    _reposition_messages(tx, inheriting_branch, place[0], place[1])
    intact = digests.intact(tx, keys)
    _rename_duplicate_ids(tx, session, inheriting_branch, keys)
    moved = (inheriting_branch, json_keys(keys))
    tx.execute(f"UPDATE message SET session_id = ? WHERE id IN {JSON_KEYS_SQL}", moved)
    digests.refresh(tx, intact)
    parent, branch_at, own_scope = tx.execute(
        "SELECT parent_id, branch_at, storage_scope FROM session WHERE id = ?", (session,)
    ).fetchone()
    tx.execute("UPDATE session SET parent_id = ? WHERE parent_id = ?", (inheriting_branch, session))
    sessions.update(
        tx,
        inheriting_branch,
        parent_id=parent,
        branch_at=branch_at,
        # What was withheld must not become visible with the new owner.
        storage_scope=max(own_scope, scope, key=_SCOPES_BY_STRICTNESS.index),
    )
    chunks.requeue_session(tx, inheriting_branch)
    tx.execute(
        "INSERT INTO summary_due (session_id, changes, at) SELECT ?, ?, active_at FROM session WHERE id = ?"
        " ON CONFLICT (session_id) DO UPDATE SET changes = changes + excluded.changes",
        (inheriting_branch, len(keys), inheriting_branch),
    )
    return RemovalResult(0, len(keys), sessions.public_id(inheriting_branch))


def _reposition_messages(tx: sqlite3.Connection, inheriting_branch: int, order_at: int, position: int) -> None:
    """Move a branch's own messages after the place where it begins, in their order: sorted by time alone, some could
    come before shared messages."""
    earlier_rows = tx.execute(
        "SELECT id FROM message WHERE session_id = ? AND order_at <= ? ORDER BY order_at, position, id",
        (inheriting_branch, order_at),
    ).fetchall()
    intact = digests.intact(tx, [key for (key,) in earlier_rows])
    tx.executemany(
        "UPDATE message SET order_at = ?, position = ? WHERE id = ?",
        [(order_at, position + number * _POSITION_GAP, key) for number, (key,) in enumerate(earlier_rows, 1)],
    )
    digests.refresh(tx, intact)


def _rename_duplicate_ids(tx: sqlite3.Connection, session: int, inheriting_branch: int, keys: Sequence[int]) -> None:
    """Give messages whose external id the branch uses too a new one, because it is unique within a session. The caller
    refreshes their digests."""
    rows = tx.execute(
        f"SELECT id, external_id FROM message WHERE id IN {JSON_KEYS_SQL} AND external_id IN"
        " (SELECT external_id FROM message WHERE session_id = ?)",
        (json_keys(keys), inheriting_branch),
    ).fetchall()
    tx.executemany(
        "UPDATE message SET external_id = ? WHERE id = ?",
        [(f"{name} of {sessions.public_id(session)} m{key}", key) for key, name in rows],
    )
