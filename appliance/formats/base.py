"""The interface of a parser, and the documents that it reads.

A parser is a module with the two functions of ``Parser``, named in the table of ``appliance.formats``. It reads
no settings and touches no store. It streams: one conversation (or one message, where the format allows) bounds its
memory, not the file.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar, cast

from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, Record

HEAD_BYTES = 65_536

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DocumentHead:
    """What detection sees of a document.

    ``name`` includes the document's folders as far as they are known, with "/" between them. ``text`` is the
    first ``HEAD_BYTES`` bytes, decoded as far as possible. ``tables`` names the tables of an SQLite database.
    """

    name: str
    text: str
    truncated: bool
    tables: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DocumentContext:
    """The surroundings of a document.

    ``find`` returns the document at a path relative to this one's folder ("../users.json"), within the
    folder or zip that the user named, or None. A "*" in the path ("../Users/*/user.json") stands for the first
    match in order; ``find_all`` returns every match. ``names`` returns the paths of the files in this one's folder and
    below, relative to it. ``me`` is the person's name for formats that only say "me"; None if it is unknown. All
    documents of a folder or zip have the same ``shared``. ``day_first`` is what the person has told of the order of day
    and month, which counts where a file leaves it open. ``attach`` is told the name of a document that was found and
    is attached to a message.
    """

    find: Callable[[str], Document | None] = lambda path: None
    me: str | None = None
    names: Callable[[], Sequence[str]] = lambda: ()
    shared: dict[Hashable, Any] = field(default_factory=dict)
    find_all: Callable[[str], Sequence[Document]] = lambda path: ()
    attach: Callable[[str], None] = lambda name: None
    day_first: bool | None = None

    def get_or_create(self, key: Hashable, create: Callable[[], T]) -> T:
        """The value under ``key``, created once for all documents of the folder or zip: a table of its users."""
        if key not in self.shared:
            self.shared[key] = create()
        return cast(T, self.shared[key])


@dataclass(frozen=True, slots=True)
class Document:
    """A file, or a member of a zip.

    ``name`` is the path as a person would write it ("export.zip/conversations.json"). Each call of ``open``
    returns a fresh binary stream, to be used in a ``with`` statement. ``size`` is what the file system or the
    zip states, and a zip may be wrong. ``explicit`` is True for a file that the user named, False for one that was
    found in a folder or a zip: many of those are no chats, which is no error. ``path`` is the file itself,
    None for a member of a zip. ``notes`` are what was noted when it was found. ``packed_size`` is the bytes that a
    member takes in its zip. ``count_messages`` is told how many messages were read of it; it raises ``InputError`` when
    they are more than the zip can have.
    """

    name: str
    size: int
    open: Callable[[], AbstractContextManager[BinaryIO]]
    explicit: bool = True
    path: Path | None = None
    context: DocumentContext = field(default_factory=DocumentContext)
    notes: tuple[InputProblem, ...] = ()
    packed_size: int | None = None
    count_messages: Callable[[int], None] = lambda count: None

    def told(self, day_first: bool | None) -> Document:
        """Return the document with what the person has told of the order of day and month in its dates."""
        return self if day_first is None else replace(self, context=replace(self.context, day_first=day_first))


class LogFollower(Protocol):
    """The state of a parser within a log that grows. A parser that can go on where the last reading ended has a class
    ``Follower``, made of the document, which is given every record twice: first to ``survey``, then, if it ``agrees``,
    to ``records``."""

    def survey(self, data: dict[str, Any]) -> None:
        """Look at the next record: for what only all of the log tells, such as titles and branches."""

    def agrees(self) -> bool:
        """Whether what was surveyed changes nothing that ``records`` has yielded. If not, the log is read whole."""

    def records(self, data: dict[str, Any], where: str) -> Iterator[Record]:
        """The messages of the next record, each session before its first message."""


class Parser(Protocol):
    """A format module."""

    def matches(self, head: DocumentHead) -> float:
        """How sure the parser is, from 0 to 1, that the document is of its format."""

    def parse(self, document: Document) -> Iterator[Record]:
        """The document's sessions, messages and problems, in the order of the file."""
