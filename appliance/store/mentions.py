"""Mentions: the tools that messages call, and the files that they touch, carry or name. Derived from the messages.

They are compared without case; a file by its last part or by the end of its path.
"""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol

from appliance.errors import UsageError
from appliance.store.sql import JSON_KEYS_SQL, has_row, json_keys, pages
from appliance.store.visibility import visibility_filter
from appliance.types import Filters
from appliance.types.file_names import paths

MentionKind = Literal["tool", "file"]

TOOL: Final = "tool"
FILE: Final = "file"

MAX_MENTIONS = 50
"""The most mentions of a message: a listing of files is about none of them."""

EDITING_TOOLS = ("*edit*", "*write*", "*patch*", "*replace*", "create*file", "delete*file", "*rename*", "*applydiff*")
"""Patterns of the names of tools that change a file, such as Edit, apply_patch and write_file."""

MAX_VALUE_CHARACTERS = 400

_SAID_BY = {"user", "assistant"}
_WILDCARD = re.compile(r"[*?]")

MENTIONS = (
    """
-- The tools that messages call and the files that they touch, carry or name. See mentions.py.
CREATE TABLE mention (
    message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('tool', 'file')),
    name TEXT NOT NULL,  -- in the form that is compared; of a file its last part
    path TEXT NOT NULL,  -- of a file; empty for a tool
    PRIMARY KEY (message_id, kind, name, path)
) WITHOUT ROWID""",
    "CREATE INDEX mention_name ON mention (kind, name)",
)
"""The statements of the migration that adds them."""

FILL_SQL = (
    "INSERT OR IGNORE INTO mention (message_id, kind, name, path)"
    " SELECT m.id, json_extract(j.value, '$[0]'), json_extract(j.value, '$[1]'), json_extract(j.value, '$[2]')"
    " FROM message m, json_each(mentions_of(m.role, CAST(m.text AS BLOB), CAST(m.metadata AS BLOB))) j"
)
"""Derives the mentions of all messages."""


class Mention(NamedTuple):
    """A mention as it is stored."""

    kind: MentionKind
    name: str
    path: str


