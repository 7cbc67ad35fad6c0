"""Literals of a query: what is looked up letter by letter, because words don't hold it.

Names of code (``MAX_RETRIES``, ``http_parser.py``, ``--save-dev``) would be found by each of their words alone, the
beginning of a hash (``9f3ac``) by no word at all, and a number only as it is written: 1850 is also 1.850, and a
telephone number has other groups, with and without the code of its country (``phone_numbers``). Full text finds the
messages that may have a literal, and their text decides. Emoji are no words of full text, so the texts are searched for
them.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from appliance.store.lexical import MAX_POSTINGS, count_matches, filter_conditions, fold, quote_fts
from appliance.store.phone_numbers import PhoneNumber, find_phone_numbers, has_number, match_expression
from appliance.store.scripts import fold_digits, other_digits
from appliance.store.sql import fetch_int
from appliance.types import Filters

MAX_LITERALS = 4

MAX_WORDS_BESIDE_EMOJI = 2
"""Emoji are looked up in "🎉" and "pizza 🍕". In a sentence they show a mood: "when do we meet? 😊" does not ask for
smiles."""

MAX_NAME_CHARACTERS = 200

MAX_SCANNED_MESSAGES = 200_000
"""How many of the newest messages are searched for an emoji. 100,000 take 70 ms."""

MIN_GROUPED_DIGITS = 4
"""The digits from which on a number may be written in groups."""

_YEAR = re.compile(r"(?:19|20)\d\d")
_TRIMMED = "\"'`“”„«»()[]{}<>,;:!?.…"
_HASH = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{5,40}|[a-f]{7,40}", re.IGNORECASE)
_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}")
_ABBREVIATION = re.compile(r"(?:\w\.)+\w")
_NAME_OF_CODE = re.compile(
    r"\w*_\w+"  # MAX_RETRIES, __init__
    r"|(?=.*[^\W\d])\w+(?:\.\w+)+"  # net.Socket, http_parser.py, v2.3.1
    r"|\d+(?:\.\d+){2,}"  # 2.3.1
    r"|(?=.*[^\W\d])(?:\w:)?(?:~?[/\\]|\.{1,2}/)?[\w.-]+(?:[/\\][\w.-]+)*[/\\][\w-]*\.\w{1,5}"  # src/http_parser.py
    r"|(?=.*[^\W\d])(?:~?[/\\]|\.{1,2}/)[\w./\\-]*\w/?"  # /usr/bin, ~/notes, ./run
    r"|(?=.*[^\W\d])[\w.-]+(?:[/\\][\w.-]+){2,}/?"  # src/engine/parts
    r"|--[^\W\d][\w-]+"  # --save-dev
    r"|\w[\w.+-]*(?:@|::|->)\w[\w.:>-]*"  # typescript@5.4, std::vector
)
_NUMBER = re.compile(
    r"(?<![\w.,])\d{1,3}(?:([., '’\u00a0\u202f])\d{3})(?:\1\d{3})*(?:[.,]\d{1,2})?(?!\w)|(?<!\w)\d+(?:[.,]\d+)?"
)
_EMOJI = "\u231a-\u23ff\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001faff"
_MODIFIER = "\ufe0f\U0001f3fb-\U0001f3ff"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_EMOJI_CLUSTER = re.compile(f"{_FLAG}|[{_EMOJI}][{_MODIFIER}]*(?:\u200d[{_EMOJI}][{_MODIFIER}]*)*")


@dataclass(frozen=True, slots=True)
class Literal:
    """What is looked up letter by letter.

    Attributes:
        text: The literal as the query has it.
        match: The FTS5 expression of the messages that may have it; None for an emoji, which is no word.
        is_in: Whether a text has it.
        phone_number: What it is as a telephone number, if it may be one.
    """

    text: str
    match: str | None
    is_in: Callable[[str], bool]
    phone_number: PhoneNumber | None = None

    @property
    def is_certain(self) -> bool:
        """Whether the query asks for it for certain, so that it is worth saying if no message has it."""
        return self.phone_number is None or self.phone_number.is_certain


def find_literals(query: str, without: Collection[str] = ()) -> list[Literal]:
    """Return the literals of a query, at most ``MAX_LITERALS``; none that is part of a text in ``without``."""
    found: dict[str, Literal] = {}
    for literal in _all_literals(query):
        if not any(literal.text in other for other in without):
            found.setdefault(literal.text, literal)
    return [*islice(found.values(), MAX_LITERALS)]


def _all_literals(query: str) -> Iterator[Literal]:
    words = query
    for number in islice(find_phone_numbers(query), MAX_LITERALS):
        words = words.replace(number.text, " ")
        yield _phone_number(number)
    for token in words.split():
        name = token.strip(_TRIMMED)
        if token[:1] in "./~" and name:
            name = token[: token.index(name)] + name  # ./run
        if len(name) > MAX_NAME_CHARACTERS:
            continue
        if _HASH.fullmatch(name):
            yield _name_of_code(name, is_beginning=True)
        elif _NAME_OF_CODE.fullmatch(name) and not _DATE.fullmatch(name) and not _ABBREVIATION.fullmatch(name):
            yield _name_of_code(name)
    for found in _NUMBER.finditer(words):
        digits = _digits(found)
        if len(digits.partition(".")[0]) >= MIN_GROUPED_DIGITS and not _YEAR.fullmatch(fold_digits(found.group())):
            yield _number(found.group(), digits)
    if len(re.findall(r"\w+", query)) <= MAX_WORDS_BESIDE_EMOJI:
        yield from map(_emoji, _EMOJI_CLUSTER.findall(query))


def _name_of_code(name: str, *, is_beginning: bool = False) -> Literal:
    end = "" if is_beginning else r"(?!\w)"
    pattern = re.compile(rf"(?<!\w){re.escape(fold(name))}{end}")
    match = quote_fts(name) + ("*" if is_beginning else "")
    return Literal(name, match, lambda text: pattern.search(fold(text)) is not None)


def _phone_number(number: PhoneNumber) -> Literal:
    """A telephone number, which may be an amount too ("1 850 000")."""
    match, is_in = match_expression(number), partial(has_number, number)
    if (amount := _NUMBER.fullmatch(number.text)) is None:
        return Literal(number.text, match, is_in, number)
    other = _number(number.text, _digits(amount))
    return Literal(
        number.text,
        f"{match} OR {other.match}",
        lambda text: is_in(text) or other.is_in(text),
        replace(number, is_certain=True),
    )


def _number(text: str, digits: str) -> Literal:
    whole, _, decimals = digits.partition(".")
    groups = [whole[max(end - 3, 0) : end] for end in range(len(whole), 0, -3)][::-1]
    forms = [" ".join([*words, decimals]).strip() for words in ([whole], groups)]
    match = " OR ".join(map(quote_fts, [*forms, *other_digits(whole)]))
    return Literal(text, match, lambda other: any(_digits(found) == digits for found in _NUMBER.finditer(other)))


def _digits(number: re.Match[str]) -> str:
    """A number without the marks between its groups, and with a point before its decimals."""
    separator = number.group(1)
    plain = fold_digits(number.group())
    if separator is None:
        return plain.replace(",", ".")
    return plain.replace(separator, "").replace(",", ".")


def _emoji(cluster: str) -> Literal:
    plain = _plain_emoji(cluster)
    return Literal(plain, None, lambda text: plain in _plain_emoji(text))


def _plain_emoji(text: str) -> str:
    """A text without the mark that asks for a coloured picture: some programs write it, and others don't."""
    return text.replace("\ufe0f", "")


