"""Damaged rows of the database: pages that can't be read, bytes that are not text, values of another type.

Reading tolerates bytes that are not UTF-8: each becomes U+FFFD. The functions here name the rows that have such bytes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from appliance.errors import StoreCorrupt
from appliance.lazy_dataclasses import dataclass
from appliance.store.sql import JSON_KEYS_SQL, json_keys, pages, read_by_halves

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Stands for each byte that is not UTF-8."""

_JSON_COLUMNS: Mapping[str, Sequence[str]] = {
    "message": ("metadata",),
    "revision": ("metadata",),
    "session": ("metadata", "options"),
    "summary": ("sentences", "metadata"),
    "working": ("sentences",),
    "erasure": ("counts", "proof"),
}
_READ_AS = {("message", "body"): "text"}
"""Columns that are judged by another one: a ``body`` may be a frame, whose text ``text`` has."""

_SOUND_TYPES = {"TEXT": "'text'", "INTEGER": "'integer'", "REAL": "'real', 'integer'", "BLOB": "'blob'"}

_NAMED_ROWS = 3
"""How many rows an error names."""

EFFECTS = (TypeError, AttributeError, ValueError, LookupError, sqlite3.IntegrityError)
"""What code may raise that meets a value of another type than its column's."""

_KEYS = {
    "message": "'m' || {0}.id",
    "session": "'s' || {0}.id",
    "summary": "'sum' || {0}.id",
    "revision": "'revision ' || {0}.number || ' of m' || {0}.message_id",
}
"""How the rows of some tables are named. Others are named by their table and number."""


@dataclass(frozen=True, slots=True)
class DamagedRow:
    """A damaged row: its public id, or its table and number; and what is wrong with it."""

    where: str
    reason: str


def decode_text(data: bytes) -> str:
    """Return text of the database; bytes that are not UTF-8 become U+FFFD."""
    return data.decode("utf-8", "replace")


def is_utf8(data: bytes | None) -> bool:
    """The SQL function of this name."""
    try:
        return data is None or data.decode() is not None
    except UnicodeDecodeError:
        return False


def as_kind(column: str, kind: str, default: str = "NULL") -> str:
    """Return SQL that reads a column as the ``kind`` that it is declared as (TEXT, INTEGER), whatever a damaged row has
    there: one bit makes a text a blob, a number or nothing."""
    return f"coalesce(CAST({column} AS {kind}), {default})"


ROLE_SQL = as_kind("m.role", "TEXT", "'user'")
AUTHOR_SQL = as_kind("m.author", "TEXT")
AT_SQL = as_kind("m.at", "INTEGER")
TITLE_SQL = as_kind("s.title", "TEXT", "''")
"""Columns of ``message m`` and ``session s`` that searches read."""


# --- messages ----------------------------------------------------------------------------------------


def damaged_messages(db: sqlite3.Connection, keys: Sequence[int]) -> list[tuple[int, DamagedRow]]:
    """Return those of the messages that are damaged, by key; one that is gone counts as one that can't be read."""
    return _damaged(db, "message", "m", keys)


def damaged_sessions(db: sqlite3.Connection, keys: Sequence[int]) -> list[tuple[int, DamagedRow]]:
    """The same for sessions."""
    return _damaged(db, "session", "s", keys)


def _damaged(db: sqlite3.Connection, table: str, prefix: str, keys: Sequence[int]) -> list[tuple[int, DamagedRow]]:
    columns = _columns(db, table)
    query = f"SELECT id, {_flags(table, columns)} FROM {table} WHERE id IN {JSON_KEYS_SQL}"
    found = []
    for page in pages(keys):
        rows = read_by_halves(lambda part: db.execute(query, (json_keys(part),)).fetchall(), page)
        flags_by_key = {key: flags for key, *flags in rows}
        for key in page:
            if key not in flags_by_key:
                found.append((key, DamagedRow(f"{prefix}{key}", "can't be read")))
            elif any(flags_by_key[key]):
                found.append((key, DamagedRow(f"{prefix}{key}", _reason(columns, flags_by_key[key]))))
    return found


