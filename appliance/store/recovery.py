"""Fills a new database with what a damaged one still holds: rows under their own ids, each checked, none invented.

A message is what was stored if its digest says so; digests lie in a table, and so on pages, of their own. A message
whose digest says otherwise is kept and marked as damaged. One without a digest, where the digests themselves are sound,
stands on an old page: it was deleted, and stays deleted. Derived state is left out, because it can be made again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from appliance.errors import StoreCorrupt, StoreVersion
from appliance.store import digests, lexical, message_parts, migrations, new_messages, tombstones
from appliance.store.damage import decode_text, is_utf8
from appliance.store.database import Database
from appliance.store.messages import message_id
from appliance.store.pages import PageFile, Row, Text
from appliance.store.sessions import public_id
from appliance.store.sql import from_json, placeholders, to_json
from appliance.store.text_frames import FrameDamaged, FrameReader
from appliance.store.tombstones import MessageOrigin
from appliance.timestamps import now
from appliance.types import LostPart

DERIVED_TABLES = {
    "archive_dictionary", "archived", "chunk", "document_page", "embedding", "fact", "fact_asked", "fact_due",
    "fact_evidence",
    "fact_session", "fact_stale", "fact_statement", "fingerprint", "generation", "message_digest", "message_link",
    "outbox",
    "people_stale", "person", "person_evidence", "person_identity", "person_node", "session_author", "summary",
    "summary_chunk", "summary_due", "token_ledger", "token_place", "variant", "working", "working_past",
}  # fmt: skip
"""The tables that can be made again from the others. Archived texts are unpacked, and archived again in their time."""

FIRST_TABLES = ("forgotten_key", "forgotten", "source", "session", "message", "revision")
"""These are filled first, in this order, because others are checked against them."""

RECOGNISABLE_TABLES = {
    "archive_dictionary", "erasure", "fact_decision", "fact_refused", "file", "forgotten", "message", "message_digest",
    "person_decision", "revision", "session", "source",
}  # fmt: skip
"""The tables whose rows no index or other table resembles: a page that lost its tree is known by them."""

DAMAGE_MARK = "damaged"
"""The key in the metadata of a message that is not what was stored."""

LOST_SESSION_FORMAT = "recovered"
"""The format of a session of which only messages are left."""

FRAME_TYPE = "TEXT or a frame"
"""The type of a message's text, which may be archived."""

MAX_TRIED_KEYS = 500
"""How many keys are tried for a message that does not fit its own."""

MAX_KEY = 1 << 48
"""A counter of ids beyond this is damage."""

_SCHEMA_VERSION = slice(60, 64)


@dataclass(slots=True)
class RecoveryTally:
    """What was recovered: the number of messages, and what is lost or damaged."""

    messages: int = 0
    lost: list[LostPart] = field(default_factory=list)

    def lose(self, where: str, reason: str) -> None:
        self.lost.append(LostPart(where, reason))


def recover(source: Path, database: Database, owner: str) -> RecoveryTally:
    """Copy what can be read of the database file ``source`` into a new, empty database.

    Args:
        source: The damaged file; its write-ahead log lies beside it.
        database: The new database.
        owner: The user to whom messages are given whose session can't be read.

    Raises:
        StoreCorrupt: The file does not begin as a database does, and holds no message.
        StoreVersion: A newer version of this program wrote it.
    """
    report = RecoveryTally()
    with closing(PageFile(source)) as file, database.write() as tx:
        _check_version(file, source)
        tx.execute("PRAGMA defer_foreign_keys = ON")
        tables = {table.name: table for table in _tables(tx)}
        scan = _Scan.of(file, tables, report)
        for name in (*FIRST_TABLES, *sorted(tables.keys() - set(FIRST_TABLES) - DERIVED_TABLES)):
            if name == "message":
                _copy_messages(tx, tables[name], scan, report)
            else:
                _copy_rows(tx, tables[name], scan, report)
        _copy_key_counters(tx, scan)
        _add_lost_sessions(tx, owner, report)
        _drop_dangling_references(tx)
        _derive(tx)
        _report_lost_messages(tx, scan, report)
        (report.messages,) = tx.execute("SELECT count(*) FROM message").fetchone()
        if not report.messages and not _is_database(file):
            raise StoreCorrupt(
                "This file is no database, and no message can be read in it.",
                where=str(source),
                hint="Name a home, or its file recall.db; 'appliance restore' gets a memory back from a backup.",
            )
    return report


