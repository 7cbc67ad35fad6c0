"""The authors of messages: their names, and which of them a part of a name means."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

from appliance.store.lexical import fold_marks
from appliance.store.sql import JSON_KEYS_SQL, has_row, json_keys
from appliance.types import Scope

# It jumps from name to name in the index; DISTINCT would read the entry of each message.
_NAMES_SQL = (
    "WITH RECURSIVE name (author) AS ("
    " SELECT min(author) FROM message WHERE author IS NOT NULL"
    " UNION ALL SELECT (SELECT min(author) FROM message WHERE author > name.author) FROM name WHERE author IS NOT NULL"
    ") SELECT author FROM name WHERE typeof(author) = 'text'"
)
_IN_SCOPE_SQL = (
    "SELECT 1 FROM message m JOIN session s ON s.id = m.session_id"
    " WHERE m.author = ? AND s.user_id = ? AND s.namespace = ? LIMIT 1"
)


def is_named(author: str, name: str) -> bool:
    """Whether an author has this name or this part of a name, without case and accents."""
    return fold_marks(name) in fold_marks(author)


def has_whole_name(author: str, name: str) -> bool:
    """Whether an author has exactly this name, without case and accents."""
    return fold_marks(name) == fold_marks(author)


def named(db: sqlite3.Connection, scope: Scope, name: str, *, whole: bool = False) -> list[str]:
    """Return the authors in a scope who have this name or, unless it is ``whole``, this part of a name."""
    has_name = has_whole_name if whole else is_named
    return [
        author for (author,) in db.execute(_NAMES_SQL) if has_name(author, name) and has_messages(db, scope, author)
    ]


def all_names(db: sqlite3.Connection) -> Iterator[str]:
    """Yield the names of the authors of all messages, of whatever scope."""
    for (author,) in db.execute(_NAMES_SQL):
        yield author


def has_messages(db: sqlite3.Connection, scope: Scope, author: str) -> bool:
    """Whether a scope has messages by this author."""
    return has_row(db, _IN_SCOPE_SQL, (author, scope.user_id, scope.namespace))


def sessions_of(db: sqlite3.Connection, scope: Scope, names: Iterable[str]) -> set[int]:
    """Return the sessions of a scope in which any of these authors wrote."""
    query = (
        "SELECT DISTINCT m.session_id FROM message m JOIN session s ON s.id = m.session_id"
        f" WHERE m.author IN {JSON_KEYS_SQL} AND m.role = 'user' AND s.user_id = ? AND s.namespace = ?"
    )
    return {key for (key,) in db.execute(query, (json_keys(names), scope.user_id, scope.namespace))}
