"""The schema, as numbered migrations from the first day.

``PRAGMA user_version`` is the count of those applied, so that an open needs no more than one read;
sqlite-utils applies what is missing, each in a transaction of its own. A migration that has been
released is never edited: a change is a new one at the end.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from appliance.errors import StoreVersion

if TYPE_CHECKING:
    from sqlite_utils import Database

NEIGHBOURS = 2
"""How many messages before and after count as a message's neighbours. On LoCoMo, BM25 over two on each
side finds a little more than over one (recall@10 0.706 against 0.702, 0.596 without)."""

NEIGHBOUR_CHARACTERS = 400
"""How much of each neighbour is used: what stands nearest to the message. It bounds the cost of long
assistant answers; the neighbour's whole text is searchable as its own message."""


SUMMARY_POINTS = 1 << 62
"""The points of summaries' pieces in the index have the piece's key plus this: no chunk ever gets so far."""


def _neighbours(sign: str, order: str, piece: str) -> str:
    return f"""(SELECT group_concat({piece}, ' ') FROM (
        SELECT n.text FROM message n
        WHERE n.session_id = m.session_id AND n.talk = 1
          AND (n.order_at, n.position, n.id) {sign} (m.order_at, m.position, m.id)
        ORDER BY n.order_at {order}, n.position {order}, n.id {order} LIMIT {NEIGHBOURS}) n)"""


SCHEMA_1 = (
    "CREATE TABLE source (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE,"
    " format TEXT NOT NULL, bytes INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL)",
    "CREATE TABLE session (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL,"
    " namespace TEXT NOT NULL, agent_id TEXT NOT NULL, format TEXT NOT NULL, external_id TEXT NOT NULL, title TEXT,"
    " started_at TEXT, created_at INTEGER NOT NULL, metadata TEXT NOT NULL DEFAULT '{}',"
    " UNIQUE (user_id, namespace, format, external_id))",
    "CREATE INDEX session_external ON session (external_id)",
    # order_at: the message's own time, else that of the message before it, so that a message without
    # a time stays where the export has it. talk: said by a person or an assistant in the open.
    "CREATE TABLE message (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, external_id TEXT NOT NULL,"
    " position INTEGER NOT NULL, order_at INTEGER NOT NULL, sent_at TEXT, at INTEGER,"
    " role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'tool')), author TEXT,"
    " text TEXT NOT NULL, talk INTEGER NOT NULL, reply_to TEXT, metadata TEXT NOT NULL DEFAULT '{}',"
    " revision INTEGER NOT NULL DEFAULT 1, source_id INTEGER REFERENCES source, added_at INTEGER NOT NULL,"
    " UNIQUE (session_id, external_id))",
    "CREATE INDEX message_order ON message (session_id, order_at, position, id)",
    "CREATE INDEX message_talk ON message (session_id, order_at, position, id) WHERE talk = 1",
    "CREATE INDEX message_external ON message (external_id)",
    "CREATE TABLE revision (message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,"
    " number INTEGER NOT NULL, text TEXT NOT NULL, metadata TEXT NOT NULL, source_id INTEGER,"
    " replaced_at INTEGER NOT NULL, PRIMARY KEY (message_id, number)) WITHOUT ROWID",
    "CREATE TABLE generation (id INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL,"
    " identity TEXT NOT NULL, dimension INTEGER NOT NULL, state TEXT NOT NULL CHECK (state IN ('building', 'active')),"
    " created_at INTEGER NOT NULL)",
    "CREATE UNIQUE INDEX generation_active ON generation (state) WHERE state = 'active'",
    # start and stop are character offsets into the message's text; digest is that of the chunk's text.
    "CREATE TABLE chunk (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,"
    " generation INTEGER NOT NULL REFERENCES generation, start INTEGER NOT NULL, stop INTEGER NOT NULL,"
    " digest BLOB NOT NULL)",
    "CREATE INDEX chunk_message ON chunk (message_id, generation, start)",
    "CREATE TABLE embedding (generation INTEGER NOT NULL REFERENCES generation ON DELETE CASCADE,"
    " digest BLOB NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (generation, digest)) WITHOUT ROWID",
    # What the derived stores lack. 'put' gives a chunk its vector and its point, 'drop' removes a point.
    # Queueing a chunk again gives it a new ticket, so that work on its old form can't count for the new.
    "CREATE TABLE outbox (ticket INTEGER PRIMARY KEY AUTOINCREMENT, chunk_id INTEGER NOT NULL UNIQUE,"
    " generation INTEGER NOT NULL,"
    " work TEXT NOT NULL CHECK (work IN ('put', 'drop')), priority INTEGER NOT NULL)",
    "CREATE INDEX outbox_priority ON outbox (generation, priority DESC, chunk_id)",
    # Only talk has neighbours: what stands beside a tool's record is no clue to it, and a new turn would
    # change the words of any number of records around it.
    "CREATE VIEW message_lexical AS SELECT m.id AS id, searchable(m.text) AS text,"
    " CASE WHEN m.talk THEN searchable(coalesce("
    + _neighbours("<", "DESC", f"substr(n.text, -{NEIGHBOUR_CHARACTERS})")
    + ", '') || ' ' || coalesce("
    + _neighbours(">", "ASC", f"substr(n.text, 1, {NEIGHBOUR_CHARACTERS})")
    + ", '')) ELSE '' END AS neighbours FROM message m",
    "CREATE VIRTUAL TABLE message_fts USING fts5 (text, neighbours, content='message_lexical',"
    " content_rowid='id', tokenize='porter unicode61 remove_diacritics 2')",
    "CREATE VIRTUAL TABLE message_terms USING fts5vocab (message_fts, 'row')",
)


