"""A long document of each format, to be broken in the middle: thousands of small messages."""

from __future__ import annotations

import json
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


LONG: dict[str, bytes] = {
    "native": b'{"session_id":"s","role":"user","content":"x"}\n' * 20_000,
    "chatgpt": json.dumps([conversation(n) for n in range(500)]).encode(),
    "claude": json.dumps(
        [
            {"uuid": f"c{n}", "name": "", "chat_messages": [{"uuid": "m", "sender": "human", "text": "x"}]}
            for n in range(9000)
        ]
    ).encode(),
    "contacts": b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ana\r\nEMAIL:a@b.example\r\nEND:VCARD\r\n" * 9_000,
    "whatsapp": b"31/12/2024, 10:00 - Ana: x\n" * 40_000,
    "google_chat": json.dumps(
        {"messages": [{"creator": {"name": "A"}, "text": "x", "topic_id": "t"} for _ in range(9000)]}
    ).encode(),
    "teams": json.dumps(
        [{"id": f"{n}", "messageType": "message", "body": {"content": "x"}} for n in range(9000)]
    ).encode(),
    "librechat": json.dumps(
        [{"conversationId": f"c{n}", "messages": [{"messageId": "m", "text": "x"}]} for n in range(9000)]
    ).encode(),
    "sharegpt": json.dumps(
        [{"id": f"c{n}", "conversations": [{"from": "human", "value": "x"}]} for n in range(9000)]
    ).encode(),
    "openai_jsonl": b'{"messages": [{"role": "user", "content": "x"}]}\n' * 20_000,
    "open_webui": json.dumps(
        [{"id": f"c{n}", "chat": {"messages": [{"role": "user", "content": "x"}]}} for n in range(9000)]
    ).encode(),
    "claude_code": b'{"type":"user","sessionId":"s","message":{"role":"user","content":"x"}}\n' * 20_000,
    "codex": b'{"type":"event_msg","payload":{"type":"agent_message","message":"x"}}\n' * 20_000,
    "gemini_cli": b'{"sessionId":"s"}\n' + b'{"type":"gemini","content":"x"}\n' * 20_000,
    "agents": b'{"role":"user","message":{"content":[{"type":"text","text":"x"}]}}\n' * 20_000,
    "gemini": json.dumps(
        [{"header": "Gemini Apps", "title": f"Prompted {n}", "time": f"2025-01-01T00:00:00.{n}Z"} for n in range(9000)]
    ).encode(),
    "aistudio": json.dumps(
        {"chunkedPrompt": {"chunks": [{"role": "user", "text": f"turn {n}"} for n in range(9000)]}}
    ).encode(),
    "grok": json.dumps(
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
    "deepseek": json.dumps(
        [
            {
                "id": f"c{n}",
                "title": "",
                "mapping": {"1": {"message": {"fragments": [{"type": "REQUEST", "content": "x"}]}}},
            }
            for n in range(9000)
        ]
    ).encode(),
    "chat_apps": b'{"user_name":"A","character_name":"B"}\n' + b'{"is_user":true,"mes":"x"}\n' * 20_000,
    "lmstudio": json.dumps(
        {
            "name": "x",
            "createdAt": 1750000000000,
            "messages": [{"versions": [{"role": "user", "content": [{"text": f"turn {n}"}]}]} for n in range(9000)],
        }
    ).encode(),
    "slack": json.dumps(
        [{"type": "message", "user": "U1", "text": "x", "ts": f"17{n:08}.000100"} for n in range(9000)]
    ).encode(),
    "discord": json.dumps(
        {
            "guild": {"id": "1", "name": "x"},
            "channel": {"id": "2", "name": "y"},
            "messages": [
                {"id": f"{n}", "type": "Default", "content": "x", "author": {"id": "3", "name": "Ana"}}
                for n in range(9000)
            ],
        }
    ).encode(),
    "meta": json.dumps(
        {
            "participants": [{"name": "Ana"}],
            "messages": [{"sender_name": "Ana", "timestamp_ms": 1, "content": "x"} for n in range(9000)],
        }
    ).encode(),
    "telegram": json.dumps(
        {
            "id": 1,
            "name": "x",
            "messages": [
                {"id": n, "type": "message", "date_unixtime": "1760000000", "from": "Ana", "text": "x"}
                for n in range(9000)
            ],
        }
    ).encode(),
    "signal": b'{"date":"2025-03-01T09:00:00","sender":"Ana","body":"x","quote":""}\n' * 10_000,
    "irc": b"[09:30] <ana> x\n" * 40_000,
    "sms": b"<smses>\n" + b'<sms address="+4917" date="1619600000000" type="1" body="x" />\n' * 4_000,
    "kakaotalk": b"Jul 9, 2015, 8:34 PM, Ana : x\n" * 8_000,
    "line": b"[LINE] Chat with Ana\n2015/12/25(Fri)\n" + b"07:33\tAna\tx\n" * 15_000,
    "google_voice": b"<html><body>"
    + b'<div class="message"><abbr class="dt" title="2023-09-01T19:29:20Z">x</abbr><q>x</q></div>\n' * 3_000,
    "skype": json.dumps(
        {
            "userId": "8:ana",
            "conversations": [
                {"id": f"8:b{n}", "MessageList": [{"id": "1", "from": "8:b", "messagetype": "Text", "content": "x"}]}
                for n in range(3000)
            ],
        }
    ).encode(),
    "hangouts": json.dumps(
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
    "mattermost": b'{"type":"post","post":{"team":"t","channel":"c","user":"ana","message":"x","create_at":1}}\n'
    * 9_000,
    "matrix": json.dumps(
        {
            "room_name": "x",
            "messages": [
                {"type": "m.room.message", "sender": "@a:x", "event_id": f"$e{n}", "content": {"body": "x"}}
                for n in range(4000)
            ],
        }
    ).encode(),
    "rocketchat": json.dumps(
        [
            {"_id": f"a{n}", "rid": "R", "msg": "x", "ts": "2023-05-01T10:00:00Z", "u": {"name": "A"}}
            for n in range(4000)
        ]
    ).encode(),
    "snapchat": b'{"ana": [{"From": "ana", "Media Type": "TEXT", "Created": "2024-05-01", "Content": "x"}]}\n' * 9_000,
    "chat_table": b"date,sender,message\n" + b"2024-05-01 10:00,Ana,x\n" * 8_000,
    "mail": b"From ana Sat Mar 01 09:00:00 2025\nFrom: ana\nSubject: x\n\nx\n\n" * 10_000,
    "markdown": b"User: x\nAssistant: y\n" * 40_000,
}