def _is_database(file: PageFile) -> bool:
    return file.page(1).startswith(b"SQLite format 3")


def _check_version(file: PageFile, source: Path) -> None:
    version = int.from_bytes(file.page(1)[_SCHEMA_VERSION], "big") if _is_database(file) else 0
    # A number that no version will reach soon is damage.
    if migrations.latest() < version < migrations.latest() + 1_000:
        raise StoreVersion(
            f"A newer version of this program wrote this store (schema {version}).",
            where=str(source),
            hint="Update the program, then try again.",
        )


# --- the tables and their pages -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    type: str
    is_required: bool
    is_key: bool


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: tuple[_Column, ...]
    has_rowid: bool
    least: int
    """How many columns the first schema had: rows of an earlier version are shorter."""

    def fits(self, row: Row) -> bool:
        """Whether a row can be one of this table."""
        if not self.least <= len(row.values) <= len(self.columns) or (row.rowid is None) == self.has_rowid:
            return False
        return all(_is_of(value, column) for value, column in zip(row.values, self.columns, strict=False))

    def by_name(self, row: Row) -> dict[str, int | float | bytes | None]:
        names = (column.name for column in self.columns)
        values = dict(zip(names, row.values, strict=False))
        return values | {column.name: row.rowid for column in self.columns if column.is_key and self.has_rowid}


def _is_of(value: object, column: _Column) -> bool:
    if column.is_key and column.type == "INTEGER" and value is None:
        return True  # the number of the row stands in its place
    if value is None:
        return not column.is_required
    if isinstance(value, Text):
        return column.type in ("TEXT", FRAME_TYPE)
    if isinstance(value, bytes):
        return column.type in ("BLOB", FRAME_TYPE)
    if isinstance(value, float):
        return column.type == "REAL"
    return column.type in ("INTEGER", "REAL")


def _tables(db: sqlite3.Connection) -> Iterator[_Table]:
    first = _first_widths()
    for _, name, kind, _, without_rowid, _ in db.execute("PRAGMA main.table_list").fetchall():
        if kind != "table" or name.startswith(("sqlite_", "_sqlite_")):
            continue
        rows = db.execute(f"PRAGMA main.table_info({name})").fetchall()
        columns = tuple(
            _Column(column, FRAME_TYPE if (name, column) == ("message", "body") else type, bool(required), bool(key))
            for _, column, type, required, _, key in rows
        )
        yield _Table(name, columns, not without_rowid, first.get(name, len(columns)))


def _first_widths() -> dict[str, int]:
    """How many columns each table of the first schema has."""
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in migrations.schema():
            db.execute(statement)
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()]
        return {name: len(db.execute(f"PRAGMA table_info({name})").fetchall()) for name in names}