# A revision keeps the whole old form, not its words and marks alone.
SCHEMA_2 = (
    "ALTER TABLE revision ADD COLUMN role TEXT",
    "ALTER TABLE revision ADD COLUMN author TEXT",
    "ALTER TABLE revision ADD COLUMN sent_at TEXT",
    "ALTER TABLE revision ADD COLUMN reply_to TEXT",
)


# Paths are the bytes that the system uses: not all are UTF-8.
SCHEMA_3 = (
    "CREATE TABLE file (path BLOB PRIMARY KEY, root BLOB NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL,"
    " digest BLOB, state TEXT NOT NULL CHECK (state IN ('queued', 'read', 'partial', 'skipped', 'failed')),"
    " reason TEXT NOT NULL DEFAULT '', reader TEXT NOT NULL DEFAULT '', seen_at INTEGER NOT NULL, read_at INTEGER)"
    " WITHOUT ROWID",
    "CREATE INDEX file_state ON file (state)",
)


# A batch's words are gathered in memory and written as one segment: half the time of the default's megabyte.
SCHEMA_4 = (f"INSERT INTO message_fts (message_fts, rank) VALUES ('hashsize', {16 << 20})",)


# Full text holds each message's own words; the view keeps what the index needs of the neighbours.
SCHEMA_5 = (
    "DROP TABLE message_terms",
    "DROP TABLE message_fts",
    "DROP VIEW message_lexical",
    "CREATE VIEW message_words AS SELECT id, searchable(text) AS text FROM message",
    "CREATE VIEW message_window AS SELECT m.id AS id,"
    " CASE WHEN m.talk THEN searchable(coalesce("
    + _neighbours("<", "DESC", f"substr(n.text, -{NEIGHBOUR_CHARACTERS})")
    + ", '') || ' ' || coalesce("
    + _neighbours(">", "ASC", f"substr(n.text, 1, {NEIGHBOUR_CHARACTERS})")
    + ", '')) ELSE '' END AS neighbours FROM message m",
    "CREATE VIRTUAL TABLE message_fts USING fts5 (text, content='message_words', content_rowid='id',"
    " tokenize='porter unicode61 remove_diacritics 2')",
    *SCHEMA_4,
    "INSERT INTO message_fts (message_fts) VALUES ('rebuild')",
)


# What was read for one person was not read for another.
SCHEMA_6 = ("ALTER TABLE file ADD COLUMN owner TEXT NOT NULL DEFAULT ''",)


