"""Exports of front ends, character apps and frameworks: each is recognised, and read with its authors and times."""

from __future__ import annotations

import json
from typing import Any

import pytest

ASKED, SAID = "Which ferry leaves after nine?", "The slow ferry leaves at half past nine."
AGAIN, NEVER = "And on Sundays?", "There is none before noon."
UTC_0, UTC_5 = "2024-02-06T10:30:00+00:00", "2024-02-06T10:30:05+00:00"
MS = 1707215400000
ISO = "2024-02-06T10:30:00.000Z"


def encoded(data: Any) -> bytes:
    """JSON; a line each for a tuple; text as it is."""
    return ("\n".join(map(json.dumps, data)) if isinstance(data, tuple) else json.dumps(data)).encode()


def turns(reading) -> list[tuple[str, str]]:
    """Role and text of what was said, without branches."""
    return [(m.role, m.text) for m in reading.messages if not m.metadata.get("branch") and m.role != "tool"]


def times(reading) -> list[str | None]:
    return [m.sent_at.isoformat() if m.sent_at else None for m in reading.messages]


PAIR = [("user", ASKED), ("assistant", SAID)]

CHATBOX = {
    "__exported_items": ["conversations"],
    "settings": {"language": "en"},
    "session:c1": {
        "id": "c1",
        "name": "Ferries",
        "messages": [
            {"id": "a", "role": "user", "contentParts": [{"type": "text", "text": ASKED}], "timestamp": MS},
            {"id": "b", "role": "assistant", "contentParts": [{"type": "text", "text": SAID}], "timestamp": MS + 5000},
        ],
    },
}
LOBECHAT = {
    "exportType": "all",
    "state": {
        "messages": [
            {"id": "m1", "role": "user", "content": ASKED, "topicId": "t1", "createdAt": MS},
            {"id": "m3", "role": "user", "content": AGAIN, "sessionId": "s2", "createdAt": MS},
            {"id": "m2", "role": "assistant", "content": SAID, "topicId": "t1", "createdAt": MS + 5000},
        ],
        "topics": [{"id": "t1", "title": "Ferries"}],
        "sessions": [{"id": "s2", "meta": {"title": "Sundays"}}],
    },
    "version": 7,
}
TYPINGMIND = {
    "data": {
        "chats": [
            {
                "chatID": "x1",
                "chatTitle": "Ferries",
                "messages": [
                    {"role": "user", "content": ASKED, "createdAt": ISO},
                    {"role": "assistant", "content": [{"type": "text", "text": SAID}], "createdAt": UTC_5},
                ],
            }
        ],
        "folders": [],
    }
}
BIG_AGI = {
    "conversations": [
        {
            "id": "b1",
            "userTitle": "Ferries",
            "systemPurposeId": "Generic",
            "messages": [
                {
                    "role": "user",
                    "fragments": [{"ft": "content", "part": {"pt": "text", "text": ASKED}}],
                    "created": MS,
                },
                {
                    "role": "assistant",
                    "fragments": [
                        {"ft": "void", "part": {"pt": "ma", "aText": "They want to leave."}},
                        {"ft": "content", "part": {"pt": "text", "text": SAID}},
                    ],
                    "created": MS + 5000,
                },
            ],
        }
    ]
}
CHERRY = {
    "time": MS,
    "version": 5,
    "localStorage": {
        "persist:cherry-studio": json.dumps(
            {"assistants": json.dumps({"assistants": [{"topics": [{"id": "t1", "name": "Ferries"}]}]})}
        )
    },
    "indexedDB": {
        "topics": [
            {
                "id": "t1",
                "messages": [
                    {"id": "m1", "role": "user", "createdAt": ISO, "blocks": ["b1"]},
                    {"id": "m2", "role": "assistant", "createdAt": UTC_5, "blocks": ["b2", "b3"]},
                ],
            }
        ],
        "message_blocks": [
            {"id": "b1", "type": "main_text", "content": ASKED},
            {"id": "b2", "type": "thinking", "content": "They want to leave."},
            {"id": "b3", "type": "main_text", "content": SAID},
        ],
    },
}
LE_CHAT = [
    {"id": "m1", "chatId": "3f", "content": ASKED, "contentChunks": None, "role": "user", "createdAt": ISO},
    {
        "id": "m2",
        "chatId": "3f",
        "content": "",
        "contentChunks": [{"type": "text", "text": SAID}],
        "role": "assistant",
        "createdAt": UTC_5,
    },
]
PERPLEXITY = {
    "entries": [
        {
            "backend_uuid": "e1",
            "thread_url_slug": "ferries-1",
            "thread_title": "Ferries",
            "query_str": ASKED,
            "updated_datetime": "2024-02-06T10:30:00.000000",
            "blocks": [{"intended_usage": "ask_text", "markdown_block": {"answer": SAID}}],
        },
        {
            "backend_uuid": "e2",
            "query_str": AGAIN,
            "updated_datetime": "2024-02-06T10:30:05.000000",
            "text": json.dumps(
                [{"step_type": "FINAL", "content": {"answer": json.dumps({"answer": NEVER, "web_results": []})}}]
            ),
        },
    ]
}


