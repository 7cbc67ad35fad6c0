"""The layouts of each tool's history, written below a folder that stands for the person's home."""

from __future__ import annotations

import json
import os
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

SECONDS = 1_767_600_000
"""2026-01-05 08:00:00 UTC: when each conversation begins."""

FIRST, LAST = "2026-01-05T08:00:00+00:00", "2026-01-05T08:01:00+00:00"
QUESTION, ANSWER = "Which pier is free?", "The northern one."


def put(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    else:
        path.write_text(json.dumps(records[0]), encoding="utf-8")
    return path


def database(path: Path, schema: str, rows: Mapping[str, list[tuple[object, ...]]], *, wal: bool = False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as made, made:
        if wal:
            made.execute("PRAGMA journal_mode = WAL")
        made.executescript(schema)
        for table, values in rows.items():
            for row in values:
                cells = [json.dumps(cell) if isinstance(cell, dict | list) else cell for cell in row]
                made.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(cells))})", cells)
    return path


def claude_code(home: Path, session: str = "4f7c1e52-0b0e-4a57-9f0f-3d2b8f1c0a01") -> Path:
    common = {"sessionId": session, "cwd": "/home/ines/pier", "version": "2.0.1"}
    user = {"role": "user", "content": QUESTION}
    answer = {"role": "assistant", "id": "msg_1", "model": "m", "content": [{"type": "text", "text": ANSWER}]}
    stamps = "2026-01-05T08:00:00.000Z", "2026-01-05T08:01:00.000Z"
    put(
        home / f".claude/projects/-home-ines-pier/{session}.jsonl",
        common | {"type": "user", "uuid": f"{session}-a", "parentUuid": None, "timestamp": stamps[0], "message": user},
        common
        | {
            "type": "assistant",
            "uuid": f"{session}-b",
            "parentUuid": f"{session}-a",
            "timestamp": stamps[1],
            "message": answer,
        },
    )
    return home / ".claude/projects"


def codex(home: Path) -> Path:
    def item(at: str, role: str, kind: str, text: str) -> dict[str, object]:
        payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return {"timestamp": at, "type": "response_item", "payload": payload}

    session = "019b8d2e-70aa-7b13-a6f1-1d2b3c4d5e6f"
    meta = {"id": session, "timestamp": "2026-01-05T08:00:00.000Z", "cwd": "/home/ines", "cli_version": "0.60.0"}
    put(
        home / f".codex/sessions/2026/01/05/rollout-2026-01-05T08-00-00-{session}.jsonl",
        {"timestamp": "2026-01-05T08:00:00.000Z", "type": "session_meta", "payload": meta},
        item("2026-01-05T08:00:00.000Z", "user", "input_text", QUESTION),
        item("2026-01-05T08:01:00.000Z", "assistant", "output_text", ANSWER),
    )
    return home / ".codex/sessions"


def gemini_cli(home: Path) -> Path:
    messages = [
        {"id": "a", "timestamp": "2026-01-05T08:00:00.000Z", "type": "user", "content": QUESTION},
        {"id": "b", "timestamp": "2026-01-05T08:01:00.000Z", "type": "gemini", "content": ANSWER, "model": "m"},
    ]
    session = {"sessionId": "s-1", "projectHash": "ab12", "startTime": "2026-01-05T08:00:00.000Z"}
    last = {"lastUpdated": "2026-01-05T08:01:00.000Z", "messages": messages}
    put(home / ".gemini/tmp/ab12/chats/session-2026-01-05T08-00-s1.json", session | last)
    put(home / ".gemini/tmp/ab12/logs.json", [{"sessionId": "s-1", "messageId": 0, "type": "user", "message": "x"}])
    return home / ".gemini/tmp"


def cursor(home: Path) -> Path:
    composer = {
        "composerId": "c1", "name": "Free piers", "createdAt": SECONDS * 1000,
        "fullConversationHeadersOnly": [{"bubbleId": "b1", "type": 1}, {"bubbleId": "b2", "type": 2}],
    }  # fmt: skip
    bubbles = [(1, QUESTION, FIRST), (2, ANSWER, LAST)]
    rows: list[tuple[object, ...]] = [("composerData:c1", composer)]
    rows += [
        (f"bubbleId:c1:b{kind}", {"bubbleId": f"b{kind}", "type": kind, "text": text, "createdAt": at})
        for kind, text, at in bubbles
    ]
    schema = "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB); CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value);"
    return database(home / ".config/Cursor/User/globalStorage/state.vscdb", schema, {"cursorDiskKV": rows}, wal=True)


