"""A database with damaged rows or pages: what is sound is found, exported and named, and so is what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.errors import IncompleteExport
from appliance_models import HashEmbedder
from tests.damages import break_text
from tests.stored_sessions import ingest, line


def open_memory(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


LINES = [
    line(session, number, f"The violin of {session} is number {number}") for session in "ab" for number in range(9)
]


@pytest.fixture
def closed(home: Path, tmp_path: Path) -> Path:
    """A closed home with two conversations of nine messages."""
    with open_memory(home) as memory:
        ingest(memory, tmp_path, LINES)
    return home


def exported(memory: Appliance) -> tuple[list[dict[str, Any]], IncompleteExport | None]:
    lines = []
    try:
        for one in memory.export():
            lines.append(one)
    except IncompleteExport as error:
        return lines, error
    return lines, None


def broken_id(memory: Appliance, external_id: str) -> str:
    return memory.message(external_id).id


def test_two_bytes_that_are_no_text_stop_nothing_and_are_named(closed: Path) -> None:
    break_text(closed, "violin of a is number 4", b"violin of a is n\xff\xfeber 4")
    with open_memory(closed) as memory:
        named = broken_id(memory, "a-4")
        assert memory.message("a-4").text == "The violin of a is n\ufffd\ufffdber 4"
        lines, error = exported(memory)
        assert {one["message_id"] for one in lines} == {one["message_id"] for one in LINES}
        assert error is not None and named in str(error) and error.exit_code == 1
        assert len("".join(memory.export_markdown(user_id="nobody"))) == 0
        assert {hit.external_id for hit in memory.search("violin", limit=30)} >= {"a-4", "b-8"}
        assert {hit.external_id for hit in memory.search("violin", limit=30, mode="lexical")} >= {"a-4", "b-8"}
        assert memory.context("violin").text
        assert named in memory.status()["health"] and "damaged" in memory.status()["health"]
        problems = {problem.where: problem.message for problem in memory.verify().problems}
        assert "text" in problems[named] and not any("SQL" in message for message in problems.values())


def test_a_damaged_message_can_be_indexed_again_and_forgotten(closed: Path, tmp_path: Path) -> None:
    break_text(closed, "violin of a is number 4", b"violin of a is n\xff\xfeber 4")
    with open_memory(closed) as memory:
        memory.reindex()
        memory.reindex(vectors=True)
        assert [problem.where for problem in memory.verify().problems] == [broken_id(memory, "a-4")]
        memory.erasure.forget(memory.erasure.preview("a-4"))
        assert not memory.verify().problems and memory.status()["health"] == "ok"


def test_reading_its_export_again_mends_a_damaged_message(closed: Path, tmp_path: Path) -> None:
    break_text(closed, "violin of a is number 4", b"violin of a is n\xff\xfeber 4")
    with open_memory(closed) as memory:
        ingest(memory, tmp_path, LINES)
        assert memory.message("a-4").text == "The violin of a is number 4"
        assert memory.status()["health"] == "ok"
        assert exported(memory) == (list(memory.export()), None)


def test_a_damaged_title_name_or_metadata_is_named(home: Path, tmp_path: Path) -> None:
    more: dict[str, Any] = {"session_title": "Lanterns", "author": "Ottoline", "metadata": {"files": ["plan.txt"]}}
    with open_memory(home) as memory:
        ingest(memory, tmp_path, [line("a", 0, "The harbour at night", **more), line("a", 1, "Yes")])
    for text, replacement in (
        ("Lanterns", b"Lan\xff\xffrns"),
        ("Ottoline", b"Ott\xff\xfeine"),
        ('{"files"', b'{"files{'),
    ):
        content = (home / "recall.db").read_bytes()
        (home / "recall.db").write_bytes(content.replace(text.encode(), replacement))
    with open_memory(home) as memory:
        message = memory.message("a-0")
        assert message.author == "Ott\ufffd\ufffdine" and message.text == "The harbour at night"
        assert message.metadata == {}
        assert [info.title for info in memory.sessions.list()] == ["Lan\ufffd\ufffdrns"]
        lines, error = exported(memory)
        assert len(lines) == 2 and error is not None
        problems = {problem.where: problem.message for problem in memory.verify().problems}
        assert "author" in problems[message.id] and "metadata" in problems[message.id]
        assert "title" in problems[message.session_id]
        assert memory.search("harbour")
