"""Texts without pages, cut into parts of a page's length at their own joints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from appliance.types.documents import PageText

PART_CHARACTERS = 4_000
"""Characters of a part: about a printed page, so that a hit shows where in a document something stands."""


def parts_of(text: str) -> Iterator[str]:
    """Yield a text in parts of up to ``PART_CHARACTERS``; joined they are the text. A part ends with a paragraph, else
    with a line, else with a word, as long as it is at least half full."""
    at = 0
    while len(text) - at > PART_CHARACTERS:
        end = at + PART_CHARACTERS
        for joint in ("\n\n", "\n", " "):
            found = text.rfind(joint, at + PART_CHARACTERS // 2, end)
            if found >= 0:
                end = found + len(joint)
                break
        yield text[at:end]
        at = end
    if at < len(text):
        yield text[at:]


def numbered_parts(text: str) -> Iterator[PageText]:
    """Yield a text in parts: "part 1", "part 2"; a single one has no number."""
    parts = list(parts_of(text))
    for number, part in enumerate(parts, 1):
        yield PageText(f"part {number}" if len(parts) > 1 else "", part)


def numbered_lines(text: str) -> Iterator[PageText]:
    """Yield a text in parts that are named by their lines: "lines 1–80"; a single one has no name."""
    line = 1
    for part in parts_of(text):
        breaks = part.count("\n")
        last = line + breaks - (1 if part.endswith("\n") else 0)
        yield PageText("" if len(part) == len(text) else f"lines {line}–{max(line, last)}", part)
        line += breaks


def joined_rows(name: str, rows: Iterable[str]) -> Iterator[PageText]:
    """Yield the rows of a sheet, counted from 1, in parts: "sheet Budget", or "sheet Budget, rows 1–80" if there are
    several. Rows without text are left out."""
    part: list[str] = []
    first = last = size = 0
    is_first = True
    for number, row in enumerate(rows, 1):
        if not row.strip():
            continue
        if part and size + len(row) > PART_CHARACTERS:
            yield PageText(f"sheet {name}, rows {first}–{last}", "\n".join(part))
            part, size, is_first = [], 0, False
        first = first if part else number
        last = number
        part.append(row)
        size += len(row) + 1
    if part:
        yield PageText(f"sheet {name}" if is_first else f"sheet {name}, rows {first}–{last}", "\n".join(part))