def copilot_chat(home: Path) -> Path:
    request = {
        "requestId": "r1", "timestamp": SECONDS * 1000, "message": {"text": QUESTION, "parts": []},
        "response": [{"value": ANSWER}], "responseId": "a1",
    }  # fmt: skip
    chat = {"version": 3, "sessionId": "s1", "creationDate": SECONDS * 1000, "requests": [request]}
    put(home / ".config/Code/User/workspaceStorage/0a1b/chatSessions/s1.json", chat)
    put(home / ".config/Code/User/workspaceStorage/0a1b/workspace.json", {"folder": "file:///home/ines/pier"})
    return home / ".config/Code/User/workspaceStorage"


def cline(home: Path) -> Path:
    tasks = home / ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks"
    at = SECONDS * 1000
    put(
        tasks / f"{at}/ui_messages.json",
        [
            {"ts": at, "type": "say", "say": "task", "text": QUESTION},
            {"ts": at + 60_000, "type": "say", "say": "completion_result", "text": ANSWER},
        ],
    )
    return tasks


def aider(home: Path) -> Path:
    path = home / "code/pier/.aider.chat.history.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"\n# aider chat started at 2026-01-05 08:00:00\n\n#### {QUESTION}\n\n{ANSWER}\n", "utf-8")
    return path


def opencode(home: Path) -> Path:
    storage, at = home / ".local/share/opencode/storage", SECONDS * 1000
    put(storage / "session/p1/ses_1.json", {"id": "ses_1", "projectID": "p1", "directory": "/home/ines",
        "title": "Free piers", "version": "1.0", "time": {"created": at, "updated": at + 60_000}})  # fmt: skip
    for name, role, text, moment in (("1", "user", QUESTION, at), ("2", "assistant", ANSWER, at + 60_000)):
        message = {"id": f"msg_{name}", "sessionID": "ses_1", "role": role, "time": {"created": moment}}
        put(storage / f"message/ses_1/msg_{name}.json", message)
        part = {"id": f"prt_{name}", "messageID": f"msg_{name}", "sessionID": "ses_1", "type": "text", "text": text}
        put(storage / f"part/msg_{name}/prt_{name}.json", part)
    return home / ".local/share/opencode"


def goose(home: Path) -> Path:
    schema = (
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, working_dir TEXT, created_at TEXT);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT,"
        " content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);"
    )
    said = [("user", QUESTION, SECONDS), ("assistant", ANSWER, SECONDS + 60)]
    messages: list[tuple[object, ...]] = [
        (number, f"m{number}", "20260105_1", role, [{"type": "text", "text": text}], at, {})
        for number, (role, text, at) in enumerate(said)
    ]
    sessions: list[tuple[object, ...]] = [("20260105_1", "Free piers", "", "/home/ines", "2026-01-05 08:00:00")]
    path = home / ".local/share/goose/sessions/sessions.db"
    database(path, schema, {"sessions": sessions, "messages": messages})
    return path.parent


def lm_studio(home: Path) -> Path:
    def version(role: str, text: str) -> dict[str, object]:
        return {"type": "singleStep", "role": role, "content": [{"type": "text", "text": text}]}

    messages = [
        {"versions": [version(*said)], "currentlySelected": 0} for said in (("user", QUESTION), ("assistant", ANSWER))
    ]
    chat = {"name": "Free piers", "pinned": False, "createdAt": SECONDS * 1000, "tokenCount": 9, "messages": messages}
    put(home / f".lmstudio/conversations/{SECONDS * 1000}.conversation.json", chat)
    return home / ".lmstudio/conversations"


def jan(home: Path) -> Path:
    def message(name: str, role: str, text: str, at: int) -> dict[str, object]:
        content = [{"type": "text", "text": {"value": text, "annotations": []}}]
        return {"id": name, "thread_id": "t1", "role": role, "content": content, "created_at": at}

    thread = home / "jan/threads/t1"
    put(thread / "thread.json", {"id": "t1", "title": "Free piers", "created": SECONDS})
    messages = message("a", "user", QUESTION, SECONDS), message("b", "assistant", ANSWER, SECONDS + 60)
    put(thread / "messages.jsonl", *messages)
    return home / "jan/threads"


