-- The schema of recall.db. It is the first migration (migrations.py): once it is released, it is never edited; a change
-- is a new migration at the end.
--
-- An id that is stored outside of the database is never used twice (AUTOINCREMENT). Columns named at or ending in _at
-- are microseconds since 1970, except sent_at, said_at and started_at: these, since and until are ISO 8601 text. Long
-- columns come last, because SQLite reads a row from its beginning. searchable() is a function of the program
-- (scripts.py), which separates words also in scripts without spaces.

-- Messages and their sources -----------------------------------------------------------------------------------------

-- An export that was read, by its path.
CREATE TABLE source (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    format TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL
);

-- A watched file and the result of reading it. Paths are the bytes of the file system, because not all are UTF-8.
CREATE TABLE file (
    path BLOB PRIMARY KEY,
    root BLOB NOT NULL,
    owner TEXT NOT NULL DEFAULT '',  -- a file that was read for one person was not read for another
    size INTEGER NOT NULL,
    mtime INTEGER NOT NULL,
    digest BLOB,
    state TEXT NOT NULL CHECK (state IN ('queued', 'read', 'partial', 'skipped', 'failed')),
    reason TEXT NOT NULL DEFAULT '',
    reader TEXT NOT NULL DEFAULT '',
    seen_at INTEGER NOT NULL,
    read_at INTEGER
) WITHOUT ROWID;
CREATE INDEX file_state ON file (state);

-- A session, and what a person set for it.
CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    format TEXT NOT NULL,
    external_id TEXT NOT NULL,
    title TEXT,
    titled TEXT NOT NULL DEFAULT 'given' CHECK (titled IN ('given', 'found', 'person')),
    started_at TEXT,
    created_at INTEGER NOT NULL,
    active_at INTEGER NOT NULL DEFAULT 0,  -- never goes back, whatever the clock does
    pinned INTEGER NOT NULL DEFAULT 0,
    storage_scope TEXT NOT NULL DEFAULT 'all'
        CHECK (storage_scope IN ('all', 'conversational', 'summaries_only', 'none')),
    ttl INTEGER,         -- seconds; NULL: as the settings say
    expires_at INTEGER,  -- follows from active_at and ttl
    parent_id INTEGER REFERENCES session,
    branch_at INTEGER,   -- a message of the parent: the parent's messages up to it are this session's past
    options TEXT NOT NULL DEFAULT '{}',
    metadata TEXT NOT NULL DEFAULT '{}',
    UNIQUE (user_id, namespace, format, external_id)
);
CREATE INDEX session_external ON session (external_id);
CREATE INDEX session_active ON session (active_at);
CREATE INDEX session_expires ON session (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX session_parent ON session (parent_id) WHERE parent_id IS NOT NULL;

-- An agent that takes part in a session.
CREATE TABLE session_agent (
    session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
    agent_id TEXT NOT NULL,
    joined_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, agent_id)
) WITHOUT ROWID;

-- A message as its source has it now.
CREATE TABLE message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
    external_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    order_at INTEGER NOT NULL,  -- its own time, else that of the message before it, so that it stays in its place
    sent_at TEXT,
    at INTEGER,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    author TEXT,
    talk INTEGER NOT NULL,      -- a person or an assistant said it in the open
    pinned INTEGER NOT NULL DEFAULT 0,
    importance REAL,            -- NULL: not weighed yet
    reply_to TEXT,
    revision INTEGER NOT NULL DEFAULT 1,
    source_id INTEGER REFERENCES source,
    added_at INTEGER NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}',
    UNIQUE (session_id, external_id)
);
CREATE INDEX message_order ON message (session_id, order_at, position, id);
CREATE INDEX message_talk ON message (session_id, order_at, position, id) WHERE talk = 1;
CREATE INDEX message_external ON message (external_id);
CREATE INDEX message_unweighed ON message (id) WHERE importance IS NULL;
CREATE INDEX message_pinned ON message (session_id) WHERE pinned = 1;

-- An earlier form of a message that was changed in its source.
CREATE TABLE revision (
    message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    number INTEGER NOT NULL,
    role TEXT,
    author TEXT,
    sent_at TEXT,
    reply_to TEXT,
    source_id INTEGER,
    replaced_at INTEGER NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (message_id, number)
) WITHOUT ROWID;

