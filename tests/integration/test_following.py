"""A log that grows is read from where the last reading ended, unless what was read is no longer what it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import DiskFull
from appliance.ingest import following, pipeline
from appliance.ingest.following import FollowedLogs
from appliance.ingest.sources import DetectedDocument, detect_documents
from appliance.types import Scope
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.growing_logs import SESSION, read, record

ME = Scope("me")


@pytest.fixture
def memory(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Appliance]:
    monkeypatch.setattr(following, "MIN_BYTES", 1)
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as opened:
        yield opened


def line(number: int) -> str:
    kind = "prompt" if number % 2 else "answer"
    return json.dumps(record(number, kind, SESSION, number - 1 if number > 1 else None)) + "\n"


def native(number: int, **more: str) -> str:
    values = {"session_id": "boats", "role": "user", "content": f"message {number}", "message_id": f"b{number}"}
    return json.dumps(values | more) + "\n"


def put(path: Path, *lines: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(lines))


def followed(memory: Appliance, path: Path, logs: FollowedLogs, make=line) -> None:
    """The first two readings, after which a log of four messages is followed."""
    put(path, *map(make, (1, 2, 3)))
    read(memory, path, ME, logs)
    put(path, make(4))
    (tally,) = read(memory, path, ME, logs)
    assert (tally.messages, tally.new) == (4, 1)
    assert logs.are_cheap(path)


@pytest.mark.parametrize("make", [line, native])
def test_further_lines_are_read_alone(memory: Appliance, tmp_path: Path, make) -> None:
    path, logs = tmp_path / f"{SESSION}.jsonl", FollowedLogs()
    followed(memory, path, logs, make)
    for number in (5, 6):
        put(path, make(number))
        (tally,) = read(memory, path, ME, logs)
        assert (tally.messages, tally.new, tally.duplicates) == (2, 1, 1)  # with the message that it follows
    found = [message.text for message in memory.sessions.get(memory.sessions.list()[0].id).messages()]
    assert len(found) == 6 and found == sorted(found, key=lambda text: int("".join(filter(str.isdigit, text))))
    assert not memory.verify().problems


def test_a_log_that_was_rewritten_is_read_whole(memory: Appliance, tmp_path: Path) -> None:
    path, logs = tmp_path / f"{SESSION}.jsonl", FollowedLogs()
    followed(memory, path, logs)
    path.write_text(path.read_text().replace("prompt 1 ", "Prompt 1 ") + line(5))
    (tally,) = read(memory, path, ME, logs)
    assert (tally.messages, tally.new, tally.updated) == (5, 1, 1)
    assert not logs.are_cheap(path)  # it may be rewritten again


def test_a_half_written_line_waits(memory: Appliance, tmp_path: Path) -> None:
    path, logs, next_line = tmp_path / f"{SESSION}.jsonl", FollowedLogs(), line(5)
    followed(memory, path, logs)
    put(path, next_line[:50])
    (tally,) = read(memory, path, ME, logs)
    assert tally.new == 0 and "cut off" in tally.notes[0].message and not tally.errors
    put(path, next_line[50:])
    (tally,) = read(memory, path, ME, logs)
    assert (tally.messages, tally.new) == (2, 1)


def test_a_whole_record_without_the_end_of_its_line_does_not_wait(memory: Appliance, tmp_path: Path) -> None:
    path, logs = tmp_path / f"{SESSION}.jsonl", FollowedLogs()
    followed(memory, path, logs)
    put(path, line(5).rstrip("\n"))
    (tally,) = read(memory, path, ME, logs)
    assert (tally.messages, tally.new) == (5, 1)


def test_what_was_deleted_meanwhile_stays_deleted_as_with_a_reading_of_the_whole(
    memory: Appliance, tmp_path: Path
) -> None:
    path, logs = tmp_path / f"{SESSION}.jsonl", FollowedLogs()
    followed(memory, path, logs)
    memory.sessions.get(memory.sessions.list()[0].id).delete()
    put(path, line(5))
    (tally,) = read(memory, path, ME, logs)
    assert (tally.new, tally.forgotten) == (1, 1)
    (whole,) = read(memory, path, ME, FollowedLogs())
    assert (whole.new, whole.duplicates, whole.forgotten) == (0, 1, 4)


def test_messages_without_ids_are_read_whole(memory: Appliance, tmp_path: Path) -> None:
    path, logs = tmp_path / "boats.jsonl", FollowedLogs()
    for count in (1, 2, 3, 4):
        put(path, json.dumps({"session_id": "boats", "role": "user", "content": "again"}) + "\n")
        (tally,) = read(memory, path, ME, logs)
        assert (tally.messages, tally.new) == (count, 1)


def test_what_could_not_be_stored_is_read_again(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, logs = tmp_path / f"{SESSION}.jsonl", FollowedLogs()
    followed(memory, path, logs)
    put(path, line(5))

    def fail(*_: object) -> None:
        raise DiskFull("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "store", fail)
        with pytest.raises(DiskFull):
            read(memory, path, ME, logs)
    (tally,) = read(memory, path, ME, logs)
    assert (tally.messages, tally.new) == (5, 1)


def test_a_file_that_is_gone_is_reported(memory: Appliance, tmp_path: Path) -> None:
    path, logs = tmp_path / f"{SESSION}.jsonl", FollowedLogs()
    followed(memory, path, logs)
    (detected,) = detect_documents([path])
    path.unlink()
    assert isinstance(detected, DetectedDocument)
    context = engine_of(memory)._ingestion.ingest_context(ME)
    (page,) = logs.read_pages(detected, context)
    assert "can't be read" in page.problems[0].message
