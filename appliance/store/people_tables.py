"""The migration that adds people: what sources say of authors, and whom they are derived to be.

Sources say profiles (``profile``, ``profile_identity``), whose they are (``participant``, ``contact_file``), and
triggers keep the authors of each session (``session_author``). A person decides (``person_decision``). From these,
``person``, ``person_identity``, ``person_evidence`` and the people of ``session_author`` follow, which can be derived
again.
"""

from __future__ import annotations

PEOPLE_TABLES = (
    """
-- An account or an address-book entry, as one source describes it. ``key`` tells it from others of the source.
CREATE TABLE profile (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    me INTEGER NOT NULL DEFAULT 0,
    UNIQUE (user_id, namespace, source, key)
)""",
    """
-- A name, an address, a number or an id of a profile.
CREATE TABLE profile_identity (
    profile_id INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (profile_id, kind, value)
) WITHOUT ROWID""",
    """
-- An author who wrote in a session, and the person that this is; NULL where it is not known.
CREATE TABLE session_author (
    session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
    author TEXT NOT NULL,
    person_id INTEGER,
    PRIMARY KEY (session_id, author)
) WITHOUT ROWID""",
    "CREATE INDEX session_author_person ON session_author (person_id) WHERE person_id IS NOT NULL",
    """
-- The profile of an author of a session; several say that several people have the name there.
CREATE TABLE participant (
    session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
    author TEXT NOT NULL,
    profile_id INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE,
    PRIMARY KEY (session_id, author, profile_id)
) WITHOUT ROWID""",
    "CREATE INDEX participant_profile ON participant (profile_id)",
    """
-- A file that holds a profile as an entry of an address book.
CREATE TABLE contact_file (
    profile_id INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE,
    source_id INTEGER NOT NULL REFERENCES source ON DELETE CASCADE,
    PRIMARY KEY (profile_id, source_id)
) WITHOUT ROWID""",
    "CREATE INDEX contact_file_source ON contact_file (source_id)",
    """
-- A person, derived from profiles, authors and decisions.
CREATE TABLE person (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    me INTEGER NOT NULL DEFAULT 0
)""",
    "CREATE INDEX person_owner ON person (user_id, namespace)",
    """
-- An identity of a person. Some are only names that an account goes by: they are no evidence that two are one (bare).
CREATE TABLE person_identity (
    person_id INTEGER NOT NULL REFERENCES person ON DELETE CASCADE,
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    bare INTEGER NOT NULL,
    PRIMARY KEY (person_id, source, kind, value)
) WITHOUT ROWID""",
    """
-- The person that an identity was first of, by which people keep their ids when they are merged and split again.
CREATE TABLE person_node (
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    person_id INTEGER NOT NULL,
    PRIMARY KEY (user_id, namespace, source, kind, value)
) WITHOUT ROWID""",
    """
-- Why identities of a person were linked: the names and values that two of them share, in words.
CREATE TABLE person_evidence (
    person_id INTEGER NOT NULL REFERENCES person ON DELETE CASCADE,
    words TEXT NOT NULL,
    PRIMARY KEY (person_id, words)
) WITHOUT ROWID""",
    """
-- What a person decided about people, in order: JSON lists of [source, kind, value]. An undone decision is deleted.
CREATE TABLE person_decision (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('merge', 'split', 'rename', 'me')),
    identities TEXT NOT NULL,
    others TEXT NOT NULL DEFAULT '[]',
    name TEXT,
    at INTEGER NOT NULL
)""",
    "CREATE INDEX person_decision_owner ON person_decision (user_id, namespace)",
    """
-- A scope whose people have to be derived again.
CREATE TABLE people_stale (
    user_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    PRIMARY KEY (user_id, namespace)
) WITHOUT ROWID""",
    # By it, authors are listed, and their messages counted, without reading the messages.
    "DROP INDEX message_author",
    "CREATE INDEX message_author ON message (author, session_id, role, at) WHERE author IS NOT NULL",
    """
-- The messages of the person in conversations with an assistant, which name no author.
CREATE INDEX message_unsigned ON message (session_id, at) WHERE author IS NULL AND role = 'user' AND talk = 1""",
    """
CREATE TRIGGER author_new AFTER INSERT ON message
    WHEN NEW.author IS NOT NULL AND NEW.role = 'user' AND typeof(NEW.author) = 'text' BEGIN
    INSERT OR IGNORE INTO session_author (session_id, author) VALUES (NEW.session_id, NEW.author);
END""",
    """
CREATE TRIGGER author_gone AFTER DELETE ON message
    WHEN OLD.author IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM message WHERE author = OLD.author AND session_id = OLD.session_id AND role = 'user'
    ) BEGIN
    DELETE FROM session_author WHERE session_id = OLD.session_id AND author = OLD.author;
END""",
    """
CREATE TRIGGER author_changed AFTER UPDATE OF author, role, session_id ON message
    WHEN (OLD.author, OLD.role, OLD.session_id) IS NOT (NEW.author, NEW.role, NEW.session_id) BEGIN
    INSERT OR IGNORE INTO session_author (session_id, author)
        SELECT NEW.session_id, NEW.author
        WHERE NEW.author IS NOT NULL AND NEW.role = 'user' AND typeof(NEW.author) = 'text';
    DELETE FROM session_author WHERE session_id = OLD.session_id AND author = OLD.author AND NOT EXISTS (
        SELECT 1 FROM message WHERE author = OLD.author AND session_id = OLD.session_id AND role = 'user'
    );
END""",
    """
CREATE TRIGGER session_author_new AFTER INSERT ON session_author BEGIN
    INSERT OR IGNORE INTO people_stale SELECT user_id, namespace FROM session WHERE id = NEW.session_id;
END""",
    """
-- What nothing backs any more goes: an author without messages, a profile without authors or files.
CREATE TRIGGER session_author_gone AFTER DELETE ON session_author BEGIN
    INSERT OR IGNORE INTO people_stale SELECT user_id, namespace FROM person WHERE id = OLD.person_id;
    DELETE FROM participant WHERE session_id = OLD.session_id AND author = OLD.author;
END""",
    """
CREATE TRIGGER participant_new AFTER INSERT ON participant BEGIN
    INSERT OR IGNORE INTO people_stale SELECT user_id, namespace FROM profile WHERE id = NEW.profile_id;
END""",
    """
CREATE TRIGGER participant_gone AFTER DELETE ON participant
    WHEN NOT EXISTS (SELECT 1 FROM participant WHERE profile_id = OLD.profile_id)
        AND NOT EXISTS (SELECT 1 FROM contact_file WHERE profile_id = OLD.profile_id) BEGIN
    DELETE FROM profile WHERE id = OLD.profile_id;
END""",
    """
CREATE TRIGGER contact_file_gone AFTER DELETE ON contact_file
    WHEN NOT EXISTS (SELECT 1 FROM participant WHERE profile_id = OLD.profile_id)
        AND NOT EXISTS (SELECT 1 FROM contact_file WHERE profile_id = OLD.profile_id) BEGIN
    DELETE FROM profile WHERE id = OLD.profile_id;
END""",
    """
CREATE TRIGGER profile_identity_new AFTER INSERT ON profile_identity BEGIN
    INSERT OR IGNORE INTO people_stale SELECT user_id, namespace FROM profile WHERE id = NEW.profile_id;
END""",
    """
CREATE TRIGGER profile_gone AFTER DELETE ON profile BEGIN
    INSERT OR IGNORE INTO people_stale VALUES (OLD.user_id, OLD.namespace);
END""",
    """
INSERT INTO session_author (session_id, author) SELECT DISTINCT session_id, author FROM message
    WHERE author IS NOT NULL AND role = 'user' AND typeof(author) = 'text'""",
    """
CREATE TRIGGER person_decision_new AFTER INSERT ON person_decision BEGIN
    INSERT OR IGNORE INTO people_stale VALUES (NEW.user_id, NEW.namespace);
END""",
    """
CREATE TRIGGER person_decision_gone AFTER DELETE ON person_decision BEGIN
    INSERT OR IGNORE INTO people_stale VALUES (OLD.user_id, OLD.namespace);
END""",
)