# Sessions are found by their titles too.
SCHEMA_7 = (
    "CREATE VIEW session_words AS SELECT id, searchable(coalesce(title, '')) AS title FROM session",
    "CREATE VIRTUAL TABLE session_fts USING fts5 (title, content='session_words', content_rowid='id',"
    " tokenize='porter unicode61 remove_diacritics 2')",
    "CREATE TRIGGER session_titled AFTER INSERT ON session BEGIN"
    " INSERT INTO session_fts (rowid, title) VALUES (new.id, searchable(coalesce(new.title, ''))); END",
    "CREATE TRIGGER session_renamed AFTER UPDATE OF title ON session BEGIN"
    " INSERT INTO session_fts (session_fts, rowid, title)"
    " VALUES ('delete', old.id, searchable(coalesce(old.title, '')));"
    " INSERT INTO session_fts (rowid, title) VALUES (new.id, searchable(coalesce(new.title, ''))); END",
    "CREATE TRIGGER session_gone AFTER DELETE ON session BEGIN"
    " INSERT INTO session_fts (session_fts, rowid, title)"
    " VALUES ('delete', old.id, searchable(coalesce(old.title, ''))); END",
    "INSERT INTO session_fts (session_fts) VALUES ('rebuild')",
)


# What says the same as what. A fingerprint for each message of talk that was looked at: what finds equal texts, and of
# the first of these what finds nearly equal ones. A variant for each message that has its like: the number of
# the memory that both are, which of its messages is the earliest is a matter of the index.
_BANDS = ("band1", "band2", "band3", "band4", "band5")

SCHEMA_8 = (
    "CREATE TABLE fingerprint (message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE,"
    f" digest INTEGER NOT NULL, {', '.join(f'{band} INTEGER' for band in _BANDS)})",
    "CREATE INDEX fingerprint_digest ON fingerprint (digest)",
    *(f"CREATE INDEX fingerprint_{band} ON fingerprint ({band}) WHERE {band} IS NOT NULL" for band in _BANDS),
    "CREATE TABLE variant (message_id INTEGER PRIMARY KEY REFERENCES fingerprint ON DELETE CASCADE,"
    " memory INTEGER NOT NULL, at INTEGER NOT NULL,"
    " how TEXT NOT NULL CHECK (how IN ('exact', 'words', 'meaning')))",
    "CREATE INDEX variant_memory ON variant (memory, at, message_id)",
    # Another message of the same text stands in for one that goes.
    "CREATE TRIGGER fingerprint_heir AFTER DELETE ON fingerprint WHEN OLD.band1 IS NOT NULL BEGIN"
    f" UPDATE fingerprint SET {', '.join(f'{band} = OLD.{band}' for band in _BANDS)} WHERE message_id ="
    " (SELECT message_id FROM fingerprint WHERE digest = OLD.digest LIMIT 1); END",
    # One message alone has no like.
    "CREATE TRIGGER variant_alone AFTER DELETE ON variant BEGIN"
    " DELETE FROM variant WHERE memory = OLD.memory AND 1 ="
    " (SELECT count(*) FROM (SELECT 1 FROM variant WHERE memory = OLD.memory LIMIT 2)); END",
    # A message that says something else now is looked at anew.
    "CREATE TRIGGER message_said_anew AFTER UPDATE OF text, role, author, talk, at ON message"
    " WHEN (OLD.text, OLD.role, OLD.author, OLD.talk, OLD.at) IS NOT"
    " (NEW.text, NEW.role, NEW.author, NEW.talk, NEW.at)"
    " BEGIN DELETE FROM fingerprint WHERE message_id = OLD.id; END",
)


