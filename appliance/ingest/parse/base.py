"""What every parser is given and gives.

A parser is a module with two functions, named in the table of ``appliance.ingest.parse``:

    matches(head: Head) -> float            how sure it is, 0..1, from the name and the first bytes
    parse(document: Document) -> Iterator[Record]

It reads no settings and touches no store. It streams: memory is bounded by one conversation (or one
message, where the format allows), not by the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from appliance.types import Record

HEAD_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Head:
    """What detection sees: the document's name (with its folders, as far as they are known, "/"
    between them), and its first ``HEAD_BYTES`` bytes, decoded as far as possible."""

    name: str
    text: str
    truncated: bool


@dataclass(frozen=True, slots=True)
class Document:
    """One readable thing: a file, or a member of a zip.

    ``name`` is the path as a person would name it ("export.zip/conversations.json"); ``open`` gives a
    fresh binary stream each time it is called, to be used in a ``with`` statement. ``size`` is what
    the file system or the zip says, and a zip may be wrong. ``explicit`` is True for a file that the
    user named, False for what was found in a folder or a zip: there, much is no chat and no error.
    """

    name: str
    size: int
    open: Callable[[], AbstractContextManager[BinaryIO]]
    explicit: bool = True


class Parser(Protocol):
    """A format module."""

    def matches(self, head: Head) -> float: ...

    def parse(self, document: Document) -> Iterator[Record]: ...