@dataclass(slots=True)
class _Scan:
    """The pages of each table, and the digests of messages."""

    file: PageFile
    pages: dict[str, list[int]]
    orphans: set[int]
    counter_pages: tuple[int, ...]
    digests: dict[int, bytes | None]
    proofs: set[bytes]
    """All digests, whatever their rows say of whom they are."""
    are_digests_sound: bool

    @classmethod
    def of(cls, file: PageFile, tables: Mapping[str, _Table], report: RecoveryTally) -> _Scan:
        roots = file.roots
        pages: dict[str, list[int]] = {name: [] for name in tables}
        damaged: dict[str, Sequence[int]] = {}
        counter_pages: tuple[int, ...] = ()
        strays: list[int] = []
        for name, root in roots.items():
            tree = file.walk(root)
            damaged[name] = tree.damaged
            if name in tables:
                pages[name] += tree.pages
            elif name == "sqlite_sequence":
                counter_pages = tree.pages
            else:
                strays += tree.pages
        orphans = file.orphans()
        if orphans or any(damaged.values()):
            # A damaged pointer leads into another tree, where a page's rows then seem not to fit.
            for name, table in tables.items():
                foreign = [number for number in pages[name] if _is_foreign(file.rows(number)[0], table)]
                pages[name] = sorted(set(pages[name]).difference(foreign))
                damaged[name] = (*damaged.get(name, ()), *foreign)
                strays += foreign
            orphans += strays
        for number in orphans:
            found = _table_of(file.rows(number)[0], tables.values())
            if found in RECOGNISABLE_TABLES:
                pages[found].append(number)
        for name, numbers in sorted(damaged.items()):
            if name in tables and name not in DERIVED_TABLES:
                for number in numbers:
                    report.lose(f"page {number}", f"damaged; it belonged to the table {name}")
        known: dict[int, bytes | None] = {}
        proofs: set[bytes] = set()
        are_sound = "message_digest" in roots and not damaged["message_digest"]
        are_sound = are_sound and not set(orphans).intersection(pages["message_digest"])
        for number in pages["message_digest"]:
            rows, unreadable = file.rows(number)
            fitting = [row for row in rows if tables["message_digest"].fits(row)]
            are_sound = are_sound and not unreadable and len(fitting) == len(rows)
            for row in fitting:
                message, revision, digest = row.values
                if isinstance(digest, bytes):
                    proofs.add(digest)
                if revision == digests.CURRENT:
                    are_sound = are_sound and message not in known
                    known[int(message or 0)] = digest if isinstance(digest, bytes) else None
        return cls(file, pages, set(orphans), counter_pages, known, proofs, are_sound)

    @property
    def last_key(self) -> int:
        """The highest key that a message can have, as far as this is known."""
        counters = [
            row.values[1]
            for number in self.counter_pages
            for row in self.file.rows(number)[0]
            if row.values[:1] == (b"message",) and isinstance(row.values[-1], int)
        ]
        return max([*self.digests, *(int(seq or 0) for seq in counters)]) if counters else MAX_KEY

    def rows(self, table: _Table, report: RecoveryTally) -> Iterator[tuple[Row, bool]]:
        """Yield the rows of a table that can be read, and whether each stands on a page that the table's tree names."""
        for number in self.pages[table.name]:
            rows, unreadable = self.file.rows(number)
            sound = [row for row in rows if table.fits(row)]
            if unfit := unreadable + len(rows) - len(sound):
                report.lose(f"page {number}", f"{unfit} of its rows of the table {table.name} can't be read")
            for row in sound:
                yield row, number not in self.orphans


def _is_foreign(rows: Sequence[Row], table: _Table) -> bool:
    return bool(rows) and _table_of(rows, [table]) is None


def _table_of(rows: Sequence[Row], tables: Iterable[_Table]) -> str | None:
    """The only table that most rows of a page fit; None if there is none or several do."""
    fitting = [table.name for table in tables if 2 * sum(map(table.fits, rows)) > len(rows)]
    return fitting[0] if len(fitting) == 1 else None


# --- rows -------------------------------------------------------------------------------------------


def _copy_rows(tx: sqlite3.Connection, table: _Table, scan: _Scan, report: RecoveryTally) -> None:
    for row, _ in scan.rows(table, report):
        values = table.by_name(row)
        bad = [name for name, value in values.items() if isinstance(value, Text) and not is_utf8(value)]
        try:
            added = _insert(tx, table, values)
        except sqlite3.IntegrityError:
            report.lose(_name_of(table, values), "its values are not possible")
            continue
        if bad and added:
            report.lose(_name_of(table, values), f"kept, with damaged {', '.join(bad)}")


def _insert(tx: sqlite3.Connection, table: _Table, values: Mapping[str, object]) -> bool:
    """Insert a row unless there is one with its key, and say whether it was inserted."""
    plain = [decode_text(value) if isinstance(value, Text) else value for value in values.values()]
    sql = f"INSERT INTO {table.name} ({', '.join(values)}) VALUES ({placeholders(plain)}) ON CONFLICT DO NOTHING"
    return tx.execute(sql, plain).rowcount > 0