# What a person says of a session: how long it stays, what it gives to others, whose agents take part, what it is a
# branch of. Its past up to branch_at, an own message of the parent, is the parent's. A ttl is in seconds; NULL is as
# the settings say. active_at never goes back, whatever the clock does; expires_at follows from it and from the ttl.
SCHEMA_9 = (
    "ALTER TABLE session ADD COLUMN titled TEXT NOT NULL DEFAULT 'given'"
    " CHECK (titled IN ('given', 'found', 'person'))",
    "ALTER TABLE session ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE session ADD COLUMN storage_scope TEXT NOT NULL DEFAULT 'all'"
    " CHECK (storage_scope IN ('all', 'conversational', 'summaries_only', 'none'))",
    "ALTER TABLE session ADD COLUMN ttl INTEGER",
    "ALTER TABLE session ADD COLUMN active_at INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE session ADD COLUMN expires_at INTEGER",
    "ALTER TABLE session ADD COLUMN options TEXT NOT NULL DEFAULT '{}'",
    "ALTER TABLE session ADD COLUMN parent_id INTEGER REFERENCES session",
    "ALTER TABLE session ADD COLUMN branch_at INTEGER",
    "CREATE INDEX session_parent ON session (parent_id) WHERE parent_id IS NOT NULL",
    "CREATE INDEX session_active ON session (active_at)",
    "CREATE INDEX session_expires ON session (expires_at) WHERE expires_at IS NOT NULL",
    "UPDATE session SET active_at = coalesce((SELECT max(added_at) FROM message WHERE session_id = session.id),"
    " created_at)",
    "CREATE TABLE session_agent (session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,"
    " agent_id TEXT NOT NULL, joined_at INTEGER NOT NULL, PRIMARY KEY (session_id, agent_id)) WITHOUT ROWID",
    "INSERT INTO session_agent SELECT id, agent_id, created_at FROM session WHERE agent_id <> ''",
)


_FOLDED = (
    "DELETE FROM working WHERE session_id IN (SELECT session_id FROM working_past WHERE past_id = {0}.session_id)"
    " AND (session_id <> {0}.session_id"
    " OR ({0}.order_at, {0}.position, {0}.id) <= (order_at, position, message_id));"
)

# Summaries with their pieces for the index, and what is due: sessions with messages that no summary has seen.
# sentences are [message, start, stop] each, covers is the digest of what it was made from, by which it is known to be
# stale, and from first to last are the places of what it covers, as they were then. Of what is due, edits are changes
# of messages that were there before, torn says that a summary went with one, and at is when the last was said: of an
# import that names no times, long ago.
_PLACE = "(OLD.order_at, OLD.position, OLD.id)"
_SAYING_OLD = (
    "session_id = OLD.session_id"
    f" AND (first_order, first_position, first_id) <= {_PLACE} AND (last_order, last_position, last_id) >= {_PLACE}"
)
_SAID_AT = "min(coalesce({0}.at, CASE WHEN {0}.source_id IS NULL THEN {0}.added_at ELSE 0 END), {0}.added_at)"
_TORN = (
    " INSERT INTO summary_due (session_id, changes, edits, torn, at) VALUES"
    f" (OLD.session_id, 1, 1, EXISTS (SELECT 1 FROM summary WHERE {_SAYING_OLD}), {_SAID_AT.format('OLD')})"
    " ON CONFLICT (session_id) DO UPDATE SET changes = changes + 1, edits = edits + 1, torn = max(torn, excluded.torn);"
    f" DELETE FROM summary WHERE {_SAYING_OLD};"
)
_SAID = "text, talk, role, author, sent_at, order_at, position, session_id"

