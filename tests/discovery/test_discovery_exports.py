"""Exports are found by name and content, within bounds."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path

import pytest

from appliance.engine import discovery
from appliance.ingest.discovery import counting, search
from appliance.ingest.discovery.places import Machine
from appliance.paths import Home
from appliance.requests import DiscoverRequest
from appliance.types import Discovery
from tests.discovery import layouts
from tests.waits import spent

WORDS = "the pier budget of a year is a table with rows and some words that mean little to us".split()


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "ines"
    (made / "Downloads").mkdir(parents=True)
    monkeypatch.setattr(discovery, "this_machine", lambda: Machine(made, "linux", {}))
    return made


def look(tmp_path: Path, seconds: float = 60.0) -> Discovery:
    return discovery.discover(DiscoverRequest(seconds=seconds), Home(tmp_path / "memory"), "")


def unrelated(folder: Path, number: int) -> None:
    random_words = random.Random(number)
    ending = ("pdf", "jpg", "txt", "json", "zip", "md", "html", "csv", "docx", "jsonl")[number % 10]
    path = folder / (f"part{number % 7}" if number % 3 else "") / f"file{number}.{ending}"
    path.parent.mkdir(exist_ok=True)
    text = " ".join(random_words.choices(WORDS, k=300))
    if ending == "zip":
        with zipfile.ZipFile(path, "w") as file:
            for part in range(5):
                file.writestr(f"src/part{part}.txt", text)
    elif ending in ("json", "jsonl"):
        path.write_text(json.dumps({"rows": [{"value": number, "name": text}]}))
    else:
        path.write_text(text)


@pytest.mark.slow
def test_a_folder_with_thousands_of_unrelated_files_answers_soon(tmp_path: Path, person: Path) -> None:
    for number in range(5000):
        unrelated(person / "Downloads", number)
    export = layouts.chatgpt_zip(person)
    found: list[Discovery] = []
    assert spent(lambda: found.append(look(tmp_path))) < 2
    assert [one.path for one in found[0]] == [str(export)], "the name of an export is looked into first"


def test_an_unpacked_export_is_one(tmp_path: Path, person: Path) -> None:
    folder = person / "Downloads/claude"
    for number in range(3):
        chat = {
            "uuid": f"c{number}", "name": "Piers", "created_at": layouts.FIRST, "updated_at": layouts.LAST,
            "chat_messages": [{"uuid": f"m{number}", "sender": "human", "text": "Which?", "created_at": layouts.FIRST}],
        }  # fmt: skip
        layouts.put(folder / f"conversations-{number}.json", [chat])
    (one,) = look(tmp_path)
    assert (one.tool, one.path, one.conversations) == ("Claude export", str(folder), 3)


def test_a_damaged_export_is_named_with_what_to_do(tmp_path: Path, person: Path) -> None:
    path = layouts.chatgpt_zip(person)
    data = path.read_bytes()
    path.write_bytes(data[:20])
    (one,) = look(tmp_path).found
    assert "cut off" in one.problem and one.hint and one.conversations is None
    path.write_bytes(data[:-40])
    found = look(tmp_path)
    assert [one.conversations for one in found.found] == [1], "what is whole is found"
    assert "the list of files at the zip's end is cut off" in found.notes[0]


def test_the_folders_have_the_names_of_the_language(tmp_path: Path, person: Path) -> None:
    layouts.chatgpt_zip(person)
    (person / "Downloads").rename(person / "Scaricati")
    (person / ".config").mkdir()
    (person / ".config/user-dirs.dirs").write_text('XDG_DOWNLOAD_DIR="$HOME/Scaricati"\n')
    (one,) = look(tmp_path)
    assert one.tool == "ChatGPT export"


def test_what_lies_too_deep_or_beyond_the_number_is_left_out(
    tmp_path: Path, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = layouts.whatsapp(person)
    deep = person / "Documents/a/b/c/d"
    deep.mkdir(parents=True)
    path.rename(deep / path.name)
    assert not look(tmp_path).found
    monkeypatch.setattr(search, "MAX_EXPORT_FILES", 3)
    for number in range(10):
        (person / "Downloads" / f"{number}.txt").write_text("nothing")
    assert "first 3 files" in look(tmp_path).notes[0]


def test_a_large_export_is_estimated_when_the_time_is_up(
    tmp_path: Path, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats = [
        {
            "uuid": f"c{number}", "name": "Piers", "created_at": layouts.FIRST, "updated_at": layouts.LAST,
            "chat_messages": [
                {"uuid": f"m{number}", "sender": "human", "text": "Which? " * 2000, "created_at": layouts.FIRST}
            ],
        }
        for number in range(1000)
    ]  # fmt: skip
    layouts.put(person / "Downloads/conversations.json", chats)
    moments = iter([0.0] * 5 + [100.0] * 10)  # while the file is counted, the deadline passes
    monkeypatch.setattr(counting.time, "monotonic", lambda: next(moments))
    (one,) = look(tmp_path)
    assert one.estimated and one.conversations is not None and 800 < one.conversations < 1300


def test_unpacked_exports_are_found_however_deep_they_lie(tmp_path: Path, person: Path) -> None:
    downloads = person / "Downloads"
    chat = {
        "participants": [{"name": "Ines"}, {"name": "Bo"}],
        "messages": [{"sender_name": "Bo", "timestamp_ms": 1700000000000, "content": "the boat is in"}],
        "title": "Bo",
        "thread_path": "inbox/bo_1",
    }
    for number in range(40):
        inbox = downloads / "facebook-ines-2024/your_activity_across_facebook/messages/inbox"
        layouts.put(inbox / f"bo_{number}/message_1.json", chat | {"thread_path": f"inbox/bo_{number}"})
    activity = {
        "header": "Gemini Apps",
        "title": "Prompted Where is the boat?",
        "time": "2025-05-01T10:00:00Z",
        "products": ["Gemini Apps"],
        "safeHtmlItem": [{"html": "<p>In the harbour.</p>"}],
    }
    layouts.put(downloads / "takeout-1/Takeout/My Activity/Gemini Apps/MyActivity.json", [activity])
    layouts.put(
        downloads / "takeout-1/Takeout/Google Chat/Groups/DM a1/messages.json",
        {"messages": [{"creator": {"name": "Bo", "email": "bo@x.example"}, "text": "hi", "topic_id": "t",
                       "created_date": "Monday, 3 March 2025 at 09:00:00 UTC"}]},
    )  # fmt: skip
    layouts.put(person / "Documents/work/a/b/c/d/notes.json", {"rows": []})
    found = look(tmp_path)
    counts = {one.format: one.conversations for one in found.found}
    assert counts == {"meta": 40, "gemini": 1, "google_chat": 1}
    (note,) = found.notes
    assert note.startswith(f"Looked 3 folders deep in {person / 'Documents'}") and "1 folder was not" in note