def open_webui(home: Path) -> Path:
    said = [("a", None, "user", QUESTION, SECONDS), ("b", "a", "assistant", ANSWER, SECONDS + 60)]
    messages = {
        key: {"id": key, "parentId": parent, "childrenIds": [], "role": role, "content": text, "timestamp": at}
        for key, parent, role, text, at in said
    }
    chat = {"title": "Free piers", "models": ["m"], "history": {"messages": messages, "currentId": "b"}, "messages": []}
    schema = (
        "CREATE TABLE chat (id TEXT, user_id TEXT, title TEXT, chat TEXT, created_at INTEGER, updated_at INTEGER,"
        " archived INTEGER, pinned INTEGER, share_id TEXT, meta TEXT, folder_id TEXT);"
    )
    rows: list[tuple[object, ...]] = [("c1", "u1", "Free piers", chat, SECONDS, SECONDS + 60, 0, 0, None, {}, None)]
    return database(home / ".open-webui/webui.db", schema, {"chat": rows})


def mailbox(home: Path) -> Path:
    path = home / ".thunderbird/ab12.default/Mail/Local Folders/Inbox"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, moment, text in (("ana", "08:00:00", QUESTION), ("ben", "08:01:00", ANSWER)):
        lines += [f"From - Mon Jan  5 {moment} 2026", f"From: {name}@example.org", "To: crew@example.org",
                  "Subject: Piers", f"Message-ID: <{name}@example.org>", f"Date: Mon, 05 Jan 2026 {moment} +0000",
                  *(["In-Reply-To: <ana@example.org>"] if name == "ben" else []), "", text, ""]  # fmt: skip
    path.write_text("\n".join(lines), "utf-8")
    path.with_name("Inbox.msf").write_text('// <!-- <mdb:mork:z v="1.4"/> -->', "utf-8")
    return home / ".thunderbird"


def telegram(home: Path) -> Path:
    def message(number: int, name: str, text: str, at: int) -> dict[str, object]:
        return {"id": number, "type": "message", "date": f"2026-01-05T08:0{number - 1}:00", "date_unixtime": str(at),
                "from": name, "from_id": f"user{number}", "text": text}  # fmt: skip

    said = [message(1, "Ana", QUESTION, SECONDS), message(2, "Ben", ANSWER, SECONDS + 60)]
    export = home / "Downloads/Telegram Desktop/ChatExport_2026-01-05"
    put(export / "result.json", {"name": "Ana", "type": "personal_chat", "id": 7, "messages": said})
    return export


def chatgpt_zip(home: Path) -> Path:
    def node(key: str, parent: str | None, role: str, text: str, at: int) -> dict[str, object]:
        message = {"id": key, "author": {"role": role}, "create_time": at,
                   "content": {"content_type": "text", "parts": [text]}}  # fmt: skip
        return {"id": key, "parent": parent, "children": [], "message": message}

    nodes = node("a", None, "user", QUESTION, SECONDS), node("b", "a", "assistant", ANSWER, SECONDS + 60)
    chat = {"id": "c1", "title": "Free piers", "create_time": SECONDS, "update_time": SECONDS, "current_node": "b",
            "mapping": {one["id"]: one for one in nodes}}  # fmt: skip
    path = home / "Downloads/chatgpt-export.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("conversations.json", json.dumps([chat]))
        file.writestr("user.json", "{}")
    return path


def whatsapp(home: Path) -> Path:
    path = home / "Documents/old/WhatsApp Chat with Ana.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"05/01/2026, 08:00 - Ana: {QUESTION}\n05/01/2026, 08:01 - Ben: {ANSWER}\n", "utf-8")
    return path


@dataclass(frozen=True)
class Layout:
    """A tool's layout: ``build`` writes one conversation of two messages and returns the path to be found."""

    tool: str
    format: str
    build: Callable[[Path], Path]


LAYOUTS = (
    Layout("Claude Code", "claude_code", claude_code),
    Layout("Codex", "codex", codex),
    Layout("Gemini CLI", "gemini_cli", gemini_cli),
    Layout("Cursor", "agents", cursor),
    Layout("Copilot Chat", "agents", copilot_chat),
    Layout("Cline", "agents", cline),
    Layout("Aider", "markdown", aider),
    Layout("OpenCode", "agents", opencode),
    Layout("Goose", "agents", goose),
    Layout("LM Studio", "lmstudio", lm_studio),
    Layout("Jan", "agents", jan),
    Layout("Open WebUI", "open_webui", open_webui),
    Layout("Thunderbird", "mail", mailbox),
    Layout("Telegram", "telegram", telegram),
    Layout("ChatGPT export", "chatgpt", chatgpt_zip),
    Layout("WhatsApp export", "whatsapp", whatsapp),
)


def tree(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything below a folder: the names, kinds, sizes and times of change, and the content of files."""
    found: dict[str, tuple[object, ...]] = {}
    for current, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(current, name)
            stat = os.lstat(path)
            content = b""
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    content = file.read()
            found[path] = stat.st_mode, stat.st_size, stat.st_mtime_ns, content
    return found
