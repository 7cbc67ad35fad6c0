"""SQLite databases of coding agents: Goose, OpenCode, Crush, Hermes, Cursor, Kiro and Zed, and of Ollama and llm.

Each session becomes an object with its messages, as the programs write them into files, for ``agents`` to read. Goose,
Crush, Hermes and OpenCode have a table of sessions and one of messages (OpenCode also one of parts) and differ in their
columns; Cursor keeps JSON under keys, Zed a JSON document for each thread.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from appliance.formats import sqlite
from appliance.formats import text as texts
from appliance.formats.agent_logs import LogEntry
from appliance.formats.agent_shapes import time_of
from appliance.formats.base import Document
from appliance.formats.json_fields import as_dict, as_list, as_text, first_text
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem

_SESSION_TABLES = ("sessions", "session", "conversations", "threads", "chats")
_MESSAGE_TABLES = ("messages", "message")
_SESSION_KEYS = ("session_id", "sessionId", "sessionID", "conversation_id", "thread_id", "chat_id")
_MESSAGE_KEYS = ("message_id", "messageId", "messageID")
# What the other columns are called where an object has another name for the same.
_COLUMNS = {
    "content_json": "content", "metadata_json": "metadata", "working_dir": "cwd", "working_directory": "cwd",
    "directory": "cwd", "parent_session_id": "parent_id", "created_timestamp": "created",
}  # fmt: skip
_CHATS_KEY = "workbench.panel.aichat.view.aichat.chatdata"
_PROMPTS_KEY = "aiService.prompts"
_CURSOR_ROLES = {1: "user", 2: "assistant", "user": "user", "ai": "assistant"}


def confidence(tables: frozenset[str]) -> float:
    """How surely a database with these tables is one of an agent."""
    if {"session", "message", "part"} <= tables:
        return 0.9
    if "cursorDiskKV" in tables or "conversations_v2" in tables or {"chats", "messages", "tool_calls"} <= tables:
        return 0.9
    if {"conversations", "responses"} <= tables:
        return 0.8
    if {"sessions", "messages"} <= tables:
        return 0.7
    return 0.6 if tables & {"ItemTable", "threads"} and not tables & {"message", "messages", "chat"} else 0.0


def is_database(document: Document) -> bool:
    """Whether a document is an SQLite database.

    Raises: the errors of reading (``text.READ_ERRORS``)."""
    with document.open() as stream:
        return texts.read_some(stream, len(sqlite.MAGIC)).startswith(sqlite.MAGIC)


def sessions(document: Document) -> Iterator[LogEntry | InputProblem]:
    """The sessions of a database, each as one object with ``messages``."""
    try:
        with sqlite.open_readonly(document) as connection:
            connection.row_factory = sqlite3.Row
            database = _AgentDatabase(connection)
            if tables := database.keyed_tables():
                yield from _cursor_sessions(database, tables)
            elif "conversations_v2" in database.tables:
                yield from _keyed_conversations(database)
            elif "threads" in database.tables and "data" in database.columns("threads"):
                yield from _zed_threads(database)
            else:
                yield from _table_sessions(database)
    except sqlite3.DatabaseError as error:
        yield InputProblem("", f"the database can't be read: {error}")
    except texts.READ_ERRORS as error:
        yield InputProblem("", f"can't be read: {getattr(error, 'strerror', None) or error}")


@dataclass(frozen=True, slots=True)
class _AgentDatabase:
    """A database, open for reading."""

    connection: sqlite3.Connection

    @property
    def tables(self) -> list[str]:
        rows = self.connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        return [name for (name,) in rows]

    def columns(self, table: str) -> list[str]:
        return [name for _, name, *_ in self.connection.execute(f"PRAGMA table_info({_quoted(table)})")]

    def keyed_tables(self) -> list[str]:
        """Cursor's tables of JSON under keys."""
        return [name for name in self.tables if name in ("cursorDiskKV", "ItemTable")]

    def rows(self, table: str, where: str = "", values: tuple[Any, ...] = (), order: str = "rowid") -> Iterator[Any]:
        """The rows of a table as objects, JSON in them decoded."""
        condition = f" WHERE {where}" if where else ""
        for row in self.connection.execute(f"SELECT * FROM {_quoted(table)}{condition} ORDER BY {order}", values):
            yield {_COLUMNS.get(name, name): _decoded(row[name]) for name in row.keys()}  # noqa: SIM118


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _decoded(value: Any) -> Any:
    """A column's value; the value of JSON where it holds an object or a list."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


# --- tables of sessions and messages ------------------------------------------------------------------


def _table_sessions(database: _AgentDatabase) -> Iterator[LogEntry | InputProblem]:
    tables = database.tables
    table = next((name for name in _SESSION_TABLES if name in tables), None)
    message_table = next((name for name in _MESSAGE_TABLES if name in tables), None)
    if table is None:
        return
    key = next((name for name in _SESSION_KEYS if message_table and name in database.columns(message_table)), None)
    part_key = next((name for name in _MESSAGE_KEYS if "part" in tables and name in database.columns("part")), None)
    for number, session in enumerate(database.rows(table), 1):
        where = f"session {number}"
        messages = as_list(session.pop("messages", None))
        if message_table is None and "responses" in tables:
            rows = database.rows("responses", "conversation_id = ?", (session.get("id"),))
            messages = [message for row in rows for message in _prompt_and_response(row)]
        if message_table and key:
            messages = [
                _message(database, row, part_key)
                for row in database.rows(message_table, f"{_quoted(key)} = ?", (session.get("id"),))
            ]
            messages.sort(key=_position)
        yield LogEntry(_session(session) | {"messages": messages}, where)


def _prompt_and_response(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages of a row of llm, which holds a prompt and its response."""
    when, identity = row.get("datetime_utc"), row.get("id")
    for role, key in (("system", "system"), ("user", "prompt"), ("assistant", "response")):
        if row.get(key):
            answer = {"model": row.get("model")} if role == "assistant" else {}
            yield {"role": role, "content": row[key], "id": f"{identity}-{key}", "timestamp": when} | answer


