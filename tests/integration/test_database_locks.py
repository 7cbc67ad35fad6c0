"""The locks by which SQLite guards a database outlast everything that reads its files beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from appliance import Appliance
from appliance_models import HashEmbedder

ANOTHER_PROGRAM = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
assert database.execute("SELECT count(*) FROM message").fetchone()[0]
database.close()
"""
"""Opens the database and closes it, as ``sqlite3 recall.db`` does. The last one that closes it deletes the log."""


def looked_at_from_outside(home: Path) -> None:
    subprocess.run([sys.executable, "-c", ANOTHER_PROGRAM, str(home / "recall.db")], check=True, timeout=60)


def test_nothing_is_lost_when_another_program_closes_the_database_after_an_erasure(home: Path) -> None:
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        session = memory.sessions.create(title="The sea")
        session.add("user", "the otter sleeps in the harbour all day")
        session.add("user", "the heron stands in the reeds and waits")
        memory.erasure.forget(memory.erasure.preview(query="heron"))
        log = home / "recall.db-wal"
        looked_at_from_outside(home)
        session.add("user", "the badger digs below the old pear tree")
        assert log.stat().st_size, "what is written goes to a log that is there"
        looked_at_from_outside(home)
        assert {message["content"].split()[1] for message in memory.export()} == {"otter", "badger"}
    with Appliance.open(home, create=False, embedder=HashEmbedder(), worker=False) as memory:
        assert {message["content"].split()[1] for message in memory.export()} == {"otter", "badger"}
        assert not memory.verify().problems


def test_nothing_is_lost_when_a_folder_that_holds_the_memory_is_imported(home: Path) -> None:
    line = {"session_id": "pond", "role": "user", "content": "the newt swims below the lilies"}
    (home.parent / "pond.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        report = memory.ingest(home.parent)
        skipped = {Path(file.path).name: file.notes[0].message for file in report.files if file.status == "skipped"}
        assert skipped[home.name].startswith("a memory's own files") and report.total("new") == 1
        looked_at_from_outside(home)
        memory.sessions.create(title="The wood").add("user", "the badger digs below the old pear tree")
        looked_at_from_outside(home)
        assert {message["content"].split()[1] for message in memory.export()} == {"newt", "badger"}
