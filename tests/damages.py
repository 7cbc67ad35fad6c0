"""What tests do to the database of a closed home, as a failing disk would."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def break_text(home: Path, text: str, replacement: bytes) -> None:
    """Write other bytes of the same length over the one place in the database's pages that holds ``text``."""
    path, old = home / "recall.db", text.encode()
    content = path.read_bytes()
    assert len(old) == len(replacement) and content.count(old) == 1
    path.write_bytes(content.replace(old, replacement))


def page_size(home: Path) -> int:
    connection = sqlite3.connect(home / "recall.db")
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    return int(size)


def pages_of(home: Path, name: str, kind: str = "leaf") -> list[int]:
    """The numbers of the pages of a table or index, from 1, without its root unless that is the only one."""
    connection = sqlite3.connect(home / "recall.db")
    rows = connection.execute("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ?", (name, kind)).fetchall()
    connection.close()
    return [number for (number,) in rows]


def overwrite_page(home: Path, number: int, filling: bytes = b"\xff") -> None:
    size = page_size(home)
    with (home / "recall.db").open("r+b") as file:
        file.seek((number - 1) * size)
        file.write((filling * size)[:size])


def root_page(home: Path, name: str) -> int:
    connection = sqlite3.connect(home / "recall.db")
    (number,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    connection.close()
    return int(number)