def _keyed_conversations(database: _AgentDatabase) -> Iterator[LogEntry]:
    """Kiro's and Amazon Q's conversations: JSON under the folder that they are about."""
    for number, row in enumerate(database.rows("conversations_v2"), 1):
        value = as_dict(row.get("value"))
        facts = {
            "conversation_id": row.get("conversation_id"),
            "cwd": row.get("key"),
            "created_at": row.get("created_at"),
        }
        yield LogEntry(value | {key: one for key, one in facts.items() if one}, f"conversation {number}")


def _session(row: dict[str, Any]) -> dict[str, Any]:
    """What a row tells about a session."""
    title = first_text(row, "title", "name", "description", "summary")
    parent = row.get("parent_id")
    return {
        "id": row.get("id"), "title": title, "cwd": as_text(row.get("cwd")), "created_at": time_of(row),
        "parent_session": parent if isinstance(parent, str) and parent else None,
    }  # fmt: skip


def _message(database: _AgentDatabase, row: dict[str, Any], part_key: str | None) -> dict[str, Any]:
    """A row as the object of a message; OpenCode has the object in a column, and the parts in a table."""
    data = row.pop("data", None)
    if part_key is None:
        return row | as_dict(data)
    info = as_dict(data) | {"id": row.get("id")}
    info.setdefault("time", {"created": time_of(row)})
    parts = [
        as_dict(part.get("data")) | {"id": part.get("id")}
        for part in database.rows("part", f"{_quoted(part_key)} = ?", (row.get("id"),))
    ]
    parts.sort(key=lambda part: as_text(part.get("id")))
    return {"info": info, "parts": parts}


def _position(message: dict[str, Any]) -> float:
    """When a message was sent, in the unit of its program; messages without a time come first."""
    when = time_of(as_dict(message.get("info")) or message)
    return float(when) if isinstance(when, int | float) else 0.0


# --- Cursor -------------------------------------------------------------------------------------------


def _cursor_sessions(database: _AgentDatabase, tables: list[str]) -> Iterator[LogEntry | InputProblem]:
    number = 0
    for table in tables:
        for row in database.rows(table, "key LIKE 'composerData:%'"):
            if composer := as_dict(row.get("value")):
                number += 1
                identity = as_text(composer.get("composerId")) or row["key"].partition(":")[2]
                yield LogEntry(_composer(database, table, identity, composer), f"conversation {number}")
        for row in database.rows(table, "key = ?", (_CHATS_KEY,)):
            for tab in map(as_dict, as_list(as_dict(row.get("value")).get("tabs"))):
                number += 1
                messages = [_bubble(bubble) for bubble in map(as_dict, as_list(tab.get("bubbles")))]
                facts = {"id": tab.get("tabId"), "title": tab.get("chatTitle"), "created_at": time_of(tab)}
                yield LogEntry(facts | {"messages": messages}, f"conversation {number}")
        if not number:
            # The prompts repeat those of the conversations, and are all that is left where there are none.
            for row in database.rows(table, "key = ?", (_PROMPTS_KEY,)):
                prompts = [{"role": "user"} | as_dict(one) for one in as_list(row.get("value"))]
                yield LogEntry({"title": "Prompts", "messages": prompts}, "prompts")


