"""Makes a fixture for the migrations: a small store, as the schema of the program that runs this has it.

    python tests/stores/make.py tests/stores/NAME.db.gz [--undated] [--attached]

With ``--undated`` it also holds a conversation that has a time, of messages that have none; with ``--attached``, a
message that carries a file.
A fixture is made once, by the version whose schema it is to keep, and committed: it is never made again.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import sys
import tempfile
from pathlib import Path

from appliance import Appliance
from appliance_models import HashEmbedder

TURNS = [
    ("user", "My sister Clara lives in Lisbon, close to the lighthouse."),
    ("assistant", "Lisbon is lovely. Is the lighthouse open to visitors?"),
    ("user", "Only on Sundays. My deadline is March 15th."),
]

UNDATED = {
    "createTime": "2026-01-05T08:00:00Z",
    "runSettings": {"model": "models/gemini-pro"},
    "chunkedPrompt": {
        "chunks": [
            {"role": "user", "text": "Which pier is the oldest?"},
            {"role": "model", "text": "The northern one."},
        ]
    },
}


def make(target: Path, *, undated: bool, attached: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        export = Path(folder) / "export.jsonl"
        lines = [
            {"session_id": "s1", "message_id": f"s1-{number}", "role": role, "content": text,
             "session_title": "Lighthouses", "timestamp": f"2026-02-06T10:3{number}:00Z"}
            for number, (role, text) in enumerate(TURNS)
        ]  # fmt: skip
        export.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        home = Path(folder) / "home"
        with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
            memory.ingest(export, wait=False)  # the vectors would stand in other files
            if undated:
                chat = Path(folder) / "Piers.json"
                chat.write_text(json.dumps(UNDATED), encoding="utf-8")
                memory.ingest(chat, wait=False)
            if attached:
                (Path(folder) / "tides.txt").write_text("High water at noon.", encoding="utf-8")
                line = {"session_id": "s2", "message_id": "1", "role": "user", "content": "The tides",
                        "metadata": {"attachments": [{"name": "tides.txt"}]}}  # fmt: skip
                (Path(folder) / "files.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
                memory.ingest(Path(folder) / "files.jsonl", wait=False)
            memory.sessions.create(title="By hand", user_id="ana").add("user", "The ferry leaves at noon.")
        connection = sqlite3.connect(home / "recall.db", isolation_level=None)
        # The path is that of a temporary folder of this machine.
        connection.execute(
            "UPDATE source SET path = '/exports/' || replace(path, rtrim(path, replace(path, '/', '')), '')"
        )
        connection.create_function("searchable", 1, str, deterministic=True)
        connection.create_function("unpack", 1, str, deterministic=True)
        connection.execute("VACUUM")
        connection.close()
        target.write_bytes(gzip.compress((home / "recall.db").read_bytes(), mtime=0))


if __name__ == "__main__":
    make(Path(sys.argv[1]), undated="--undated" in sys.argv, attached="--attached" in sys.argv)
