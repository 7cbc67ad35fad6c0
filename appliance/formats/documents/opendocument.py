"""OpenDocument files (odt, ods, odp): texts, sheets and slides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from appliance.formats.documents import DocumentUnreadable
from appliance.formats.documents.packages import Package, local_name, walk
from appliance.formats.documents.passages import joined_rows, numbered_parts
from appliance.types.documents import PageText

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_SKIPPED = frozenset({"tracked-changes", "forms"})
MAX_REPEATED = 1_000
"""How often a repeated cell with text is written; a sheet may repeat it to its end."""


def read(data: bytes) -> Iterator[PageText]:
    """Yield the slides or sheets of an OpenDocument file, or a text in parts of a page's length."""
    package = Package(data)
    if "META-INF/manifest.xml" in package.names and b"encryption-data" in package.read("META-INF/manifest.xml"):
        raise DocumentUnreadable("it is protected by a password")
    root = package.parse("content.xml")
    body = next((one for one in root.iter() if local_name(one) in ("text", "spreadsheet", "presentation", "drawing")
                 and local_name(one.getparent()) == "body"), None)  # fmt: skip
    if body is None:
        raise DocumentUnreadable("it has no text, sheets or slides that can be read")
    match local_name(body):
        case "spreadsheet":
            for sheet in body.iterchildren(f"{_TABLE}table"):
                yield from joined_rows(sheet.get(f"{_TABLE}name") or "", _rows(sheet))
        case "presentation" | "drawing":
            pages = [one for one in body if local_name(one) == "page"]
            for number, page in enumerate(pages, 1):
                yield PageText(f"slide {number}", _text(page))
        case _:
            yield from numbered_parts(_text(body))


def _rows(sheet: Any) -> Iterator[str]:
    for row in sheet.iter(f"{_TABLE}table-row"):
        cells: list[str] = []
        for cell in row:
            if local_name(cell) in ("table-cell", "covered-table-cell"):
                text = _text(cell).replace("\n", " ")
                repeated = cell.get(f"{_TABLE}number-columns-repeated") or "1"
                cells += [text] * (min(int(repeated), MAX_REPEATED) if repeated.isdecimal() else 1)
        yield "\t".join(cells).rstrip("\t")
        # Rows that repeat are empty ones nearly always: they count, so that the numbers of the others are right.
        repeated = row.get(f"{_TABLE}number-rows-repeated") or "1"
        if repeated.isdecimal():
            yield from [""] * min(int(repeated) - 1, 1 << 20)


def _text(root: Any) -> str:
    pieces: list[str] = []
    for event, element, name in walk(root, _SKIPPED):
        is_text = isinstance(element.tag, str) and element.tag.startswith(_TEXT)
        if event == "start":
            if name in ("p", "h") and is_text and pieces and not pieces[-1].endswith(("\n", "\t")):
                pieces.append("\n")
            if is_text and name == "s":
                count = element.get(f"{_TEXT}c") or "1"
                pieces.append(" " * (min(int(count), 100) if count.isdecimal() else 1))
            elif is_text and name == "tab":
                pieces.append("\t")
            elif is_text and name == "line-break":
                pieces.append("\n")
            if is_text and element.text:
                pieces.append(element.text)
        else:
            if is_text and name in ("p", "h"):
                pieces.append("\n")
            elif name == "table-cell":
                while pieces and pieces[-1] == "\n":
                    pieces.pop()
                pieces.append("\t")
            elif name == "table-row":
                pieces.append("\n")
        if event == "end" and element is not root and element.tail and _is_text(element.getparent()):
            pieces.append(element.tail)
    return "\n".join(line.rstrip() for line in "".join(pieces).strip("\n").split("\n"))


def _is_text(element: Any) -> bool:
    return isinstance(element.tag, str) and element.tag.startswith(_TEXT)