def _name_of(table: _Table, values: Mapping[str, object]) -> str:
    key = values.get("id")
    if table.name == "session" and isinstance(key, int):
        return public_id(key)
    return f"row {key} of {table.name}" if isinstance(key, int) else f"a row of {table.name}"


def _copy_messages(tx: sqlite3.Connection, table: _Table, scan: _Scan, report: RecoveryTally) -> None:
    """Copy the messages; those that are not what was stored come last, so that a sound copy is preferred."""
    doubtful: list[dict[str, int | float | bytes | None]] = []
    frames = FrameReader(_dictionaries(scan).get)
    for row, _ in scan.rows(table, report):
        values = table.by_name(row)
        if isinstance(frame := values["body"], bytes) and not isinstance(frame, Text):
            try:
                values["body"] = Text(frames.unpack(frame).encode("utf-8", "surrogatepass"))
            except FrameDamaged:
                continue  # it is reported with those that can't be read
        # A digest covers the key too, so that it proves a message by itself.
        if _digest(values) in scan.proofs:
            with suppress(sqlite3.IntegrityError):
                _insert(tx, table, values)
        else:
            doubtful.append(values)
    _restore_keys(tx, doubtful, scan)
    last_key = scan.last_key
    for values in doubtful:
        key = int(values["id"] or 0)
        is_known = key in scan.digests or (not scan.are_digests_sound and key <= last_key)
        if not is_known or _was_erased(tx, values):
            continue
        is_damaged = scan.digests.get(key) not in (None, _digest(values)) or not all(
            is_utf8(value) for value in values.values() if isinstance(value, Text)
        )
        kept = {**values, "metadata": _marked(values["metadata"])} if is_damaged else values
        try:
            added = _insert(tx, table, kept)
        except sqlite3.IntegrityError:
            continue  # it is reported with those that can't be read
        if added and is_damaged:
            report.lose(message_id(key), "kept, but its text, author, time, metadata or place is not what was stored")
        elif added and key not in scan.digests and scan.digests:
            report.lose(message_id(key), "kept; its digest is lost, so that it can't be compared with what was stored")


def _dictionaries(scan: _Scan) -> dict[int, bytes]:
    """The dictionaries of archived texts, by their numbers."""
    rows = (row for number in scan.pages["archive_dictionary"] for row in scan.file.rows(number)[0])
    return {row.rowid: row.values[-1] for row in rows if row.rowid and isinstance(row.values[-1], bytes)}


def _restore_keys(tx: sqlite3.Connection, doubtful: Iterable[dict[str, Any]], scan: _Scan) -> None:
    """Give messages whose key was damaged the key with which their digest fits, among those that are missing."""
    present = {key for (key,) in tx.execute("SELECT id FROM message")}
    missing = [key for key, digest in scan.digests.items() if digest is not None and key not in present]
    for values in doubtful:
        for key in missing[:MAX_TRIED_KEYS]:
            if _digest({**values, "id": key}) == scan.digests[key]:
                values["id"] = key
                break


def _digest(values: Mapping[str, int | float | bytes | None]) -> bytes | None:
    covered = (values["body" if name == "text" else name] for name in digests.MESSAGE_COLUMNS)
    return digests.row_digest([bytes(one) if isinstance(one, bytes) else one for one in covered])  # type: ignore[misc]


def _marked(metadata: int | float | bytes | None) -> bytes:
    known = from_json(decode_text(metadata)) if isinstance(metadata, bytes) else {}
    return Text(to_json({**known, DAMAGE_MARK: True}).encode())


