"""After a change of ``chunk.tokens``: what was chunked before is counted, and a reindex chunks it again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance_models import HashEmbedder
from tests.engines import engine_of

LONG = " ".join(f"the lighthouse keeper wrote page {number} of the log." for number in range(40))
SHORT = "the ferry leaves at six from the north pier"


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda number: monkeypatch.setenv("APPLIANCE_CHUNK_TOKENS", str(number))


@contextmanager
def opened(home: Path) -> Iterator[Appliance]:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        yield memory


def otherwise(memory: Appliance) -> int | None:
    found = memory.status()["chunked_otherwise"]
    assert found is None or (found["is_complete"] and found["command"] == "appliance reindex")
    assert memory.verify().checked.get("chunked_otherwise") == (found and found["messages"])
    return found and int(found["messages"])


def chunks(memory: Appliance) -> int:
    return int(memory.status()["counts"]["chunks"])


def test_a_change_is_counted_and_a_reindex_chunks_again(home: Path, tokens: Any) -> None:
    tokens(64)
    with opened(home) as memory:
        session = memory.sessions.create()
        for number in range(3):
            session.add("user", f"{number} {LONG}")
        session.add("user", SHORT)
        memory.embed_pending()
        assert otherwise(memory) is None
        before = chunks(memory)
    tokens(128)
    with opened(home) as memory:
        assert otherwise(memory) == 3, "the short one stays as it is"
        memory.sessions.create().add("user", f"new {LONG}")
        assert otherwise(memory) == 3, "a new one is chunked as the settings say now"
        memory.embed_pending()
        memory.reindex()
        assert otherwise(memory) is None and not memory.verify().problems
        after = chunks(memory)
        assert after < before
        assert memory.search("page 39 of the log", mode="dense", min_score=0)[0].text.endswith("page 39 of the log.")
        rows = engine_of(memory)._database.read().execute("SELECT count(*) FROM outbox").fetchone()
        assert rows == (0,)
    tokens(64)
    with opened(home) as memory:
        assert otherwise(memory) == 4
        memory.reindex(vectors=True)
        assert otherwise(memory) is None and not memory.verify().problems


def test_there_and_back_is_no_difference_but_of_what_was_stored_between(home: Path, tokens: Any) -> None:
    tokens(64)
    with opened(home) as memory:
        memory.sessions.create().add("user", LONG)
    tokens(128)
    with opened(home) as memory:
        memory.sessions.create().add("user", f"between {LONG}")
    tokens(64)
    with opened(home) as memory:
        memory.embed_pending()
        assert otherwise(memory) == 1
        assert memory.reindex() > 0
        assert otherwise(memory) is None and not memory.verify().problems


def test_archived_messages_are_chunked_again_too(home: Path, tmp_path: Path, tokens: Any) -> None:
    tokens(64)
    export = tmp_path / "log.jsonl"
    lines = [
        {"session_id": "log", "role": "user", "content": f"{number} {LONG}", "timestamp": "2020-01-01T10:00:00Z"}
        for number in range(4)
    ]
    export.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with opened(home) as memory:
        memory.ingest(export)
        archived = memory.archive.run(importance=1.0).archived
        assert archived
    tokens(128)
    with opened(home) as memory:
        assert otherwise(memory) == 4
        memory.reindex()
        assert otherwise(memory) is None and not memory.verify().problems
        assert memory.archive.status().archived == archived
        assert [message["content"] for message in memory.export()] == [line["content"] for line in lines]
