"""What a process does with a home until it is killed, and what it acknowledges on the way: see ``process_server``."""

from __future__ import annotations

import signal
from pathlib import Path

from process_server import say

import appliance_models
from appliance import Appliance
from appliance.engine import archive
from appliance.ingest import batches, page_reader, pipeline
from appliance_models import HashEmbedder


def work(action: str, home: str, *files: str) -> None:
    """Do one thing with a home: "open", then each file and batch as it is stored, and "done"."""
    # Any other model than the first.
    appliance_models.load = lambda name, *rest, **options: HashEmbedder(dimension=48)  # type: ignore[assignment]
    if action == "restore":
        say("open")
        Appliance.restore(Path(files[0]), Path(home), progress=lambda done, left: say("blocks", done))
    else:
        with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
            say("open")
            _work(memory, action, files)
    say("done")


def summarise(home: str) -> None:
    """Do all work that waits: "open", then each event."""
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.events.listen(lambda event: say(event.kind, event.about))
        say("open", "")
        memory.run_pending_jobs()


def _work(memory: Appliance, action: str, files: tuple[str, ...]) -> None:
    if action == "backup":
        memory.backups.make(files[0], keep="1d", progress=lambda done, left: say("blocks", done))
    elif action in ("ingest", "large", "held"):
        if action != "ingest":  # read in a process of its own, and split by the indexer
            page_reader.MIN_BYTES, page_reader.processors, pipeline.SPLIT_AT_ONCE_BYTES = 0, lambda: 2, 0
            batches.BATCH_MESSAGES = 300

        def on_file(path: str, count: int) -> None:
            say("file", path, count)
            if action == "held":  # in the middle of the first file, until it is killed
                signal.pause()

        memory.ingest(files, on_file=on_file, on_embedded=lambda done, pending: say("embedded", done))
    elif action == "archive":
        archive.RUN_STEP_MESSAGES = 20
        memory.archive.run(days=0, importance=1.0)
        say("embedded", 0)
        for session in files:
            memory.archive.restore([session])
            say("embedded", 0)
    elif action == "forget":
        memory.erasure.forget(memory.erasure.preview(*files), lambda done, pending: say("embedded", done))
    elif action == "delete":
        for info in memory.sessions.list(sort="created", reverse=True):
            if info.title == "goes":
                memory.sessions.resume(info.id).delete()
                say("file", info.id, 1)
                memory.embed_pending()
    else:
        change = {"model": "other"} if action == "model" else {action: True} if action != "reindex" else {}
        memory.reindex(**change, progress=lambda done, pending: say("embedded", done))  # type: ignore[arg-type]
        say("changed")
