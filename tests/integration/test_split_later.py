"""A large import stores each message as one chunk; the indexer splits the long ones before they get a vector."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.ingest import indexer, pipeline
from appliance_models import HashEmbedder

LONG = "\n\n".join(f"Paragraph {n} is about harbours. It says so in a second sentence." for n in range(120))
TEXTS = [
    "The ferry leaves at noon.",
    f"{LONG}\n\nThe lighthouse keeper is called Ottilie.",
    "",
    "漢字かな交じり文。" * 200,
]


@pytest.fixture
def export(tmp_path: Path) -> Path:
    lines = [
        {"session_id": f"s{n % 2}", "message_id": f"m{n}", "role": "user", "author": "Ana", "content": text,
         "timestamp": f"2025-04-01T09:{n:02}:00Z"}
        for n, text in enumerate(TEXTS * 8)
    ]  # fmt: skip
    path = tmp_path / "export.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "SPLIT_AT_ONCE_BYTES", 0)


def spans(home: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(home / "recall.db") as db:
        return db.execute("SELECT message_id, start, stop, digest FROM chunk ORDER BY message_id, start").fetchall()


def opened(home: Path, *, late_chunking: bool = False) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder(late_chunking=late_chunking))


def at_once(export: Path, home: Path, *, late_chunking: bool = False) -> list[tuple[object, ...]]:
    """The chunks of a home in which nothing was split later."""
    with opened(home, late_chunking=late_chunking) as memory:
        report = memory.ingest(export)
        assert report.chunks == report.embedded == memory.status()["counts"]["chunks"]
    return spans(home)


def test_until_then_the_words_are_found_and_everything_adds_up(export: Path, tmp_path: Path, later: None) -> None:
    with opened(tmp_path / "home") as memory:
        report = memory.ingest(export, wait=False)
        counts = memory.status()["counts"]
        assert report.chunks == report.pending == counts["chunks"] == counts["pending"] == 24
        assert not memory.verify().problems
        assert "Ottilie" in memory.search("what is the lighthouse keeper called", mode="lexical")[0].text
        assert "Ottilie" in memory.search("what is the lighthouse keeper called")[0].text


@pytest.mark.slow
@pytest.mark.parametrize("late_chunking", [False, True])
def test_then_the_chunks_are_the_same_as_if_split_at_once(
    export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late_chunking: bool
) -> None:
    expected = at_once(export, tmp_path / "other", late_chunking=late_chunking)
    monkeypatch.setattr(pipeline, "SPLIT_AT_ONCE_BYTES", 0)
    monkeypatch.setattr(indexer, "BATCH_CHUNKS", 7)
    with opened(tmp_path / "home", late_chunking=late_chunking) as memory:
        report = memory.ingest(export)
        assert report.chunks == report.embedded == len(expected) and not report.pending
        assert not memory.verify().problems
        (hit, *_) = memory.search("what is the lighthouse keeper called")
        assert hit.snippet and "Ottilie" in hit.snippet
        again = memory.ingest(export)
        assert (again.total("new"), again.chunks, again.embedded, again.pending) == (0, 0, 0, 0)
    assert spans(tmp_path / "home") == expected


def test_an_edited_message_is_not_split_as_it_was(export: Path, tmp_path: Path, later: None) -> None:
    with opened(tmp_path / "home") as memory:
        memory.ingest(export, wait=False)
        edited = [json.loads(line) for line in export.read_text(encoding="utf-8").splitlines()]
        edited[1]["content"] = f"{LONG} The keeper is called Balthasar."
        export.write_text("".join(json.dumps(line) + "\n" for line in edited), encoding="utf-8")
        assert memory.ingest(export, wait=False).total("updated") == 1
        assert memory.embed_pending() == memory.status()["counts"]["chunks"]
        assert not memory.verify().problems
        assert memory.search("Balthasar", mode="lexical")[0].external_id == "m1"


def test_a_dry_run_counts_the_chunks_that_there_would_be(export: Path, tmp_path: Path, later: None) -> None:
    expected = len(at_once(export, tmp_path / "other"))
    with opened(tmp_path / "home") as memory:
        assert memory.ingest(export, dry_run=True).chunks >= 24
        assert memory.status()["counts"]["chunks"] == 0
        assert memory.ingest(export, wait=False).chunks == 24
        memory.embed_pending()
        assert memory.status()["counts"]["chunks"] == expected
