"""Counts of messages by time, person and source; the messages of a day in all years; the months of a person."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from appliance.store import messages, people, sessions
from appliance.store.lexical import filter_conditions
from appliance.store.priority import IMPORTANCE_SQL
from appliance.store.sql import fetch_int
from appliance.types import (
    LOCAL,
    Anniversary,
    Filters,
    Scope,
    SessionDay,
    Statistics,
    StatisticsRow,
    StatisticsUnit,
    TimelineMonth,
)

# A time with a zone ends in its offset. Without one, the clock of the message counts, whatever this machine's zone is.
_HAS_ZONE_SQL = "instr(m.sent_at, '+')"


def _local(format: str) -> str:
    zone = f"iif({_HAS_ZONE_SQL}, 'localtime', '+0 days')"
    return f"coalesce(strftime('{format}', m.at / 1000000, 'unixepoch', {zone}), '')"


_MESSAGES_SQL = "message m JOIN session s ON s.id = m.session_id"
_AUTHORS_SQL = " LEFT JOIN session_author a ON a.session_id = m.session_id AND a.author = m.author"
_TAGS_SQL = " LEFT JOIN session_tag t ON t.session_id = s.id"

UNIT_SQL: Mapping[StatisticsUnit, str] = {
    "year": _local("%Y"),
    "month": _local("%Y-%m"),
    "day": _local("%Y-%m-%d"),
    "weekday": "CASE {0} WHEN '0' THEN '7' ELSE {0} END".format(_local("%w")),
    "hour": _local("%H"),
    # The key of a person, or else the name as it is written; without one, the person's own or an assistant's words.
    "author": "CASE WHEN a.person_id IS NOT NULL THEN 'p' || a.person_id WHEN m.author IS NOT NULL THEN 'n' || m.author"
    " WHEN m.role = 'user' THEN coalesce('p' || {me}, 'nme') WHEN m.role = 'assistant' THEN 'a' || s.format"
    " ELSE 'n' END",
    "role": "m.role",
    "source": "s.format",
    "session": "'s' || s.id",
    "tag": "coalesce(t.tag, '')",
}
_DAY_OF_ANY_ZONE = timedelta(hours=36)
"""From the noon of a day in UTC: no message of that day, whatever its zone, is further away."""

_BY_COUNT = {"author", "source", "session", "tag"}

UNITS: Sequence[StatisticsUnit] = tuple(UNIT_SQL)


def statistics(db: sqlite3.Connection, filters: Filters, by: Sequence[StatisticsUnit]) -> Statistics:
    """Count the messages that pass the filters, by one or two units. A person counts as one author under all names."""
    condition, values = filter_conditions(filters)
    me = people.me(db, filters.scope)
    columns = [UNIT_SQL[unit].replace("{me}", "NULL" if me is None else str(me)) for unit in by]
    tables = _MESSAGES_SQL + (_TAGS_SQL if "tag" in by else "") + (_AUTHORS_SQL if "author" in by else "")
    grouped = ", ".join(str(number) for number in range(1, len(columns) + 1))
    rows = db.execute(
        f"SELECT {', '.join(columns)}, count(*), count(DISTINCT m.session_id), total(length(m.text)) FROM {tables}"
        f" WHERE {condition} GROUP BY {grouped}",
        values,
    ).fetchall()
    found = [StatisticsRow(tuple(map(str, row[: len(by)])), row[-3], row[-2], int(row[-1])) for row in rows]
    if "author" in by:
        place = by.index("author")
        labels = _author_labels(db, filters.scope, {row.keys[place] for row in found})
        found = [
            replace(row, keys=(*row.keys[:place], labels[row.keys[place]], *row.keys[place + 1 :])) for row in found
        ]
    found.sort(key=lambda row: (-row.messages if by[0] in _BY_COUNT else 0, row.keys))
    total = (
        fetch_int(db, f"SELECT count(*) FROM {_MESSAGES_SQL} WHERE {condition}", values)
        if "tag" in by
        else sum(row.messages for row in found)
    )
    attachments = fetch_int(
        db,
        "SELECT count(*) FROM attachment a JOIN message m ON m.id = a.message_id JOIN session s ON s.id = m.session_id"
        f" WHERE {condition}",
        values,
    )
    return Statistics(tuple(by), tuple(found), total, attachments)


def _author_labels(db: sqlite3.Connection, scope: Scope, keys: Collection[str]) -> dict[str, str]:
    """What the keys of authors are shown as: the names of people, with their ids where others have the same name, and
    what wrote for an assistant. The person whose memory it is is "me" while it is not known."""
    names = {one.key: one.name for one in people.people(db, scope, [int(key[1:]) for key in keys if key[0] == "p"])}
    labels = {key: names.get(int(key[1:]), "") if key[0] == "p" else _written_label(key) for key in keys}
    uses = Counter(labels.values())
    return {key: f"{label} ({key})" if key[0] == "p" and uses[label] > 1 else label for key, label in labels.items()}


def _written_label(key: str) -> str:
    """The name of an author who is no person, or the program that answered."""
    from appliance.formats.titles import format_title  # loads the formats, which most overviews do not need

    if key[0] != "a":
        return key[1:]
    return "assistant" if key[1:] in ("native", LOCAL) else f"{format_title(key[1:])} (assistant)"


def on_this_day(db: sqlite3.Connection, filters: Filters, day: date, limit: int) -> list[Anniversary]:
    """Return what was said on a day in earlier years, by session, with up to ``limit`` messages each."""
    condition, values = filter_conditions(filters)
    rows = db.execute(
        f"SELECT {UNIT_SQL['day']}, m.session_id, m.id FROM {_MESSAGES_SQL}"
        f" WHERE {condition} AND {_local('%m-%d')} = ? AND {UNIT_SQL['day']} < ?"
        " ORDER BY m.order_at, m.position, m.id",
        (*values, f"{day:%m-%d}", day.isoformat()),
    ).fetchall()
    keys_of: dict[tuple[str, int], list[int]] = {}
    for name, session, key in rows:
        keys_of.setdefault((name, session), []).append(key)
    loaded = messages.get(db, [key for keys in keys_of.values() for key in keys[:limit]])
    infos = {sessions.key(info): info for info in sessions.infos(db, list({session for _, session in keys_of}))}
    return [
        Anniversary(
            name,
            infos[session],
            tuple(messages.to_message(loaded[key]) for key in keys[:limit] if key in loaded),
            len(keys),
        )
        for (name, session), keys in sorted(keys_of.items(), key=lambda item: item[0][0], reverse=True)
        if session in infos
    ]


def session_days(db: sqlite3.Connection, filters: Filters, day: date, limit: int) -> list[SessionDay]:
    """Return what was said on a day, by session, with up to ``limit`` messages each."""
    condition, values = filter_conditions(filters)
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    near = [int((noon + step).timestamp() * 1_000_000) for step in (-_DAY_OF_ANY_ZONE, _DAY_OF_ANY_ZONE)]
    rows = db.execute(
        f"SELECT m.session_id, m.id, m.sent_at FROM {_MESSAGES_SQL}"
        f" WHERE m.at BETWEEN ? AND ? AND {condition} AND {UNIT_SQL['day']} = ?"
        " ORDER BY m.order_at, m.position, m.id",
        (*near, *values, day.isoformat()),
    ).fetchall()
    said: dict[int, list[tuple[int, str]]] = {}
    for session, key, sent_at in rows:
        said.setdefault(session, []).append((key, sent_at))
    loaded = messages.get(db, [key for found in said.values() for key, _ in found[:limit]])
    infos = {sessions.key(info): info for info in sessions.infos(db, list(said))}
    return [
        SessionDay(
            infos[session],
            tuple(messages.to_message(loaded[key]) for key, _ in found[:limit] if key in loaded),
            len(found),
            found[0][1],
            found[-1][1],
        )
        for session, found in said.items()
        if session in infos
    ]


def timeline(db: sqlite3.Connection, filters: Filters, limit: int) -> list[TimelineMonth]:
    """Return the months of the messages that pass the filters, with up to ``limit`` important messages each."""
    condition, values = filter_conditions(filters)
    month = UNIT_SQL["month"]
    rows = db.execute(
        f"SELECT {month}, count(*), count(DISTINCT m.session_id) FROM {_MESSAGES_SQL} WHERE {condition}"
        " GROUP BY 1 ORDER BY 1",
        values,
    ).fetchall()
    best = db.execute(
        "SELECT month, id FROM (SELECT m.id AS id, "
        f"{month} AS month, row_number() OVER (PARTITION BY {month} ORDER BY {IMPORTANCE_SQL} DESC, m.id) AS place"
        f" FROM {_MESSAGES_SQL} WHERE {condition}) WHERE place <= ? ORDER BY month, place",
        (*values, limit),
    ).fetchall()
    loaded = messages.get(db, [key for _, key in best])
    top: dict[str, list[int]] = {}
    for name, key in best:
        top.setdefault(name, []).append(key)
    return [
        TimelineMonth(
            name, count, several, tuple(messages.to_message(loaded[key]) for key in top.get(name, ()) if key in loaded)
        )
        for name, count, several in rows
    ]
