"""Full text: FTS5 over the words of every message, which a search finds as soon as the message is stored.

The table stores no text of its own: it indexes the view ``message_words``. FTS5 needs the old words when a row changes,
so every change is ``remove_from_index``, write, ``add_texts`` or ``add_to_index``, in one transaction.

A search also finds a message by the words of its neighbours. It looks the neighbours up: indexing each message with the
words of its neighbours costs three times the work and space, and finds no more.
"""

from __future__ import annotations

import math
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from appliance.languages import STOP_WORDS
from appliance.store import neighbours, sessions, visibility
from appliance.store.damage import AT_SQL, AUTHOR_SQL, ROLE_SQL, TITLE_SQL
from appliance.store.documents import IS_PAGE_SQL
from appliance.store.message_parts import has_condition
from appliance.store.scripts import fold_letter_pairs, other_digits, other_letter_pairs, searchable, split_unspaced
from appliance.store.sessions import AGENT_PARTICIPATES_SQL
from appliance.store.sql import (
    JSON_KEYS_SQL,
    fetch_in_one_step,
    fetch_int,
    fetch_readable,
    has_row,
    json_keys,
    placeholders,
)
from appliance.types import Filters, Role, Scope

MAX_POSTINGS = 20_000
"""The most rows that a ranked query may touch, summed over its words: rarer words come first, and a word that would
exceed the limit is left out (FTS5 takes about 2.5 microseconds a row)."""

MAX_PENDING_POSTINGS = 400
"""The same limit where a search looks only for messages that the index does not have yet: there are usually few, and a
search must not take several times as long during an ingest."""

MAX_QUERY_WORDS = 64
MAX_QUERY_CHARACTERS = 600
"""Of a longer query, lexical legs look up only the first words: each word costs a read of all its rows, and a pasted
page has hundreds of words. The dense leg reads every query completely."""

MAX_CHECKED_POSTINGS = 100
"""How many messages of a word are checked to exist: a word that more messages have is no evidence of a single one."""

NEIGHBOUR_WEIGHT = 0.8
"""The share of a neighbour's best score that is added to the score of a message. Recall@10 of full text alone on LoCoMo
and BEAM is 0.757 and 0.557; with 0.4 it is 0.728 and 0.543."""

CANDIDATES_PER_HIT = 2
"""How many messages are examined with their neighbours for each message that the caller wants."""

MAX_QUERY_PHRASES = 4

FTS_TABLES = ("message_fts", "session_fts")

STEM_CHARACTERS = 5

MIN_TITLE_SIMILARITY = 0.4
"""The similarity at which a title leads to its session: that of a query of six words and a title of two of them."""

MAX_COMPARED_TITLES = 50
"""How many of the best titles by BM25 are compared."""

_GIVEN_TITLE_SQL = "titled <> 'found'"
"""Leaves out extracted titles: they repeat the first messages, which a search finds anyway."""

MAX_CACHED_TITLES = 5_000
"""How many titles are cached as stems: a search compares those of all candidates' sessions, about 200."""

_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r'"([^"\n]*)"|“([^“”\n]*)”|„([^„“”\n]*)[“”]|«([^«»\n]*)»')


@dataclass(frozen=True, slots=True)
class TextHit:
    """A message found by its words or those of its neighbours.

    ``own_score`` is the BM25 score of its own words, 0 if it has none of them; ``score`` adds a share of the best
    neighbour's. Higher is better. ``at`` is in microseconds since 1970.
    """

    message: int
    own_score: float
    score: float
    role: Role
    author: str | None
    at: int | None
    session: int


def remove_from_index(tx: sqlite3.Connection, keys: Collection[int]) -> None:
    """Remove messages from the full text; they must still have the words with which they were added."""
    tx.execute(
        "INSERT INTO message_fts (message_fts, rowid, text)"
        f" SELECT 'delete', id, text FROM message_words WHERE id IN {JSON_KEYS_SQL} ORDER BY id",
        (json_keys(keys),),
    )


def add_texts(tx: sqlite3.Connection, texts: Iterable[tuple[int, str]]) -> None:
    """Add messages to the full text by their keys and texts, which are those that the database has now. Reading the
    texts back would take twice as long."""
    tx.executemany(
        "INSERT INTO message_fts (rowid, text) VALUES (?, ?)", ((key, searchable(text)) for key, text in texts)
    )


