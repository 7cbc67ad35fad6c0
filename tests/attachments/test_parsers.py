"""What exports say of their files, format by format: types, sizes and paths, with and without the files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance

SLACK = [
    {"type": "message", "user": "U1", "ts": "1741169702.000100", "text": "the plan",
     "files": [{"id": "F1", "name": "plan.bin", "mimetype": "image/png", "size": 1234}]},
]  # fmt: skip
TELEGRAM = {
    "name": "Ben", "type": "personal_chat", "id": 7,
    "messages": [
        {"id": 1, "type": "message", "date": "2025-03-05T10:15:02", "date_unixtime": "1741169702", "from": "Ben",
         "from_id": "user7", "text": "look", "photo": "photos/photo_1.jpg", "photo_file_size": 4},
        {"id": 2, "type": "message", "date": "2025-03-05T10:16:02", "date_unixtime": "1741169762", "from": "Ben",
         "from_id": "user7", "text": "", "file": "files/song (1).mp3", "file_name": "song.mp3",
         "mime_type": "audio/mpeg", "file_size": 5},
        {"id": 3, "type": "message", "date": "2025-03-05T10:17:02", "date_unixtime": "1741169822", "from": "Ben",
         "from_id": "user7", "text": "", "media_type": "voice_message", "mime_type": "audio/ogg",
         "file": "(File not included. Change data exporting settings to download.)", "file_size": 99},
    ],
}  # fmt: skip
DISCORD = {
    "guild": {"id": "1", "name": "Sea"}, "channel": {"id": "2", "name": "pier", "type": "GuildTextChat"},
    "messages": [
        {"id": "11", "type": "Default", "timestamp": "2025-03-05T10:15:02+00:00", "content": "look",
         "author": {"id": "5", "name": "ana"},
         "attachments": [
             {"id": "1", "url": "pier.json_Files/boat%20a-1F.png", "fileName": "boat a.png", "fileSizeBytes": 4},
             {"id": "2", "url": "https://cdn.example.org/x/far.mp4", "fileName": "far.mp4", "fileSizeBytes": 77},
         ]},
    ],
}  # fmt: skip
META = {
    "participants": [{"name": "Ana"}, {"name": "Ben"}], "title": "Ben", "thread_path": "inbox/ben_1",
    "messages": [
        {"sender_name": "Ana", "timestamp_ms": 1741169702000, "content": "look",
         "photos": [{"uri": "your_activity/messages/inbox/ben_1/photos/7.jpg", "creation_timestamp": 1}]},
    ],
}  # fmt: skip
CLAUDE = [
    {"uuid": "c1", "name": "Garden", "created_at": "2025-03-05T10:15:02Z", "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "read this", "created_at": "2025-03-05T10:15:02Z",
         "attachments": [{"file_name": "notes", "file_type": "text/plain", "file_size": 20,
                          "extracted_content": "roses"}],
         "files": [{"file_name": "bed.webp"}]},
    ]},
]  # fmt: skip
CHATGPT = [
    {"id": "g1", "title": "Garden", "create_time": 1741169702.0, "current_node": "n1", "mapping": {
        "n0": {"id": "n0", "message": None, "parent": None, "children": ["n1"]},
        "n1": {"id": "n1", "parent": "n0", "children": [], "message": {
            "id": "n1", "author": {"role": "user"}, "create_time": 1741169702.0,
            "content": {"content_type": "multimodal_text", "parts": [
                {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-Ab3dE6gH"}, "what is it?",
            ]},
            "metadata": {"attachments": [
                {"id": "file-Ab3dE6gH", "name": "rose", "mime_type": "image/jpeg", "size": 4},
            ]},
        }},
    }},
]  # fmt: skip

CASES: Mapping[str, tuple[str, Any, Mapping[str, bytes], list[tuple[object, ...]]]] = {
    "slack": ("general/2025-03-05.json", SLACK, {}, [("plan.bin", "image", "image/png", 1234, None)]),
    "telegram": (
        "result.json", TELEGRAM, {"photos/photo_1.jpg": b"four", "files/song (1).mp3": b"five!"},
        [
            ("photo_1.jpg", "image", "image/jpeg", 4, "photos/photo_1.jpg"),
            ("song.mp3", "audio", "audio/mpeg", 5, "files/song (1).mp3"),
            ("voice message", "audio", "audio/ogg", 99, None),
        ],
    ),
    "discord": (
        "pier.json", DISCORD, {"pier.json_Files/boat a-1F.png": b"four"},
        [
            ("boat a.png", "image", "image/png", 4, "pier.json_Files/boat a-1F.png"),
            ("far.mp4", "video", None, 77, None),
        ],
    ),
    "meta": (
        "message_1.json", META, {"photos/7.jpg": b"four", "gifs/7.jpg": b"another"},
        [("7.jpg", "image", "image/jpeg", 4, "photos/7.jpg")],
    ),
    "claude": (
        "conversations.json", CLAUDE, {},
        [("notes", "file", "text/plain", 20, None), ("bed.webp", "image", None, None, None)],
    ),
    "chatgpt": (
        "conversations.json", CHATGPT, {"file-Ab3dE6gH-rose.jpeg": b"four"},
        [("rose", "image", "image/jpeg", 4, "file-Ab3dE6gH-rose.jpeg")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("format", CASES)
def test_what_an_export_says_of_its_files(memory: Appliance, tmp_path: Path, format: str) -> None:
    name, document, files, expected = CASES[format]
    folder = tmp_path / "in"
    for path, content in {name: json.dumps(document).encode(), **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    report = memory.ingest(folder, wait=False)
    assert {file.format for file in report.files if file.messages} == {format}
    found = sorted(memory.attachments.list(), key=lambda one: (int(one.message_id[1:]), one.id))
    assert [(one.name, one.kind, one.type, one.size, one.path) for one in found] == expected
    assert all((one.digest is None) == (one.path is None) for one in found)