-- How often a message was recalled.
CREATE TABLE recalled (
    message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE,
    times INTEGER NOT NULL,
    last_at INTEGER NOT NULL
);

-- Full text -----------------------------------------------------------------------------------------------------------

-- The words of each message, for the full text.
CREATE VIEW message_words AS SELECT id, searchable(text) AS text FROM message;

-- The full text of messages. The program updates it together with the messages.
CREATE VIRTUAL TABLE message_fts USING fts5 (
    text, content='message_words', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
);
-- Collects 16 MB in memory before writing a segment, which takes half the time of the default of 1 MB.
INSERT INTO message_fts (message_fts, rank) VALUES ('hashsize', 16777216);

-- The words around each message, for the index: of two neighbours on each side (neighbours.NEIGHBOURS), the nearest 400
-- characters of each, which bounds the cost of long answers. Only conversational messages have neighbours: what is
-- around a tool record says little about it, and a new turn would change the words of any number of records around it.
CREATE VIEW message_window AS SELECT m.id AS id,
    CASE WHEN m.talk THEN searchable(
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
        ), '')
    ) ELSE '' END AS neighbours
FROM message m;

-- The words of each session's title, for the full text.
CREATE VIEW session_words AS SELECT id, searchable(coalesce(title, '')) AS title FROM session;

-- The full text of session titles. Triggers update it.
CREATE VIRTUAL TABLE session_fts USING fts5 (
    title, content='session_words', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER session_titled AFTER INSERT ON session BEGIN
    INSERT INTO session_fts (rowid, title) VALUES (new.id, searchable(coalesce(new.title, '')));
END;
CREATE TRIGGER session_renamed AFTER UPDATE OF title ON session BEGIN
    INSERT INTO session_fts (session_fts, rowid, title)
        VALUES ('delete', old.id, searchable(coalesce(old.title, '')));
    INSERT INTO session_fts (rowid, title) VALUES (new.id, searchable(coalesce(new.title, '')));
END;
CREATE TRIGGER session_gone AFTER DELETE ON session BEGIN
    INSERT INTO session_fts (session_fts, rowid, title)
        VALUES ('delete', old.id, searchable(coalesce(old.title, '')));
END;

-- Chunks, vectors and the index ---------------------------------------------------------------------------------------

-- A generation of vectors by one embedding model: one is active, another may be building.
CREATE TABLE generation (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL,
    identity TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('building', 'active')),
    created_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX generation_active ON generation (state) WHERE state = 'active';

-- A part of a message with a vector of its own: character offsets, and the digest of the text that is embedded.
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    generation INTEGER NOT NULL REFERENCES generation,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    digest BLOB NOT NULL
);
CREATE INDEX chunk_message ON chunk (message_id, generation, start);

-- The row of a text's vector in the vector ledger.
CREATE TABLE embedding (
    generation INTEGER NOT NULL REFERENCES generation ON DELETE CASCADE,
    digest BLOB NOT NULL,
    row INTEGER NOT NULL,
    PRIMARY KEY (generation, digest)
) WITHOUT ROWID;

-- The work that ledger and index lack: 'put' gives a chunk its vector and its point, 'drop' removes a point.
CREATE TABLE outbox (
    ticket INTEGER PRIMARY KEY AUTOINCREMENT,  -- new when a chunk is queued again: work on its old form doesn't count
    chunk_id INTEGER NOT NULL UNIQUE,
    generation INTEGER NOT NULL,
    work TEXT NOT NULL CHECK (work IN ('put', 'drop')),
    priority INTEGER NOT NULL
);
CREATE INDEX outbox_priority ON outbox (generation, priority DESC, chunk_id);

-- Variants ------------------------------------------------------------------------------------------------------------

-- Finds equal and nearly equal messages: the digest of a message's text, and the bands of its MinHash signature, which
-- only the first message with this digest has.
CREATE TABLE fingerprint (
    message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE,
    digest INTEGER NOT NULL,
    band1 INTEGER,
    band2 INTEGER,
    band3 INTEGER,
    band4 INTEGER,
    band5 INTEGER
);
CREATE INDEX fingerprint_digest ON fingerprint (digest);
CREATE INDEX fingerprint_band1 ON fingerprint (band1) WHERE band1 IS NOT NULL;
CREATE INDEX fingerprint_band2 ON fingerprint (band2) WHERE band2 IS NOT NULL;
CREATE INDEX fingerprint_band3 ON fingerprint (band3) WHERE band3 IS NOT NULL;
CREATE INDEX fingerprint_band4 ON fingerprint (band4) WHERE band4 IS NOT NULL;
CREATE INDEX fingerprint_band5 ON fingerprint (band5) WHERE band5 IS NOT NULL;