def add_to_index(tx: sqlite3.Connection, keys: Collection[int]) -> None:
    """Add messages to the full text, with the words that they have now."""
    tx.execute(
        "INSERT INTO message_fts (rowid, text)"
        f" SELECT id, text FROM message_words WHERE id IN {JSON_KEYS_SQL} ORDER BY id",
        (json_keys(keys),),
    )


def rebuild(tx: sqlite3.Connection) -> None:
    """Rebuild the full text of messages and titles from the database."""
    for table in FTS_TABLES:
        tx.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")


def optimize(tx: sqlite3.Connection) -> None:
    """Merge the segments of the full text into one, in which nothing of removed messages is left."""
    for table in FTS_TABLES:
        tx.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


def is_consistent(tx: sqlite3.Connection) -> bool:
    """Whether the full text has exactly the words of the messages and titles."""
    try:
        for table in FTS_TABLES:
            tx.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:  # the last byte is the primary result code
            raise
        return False
    return True


def query_words(query: str) -> list[str]:
    """Return the distinct words of a query in order, at most ``MAX_QUERY_WORDS``, without stop words unless it has no
    others."""
    return list(_query_terms(query))


def _query_terms(query: str) -> dict[str, str]:
    """The words of a query in folded form, each with the form for FTS5 ("strasse" for "Straße")."""
    # The index takes a letter with a combining accent for one letter, a pattern for two.
    all_words = {word.casefold(): word for word in _WORD.findall(split_unspaced(_normalize_unicode(query)))}
    content_words = {plain: word for plain, word in all_words.items() if plain not in STOP_WORDS} or all_words
    return dict(islice(content_words.items(), MAX_QUERY_WORDS))


def _query_forms(query: str) -> list[str]:
    """The words of a query in each form that full text may hold."""
    words = _query_terms(query).values()
    return [
        *dict.fromkeys((*words, *other_digits(query), *(form for word in words for form in other_letter_pairs(word))))
    ]


def stem(word: str) -> str:
    """Return the prefix by which words are compared without an index: "allergic" and "allergies" have the same,
    and so have "œuvre" and "oeuvre"."""
    if word.isascii():
        return word[:STEM_CHARACTERS].casefold()
    return fold_letter_pairs(word[:STEM_CHARACTERS].casefold())[:STEM_CHARACTERS]


def shorten_query(query: str) -> str:
    """Return the query itself, or only its words if it is longer than ``MAX_QUERY_CHARACTERS``."""
    return query if len(query) <= MAX_QUERY_CHARACTERS else " ".join(query_words(query))


def search(
    db: sqlite3.Connection, query: str, filters: Filters, limit: int, *, pending_in: int | None = None
) -> list[TextHit]:
    """Return the messages that best match the words of a query, or whose neighbours do, best first.

    Args:
        db: The connection.
        query: The query; no character of it is FTS5 syntax.
        filters: The filters, which neighbours must pass too.
        limit: The most hits.
        pending_in: Find only messages that are in the outbox of this generation.
    """
    max_postings = MAX_POSTINGS if pending_in is None else MAX_PENDING_POSTINGS
    chosen = _select_rare_words(db, _query_forms(query), max_postings)
    if not chosen:
        return []
    filter_sql, values = filter_conditions(filters)
    pending_sql = ""
    if pending_in is not None:
        # Tested by key before the row is read, which is cheap however long the queue is.
        pending_sql = (
            " AND EXISTS (SELECT 1 FROM chunk c JOIN outbox o ON o.chunk_id = c.id"
            " WHERE c.message_id = {} AND o.generation = ? AND o.work = 'put')"
        )
        values = (*values, pending_in)
    # CROSS JOIN makes SQLite begin with the words. Newer versions (3.51) begin with the user's sessions otherwise, and
    # look the words up anew for each message.
    matched = fetch_in_one_step(
        db,
        f"SELECT m.id, -bm25(message_fts) AS score, m.talk, {ROLE_SQL}, {AUTHOR_SQL}, {AT_SQL}, m.session_id"
        " FROM message_fts"
        " CROSS JOIN message m ON m.id = message_fts.rowid CROSS JOIN session s ON s.id = m.session_id"
        f" WHERE message_fts MATCH ? AND {filter_sql}{pending_sql.format('message_fts.rowid')}"
        " ORDER BY score DESC, m.id LIMIT ?",
        (" OR ".join(map(quote_fts, chosen)), *values, CANDIDATES_PER_HIT * limit),
        columns=7,
    )
    own_scores = {key: score for key, score, *_ in matched}
    details = {key: about for key, _, _, *about in matched}
    neighbour_scores: dict[int, float] = {}
    conversational_keys = [key for key, _, conversational, *_ in matched if conversational]
    for key, neighbour_keys in neighbours.neighbour_keys(db, conversational_keys, neighbours.NEIGHBOURS).items():
        for neighbour in neighbour_keys:
            neighbour_scores[neighbour] = max(neighbour_scores.get(neighbour, 0.0), own_scores[key])
    rows = _message_details(
        db, neighbour_scores.keys() - own_scores.keys(), filter_sql + pending_sql.format("m.id"), values
    )
    details |= {key: about for key, *about in rows}
    hits = []
    for key, about in details.items():
        own_score = own_scores.get(key, 0.0)
        hits.append(TextHit(key, own_score, own_score + NEIGHBOUR_WEIGHT * neighbour_scores.get(key, 0.0), *about))
    return sorted(hits, key=lambda hit: (-hit.score, hit.message))[:limit]


