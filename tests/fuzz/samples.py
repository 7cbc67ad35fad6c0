"""A small export of each format, written by us, with marked words: what a reading stores can be counted.

Every text holds a word of the form ``q12z``, each number once. ``Sample.value`` is the decoded JSON (a list of records
for a log), ``Sample.text`` the text of any other format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.fuzz import messenger_samples

MARK = re.compile(r"q\d+z")
_numbers = count(1)
UUID = "5f0c1d7e-0000-4000-8000-0000000000"


def said(words: str = "the ferry leaves at nine") -> str:
    """A text with a marked word of its own."""
    return f"q{next(_numbers)}z {words}"


@dataclass(frozen=True)
class Sample:
    """An export under its usual name. ``is_log``: an object a line."""

    format: str
    name: str
    value: Any = None
    text: str = ""
    is_log: bool = False

    @property
    def data(self) -> bytes:
        return encoded(self.value, self.is_log) if self.value is not None else self.text.encode()


def encoded(value: Any, is_log: bool, **options: Any) -> bytes:
    if is_log:
        return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in value).encode("utf-8", "surrogatepass")
    return json.dumps(value, **({"ensure_ascii": False} | options)).encode("utf-8", "surrogatepass")


def marks(text: str) -> set[str]:
    """The marked words of a text."""
    return set(MARK.findall(text))


def _node(key: str, parent: str | None, child: str | None, role: str, text: str) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    message = {
        "id": key, "author": {"role": role, "name": None, "metadata": {}}, "create_time": 1714557600.5,
        "content": content, "status": "finished_successfully", "recipient": "all", "weight": 1.0, "metadata": {},
    }  # fmt: skip
    return {"id": key, "message": message, "parent": parent, "children": [child] if child else []}


def _chatgpt() -> list[Any]:
    return [
        {
            "title": f"Ferry {n}",
            "create_time": 1714557600.0,
            "update_time": 1714557700.0,
            "mapping": {
                "r": {"id": "r", "message": None, "parent": None, "children": ["a"]},
                "a": _node("a", "r", "b", "user", said()),
                "b": _node("b", "a", None, "assistant", said("it leaves from the second pier")),
            },
            "current_node": "b",
            "conversation_id": f"c{n}",
            "default_model_slug": "m",
            "id": f"c{n}",
        }
        for n in range(2)
    ]


def _claude() -> list[Any]:
    def message(n: int, sender: str) -> dict[str, Any]:
        text = said()
        return {
            "uuid": f"{UUID}{n:02}", "text": text, "sender": sender, "created_at": "2025-03-01T09:00:00.000000Z",
            "updated_at": "2025-03-01T09:00:00.000000Z", "attachments": [], "files": [],
            "content": [{"type": "text", "text": text, "citations": []}],
        }  # fmt: skip

    return [
        {
            "uuid": f"{UUID}c{n}", "name": f"Ferry {n}", "created_at": "2025-03-01T09:00:00Z",
            "updated_at": "2025-03-01T09:10:00Z", "account": {"uuid": f"{UUID}aa"},
            "chat_messages": [message(1, "human"), message(2, "assistant")],
        }
        for n in range(2)
    ]  # fmt: skip


def _claude_code() -> list[Any]:
    def record(n: int, kind: str, content: Any) -> dict[str, Any]:
        return {
            "parentUuid": f"{UUID}{n - 1:02}" if n else None, "isSidechain": False, "userType": "external",
            "cwd": "/boats", "sessionId": f"{UUID}aa", "version": "1.0", "gitBranch": "main", "type": kind,
            "message": {"role": kind, "content": content}, "uuid": f"{UUID}{n:02}",
            "timestamp": f"2025-03-01T09:00:0{n}.000Z",
        }  # fmt: skip

    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/boats.md"}}
    return [
        record(0, "user", said()),
        record(1, "assistant", [{"type": "text", "text": said()}, call]),
        record(2, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "two boats"}]),
        record(3, "assistant", [{"type": "text", "text": said()}]),
        record(4, "user", [{"type": "text", "text": said()}]),
    ]


def _codex() -> list[Any]:
    def line(n: int, kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": f"2025-03-01T09:00:0{n}.000Z", "type": kind, "payload": payload}

    question, answer = said(), said()
    meta = {"id": f"{UUID}aa", "timestamp": "2025-03-01T09:00:00Z", "cwd": "/boats", "originator": "cli"}
    return [
        line(0, "session_meta", **meta),
        line(1, "response_item", type="message", role="user", content=[{"type": "input_text", "text": question}]),
        line(2, "event_msg", type="user_message", message=question),
        line(3, "event_msg", type="agent_message", message=answer),
        line(4, "response_item", type="message", role="assistant", content=[{"type": "output_text", "text": answer}]),
        line(5, "event_msg", type="user_message", message=said()),
        line(6, "response_item", type="message", role="assistant", content=[{"type": "output_text", "text": said()}]),
    ]


def _gemini_cli() -> dict[str, Any]:
    def message(n: int, kind: str) -> dict[str, Any]:
        return {"id": f"{UUID}{n:02}", "timestamp": "2025-03-01T09:00:00.000Z", "type": kind, "content": said()}

    return {
        "sessionId": f"{UUID}aa", "projectHash": "ab12", "startTime": "2025-03-01T09:00:00.000Z",
        "lastUpdated": "2025-03-01T09:09:00.000Z", "messages": [message(1, "user"), message(2, "gemini")],
    }  # fmt: skip


def _agents() -> list[Any]:
    def line(n: int, role: str) -> dict[str, Any]:
        message = {"role": role, "content": [{"type": "text", "text": said()}]}
        return {"type": "message", "id": f"m{n}", "timestamp": "2025-03-01T09:00:00Z", "message": message}

    return [
        {"type": "session_start", "id": f"{UUID}aa", "title": "Ferry", "owner": "ana", "version": 2, "cwd": "/boats"},
        line(1, "user"),
        line(2, "assistant"),
        line(3, "user"),
    ]


def _grok() -> dict[str, Any]:
    def response(n: int, sender: str) -> dict[str, Any]:
        made = {
            "_id": f"{UUID}{n:02}", "conversation_id": "c1", "message": said(), "sender": sender, "metadata": {},
            "create_time": {"$date": {"$numberLong": "1714557600000"}}, "model": "grok-4",
        }  # fmt: skip
        return {"response": made, "share_link": None}

    about = {"id": "c1", "user_id": "u", "create_time": "2025-03-01T09:00:00Z", "title": "Ferry", "starred": False}
    responses = [response(1, "human"), response(2, "ASSISTANT")]
    return {"conversations": [{"conversation": about, "responses": responses}], "projects": [], "tasks": []}


def _deepseek() -> list[Any]:
    def node(key: str, parent: str, kind: str, child: str | None) -> dict[str, Any]:
        fragments = [{"type": kind, "content": said()}]
        message = {"files": [], "model": "chat", "inserted_at": "2025-03-01T17:00:00+08:00", "fragments": fragments}
        return {"id": key, "parent": parent, "children": [child] if child else [], "message": message}

    mapping = {
        "root": {"id": "root", "parent": None, "children": ["1"], "message": None},
        "1": node("1", "root", "REQUEST", "2"),
        "2": node("2", "1", "RESPONSE", None),
    }
    times = {"inserted_at": "2025-03-01T17:00:00+08:00", "updated_at": "2025-03-01T17:00:00+08:00"}
    return [{"id": f"{UUID}dd", "title": "Ferry", **times, "mapping": mapping}]


def _lmstudio() -> dict[str, Any]:
    def text() -> list[Any]:
        return [{"type": "text", "text": said()}]

    step = {"type": "contentBlock", "stepIdentifier": "1750000001000-0.5", "content": text()}
    return {
        "name": "Ferry", "pinned": False, "createdAt": 1750000000000, "tokenCount": 9,
        "messages": [
            {"versions": [{"type": "singleStep", "role": "user", "content": text()}], "currentlySelected": 0},
            {
                "versions": [{"type": "multiStep", "role": "assistant", "senderInfo": {}, "steps": [step]}],
                "currentlySelected": 0,
            },
        ],
    }  # fmt: skip


def _open_webui() -> list[Any]:
    def message(key: str, parent: str | None, child: str | None, role: str) -> dict[str, Any]:
        return {
            "id": key, "parentId": parent, "childrenIds": [child] if child else [], "role": role, "content": said(),
            "timestamp": 1714557600, "models": ["m"],
        }  # fmt: skip

    messages = {"a": message("a", None, "b", "user"), "b": message("b", "a", None, "assistant")}
    chat = {
        "id": "", "title": "Ferry", "models": ["m"], "params": {}, "timestamp": 1714557600000,
        "history": {"messages": messages, "currentId": "b"}, "messages": list(messages.values()),
    }  # fmt: skip
    return [{"id": f"{UUID}ee", "user_id": "u", "title": "Ferry", "chat": chat, "created_at": 1714557600}]


def _librechat() -> dict[str, Any]:
    def message(n: int, by_user: bool) -> dict[str, Any]:
        return {
            "messageId": f"{UUID}{n:02}", "conversationId": "c", "text": said(), "isCreatedByUser": by_user,
            "sender": "User" if by_user else "GPT", "createdAt": "2025-03-01T09:00:00.000Z", "unfinished": False,
            "parentMessageId": f"{UUID}{n - 1:02}" if n else "00000000-0000-0000-0000-000000000000",
        }  # fmt: skip

    return {
        "conversationId": "c", "endpoint": "openAI", "title": "Ferry", "exportAt": "09:00:00", "branches": True,
        "recursive": False, "options": {"model": "m"}, "messages": [message(0, True), message(1, False)],
    }  # fmt: skip


def _meta() -> dict[str, Any]:
    def message(at: int, who: str) -> dict[str, Any]:
        return {"sender_name": who, "timestamp_ms": 1700000000000 + at, "content": said(), "type": "Generic"}

    return {
        "participants": [{"name": "Ana"}, {"name": "Ben"}], "title": "Ferry", "thread_path": "inbox/ferry_123456",
        "messages": [message(9, "Ana"), message(5, "Ben"), message(1, "Ana")], "is_still_participant": True,
    }  # fmt: skip


def _telegram() -> dict[str, Any]:
    def message(n: int, who: str, text: Any) -> dict[str, Any]:
        return {
            "id": n, "type": "message", "date": "2024-05-01T12:00:00", "date_unixtime": str(1714557600 + n),
            "from": who, "from_id": f"user{who}", "text": text, "text_entities": [],
        }  # fmt: skip

    messages = [
        message(1, "Ana", said()),
        message(2, "Ben", ["See ", {"type": "bold", "text": said()}, " there"]),
        message(3, "Ana", said()),
    ]
    return {"name": "Ferry", "type": "personal_chat", "id": 4711, "messages": messages}


def _slack() -> list[Any]:
    def message(n: int, who: str) -> dict[str, Any]:
        return {
            "client_msg_id": f"{UUID}{n:02}", "type": "message", "user": who, "text": said(), "team": "T1",
            "ts": f"17145576{n:02}.000100", "user_profile": {"real_name": who, "display_name": who},
        }  # fmt: skip

    return [message(1, "U1"), message(2, "U2"), message(3, "U1")]


def _discord() -> dict[str, Any]:
    def message(n: int, who: str) -> dict[str, Any]:
        return {
            "id": f"{n}", "type": "Default", "timestamp": "2024-05-01T12:00:00+00:00", "timestampEdited": None,
            "isPinned": False, "content": said(), "author": {"id": who, "name": who, "nickname": who, "isBot": False},
            "attachments": [], "embeds": [], "stickers": [], "reactions": [], "mentions": [],
        }  # fmt: skip

    return {
        "guild": {"id": "1", "name": "Boats"}, "channel": {"id": "2", "type": "GuildTextChat", "name": "ferry"},
        "dateRange": {"after": None, "before": None}, "exportedAt": "2024-06-01T12:00:00+00:00",
        "messages": [message(1, "Ana"), message(2, "Ben"), message(3, "Ana")], "messageCount": 3,
    }  # fmt: skip


def _google_chat() -> dict[str, Any]:
    def message(n: int, who: str) -> dict[str, Any]:
        return {
            "creator": {"name": who, "email": f"{who}@example.org", "user_type": "Human"},
            "created_date": f"Monday, March 3, 2025 at 9:15:3{n}\u202fAM UTC", "text": said(), "topic_id": f"t{n}",
            "message_id": f"g/t{n}/t{n}",
        }  # fmt: skip

    return {"messages": [message(1, "Ana"), message(2, "Ben")]}


def _teams() -> list[Any]:
    def message(n: int, who: str) -> dict[str, Any]:
        return {
            "id": f"174100000000{n}", "messageType": "message", "createdDateTime": f"2025-03-03T09:15:0{n}Z",
            "chatId": "19:x", "from": {"user": {"id": who, "displayName": who}}, "subject": None,
            "body": {"contentType": "html", "content": f"<p>{said()}</p>"}, "attachments": [], "reactions": [],
        }  # fmt: skip

    return [message(2, "Ida"), message(1, "Rui")]


def _signal() -> list[Any]:
    def message(n: int, who: str) -> dict[str, Any]:
        return {
            "date": f"2025-03-01T09:00:0{n}", "sender": who, "body": said(), "quote": "", "sticker": "",
            "reactions": [], "attachments": [],
        }  # fmt: skip

    return [message(1, "Ana"), message(2, "Me"), message(3, "Ana")]


def _aistudio() -> dict[str, Any]:
    chunks = [{"text": said(), "role": role, "tokenCount": 5} for role in ("user", "model", "user")]
    return {
        "runSettings": {"temperature": 1.0, "model": "models/gemini"}, "systemInstruction": {},
        "chunkedPrompt": {"chunks": chunks, "pendingInputs": []},
    }  # fmt: skip


def _gemini() -> list[Any]:
    def row(n: int) -> dict[str, Any]:
        return {
            "header": "Gemini Apps", "title": f"Prompted {said()}", "time": f"2025-03-01T10:00:0{n}.500Z",
            "products": ["Gemini Apps"], "activityControls": ["Gemini Apps Activity"],
            "safeHtmlItem": [{"html": f"<p>{said()}</p>"}],
        }  # fmt: skip

    return [row(2), row(1)]


def _mail(n: int) -> str:
    return (
        f"From ana@example.org Sat Mar 01 09:00:0{n} 2025\nFrom: Ana <ana@example.org>\nTo: ben@example.org\n"
        f"Subject: Ferry {n}\nDate: Sat, 01 Mar 2025 09:00:0{n} +0000\nMessage-ID: <m{n}@example.org>\n\n{said()}\n\n"
    )


def _telegram_page() -> str:
    def block(n: int, who: str) -> str:
        return (
            f'<div class="message default clearfix" id="message{n}"><div class="body">'
            f'<div class="pull_right date details" title="01.05.2024 12:00:0{n} UTC+01:00">12:00</div>'
            f'<div class="from_name">{who}</div><div class="text">{said()}</div></div></div>\n'
        )

    body = "".join(block(n, who) for n, who in enumerate(("Ana", "Ben", "Ana"), 1))
    head = '<div class="page_header"><div class="text bold">Ferry</div></div>'
    page = f'<div class="page_wrap">{head}<div class="history">{body}</div></div>'
    return f"<!DOCTYPE html>\n<html><body>{page}</body></html>"


def _meta_page() -> str:
    def block(n: int, who: str) -> str:
        return (
            f'<div class="_3-95 _a6-g"><div class="_2ph_ _a6-h _a6-i">{who}</div>'
            f'<div class="_2ph_ _a6-p"><div><div></div><div>{said()}</div><div></div></div></div>'
            f'<div class="_3-94 _a6-o"><div class="_a72d">Sep 1{n}, 2020, 12:2{n} PM</div></div></div>\n'
        )

    body = "".join(block(n, who) for n, who in enumerate(("Ana", "Ben", "Ana"), 1))
    return f"<html><head><title>Ferry</title></head><body><div><div role='main'>{body}</div></div></body></html>"


def _chatbox() -> dict[str, Any]:
    def message(n: int, role: str) -> dict[str, Any]:
        parts = [{"type": "text", "text": said()}]
        return {"id": f"{UUID}{n:02}", "role": role, "contentParts": parts, "timestamp": 1741082401000 + n}

    session = {"id": "c1", "type": "chat", "name": "Ferry", "messages": [message(1, "user"), message(2, "assistant")]}
    return {"__exported_items": ["conversations"], "__exported_at": "2025-03-04T10:00:00Z", "session:c1": session}


def _sillytavern() -> list[dict[str, Any]]:
    turns = [
        {"name": "Ana" if n % 2 else "Mara", "is_user": bool(n % 2), "send_date": f"2026-8-14@10h0{n}m", "mes": said()}
        for n in range(4)
    ]
    return [{"user_name": "Ana", "character_name": "Mara", "create_date": "2026-8-14@10h00m"}, *turns]


def _samples() -> list[Sample]:
    chat = [f"31/12/2024, 10:0{n} - {who}: {said()}\n" for n, who in enumerate(("Ana", "Ben", "Ana", "Ben"))]
    irc = [f"[10:0{n}] <{who}> {said()}\n" for n, who in enumerate(("ana", "ben", "ana", "ben"))]
    turns = [f"**{who}:** {said()}\n\n" for who in ("User", "Assistant", "User", "Assistant")]
    native = [{"session_id": "s", "message_id": f"m{n}", "role": "user", "content": said()} for n in range(3)]
    share = [
        {"id": f"c{n}", "conversations": [{"from": "human", "value": said()}, {"from": "gpt", "value": said()}]}
        for n in range(2)
    ]
    tuned = [
        {"messages": [{"role": "user", "content": said()}, {"role": "assistant", "content": said()}]} for _ in range(2)
    ]
    return [
        Sample("native", "export.jsonl", native, is_log=True),
        Sample("chatgpt", "chatgpt/conversations.json", _chatgpt()),
        Sample("claude", "data-2025-03-01-batch-0000/conversations.json", _claude()),
        Sample("claude_code", f".claude/projects/-boats/{UUID}aa.jsonl", _claude_code(), is_log=True),
        Sample(
            "codex", f".codex/sessions/2025/03/01/rollout-2025-03-01T09-00-00-{UUID}aa.jsonl", _codex(), is_log=True
        ),
        Sample("gemini_cli", ".gemini/tmp/ab12/chats/session-2025-03-01T09-00-aa.json", _gemini_cli()),
        Sample("agents", ".factory/sessions/droid.jsonl", _agents(), is_log=True),
        Sample("gemini", "Takeout/My Activity/Gemini Apps/MyActivity.json", _gemini()),
        Sample("aistudio", "Google AI Studio/Ferry", _aistudio()),
        Sample("grok", "grok/prod-grok-backend.json", _grok()),
        Sample("deepseek", "deepseek/conversations.json", _deepseek()),
        Sample("lmstudio", "1750000000000.conversation.json", _lmstudio()),
        Sample("open_webui", "webui/chat-export.json", _open_webui()),
        Sample("librechat", "librechat/ferry.json", _librechat()),
        Sample("chat_apps", "chatbox-exported-data-2025-3-4.json", _chatbox()),
        Sample("chat_apps", "SillyTavern/chats/Mara/Mara - 2026-8-14@10h00m.jsonl", _sillytavern(), is_log=True),
        Sample("sharegpt", "sharegpt/talks.json", share),
        Sample("openai_jsonl", "openai/tuning.jsonl", tuned, is_log=True),
        Sample("telegram", "ChatExport_2024-05-01/result.json", _telegram()),
        Sample("telegram", "ChatExport_2024-05-01/messages.html", text=_telegram_page()),
        Sample("slack", "slack/general/2024-05-01.json", _slack()),
        Sample("discord", "discord/Boats - ferry [222222222222222].json", _discord()),
        Sample("meta", "your_facebook_activity/messages/inbox/ferry_123456/message_1.json", _meta()),
        Sample("meta", "your_facebook_activity/messages/inbox/ferry_123456/message_1.html", text=_meta_page()),
        Sample("google_chat", "Takeout/Google Chat/Groups/DM x/messages.json", _google_chat()),
        Sample("teams", "teams/messages.json", _teams()),
        Sample("signal", "signal/Ana/data.json", _signal(), is_log=True),
        Sample("whatsapp", "WhatsApp Chat with Ana.txt", text="".join(chat)),
        Sample("irc", "irc/#ferry-2025-03-01.log", text="".join(irc)),
        Sample("markdown", "ferry.md", text="".join(turns)),
        Sample("mail", "Takeout/Mail/inbox.mbox", text=_mail(1) + _mail(2)),
    ]


def _messengers() -> Iterator[Sample]:
    for name, path, value in messenger_samples.texts(said):
        if isinstance(value, str):
            yield Sample(name, path, text=value)
        else:
            yield Sample(name, path, value, is_log=isinstance(value, list))


SAMPLES = [*_samples(), *_messengers()]
