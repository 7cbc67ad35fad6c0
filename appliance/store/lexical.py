"""Full text: FTS5 over every message's words, searchable as soon as it is stored.

The table holds no text of its own: ``message_words`` is the view it indexes. Because FTS5 must be told the
old words when a row changes, a change is always: ``withdraw``, write, ``enter`` again, in one transaction.

A message is also found by the words of its neighbours. They are looked up when something is asked for: to
index each message with its neighbours' words costs three times the work and space, and finds no more.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from appliance.store import neighbours, sessions, visible
from appliance.store.migrations import NEIGHBOURS
from appliance.store.scripts import spaced
from appliance.store.sql import LISTED, at_once, listed, marks, pages
from appliance.store.stopwords import STOP_WORDS
from appliance.types import Filters, Role

POSTINGS = 20_000
"""The most rows that a ranked query may touch, summed over its words: rarer words come first, and a word
that would go past it is left out of this engine (FTS5 costs about 2.5 microseconds a row)."""

POSTINGS_WAITING = 400
"""The same where only what waits for the index is looked for, beside all that the index finds: as a rule there is
little, and a search must not take several times as long while something is read in."""

QUERY_WORDS = 64
QUERY_CHARACTERS = 600
"""Lexical legs look up a query of more characters by its first words only: each word costs a reading of all
its places, and a pasted page has hundreds. The dense leg reads every query whole."""

NEIGHBOUR_WEIGHT = 0.8
"""What the best score of a neighbour adds to a message's own. Recall@10 of full text alone on LoCoMo and BEAM
is 0.757 and 0.557; with 0.4, 0.728 and 0.543."""

SPREAD = 2
"""For each message wanted, how many are looked at together with their neighbours."""

QUERY_PHRASES = 4

TABLES = ("message_fts", "session_fts")

STEM = 5

_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r'"([^"\n]*)"|“([^“”\n]*)”|„([^„“”\n]*)[“”]|«([^«»\n]*)»')


@dataclass(frozen=True, slots=True)
class TextHit:
    """A message found by its words or its neighbours', and who said it.

    ``own`` is the BM25 of its own words, 0 where it has none of them; ``score`` adds a share of the best
    neighbour's. Larger is better.
    """

    message: int
    own: float
    score: float
    role: Role
    author: str | None
    at: int | None
    session: int


def withdraw(tx: sqlite3.Connection, keys: Collection[int]) -> None:
    """Take messages out of the full text, while they still have the words they went in with."""
    for page in pages(sorted(keys)):
        tx.execute(
            "INSERT INTO message_fts (message_fts, rowid, text)"
            f" SELECT 'delete', id, text FROM message_words WHERE id IN ({marks(page)})",
            page,
        )


def enter(tx: sqlite3.Connection, keys: Collection[int]) -> None:
    """Put messages into the full text, with the words they have now."""
    for page in pages(sorted(keys)):
        tx.execute(
            "INSERT INTO message_fts (rowid, text)"
            f" SELECT id, text FROM message_words WHERE id IN ({marks(page)})",
            page,
        )


def rebuild(tx: sqlite3.Connection) -> None:
    """Make the full text of messages and of titles again from the truth."""
    for table in TABLES:
        tx.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")


def optimize(tx: sqlite3.Connection) -> None:
    """Merge the full text into one piece, in which nothing of what was withdrawn is left."""
    for table in TABLES:
        tx.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


def agrees(tx: sqlite3.Connection) -> bool:
    """Whether the full text holds exactly the words of the truth."""
    try:
        for table in TABLES:
            tx.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:  # the last byte is the kind
            raise
        return False
    return True


def words(query: str) -> list[str]:
    """The query's words in order, each once and at most ``QUERY_WORDS``, without stop words unless there is
    nothing else."""
    return list(_words(query))


def _words(query: str) -> dict[str, str]:
    """The query's words as a person compares them, each with the form that FTS5 compares ("strasse", "Straße")."""
    # A letter and its accent apart are one letter to the index, and two to a pattern.
    every = {word.casefold(): word for word in _WORD.findall(spaced(_composed(query)))}
    telling = {plain: word for plain, word in every.items() if plain not in STOP_WORDS} or every
    return dict(islice(telling.items(), QUERY_WORDS))


def stem(word: str) -> str:
    """The beginning by which a word is compared without an index: "allergic" and "allergies" are alike."""
    return word[:STEM].casefold()


def shortened(query: str) -> str:
    """The query itself, or its ``words`` when it is too long to be looked up whole."""
    return query if len(query) <= QUERY_CHARACTERS else " ".join(words(query))


