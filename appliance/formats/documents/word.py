"""Word files (docx): body, tables, notes, comments, headers and footers; by page where Word has noted its pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from appliance.formats.documents import DocumentUnreadable
from appliance.formats.documents.packages import Package, walk
from appliance.formats.documents.passages import numbered_parts
from appliance.types.documents import PageText

# The fallback says again what the choice before it says; deleted text stands in elements of another name.
_SKIPPED = frozenset({"Fallback", "instrText", "delInstrText"})
_BESIDE = ("header", "footer", "footnotes", "endnotes", "comments")
_PAGE_BREAK = "\f"
_ROW_END = re.compile(r"\t+\n")


def read(data: bytes) -> Iterator[PageText]:
    """Yield the pages of a Word file, or parts of a page's length if it does not say where its pages end."""
    package = Package(data)
    main = next((path for kind, path in package.targets("").values() if kind == "officeDocument"), "word/document.xml")
    root = package.parse(main)
    text, has_pages = _text(root)
    body = text.strip("\n")
    if has_pages:
        pages = [page.strip("\n") for page in body.split(_PAGE_BREAK)]
        for number, page in enumerate(pages, 1):
            yield PageText(f"page {number}", page)
    else:
        yield from numbered_parts(body.replace(_PAGE_BREAK, "\n"))
    seen: set[str] = set()
    damaged = ""
    for kind, path in package.targets(main).values():
        if kind in _BESIDE:
            try:
                beside = _text(package.parse(path))[0].replace(_PAGE_BREAK, "\n").strip("\n")
            except DocumentUnreadable as error:
                damaged = str(error)
                continue
            if beside and beside not in seen:  # each section may have the same header
                seen.add(beside)
                yield PageText(kind, beside)
    if damaged:
        raise DocumentUnreadable(damaged)


def _text(root: Any) -> tuple[str, bool]:
    """The text below an element, with form feeds between pages, and whether Word has noted where these end."""
    pieces: list[str] = []
    has_pages = False
    for event, element, name in walk(root, _SKIPPED):
        if event == "start":
            if name == "t":
                pieces.append(element.text or "")
            elif name == "lastRenderedPageBreak":
                has_pages = True
                pieces.append(_PAGE_BREAK)
            elif name in ("br", "cr"):
                pieces.append("\n")
            elif name == "tab":
                pieces.append("\t")
            elif name == "noBreakHyphen":
                pieces.append("-")
        elif name == "p":
            pieces.append("\n")
        elif name == "tc":
            while pieces and pieces[-1] == "\n":
                pieces.pop()
            pieces.append("\t")
        elif name == "tr":
            pieces.append("\n")
    return _ROW_END.sub("\n", "".join(pieces)), has_pages
