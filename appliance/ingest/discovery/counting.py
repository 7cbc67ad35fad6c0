"""Counts what a found history holds: its conversations, and the times of its first and last message."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from datetime import datetime
from io import BufferedIOBase
from pathlib import Path
from typing import BinaryIO, cast

from appliance.formats.base import Document
from appliance.formats.sqlite import is_in_use
from appliance.ingest.discovery.search import FoundPlace, database_size
from appliance.ingest.sources import DetectedDocument, detect_documents
from appliance.lazy_dataclasses import dataclass
from appliance.timestamps import iso, to_microseconds
from appliance.types import InputProblem, MessageRecord, SessionRecord

MAX_COPIED_BYTES = 256 << 20
"""The largest database in use that is copied to be counted."""


@dataclass(slots=True)
class HistoryTally:
    """The count of a history. ``format`` is that of most files; ``done_bytes`` were read of all."""

    conversations: int = 0
    first: datetime | None = None
    last: datetime | None = None
    formats: Counter[str] = field(default_factory=Counter)
    done_bytes: float = 0
    is_complete: bool = True
    problem: str = ""

    @property
    def format(self) -> str | None:
        return self.formats.most_common(1)[0][0] if self.formats else None

    def projected(self, size: int) -> int | None:
        """The conversations of all ``size`` bytes; None if no part was read."""
        if self.is_complete:
            return self.conversations
        if not self.done_bytes or not self.conversations:
            return None
        return max(self.conversations, round(self.conversations * max(1.0, size / self.done_bytes)))

    def _add_time(self, moment: datetime | None) -> None:
        if moment is None:
            return
        if self.first is None or to_microseconds(moment) < to_microseconds(self.first):
            self.first = moment
        if self.last is None or to_microseconds(moment) > to_microseconds(self.last):
            self.last = moment

    def span(self) -> tuple[str | None, str | None]:
        """The times of the first and the last message, ISO 8601."""
        return iso(self.first) if self.first else None, iso(self.last) if self.last else None


def count(
    place: FoundPlace, me: str | None, deadline: float, yield_to_queries: Callable[[], None] = lambda: None
) -> HistoryTally:
    """Read the files of a place until ``deadline`` (``time.monotonic``), the newest and the oldest first, so that the
    span is right although the time may not suffice for all."""
    tally = HistoryTally(is_complete=place.complete)
    sessions: set[tuple[str | None, str]] = set()
    for file in _ends_first(place.files):
        if time.monotonic() >= deadline or not _may_be_copied(file):
            tally.is_complete = False
            continue
        for item in detect_documents([file], me=me, within=place.root):
            if not isinstance(item, DetectedDocument):
                if item.status == "failed" and item.errors and not tally.problem:
                    tally.problem = item.errors[0].message
                continue
            if item.format is not None:
                tally.formats[item.format] += 1
                read = _count_document(item, sessions, tally, deadline, yield_to_queries)
                if read < 1.0:
                    tally.done_bytes += read * database_size(file)
                    tally.is_complete = False
                    break
        else:
            tally.done_bytes += database_size(file)
        yield_to_queries()
    return tally


def _count_document(
    item: DetectedDocument,
    sessions: set[tuple[str | None, str]],
    tally: HistoryTally,
    deadline: float,
    yield_to_queries: Callable[[], None],
) -> float:
    """Add a document's conversations with messages; returns the part of it that was read in time, 1 for all of it."""
    position = _Position()
    document = replace(item.document, open=lambda: _counting(item.document, position))
    for number, record in enumerate(item.parser.parse(document)):
        if isinstance(record, MessageRecord):
            if (key := (item.format, record.session)) not in sessions:
                sessions.add(key)
                tally.conversations += 1
            tally._add_time(record.sent_at)
        elif isinstance(record, SessionRecord) and record.dates_messages:
            tally._add_time(record.created_at)
        elif isinstance(record, InputProblem) and not record.harmless and not tally.problem:
            tally.problem = f"{record.where}: {record.message}" if record.where else record.message
        if number % 256 == 0:
            yield_to_queries()
            if time.monotonic() >= deadline:
                return min(0.99, position.bytes / max(1, document.size))
    return 1.0


@dataclass(slots=True)
class _Position:
    """How many bytes of a document were read, at most its size."""

    bytes: int = 0


class _CountingStream(BufferedIOBase):
    """A stream that tells how much of it was read."""

    def __init__(self, context: AbstractContextManager[BinaryIO], position: _Position) -> None:
        self._context, self._position, self._read = context, position, 0
        self._stream = context.__enter__()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._stream.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def read(self, size: int | None = -1) -> bytes:
        return self._counted(self._stream.read(-1 if size is None else size))

    def read1(self, size: int = -1) -> bytes:
        read = getattr(self._stream, "read1", self._stream.read)
        return self._counted(read(size))

    def readline(self, size: int | None = -1) -> bytes:
        return self._counted(self._stream.readline(-1 if size is None else size))

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._context.__exit__(None, None, None)
        super().close()

    def _counted(self, data: bytes) -> bytes:
        self._read += len(data)
        self._position.bytes = max(self._position.bytes, self._read)
        return data


def _counting(document: Document, position: _Position) -> AbstractContextManager[BinaryIO]:
    return cast(AbstractContextManager[BinaryIO], _CountingStream(document.open(), position))


def _may_be_copied(file: Path) -> bool:
    return not is_in_use(file) or database_size(file) <= MAX_COPIED_BYTES


def _ends_first(files: Sequence[Path]) -> Iterator[Path]:
    """The newest file, the oldest, the second newest and so on."""
    ordered = sorted(files, key=_modified)
    while ordered:
        yield ordered.pop()
        if ordered:
            yield ordered.pop(0)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
