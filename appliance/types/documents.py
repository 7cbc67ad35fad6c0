"""Documents: the text of attached files, a message a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from appliance.lazy_dataclasses import dataclass

DOCUMENT = "document"
"""The key in the metadata of a message that is a page of a document."""


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page as a reader finds it. ``place`` is where it stands: "page 3", "slide 2", "sheet Budget",
    "lines 81–160", or "" if the document has one page only."""

    place: str
    text: str


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """The document that a message is a page of: its ``name`` as the export gives it, the ``place`` of the page
    ("page 3"; "" if it is the only one), its ``number`` among the pages that have text, from 1, the external id of the
    ``message`` that carries the document, and the SHA-256 of the file in hex."""

    name: str
    place: str
    number: int
    message: str
    digest: str

    @property
    def label(self) -> str:
        """The document and the place, as in "report.pdf, page 3"."""
        return ", ".join(filter(None, (self.name, self.place)))

    def credit(self, author: str | None) -> str:
        """The document, the place, and who sent it, as in "report.pdf, page 3, sent by Ben"."""
        return f"{self.label}, sent by {author}" if author else self.label

    def metadata(self) -> dict[str, Any]:
        """What the metadata of the message has under ``DOCUMENT``."""
        return {
            "name": self.name,
            "place": self.place,
            "number": self.number,
            "message": self.message,
            "digest": self.digest,
        }


def document_page(metadata: Mapping[str, Any]) -> DocumentPage | None:
    """Return the document that a message with this metadata is a page of; None if it is none."""
    found = metadata.get(DOCUMENT)
    if not isinstance(found, Mapping):
        return None
    name, place, number, message, digest = map(found.get, ("name", "place", "number", "message", "digest"))
    if not (isinstance(name, str) and isinstance(message, str) and isinstance(digest, str)):
        return None
    return DocumentPage(
        name, place if isinstance(place, str) else "", number if isinstance(number, int) else 1, message, digest
    )