def message_keys(db: sqlite3.Connection, after: int = 0, limit: int = -1) -> list[int]:
    """Return the keys of the messages after ``after``, in order, also of those that can't be read.

    Raises:
        StoreCorrupt: Neither the table nor an index of it can be read.
    """
    try:
        rows = db.execute("SELECT id FROM message NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?", (after, limit))
        return [key for (key,) in rows.fetchall()]
    except StoreCorrupt:
        rows = db.execute(
            "SELECT id FROM message INDEXED BY message_external WHERE id > ? ORDER BY id LIMIT ?", (after, limit)
        )
        return [key for (key,) in rows.fetchall()]


# --- all tables --------------------------------------------------------------------------------------


def damaged_rows(db: sqlite3.Connection) -> Iterator[DamagedRow]:
    """Yield the damaged rows of all tables, messages first. Reads everything."""
    yield from (row for _, row in damaged_messages(db, message_keys(db)))
    for table in _tables(db):
        columns = _columns(db, table.name)
        if table.name == "message" or not columns:
            continue
        query = f"SELECT {table.label_sql}, {_flags(table.name, columns)} FROM {table.name}"
        try:
            for label, *flags in db.execute(query):
                if any(flags):
                    yield DamagedRow(label, _reason(columns, flags))
        except StoreCorrupt as error:
            yield DamagedRow(table.name, f"can't be read any further ({str(error.args[0]).rstrip('.')})")


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    has_rowid: bool

    @property
    def label_sql(self) -> str:
        number = f"'row ' || {self.name}.rowid" if self.has_rowid else "'a row'"
        return _KEYS.get(self.name, f"{number} || ' of {self.name}'").format(self.name)


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    type: str
    is_required: bool
    is_json: bool


def _tables(db: sqlite3.Connection) -> list[_Table]:
    """The tables of the program, without those of SQLite and of the full text."""
    rows = db.execute("PRAGMA main.table_list").fetchall()
    return [
        _Table(name, not without_rowid)
        for _, name, kind, _, without_rowid, _ in sorted(rows)
        if kind == "table" and not name.startswith(("sqlite_", "_sqlite_"))
    ]


def _columns(db: sqlite3.Connection, table: str) -> list[_Column]:
    json_columns = _JSON_COLUMNS.get(table, ())
    rows = db.execute(f"PRAGMA main.table_info({table})").fetchall()
    has_number_as_key = sum(bool(primary) for *_, primary in rows) == 1  # which SQLite lets be nothing else
    return [
        _Column(_READ_AS.get((table, name), name), kind, bool(required), name in json_columns)
        for _, name, kind, required, _, primary in rows
        if kind in _SOUND_TYPES and not (has_number_as_key and primary and kind == "INTEGER")
    ]


def _flags(table: str, columns: Iterable[_Column]) -> str:
    """For each column, whether its value is damaged."""
    return ", ".join(_flag(f"{table}.{column.name}", column) for column in columns)


def _flag(value: str, column: _Column) -> str:
    missing = "1" if column.is_required else "0"
    unsound = "0"
    if column.type == "TEXT":
        unsound = f"NOT is_utf8(CAST({value} AS BLOB))"
        if column.is_json:
            is_sound_json = f"CASE WHEN json_valid({value}) THEN json_type({value}) IN ('object', 'array') ELSE 0 END"
            unsound += f" OR NOT {is_sound_json}"
    return (
        f"CASE WHEN {value} IS NULL THEN {missing}"
        f" WHEN typeof({value}) NOT IN ({_SOUND_TYPES[column.type]}) THEN 1 ELSE {unsound} END"
    )


def _reason(columns: Iterable[_Column], flags: Iterable[object]) -> str:
    names = ", ".join(column.name for column, flag in zip(columns, flags, strict=True) if flag)
    return f"the stored bytes of {names} are damaged"


def damage_behind(db: sqlite3.Connection) -> StoreCorrupt | None:
    """Return the error that names the first damaged rows, if there are any: they explain an error that nothing else
    does, such as a number where a text must be."""
    rows = [f"{row.where}: {row.reason}" for row in islice(damaged_rows(db), _NAMED_ROWS)]
    rows = rows or [answer for (answer,) in db.execute("PRAGMA integrity_check(1)") if answer != "ok"]
    if not rows:
        return None
    named = "; ".join(rows)
    hint = "'appliance verify' names all damage and what mends it; 'appliance recover' saves what can be read."
    return StoreCorrupt(f"The database has damaged rows ({named}).", where="recall.db", hint=hint)