-- A message that says the same as another one: all messages with the same number (memory) are variants.
CREATE TABLE variant (
    message_id INTEGER PRIMARY KEY REFERENCES fingerprint ON DELETE CASCADE,
    memory INTEGER NOT NULL,
    at INTEGER NOT NULL,
    how TEXT NOT NULL CHECK (how IN ('exact', 'words', 'meaning'))
);
CREATE INDEX variant_memory ON variant (memory, at, message_id);

-- When the message with the bands is deleted, another one with the same text gets them.
CREATE TRIGGER fingerprint_heir AFTER DELETE ON fingerprint WHEN OLD.band1 IS NOT NULL BEGIN
    UPDATE fingerprint
        SET band1 = OLD.band1, band2 = OLD.band2, band3 = OLD.band3, band4 = OLD.band4, band5 = OLD.band5
        WHERE message_id = (SELECT message_id FROM fingerprint WHERE digest = OLD.digest LIMIT 1);
END;
-- A single message is not a variant.
CREATE TRIGGER variant_alone AFTER DELETE ON variant BEGIN
    DELETE FROM variant WHERE memory = OLD.memory
        AND 1 = (SELECT count(*) FROM (SELECT 1 FROM variant WHERE memory = OLD.memory LIMIT 2));
END;
-- A changed message is compared again.
CREATE TRIGGER message_said_anew AFTER UPDATE OF text, role, author, talk, at ON message
    WHEN (OLD.text, OLD.role, OLD.author, OLD.talk, OLD.at)
        IS NOT (NEW.text, NEW.role, NEW.author, NEW.talk, NEW.at) BEGIN
    DELETE FROM fingerprint WHERE message_id = OLD.id;
END;

-- Summaries -----------------------------------------------------------------------------------------------------------

-- A summary of a part of a session. first_… and last_… are the places of the messages that it covers, when it was made.
CREATE TABLE summary (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
    level TEXT NOT NULL CHECK (level IN ('exchange', 'topic', 'session', 'procedure')),
    first_id INTEGER NOT NULL,
    first_order INTEGER NOT NULL,
    first_position INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    last_order INTEGER NOT NULL,
    last_position INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    since TEXT,
    until TEXT,
    at INTEGER,
    made_by TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    covers BLOB NOT NULL,     -- the digest of what it was made from, by which it is known to be stale
    text TEXT NOT NULL,
    sentences TEXT NOT NULL,  -- JSON: [message, start, stop] each
    metadata TEXT NOT NULL
);
CREATE INDEX summary_session ON summary (session_id, level, first_order, first_position);

-- A part of a summary with a vector of its own, like a chunk of a message.
CREATE TABLE summary_chunk (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    summary_id INTEGER NOT NULL REFERENCES summary ON DELETE CASCADE,
    generation INTEGER NOT NULL REFERENCES generation,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    digest BLOB NOT NULL
);
CREATE INDEX summary_chunk_summary ON summary_chunk (summary_id, generation, start);

-- A session with changes that no summary covers.
CREATE TABLE summary_due (
    session_id INTEGER PRIMARY KEY REFERENCES session ON DELETE CASCADE,
    changes INTEGER NOT NULL,
    edits INTEGER NOT NULL DEFAULT 0,  -- changes of messages that were there before
    torn INTEGER NOT NULL DEFAULT 0,   -- a summary went with one
    at INTEGER NOT NULL                -- when the last message was said
);

-- The running summary of a session's working memory, which replaces the messages up to a place.
CREATE TABLE working (
    session_id INTEGER PRIMARY KEY REFERENCES session ON DELETE CASCADE,
    order_at INTEGER NOT NULL,
    position INTEGER NOT NULL,
    message_id INTEGER NOT NULL,
    folded INTEGER NOT NULL,
    text TEXT NOT NULL,
    sentences TEXT NOT NULL,  -- JSON: [message, start, stop, number] each
    made_by TEXT NOT NULL,
    habits TEXT NOT NULL,     -- the settings that it was made with: a session may change them
    made_at INTEGER NOT NULL
);

