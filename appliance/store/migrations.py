"""Brings ``recall.db`` to the schema of this program by numbered migrations, of which the schema is the first.

``PRAGMA user_version`` is the number of the last migration applied, so opening a store needs a single read.
sqlite-utils applies the missing migrations in one transaction: the store is either unchanged or up to date. A released
migration is never edited; a change is a new migration at the end, as SQL statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.errors import StoreVersion
from appliance.store import mentions, message_parts, new_messages, text_frames
from appliance.store.attachment_schema import ATTACHMENTS_AND_TAGS
from appliance.store.core_blocks import BLOCK_ASSISTANTS, CORE_BLOCKS
from appliance.store.document_schema import DOCUMENTS
from appliance.store.people_tables import PEOPLE_TABLES

if TYPE_CHECKING:
    from sqlite_utils import Database

FIRST = 13
"""The number of the schema. Homes from before the first release reached it in thirteen steps; they stay valid."""

_MESSAGE_DIGESTS = (
    """
    -- The digest of a message (revision 0) or of an earlier form of it; NULL until it is computed. See digests.py.
    CREATE TABLE message_digest (
        message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
        revision INTEGER NOT NULL,
        digest BLOB,
        PRIMARY KEY (message_id, revision)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX message_digest_pending ON message_digest (message_id) WHERE digest IS NULL",
    "INSERT INTO message_digest SELECT id, 0, NULL FROM message",
    "INSERT INTO message_digest SELECT message_id, number, NULL FROM revision",
)

_SEARCHABLE_BYTES = (
    "DROP VIEW message_words",
    "CREATE VIEW message_words AS SELECT id, searchable(CAST(text AS BLOB)) AS text FROM message",
    "DROP VIEW message_window",
    """
    CREATE VIEW message_window AS SELECT m.id AS id,
        CASE WHEN m.talk THEN searchable(CAST(
            coalesce((
                SELECT group_concat(substr(n.text, -400), ' ') FROM (
                    SELECT n.text FROM message n
                    WHERE n.session_id = m.session_id AND n.talk = 1
                        AND (n.order_at, n.position, n.id) < (m.order_at, m.position, m.id)
                    ORDER BY n.order_at DESC, n.position DESC, n.id DESC LIMIT 2
                ) n
            ), '')
            || ' ' || coalesce((
                SELECT group_concat(substr(n.text, 1, 400), ' ') FROM (
                    SELECT n.text FROM message n
                    WHERE n.session_id = m.session_id AND n.talk = 1
                        AND (n.order_at, n.position, n.id) > (m.order_at, m.position, m.id)
                    ORDER BY n.order_at ASC, n.position ASC, n.id ASC LIMIT 2
                ) n
            ), '') AS BLOB)
        ) ELSE '' END AS neighbours
    FROM message m
    """,
    "DROP VIEW session_words",
    "CREATE VIEW session_words AS SELECT id, searchable(CAST(coalesce(title, '') AS BLOB)) AS title FROM session",
    "DROP TRIGGER session_titled",
    """
    CREATE TRIGGER session_titled AFTER INSERT ON session BEGIN
        INSERT INTO session_fts (rowid, title) VALUES (new.id, searchable(CAST(coalesce(new.title, '') AS BLOB)));
    END
    """,
    "DROP TRIGGER session_renamed",
    """
    CREATE TRIGGER session_renamed AFTER UPDATE OF title ON session BEGIN
        INSERT INTO session_fts (session_fts, rowid, title)
            VALUES ('delete', old.id, searchable(CAST(coalesce(old.title, '') AS BLOB)));
        INSERT INTO session_fts (rowid, title) VALUES (new.id, searchable(CAST(coalesce(new.title, '') AS BLOB)));
    END
    """,
    "DROP TRIGGER session_gone",
    """
    CREATE TRIGGER session_gone AFTER DELETE ON session BEGIN
        INSERT INTO session_fts (session_fts, rowid, title)
            VALUES ('delete', old.id, searchable(CAST(coalesce(old.title, '') AS BLOB)));
    END
    """,
)
"""``searchable`` gets bytes: Python's ``sqlite3`` hands no text to a function that is not UTF-8, so that a single
damaged message would stop every change of the full text."""

