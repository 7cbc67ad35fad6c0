"""Every message that matches the words of a query, or its filters alone, in order: keys only, read while they are used.

``lexical.search`` finds the best few, within bounds on what it reads; this finds all. Full text gives the keys, and
the tables tell, a page at a time, which of them pass the filters: a damaged page takes only its own messages along.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from appliance.errors import StoreCorrupt
from appliance.store import lexical
from appliance.store.damage import AUTHOR_SQL, as_kind
from appliance.store.sql import JSON_KEYS_SQL, PAGE_ROWS, fetch_readable, note_unreadable
from appliance.types import Filters, HitOrder

_NO_WORDS = '""'
"""An expression of FTS5 that nothing matches."""

# A score of FTS5 is negative, the best the smallest.
_ORDER_SQL: Mapping[HitOrder | None, str] = {"score": " ORDER BY bm25(message_fts), rowid DESC", "time": "", None: ""}

_TIME_COLUMNS = 3
_TIME_SQL = f"{as_kind('m.order_at', 'INTEGER', '0')}, {as_kind('m.position', 'INTEGER', '0')}, m.id"


class WordMatch(NamedTuple):
    """A message with its session, its author, and the number that it shares with its variants, None without any."""

    message: int
    session: int
    author: str | None
    variants: int | None


def word_matches(
    db: sqlite3.Connection, query: str, filters: Filters, others: Sequence[int], sort: HitOrder | None
) -> Iterator[WordMatch]:
    """Yield the messages that match a query and pass the filters.

    Args:
        db: The connection.
        query: The query.
        filters: The filters.
        others: Messages that full text does not have, best first: archived ones, and those that no word leads to. They
            come behind the others, except in the order of time.
        sort: "score" for the best by BM25 first, "time" for the newest, None for no order, which is cheaper.
    """
    keys = _found_keys(db, query, others, sort)
    filter_sql, values = lexical.filter_conditions(filters)
    # CROSS JOIN makes SQLite begin with the keys.
    tables, where = "message m CROSS JOIN session s ON s.id = m.session_id", f"m.id IN {JSON_KEYS_SQL} AND {filter_sql}"
    if sort == "time":
        keys = _newest_first(db, f"SELECT {_TIME_SQL} FROM {tables} WHERE {where}", keys, values)
    select = (
        f"SELECT m.id, m.session_id, {AUTHOR_SQL}, v.memory FROM {tables}"
        f" LEFT JOIN variant v ON v.message_id = m.id WHERE {where}"
    )
    for page in _batched(keys):
        rows = {row[0]: row for row in fetch_readable(db, select, page, after=values, columns=4)}
        yield from (WordMatch(*rows[key]) for key in page if key in rows)


def newest_matches(db: sqlite3.Connection, filters: Filters, *, archived: bool) -> Iterator[WordMatch]:
    """Yield all messages that pass the filters, the newest first; the ``archived`` ones too if that is asked for."""
    filter_sql, values = lexical.filter_conditions(filters)
    hot = "" if archived else " AND NOT EXISTS (SELECT 1 FROM archived a WHERE a.message_id = m.id)"
    rows = db.execute(
        f"SELECT m.id, m.session_id, {AUTHOR_SQL}, v.memory FROM message m JOIN session s ON s.id = m.session_id"
        f" LEFT JOIN variant v ON v.message_id = m.id WHERE {filter_sql}{hot}"
        " ORDER BY m.order_at DESC, m.position DESC, m.id DESC",
        values,
    )
    return (WordMatch(*row) for row in rows)


def _found_keys(db: sqlite3.Connection, query: str, others: Sequence[int], sort: HitOrder | None) -> Iterator[int]:
    """The keys that full text gives for the words, and then the others, each once."""
    seen, added = set[int](), frozenset(others)
    try:
        for (key,) in db.execute(
            f"SELECT rowid FROM message_fts WHERE message_fts MATCH ?{_ORDER_SQL[sort]}",
            (lexical.match_expression(query) or _NO_WORDS,),
        ):
            if key in added:
                seen.add(key)
            yield key
    except StoreCorrupt:
        note_unreadable()
    yield from (key for key in others if key not in seen)


def _newest_first(db: sqlite3.Connection, sql: str, keys: Iterable[int], values: Sequence[object]) -> Iterator[int]:
    """The keys of messages that pass the filters, by their places in time. Numbers, eight bytes each: there may be a
    million of them."""
    times = [
        np.array(fetch_readable(db, sql, page, after=values, columns=_TIME_COLUMNS), np.int64).reshape(
            -1, _TIME_COLUMNS
        )
        for page in _batched(keys)
    ]
    if times:
        order_at, position, id = np.concatenate(times).T
        order = np.lexsort((-id, -position, -order_at))
        for start in range(0, len(order), PAGE_ROWS):
            yield from id[order[start : start + PAGE_ROWS]].tolist()


def _batched(keys: Iterable[int]) -> Iterator[list[int]]:
    page: list[int] = []
    for key in keys:
        page.append(key)
        if len(page) == PAGE_ROWS:
            yield page
            page = []
    if page:
        yield page