class MessageText(Protocol):
    """What mentions are read from."""

    @property
    def role(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def metadata(self) -> str: ...


# --- derived from messages ---------------------------------------------------------------------------


def mentions_of(role: str, text: str, metadata: str) -> list[Mention]:
    """Return the mentions of a message, at most ``MAX_MENTIONS``.

    Args:
        role: Its role. What a tool returns names no file, or a listing would be about all files in it.
        text: Its text.
        metadata: Its metadata as JSON. Text that is no JSON says nothing.
    """
    tools: list[str] = []
    files: list[str] = []
    is_call = False
    if '"tools"' in metadata or '"files"' in metadata or '"attachments"' in metadata:
        known = _decode(metadata)
        tools = list(_names(known, "tools", "name"))
        files = [
            *_names(known, "files", "path"),
            *(name for name in _names(known, "attachments", "name") if "." in name),
        ]
        is_call = any(isinstance(one, Mapping) and one.get("kind") == "call" for one in _listed(known, "tools"))
    if role in _SAID_BY or (is_call and not files):
        files += paths(text)
    found = [Mention(TOOL, name, "") for tool in tools if (name := _fold(tool))]
    found += [Mention(FILE, path.rpartition("/")[2], path) for file in files if (path := _fold_path(file))]
    return list(dict.fromkeys(found))[:MAX_MENTIONS]


def add(tx: sqlite3.Connection, written: Iterable[tuple[int, MessageText]]) -> None:
    """Derive the mentions of new messages."""
    tx.executemany(
        "INSERT OR IGNORE INTO mention VALUES (?, ?, ?, ?)",
        [(key, *mention) for key, one in written for mention in mentions_of(one.role, one.text, one.metadata)],
    )


def register(connection: sqlite3.Connection) -> None:
    """Give a connection the function that ``FILL_SQL`` needs. It gets bytes: text that is not UTF-8 may be damaged."""

    def encoded(role: object, text: bytes | None, metadata: bytes | None) -> str:
        values = ((value or b"").decode("utf-8", "replace") for value in (text, metadata))
        return json.dumps(mentions_of(str(role), *values))

    connection.create_function("mentions_of", 3, encoded, deterministic=True)


def _decode(metadata: str) -> Mapping[str, Any]:
    try:
        decoded = json.loads(metadata)
    except (ValueError, RecursionError):
        return {}
    return decoded if isinstance(decoded, Mapping) else {}


def _listed(metadata: Mapping[str, Any], key: str) -> Sequence[Any]:
    listed = metadata.get(key)
    return listed if isinstance(listed, list) else ()


def _names(metadata: Mapping[str, Any], key: str, name: str) -> Iterator[str]:
    """The names under a key of the metadata, which holds names or objects with a name."""
    for item in _listed(metadata, key):
        value = item.get(name) or item.get("name") if isinstance(item, Mapping) else item
        if isinstance(value, str):
            yield value


def _fold(name: str) -> str:
    """A name as it is compared; empty if it is too long for one."""
    # The database takes no lone surrogates, which JSON can spell.
    plain = name.strip().encode("utf-8", "replace").decode()
    folded = " ".join(unicodedata.normalize("NFKC", plain).casefold().split())
    return folded if len(folded) <= MAX_VALUE_CHARACTERS else ""


def _fold_path(path: str) -> str:
    return _fold(path).replace("\\", "/").removeprefix("./").rstrip("/")


# --- found -------------------------------------------------------------------------------------------


def messages_mentioning(
    db: sqlite3.Connection, filters: Filters, kind: MentionKind, values: Sequence[str], called: Sequence[str] = ()
) -> set[int]:
    """Return the messages of the scope of filters that are about any of these tools or files. What a session withholds
    says nothing about the turns that it shares.

    A message is if it mentions one. A tool's record speaks for the turns around it too: for what a person asked for
    before it, what the assistant said before it, and what the assistant said next.

    Args:
        db: The connection.
        filters: Whose messages, and from where the query comes.
        kind: Tools or files.
        values: Names; of a tool of an MCP server, the part behind the last "__" suffices. Of a file, its last part, the
            end of its path, or its last part without the suffix. "*" stands for any characters.
        called: Patterns of names of tools: only messages that call one of these count as mentioning a file.

    Raises:
        UsageError: A value is empty or too long.
    """
    # In pages: SQLite takes an expression of at most a thousand parts.
    return {key for page in pages(values) for key in _page_of_messages(db, filters, kind, page, called)}


def _page_of_messages(
    db: sqlite3.Connection, filters: Filters, kind: MentionKind, values: Sequence[str], called: Sequence[str]
) -> Iterator[int]:
    condition, parameters = _condition(kind, values)
    if called:
        by_tool = " OR ".join("c.name GLOB ?" for _ in called)
        condition += (
            " AND EXISTS (SELECT 1 FROM mention c WHERE c.message_id = n.message_id AND c.kind = 'tool'"
            f" AND ({by_tool}))"
        )
        parameters += called
    before = "(t.order_at, t.position, t.id) < (d.order_at, d.position, d.id)"
    turn = (
        "SELECT {what} FROM message t WHERE t.session_id = d.session_id AND t.talk = 1 AND {where}"
        " ORDER BY {order} LIMIT 1"
    )
    latest = "t.order_at DESC, t.position DESC, t.id DESC"
    next_first = latest.replace("DESC", "ASC")
    asked = turn.format(what="t.id", where=f"{before} AND t.role = 'user'", order=latest)
    said = turn.format(what="t.id", where=before, order=latest)
    answer = turn.format(
        what="CASE t.role WHEN 'assistant' THEN t.id END", where=before.replace("<", ">"), order=next_first
    )
    own, own_values = _visible(filters)
    rows = db.execute(
        "WITH direct AS MATERIALIZED (SELECT m.id, m.session_id, m.order_at, m.position, m.role FROM message m"
        f" JOIN session s ON s.id = m.session_id WHERE {own}"
        f" AND m.id IN (SELECT n.message_id FROM mention n WHERE {condition})),"
        " record AS (SELECT * FROM direct WHERE role = 'tool')"
        f" SELECT id FROM direct UNION SELECT ({asked}) FROM record d UNION SELECT ({said}) FROM record d"
        f" UNION SELECT ({answer}) FROM record d",
        (*own_values, *parameters),
    )
    return (key for (key,) in rows if key is not None)


def is_mentioned(db: sqlite3.Connection, filters: Filters, kind: MentionKind, value: str) -> bool:
    """Whether a message of the scope of filters mentions a tool or file, given as to ``messages_mentioning``."""
    condition, parameters = _condition(kind, [value])
    own, own_values = _visible(filters)
    return has_row(
        db,
        "SELECT 1 FROM mention n JOIN message m ON m.id = n.message_id JOIN session s ON s.id = m.session_id"
        f" WHERE {condition} AND {own} LIMIT 1",
        (*parameters, *own_values),
    )


def chunks_of(db: sqlite3.Connection, messages: Iterable[int]) -> list[int]:
    """Return the chunks, of all generations, of messages."""
    rows = db.execute(f"SELECT id FROM chunk WHERE message_id IN {JSON_KEYS_SQL}", (json_keys(messages),))
    return [key for (key,) in rows]


def counts(db: sqlite3.Connection, filters: Filters, kind: MentionKind, limit: int = -1) -> dict[str, int]:
    """Return the names of the tools or files in the scope of filters, with their numbers of messages, most first."""
    own, own_values = _visible(filters)
    rows = db.execute(
        "SELECT n.name, count(DISTINCT n.message_id) FROM mention n JOIN message m ON m.id = n.message_id"
        f" JOIN session s ON s.id = m.session_id WHERE n.kind = ? AND {own} GROUP BY n.name ORDER BY 2 DESC, 1 LIMIT ?",
        (kind, *own_values, limit),
    )
    return dict(rows.fetchall())


def _visible(filters: Filters) -> tuple[str, tuple[object, ...]]:
    """A condition on ``message m`` and ``session s``, and its parameters: what a search of the scope may find."""
    visible, values = visibility_filter(filters.of_whole_scope())
    scope = filters.scope
    return f"s.user_id = ? AND s.namespace = ? AND {visible}", (scope.user_id, scope.namespace, *values)


def _condition(kind: MentionKind, values: Sequence[str]) -> tuple[str, list[str]]:
    """A condition on ``mention n``, and its parameters: it is of any of the values."""
    options: list[str] = []
    parameters: list[str] = [kind]
    for value in values:
        wanted = _fold_path(value) if kind == FILE else _fold(value)
        if not wanted:
            raise UsageError(f"The name of a {kind} is empty or too long: {value[:40]!r}.")
        column = "n.path" if "/" in wanted else "n.name"
        if _WILDCARD.search(wanted):
            options.append(f"{column} GLOB ?")
            parameters.append(f"*{wanted}" if "/" in wanted else wanted)
        elif kind == TOOL:
            options.append("(n.name = ? OR n.name GLOB ?)")
            parameters += [wanted, f"*__{wanted}"]
        elif "/" in wanted:
            name = wanted.rpartition("/")[2]
            options.append("(n.name = ? AND (n.path = ? OR substr(n.path, -length(?)) = ?))")
            parameters += [name, wanted, f"/{wanted}", f"/{wanted}"]
        elif "." in wanted.lstrip("."):
            options.append("n.name = ?")
            parameters.append(wanted)
        else:  # "/" is the character behind "."
            options.append("(n.name = ? OR (n.name >= ? AND n.name < ?))")
            parameters += [wanted, f"{wanted}.", f"{wanted}/"]
    return f"n.kind = ? AND ({' OR '.join(options)})", parameters
