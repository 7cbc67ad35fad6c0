"""Paths as a person gives them: typed, pasted, or dropped on a terminal, which pastes them as text."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

LONGEST = 64 * 1024
"""Characters that a paste may have to be looked at: more is no list of paths."""


def paths_in(text: str) -> list[Path]:
    """The paths that a text names, each of which is there; none if the text is anything else.

    Terminals quote a dropped path, or put a backslash before its spaces, or write it as a file:// address; several are
    apart by spaces or lines.
    """
    text = text.strip()
    if not text or len(text) > LONGEST:
        return []
    for names in _readings(text):
        found = [_path(name) for name in names]
        if found and all(path is not None for path in found):
            return list(dict.fromkeys(path for path in found if path is not None))
    return []


def _readings(text: str) -> Iterator[list[str]]:
    """What a text may mean: one path, one a line, or as a shell reads it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    yield lines
    try:
        yield [name for line in lines for name in shlex.split(line)]
    except ValueError:  # a quotation mark without its other half
        return


def _path(name: str) -> Path | None:
    """The path of a name, if it is there. A bare word is none: it is far more often a word."""
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
    except (OSError, RuntimeError, ValueError):  # too long, no such home, a NUL
        return None


def completed(typed: str) -> str | None:
    """A typed path with the rest of the name that it begins, if there is one; a folder's ends with a slash."""
    if not typed or typed.endswith(("/", "~")):
        return None
    try:
        folder, begun = Path(typed).expanduser().parent, typed.rpartition("/")[2]
        names = sorted(
            path.name + ("/" if path.is_dir() else "")
            for path in folder.iterdir()
            if path.name.startswith(begun) and (begun.startswith(".") or not path.name.startswith("."))
        )
    except (OSError, RuntimeError, ValueError):
        return None
    return typed[: len(typed) - len(begun)] + names[0] if names else None
