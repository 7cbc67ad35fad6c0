"""Small pieces of Markdown, for pages that are generated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

_FENCE = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)[ \t]*$)", re.MULTILINE | re.DOTALL)
_SECTION = re.compile(r"^(Args|Arguments|Attributes|Returns|Yields|Raises|Example|Examples|Note):$")
_ENTRY = re.compile(r"^(\**[\w.]+(?:, \**[\w.]+)*): ?(.*)$")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty text where it has no rows."""
    lines = [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join([f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *lines]) + "\n" if lines else ""


def cell(text: str) -> str:
    """Text as it may stand in a cell of a table."""
    parts = " ".join(text.split()).split("`")
    parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]  # within code, a bar is one already
    return "`".join(parts)


def code(text: str) -> str:
    """Text as code within a line."""
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def fence(text: str, language: str = "text") -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def prose(text: str) -> str:
    """A paragraph of a docstring: its double backticks are code, and what looks like HTML is text."""
    text = re.sub(r"``(.+?)``", r"`\1`", text, flags=re.DOTALL)
    return re.sub(r"<(?=[A-Za-z/!])", "&lt;", text) if "`" not in text else _outside_code(text)


def _outside_code(text: str) -> str:
    parts = text.split("`")
    parts[::2] = [re.sub(r"<(?=[A-Za-z/!])", "&lt;", part) for part in parts[::2]]
    return "`".join(parts)


def docstring(text: str) -> str:
    """A docstring of Google's form: paragraphs, code that is indented, and lists of arguments and errors."""
    lines = text.strip().splitlines()
    lines = [lines[0], *_dedented(lines[1:])] if lines else []
    out: list[str] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if (section := _SECTION.match(line)) is None:
            out.append(line)
            continue
        body = []
        while position < len(lines) and (not lines[position].strip() or lines[position].startswith(" ")):
            body.append(lines[position])
            position += 1
        out += ["", f"**{section[1]}**", "", *_entries(_dedented(body)), ""]
    return outside_fences(_with_code_blocks(out), prose).strip() + "\n"


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Change a text, but for its blocks of code."""
    parts = _FENCE.split(text)
    parts[::2] = [change(part) for part in parts[::2]]
    return "".join(parts)


def _entries(lines: Sequence[str]) -> list[str]:
    """The entries of a section as a list; a section without entries as a paragraph."""
    entries: list[list[str]] = []
    for line in lines:
        if (found := _ENTRY.match(line)) is not None:
            entries.append([f"{', '.join(code(name.strip()) for name in found[1].split(','))}: {found[2]}"])
        elif entries and (line.startswith(" ") or not line.strip()):
            entries[-1].append(line.strip())
        else:
            return [line.strip() for line in lines]
    return [f"- {' '.join(part for part in entry if part)}" for entry in entries]


def _dedented(lines: Sequence[str]) -> list[str]:
    filled = [line for line in lines if line.strip()]
    cut = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    return [line[cut:] for line in lines]


def _with_code_blocks(lines: Sequence[str]) -> str:
    """Lines that are indented by four, after an empty one, are code for Markdown too: they get fences."""
    out: list[str] = []
    inside = False
    for number, line in enumerate(lines):
        indented = line.startswith("    ")
        if indented and not inside and (number == 0 or not lines[number - 1].strip()):
            out.append("```python")
            inside = True
        elif inside and line.strip() and not indented:
            while out and not out[-1].strip():
                out.pop()
            out += ["```", ""]
            inside = False
        out.append(line[4:] if inside else line)
    if inside:
        out.append("```")
    return "\n".join(out)
