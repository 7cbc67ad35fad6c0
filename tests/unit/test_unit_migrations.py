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


PINS = {
    '{"pinned":true}': (1, "{}"),
    '{"mood":"größer \\"x\\" 猫","n":1.50,"pinned":true,"z":[1,{"a":null}]}': (
        1,
        '{"mood":"größer \\"x\\" 猫","n":1.50,"z":[1,{"a":null}]}',
    ),
    '{"pinned":"true"}': (0, '{"pinned":"true"}'),
    '{"a":{"pinned":true}}': (0, '{"a":{"pinned":true}}'),
    '{"text":"\\"pinned\\":true"}': (0, '{"text":"\\"pinned\\":true"}'),
    "{}": (0, "{}"),
    "[" * 1500 + '{"pinned":true}': (0, "[" * 1500 + '{"pinned":true}'),
}
"""What a source said of a message, and what an older store then knows of its pin and of the rest."""


def test_pins_of_an_older_store_count_and_its_messages_are_weighed(home: Path) -> None:
    written_by(11, home)
    connection = sqlite3.connect(home / "recall.db", isolation_level=None)
    for number, metadata in enumerate(PINS, 2):
        connection.execute(
            "INSERT INTO message (session_id, external_id, position, order_at, role, text, talk, added_at, metadata)"
            " VALUES (1, ?, ?, 0, 'user', 'ok', 1, 0, ?)",
            (str(number), number, metadata),
        )
    connection.close()
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        db = memory._database.read()
        found = db.execute("SELECT pinned, metadata FROM message WHERE id > 1 ORDER BY id").fetchall()
        assert found == list(PINS.values())
        assert db.execute("SELECT count(*) FROM message WHERE importance IS NULL").fetchone() == (
            len(PINS) + 1,
        )
        memory.keeping.weigh()
        assert db.execute("SELECT count(*) FROM message WHERE importance IS NULL").fetchone() == (0,)
        assert memory.keeping.weigh() == 0
