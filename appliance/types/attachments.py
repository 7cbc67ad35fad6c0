"""Attachments: the files that messages carry, as exports name them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

from appliance.lazy_dataclasses import dataclass
from appliance.types.vocabulary import Role

AttachmentKind = Literal["image", "audio", "video", "file"]
"""What an attachment is, by its media type and the ending of its name; ``file`` is anything else."""

Contained = Literal["image", "audio", "video", "file", "attachment", "link", "document"]
"""What a message may have besides words: an attachment of a kind, any attachment, or the address of a page. "document"
is a message that is itself a page of an attached document."""


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """What an export knows of an attachment besides its name. ``name`` is the one in the message's metadata, ``path``
    is relative to the folder of the document, ``size`` in bytes, ``digest`` the SHA-256 of the content in hex."""

    name: str
    path: str | None = None
    type: str | None = None
    size: int | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """An attachment of a stored message. ``id`` is the message's with the attachment's number: "m345.1".

    ``type`` is a media type ("image/jpeg"), ``size`` is in bytes, ``digest`` the SHA-256 of the content in hex, and
    ``path`` where the file lies, relative to the folder of ``source``. Each is None if the export does not have it.
    ``caption`` is the beginning of the message's text. ``pages`` is how many pages of text were read from it, and
    ``problem`` why it could not be read, or not to its end. ``kept`` is True if the home has a copy of the file.
    ``role`` is that of the message, for chats with an assistant that name no author.
    """

    id: str
    message_id: str
    session_id: str
    session_title: str | None
    name: str
    kind: AttachmentKind
    type: str | None
    size: int | None
    digest: str | None
    path: str | None
    source: str | None
    author: str | None
    timestamp: str | None
    caption: str
    pages: int = 0
    problem: str | None = None
    kept: bool = False
    role: Role = "user"


@dataclass(frozen=True, slots=True)
class AttachmentPage(Sequence[Attachment]):
    """Some attachments, the newest first. A sequence of its attachments.

    Attributes:
        attachments: The attachments of this page.
        total: How many there are on all pages.
    """

    attachments: tuple[Attachment, ...]
    total: int

    def __len__(self) -> int:
        return len(self.attachments)

    @overload
    def __getitem__(self, place: int) -> Attachment: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Attachment, ...]: ...
    def __getitem__(self, place: int | slice) -> Attachment | tuple[Attachment, ...]:
        return self.attachments[place]
