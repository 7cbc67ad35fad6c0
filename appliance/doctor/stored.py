"""What a home holds, as far as it can be read without opening the memory."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from appliance.doctor.checks import Check, failed, passed
from appliance.paths import Home, display_path
from appliance.store import migrations
from appliance.store.backup import catalogue
from appliance.store.damage import decode_text

MAX_NAMED = 3
"""How many files a check names."""

_FIRST_BYTES = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """What the database says.

    Attributes:
        state: "none" (no home), "empty" (a folder without a memory), "read", or "unreadable".
        trouble: Why it is unreadable.
        schema: The number of its schema.
        changed: When a message was last stored or a source last read, by the clock of then.
        models: The models of its generations, with the state of each.
        unfinished: Paths of imports that did not come to their end.
        has_others: Whether other files of a memory are in the folder, though no database is.
        problems: Files that are there and were not read completely.
    """

    state: str
    trouble: str = ""
    schema: int = 0
    changed: datetime | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    unfinished: tuple[str, ...] = ()
    has_others: bool = False
    problems: tuple[str, ...] = ()


def stored_facts(home: Home) -> StoredFacts:
    """Read them. Nothing is written, not even beside the database."""
    try:
        if not home.database.exists():
            vectors = home.vectors.is_dir() and any(home.vectors.iterdir())
            return StoredFacts("empty" if home.root.is_dir() else "none", has_others=vectors)
        with home.database.open("rb") as file:
            begin = file.read(len(_FIRST_BYTES))
        if begin != _FIRST_BYTES:
            reason = "it is empty" if not begin else "it is no database, or encrypted"
            return StoredFacts("unreadable", reason)
        with _reading(home.database) as database:
            return _read(database)
    except sqlite3.Error as error:
        return StoredFacts("unreadable", str(error))
    except OSError as error:
        return StoredFacts("unreadable", error.strerror or str(error))


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The database. Without a log, or without the index of it that SQLite would have to make, it is read as a file
    that does not change."""
    log, index = (path.with_name(f"{path.name}-{suffix}") for suffix in ("wal", "shm"))
    is_shared = log.is_file() and log.stat().st_size > 0 and index.is_file()
    uri = f"{path.absolute().as_uri()}?mode=ro" + ("" if is_shared else "&immutable=1")
    with closing(sqlite3.connect(uri, uri=True, timeout=1.0)) as database:
        database.text_factory = decode_text
        yield database


def _read(database: sqlite3.Connection) -> StoredFacts:
    (schema,) = database.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    times = []
    if "message" in tables:
        times += database.execute("SELECT added_at FROM message ORDER BY id DESC LIMIT 1").fetchall()
    if "source" in tables:
        times += database.execute("SELECT max(last_at) FROM source").fetchall()
    latest = max((time for (time,) in times if isinstance(time, int)), default=None)
    models = {}
    if "generation" in tables:
        models = dict(
            database.execute(
                "SELECT model, state FROM generation WHERE state <> 'discarded' ORDER BY state = 'active', id"
            ).fetchall()
        )
    unfinished: tuple[str, ...] = ()
    if "unfinished_import" in tables:
        rows = database.execute("SELECT path FROM unfinished_import ORDER BY begun_at").fetchall()
        unfinished = tuple(bytes(path).decode("utf-8", "replace") for (path,) in rows)
    problems: tuple[str, ...] = ()
    if "file" in tables:
        files = database.execute(
            "SELECT path FROM file WHERE state IN ('failed', 'partial') AND substr(path, 1, 1) <> x'00'"
        )
        problems = tuple(display_path(os.fsdecode(path)) for (path,) in files if os.path.lexists(path))
    return StoredFacts("read", "", int(schema), _moment(latest), models, unfinished, problems=problems)


def _moment(microseconds: int | None) -> datetime | None:
    try:
        return None if microseconds is None else datetime.fromtimestamp(microseconds / 1e6, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def check_imports(facts: StoredFacts) -> Check | None:
    """Whether all files were read completely that a person or the watcher has read; None if they were."""
    if not facts.problems:
        return None
    count = len(facts.problems)
    named = ", ".join(facts.problems[:MAX_NAMED]) + (f" and {count - MAX_NAMED} more" if count > MAX_NAMED else "")
    detail = f"{named} {'was' if count == 1 else 'were'} not read completely"
    return failed("imported files", detail, "'appliance sources problems' says why, and what to do.")


def check_backups(home: Home) -> Check | None:
    """Whether the backups that the memory knows of are there; None if they are, or if none was ever made. A disk that
    is not connected is no fault."""
    if not catalogue.is_lost(found := catalogue.latest(home)):
        return None
    detail = f"{found[0].path} was deleted, and no other backup is known"
    return failed("backups", detail, "Make one: 'appliance backup FOLDER'.")


def check_database(facts: StoredFacts, home: Home, latest: int | None = None) -> Check:
    """Whether the memory can be read by this version.

    Args:
        latest: The schema of this version.
    """
    latest = migrations.latest() if latest is None else latest
    recover = (
        f"Save what is sound into a new folder: appliance recover {shlex.quote(str(home.root))} --home NEW\n"
        "Or restore a backup: appliance restore BACKUP --home NEW"
    )
    if facts.has_others:
        return failed("database", f"{home.database} is missing, though vectors are there", recover)
    if facts.state in ("none", "empty"):
        there = "no memory in this folder yet" if facts.state == "empty" else "no memory yet: the folder does not exist"
        return passed(
            "database",
            there,
            "'appliance ingest PATH' makes one. If it lies on an encrypted or removable disk, unlock or mount it first",
        )
    if facts.state == "unreadable":
        detail = f"{home.database} can't be read: {facts.trouble}"
        return failed("database", detail, f"Check its permissions and its disk.\n{recover}")
    if facts.schema > latest:
        return failed(
            "database",
            f"a newer version of this program wrote it (schema {facts.schema}; this one reads {latest})",
            "Update the program.",
        )
    older = "the next command brings it up to date, after a backup" if facts.schema < latest else ""
    return passed("database", f"schema {facts.schema}", older, "'appliance verify' checks what is in it")
