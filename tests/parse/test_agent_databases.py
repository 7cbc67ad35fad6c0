"""Databases of agents: Goose, Crush, OpenCode, Hermes, Cursor and Zed, read without being changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.parse.agent_files import ANSWER, QUESTION, SECONDS, START, TALK, goose_request, goose_response, read_folder

SCHEMAS = {
    "goose": (
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, working_dir TEXT,"
        " created_at TIMESTAMP);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT,"
        " created_timestamp INTEGER, metadata_json TEXT);",
        {
            "sessions": [("20260105_1", "Free piers", "", "/home/ines", "2026-01-05 08:00:00")],
            "messages": [
                (1, "a", "20260105_1", "user", [{"type": "text", "text": QUESTION}], SECONDS, {}),
                (2, "b", "20260105_1", "assistant", [goose_request("shell", {"command": "ls"})], SECONDS + 1, {}),
                (3, "c", "20260105_1", "user", [goose_response("north")], SECONDS + 2, {}),
                (4, "d", "20260105_1", "assistant", [{"type": "text", "text": ANSWER}], SECONDS + 3, {}),
            ],
        },
        [TALK[0], ("tool", "shell\ncommand: ls"), ("tool", "north"), TALK[1]],
    ),
    "crush": (
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT, created_at INTEGER);"
        "CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT,"
        " created_at INTEGER, updated_at INTEGER);",
        {
            "sessions": [("s", None, "Free piers", SECONDS)],
            "messages": [
                ("b", "s", "assistant", [{"type": "text", "data": {"text": ANSWER}}], "m", SECONDS + 1, SECONDS + 9),
                ("a", "s", "user", [{"type": "text", "data": {"text": QUESTION}}], None, SECONDS, SECONDS),
            ],
        },
        TALK,
    ),
    "opencode": (
        "CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, title TEXT, directory TEXT,"
        " time_created INTEGER, time_updated INTEGER);"
        "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);"
        "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT);",
        {
            "session": [("ses_1", "p", None, "Free piers", "/home/ines", SECONDS * 1000, SECONDS * 1000)],
            "message": [
                ("msg_1", "ses_1", SECONDS * 1000, {"role": "user", "time": {"created": SECONDS * 1000}}),
                ("msg_2", "ses_1", SECONDS * 1000 + 5, {"role": "assistant", "modelID": "m"}),
            ],
            "part": [
                ("prt_1", "msg_1", "ses_1", SECONDS * 1000, {"type": "text", "text": QUESTION}),
                ("prt_2", "msg_2", "ses_1", SECONDS * 1000, {"type": "reasoning", "text": "Look."}),
                ("prt_3", "msg_2", "ses_1", SECONDS * 1000, {"type": "text", "text": ANSWER}),
            ],
        },
        [TALK[0], ("tool", "Look."), TALK[1]],
    ),
    "hermes": (
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, model TEXT, started_at REAL, title TEXT);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT,"
        " tool_calls TEXT, tool_name TEXT, timestamp REAL);",
        {
            "sessions": [("h", "cli", "m", SECONDS + 0.5, "Free piers")],
            "messages": [
                (1, "h", "user", QUESTION, None, None, None, SECONDS + 0.5),
                (2, "h", "assistant", "", None,
                 [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}], None,
                 SECONDS + 1.5),
                (3, "h", "tool", "north", "c", None, "ls", SECONDS + 2.5),
                (4, "h", "assistant", ANSWER, None, None, None, SECONDS + 3.5),
            ],
        },
        [TALK[0], ("tool", "ls\npath: ."), ("tool", "north"), TALK[1]],
    ),
    "cursor": (
        "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB);"
        "CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB);",
        {
            "ItemTable": [("workbench.colorTheme", "dark")],
            "cursorDiskKV": [
                ("composerData:c1", {
                    "composerId": "c1", "name": "Free piers", "createdAt": SECONDS * 1000,
                    "fullConversationHeadersOnly": [{"bubbleId": "b2"}, {"bubbleId": "b1"}, {"bubbleId": "b3"}],
                }),
                ("bubbleId:c1:b1", {
                    "type": 2, "thinking": {"text": "Look."}, "text": "",
                    "toolFormerData": {
                        "toolCallId": "t", "name": "list_dir", "rawArgs": '{"path": "."}', "result": "north",
                    },
                    "timingInfo": {"startTime": SECONDS * 1000 + 1},
                }),
                ("bubbleId:c1:b2", {"type": 1, "text": QUESTION, "createdAt": "2026-01-05T08:00:00.000Z"}),
                ("bubbleId:c1:b3", {"type": 2, "text": ANSWER, "createdAt": "2026-01-05T08:00:02.000Z"}),
            ],
        },
        [TALK[0], ("tool", "Look."), ("tool", "list_dir\npath: ."), ("tool", "north"), TALK[1]],
    ),
    "cursor, earlier": (
        "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB);",
        {
            "ItemTable": [
                ("workbench.panel.aichat.view.aichat.chatdata", {
                    "tabs": [{
                        "tabId": "t1", "chatTitle": "Free piers", "createdAt": SECONDS * 1000,
                        "bubbles": [{"type": "user", "text": QUESTION}, {"type": "ai", "rawText": ANSWER}],
                    }]
                }),
            ],
        },
        TALK,
    ),
    "zed": (
        "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB);",
        {
            "threads": [
                ("z1", "Free piers", "2026-01-05T08:00:00Z", "json", {
                    "messages": [
                        {"User": {"id": "u", "content": [{"Text": QUESTION}]}},
                        {"Agent": {
                            "content": [
                                {"Thinking": {"text": "Look."}},
                                {"ToolUse": {"id": "k", "name": "terminal", "input": {"command": "ls"}}},
                                {"Text": ANSWER},
                            ],
                            "tool_results": {"k": {"tool_name": "terminal", "content": [{"Text": "north"}]}},
                        }},
                    ],
                }),
            ],
        },
        [TALK[0], ("tool", "Look."), ("tool", "terminal\ncommand: ls"), TALK[1], ("tool", "north")],
    ),
}  # fmt: skip


def make_database(path: Path, name: str) -> Path:
    import sqlite3

    schema, tables, _ = SCHEMAS[name]
    connection = sqlite3.connect(path)
    connection.executescript(schema)
    for table, rows in tables.items():
        for row in rows:
            values = [json.dumps(value) if isinstance(value, dict | list) else value for value in row]
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_database_is_read(tmp_path: Path, name: str):
    path = make_database(tmp_path / "sessions.db", name)
    before = path.read_bytes()
    sessions, messages, problems = read_folder(path)
    assert [(m.role, m.text) for m in messages] == SCHEMAS[name][2]
    assert [s.title for s in sessions] == ["Free piers"]
    assert all((m.sent_at or sessions[0].created_at).date() == START.date() for m in messages)
    assert problems == []
    assert path.read_bytes() == before and [one.name for one in tmp_path.iterdir()] == ["sessions.db"]


def test_a_compressed_thread_of_zed(tmp_path: Path):
    import sqlite3

    import zstandard

    path = tmp_path / "threads.db"
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMAS["zed"][0])
    thread = json.dumps({"messages": [{"User": {"content": [{"Text": QUESTION}]}}]}).encode()
    packed = zstandard.ZstdCompressor().compress(thread)
    rows = [("z1", "a", "2026-01-05T08:00:00Z", "zstd", packed), ("z2", "b", "2026-01-05T08:00:00Z", "zstd", b"no")]
    connection.executemany("INSERT INTO threads VALUES (?, ?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    _, messages, problems = read_folder(path)
    assert [m.text for m in messages] == [QUESTION]
    assert [p.where for p in problems] == ["thread 2"]


def test_a_damaged_database_is_named(tmp_path: Path):
    path = make_database(tmp_path / "sessions.db", "goose")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    _, _, problems = read_folder(path)
    assert problems
