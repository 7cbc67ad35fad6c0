"""Reading messages in an editor: a read-only file in a private folder, which goes when the editor ends."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from appliance.client import Appliance

FALLBACKS = ("less", "vi")
"""What is taken where neither ``$VISUAL`` nor ``$EDITOR`` names a program that is there."""

WRITING_FALLBACKS = ("nano", "vi")
"""The same, where something is to be written."""

TAKES_LINE = frozenset(
    {"vi", "vim", "nvim", "view", "less", "nano", "emacs", "emacsclient", "micro", "joe", "mg", "ne"}
)
"""Programs that go to the line N for an argument ``+N``."""

QUITS_WITH = {
    "less": "press q", "more": "press q", "vi": "type :q!", "vim": "type :q!", "nvim": "type :q!", "view": "type :q!",
    "nano": "press ctrl+x", "micro": "press ctrl+q", "emacs": "press ctrl+x ctrl+c", "mg": "press ctrl+x ctrl+c",
}  # fmt: skip
"""How programs are ended, for who meets one unawares."""

PREFIX = "appliance-reading-"
"""Begins the names of the private folders; the id of the process that made one follows."""

FILE_NAME = "conversation.md"
READ_ONLY_MODE = 0o400


Introduction = Callable[[Sequence[str]], str]
"""What is said of a program before it is opened for the first time."""


def editor_command(environment: Mapping[str, str], fallbacks: Sequence[str] = FALLBACKS) -> list[str] | None:
    """The program with its arguments: of ``$VISUAL``, else of ``$EDITOR``, else the first that is there of others; None
    if there is none."""
    for text in (environment.get("VISUAL", ""), environment.get("EDITOR", ""), *fallbacks):
        with suppress(ValueError):  # an open quote
            command = shlex.split(text)
            if command and shutil.which(command[0]):
                return command
    return None


def introduction(command: Sequence[str], *, saves: bool = False) -> str:
    """What a second press of the key opens, and how to come back from it; ``saves`` where what is saved is stored."""
    name = Path(command[0]).name
    how = QUITS_WITH.get(name)
    stores = " What you save there is stored." if saves else ""
    return f"The same key again opens {name}; {how or 'end it'}{' there' if how else ''} to come back.{stores}"


def write_reading(memory: Appliance, ids: Sequence[str], folder: Path, at: int | None) -> tuple[Path, int]:
    """Write messages and conversations as Markdown into a folder. Call it on a thread.

    Args:
        memory: The memory.
        ids: Messages and conversations.
        folder: A private folder.
        at: The index of a message of the only conversation.

    Returns:
        The file, and the line on which the message ``at`` begins, from 1.

    Raises:
        ApplianceError: as the memory says.
        OSError: the file can't be written.
    """
    path = folder / FILE_NAME
    line = lines = 1
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, READ_ONLY_MODE)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        for number, piece in enumerate(memory.export_markdown(ids=ids)):  # the heading, then a piece a message
            if at is not None and number == at + 1:
                line = lines
            lines += piece.count("\n")
            file.write(piece)
    return path, line


def edit(command: Sequence[str], path: Path, line: int) -> int:
    """Run the editor until it ends; returns its exit code.

    Raises:
        OSError: it can't be started.
    """
    takes_line = line > 1 and Path(command[0]).name in TAKES_LINE
    # Ctrl+C is for the editor. A handler, unlike SIG_IGN, is not handed on to it.
    previous = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        return subprocess.run([*command, *([f"+{line}"] if takes_line else []), str(path)], check=False).returncode
    finally:
        signal.signal(signal.SIGINT, previous)


def keep(path: Path, kept: Path | None) -> Path:
    """Copy what was written to a file that stays, which only this user can read; ``kept`` is one from before.

    Raises:
        OSError: it can't be written.
    """
    if kept is None:
        descriptor, name = tempfile.mkstemp(".txt", "appliance-")
        os.close(descriptor)
        kept = Path(name)
    kept.write_bytes(path.read_bytes())
    return kept


def parents() -> list[Path]:
    """Where private folders are made: in memory where the system has a folder for it, else among temporary files."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    found = [Path(runtime)] if runtime and os.access(runtime, os.W_OK | os.X_OK) else []
    return [*found, Path(tempfile.gettempdir())]


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder that only this user can enter; it goes with all that is in it.

    Raises:
        OSError: it can't be made.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parents()[0]))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers() -> None:
    """Remove the folders of screens that were killed."""
    for parent in parents():
        for folder in parent.glob(f"{PREFIX}*"):
            with suppress(OSError, ValueError):
                details = folder.lstat()
                process = int(folder.name.removeprefix(PREFIX).partition("-")[0])
                if details.st_uid == _own_id(details.st_uid) and folder.is_dir() and not _is_running(process):
                    shutil.rmtree(folder, ignore_errors=True)


def _own_id(default: int) -> int:
    identify: Any = getattr(os, "getuid", None)  # Windows has none
    return int(identify()) if identify is not None else default


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