_ARCHIVE = (
    # A message's text is in ``body``: as text, or archived as a zstd frame, which ``text`` reads through a function of
    # the program. What reads ``text`` in the schema is made again, because it must name the new columns.
    "DROP VIEW message_words",
    "DROP VIEW message_window",
    "DROP TRIGGER message_said_anew",
    "DROP TRIGGER summary_torn",
    "DROP TRIGGER working_changed",
    "DROP TRIGGER fact_due_changed",
    "ALTER TABLE message RENAME COLUMN text TO body",
    "ALTER TABLE message ADD COLUMN text TEXT GENERATED ALWAYS AS"
    " (CASE typeof(body) WHEN 'blob' THEN unpack(body) ELSE body END) VIRTUAL",
    """
-- A dictionary of archived texts, by the number that zstd writes into each frame. A retired one had a piece of a text
-- that was erased: its frames are written anew.
CREATE TABLE archive_dictionary (
    id INTEGER PRIMARY KEY,
    made_at INTEGER NOT NULL,
    retired INTEGER NOT NULL DEFAULT 0,
    content BLOB NOT NULL
)""",
    """
-- A message whose text is archived: outside of the full text and of the index.
CREATE TABLE archived (
    message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE,
    at INTEGER NOT NULL,
    dictionary INTEGER REFERENCES archive_dictionary,
    stale INTEGER NOT NULL DEFAULT 0  -- how often what the archive index has of it changed since that was written
)""",
    "CREATE INDEX archived_dictionary ON archived (dictionary)",
    "CREATE INDEX archived_stale ON archived (message_id) WHERE stale > 0",
    """
-- A message that gets a text again, restored or changed in its source, is not archived any more.
CREATE TRIGGER archived_ended AFTER UPDATE OF body ON message WHEN typeof(NEW.body) <> 'blob' BEGIN
    DELETE FROM archived WHERE message_id = NEW.id;
END""",
    """
-- The words of each message that is not archived, for the full text.
CREATE VIEW message_words AS SELECT id, searchable(CAST(text AS BLOB)) AS text FROM message m
    WHERE NOT EXISTS (SELECT 1 FROM archived WHERE message_id = m.id)""",
    """
-- The words around each message, for the index: of two neighbours on each side (neighbours.NEIGHBOURS), the nearest 400
-- characters of each, which bounds the cost of long answers. Only conversational messages have neighbours: what is
-- around a tool record says little about it, and a new turn would change the words of any number of records around it.
CREATE VIEW message_window AS SELECT m.id AS id,
    CASE WHEN m.talk THEN searchable(CAST(
        coalesce((
            SELECT group_concat(substr(n.text, -400), ' ') FROM (
                SELECT n.text FROM message n
                WHERE n.session_id = m.session_id AND n.talk = 1
                    AND (n.order_at, n.position, n.id) < (m.order_at, m.position, m.id)
                ORDER BY n.order_at DESC, n.position DESC, n.id DESC LIMIT 2
            ) n
        ), '')
        || ' ' || coalesce((
            SELECT group_concat(substr(n.text, 1, 400), ' ') FROM (
                SELECT n.text FROM message n
                WHERE n.session_id = m.session_id AND n.talk = 1
                    AND (n.order_at, n.position, n.id) > (m.order_at, m.position, m.id)
                ORDER BY n.order_at ASC, n.position ASC, n.id ASC LIMIT 2
            ) n
        ), '') AS BLOB)
    ) ELSE '' END AS neighbours
FROM message m""",
    """
-- A changed message is compared again.
CREATE TRIGGER message_said_anew AFTER UPDATE OF body, role, author, talk, at ON message
    WHEN (OLD.text, OLD.role, OLD.author, OLD.talk, OLD.at)
        IS NOT (NEW.text, NEW.role, NEW.author, NEW.talk, NEW.at) BEGIN
    DELETE FROM fingerprint WHERE message_id = OLD.id;
END""",
    """
-- Summaries that cover a message are deleted as soon as it changes or is deleted, so that none keeps its old words.
CREATE TRIGGER summary_torn
    AFTER UPDATE OF body, talk, role, author, sent_at, order_at, position, session_id ON message
    WHEN (OLD.talk OR NEW.talk OR OLD.role = 'tool')
        AND (OLD.text, OLD.talk, OLD.role, OLD.author, OLD.sent_at, OLD.order_at, OLD.position, OLD.session_id)
        IS NOT (NEW.text, NEW.talk, NEW.role, NEW.author, NEW.sent_at, NEW.order_at, NEW.position, NEW.session_id)
BEGIN
    INSERT INTO summary_due (session_id, changes, edits, torn, at) VALUES (
        OLD.session_id, 1, 1, EXISTS (
            SELECT 1 FROM summary WHERE session_id = OLD.session_id
                AND (first_order, first_position, first_id) <= (OLD.order_at, OLD.position, OLD.id)
                AND (last_order, last_position, last_id) >= (OLD.order_at, OLD.position, OLD.id)
        ),
        min(coalesce(OLD.at, CASE WHEN OLD.source_id IS NULL THEN OLD.added_at ELSE 0 END), OLD.added_at)
    ) ON CONFLICT (session_id) DO UPDATE SET
        changes = changes + 1, edits = edits + 1, torn = max(torn, excluded.torn);
    DELETE FROM summary WHERE session_id = OLD.session_id
        AND (first_order, first_position, first_id) <= (OLD.order_at, OLD.position, OLD.id)
        AND (last_order, last_position, last_id) >= (OLD.order_at, OLD.position, OLD.id);
END""",
    """
-- The same for running summaries, which are also made again when a late message arrives before their place.
CREATE TRIGGER working_changed AFTER UPDATE OF body, talk, role, author, sent_at, order_at, position ON message
    WHEN (OLD.text, OLD.talk, OLD.role, OLD.author, OLD.sent_at, OLD.order_at, OLD.position)
        IS NOT (NEW.text, NEW.talk, NEW.role, NEW.author, NEW.sent_at, NEW.order_at, NEW.position)
BEGIN
    DELETE FROM working
        WHERE session_id IN (SELECT session_id FROM working_past WHERE past_id = OLD.session_id)
            AND (session_id <> OLD.session_id
                OR (OLD.order_at, OLD.position, OLD.id) <= (order_at, position, message_id));
    DELETE FROM working
        WHERE session_id IN (SELECT session_id FROM working_past WHERE past_id = NEW.session_id)
            AND (session_id <> NEW.session_id
                OR (NEW.order_at, NEW.position, NEW.id) <= (order_at, position, message_id));
END""",
    """
CREATE TRIGGER fact_due_changed
    AFTER UPDATE OF body, role, author, talk, sent_at, at, order_at, position ON message
    WHEN (OLD.text, OLD.role, OLD.author, OLD.talk, OLD.sent_at, OLD.order_at, OLD.position)
        IS NOT (NEW.text, NEW.role, NEW.author, NEW.talk, NEW.sent_at, NEW.order_at, NEW.position) BEGIN
    INSERT OR IGNORE INTO fact_due VALUES (NEW.id);
END""",
)

