"""Where words stand that somebody wrote: in messages and their earlier versions, authors, titles, metadata, names of
files, facts and core memory. An erasure is previewed by the places."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePath
from typing import Any

import msgspec

from appliance.errors import UsageError
from appliance.memory import block_erasure
from appliance.store import archive, authors, lexical, messages, spellings, statements
from appliance.store.author_selection import AuthorSelection, is_exact
from appliance.store.sql import JSON_KEYS_SQL, json_keys
from appliance.types import ROLES, BlockErasure, Filters, Scope
from appliance.types.erasure import BLOCK_PREFIX

BLOCKS_PLACE = "core memory"
"""The place of words that stand in blocks; no message leads there."""


@dataclass(frozen=True, slots=True)
class FoundWords:
    """Where words were found: the messages and the sessions by place (titles, metadata), the facts, and what
    has them in core memory. ``notes`` are sentences without a full stop."""

    messages: Mapping[str, set[int]] = field(default_factory=dict)
    sessions: Mapping[str, set[int]] = field(default_factory=dict)
    facts: frozenset[int] = frozenset()
    blocks: Sequence[BlockErasure] = ()
    notes: Sequence[str] = ()

    @property
    def all_messages(self) -> set[int]:
        return set().union(*self.messages.values())

    @property
    def all_sessions(self) -> set[int]:
        return set().union(*self.sessions.values())


def find_words(db: sqlite3.Connection, scope: Scope, query: str) -> FoundWords:
    """Look for whole words as they stand, without case and in any spelling, in everything of a scope that somebody
    wrote.

    Raises:
        UsageError: The query has frequent words only.
    """
    has_letters, filters = spellings.matcher(query), Filters(scope, roles=ROLES)
    spelled = [
        lexical.containing_phrases(db, [words], filters, sys.maxsize, has_letters)
        for words in spellings.spellings(query)
    ]
    if spelled[0] is None:
        raise UsageError(
            f"{query!r} has only frequent words.", hint="Use more words, or name the messages by their ids."
        )
    with spellings.word_matcher(query) as has_words:
        return _find_words(db, scope, {*chain.from_iterable(filter(None, spelled))}, has_words)


def _find_words(
    db: sqlite3.Connection, scope: Scope, in_full_text: Set[int], has_words: Callable[[str], bool]
) -> FoundWords:
    """Look for words everywhere but in the messages that the full text leads to."""
    owner = (scope.user_id, scope.namespace)
    sessions_sql = "FROM session s WHERE s.user_id = ? AND s.namespace = ?"
    messages_sql = "FROM message m JOIN session s ON s.id = m.session_id WHERE s.user_id = ? AND s.namespace = ?"
    revisions_sql = messages_sql.replace("message m", "revision r JOIN message m ON m.id = r.message_id", 1)

    def containing(sql: str, texts_of: Callable[[str], Iterable[str]] = lambda text: (text,)) -> set[int]:
        """The keys in the first column of rows of which another column has the words."""
        return {
            key
            for key, *columns in db.execute(sql, owner)
            if any(has_words(text) for column in filter(None, columns) for text in texts_of(column))
        }

    # A title that was found in what was said stands for the message that says it.
    titled = containing(f"SELECT s.id, s.title {sessions_sql} AND s.titled <> 'found'")
    about = containing(f"SELECT s.id, s.metadata {sessions_sql} AND s.metadata <> '{{}}'", _metadata_texts)
    facts = containing("SELECT id, text, value FROM fact WHERE user_id = ? AND namespace = ?")
    files = [key for key, path in db.execute("SELECT id, path FROM source") if has_words(PurePath(path).name)]
    # The full text leads neither to what a session withholds from others, nor to what has expired or is archived.
    hidden_sql = "(s.storage_scope <> 'all' OR s.expires_at IS NOT NULL)"
    hidden = containing(f"SELECT m.id, m.text {messages_sql} AND {hidden_sql}")
    by_place = {
        "text": {*in_full_text, *hidden, *archive.containing(db, scope, has_words)},
        "earlier versions": containing(f"SELECT m.id, r.text {revisions_sql}"),
        "authors": messages_by(db, scope, "", lambda author, name: has_words(author)),
        "titles": set(messages_of(db, titled)),
        "metadata": {
            *messages_of(db, about),
            *containing(f"SELECT m.id, m.metadata {messages_sql} AND m.metadata <> '{{}}'", _metadata_texts),
            *containing(f"SELECT m.id, r.metadata {revisions_sql} AND r.metadata <> '{{}}'", _metadata_texts),
        },
        "file names": messages.from_sources(db, files),
        "facts": statements.messages_of_facts(db, facts),
        BLOCKS_PLACE: set(),
    }
    return FoundWords(
        by_place,
        {"titles": titled, "metadata": about},
        frozenset(facts),
        block_erasure.sentences_that_say(db, scope, has_words),
        [
            f"The label of the block {label!r} has the words: 'appliance forget {BLOCK_PREFIX}{label}' erases the block"
            for label in block_erasure.labels_that_say(db, scope, has_words)
        ],
    )


def sessions_by_title(db: sqlite3.Connection, scope: Scope, title: str) -> set[int]:
    """Return the sessions of a scope whose title has these whole words, without case and in any spelling."""
    query = "SELECT id, title FROM session WHERE user_id = ? AND namespace = ? AND title IS NOT NULL"
    rows = db.execute(query, (scope.user_id, scope.namespace))
    with spellings.word_matcher(title) as has_words:
        return {key for key, found in rows if has_words(found)}


def messages_of(db: sqlite3.Connection, session_keys: Iterable[int]) -> list[int]:
    rows = db.execute(f"SELECT id FROM message WHERE session_id IN {JSON_KEYS_SQL}", (json_keys(session_keys),))
    return [key for (key,) in rows]


def messages_of_author(db: sqlite3.Connection, scope: Scope, meant: AuthorSelection, name: str) -> set[int]:
    """The messages whose author, now or earlier, is among those that a name means, or has an earlier author of this
    name."""
    filters = Filters(
        scope, authors=meant.authors, author_sessions=meant.author_sessions, unsigned=meant.unsigned, roles=ROLES
    )
    owner, keys = (scope.user_id, scope.namespace), set[int]()
    if filters.names_authors:
        for joined, author in (("", "m.author"), ("JOIN revision r ON r.message_id = m.id", "r.author")):
            by_author, values = lexical.author_condition(filters, author)
            sql = (
                f"SELECT m.id FROM message m {joined} JOIN session s ON s.id = m.session_id"
                f" WHERE s.user_id = ? AND s.namespace = ? AND {by_author}"
            )
            keys.update(key for (key,) in db.execute(sql, (*owner, *values)))
    if is_exact(name) and not meant.is_empty:
        return keys
    return keys | messages_by(db, scope, name, authors.has_whole_name)


def messages_by(db: sqlite3.Connection, scope: Scope, name: str, has_name: Callable[[str, str], bool]) -> set[int]:
    """The messages whose author, now or earlier, has this name, as ``has_name`` compares an author and a name."""
    owner = (scope.user_id, scope.namespace)
    keys: set[int] = set()
    for table, key in (("message", "m.id"), ("revision", "m.message_id")):
        of_scope = (
            f"FROM {table} m JOIN message o ON o.id = {key} JOIN session s ON s.id = o.session_id"
            " WHERE s.user_id = ? AND s.namespace = ?"
        )
        written = [author for (author,) in db.execute(f"SELECT DISTINCT m.author {of_scope}", owner) if author]
        for author in written:
            if has_name(author, name):
                keys.update(
                    found for (found,) in db.execute(f"SELECT {key} {of_scope} AND m.author = ?", (*owner, author))
                )
    return keys


def _metadata_texts(metadata: str) -> Iterator[str]:
    """The texts in metadata, without its keys."""
    return _values(msgspec.json.decode(metadata))


def _values(metadata: Any) -> Iterator[str]:
    if isinstance(metadata, str):
        yield metadata
    elif isinstance(metadata, dict | list):
        for value in metadata.values() if isinstance(metadata, dict) else metadata:
            yield from _values(value)
