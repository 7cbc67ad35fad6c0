"""A store of an earlier version is brought up to date and keeps what it holds."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.store import chunks, migrations
from appliance.store.scripts import searchable
from appliance_models import HashEmbedder

WORDS = "the lighthouse at Finisterre"


def written_by(version: int, home: Path) -> None:
    """A home as the version with so many migrations left it: one message, which waits for its vector."""
    home.mkdir(mode=0o700)
    connection = sqlite3.connect(home / "recall.db", isolation_level=None)
    connection.create_function("searchable", 1, searchable, deterministic=True)
    with pytest.MonkeyPatch.context() as earlier:
        earlier.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:version])
        migrations.migrate(connection, "recall.db")
    model = HashEmbedder()
    connection.executescript(f"""
        INSERT INTO session (user_id, namespace, agent_id, format, external_id, created_at)
            VALUES ('me', '', '', 'native', 's', 0);
        INSERT INTO message (session_id, external_id, position, order_at, role, text, talk, added_at)
            VALUES (1, '1', 0, 0, 'user', '{WORDS}', 1, 0);
        INSERT INTO generation (model, identity, dimension, state, created_at)
            VALUES ('{model.name}', '{model.identity} {chunks.PASSAGE_FORM}', {model.dimension}, 'active', 0);
        INSERT INTO outbox (chunk_id, generation, work, priority) VALUES (1, 1, 'put', 0);
        """)
    connection.execute(
        "INSERT INTO chunk (message_id, generation, start, stop, digest) VALUES (1, 1, 0, ?, ?)",
        (len(WORDS), chunks.digest(chunks.passage(None, WORDS))),
    )
    if version < 5:
        connection.execute("INSERT INTO message_fts (rowid, text, neighbours) SELECT * FROM message_lexical")
    else:
        connection.execute("INSERT INTO message_fts (rowid, text) SELECT * FROM message_words")
    connection.close()


@pytest.mark.parametrize("version", range(1, len(migrations.MIGRATIONS) + 1))
def test_a_store_of_every_earlier_schema_goes_on(home: Path, tmp_path: Path, version: int) -> None:
    written_by(version, home)
    export = tmp_path / "a.jsonl"

    def say(content: str) -> Path:
        export.write_text(
            json.dumps({"session_id": "s", "message_id": "1", "role": "user", "content": content})
        )
        return export

    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert [hit.text for hit in memory.search("finisterre", mode="lexical")] == [WORDS]
        assert not memory.verify().problems
        assert memory.ingest(say("second")).total("updated") == 1
        assert memory.ingest(say(WORDS)).total("duplicates") == 1
        assert memory.message("1").text == "second"
        assert not memory.search("finisterre", mode="lexical")
        assert not memory.verify().problems
