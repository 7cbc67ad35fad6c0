"""Documents: which attached files have text, and what reads it.

A reader takes the bytes of a file and yields its pages. It trusts nothing in them: it runs in a process of its own
(``formats.document_worker``), within limits of memory and time. PDFs and office files need libraries that the extra
``documents`` installs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Literal, get_args

from appliance.types.documents import PageText

DocumentKind = Literal["pdf", "docx", "pptx", "xlsx", "opendocument", "html", "text"]

EXTRA_HINT = "pip install '.[documents]' in a clone of the repository"

_LIBRARIES: dict[DocumentKind, str] = {
    "pdf": "pypdfium2", "docx": "lxml", "pptx": "lxml", "xlsx": "openpyxl", "opendocument": "lxml",
}  # fmt: skip
_READERS: dict[DocumentKind, str] = {
    "pdf": "pdf", "docx": "word", "pptx": "slides", "xlsx": "sheets", "opendocument": "opendocument",
    "html": "plain", "text": "plain",
}  # fmt: skip
_KINDS: dict[str, DocumentKind] = {
    "pdf": "pdf", "docx": "docx", "docm": "docx", "dotx": "docx", "pptx": "pptx", "pptm": "pptx", "ppsx": "pptx",
    "xlsx": "xlsx", "xlsm": "xlsx", "odt": "opendocument", "ods": "opendocument", "odp": "opendocument",
    "html": "html", "htm": "html", "xhtml": "html", "txt": "text", "md": "text", "markdown": "text", "csv": "text",
    "tsv": "text",
}  # fmt: skip
_KINDS_BY_TYPE: dict[str, DocumentKind] = {
    "application/pdf": "pdf", "text/html": "html", "text/plain": "text", "text/markdown": "text", "text/csv": "text",
    "text/tab-separated-values": "text",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.oasis.opendocument.text": "opendocument",
    "application/vnd.oasis.opendocument.spreadsheet": "opendocument",
    "application/vnd.oasis.opendocument.presentation": "opendocument",
}  # fmt: skip


class DocumentUnreadable(Exception):
    """A document, or the rest of it, can't be read; the text says why."""


Reader = Callable[[bytes], Iterator[PageText]]
"""Yields the pages of a document.

Raises:
    DocumentUnreadable: It can't be read any further; raised after the pages before that place.
"""


def kind_of(name: str, type: str | None = None) -> DocumentKind | None:
    """Return the kind of a file by its name, else by its media type; None if it is no document."""
    ending = name.rpartition(".")[2].casefold() if "." in name else ""
    return _KINDS.get(ending) or _KINDS_BY_TYPE.get((type or "").partition(";")[0].strip().casefold())


def readable_kinds() -> frozenset[DocumentKind]:
    """Return the kinds whose library is installed."""
    return frozenset(kind for kind in get_args(DocumentKind) if kind not in _LIBRARIES or find_spec(_LIBRARIES[kind]))


def read(kind: DocumentKind, data: bytes) -> Iterator[PageText]:
    """Yield the pages of a document that have text, in order. Libraries may raise anything for what is damaged.

    Raises:
        DocumentUnreadable: It can't be read any further.
    """
    module = import_module(f"{__name__}.{_READERS[kind]}")
    reader: Reader = module.read_html if kind == "html" else module.read
    for page in reader(data):
        text = clean(page.text)
        if text.strip():
            yield PageText(clean(page.place), text)


def clean(text: str) -> str:
    """Return a text without what no store accepts, and with the line breaks of this program."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    return "".join("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in text) if not _is_valid(text) else text


def _is_valid(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