-- The sessions whose messages a running summary was made from: its own, and those from which it branched.
CREATE TABLE working_past (
    past_id INTEGER NOT NULL,
    session_id INTEGER NOT NULL REFERENCES working ON DELETE CASCADE,
    PRIMARY KEY (past_id, session_id)
) WITHOUT ROWID;

-- Deleting a summary removes its points, whose ids are those of its chunks plus chunks.SUMMARY_POINTS.
CREATE TRIGGER summary_chunk_gone AFTER DELETE ON summary_chunk BEGIN
    INSERT OR REPLACE INTO outbox (chunk_id, generation, work, priority)
        VALUES (4611686018427387904 + OLD.id, OLD.generation, 'drop', 0);
END;
CREATE TRIGGER summary_due_new AFTER INSERT ON message WHEN NEW.talk BEGIN
    INSERT INTO summary_due (session_id, changes, edits, torn, at) VALUES (
        NEW.session_id, 1, 0, 0,
        min(coalesce(NEW.at, CASE WHEN NEW.source_id IS NULL THEN NEW.added_at ELSE 0 END), NEW.added_at)
    ) ON CONFLICT (session_id) DO UPDATE SET changes = changes + 1, at = max(at, excluded.at);
END;
-- Summaries that cover a message are deleted as soon as it changes or is deleted, so that none keeps its old words.
CREATE TRIGGER summary_torn
    AFTER UPDATE OF text, talk, role, author, sent_at, order_at, position, session_id ON message
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
END;
CREATE TRIGGER summary_gone AFTER DELETE ON message
    WHEN (OLD.talk OR OLD.role = 'tool') AND EXISTS (SELECT 1 FROM session WHERE id = OLD.session_id)
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
END;
-- The same for running summaries, which are also made again when a late message arrives before their place.
CREATE TRIGGER working_changed AFTER UPDATE OF text, talk, role, author, sent_at, order_at, position ON message
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
END;
CREATE TRIGGER working_gone AFTER DELETE ON message
BEGIN
    DELETE FROM working
        WHERE session_id IN (SELECT session_id FROM working_past WHERE past_id = OLD.session_id)
            AND (session_id <> OLD.session_id
                OR (OLD.order_at, OLD.position, OLD.id) <= (order_at, position, message_id));
END;
CREATE TRIGGER working_late AFTER INSERT ON message WHEN NEW.talk BEGIN
    DELETE FROM working WHERE session_id = NEW.session_id
        AND (NEW.order_at, NEW.position, NEW.id) <= (order_at, position, message_id);
END;

-- Facts ---------------------------------------------------------------------------------------------------------------

-- A statement of a message. A slot can have only one value at a time.
CREATE TABLE fact_statement (
    id INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    slot TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    attribute TEXT NOT NULL,
    value TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('holds', 'ended', 'corrects')),
    confidence REAL NOT NULL,
    since TEXT,
    until TEXT,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    by_model INTEGER NOT NULL,
    digest BLOB NOT NULL
);
CREATE INDEX fact_statement_slot ON fact_statement (user_id, namespace, slot);
CREATE INDEX fact_statement_message ON fact_statement (message_id);

-- A decision of a person about a slot.
CREATE TABLE fact_decision (
    id INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    slot TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    attribute TEXT NOT NULL,
    value TEXT NOT NULL,
    how TEXT NOT NULL CHECK (how IN ('confirmed', 'corrected', 'added', 'ended')),
    since TEXT,
    at INTEGER NOT NULL,
    seen INTEGER NOT NULL
);
CREATE INDEX fact_decision_slot ON fact_decision (user_id, namespace, slot);

-- The digest of a statement that a person rejected.
CREATE TABLE fact_refused (
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (user_id, namespace, digest)
) WITHOUT ROWID;

-- A fact, which is derived from statements and decisions and can always be made again.
CREATE TABLE fact (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    slot TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    attribute TEXT NOT NULL,
    value TEXT NOT NULL,
    text TEXT NOT NULL,
    confidence REAL NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('held', 'ended', 'superseded', 'review', 'rejected')),
    ends INTEGER NOT NULL,
    said_at TEXT,
    since TEXT,
    until TEXT,
    at INTEGER NOT NULL,
    since_at INTEGER,
    until_at INTEGER,
    made_by TEXT NOT NULL,
    decided INTEGER NOT NULL,
    replaced_by INTEGER REFERENCES fact ON DELETE SET NULL
);
CREATE INDEX fact_slot ON fact (user_id, namespace, slot);
CREATE INDEX fact_replaced ON fact (replaced_by) WHERE replaced_by IS NOT NULL;

