"""The blocks of core memory with the forms that they had."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from appliance.lazy_dataclasses import dataclass
from appliance.timestamps import iso_from_microseconds
from appliance.types import BlockEditor, BlockRevision, CoreBlock, Scope

MAX_REVISIONS = 200
"""The forms of a block that are kept. An assistant may write with each answer, and a home must not grow by that."""

CORE_BLOCKS = (
    """
-- A block of core memory. Its present form is the one with the highest number. See core_blocks.py.
CREATE TABLE core_block (
    id INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    label TEXT NOT NULL,
    description TEXT NOT NULL,
    max_characters INTEGER NOT NULL,
    read_only INTEGER NOT NULL,
    UNIQUE (user_id, namespace, label)
)""",
    """
CREATE TABLE core_block_revision (
    block_id INTEGER NOT NULL REFERENCES core_block ON DELETE CASCADE,
    number INTEGER NOT NULL,
    value TEXT NOT NULL,
    changed_by TEXT NOT NULL CHECK (changed_by IN ('person', 'assistant')),
    changed_at INTEGER NOT NULL,  -- microseconds since 1970
    PRIMARY KEY (block_id, number)
) WITHOUT ROWID""",
)
"""The statements of the migration that adds them."""

BLOCK_ASSISTANTS = ("ALTER TABLE core_block_revision ADD COLUMN assistant TEXT NOT NULL DEFAULT ''",)
"""The statement of the migration that keeps which assistant wrote a form, by the name that it has."""

_SELECT = (
    "SELECT b.id, b.label, r.value, b.description, b.max_characters, b.read_only, r.number, r.changed_by, r.changed_at,"
    " b.user_id, b.namespace, r.assistant FROM core_block b JOIN core_block_revision r ON r.block_id = b.id"
    " AND r.number = (SELECT max(number) FROM core_block_revision WHERE block_id = b.id)"
)


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """A block with its key."""

    key: int
    block: CoreBlock


def list_blocks(db: sqlite3.Connection, user_id: str, namespace: str) -> list[CoreBlock]:
    """Return the blocks of a user in a namespace, the oldest first."""
    return [found.block for found in in_scope(db, Scope(user_id, namespace))]


def in_scope(db: sqlite3.Connection, scope: Scope) -> list[StoredBlock]:
    """Return the blocks of a scope with their keys, the oldest first."""
    query = f"{_SELECT} WHERE b.user_id = ? AND b.namespace = ? ORDER BY b.id"
    return [_stored(*row) for row in db.execute(query, (scope.user_id, scope.namespace)).fetchall()]


def find(db: sqlite3.Connection, scope: Scope, label: str) -> StoredBlock | None:
    row = db.execute(
        f"{_SELECT} WHERE b.user_id = ? AND b.namespace = ? AND b.label = ?", (scope.user_id, scope.namespace, label)
    ).fetchone()
    return None if row is None else _stored(*row)


def add(tx: sqlite3.Connection, scope: Scope, label: str) -> int:
    """Begin a block without a form, which the caller adds; returns its key."""
    cursor = tx.execute(
        "INSERT INTO core_block (user_id, namespace, label, description, max_characters, read_only)"
        " VALUES (?, ?, ?, '', 0, 0)",
        (scope.user_id, scope.namespace, label),
    )
    return int(cursor.lastrowid or 0)


def update(tx: sqlite3.Connection, key: int, *, description: str, limit: int, read_only: bool) -> None:
    tx.execute(
        "UPDATE core_block SET description = ?, max_characters = ?, read_only = ? WHERE id = ?",
        (description, limit, read_only, key),
    )


def add_revision(
    tx: sqlite3.Connection, key: int, value: str, by: BlockEditor, at: int, *, assistant: str = "",
    number: int | None = None,
) -> None:  # fmt: skip
    """Add a form of a block as its latest one; forms beyond ``MAX_REVISIONS`` go, the oldest first. With a ``number``
    that the block has already, nothing changes."""
    tx.execute(
        "INSERT OR IGNORE INTO core_block_revision (block_id, number, value, changed_by, changed_at, assistant)"
        " SELECT ?1,"
        " coalesce(?2, (SELECT coalesce(max(number), 0) + 1 FROM core_block_revision WHERE block_id = ?1)), ?3, ?4, ?5,"
        " ?6",
        (key, number, value, by, at, assistant),
    )
    tx.execute(
        "DELETE FROM core_block_revision WHERE block_id = ?1"
        " AND number <= (SELECT max(number) FROM core_block_revision WHERE block_id = ?1) - ?2",
        (key, MAX_REVISIONS),
    )


def revisions(db: sqlite3.Connection, key: int) -> list[BlockRevision]:
    """Return the kept forms of a block, the present one last."""
    rows = db.execute(
        "SELECT number, value, changed_by, changed_at, assistant FROM core_block_revision WHERE block_id = ?"
        " ORDER BY number",
        (key,),
    )
    return [BlockRevision(number, value, by, iso_from_microseconds(at), name) for number, value, by, at, name in rows]


def label(db: sqlite3.Connection, key: int) -> str | None:
    """Return the label of a block; None if it is gone."""
    row = db.execute("SELECT label FROM core_block WHERE id = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def description(db: sqlite3.Connection, key: int) -> str:
    """Return what belongs into a block; empty if it is gone."""
    row = db.execute("SELECT description FROM core_block WHERE id = ?", (key,)).fetchone()
    return "" if row is None else str(row[0])


def describe(tx: sqlite3.Connection, key: int, description: str) -> None:
    """Set the description of a block."""
    tx.execute("UPDATE core_block SET description = ? WHERE id = ?", (description, key))


def rewrite(tx: sqlite3.Connection, key: int, number: int, value: str) -> None:
    """Give a form of a block another text, for what may not be kept of it."""
    tx.execute("UPDATE core_block_revision SET value = ? WHERE block_id = ? AND number = ?", (value, key, number))


def renumber_present(tx: sqlite3.Connection, key: int, by: BlockEditor, at: int) -> None:
    """Give the present form of a block the next number, which leaves its number free."""
    tx.execute(
        "UPDATE core_block_revision SET number = number + 1, changed_by = ?2, changed_at = ?3, assistant = ''"
        " WHERE block_id = ?1"
        " AND number = (SELECT max(number) FROM core_block_revision WHERE block_id = ?1)",
        (key, by, at),
    )


def delete(tx: sqlite3.Connection, key: int) -> None:
    """Delete a block with all of its forms."""
    tx.execute("DELETE FROM core_block WHERE id = ?", (key,))


def scopes(db: sqlite3.Connection) -> Sequence[Scope]:
    """Return the scopes that have blocks."""
    rows = db.execute("SELECT DISTINCT user_id, namespace FROM core_block ORDER BY user_id, namespace")
    return [Scope(*row) for row in rows.fetchall()]


def _stored(
    key: int, label: str, value: str, description: str, limit: int, read_only: int, number: int, by: BlockEditor,
    at: int, user_id: str, namespace: str, assistant: str,
) -> StoredBlock:  # fmt: skip
    changed_at = iso_from_microseconds(at)
    block = CoreBlock(
        label, value, description, limit, bool(read_only), number, by, changed_at, user_id, namespace, assistant
    )
    return StoredBlock(key, block)
