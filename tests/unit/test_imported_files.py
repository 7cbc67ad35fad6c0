"""What each imported file gave: messages count for the file that gave them first."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import UsageError


def lines(session: str, *texts: str) -> str:
    return "".join(
        json.dumps({
            "session_id": session, "session_title": session.title(), "message_id": f"{session}-{n}", "role": "user",
            "timestamp": f"2026-02-0{n + 1}T10:00:00Z", "content": text,
        }) + "\n"
        for n, text in enumerate(texts)
    )  # fmt: skip


def test_messages_count_for_the_file_that_gave_them_first(memory: Appliance, tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text(lines("harbour", "one", "two") + lines("kitchen", "three"))
    second.write_text(lines("harbour", "one", "two", "and more"))
    memory.ingest(first)
    memory.ingest(second)
    files = memory.overview.imported_files()
    assert [(Path(file.path).name, file.sessions, file.messages) for file in files] == [
        ("b.jsonl", 1, 1),
        ("a.jsonl", 2, 3),
    ]
    assert files == [*memory.overview.imported_files(str(second)), *memory.overview.imported_files(str(first))]
    assert memory.overview.imported_files(limit=1) == files[:1]
    sessions = memory.overview.imported_sessions(str(first))
    assert [(one.title, one.messages, (one.last_at or "")[:10]) for one in sessions] == [
        ("Harbour", 2, "2026-02-02"),
        ("Kitchen", 1, "2026-02-01"),
    ]
    assert memory.overview.imported_sessions(str(tmp_path / "c.jsonl")) == []
    memory.erasure.forget(memory.erasure.preview(source=str(first)))
    assert [file.messages for file in memory.overview.imported_files()] == [1]  # a file without messages is not kept


def test_a_zip_stands_for_the_files_in_it_and_no_other(memory: Appliance, tmp_path: Path) -> None:
    archive = tmp_path / "chats.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("one.jsonl", lines("one", "hello"))
        packed.writestr("two.jsonl", lines("two", "world"))
    beside = tmp_path / "chats.zip2.jsonl"
    beside.write_text(lines("three", "again"))
    memory.ingest([archive, beside])
    assert len(memory.overview.imported_files()) == 3
    assert [one.title for one in memory.overview.imported_sessions(str(archive))] == ["One", "Two"]
    assert len(memory.overview.imported_files(str(archive))) == 2


def test_files_of_one_user_are_those_that_gave_them_conversations(memory: Appliance, tmp_path: Path) -> None:
    mine, ours, theirs = (tmp_path / f"{name}.jsonl" for name in ("mine", "ours", "theirs"))
    for path in (mine, ours, theirs):
        path.write_text(lines(path.stem, "one"))
    memory.ingest([mine, ours])
    memory.ingest([ours, theirs], user_id="other")

    def names(**options: str) -> list[str]:
        return [Path(file.path).stem for file in memory.overview.imported_files(**options)]

    assert names() == ["theirs", "ours", "mine"]
    assert names(user_id="me") == ["ours", "mine"]
    assert names(user_id="other") == ["theirs", "ours"]
    assert names(path=str(theirs), user_id="me") == []


def test_what_a_file_gave_to_one_user_is_counted_without_the_others(memory: Appliance, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(lines("harbour", "one", "two"))
    memory.ingest(path)
    (alone,) = memory.overview.imported_files(user_id="me")
    memory.ingest(path, user_id="kim")
    path.write_text(lines("harbour", "one", "two", "three") + lines("kitchen", "four"))
    memory.ingest(path, user_id="lee")
    (mine,), (theirs,) = (memory.overview.imported_files(user_id=user) for user in ("me", "lee"))
    assert (mine.sessions, mine.messages) == (alone.sessions, alone.messages) == (1, 2)
    assert (theirs.sessions, theirs.messages) == (2, 4)
    assert [one.user_id for one in memory.overview.imported_sessions(str(path), user_id="lee")] == ["lee", "lee"]
    assert len(memory.overview.imported_sessions(str(path))) == 4
    assert alone.first_read_at <= mine.first_read_at <= mine.read_at < theirs.first_read_at
    (together,) = memory.overview.imported_files()
    assert (together.sessions, together.messages, together.read_at > mine.read_at) == (4, 8, True)


@pytest.mark.parametrize("limit", [0, 1_001])
def test_a_limit_out_of_bounds_is_refused(memory: Appliance, limit: int) -> None:
    with pytest.raises(UsageError, match="1 to 1,000"):
        memory.overview.imported_files(limit=limit)
    with pytest.raises(UsageError, match="1 to 1,000"):
        memory.overview.imported_sessions("/x", limit=limit)