FRONT_ENDS = {
    "chatbox": CHATBOX,
    "typingmind": TYPINGMIND,
    "big_agi": BIG_AGI,
    "cherry_studio": CHERRY,
    "le_chat": LE_CHAT,
}


@pytest.mark.parametrize("name", FRONT_ENDS)
def test_a_front_end(read, name):
    reading = read(encoded(FRONT_ENDS[name]), "upload.json")
    assert reading.format == "chat_apps"
    assert turns(reading) == PAIR
    assert {times(reading)[0], times(reading)[-1]} == {UTC_0, UTC_5}
    assert [session.title for session in reading.sessions] == [None if name == "le_chat" else "Ferries"]
    assert not reading.problems


def test_topics_are_conversations_of_their_own(read):
    reading = read(encoded(LOBECHAT), "lobe.json")
    assert [(s.external_id, s.title) for s in reading.sessions] == [("t1", "Ferries"), ("s2", "Sundays")]
    assert [(m.session, m.text) for m in reading.messages] == [("t1", ASKED), ("t1", SAID), ("s2", AGAIN)]


def test_answers_of_both_versions_of_perplexity(read):
    reading = read(encoded(PERPLEXITY), "thread.json")
    assert turns(reading) == [*PAIR, ("user", AGAIN), ("assistant", NEVER)]
    assert times(reading) == [UTC_0, UTC_0, UTC_5, UTC_5]


def test_times_as_a_country_writes_them(read):
    def session(number: int, date: str, text: str) -> dict[str, Any]:
        return {"id": f"s{number}", "topic": "Ferries", "messages": [{"date": date, "role": "user", "content": text}]}

    stored = [session(1, "2/6/2024, 10:30:00 AM", ASKED), session(2, "2/26/2024, 9:00:05 PM", AGAIN)]
    backup = {"chat-next-web-store": {"sessions": stored}, "access-control": {}}
    reading = read(encoded(backup), "backup.json")
    assert times(reading) == ["2024-02-06T10:30:00", "2024-02-26T21:00:05"]
    assert not reading.notes
    stored.pop()
    assert "day and month" in read(encoded(backup), "backup.json").notes[0].message


def test_an_extension_that_calls_the_sides_prompt_and_response(read):
    export = {
        "metadata": {
            "title": "Ferries", "link": "https://chatgpt.com/c/abc", "dates": {"created": "2/6/2024 10:30:00"},
            "powered_by": "ChatGPT Exporter",
        },
        "messages": [
            {"role": "Prompt", "say": ASKED, "time": "2/6/2024, 10:30:00 AM"}, {"role": "Response", "say": SAID},
        ],
    }  # fmt: skip
    reading = read(encoded(export), "ChatGPT-Ferries.json")
    assert turns(reading) == PAIR
    assert [(s.external_id, s.created_at.isoformat()) for s in reading.sessions] == [("abc", "2024-02-06T10:30:00")]


