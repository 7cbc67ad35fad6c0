"""Reads logs that grow from where the last reading ended, as long as what was read is still there.

A reading goes up to the last line that has ended. The state of the parser is kept in memory, of the latest few logs; it
is made at the second reading of a log, so that what never grows costs nothing. The whole log is read again if the bytes
before have changed, if new lines change what was said of earlier ones, and if the store lacks what was read before.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from appliance.formats import agent_logs, follower_of, json_stream
from appliance.formats.agent_logs import LogEntry
from appliance.formats.base import Document, LogFollower
from appliance.ingest import attached_files
from appliance.ingest.batches import FileTally
from appliance.ingest.page_reader import read_pages
from appliance.ingest.pages import MessagePage, pages
from appliance.ingest.pipeline import IngestContext
from appliance.ingest.sources import DetectedDocument
from appliance.store import attachments
from appliance.types import InputProblem, MessageRecord, Record, SessionRecord

MIN_BYTES = 1 << 20
"""The size from which a log is followed. A smaller one is read in a tenth of a second."""

MAX_PIECE_BYTES = 8 << 20
"""The most that is read as one piece, in memory; if a log has grown by more, it is read whole."""

MAX_LOGS = 8
"""How many logs are followed at once. The state of a log of 50 MB takes some 20 MB."""

_BLOCK_BYTES = 1 << 20
_DIGEST_BYTES = 16


class FollowedLogs:
    """The logs that one watcher follows. Used by one thread."""

    def __init__(self) -> None:
        self._logs: dict[Path, _FollowedLog] = {}
        self._known: set[Path] = set()
        self._being_read: dict[Path, _FollowedLog] = {}
        self._whole_readings: Counter[Path] = Counter()

    def read_pages(self, detected: DetectedDocument, context: IngestContext) -> Iterator[MessagePage]:
        """Yield the pages of a document that it has not yielded before, or all of them. When they are stored,
        ``confirm`` must be called.

        Raises:
            InputError: The document can't be read any further.
        """
        path, follower = detected.document.path, follower_of(detected.format, detected.document)
        if path is None or follower is None or detected.document.size < MIN_BYTES:
            yield from read_pages(detected, context)
            return
        log = self._logs.pop(path, None)
        records: Iterable[Record] | None = None
        with suppress(OSError):  # the file may be gone, which is reported when it is read whole
            records = None if log is None else log.next_records()
            if records is None and path in self._known:
                log = _FollowedLog(path, detected.document, follower)
                self._whole_readings[path] += 1
                records = log.all_records() if log.survey_whole(context.yield_to_queries) else None
        self._known.add(path)
        if log is None or records is None:
            yield from read_pages(detected, context)
            return
        known = partial(attachments.known_digests, context.database.read(), detected.document.name)
        yield from pages(attached_files.with_files(iter(records), detected.document, known), context.yield_to_queries)
        self._being_read[path] = log

    def are_cheap(self, path: Path) -> bool:
        """Whether the next readings of a file take little time, whatever the last one took: it is followed from now on,
        and was never read whole since it was followed first."""
        return path in self._logs and self._whole_readings[path] == 1

    def confirm(self, path: Path, tallies: Sequence[FileTally]) -> bool:
        """Note that what was read of a file is stored. Returns False if the store lacks what was read before: then the
        file must be read again, which reads the whole."""
        log = self._being_read.pop(path, None)
        if log is None:
            return True
        if sum(tally.duplicates + tally.forgotten for tally in tallies) < log.repeated:
            return False
        if log.is_sound:
            self._logs[path] = log
            while len(self._logs) > MAX_LOGS:
                del self._logs[next(iter(self._logs))]
        return True


class _FollowedLog:
    """A log, and how far it was read. ``is_sound`` tells whether a reading may go on from there, ``repeated`` how many
    earlier messages the last piece began with: the last one of each session, behind which the others belong."""

    def __init__(self, path: Path, document: Document, follower: LogFollower) -> None:
        self._path, self._document, self._follower = path, document, follower
        self._end = self._lines = 0
        self._digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        self._sessions: dict[str, SessionRecord] = {}
        self._last: dict[str, MessageRecord] = {}
        self.is_sound = True
        self.repeated = 0

    def survey_whole(self, yield_to_queries: Callable[[], None]) -> bool:
        """Look at everything up to the last line that has ended. Returns whether it is a log to follow."""
        self._end = _end_of_lines(self._path, 0)
        for item in agent_logs.later_entries(self._part(0, self._end), 0):
            yield_to_queries()
            if not _is_plain(item):
                return False
            if isinstance(item, LogEntry):
                self._follower.survey(item.data)
        for block in _blocks(self._path, 0, self._end):
            self._add(block)
        return self._end > 0 and self._follower.agrees() and not self._has_unended_record()

    def all_records(self) -> Iterator[Record]:
        """Yield the records of everything that was surveyed."""
        yield from self._records(agent_logs.later_entries(self._part(0, self._end), 0), set())
        if not self._sessions:
            yield agent_logs.no_messages()
        yield from self._cut_off()

    def next_records(self) -> list[Record] | None:
        """The records of the lines that have ended since; None if the whole log must be read."""
        end = _end_of_lines(self._path, self._end)
        digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        for block in _blocks(self._path, 0, self._end):
            digest.update(block)
        is_same = digest.digest() == self._digest.digest()
        if not is_same or end > self._end + MAX_PIECE_BYTES or self._has_unended_record():
            return None
        added = b"".join(_blocks(self._path, self._end, end))
        part = replace(self._document, size=len(added), open=lambda: io.BytesIO(added))
        items = [*agent_logs.later_entries(part, self._lines)]
        if not all(map(_is_plain, items)):
            return None
        for item in items:
            if isinstance(item, LogEntry):
                self._follower.survey(item.data)
        if not self._follower.agrees():
            return None
        self.repeated = 0
        records = [*self._records(items, set(self._sessions))]
        self._add(added)
        self._end = end
        return [*records, *self._cut_off()] if self.is_sound else None

    def _records(self, items: Iterable[LogEntry | InputProblem], begun: set[str]) -> Iterator[Record]:
        """The records of entries. Each session of ``begun`` begins with its last message so far."""
        for item in items:
            for record in [item] if isinstance(item, InputProblem) else self._follower.records(item.data, item.where):
                if isinstance(record, SessionRecord):
                    self._sessions[record.key] = record
                elif isinstance(record, MessageRecord):
                    if record.session in begun:
                        begun.remove(record.session)
                        self.repeated += 1
                        yield self._sessions[record.session]
                        yield self._last[record.session]
                    self._last[record.session] = record
                    # Ids that are made depend on all messages before.
                    self.is_sound &= record.external_id is not None
                elif isinstance(record, InputProblem):
                    # It is reported at each reading, until it is put right.
                    self.is_sound &= record.harmless
                yield record

    def _add(self, data: bytes) -> None:
        self._digest.update(data)
        self._lines += data.count(b"\n")

    def _has_unended_record(self) -> bool:
        """Whether the file ends with a whole record that only lacks the end of its line: no more may come."""
        start, end = _end_of_lines(self._path, self._end), self._path.stat().st_size
        if end - start > MAX_PIECE_BYTES:
            return True
        rest = b"".join(_blocks(self._path, start, end))
        return bool(rest.strip()) and json_stream.decode(rest, "")[0] is not json_stream.DAMAGED

    def _cut_off(self) -> Iterator[Record]:
        with suppress(OSError):
            if self._path.stat().st_size <= self._end:
                return
            yield agent_logs.cut_off(self._lines + 1)

    def _part(self, start: int, end: int) -> Document:
        return replace(self._document, size=end - start, open=partial(_open_part, self._path, start, end))


def _is_plain(item: LogEntry | InputProblem) -> bool:
    """Whether this is the object of a line of a log, and nothing that tells of another shape or of damage."""
    return item.harmless if isinstance(item, InputProblem) else not isinstance(item.data.get("loglines"), list)


def _end_of_lines(path: Path, start: int) -> int:
    """Where the last line of a file ends, from ``start`` on; ``start`` if none does."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end > start:
            begin = max(start, end - _BLOCK_BYTES)
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
    return start


def _blocks(path: Path, start: int, end: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while start < end and (block := file.read(min(_BLOCK_BYTES, end - start))):
            start += len(block)
            yield block


class _Part(io.RawIOBase):
    """The bytes of an open file up to an offset."""

    def __init__(self, file: BinaryIO, end: int) -> None:
        self._file, self._end = file, end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._file.read(max(0, min(len(view), self._end - self._file.tell())))
        view[: len(data)] = data
        return len(data)


@contextmanager
def _open_part(path: Path, start: int, end: int) -> Iterator[BinaryIO]:
    with path.open("rb") as file:
        file.seek(start)
        yield cast(BinaryIO, io.BufferedReader(_Part(file, end), _BLOCK_BYTES))
