"""What processes do with the home of a ``Life``, and acknowledge: see ``process_server``."""

from __future__ import annotations

import threading

from process_server import say

from appliance import Appliance
from appliance_models import HashEmbedder

ARCHIVE_STEP = 20
"""Messages that a run moves in one transaction: few, so that a kill falls between two."""


def open_memory(home: str) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


def add_texts(memory: Appliance, external_id: str, texts: list[str], stop: threading.Event) -> None:
    session = memory.sessions.create(external_id=external_id, title=f"About {external_id}")
    for text in texts:
        if stop.is_set():
            break
        session.add("user", text)
        say("added", external_id, text)


def add(home: str, external_id: str, texts: list[str]) -> None:
    with open_memory(home) as memory:
        add_texts(memory, external_id, texts, threading.Event())


def ingest(home: str, export: str) -> None:
    with open_memory(home) as memory:
        memory.ingest(export, on_file=lambda path, count: say("file", path, count))


def forget(home: str, external_id: str, writers: dict[str, list[str]]) -> None:
    """Forget a session while others are written to, a thread each."""
    stop = threading.Event()
    with open_memory(home) as memory:
        threads = [threading.Thread(target=add_texts, args=(memory, *one, stop)) for one in writers.items()]
        for thread in threads:
            thread.start()
        receipt = memory.erasure.forget(memory.erasure.preview(external_id))
        say("forgotten", receipt.id)
        stop.set()
        for thread in threads:
            thread.join()


def delete(home: str, external_id: str) -> None:
    with open_memory(home) as memory:
        memory.sessions.resume(external_id).delete()
        say("forgotten")


def archive(home: str) -> None:
    from appliance.engine import archive as service

    service.RUN_STEP_MESSAGES = ARCHIVE_STEP
    with open_memory(home) as memory:
        memory.archive.run(days=0, importance=1.0)


def unarchive(home: str, *sessions: str) -> None:
    with open_memory(home) as memory:
        memory.archive.restore(sessions, everything=not sessions)


def backup(home: str, target: str, keep: str | None) -> None:
    with open_memory(home) as memory:
        say("backup", memory.backups.make(target, keep=keep).id)


def restore(source: str, new: str, id: str) -> None:
    Appliance.restore(source, new, id=id)
    say("restored")


def reindex(home: str, vectors: bool) -> None:
    with open_memory(home) as memory:
        memory.reindex(vectors=vectors)


def jobs(home: str) -> None:
    """Open, and finish what was interrupted."""
    with open_memory(home) as memory:
        memory.run_pending_jobs()


def migrate(home: str) -> None:
    with open_memory(home):
        say("migrated")