_SECRET_MARKS = (
    """
    -- A secret in a message, at a place in characters. See secrets.py.
    CREATE TABLE secret_mark (
        message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
        start INTEGER NOT NULL,
        stop INTEGER NOT NULL,
        kind TEXT NOT NULL,
        PRIMARY KEY (message_id, start)
    ) WITHOUT ROWID
    """,
)

_RETENTION = (
    """
-- After how many days the messages of a session or of a source (a format) may be archived, in place of the settings'
-- days. NULL: never.
CREATE TABLE retention (
    id INTEGER PRIMARY KEY,
    session_id INTEGER UNIQUE REFERENCES session ON DELETE CASCADE,
    source TEXT UNIQUE,
    days INTEGER,
    CHECK ((session_id IS NULL) <> (source IS NULL))
)""",
)

_SOURCE_SESSIONS = (
    """
-- Which sessions a source has messages of, also where each of them was known already from another source.
CREATE TABLE source_session (
    session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
    source_id INTEGER NOT NULL REFERENCES source ON DELETE CASCADE,
    PRIMARY KEY (session_id, source_id)
) WITHOUT ROWID""",
    "CREATE INDEX source_session_source ON source_session (source_id)",
    "INSERT INTO source_session SELECT DISTINCT session_id, source_id FROM message WHERE source_id IS NOT NULL",
)

_MESSAGE_AUTHORS = (
    # By it, the names of all authors are listed without reading the messages.
    "CREATE INDEX message_author ON message (author) WHERE author IS NOT NULL",
)

_TOKEN_VECTORS = (
    """
-- What made the token vectors of a generation, and how long its token ledger is.
CREATE TABLE token_ledger (
    generation INTEGER PRIMARY KEY REFERENCES generation ON DELETE CASCADE,
    identity TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    bytes INTEGER NOT NULL DEFAULT 0
)""",
    """
-- Where a text's record begins in the token ledger, and how many tokens it has.
CREATE TABLE token_place (
    generation INTEGER NOT NULL,
    digest BLOB NOT NULL,
    start INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (generation, digest),
    FOREIGN KEY (generation, digest) REFERENCES embedding ON DELETE CASCADE
) WITHOUT ROWID""",
)