SCHEMA_10 = (
    "CREATE TABLE summary (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,"
    " level TEXT NOT NULL CHECK (level IN ('exchange', 'topic', 'session', 'procedure')),"
    " first_id INTEGER NOT NULL, first_order INTEGER NOT NULL, first_position INTEGER NOT NULL,"
    " last_id INTEGER NOT NULL, last_order INTEGER NOT NULL, last_position INTEGER NOT NULL,"
    " messages INTEGER NOT NULL, since TEXT, until TEXT,"
    " at INTEGER, text TEXT NOT NULL, sentences TEXT NOT NULL, made_by TEXT NOT NULL, metadata TEXT NOT NULL,"
    " covers BLOB NOT NULL, made_at INTEGER NOT NULL)",
    "CREATE INDEX summary_session ON summary (session_id, level, first_order, first_position)",
    "CREATE TABLE summary_chunk (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " summary_id INTEGER NOT NULL REFERENCES summary ON DELETE CASCADE,"
    " generation INTEGER NOT NULL REFERENCES generation, start INTEGER NOT NULL, stop INTEGER NOT NULL,"
    " digest BLOB NOT NULL)",
    "CREATE INDEX summary_chunk_summary ON summary_chunk (summary_id, generation, start)",
    # Whatever takes a summary away takes its points away too. Their numbers lie behind all that a chunk ever has.
    "CREATE TRIGGER summary_chunk_gone AFTER DELETE ON summary_chunk BEGIN"
    " INSERT OR REPLACE INTO outbox (chunk_id, generation, work, priority)"
    f" VALUES ({SUMMARY_POINTS} + OLD.id, OLD.generation, 'drop', 0); END",
    "CREATE TABLE summary_due (session_id INTEGER PRIMARY KEY REFERENCES session ON DELETE CASCADE,"
    " changes INTEGER NOT NULL, edits INTEGER NOT NULL DEFAULT 0, torn INTEGER NOT NULL DEFAULT 0,"
    " at INTEGER NOT NULL)",
    "CREATE TRIGGER summary_due_new AFTER INSERT ON message WHEN NEW.talk BEGIN"
    " INSERT INTO summary_due (session_id, changes, edits, torn, at)"
    f" VALUES (NEW.session_id, 1, 0, 0, {_SAID_AT.format('NEW')})"
    " ON CONFLICT (session_id) DO UPDATE SET changes = changes + 1, at = max(at, excluded.at); END",
    # The words of a message that is gone or says something else now live on in no summary: not for a moment.
    f"CREATE TRIGGER summary_torn AFTER UPDATE OF {_SAID} ON message WHEN (OLD.talk OR NEW.talk OR OLD.role = 'tool')"
    f" AND ({', '.join(f'OLD.{c}' for c in _SAID.split(', '))})"
    f" IS NOT ({', '.join(f'NEW.{c}' for c in _SAID.split(', '))}) BEGIN{_TORN} END",
    "CREATE TRIGGER summary_gone AFTER DELETE ON message WHEN (OLD.talk OR OLD.role = 'tool')"
    f" AND EXISTS (SELECT 1 FROM session WHERE id = OLD.session_id) BEGIN{_TORN} END",
    "INSERT INTO summary_due SELECT m.session_id, count(*), 0, 0,"
    f" max({_SAID_AT.format('m')}) FROM message m WHERE m.talk = 1 GROUP BY m.session_id",
    # The running summary of a session's working memory: what stands for the messages up to a place, as its habits have
    # it (a session may change them). sentences are [message, start, stop, number] each. working_past has the sessions
    # whose messages it was made from, itself and those that it is a branch of. When one of the messages changes or
    # goes, or comes in late before the place, it is made anew: nothing of an erased message stays in it.
    "CREATE TABLE working (session_id INTEGER PRIMARY KEY REFERENCES session ON DELETE CASCADE,"
    " order_at INTEGER NOT NULL, position INTEGER NOT NULL, message_id INTEGER NOT NULL, folded INTEGER NOT NULL,"
    " text TEXT NOT NULL, sentences TEXT NOT NULL, made_by TEXT NOT NULL, habits TEXT NOT NULL,"
    " made_at INTEGER NOT NULL)",
    "CREATE TABLE working_past (past_id INTEGER NOT NULL, session_id INTEGER NOT NULL"
    " REFERENCES working ON DELETE CASCADE, PRIMARY KEY (past_id, session_id)) WITHOUT ROWID",
    "CREATE TRIGGER working_changed AFTER UPDATE OF text, talk, role, author, sent_at, order_at, position ON message"
    " WHEN (OLD.text, OLD.talk, OLD.role, OLD.author, OLD.sent_at, OLD.order_at, OLD.position)"
    " IS NOT (NEW.text, NEW.talk, NEW.role, NEW.author, NEW.sent_at, NEW.order_at, NEW.position)"
    f" BEGIN {_FOLDED.format('OLD')} {_FOLDED.format('NEW')} END",
    f"CREATE TRIGGER working_gone AFTER DELETE ON message BEGIN {_FOLDED.format('OLD')} END",
    "CREATE TRIGGER working_late AFTER INSERT ON message WHEN NEW.talk BEGIN"
    " DELETE FROM working WHERE session_id = NEW.session_id"
    " AND (NEW.order_at, NEW.position, NEW.id) <= (order_at, position, message_id); END",
)


