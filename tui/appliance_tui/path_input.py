"""Paths that a person types, pastes or drops on the terminal (which pastes them as text), and opening a file."""

from __future__ import annotations

import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

OPEN_COMMAND = "open" if sys.platform == "darwin" else "xdg-open"

MAX_PASTE_CHARACTERS = 64 * 1024
"""Characters above which a paste is not taken for paths."""


def parse_paths(text: str) -> list[Path]:
    """The existing paths that a text consists of; none if any part of it is something else.

    Terminals quote a dropped path, escape its spaces with backslashes, or write it as a file:// address. Several are
    separated by spaces or lines.
    """
    text = text.strip()
    if not text or len(text) > MAX_PASTE_CHARACTERS:
        return []
    for names in _interpretations(text):
        paths = [_existing_path(name) for name in names]
        if paths and all(path is not None for path in paths):
            return list(dict.fromkeys(path for path in paths if path is not None))
    return []


def on_one_line(text: str) -> str:
    """A pasted text for a line to type in, which takes its first line alone by itself."""
    return " ".join(line.strip() for line in text.splitlines() if line.strip()).replace("\t", " ")


def _interpretations(text: str) -> Iterator[list[str]]:
    """The names in a text: one a line, or split as a shell does."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    yield lines
    try:
        yield [name for line in lines for name in shlex.split(line)]
    except ValueError:  # an unclosed quotation mark
        return


def _existing_path(name: str) -> Path | None:
    """The path of a name, if it exists. A bare word does not count: it is far more often just a word."""
    if name.startswith("file://"):
        address = urlsplit(name)
        if address.netloc not in ("", "localhost"):
            return None
        name = unquote(address.path)
    if not name.startswith(("/", "~/", "./", "../")):
        return None
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):  # too long, an unknown user's home, a NUL
        return None


def complete_path(typed: str) -> str | None:
    """A typed path with its last name completed to the first that matches, a folder's with a slash; None if nothing
    matches."""
    names = [] if typed.endswith("/") else matching_names(typed)
    return _folder_of(typed) + names[0] if names else None


def complete_common(typed: str) -> str:
    """A typed path with its last name completed as far as all names that match agree, as shells do it."""
    return _folder_of(typed) + _common_beginning(names) if (names := matching_names(typed)) else typed


def matching_names(typed: str) -> list[str]:
    """The names in the folder of a typed path that begin with its last name, those of folders with a slash."""
    if not typed or typed.endswith("~"):
        return []
    prefix = typed.rpartition("/")[2]
    try:
        folder = Path(_folder_of(typed)).expanduser()
        return sorted(
            path.name + ("/" if path.is_dir() else "")
            for path in folder.iterdir()
            if path.name.startswith(prefix) and (prefix.startswith(".") or not path.name.startswith("."))
        )
    except (OSError, RuntimeError, ValueError):
        return []


def _common_beginning(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    return first[: next((at for at, letter in enumerate(first) if last[at : at + 1] != letter), len(first))]


def _folder_of(typed: str) -> str:
    return typed[: len(typed) - len(typed.rpartition("/")[2])]


def source_file(path: str) -> Path:
    """The file on disk that holds a source: for a document in a zip ("export.zip/chat.txt"), the zip."""
    file = Path(path)
    if file.exists():
        return file
    return next((parent for parent in file.parents if parent.is_file()), file)


def open_file(path: Path) -> bool:
    """Open a file with the system's program for it; False if there is no such command."""
    null = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            [OPEN_COMMAND, str(path)], stdin=null, stdout=null, stderr=null, start_new_session=True
        )
    except OSError:
        return False
    threading.Thread(target=process.wait, daemon=True).start()  # it would stay as a zombie when it has ended
    return True
