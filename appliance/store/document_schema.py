"""The migration that adds the text of attached documents, and copies of attachments. See ``migrations``."""

from __future__ import annotations

DOCUMENTS = (
    # What became of an attachment's text, and why; NULL: it was not looked for yet. See documents.py.
    "ALTER TABLE attachment ADD COLUMN text_state TEXT CHECK (text_state IN"
    " ('none', 'unavailable', 'missing', 'read', 'partial', 'failed', 'forgotten'))",
    "ALTER TABLE attachment ADD COLUMN pages INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE attachment ADD COLUMN problem TEXT",
    # Whether the home has a copy of the file, under its digest. See kept_files.py.
    "ALTER TABLE attachment ADD COLUMN kept INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX attachment_unread ON attachment (message_id) WHERE text_state IS NULL AND digest IS NOT NULL",
    "CREATE INDEX attachment_kept ON attachment (digest) WHERE kept = 1",
    """
-- Which messages are pages of documents, by their metadata. Text that is no JSON says nothing.
CREATE VIEW document_place AS SELECT d.message_id AS message_id, d.session_id AS session_id,
    json_extract(d.document, '$.message') AS parent, json_extract(d.document, '$.digest') AS digest
    FROM (SELECT m.id AS message_id, m.session_id AS session_id,
        coalesce(json_extract(
            CASE WHEN json_valid(m.metadata) THEN m.metadata ELSE '{}' END, '$.document'), '') AS document
        FROM message m WHERE instr(m.metadata, '"document"') AND m.role = 'system') d
    WHERE CASE WHEN json_valid(d.document) AND substr(d.document, 1, 1) = '{' THEN
        json_type(d.document, '$.name') = 'text' AND json_type(d.document, '$.message') = 'text'
        AND json_type(d.document, '$.digest') = 'text' ELSE 0 END""",
    """
-- A message that is a page of a document, with the message that carries the document, if that is known.
CREATE TABLE document_page (
    message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE,
    parent_id INTEGER REFERENCES message ON DELETE SET NULL,
    digest TEXT NOT NULL
)""",
    "CREATE INDEX document_page_parent ON document_page (parent_id)",
)