_KEPT_GENERATIONS = (
    # A column's check can't be altered: another column takes its place. A kept generation has served before; a
    # discarded one is deleted page by page.
    "DROP INDEX generation_active",
    """
ALTER TABLE generation ADD COLUMN stage TEXT NOT NULL DEFAULT 'building'
    CHECK (stage IN ('building', 'active', 'kept', 'discarded'))""",
    "UPDATE generation SET stage = state",
    "ALTER TABLE generation DROP COLUMN state",
    "ALTER TABLE generation RENAME COLUMN stage TO state",
    "CREATE UNIQUE INDEX generation_active ON generation (state) WHERE state = 'active'",
    "ALTER TABLE generation ADD COLUMN retired_at INTEGER",  # when a kept one stopped serving
    "ALTER TABLE generation ADD COLUMN complete_at INTEGER",  # when a kept one last had all messages
)

_SERVER_COLLECTIONS = (
    """
-- The id of the home, by which its collections on a Qdrant server are told from those of others.
CREATE TABLE home_identity (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL)""",
    """
-- Every collection that this home has made on a server and not dropped since. The token says that this copy of the home
-- may write to it; while it is renewed, the next one may count already. See server_collections.py.
CREATE TABLE server_collection (
    name TEXT NOT NULL,
    server TEXT NOT NULL,
    generation INTEGER NOT NULL,
    token TEXT NOT NULL,
    next_token TEXT,
    state TEXT NOT NULL CHECK (state IN ('held', 'filling', 'dropping')),
    PRIMARY KEY (name, server)
) WITHOUT ROWID""",
)

_CHUNKINGS = (
    # The settings (chunk.tokens, chunk.overlap) that messages of a generation were chunked under; none: not known.
    "ALTER TABLE generation ADD COLUMN chunkings TEXT NOT NULL DEFAULT '[]'",
)

_CONVERSATION_TIMES = (
    """
-- Messages that an earlier version stored without a time, although their conversation has one: until they take it.
-- See conversation_time.py.
CREATE TABLE undated_message (message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE)""",
    "INSERT INTO undated_message SELECT m.id FROM message m JOIN session s ON s.id = m.session_id"
    " WHERE m.sent_at IS NULL AND s.started_at IS NOT NULL AND s.format NOT IN ('native', 'local')",
)

PEOPLE_AGAIN = (
    # Earlier versions took a guess for a statement: two people could both be the one whose memory it is.
    "INSERT OR IGNORE INTO people_stale SELECT DISTINCT user_id, namespace FROM person",
)

_UNFINISHED_IMPORTS = (
    # Whether a file was read to its end without errors. Of those that an earlier version read it is not known, and most
    # were.
    "ALTER TABLE source ADD COLUMN complete INTEGER NOT NULL DEFAULT 1",
    """
-- An import that was begun, until its path was read to the end. See imports.py.
CREATE TABLE unfinished_import (
    path BLOB NOT NULL,  -- of a file, folder or zip, as the bytes of the file system
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    begun_at INTEGER NOT NULL,
    options TEXT NOT NULL,  -- the other arguments of the import, as JSON
    PRIMARY KEY (path, user_id, namespace)
) WITHOUT ROWID""",
)

_FEEDBACK = (
    """
-- What recalled messages were worth, each time that a person, a program or an assistant said so. See feedback.py.
CREATE TABLE feedback (
    message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('used', 'helpful', 'wrong', 'outdated')),
    PRIMARY KEY (message_id, at, kind)
) WITHOUT ROWID""",
    """
-- How many messages were recalled on each day (UTC), "2026-02-14".
CREATE TABLE recalled_day (
    day TEXT PRIMARY KEY,
    messages INTEGER NOT NULL
) WITHOUT ROWID""",
)

SHORT_SUMMARIES = (
    # Earlier versions gave no summary to an exchange of fewer than 600 characters.
    new_messages.ALL_SUMMARIES_DUE_SQL,
)

