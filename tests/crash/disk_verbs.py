"""What is done with a home on a disk without room, each in a process of its own, which says what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from process_server import say

from appliance import Appliance
from appliance.errors import ApplianceError
from appliance_models import HashEmbedder


def work(action: str, home: str, *files: str) -> None:
    """Do one thing with a home, and say as the last line what was stored and found, or the error."""
    said: dict[str, Any] = {"stored": []}
    try:
        if action == "restore":
            Appliance.restore(Path(files[0]), Path(home))
        with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
            _work(memory, action, files, said)
    except ApplianceError as error:
        said.update(error=type(error).__name__, message=str(error), hint=error.hint)
    say("did", said)


def _work(memory: Appliance, action: str, files: tuple[str, ...], said: dict[str, Any]) -> None:
    if action == "search":
        found = memory.search("violin at the harbour")
        said.update(hits=len(found), notes=list(found.notes))
    elif action == "add":
        session = memory.sessions.create(title="kettles")
        for number in range(20):
            said["stored"].append(session.add("user", f"the kettle number {number} was moved").id)
            memory.search("kettle")
    elif action == "ingest":
        memory.ingest(files)
    elif action == "reindex":
        memory.reindex()
    elif action == "verify":
        said["problems"] = [problem.message for problem in memory.verify().problems]
    elif action == "forget":
        memory.erasure.forget(memory.erasure.preview(query="number 77 of"))
    elif action == "archive":
        memory.archive.run(days=0, importance=1.0)
    elif action == "unarchive":
        memory.archive.restore(everything=True)
    elif action == "backup":
        memory.backups.make(files[0])
