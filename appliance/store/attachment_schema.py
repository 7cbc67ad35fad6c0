"""The migration that adds what conversations carry besides words: attachments, links and tags. See ``migrations``."""

from __future__ import annotations

ATTACHMENTS_AND_TAGS = (
    """
-- The names of attachments in the metadata of messages. Text that is no JSON has none.
CREATE VIEW attached_name AS SELECT m.id AS message_id, j.key AS number,
    coalesce(nullif(CASE j.type WHEN 'text' THEN j.value
        ELSE CAST(json_extract(j.value, '$.name') AS TEXT) END, ''), 'file') AS name
    FROM message m,
        json_each(CASE WHEN json_valid(m.metadata) THEN m.metadata ELSE '{}' END, '$.attachments') j
    WHERE instr(m.metadata, '"attachments"') AND typeof(j.key) = 'integer' AND j.type IN ('object', 'text')""",
    """
-- The catalogue of attachments: their names from the metadata of messages, and what an export knows of the files.
-- The path is relative to the folder of the source. The kind follows from the type, else from the ending of the name.
CREATE TABLE attachment (
    message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    path TEXT,
    type TEXT,
    size INTEGER,
    digest TEXT,
    source_id INTEGER REFERENCES source ON DELETE SET NULL,
    kind TEXT GENERATED ALWAYS AS (CASE
        WHEN substr(coalesce(type, ''), 1, 6) IN ('image/', 'video/', 'audio/') THEN substr(type, 1, 5)
        WHEN lower(replace(name, rtrim(name, replace(name, '.', '')), '')) IN ('jpg', 'jpeg', 'png', 'gif', 'webp',
            'heic', 'heif', 'bmp', 'tif', 'tiff', 'svg', 'avif', 'ico', 'image', 'photo', 'picture', 'sticker')
            THEN 'image'
        WHEN lower(replace(name, rtrim(name, replace(name, '.', '')), '')) IN ('mp4', 'mov', 'm4v', 'avi', 'mkv',
            'webm', '3gp', 'mpg', 'mpeg', 'wmv', 'flv', 'video', 'video file', 'video message', 'animation')
            THEN 'video'
        WHEN lower(replace(name, rtrim(name, replace(name, '.', '')), '')) IN ('mp3', 'm4a', 'aac', 'ogg', 'oga',
            'opus', 'wav', 'flac', 'amr', 'wma', 'caf', 'aiff', 'audio', 'audio file', 'voice message')
            THEN 'audio'
        ELSE 'file' END) VIRTUAL,
    PRIMARY KEY (message_id, number)
) WITHOUT ROWID""",
    "CREATE INDEX attachment_kind ON attachment (kind, message_id)",
    "CREATE INDEX attachment_source ON attachment (source_id) WHERE source_id IS NOT NULL",
    "INSERT INTO attachment (message_id, number, name) SELECT message_id, number, name FROM attached_name",
    """
-- The messages that have the address of a page.
CREATE TABLE message_link (message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE)""",
    "CREATE VIEW linking AS SELECT id AS message_id FROM message WHERE instr(text, 'http://') OR instr(text, 'https://')",
    "INSERT INTO message_link SELECT message_id FROM linking",
    """
-- The tags of sessions, in the form in which they are compared.
CREATE TABLE session_tag (
    session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (session_id, tag)
) WITHOUT ROWID""",
    "CREATE INDEX session_tag_tag ON session_tag (tag)",
)