def containing(db: sqlite3.Connection, literals: Iterable[Literal], filters: Filters, limit: int) -> dict[int, int]:
    """Return how many of the literals each message has, up to ``limit`` messages for each, the newest."""
    counts: Counter[int] = Counter()
    for literal in literals:
        rows = _emoji_rows(db, literal, filters) if literal.match is None else _matching_rows(db, literal, filters)
        counts.update(islice((key for key, text in rows if literal.is_in(text)), limit))
    return counts


_NEWEST_FIRST_SQL = " ORDER BY m.id DESC"


def _matching_rows(db: sqlite3.Connection, literal: Literal, filters: Filters) -> Iterable[tuple[int, str]]:
    assert literal.match is not None
    if count_matches(db, literal.match, MAX_POSTINGS) > MAX_POSTINGS:
        return ()
    filter_sql, values = filter_conditions(filters)
    return db.execute(
        "SELECT m.id, m.text FROM message_fts CROSS JOIN message m ON m.id = message_fts.rowid"
        f" CROSS JOIN session s ON s.id = m.session_id WHERE message_fts MATCH ? AND {filter_sql} {_NEWEST_FIRST_SQL}",
        (literal.match, *values),
    )


def _emoji_rows(db: sqlite3.Connection, literal: Literal, filters: Filters) -> Iterable[tuple[int, str]]:
    filter_sql, values = filter_conditions(filters)
    return db.execute(
        "SELECT m.id, m.text FROM message m CROSS JOIN session s ON s.id = m.session_id"
        " WHERE m.id > (SELECT max(id) FROM message) - ? AND instr(CAST(m.text AS BLOB), ?)"
        f" AND {filter_sql} {_NEWEST_FIRST_SQL}",
        (MAX_SCANNED_MESSAGES, literal.text[:1].encode(), *values),
    )


def are_all_scanned(db: sqlite3.Connection) -> bool:
    """Whether all messages are searched for an emoji, and not only the newest."""
    return fetch_int(db, "SELECT coalesce(max(id), 0) FROM message") <= MAX_SCANNED_MESSAGES