# Facts with their evidence; what a person rejected stays known by its evidence. fact_due are messages of talk that have
# not been read for facts.
SCHEMA_11 = (
    "CREATE TABLE fact (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, namespace TEXT NOT NULL,"
    " kind TEXT NOT NULL, subject TEXT NOT NULL, attribute TEXT NOT NULL, value TEXT NOT NULL, text TEXT NOT NULL,"
    " confidence REAL NOT NULL, state TEXT NOT NULL"
    " CHECK (state IN ('held', 'ended', 'superseded', 'review', 'rejected')),"
    " said_at TEXT, since TEXT, until TEXT, at INTEGER, since_at INTEGER, until_at INTEGER,"
    " made_by TEXT NOT NULL, replaced_by INTEGER REFERENCES fact ON DELETE SET NULL, made_at INTEGER NOT NULL)",
    "CREATE INDEX fact_attribute ON fact (user_id, namespace, subject, attribute)",
    "CREATE TABLE fact_evidence (fact_id INTEGER NOT NULL REFERENCES fact ON DELETE CASCADE,"
    " message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE, start INTEGER NOT NULL, stop INTEGER NOT NULL,"
    " PRIMARY KEY (fact_id, message_id, start)) WITHOUT ROWID",
    "CREATE INDEX fact_evidence_message ON fact_evidence (message_id)",
    "CREATE TABLE fact_due (message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE)",
    "CREATE TRIGGER fact_due_new AFTER INSERT ON message WHEN NEW.talk AND NEW.role = 'user' BEGIN"
    " INSERT INTO fact_due VALUES (NEW.id); END",
    "CREATE TRIGGER fact_due_changed AFTER UPDATE OF text, role, author, talk ON message"
    " WHEN (OLD.text, OLD.role, OLD.author, OLD.talk) IS NOT (NEW.text, NEW.role, NEW.author, NEW.talk) BEGIN"
    " INSERT OR IGNORE INTO fact_due VALUES (NEW.id); END",
    "INSERT INTO fact_due SELECT id FROM message WHERE talk = 1 AND role = 'user'",
)


# How much a message is worth keeping close (NULL: not weighed yet), whether a person says so, and how often it was
# given to somebody.
SCHEMA_12 = (
    "ALTER TABLE message ADD COLUMN importance REAL",
    "ALTER TABLE message ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0",
    "CREATE TABLE recalled (message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE,"
    " times INTEGER NOT NULL, last_at INTEGER NOT NULL)",
)


MIGRATIONS = (
    SCHEMA_1,
    SCHEMA_2,
    SCHEMA_3,
    SCHEMA_4,
    SCHEMA_5,
    SCHEMA_6,
    SCHEMA_7,
    SCHEMA_8,
    SCHEMA_9,
    SCHEMA_10,
    SCHEMA_11,
    SCHEMA_12,
)


def migrate(connection: sqlite3.Connection, where: str) -> None:
    """Bring the schema up to date.

    Raises:
        StoreVersion: the store was written by a newer version of this program.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == len(MIGRATIONS):
        return
    if version > len(MIGRATIONS):
        raise StoreVersion(
            f"written by a newer version (schema {version}, this one knows {len(MIGRATIONS)})",
            where=where,
            hint="update the program; nothing was changed",
        )
    from sqlite_utils import Database, Migrations

    numbered = Migrations("recall")
    for number, statements in enumerate(MIGRATIONS, 1):

        def apply(db: Database, number: int = number, statements: tuple[str, ...] = statements) -> None:
            for statement in statements:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")

        numbered(name=f"{number:04}")(apply)
    numbered.apply(Database(connection))
