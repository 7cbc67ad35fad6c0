"""Daemons as the tests run them: real processes that say when they are ready, and are ended at the end."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance import Appliance
from tests import forked_programs
from tests.tested_program import PROGRAM
from tests.waits import PATIENCE

ROOT = Path(__file__).parents[2]

TALK = [
    {
        "session_id": session,
        "message_id": f"{session}-{number}",
        "role": "user" if number % 2 else "assistant",
        "author": "Ana" if number % 2 else None,
        "session_title": session.title(),
        "timestamp": f"2026-02-{number + 1:02}T10:00:00Z",
        "content": text,
    }
    for session, texts in {
        "harbour": [
            "The ferry to Ischia leaves at nine from the second pier.",
            "I live in Naples, and my sister is called Rosa.",
            "Then take the ferry at nine, and meet Rosa on the pier.",
            "What did the harbour master say about the storm?",
            "That no ferry leaves before the storm is over.",
        ],
        "kitchen": [
            "Which flour did we use for the bread?",
            "I used spelt flour, 500 grams, and no yeast.",
            "Spelt bread without yeast needs a sourdough starter.",
            "Please always answer in grams.",
        ],
    }.items()
    for number, text in enumerate(texts)
]


def filled(home: Path, lines: list[dict[str, Any]] = TALK) -> Path:
    """A home with the two conversations."""
    file = home.parent / "talk.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with Appliance.open(home, worker=False) as memory:
        memory.ingest(file)
        memory.run_pending_jobs()
    return home


@dataclass(frozen=True, slots=True)
class Daemon:
    """A running daemon, and what it said of itself."""

    process: subprocess.Popen[bytes]
    url: str
    socket: Path
    token_file: Path

    @property
    def token(self) -> str:
        return self.token_file.read_text().strip()


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join((str(ROOT), str(ROOT / "models")))
    return {**os.environ, "PYTHONPATH": paths, **more}


def command(home: Path, *options: str | Path) -> list[str]:
    return [
        *PROGRAM, "serve", "--home", str(home), "--port", "0", "--json",
        *map(str, options),
    ]  # fmt: skip


def start(home: Path, *options: str | Path, **variables: str) -> Daemon:
    """A daemon that is ready."""
    process = forked_programs.Popen(
        command(home, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(**variables)
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, errors = process.communicate(timeout=PATIENCE)
        raise AssertionError(errors.decode())
    said = json.loads(line)
    return Daemon(process, said["url"], Path(said["socket"]), Path(said["token_file"]))


def end(daemon: Daemon) -> tuple[int, str]:
    """End it as a service manager does: its exit code, and what it said on stderr."""
    daemon.process.terminate()
    _, errors = daemon.process.communicate(timeout=PATIENCE)
    return daemon.process.returncode, errors.decode()


@contextmanager
def running(home: Path, *options: str | Path, **variables: str) -> Iterator[Daemon]:
    """A daemon that is ready, and ended at the end."""
    daemon = start(home, *options, **variables)
    try:
        yield daemon
    finally:
        if daemon.process.poll() is None:
            end(daemon)
        else:
            daemon.process.communicate()
