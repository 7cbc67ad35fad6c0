"""A store of an earlier version is brought up to date and keeps what it holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.store import migrations
from appliance_models import HashEmbedder


def test_a_store_of_the_first_schema_goes_on(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = tmp_path / "a.jsonl"

    def say(content: str) -> Path:
        export.write_text(
            json.dumps({"session_id": "s", "message_id": "1", "role": "user", "content": content})
        )
        return export

    with monkeypatch.context() as earlier:
        earlier.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:1])
        with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
            memory.ingest(say("first"))
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert memory.message("1").text == "first"
        assert memory.ingest(say("second")).total("updated") == 1
        assert memory.ingest(say("first")).total("duplicates") == 1
        assert memory.message("1").text == "second"
        assert not memory.verify().problems
