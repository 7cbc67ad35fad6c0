"""PDF: the text of each page, by PDFium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from appliance.formats.documents import DocumentUnreadable
from appliance.types.documents import PageText

# PDFium's marks of a hyphen at the end of a line, with the break: the word goes on behind it.
_HYPHEN = re.compile("[\ufffe\x02](?:\r\n|\r|\n)?")


def read(data: bytes) -> Iterator[PageText]:
    """Yield the pages of a PDF."""
    pypdfium2: Any = import_module("pypdfium2")

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        reason = str(error)
        raise DocumentUnreadable(
            "it is protected by a password" if "password" in reason.casefold() else f"it is damaged ({reason})"
        ) from error
    damaged: list[int] = []
    for number in range(len(document)):
        try:
            page = document[number]
            text = page.get_textpage()
        except pypdfium2.PdfiumError:
            damaged.append(number + 1)
            continue
        yield PageText(f"page {number + 1}", _HYPHEN.sub("", text.get_text_range()))
        text.close()
        page.close()
    if damaged:
        pages = "page" if len(damaged) == 1 else "pages"
        named = ", ".join(map(str, damaged[:5])) + (" …" if len(damaged) > 5 else "")
        raise DocumentUnreadable(f"{pages} {named} of {len(document)} can't be read")
