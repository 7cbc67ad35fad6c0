"""What the start page reads of messages: how far each session reaches, and what was said on a day of earlier years.

Sessions are looked up at the times that matter, by an index: it takes a few milliseconds with 100,000 messages.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta

from appliance.lazy_dataclasses import dataclass
from appliance.store import messages, sessions
from appliance.store.lexical import filter_conditions
from appliance.store.priority import IMPORTANCE_SQL
from appliance.store.sql import to_json
from appliance.store.statistics import UNIT_SQL
from appliance.store.visibility import NOT_EXPIRED
from appliance.timestamps import now, to_microseconds
from appliance.types import Anniversary, Filters, Message, Scope

MAX_ZONE_OFFSET = timedelta(hours=14)
"""How far the clock of a message may be from UTC."""


@dataclass(frozen=True, slots=True)
class SessionSpan:
    """The times of the first and the last conversational message of a session, in microseconds since 1970; 0 where it
    is not known."""

    session: int
    first: int
    last: int


def session_spans(db: sqlite3.Connection, scope: Scope) -> list[SessionSpan]:
    """Return the spans of the sessions of a scope that have conversational messages."""
    place = "(SELECT m.order_at FROM message m WHERE m.session_id = s.id AND m.talk = 1 ORDER BY m.order_at {} LIMIT 1)"
    rows = db.execute(
        f"SELECT s.id, {place.format('ASC')}, {place.format('DESC')} FROM session s"
        f" WHERE s.user_id = ? AND s.namespace = ? AND {NOT_EXPIRED}",
        (scope.user_id, scope.namespace, now()),
    )
    return [SessionSpan(key, first, last) for key, first, last in rows if first is not None]


def last_messages(db: sqlite3.Connection, keys: Sequence[int]) -> dict[int, Message]:
    """Return the last conversational message of each session that has one, by the session's key."""
    latest = (
        "SELECT m.id FROM message m WHERE m.session_id = j.value AND m.talk = 1"
        " ORDER BY m.order_at DESC, m.position DESC, m.id DESC LIMIT 1"
    )
    found = db.execute(f"SELECT ({latest}) FROM json_each(?) j", (to_json(list(keys)),))
    loaded = messages.get(db, [key for (key,) in found if key is not None])
    return {row.session_id: messages.to_message(row) for row in loaded.values()}


def best_of_day(
    db: sqlite3.Connection, filters: Filters, spans: Sequence[SessionSpan], day: date, limit: int
) -> list[Anniversary]:
    """Return what was said on a day in up to ``limit`` sessions of earlier years: the most important message of each.

    The days are those of ``statistics.on_this_day``. Every year has its best session before one has a second; the
    latest year comes first.

    Args:
        db: The connection.
        filters: Which messages count.
        spans: The sessions to look into.
        day: The day.
        limit: The most sessions.
    """
    times = [
        (span.session, start, stop)
        for start, stop in _earlier_times(spans, day)
        for span in spans
        if span.first < stop and span.last >= start
    ]
    condition, values = filter_conditions(filters)
    rows = db.execute(
        f"SELECT {UNIT_SQL['day']}, m.session_id, m.id, {IMPORTANCE_SQL} FROM json_each(?) j"
        " CROSS JOIN message m ON m.session_id = j.value ->> 0 AND m.order_at >= j.value ->> 1"
        " AND m.order_at < j.value ->> 2 CROSS JOIN session s ON s.id = m.session_id"
        f" WHERE {condition}",
        (to_json(times), *values),
    )
    by_session: dict[tuple[str, int], list[tuple[float, int]]] = defaultdict(list)
    for name, session, key, importance in rows:
        if name.endswith(f"-{day:%m-%d}") and name < day.isoformat():
            by_session[name, session].append((importance, -key))
    best = sorted(by_session, key=lambda place: (place[0], max(by_session[place])), reverse=True)
    ranks: dict[str, int] = defaultdict(int)
    ranked = []
    for place in best:
        ranked.append((ranks[place[0]], place))
        ranks[place[0]] += 1
    ranked.sort(key=lambda item: item[0])
    chosen = {place for _, place in ranked[:limit]}
    keys = {place: -max(by_session[place])[1] for place in chosen}
    loaded = messages.get(db, keys.values())
    infos = {sessions.key(info): info for info in sessions.infos(db, [session for _, session in chosen])}
    return [
        Anniversary(place[0], infos[place[1]], (messages.to_message(loaded[keys[place]]),), len(by_session[place]))
        for place in best
        if place in chosen and keys[place] in loaded and place[1] in infos
    ]


def _earlier_times(spans: Sequence[SessionSpan], day: date) -> Iterator[tuple[int, int]]:
    """When the day may have been in each earlier year, in any zone, in microseconds since 1970."""
    first = min((span.first for span in spans if span.first > 0), default=None)
    if first is None:
        return
    for year in range(datetime.fromtimestamp(first / 1_000_000, UTC).year, day.year):
        try:
            start = datetime(year, day.month, day.day, tzinfo=UTC)
        except ValueError:  # the 29th of February
            continue
        yield (
            to_microseconds(start - MAX_ZONE_OFFSET), to_microseconds(start + timedelta(days=1) + MAX_ZONE_OFFSET)
        )  # fmt: skip