def unscored_hits(db: sqlite3.Connection, keys: Iterable[int], filters: Filters) -> list[TextHit]:
    """Return the messages with the given keys that pass the filters, with a score of 0, by key."""
    rows = _message_details(db, keys, *filter_conditions(filters))
    return [TextHit(key, 0.0, 0.0, *about) for key, *about in sorted(rows)]


def _message_details(
    db: sqlite3.Connection, keys: Iterable[int], where: str, values: Sequence[object]
) -> list[list[Any]]:
    """Key, role, author, time and session of those messages that meet the condition."""
    # CROSS JOIN makes SQLite begin with the keys; otherwise it would read all messages of the user.
    return fetch_readable(
        db,
        f"SELECT m.id, {ROLE_SQL}, {AUTHOR_SQL}, {AT_SQL}, m.session_id FROM message m CROSS JOIN session s"
        f" ON s.id = m.session_id WHERE m.id IN {JSON_KEYS_SQL} AND {where}",
        keys,
        after=values,
        columns=5,
    )


def phrases(query: str) -> list[str]:
    """Return the quoted phrases of a query, as far as they have words."""
    quoted = ("".join(groups) for groups in _QUOTED.findall(_normalize_unicode(query)))
    return [phrase for phrase in quoted if _WORD.search(phrase)][:MAX_QUERY_PHRASES]


def containing_phrases(
    db: sqlite3.Connection,
    phrases: Sequence[str],
    filters: Filters,
    limit: int,
    has_phrases: Callable[[str], bool] | None = None,
) -> list[int] | None:
    """Return up to ``limit`` messages that contain every phrase, newest first: verbatim, except for case and white
    space, or as ``has_phrases`` decides about a text. Returns None if no word of the phrases is rare enough to look
    for."""
    phrase_words = _words_of_phrases(phrases)
    # Long words are usually rare, so that the first one decides.
    words_by_length = sorted({word for words in phrase_words for word in words}, key=len, reverse=True)
    if all(_count_postings(db, word) > MAX_POSTINGS for word in words_by_length):
        return None
    filter_sql, values = filter_conditions(filters)
    match = _all_phrases(phrase_words)
    rows = db.execute(
        "SELECT m.id, m.text FROM message_fts CROSS JOIN message m ON m.id = message_fts.rowid"
        f" CROSS JOIN session s ON s.id = m.session_id WHERE message_fts MATCH ? AND {filter_sql} ORDER BY m.id DESC",
        (match, *values),
    )
    # FTS5 compares stems ("pool" finds "pools"); the text decides.
    folded = [fold(phrase) for phrase in phrases]
    has = has_phrases or (lambda text: all(phrase in fold(text) for phrase in folded))
    return list(islice((key for key, text in rows if has(text)), limit))


def _words_of_phrases(phrases: Sequence[str]) -> list[list[str]]:
    return [_WORD.findall(split_unspaced(phrase)) for phrase in phrases]


def _all_phrases(phrase_words: Sequence[Sequence[str]]) -> str:
    return " AND ".join(quote_fts(" ".join(words)) for words in phrase_words)