def _composer(database: _AgentDatabase, table: str, identity: str, composer: dict[str, Any]) -> dict[str, Any]:
    """A conversation, with its bubbles in place or under keys of their own."""
    bubbles = [as_dict(one) for one in as_list(composer.get("conversation"))]
    bubbles += [as_dict(one) for one in as_dict(composer.get("conversationMap")).values() if not bubbles]
    if not bubbles:
        prefix = f"bubbleId:{identity}:"
        found = {
            row["key"].removeprefix(prefix): as_dict(row.get("value"))
            for row in database.rows(table, "substr(key, 1, ?) = ?", (len(prefix), prefix))
        }
        named = [as_text(as_dict(one).get("bubbleId")) for one in as_list(composer.get("fullConversationHeadersOnly"))]
        order = [key for key in named if key in found] + [key for key in found if key not in named]
        bubbles = [{"bubbleId": key} | found[key] for key in order]
    facts = {"id": identity, "title": composer.get("name"), "created_at": composer.get("createdAt")}
    return facts | {"messages": [_bubble(bubble) for bubble in bubbles]}


def _bubble(bubble: dict[str, Any]) -> dict[str, Any]:
    """A bubble as a message: its reasoning, its words, and the call of a tool with its result."""
    role = _CURSOR_ROLES.get(bubble.get("type") if isinstance(bubble.get("type"), int | str) else "", "tool")
    content: list[dict[str, Any]] = []
    if thought := first_text(as_dict(bubble.get("thinking")), "text"):
        content.append({"type": "thinking", "thinking": thought})
    if words := first_text(bubble, "text", "rawText", "content", "message"):
        content.append({"type": "text", "text": words})
    if tool := as_dict(bubble.get("toolFormerData")):
        call = {
            "id": tool.get("toolCallId"),
            "name": tool.get("name"),
            "input": tool.get("rawArgs", tool.get("params")),
        }
        content.append({"type": "tool_use"} | call)
        if result := first_text(tool, "result"):
            content.append({"type": "tool_result", "tool_use_id": tool.get("toolCallId"), "content": result})
    model = as_text(as_dict(bubble.get("modelInfo")).get("modelName"))
    return {
        "role": role,
        "content": content,
        "id": bubble.get("bubbleId"),
        "timestamp": time_of(bubble),
        "model": model,
    }


# --- Zed ----------------------------------------------------------------------------------------------


def _zed_threads(database: _AgentDatabase) -> Iterator[LogEntry | InputProblem]:
    for number, row in enumerate(database.connection.execute("SELECT * FROM threads ORDER BY rowid"), 1):
        fields = {name: row[name] for name in row.keys()}  # noqa: SIM118
        where = f"thread {number}"
        data = fields.pop("data")
        try:
            thread = json.loads(_unpacked(data) if as_text(fields.get("data_type")) == "zstd" else data)
        except (ValueError, RecursionError, TypeError) as error:
            yield InputProblem(where, f"can't be read: {error}")
            continue
        facts = _session(fields | {"created": fields.get("created_at") or fields.get("updated_at")})
        yield LogEntry(facts | {"messages": list(_zed_messages(as_dict(thread)))}, where)


def _zed_messages(thread: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages of a thread; an answer's results stand beside its content."""
    for message in map(as_dict, as_list(thread.get("messages"))):
        yield message
        results = as_dict(as_dict(message.get("Agent")).get("tool_results"))
        if results:
            blocks = [{"type": "tool_result", "tool_use_id": key} | as_dict(one) for key, one in results.items()]
            yield {"role": "tool", "content": blocks}


def _unpacked(data: bytes) -> bytes:
    """The JSON of a thread that is compressed.

    Raises: ValueError if it is damaged, or larger than any thread."""
    import zstandard

    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