def search(
    db: sqlite3.Connection, query: str, filters: Filters, limit: int, *, pending_in: int | None = None
) -> list[TextHit]:
    """The messages that hold most of the query's words, or stand beside such, best first.

    No character of ``query`` is FTS5 syntax. ``pending_in`` keeps only messages that still wait in that
    generation's outbox. Neighbours count that are within the filters themselves.
    """
    most = POSTINGS if pending_in is None else POSTINGS_WAITING
    chosen = _affordable(db, list(_words(query).values()), most)
    if not chosen:
        return []
    narrowed, values = conditions(filters)
    waiting = ""
    if pending_in is not None:
        # Asked of each row by its key, which costs nothing however much waits, and before the row is read.
        waiting = (
            " AND EXISTS (SELECT 1 FROM chunk c JOIN outbox o ON o.chunk_id = c.id"
            " WHERE c.message_id = {} AND o.generation = ? AND o.work = 'put')"
        )
        values = (*values, pending_in)
    matched = at_once(
        db,
        "SELECT m.id, -bm25(message_fts) AS score, m.talk, m.role, m.author, m.at, m.session_id FROM message_fts"
        " JOIN message m ON m.id = message_fts.rowid JOIN session s ON s.id = m.session_id"
        f" WHERE message_fts MATCH ? AND {narrowed}{waiting.format('message_fts.rowid')}"
        " ORDER BY score DESC, m.id LIMIT ?",
        (" OR ".join(map(quoted, chosen)), *values, SPREAD * limit),
        columns=7,
    )
    own = {key: score for key, score, *_ in matched}
    said = {key: about for key, _, _, *about in matched}
    beside: dict[int, float] = {}
    talk = [key for key, _, is_talk, *_ in matched if is_talk]
    for key, others in neighbours.of_each(db, talk, NEIGHBOURS).items():
        for other in others:
            beside[other] = max(beside.get(other, 0.0), own[key])
    rows = _about(db, beside.keys() - own.keys(), narrowed + waiting.format("m.id"), values)
    said |= {key: about for key, *about in rows}
    hits = (
        TextHit(key, own.get(key, 0.0), own.get(key, 0.0) + NEIGHBOUR_WEIGHT * beside.get(key, 0.0), *about)
        for key, about in said.items()
    )
    return sorted(hits, key=lambda hit: (-hit.score, hit.message))[:limit]


def said(db: sqlite3.Connection, keys: Iterable[int], filters: Filters) -> list[TextHit]:
    """The messages of the given keys that are within the filters, none of whose words were asked for."""
    rows = _about(db, keys, *conditions(filters))
    return [TextHit(key, 0.0, 0.0, *about) for key, *about in sorted(rows)]


def _about(
    db: sqlite3.Connection, keys: Iterable[int], where: str, values: Sequence[object]
) -> list[list[Any]]:
    """Key, role, author, time and session of the given messages, as far as they pass."""
    # CROSS JOIN: by the keys, where SQLite would read all that the user has said.
    return at_once(
        db,
        "SELECT m.id, m.role, m.author, m.at, m.session_id FROM message m CROSS JOIN session s"
        f" ON s.id = m.session_id WHERE m.id IN {LISTED} AND {where}",
        (listed(keys), *values),
        columns=5,
    )


def phrases(query: str) -> list[str]:
    """What stands in quotation marks in a query, as far as it has words."""
    found = ("".join(groups) for groups in _QUOTED.findall(_composed(query)))
    return [phrase for phrase in found if _WORD.search(phrase)][:QUERY_PHRASES]


def holding(db: sqlite3.Connection, phrases: Sequence[str], filters: Filters, limit: int) -> list[int] | None:
    """The messages that hold every phrase as it stands, but for case and white space; the newest, at most
    ``limit``. None where no word of them is rare enough to look for."""
    asked = [_WORD.findall(spaced(phrase)) for phrase in phrases]
    # Long words are rare, as a rule: the first one looked at decides.
    each = sorted({word for words in asked for word in words}, key=len, reverse=True)
    if all(_rows(db, word) > POSTINGS for word in each):
        return None
    narrowed, values = conditions(filters)
    match = " AND ".join(quoted(" ".join(words)) for words in asked)
    rows = db.execute(
        "SELECT m.id, m.text FROM message_fts JOIN message m ON m.id = message_fts.rowid"
        f" JOIN session s ON s.id = m.session_id WHERE message_fts MATCH ? AND {narrowed} ORDER BY m.id DESC",
        (match, *values),
    )
    # FTS5 compares stems ("pool" finds "pools"), so that a look at the text decides.
    exact = [folded(phrase) for phrase in phrases]
    return list(islice((key for key, text in rows if all(one in folded(text) for one in exact)), limit))


def _composed(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def folded(text: str) -> str:
    return " ".join(_composed(text).casefold().split())


def conditions(filters: Filters) -> tuple[str, tuple[object, ...]]:
    """The filters as SQL over ``message m`` and ``session s``."""
    seen, values_of_seen = visible.law(filters)
    parts = ["s.user_id = ?", "s.namespace = ?", seen]
    values: list[object] = [filters.scope.user_id, filters.scope.namespace, *values_of_seen]
    if filters.scope.agent_id is not None:
        parts.append(sessions.TAKES_PART)
        values.append(filters.scope.agent_id)
    if filters.roles:
        parts.append(f"m.role IN ({marks(filters.roles)})")
        values.extend(filters.roles)
    else:
        parts.append("m.talk = 1")
    if filters.sources:
        parts.append(f"s.format IN ({marks(filters.sources)})")
        values.extend(filters.sources)
    if filters.since is not None:
        parts.append("m.at >= ?")
        values.append(filters.since)
    if filters.until is not None:
        parts.append("m.at < ?")
        values.append(filters.until)
    return " AND ".join(parts), tuple(values)


def _affordable(db: sqlite3.Connection, words: Sequence[str], most: int) -> list[str]:
    """The rarest words whose rows together stay within ``most``, and always the rarest one."""
    counted = sorted((_rows(db, word, most), word) for word in words)
    counted = [(count, word) for count, word in counted if count]
    chosen: list[str] = []
    spent = 0
    for count, word in counted:
        if chosen and spent + count > most:
            break
        chosen.append(word)
        spent += count
    return chosen


def _rows(db: sqlite3.Connection, word: str, most: int = POSTINGS) -> int:
    # fts5vocab wants the stem, which only FTS5 knows; counting up to the bound asks FTS5 itself.
    (count,) = db.execute(
        "SELECT count(*) FROM (SELECT rowid FROM message_fts WHERE message_fts MATCH ? LIMIT ?)",
        (quoted(word), most + 1),
    ).fetchone()
    return int(count)


def quoted(words: str) -> str:
    """Words as one FTS5 string, in which no character is syntax."""
    return '"' + words.replace('"', '""') + '"'