def test_a_characters_chat(read):
    head = {"user_name": "Ana", "character_name": "Mara", "create_date": "2023-6-2 @21h 09m 51s 363ms"}
    first = {"name": "Mara", "is_user": False, "send_date": "June 2, 2023 9:10pm", "mes": "Welcome."}
    asked = {"name": "Ana", "is_user": True, "send_date": "2023-6-2 @21h 11m 00s", "mes": ASKED}
    said = {"name": "Mara", "is_user": False, "send_date": 1685740251363, "mes": SAID, "swipes": ["It left.", SAID]}
    reading = read(encoded((head, first, asked, said)), "chats/Mara/Mara.jsonl")
    assert turns(reading) == [("assistant", "Welcome."), *PAIR]
    assert [m.author for m in reading.messages] == ["Mara", "Ana", "Mara", "Mara"]
    assert times(reading)[:2] == ["2023-06-02T21:10:00", "2023-06-02T21:11:00"]
    assert [m.text for m in reading.messages if m.metadata.get("branch")] == ["It left."]
    assert reading.sessions[0].title == "Mara"


def test_histories_and_turns_of_characters(read):
    history = {
        "external_id": "h1",
        "msgs": [
            {"id": 1, "text": ASKED, "src": {"name": "Ana", "is_human": True}, "created": ISO},
            {"id": 2, "text": SAID, "src": {"name": "Mara", "is_human": False}},
        ],
    }
    reading = read(encoded({"info": {"name": "Mara"}, "histories": {"histories": [history]}}), "mara.json")
    assert turns(reading) == PAIR and [m.author for m in reading.messages] == ["Ana", "Mara"]

    def turn(text: str, is_human: bool, *others: str) -> dict[str, Any]:
        candidates = [{"candidate_id": words[:4], "raw_content": words} for words in (text, *others)]
        author = {"name": "Ana" if is_human else "Mara"} | ({"is_human": True} if is_human else {})
        return {
            "turn_key": {"chat_id": "c1"}, "create_time": ISO if is_human else UTC_5, "author": author,
            "candidates": candidates, "primary_candidate_id": text[:4],
        }  # fmt: skip

    reading = read(encoded({"turns": [turn(SAID, False, "It left."), turn(ASKED, True)]}), "turns.json")
    assert sorted(turns(reading), reverse=True) == PAIR
    assert [m.text for m in reading.messages if m.metadata.get("branch")] == ["It left."]


def test_pairs_of_a_local_model(read):
    chat = {
        "internal": [["<|BEGIN-VISIBLE-CHAT|>", "Welcome."], [ASKED, SAID]],
        "visible": [["", "Welcome."], [ASKED, SAID]],
        "metadata": {"user_1": {"timestamp": "Feb 06, 2024 10:30"}},
    }
    reading = read(encoded(chat), "logs/chat/20240206-10-29-00.json")
    assert turns(reading) == [("assistant", "Welcome."), *PAIR]
    assert times(reading) == [None, "2024-02-06T10:30:00", None]
    assert reading.sessions[0].created_at.isoformat() == "2024-02-06T10:29:00"


def test_a_table_of_microsoft_copilot(read):
    table = (
        "Conversation,Time,Author,Message\r\n"
        f'"Ferries","2024-02-06T10:30:05","AI","It leaves, ""as ever"",\nat nine."\r\n'
        f'"Ferries","2024-02-06T10:30:00","Human","{ASKED}"\r\n'
        f'"Sundays","2024-02-05T09:00:00","Human","{AGAIN}"\r\n'
    )
    reading = read(table.encode(), "copilot-activity-history.csv")
    assert turns(reading) == [("user", ASKED), ("assistant", 'It leaves, "as ever",\nat nine.'), ("user", AGAIN)]
    assert [s.title for s in reading.sessions] == ["Ferries", "Sundays"]
    assert times(reading)[0] == "2024-02-06T10:30:00"


