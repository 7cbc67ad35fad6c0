"""What every parser is given and gives.

A parser is a module with two functions, named in the table of ``appliance.ingest.parse``:

    matches(head: Head) -> float            how sure it is, 0..1, from the name and the first bytes
    parse(document: Document) -> Iterator[Record]

It reads no settings and touches no store. It streams: memory is bounded by one conversation (or one
message, where the format allows), not by the file.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar, cast

from appliance.types import Record

HEAD_BYTES = 65_536

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Head:
    """What detection sees: the document's name (with its folders, as far as they are known, "/"
    between them), and its first ``HEAD_BYTES`` bytes, decoded as far as possible. ``tables`` names the
    tables of an SQLite database."""

    name: str
    text: str
    truncated: bool
    tables: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What lies around a document, and who asks.

    ``find`` gives the document at a path relative to this one's folder ("../users.json"), within the
    folder or zip that the user named, or None; where a name in the path is "*" ("../Users/*/user.json"), the
    first one in order. ``me`` is what the person is called where a format only
    says "me"; None where nobody said. ``memory`` is shared by all documents of one folder or zip.
    """

    find: Callable[[str], Document | None] = lambda path: None
    me: str | None = None
    memory: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` gives, made once for all documents of the folder or zip: a table of its users."""
        if key not in self.memory:
            self.memory[key] = make()
        return cast(T, self.memory[key])


@dataclass(frozen=True, slots=True)
class Document:
    """One readable thing: a file, or a member of a zip.

    ``name`` is the path as a person would name it ("export.zip/conversations.json"); ``open`` gives a
    fresh binary stream each time it is called, to be used in a ``with`` statement. ``size`` is what
    the file system or the zip says, and a zip may be wrong. ``explicit`` is True for a file that the
    user named, False for what was found in a folder or a zip: there, much is no chat and no error.
    ``path`` is the file itself, None for a member of a zip.
    """

    name: str
    size: int
    open: Callable[[], AbstractContextManager[BinaryIO]]
    explicit: bool = True
    path: Path | None = None
    around: Surroundings = field(default_factory=Surroundings)


class Parser(Protocol):
    """A format module."""

    def matches(self, head: Head) -> float: ...

    def parse(self, document: Document) -> Iterator[Record]: ...
