"""What is spoken of, by its words: the entities that messages name, and the topics of conversations.

Both are looked up in full text when they are asked for, so that they hold for every message at once. Archived messages,
which have left full text, are read.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator

from appliance.errors import UsageError
from appliance.store.lexical import fold, query_words, quote_fts, quote_spellings, session_titles, stem
from appliance.store.scripts import split_unspaced
from appliance.store.sql import JSON_KEYS_SQL, fetch_int, json_keys
from appliance.store.visibility import visibility_filter
from appliance.types import Filters

MIN_TOPIC_MESSAGES = 3
"""In so many messages a conversation has the words of its topic."""

MIN_TOPIC_SHARE = 0.25
"""Or in this share of them, in a short conversation."""

_WORD = re.compile(r"\w+")


def messages_naming(db: sqlite3.Connection, filters: Filters, entity: str) -> set[int]:
    """Return the messages of the scope of filters that name a person, a place, a product or another entity.

    A name has a capital or a digit: "mark" finds "Mark" and not "to mark". One that is given with capitals is found
    as it is given.

    Raises:
        UsageError: The name is empty.
    """
    match = quote_fts(split_unspaced(_required(entity, "entity")))
    has_name = _name_reader(entity)
    return {key for key, _, text in _matching(db, filters, match, has_name) if has_name(text)}


def sessions_about(db: sqlite3.Connection, filters: Filters, topic: str) -> set[int]:
    """Return the conversations of the scope of filters that are about a topic.

    One is if the title that it was given has the words of the topic, or at least ``MIN_TOPIC_MESSAGES`` or
    ``MIN_TOPIC_SHARE`` of its messages have all of them, in any form.

    Raises:
        UsageError: The topic has no word.
    """
    words = query_words(_required(topic, "topic")) or _WORD.findall(fold(topic))
    if not words:
        raise UsageError(f"The topic {topic!r} has no word.")
    match = " AND ".join(quote_spellings(split_unspaced(word)) for word in words)
    stems = {stem(word) for word in words}

    def has_words(text: str) -> bool:
        return stems <= {stem(word) for word in _WORD.findall(fold(text))}

    counts = Counter(session for _, session, _ in _matching(db, filters, match, has_words, spoken=True))
    few = [session for session, count in counts.items() if count < MIN_TOPIC_MESSAGES]
    sizes = dict(
        db.execute(
            "SELECT session_id, count(*) FROM message WHERE talk = 1"
            f" AND session_id IN {JSON_KEYS_SQL} GROUP BY session_id",
            (json_keys(few),),
        ).fetchall()
    )
    titled = db.execute(
        "SELECT s.id FROM session_fts CROSS JOIN session s ON s.id = session_fts.rowid"
        " WHERE session_fts MATCH ? AND s.user_id = ? AND s.namespace = ?",
        (match, filters.scope.user_id, filters.scope.namespace),
    )
    # The first words of a conversation are no title of somebody's.
    found = set(session_titles(db, [session for (session,) in titled]))
    return found | {session for session in counts if counts[session] >= MIN_TOPIC_SHARE * sizes.get(session, 0)}


def _matching(
    db: sqlite3.Connection, filters: Filters, match: str, has_words: Callable[[str], bool], *, spoken: bool = False
) -> Iterator[tuple[int, int, str]]:
    """Key, session and text of the visible messages that full text finds, and of the archived ones with the words.

    Args:
        db: The connection.
        filters: Whose messages, and from where the query comes.
        match: The expression of FTS5.
        has_words: Whether an archived text has the words.
        spoken: Only what was said openly.
    """
    visible, values = visibility_filter(filters.of_whole_scope())
    narrowed = (
        f"JOIN session s ON s.id = m.session_id WHERE s.user_id = ? AND s.namespace = ? AND {visible}"
        f"{' AND m.talk = 1' if spoken else ''}"
    )
    own = (filters.scope.user_id, filters.scope.namespace, *values)
    yield from db.execute(
        "SELECT m.id, m.session_id, m.text FROM message_fts CROSS JOIN message m ON m.id = message_fts.rowid"
        f" CROSS {narrowed} AND message_fts MATCH ?",
        (*own, match),
    )
    if fetch_int(db, "SELECT EXISTS (SELECT 1 FROM archived)"):
        archived = db.execute(
            f"SELECT m.id, m.session_id, m.text FROM archived a CROSS JOIN message m ON m.id = a.message_id {narrowed}",
            own,
        )
        yield from (row for row in archived if has_words(row[2]))


def _name_reader(entity: str) -> Callable[[str], bool]:
    """A function that says whether a text has a name."""
    words = r"\s+".join(map(re.escape, entity.split()))
    if entity != entity.lower():
        exact = re.compile(rf"(?<!\w){words}(?!\w)")
        return lambda text: exact.search(text) is not None
    any_case = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
    return lambda text: any(
        not found.group().islower() or any(map(str.isdigit, found.group())) for found in any_case.finditer(text)
    )


def _required(value: str, kind: str) -> str:
    if not value.strip():
        raise UsageError(f"The {kind} is empty.")
    return value
