"""The tags of sessions."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence

from appliance.errors import UsageError, check_unicode
from appliance.store.lexical import fold
from appliance.store.sql import JSON_KEYS_SQL, json_keys, placeholders
from appliance.store.visibility import NOT_EXPIRED
from appliance.timestamps import now
from appliance.types import Scope, TagCount
from appliance.types.vocabulary import MAX_TAG_CHARACTERS

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


def normal(tag: str) -> str:
    """Return a tag in the form in which tags are stored and compared: without case and the "#" before it.

    Raises:
        UsageError: It is empty, too long, or has a line break or another control character.
    """
    given = tag.strip().removeprefix("#")
    found = fold(given)
    if not found:
        raise UsageError("The tag is empty.", hint="Give a word or two, such as 'garden'.")
    if len(given) > MAX_TAG_CHARACTERS or _UNPRINTABLE.search(given):
        raise UsageError(f"A tag is one line of up to {MAX_TAG_CHARACTERS} characters, without control characters.")
    check_unicode(found, "The tag")
    return found


def add(tx: sqlite3.Connection, session: int, tags: Iterable[str]) -> None:
    tx.executemany("INSERT OR IGNORE INTO session_tag VALUES (?, ?)", ((session, normal(tag)) for tag in tags))


def remove(tx: sqlite3.Connection, session: int, tags: Iterable[str]) -> None:
    tx.executemany("DELETE FROM session_tag WHERE session_id = ? AND tag = ?", ((session, normal(tag)) for tag in tags))


def of_sessions(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return the tags of sessions, by key."""
    query = f"SELECT session_id, tag FROM session_tag WHERE session_id IN {JSON_KEYS_SQL} ORDER BY session_id, tag"
    found: dict[int, tuple[str, ...]] = {}
    for key, tag in db.execute(query, (json_keys(keys),)):
        found[key] = (*found.get(key, ()), tag)
    return found


def tagged_sql(tags: Sequence[str]) -> str:
    """Return a condition on ``session s`` with normal tags as its parameters: it has any of them."""
    return f"s.id IN (SELECT session_id FROM session_tag WHERE tag IN ({placeholders(tags)}))"


def tagged_sessions(db: sqlite3.Connection, scope: Scope, tags: Sequence[str]) -> tuple[int, ...]:
    """Return the sessions of a scope with any of the tags."""
    wanted = [normal(tag) for tag in tags]
    rows = db.execute(
        f"SELECT s.id FROM session s WHERE s.user_id = ? AND s.namespace = ? AND {tagged_sql(wanted)} ORDER BY s.id",
        (scope.user_id, scope.namespace, *wanted),
    )
    return tuple(key for (key,) in rows)


def counts(db: sqlite3.Connection, scope: Scope) -> list[TagCount]:
    """Return the tags of a scope with their numbers of sessions, the most frequent first."""
    rows = db.execute(
        "SELECT t.tag, count(*) FROM session_tag t JOIN session s ON s.id = t.session_id"
        f" WHERE s.user_id = ? AND s.namespace = ? AND {NOT_EXPIRED} GROUP BY t.tag ORDER BY 2 DESC, 1",
        (scope.user_id, scope.namespace, now()),
    )
    return [TagCount(*row) for row in rows]
