"""Other processes that own a home without a daemon, and what they and this one read."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from daemons import ROOT, TALK, environment

from appliance import Appliance
from tests import forked_programs
from tests.tested_program import PROGRAM
from tests.waits import PATIENCE

HOLDER = """
import sys
from appliance import Appliance
with Appliance.open(sys.argv[1], worker=False, purpose="the first one") as memory:
    exec(sys.argv[2])
    print("open", flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_owner(home: Path, prepare: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """Another process that owns the home until its stdin is closed."""
    process = forked_programs.Popen(
        [sys.executable, "-c", HOLDER, str(home), prepare],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline() == b"open\n"
        yield process
    finally:
        leave(process)
        process.stdout.close()


def leave(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=PATIENCE) in (0, -signal.SIGKILL)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(timeout=PATIENCE)


def command_line(home: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return forked_programs.Popen(
        [*PROGRAM, *arguments, "--home", str(home)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=ROOT,
    )  # fmt: skip


def socket_of(memory: Appliance) -> Path:
    """Where the owner listens: in the home, if its path is not too long."""
    assert memory.owner is not None and memory.owner.socket is not None
    return Path(memory.owner.socket)


def talk_file(path: Path, count: int, session: str = "long") -> Path:
    lines = [{**TALK[0], "session_id": session, "message_id": f"{session}-{n}", "content": f"Buoy {session} {n}"}
             for n in range(count)]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@contextmanager
def watching(home: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that watches a folder, and has read the one file in it."""
    folder.mkdir()
    talk_file(folder / "a.jsonl", 3)
    process = command_line(home, "watch", str(folder))
    assert process.stdout is not None and process.stderr is not None
    with process.stdout, process.stderr:
        try:
            assert b"Ctrl-C" in process.stderr.readline()
            assert b"a.jsonl" in process.stdout.readline()
            yield process
        finally:
            kill(process)


def ended_quietly(process: subprocess.Popen[bytes], number: signal.Signals) -> bool:
    """Whether a watch that gets a signal ends as one that owns the home does: with exit code 0 and no more words."""
    assert process.stdout is not None and process.stderr is not None
    process.send_signal(number)
    return (process.wait(PATIENCE), process.stdout.read(), process.stderr.read()) == (0, b"", b"")