def phrase_expression(phrase: str) -> str:
    """Return what FTS5 looks for to find a phrase. Empty if it has no word."""
    words = _words_of_phrases([phrase])
    return _all_phrases(words) if words[0] else ""


def match_expression(query: str) -> str:
    """Return what FTS5 looks for to find every message that matches a query: all its quoted phrases, else any of its
    words. Empty if it has no word."""
    if quoted := phrases(query):
        return _all_phrases(_words_of_phrases(quoted))
    return " OR ".join(map(quote_fts, _query_forms(query)))


def _normalize_unicode(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def fold(text: str) -> str:
    """Return a text in compatible composed form (NFKC), without case, and with single spaces."""
    return " ".join(_normalize_unicode(text).casefold().split())


def fold_marks(text: str) -> str:
    """Return a text folded as the full text folds words: as ``fold``, and without accents and other marks."""
    plain = unicodedata.normalize("NFKD", fold(text))
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


def has_as_words(text: str, phrase: str) -> bool:
    """Whether a text has a phrase that does not begin or end within a word, without case."""
    return re.search(rf"(?<!\w){re.escape(fold(phrase))}(?!\w)", fold(text)) is not None


def count_filtered(db: sqlite3.Connection, filters: Filters) -> int:
    """Return how many messages pass the filters."""
    condition, values = filter_conditions(filters)
    query = f"SELECT count(*) FROM message m JOIN session s ON s.id = m.session_id WHERE {condition}"
    return fetch_int(db, query, values)


def filter_conditions(filters: Filters) -> tuple[str, tuple[object, ...]]:
    """Return the filters as a condition on ``message m`` and ``session s``, and its parameters."""
    visibility_sql, visibility_values = visibility.visibility_filter(filters)
    parts = ["s.user_id = ?", "s.namespace = ?", visibility_sql]
    values: list[object] = [filters.scope.user_id, filters.scope.namespace, *visibility_values]
    if filters.scope.agent_id is not None:
        parts.append(sessions.AGENT_PARTICIPATES_SQL)
        values.append(filters.scope.agent_id)
    if filters.roles:
        parts.append(f"m.role IN ({placeholders(filters.roles)})")
        values.extend(filters.roles)
    else:
        parts.append(f"(m.talk = 1 OR {IS_PAGE_SQL})" if filters.documents else "m.talk = 1")
    if filters.sources:
        parts.append(f"s.format IN ({placeholders(filters.sources)})")
        values.extend(filters.sources)
    if filters.has:
        has_sql, has_values = has_condition(filters.has)
        parts.append(has_sql)
        values.extend(has_values)
    if filters.messages is not None:
        parts.append(f"m.id IN {JSON_KEYS_SQL}")
        values.append(json_keys(filters.messages))
    if filters.names_authors:
        authors_sql, author_values = author_condition(filters)
        parts.append(authors_sql)
        values.extend(author_values)
    if filters.sessions is not None:
        parts.append(f"m.session_id IN {JSON_KEYS_SQL}")
        values.append(json_keys(filters.sessions))
    for condition, bound in (("m.at >= ?", filters.since), ("m.at < ?", filters.until)):
        if bound is not None:
            parts.append(condition)
            values.append(bound)
    return " AND ".join(parts), tuple(values)


def author_condition(filters: Filters, author: str = "m.author") -> tuple[str, list[object]]:
    """Return the authors of filters that name some as a condition on ``author`` and ``message m``, and its
    parameters."""
    options: list[str] = []
    values: list[object] = []
    if filters.authors:
        options.append(f"{author} IN {JSON_KEYS_SQL}")
        values.append(json_keys(filters.authors))
    for name, in_sessions in filters.author_sessions:
        options.append(f"({author} = ? AND m.session_id IN {JSON_KEYS_SQL})")
        values += [name, json_keys(in_sessions)]
    if filters.unsigned:
        options.append(f"({author} IS NULL AND m.role = 'user')")
    return f"({' OR '.join(options)})", values


def _select_rare_words(db: sqlite3.Connection, words: Sequence[str], max_postings: int) -> list[str]:
    """The rarest words whose rows together stay within ``max_postings``; always at least the rarest one."""
    chosen: list[str] = []
    total_postings = 0
    for count, word in sorted((_count_postings(db, word, max_postings), word) for word in words):
        if chosen and total_postings + count > max_postings:
            break
        if count:
            chosen.append(word)
            total_postings += count
    return chosen


def _count_postings(db: sqlite3.Connection, word: str, max_postings: int = MAX_POSTINGS) -> int:
    # fts5vocab needs the stem, which only FTS5 knows; counting up to the limit lets FTS5 find it.
    return count_matches(db, quote_fts(word), max_postings)


def count_matches(db: sqlite3.Connection, match: str, maximum: int) -> int:
    """Return how many messages of all users an FTS5 expression matches, counting no further than ``maximum`` + 1."""
    query = "SELECT count(*) FROM (SELECT rowid FROM message_fts WHERE message_fts MATCH ? LIMIT ?)"
    return fetch_int(db, query, (match, maximum + 1))


def finds_missing_rows(db: sqlite3.Connection, words: Iterable[str]) -> bool:
    """Whether one of these words leads to a message or a session that does not exist, among the first ones that it
    leads to."""
    queries = [
        f"SELECT 1 FROM (SELECT rowid AS id FROM {full_text} WHERE {full_text} MATCH ?1 LIMIT ?2) f"
        f" WHERE NOT EXISTS (SELECT 1 FROM {table} t WHERE t.id = f.id) LIMIT 1"
        for full_text, table in zip(FTS_TABLES, ("message", "session"), strict=True)
    ]
    return any(
        has_row(db, query, (quote_fts(split_unspaced(word)), MAX_CHECKED_POSTINGS))
        for word in words
        for query in queries
    )


def quote_fts(words: str) -> str:
    """Return words as one FTS5 string, in which no character is syntax. NUL, which is in no word, would end it."""
    return '"' + words.replace('"', '""').replace("\0", " ") + '"'


def quote_spellings(word: str) -> str:
    """Return a word as an FTS5 expression that also finds it with other letters for the same ("œ" for "oe")."""
    forms = [word, *other_letter_pairs(word)]
    return quote_fts(word) if len(forms) == 1 else f"({' OR '.join(map(quote_fts, forms))})"


# --- titles of sessions, whose full text triggers keep up to date ----------------------------------------


def sessions_by_title(db: sqlite3.Connection, terms: Sequence[str], scope: Scope, limit: int) -> list[int]:
    """Return the sessions of a scope whose titles are similar enough to the query's ``terms``, best by BM25 first."""
    if not terms:
        return []
    scope_sql, owner = "s.user_id = ? AND s.namespace = ?", [scope.user_id, scope.namespace]
    if scope.agent_id is not None:
        scope_sql, owner = f"{scope_sql} AND {AGENT_PARTICIPATES_SQL}", [*owner, scope.agent_id]
    rows = db.execute(
        f"SELECT s.id, {TITLE_SQL} FROM session_fts CROSS JOIN session s ON s.id = session_fts.rowid"
        f" WHERE session_fts MATCH ? AND {scope_sql} AND {_GIVEN_TITLE_SQL}"
        " ORDER BY bm25(session_fts), s.id DESC LIMIT ?",
        (" OR ".join(map(quote_spellings, terms)), *owner, MAX_COMPARED_TITLES),
    ).fetchall()
    stems = {stem(word) for word in terms}
    return [key for key, title in rows if title_similarity(stems, title) >= MIN_TITLE_SIMILARITY][:limit]


def title_similarity(stems: Collection[str], title: str) -> float:
    """Return the cosine of the stems of a query and those of a title: 1 if they are the same."""
    title_stems = _title_stems(title)
    shared = len(title_stems.intersection(stems))
    return shared / math.sqrt(len(title_stems) * len(stems)) if shared else 0.0


@lru_cache(maxsize=MAX_CACHED_TITLES)
def _title_stems(title: str) -> frozenset[str]:
    return frozenset(stem(word) for word in query_words(title))


def session_titles(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, str]:
    """Return the titles of the sessions with the given keys, by key, without extracted ones."""
    rows = db.execute(
        f"SELECT s.id, {TITLE_SQL} FROM session s"
        f" WHERE s.title IS NOT NULL AND {_GIVEN_TITLE_SQL} AND s.id IN {JSON_KEYS_SQL}",
        (json_keys(set(keys)),),
    )
    return dict(rows.fetchall())
