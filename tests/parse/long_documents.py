"""A long document of each format, to be broken in the middle: thousands of small messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any


def conversation(number: int, messages: int = 3, **more: object) -> dict[str, Any]:
    mapping = {
        f"{number}-{i}": {
            "id": f"{number}-{i}",
            "message": {
                "id": f"{number}-{i}",
                "author": {"role": "user"},
                "create_time": 1760000000 + i,
                "content": {"content_type": "text", "parts": [f'conversation {number}, message {i}: {{"}}']},
            },
            "parent": f"{number}-{i - 1}" if i else None,
            "children": [f"{number}-{i + 1}"] if i + 1 < messages else [],
        }
        for i in range(messages)
    }
    return {"title": f"Title {number}", "create_time": 1760000000.5, "mapping": mapping, "id": f"c{number}"} | more


_MAKERS: dict[str, Callable[[], bytes]] = {
    "native": lambda: b'{"session_id":"s","role":"user","content":"x"}\n' * 20_000,
    "chatgpt": lambda: json.dumps([conversation(n) for n in range(500)]).encode(),
    "claude": lambda: json.dumps(
        [
            {"uuid": f"c{n}", "name": "", "chat_messages": [{"uuid": "m", "sender": "human", "text": "x"}]}
            for n in range(9000)
        ]
    ).encode(),
    "contacts": lambda: b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ana\r\nEMAIL:a@b.example\r\nEND:VCARD\r\n" * 9_000,
    "whatsapp": lambda: b"31/12/2024, 10:00 - Ana: x\n" * 40_000,
    "google_chat": lambda: json.dumps(
        {"messages": [{"creator": {"name": "A"}, "text": "x", "topic_id": "t"} for _ in range(9000)]}
    ).encode(),
    "teams": lambda: json.dumps(
        [{"id": f"{n}", "messageType": "message", "body": {"content": "x"}} for n in range(9000)]
    ).encode(),
    "librechat": lambda: json.dumps(
        [{"conversationId": f"c{n}", "messages": [{"messageId": "m", "text": "x"}]} for n in range(9000)]
    ).encode(),
    "sharegpt": lambda: json.dumps(
        [{"id": f"c{n}", "conversations": [{"from": "human", "value": "x"}]} for n in range(9000)]
    ).encode(),
    "openai_jsonl": lambda: b'{"messages": [{"role": "user", "content": "x"}]}\n' * 20_000,
    "open_webui": lambda: json.dumps(
        [{"id": f"c{n}", "chat": {"messages": [{"role": "user", "content": "x"}]}} for n in range(9000)]
    ).encode(),
    "claude_code": lambda: b'{"type":"user","sessionId":"s","message":{"role":"user","content":"x"}}\n' * 20_000,
    "codex": lambda: b'{"type":"event_msg","payload":{"type":"agent_message","message":"x"}}\n' * 20_000,
    "gemini_cli": lambda: b'{"sessionId":"s"}\n' + b'{"type":"gemini","content":"x"}\n' * 20_000,
    "agents": lambda: b'{"role":"user","message":{"content":[{"type":"text","text":"x"}]}}\n' * 20_000,
    "gemini": lambda: json.dumps(
        [{"header": "Gemini Apps", "title": f"Prompted {n}", "time": f"2025-01-01T00:00:00.{n}Z"} for n in range(9000)]
    ).encode(),
    "aistudio": lambda: json.dumps(
        {"chunkedPrompt": {"chunks": [{"role": "user", "text": f"turn {n}"} for n in range(9000)]}}
    ).encode(),
    "grok": lambda: json.dumps(
        {
            "conversations": [
                {
                    "conversation": {"id": f"c{n}", "title": ""},
                    "responses": [{"response": {"_id": "m", "sender": "human", "message": "x"}}],
                }
                for n in range(9000)
            ]
        }
    ).encode(),
    "deepseek": lambda: json.dumps(
        [
            {
                "id": f"c{n}",
                "title": "",
                "mapping": {"1": {"message": {"fragments": [{"type": "REQUEST", "content": "x"}]}}},
            }
            for n in range(9000)
        ]
    ).encode(),
    "chat_apps": lambda: b'{"user_name":"A","character_name":"B"}\n' + b'{"is_user":true,"mes":"x"}\n' * 20_000,
    "lmstudio": lambda: json.dumps(
        {
            "name": "x",
            "createdAt": 1750000000000,
            "messages": [{"versions": [{"role": "user", "content": [{"text": f"turn {n}"}]}]} for n in range(9000)],
        }
    ).encode(),
    "slack": lambda: json.dumps(
        [{"type": "message", "user": "U1", "text": "x", "ts": f"17{n:08}.000100"} for n in range(9000)]
    ).encode(),
    "discord": lambda: json.dumps(
        {
            "guild": {"id": "1", "name": "x"},
            "channel": {"id": "2", "name": "y"},
            "messages": [
                {"id": f"{n}", "type": "Default", "content": "x", "author": {"id": "3", "name": "Ana"}}
                for n in range(9000)
            ],
        }
    ).encode(),
    "meta": lambda: json.dumps(
        {
            "participants": [{"name": "Ana"}],
            "messages": [{"sender_name": "Ana", "timestamp_ms": 1, "content": "x"} for n in range(9000)],
        }
    ).encode(),
    "telegram": lambda: json.dumps(
        {
            "id": 1,
            "name": "x",
            "messages": [
                {"id": n, "type": "message", "date_unixtime": "1760000000", "from": "Ana", "text": "x"}
                for n in range(9000)
            ],
        }
    ).encode(),
    "signal": lambda: b'{"date":"2025-03-01T09:00:00","sender":"Ana","body":"x","quote":""}\n' * 10_000,
    "irc": lambda: b"[09:30] <ana> x\n" * 40_000,
    "sms": lambda: b"<smses>\n" + b'<sms address="+4917" date="1619600000000" type="1" body="x" />\n' * 4_000,
    "kakaotalk": lambda: b"Jul 9, 2015, 8:34 PM, Ana : x\n" * 8_000,
    "line": lambda: b"[LINE] Chat with Ana\n2015/12/25(Fri)\n" + b"07:33\tAna\tx\n" * 15_000,
    "google_voice": lambda: (
        b"<html><body>"
        + b'<div class="message"><abbr class="dt" title="2023-09-01T19:29:20Z">x</abbr><q>x</q></div>\n' * 3_000
    ),
    "skype": lambda: json.dumps(
        {
            "userId": "8:ana",
            "conversations": [
                {"id": f"8:b{n}", "MessageList": [{"id": "1", "from": "8:b", "messagetype": "Text", "content": "x"}]}
                for n in range(3000)
            ],
        }
    ).encode(),
    "hangouts": lambda: json.dumps(
        {
            "conversations": [
                {
                    "conversation": {"conversation_id": {"id": f"U{n}"}},
                    "events": [{"chat_message": {"message_content": {"segment": [{"text": "x"}]}}, "timestamp": "1"}],
                }
                for n in range(3000)
            ]
        }
    ).encode(),
    "mattermost": lambda: (
        b'{"type":"post","post":{"team":"t","channel":"c","user":"ana","message":"x","create_at":1}}\n' * 9_000
    ),
    "matrix": lambda: json.dumps(
        {
            "room_name": "x",
            "messages": [
                {"type": "m.room.message", "sender": "@a:x", "event_id": f"$e{n}", "content": {"body": "x"}}
                for n in range(4000)
            ],
        }
    ).encode(),
    "rocketchat": lambda: json.dumps(
        [
            {"_id": f"a{n}", "rid": "R", "msg": "x", "ts": "2023-05-01T10:00:00Z", "u": {"name": "A"}}
            for n in range(4000)
        ]
    ).encode(),
    "snapchat": lambda: (
        b'{"ana": [{"From": "ana", "Media Type": "TEXT", "Created": "2024-05-01", "Content": "x"}]}\n' * 9_000
    ),
    "chat_table": lambda: b"date,sender,message\n" + b"2024-05-01 10:00,Ana,x\n" * 8_000,
    "mail": lambda: b"From ana Sat Mar 01 09:00:00 2025\nFrom: ana\nSubject: x\n\nx\n\n" * 10_000,
    "markdown": lambda: b"User: x\nAssistant: y\n" * 40_000,
}

NO_JSON = frozenset(
    """
    contacts whatsapp irc sms kakaotalk line google_voice chat_table mail markdown
    """.split()
)
"""The formats whose documents are no JSON."""


class _Documents(Mapping[str, bytes]):
    """Each document is made when it is first asked for: 27 MB altogether, of which most tests want none."""

    def __getitem__(self, name: str) -> bytes:
        return _made(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_MAKERS)

    def __len__(self) -> int:
        return len(_MAKERS)


@cache
def _made(name: str) -> bytes:
    return _MAKERS[name]()


LONG: Mapping[str, bytes] = _Documents()
