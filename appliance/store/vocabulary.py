"""The words of a scope's messages, as full text has them: which words it lacks, and which it has instead."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from appliance.store import authors, people
from appliance.store.lexical import filter_conditions, quote_fts, quote_spellings
from appliance.store.sql import fetch_in_one_step, has_row, json_keys
from appliance.types import ROLES, Filters

MAX_CHECKED_POSTINGS = 1_000
"""How many messages of all users with a word are looked at to see whether one is in the scope. A word with more counts
as known."""

MAX_READ_MESSAGES = 20
"""How many messages with a similar word are read to see how they spell it."""

MAX_READ_WORDS = 5
"""How many similar words, the most frequent ones, are looked up in the texts."""

ALPHABETS = ("abcdefghijklmnopqrstuvwxyzßıøæłđ", "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ", "αβγδεζηθικλμνξοπρςστυφχψω")
"""The letters that a slip of the finger may put into a word. Full text does not tell letters by their accents."""

_WORD = re.compile(r"\w+")


def missing_words(db: sqlite3.Connection, words: Sequence[str], filters: Filters, query: str) -> list[str]:
    """Return those words of a query that no message of the scope of ``filters`` has, except the query itself: an
    assistant searches with what its person has just said."""
    where, values = _scope_conditions(filters)
    rows = fetch_in_one_step(
        db,
        "SELECT word.key FROM json_each(?) word WHERE NOT EXISTS ("
        "SELECT 1 FROM (SELECT rowid FROM message_fts WHERE message_fts MATCH word.value LIMIT ?) f"
        f" CROSS JOIN message m ON m.id = f.rowid CROSS JOIN session s ON s.id = m.session_id WHERE {where}"
        " AND m.text <> ?)",
        (json_keys(map(quote_spellings, words)), MAX_CHECKED_POSTINGS, *values, query),
        columns=1,
    )
    lacking = [words[place] for place in sorted(place for (place,) in rows)]
    return [word for word in lacking if not _is_frequent(db, word)]


def _is_frequent(db: sqlite3.Connection, word: str) -> bool:
    query = "SELECT 1 FROM message_fts WHERE message_fts MATCH ? LIMIT 1 OFFSET ?"
    return has_row(db, query, (quote_spellings(word), MAX_CHECKED_POSTINGS))


def is_in_names(db: sqlite3.Connection, word: str, filters: Filters) -> bool:
    """Whether a title that somebody gave, or the name of an author, has a word in the scope."""
    scope = filters.scope
    titled = (
        "SELECT 1 FROM session_fts CROSS JOIN session s ON s.id = session_fts.rowid"
        " WHERE session_fts MATCH ? AND s.user_id = ? AND s.namespace = ?"
        " AND s.titled <> 'found' LIMIT 1"
    )
    return (
        has_row(db, titled, (quote_spellings(word), scope.user_id, scope.namespace))
        or bool(authors.named(db, scope, word))
        or people.is_in_aliases(db, scope, word)
    )


def similar_word(db: sqlite3.Connection, word: str, filters: Filters) -> str | None:
    """Return the word of the scope of which one slip makes ``word``: a letter too much, too little, another one, or two
    in the wrong order. Of several, it is one with a letter doubled or not, which is the slip that people make most
    ("parot"), and then the one that most messages have; None if there is none."""
    where, values = _scope_conditions(filters)
    forms = sorted(_forms(word))
    rows = fetch_in_one_step(
        db,
        "SELECT place, messages FROM (SELECT form.key AS place, (SELECT count(*) FROM"
        " (SELECT rowid FROM message_fts WHERE message_fts MATCH form.value LIMIT ?) f"
        f" CROSS JOIN message m ON m.id = f.rowid CROSS JOIN session s ON s.id = m.session_id WHERE {where})"
        " AS messages FROM json_each(?) form) WHERE messages > 0",
        (MAX_CHECKED_POSTINGS, *values, json_keys(map(quote_fts, forms))),
        columns=2,
    )
    best = sorted(rows, key=lambda row: (not _differs_by_doubling(word, forms[row[0]]), -row[1], row[0]))
    for place, _ in best[:MAX_READ_WORDS]:
        if (spelled := _spelling(db, forms[place], filters)) is not None:
            return spelled
    return None


def _spelling(db: sqlite3.Connection, form: str, filters: Filters) -> str | None:
    """How messages spell a word. None if they only have another word of the same stem."""
    where, values = _scope_conditions(filters)
    rows = db.execute(
        "SELECT m.text FROM message_fts CROSS JOIN message m ON m.id = message_fts.rowid"
        f" CROSS JOIN session s ON s.id = m.session_id WHERE message_fts MATCH ? AND {where} LIMIT ?",
        (quote_fts(form), *values, MAX_READ_MESSAGES),
    )
    plain = _without_accents(form)
    words = (word for (text,) in rows for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    return next((word for word in words if _without_accents(word) == plain), None)


def _differs_by_doubling(word: str, form: str) -> bool:
    """Whether two words are the same but for a letter that one of them has twice in a row."""
    short, long = sorted((word, form), key=len)
    return any(long[:at] + long[at + 1 :] == short and long[at] == long[at - 1] for at in range(1, len(long)))


def transpositions(word: str) -> set[str]:
    """Return the words that a word is if two of its letters are in the wrong order."""
    forms = {word[:place] + word[place + 1] + word[place] + word[place + 2 :] for place in range(len(word) - 1)}
    return forms - {word}


def _forms(word: str) -> set[str]:
    """All words that one slip makes of a word: Damerau (1964). An accent too much or too little is none, because full
    text finds the word without it too."""
    letters = next((letters for letters in ALPHABETS if set(_without_accents(word)) & set(letters)), "")
    splits = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    forms = {head + tail[1:] for head, tail in splits if tail}
    forms |= transpositions(word)
    forms |= {head + letter + tail[1:] for head, tail in splits if tail for letter in letters}
    forms |= {head + letter + tail for head, tail in splits for letter in letters}
    plain = _without_accents(word)
    return {form for form in forms if _without_accents(form) != plain}


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    return "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))


def _scope_conditions(filters: Filters) -> tuple[str, tuple[object, ...]]:
    """The conditions of a scope: of ``filters``, what their caller may see, and not what it looks for."""
    roles = ROLES if filters.roles else ()
    return filter_conditions(replace(filters.of_whole_scope(), roles=roles))