FRAMEWORKS = {
    "langchain": [
        {"lc": 1, "id": ["langchain", "schema", "messages", f"{kind}Message"], "kwargs": {"content": text}}
        for kind, text in (("Human", ASKED), ("AI", SAID))
    ],
    "pydantic_ai": [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ASKED, "timestamp": ISO}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": SAID}], "timestamp": UTC_5},
    ],
    "autogen": [
        {"type": "TextMessage", "source": source, "models_usage": None, "content": text}
        for source, text in (("user", ASKED), ("harbour_agent", SAID))
    ],
    "openhands": [
        {"id": 1, "source": "user", "action": "message", "message": ASKED, "args": {"content": ASKED}},
        {"id": 2, "source": "agent", "action": "run", "message": "Running", "args": {"command": "ls"}},
        {"id": 3, "source": "agent", "observation": "run", "message": "ran", "content": "timetable.md"},
        {"id": 4, "source": "agent", "action": "message", "message": SAID, "args": {"content": SAID}},
    ],
    "questions": [{"question": ASKED, "answer": SAID, "timestamp": ISO}],
    "anythingllm": [{"prompt": ASKED, "response": SAID, "sent_at": ISO, "workspace": "Harbour"}],
    "windsurf": (
        {"status": "done", "type": "user_input", "user_input": {"user_response": ASKED}},
        {"status": "done", "type": "view_file", "view_file": {"path": "timetable.md"}},
        {"status": "done", "type": "planner_response", "planner_response": {"response": SAID}},
    ),
    "cursor": (
        {"composerId": "c1", "name": "Ferries", "createdAt": MS},
        {"bubbleId": "b1", "type": 1, "text": ASKED, "createdAt": ISO},
        {"bubbleId": "b2", "type": 2, "text": SAID, "createdAt": UTC_5, "thinking": {"text": "They want to leave."}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework_or_an_agent(read, name):
    reading = read(encoded(FRAMEWORKS[name]), "upload.jsonl" if isinstance(FRAMEWORKS[name], tuple) else "upload.json")
    assert reading.format == "chat_apps"
    assert turns(reading) == PAIR
    assert len(reading.sessions) == 1 and not reading.problems


def test_a_text_that_is_cut_into_messages(read):
    text = f"{ASKED} \u2014\n{SAID}\n"
    start = len(f"{ASKED} \u2014\n".encode())
    marks = [{"start": 0, "metadata": {"role": "user"}}, {"start": start, "metadata": {"role": "assistant"}}]
    reading = read(
        encoded({"id": "z", "zed": "context", "text": text, "messages": marks, "summary": "Ferries"}), "a.zed.json"
    )
    assert turns(reading) == [("user", f"{ASKED} \u2014"), ("assistant", SAID)]


def test_words_in_an_unknown_shape_are_kept_with_a_note(read):
    said = {"is_user": False, "mes": {"rich": [{"words": SAID}]}, "name": "Mara"}
    reading = read(encoded(({"is_user": True, "mes": ASKED}, said)), "chat.jsonl")
    assert turns(reading) == PAIR
    assert "unknown shape" in reading.notes[0].message


def test_a_damaged_message_costs_only_itself(read):
    whole = json.dumps({"is_user": True, "mes": ASKED})
    reading = read(f'{whole}\n"nothing"\n{whole}\n'.encode(), "chat.jsonl")
    assert reading.texts == [ASKED, ASKED]
    assert len(reading.problems) == 1 and reading.problems[0].where.startswith("line 2")


def test_reading_again_gives_the_same_ids(read):
    first, second = (read(encoded(FRONT_ENDS["chatbox"]), "a.json") for _ in range(2))
    assert [m.external_id for m in first.messages] == [m.external_id for m in second.messages] == ["a", "b"]
    made = [read(encoded(FRAMEWORKS["autogen"][:count]), "a.json").sessions[0].external_id for count in (1, 2)]
    assert made[0] == made[1]