_FACTS_AGAIN = (
    # More is understood than by earlier versions: what people wrote is read again. Decisions of the person stay.
    "INSERT OR IGNORE INTO fact_due SELECT id FROM message WHERE talk AND role = 'user'",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _MESSAGE_DIGESTS, _SEARCHABLE_BYTES, _ARCHIVE, _SECRET_MARKS, _RETENTION, _SOURCE_SESSIONS, _MESSAGE_AUTHORS,
    _TOKEN_VECTORS, _KEPT_GENERATIONS, _SERVER_COLLECTIONS, _CHUNKINGS, _CONVERSATION_TIMES, ATTACHMENTS_AND_TAGS,
    PEOPLE_TABLES, DOCUMENTS, new_messages.DROP_TRIGGERS, (message_parts.FILL_OMITTED_SQL,), PEOPLE_AGAIN,
    _UNFINISHED_IMPORTS, _FEEDBACK, SHORT_SUMMARIES, (*mentions.MENTIONS, mentions.FILL_SQL), CORE_BLOCKS,
    _FACTS_AGAIN, BLOCK_ASSISTANTS, _FACTS_AGAIN,
)  # fmt: skip
"""The statements of each migration after the schema."""


def latest() -> int:
    """Return the number of this program's schema."""
    return FIRST + len(MIGRATIONS)


def is_due(database: Path) -> bool:
    """Whether the database was written by an earlier version of this program."""
    if not database.is_file() or not database.stat().st_size:
        return False
    # Anything else that is wrong with it shows when it is opened.
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as reader:
        (version,) = reader.execute("PRAGMA user_version").fetchone()
        return FIRST <= int(version) < latest()
    return False


def migrate(connection: sqlite3.Connection, where: str) -> None:
    """Bring the schema up to date; errors name the database as ``where``. An empty store must be the caller's alone.

    Raises:
        StoreVersion: The store was written by a newer version of this program, or by one that was never released.
    """
    version = _known_version(connection, where)
    if version == latest() or (not version and _copy_new_store(connection)):
        return
    _apply_missing(connection)


def _copy_new_store(connection: sqlite3.Connection) -> bool:
    """Make an empty store one that all migrations were applied to; returns whether that was possible."""
    if not hasattr(connection, "serialize"):  # a build of SQLite may be without it
        return False
    try:
        with closing(sqlite3.connect(":memory:")) as new:
            new.deserialize(_new_store(MIGRATIONS))
            new.backup(connection)
    except (sqlite3.OperationalError, MemoryError):  # of a copy, SQLite does not say which error it is
        return False
    return True


@lru_cache(maxsize=1)
def _new_store(migrations: tuple[tuple[str, ...], ...]) -> bytes:
    """A store that all ``migrations`` were applied to. To apply them takes 20 ms, and to copy their result, one: for
    every private session, and every new home in a process that makes many."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        _apply_missing(connection)
        return connection.serialize()


def _apply_missing(connection: sqlite3.Connection) -> None:
    from sqlite_utils import Database, Migrations

    text_frames.register(connection)  # a migration reads archived texts
    message_parts.register(connection)
    numbered = Migrations("recall")
    for number, migration in enumerate((tuple(schema()), *MIGRATIONS), FIRST):

        def apply(db: Database, number: int = number, statements: tuple[str, ...] = migration) -> None:
            for statement in statements:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")

        numbered(name=f"{number:04}")(apply)
    database = Database(connection)
    with database.atomic():
        numbered.apply(database)


def require_latest(connection: sqlite3.Connection, where: str) -> None:
    """Check the schema of a store that can't be written; errors name the database as ``where``.

    Raises:
        StoreVersion: It is not the schema of this program.
    """
    version = _known_version(connection, where)
    if version < latest():
        raise StoreVersion(
            f"The memory is of an older version of this program (schema {version}; this version reads {latest()}), "
            "and it can't be brought up to date where nothing can be written.",
            where=where,
            hint="Open it once where it can be written, or copy the folder to such a place.",
        )


def _known_version(connection: sqlite3.Connection, where: str) -> int:
    """The number of the store's schema; 0 if it is empty.

    Raises:
        StoreVersion: The store was written by a newer version of this program, or by one that was never released.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > latest():
        raise StoreVersion(
            f"A newer version of this program wrote this store (schema {version}; this version reads {latest()}).",
            where=where,
            hint="Update the program. Nothing was changed.",
        )
    # sqlite-utils creates its table of migrations before it applies the first one.
    others = "SELECT 1 FROM sqlite_schema WHERE tbl_name <> '_sqlite_migrations'"
    if version < FIRST and (version or connection.execute(others).fetchone()):
        raise StoreVersion(
            f"No released version wrote this store (schema {version}; the first released one is {FIRST}).",
            where=where,
            hint="Move the file away and ingest the exports again. Nothing was changed.",
        )
    return version


def schema() -> Iterator[str]:
    """Yield the statements of the schema: ``executescript`` would commit the transaction that they belong to."""
    statement = ""
    for line in files(__package__).joinpath("schema.sql").read_text("utf-8").splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