-- A place in a message that is evidence for a fact.
CREATE TABLE fact_evidence (
    fact_id INTEGER NOT NULL REFERENCES fact ON DELETE CASCADE,
    message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    PRIMARY KEY (fact_id, message_id, start)
) WITHOUT ROWID;
CREATE INDEX fact_evidence_message ON fact_evidence (message_id);

-- A message that has not been read for facts yet.
CREATE TABLE fact_due (
    message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE
);

-- A message that a language model has read for facts.
CREATE TABLE fact_asked (
    message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE
);

-- A slot whose facts have to be derived again.
CREATE TABLE fact_stale (
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    slot TEXT NOT NULL,
    PRIMARY KEY (user_id, namespace, slot)
) WITHOUT ROWID;

-- Who takes part in a session. It decides whether a user message is by the person, and it can change.
CREATE TABLE fact_session (
    session_id INTEGER PRIMARY KEY REFERENCES session ON DELETE CASCADE,
    assistant INTEGER NOT NULL,
    authors INTEGER NOT NULL
);

CREATE TRIGGER fact_due_new AFTER INSERT ON message WHEN NEW.talk AND NEW.role = 'user' BEGIN
    INSERT INTO fact_due VALUES (NEW.id);
END;
CREATE TRIGGER fact_due_changed
    AFTER UPDATE OF text, role, author, talk, sent_at, at, order_at, position ON message
    WHEN (OLD.text, OLD.role, OLD.author, OLD.talk, OLD.sent_at, OLD.order_at, OLD.position)
        IS NOT (NEW.text, NEW.role, NEW.author, NEW.talk, NEW.sent_at, NEW.order_at, NEW.position) BEGIN
    INSERT OR IGNORE INTO fact_due VALUES (NEW.id);
END;
-- When an assistant first answers in a session, the earlier messages of its users are read again.
CREATE TRIGGER fact_due_answered AFTER INSERT ON message
    WHEN NEW.talk AND NEW.role = 'assistant'
        AND EXISTS (SELECT 1 FROM fact_session WHERE session_id = NEW.session_id AND NOT assistant) BEGIN
    UPDATE fact_session SET assistant = 1 WHERE session_id = NEW.session_id;
    INSERT OR IGNORE INTO fact_due
        SELECT id FROM message WHERE session_id = NEW.session_id AND talk AND role = 'user';
END;
CREATE TRIGGER fact_due_scoped AFTER UPDATE OF storage_scope ON session
    WHEN OLD.storage_scope <> NEW.storage_scope BEGIN
    INSERT OR IGNORE INTO fact_due SELECT id FROM message WHERE session_id = NEW.id AND talk AND role = 'user';
END;
CREATE TRIGGER fact_statement_new AFTER INSERT ON fact_statement BEGIN
    INSERT OR IGNORE INTO fact_stale VALUES (NEW.user_id, NEW.namespace, NEW.slot);
END;
CREATE TRIGGER fact_statement_gone AFTER DELETE ON fact_statement BEGIN
    INSERT OR IGNORE INTO fact_stale VALUES (OLD.user_id, OLD.namespace, OLD.slot);
END;
-- A fact without a decision of the person is deleted with the last of its evidence.
CREATE TRIGGER fact_unfounded AFTER DELETE ON fact_evidence BEGIN
    DELETE FROM fact WHERE id = OLD.fact_id AND NOT decided
        AND NOT EXISTS (SELECT 1 FROM fact_evidence WHERE fact_id = OLD.fact_id);
END;

-- Erasures ------------------------------------------------------------------------------------------------------------

-- The receipt of an erasure, without any word of what was erased. It is open until no file of the home has a trace.
CREATE TABLE erasure (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'done')),
    counts TEXT NOT NULL,
    proof TEXT NOT NULL DEFAULT '{}'
);

-- The keyed digest of an erased message's ids, so that reading the same export again does not bring it back.
CREATE TABLE forgotten (
    digest BLOB PRIMARY KEY
) WITHOUT ROWID;

-- The single key of these digests.
CREATE TABLE forgotten_key (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    key BLOB NOT NULL
);