def _was_erased(tx: sqlite3.Connection, values: Mapping[str, int | float | bytes | None]) -> bool:
    """Whether a message has a tombstone. Only its session tells from where it came."""
    row = tx.execute(
        "SELECT user_id, namespace, format, external_id FROM session WHERE id = ?", (values["session_id"],)
    ).fetchone()
    external_id = values["external_id"]
    if row is None or not isinstance(external_id, bytes):
        return False
    user_id, namespace, format, session = row
    origin = MessageOrigin(user_id, namespace, format, session, decode_text(external_id))
    return bool(tombstones.erased_ids(tx, [origin], in_chat=True))


def _copy_key_counters(tx: sqlite3.Connection, scan: _Scan) -> None:
    """Let no id be used twice: the counters go on where they were."""
    for number in scan.counter_pages:
        for row in scan.file.rows(number)[0]:
            if len(row.values) == 2 and isinstance(row.values[0], Text) and isinstance(row.values[1], int):
                name, seq = decode_text(row.values[0]), min(row.values[1], MAX_KEY)
                tx.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (seq, name))


# --- what belongs together ----------------------------------------------------------------------------


def _add_lost_sessions(tx: sqlite3.Connection, owner: str, report: RecoveryTally) -> None:
    """Give messages whose session can't be read one of their own. If any session withholds something from others, it
    may have been such a one."""
    missing = "SELECT DISTINCT session_id FROM message WHERE session_id NOT IN (SELECT id FROM session)"
    (strictest,) = tx.execute(
        "SELECT coalesce(max(CASE storage_scope WHEN 'none' THEN 3 WHEN 'summaries_only' THEN 2"
        " WHEN 'conversational' THEN 1 ELSE 0 END), 0) FROM session"
    ).fetchone()
    scope = ("all", "conversational", "summaries_only", "none")[strictest]
    for (key,) in tx.execute(missing).fetchall():
        tx.execute(
            "INSERT INTO session (id, user_id, namespace, agent_id, format, external_id, created_at, storage_scope)"
            " VALUES (?, ?, '', '', ?, ?, ?, ?)",
            (key, owner, LOST_SESSION_FORMAT, f"{LOST_SESSION_FORMAT}-{public_id(key)}", now(), scope),
        )
        report.lose(public_id(key), "its title, user and settings; its messages are there")


def _drop_dangling_references(tx: sqlite3.Connection) -> None:
    """Clear references to rows that are lost, or remove the row where it can't be without."""
    for table, rowid, parent, number in tx.execute("PRAGMA foreign_key_check").fetchall():
        (column,) = (row[3] for row in tx.execute(f"PRAGMA foreign_key_list({table})").fetchall() if row[0] == number)
        keys = {row[1] for row in tx.execute(f"PRAGMA table_info({table})") if row[5]}
        if rowid is None:
            tx.execute(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT id FROM {parent})")
            continue
        clear = f"UPDATE OR IGNORE {table} SET {column} = NULL WHERE rowid = ?"
        if column in keys or not tx.execute(clear, (rowid,)).rowcount:
            tx.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))
    tx.execute("UPDATE session SET branch_at = NULL WHERE parent_id IS NULL")
    tx.execute("UPDATE session SET parent_id = NULL, branch_at = NULL WHERE branch_at NOT IN (SELECT id FROM message)")


def _derive(tx: sqlite3.Connection) -> None:
    """Make the digests and the full text of what is there; the rest is made when the home is opened."""
    keys = [key for (key,) in tx.execute("SELECT id FROM message").fetchall()]
    digests.refresh(tx, keys)
    digests.refresh_revisions(tx, keys)
    lexical.rebuild(tx)
    message_parts.fill(tx)
    new_messages.note_all(tx)
    tx.execute("INSERT OR IGNORE INTO fact_stale SELECT DISTINCT user_id, namespace, slot FROM fact_decision")
    tx.execute(
        "INSERT OR IGNORE INTO people_stale SELECT user_id, namespace FROM session"
        " UNION SELECT user_id, namespace FROM profile"
    )


def _report_lost_messages(tx: sqlite3.Connection, scan: _Scan, report: RecoveryTally) -> None:
    present = {key for (key,) in tx.execute("SELECT id FROM message")}
    for key in sorted(scan.digests.keys() - present):
        report.lose(message_id(key), "can't be read")
