"""Where the top-level records of a JSON stream begin and end, found without decoding them.

The records of a file mostly begin alike, so the scanner tries the place where the next one seems to begin: if what is
before it can be decoded, it is the record. Otherwise the scanner counts brackets outside of strings, which costs a few
matches of regular expressions. Damage misleads the count; the scanner finds its way back by the first keys of the
file's first record, with which the others begin as well.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from appliance.formats.text import CHUNK_BYTES

KeyPairs = Sequence[tuple[str, str]]
"""The first two keys of a record, in each form that the format has."""

# A record that grows longer than this may have lost its end: the scanner looks for another record's beginning in it.
_RESYNC_THRESHOLD_BYTES = 16 << 20
# No conversation is this long; reading further would only fill the memory.
MAX_RECORD_BYTES = 256 << 20

# What the values of a record take in memory when it is decoded, besides its bytes twice: as text and as strings.
_STRING_COST, _MEMBER_COST, _OBJECT_COST, _LIST_COST, _VALUE_COST = 50, 25, 150, 64, 36

# The bytes that are looked through for the beginning of the next record.
_BOUNDARY_SEARCH_BYTES = 1 << 20
# So many lines behind a damaged one show whether each record has a line for itself.
_LINES_AHEAD = 4
# Two records are separated by a comma and some space.
_MAX_SEPARATOR_BYTES = 16

# Groups are atomic (?>…) and not possessive: before 3.11.5, Python repeats possessive groups wrongly (gh-106052).
_STRING = rb'"(?>(?:[^"\\]++|\\.)*)"'
_FLAT = rb'[^"{}\[\]]++|' + _STRING


def _nested(levels: int) -> bytes:
    inner = _FLAT
    for _ in range(levels):
        inner = _FLAT + rb"|[\[{](?>(?:" + inner + rb")*)[\]}]"
    return inner


# One match passes containers that are nested up to this many levels: this makes scanning fast.
_NESTING_STEP = 3
_BALANCED_RUN = re.compile(rb"(?>(?:" + _nested(_NESTING_STEP) + rb")*)", re.DOTALL)
_SEPARATORS = re.compile(rb"[\s,\x00\x1e]*+")
_NON_CONTAINER = re.compile(rb"[^{}\[\]]++")
_WHOLE_STRING = re.compile(_STRING, re.DOTALL)
_ATOM = re.compile(rb'[^\s"{}\[\],:]*+')
_KEY_REST = re.compile(rb'(?>(?:[^"\\]|\\.)*)"\s*+:', re.DOTALL)
_CLEAN_END = re.compile(rb'[\s,]*+(?:\{\s*+"|\]|$)')
_SCALAR_THEN = rb"\s*+(?:" + _STRING + rb'|[^\s"{}\[\],]++)\s*+,\s*+'
_KEY = rb'("(?>(?:[^"\\]|\\.){1,80})")\s*+:'
_FIRST_KEYS = re.compile(rb"\{\s*+" + _KEY + rb"(?:" + _SCALAR_THEN + _KEY + rb")?", re.DOTALL)

_QUOTE, _OPEN_OBJECT, _CLOSE_LIST = b'"{]'

# A wrapper has members before its list of records; these are all of them that are read.
_ENTER_LOOKAHEAD_BYTES = 1 << 20
_VALUE = rb"(?:" + _STRING + rb'|[^\s"{}\[\],]++|[\[{](?>(?:' + _nested(_NESTING_STEP) + rb")*)[\]}])"
_MEMBER = _STRING + rb"\s*+:\s*+" + _VALUE + rb"\s*+,\s*+"
# After the end of a list comes its object's next key or end.
_AFTER_LIST = re.compile(rb'\]\s*+(?:,\s*+"|\}|$)')


def _quote_pairs(pairs: KeyPairs) -> list[tuple[bytes, bytes | None]]:
    return [(b'"%s"' % first.encode(), b'"%s"' % second.encode()) for first, second in pairs]


def _record_start_pattern(pairs: Sequence[tuple[bytes, bytes | None]]) -> re.Pattern[bytes]:
    """A pattern for the beginning of a record: an object that is not the value of a key, and whose first two keys
    are one of the pairs, the first with a plain value."""
    keys = [
        re.escape(first) + rb"\s*+:" + (_SCALAR_THEN + re.escape(second) + rb"\s*+:" if second else b"")
        for first, second in pairs
    ]
    return re.compile(rb"[,}\]\[{\n]\s*+(\{\s*+(?:" + b"|".join(keys) + rb"))", re.DOTALL)


def decoding_cost(data: bytes) -> int:
    """About how many bytes of memory the decoding of JSON takes. Keys are short, alike and kept once."""
    members = data.count(b'":')
    strings = max(0, data.count(b'"') // 2 - members)
    return (
        2 * len(data)
        + strings * _STRING_COST
        + members * _MEMBER_COST
        + data.count(b"{") * _OBJECT_COST
        + data.count(b"[") * _LIST_COST
        + data.count(b",") * _VALUE_COST
    )


def first_key(record: bytes) -> bytes | None:
    """The first key of an object, in its quotes."""
    match = _FIRST_KEYS.match(record)
    return match[1] if match else None


class ByteReader(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class RecordBytes:
    """The bytes of one record. ``ended`` is False if the file ends in it or its end was not found;
    ``stray`` means that it is no object. ``depth`` is an upper limit of its nesting. ``line`` counts from 1,
    ``offset`` from 0. ``value`` is the decoded record where its end was found by decoding it. ``too_large``: the record
    would take too much memory, and its bytes are not kept."""

    data: bytes
    offset: int
    line: int
    ended: bool = True
    stray: bool = False
    depth: int = 0
    value: Any = None
    too_large: bool = False


class RecordScanner:
    """Splits a stream of UTF-8 bytes into its top-level records. ``decode_whole`` returns the value of bytes that are
    one undamaged record, else None. Records that take more than ``max_cost`` bytes of memory are passed over."""

    def __init__(
        self,
        stream: ByteReader,
        first_keys: KeyPairs = (),
        decode_whole: Callable[[bytes], Any] = lambda data: None,
        max_cost: float = math.inf,
    ) -> None:
        self._max_cost = max_cost
        self._stream = stream
        self._decode_whole = decode_whole
        self._first_key: bytes | None = None
        self._boundary: bytes | None = None  # how a record ends and the next one begins
        self._last_end = 0
        self._buffer = b""
        self._base = 0  # the offset of the buffer's first byte
        self._start = 0  # where the current record begins in the buffer
        self._position = 0
        self._has_learned = False
        self._is_in_list = False
        # How records of this format usually begin, until ``learn`` gets an undamaged one.
        self._record_start = _record_start_pattern(_quote_pairs(first_keys)) if first_keys else None
        self.line = 1

    def enter(self, key: str) -> bool:
        """Enter the list that the object at the beginning of the stream has under ``key``, if it has one.

        The list's elements are the records, and the stream is not read beyond the list. Only before the first record.
        """
        list_key = re.escape(b'"%s"' % key.encode()) + rb"\s*+:\s*+\["
        pattern = rb"\s*+\{\s*+(?>(?:(?!" + list_key + rb")" + _MEMBER + rb")*)" + list_key
        match = re.match(pattern, self._peek(_ENTER_LOOKAHEAD_BYTES), re.DOTALL)
        if match is not None:
            self._is_in_list = True
            self._advance(match.end())
        return match is not None

    def next(self) -> RecordBytes | None:
        """The next record, or None at the end of the stream."""
        while (byte := self.peek()) is not None:
            if byte == _OPEN_OBJECT:
                return self._read_container()
            if byte == _CLOSE_LIST and self._is_in_list and _AFTER_LIST.match(self.lookahead()):
                return None
            if byte not in b"[]":
                return self._read_stray()
            # The records are the elements of one list or several; brackets of lists are skipped like commas.
            self.step()
        return None

    def peek(self) -> int | None:
        """The next byte that is neither space nor comma, or None at the end of the stream."""
        while True:
            separators = _SEPARATORS.match(self._buffer, self._position)
            self._advance(separators.end() if separators else self._position)
            if self._position < len(self._buffer):
                return self._buffer[self._position]
            if not self._fill_buffer():
                return None

    def step(self) -> None:
        """Skip the byte that ``peek`` returned: enter a container or leave it."""
        self._advance(self._position + 1)

    def key(self) -> bytes | None:
        """The next key in its quotes, or None if no key comes next. Reading continues at its value."""
        if self.peek() != _QUOTE:
            return None
        while (name := _KEY_REST.match(self._buffer, self._position + 1)) is None:
            if len(self._buffer) - self._position > CHUNK_BYTES or not self._fill_buffer():
                return None
        key = self._buffer[self._position : name.end()]
        self._advance(name.end())
        return key[:-1].rstrip()

    def value(self) -> RecordBytes:
        """The next value, of any type; ``stray`` if what comes next is no value."""
        byte = self.peek()
        if byte is not None and byte in b"{[":
            return self._read_container()
        while True:
            at = self._buffer[self._position : self._position + 1]
            match = (_WHOLE_STRING if at == b'"' else _ATOM).match(self._buffer, self._position)
            end = match.end() if match else len(self._buffer)
            # A value at the end of the buffer may continue beyond it.
            if match is not None and end < len(self._buffer):
                return self._take_record(max(end, self._position + 1), stray=end == self._position)
            if len(self._buffer) - self._start > MAX_RECORD_BYTES or not self._fill_buffer():
                return self._take_record(end, ended=match is not None, stray=end == self._position)

    def lookahead(self) -> bytes:
        """The next ``CHUNK_BYTES`` bytes, which stay unread."""
        return self._peek(CHUNK_BYTES)

    def learn(self, record: bytes, other_pairs: KeyPairs = ()) -> None:
        """Remember how undamaged records of this file begin, to find the next one after a damaged one."""
        keys = None if self._has_learned else _FIRST_KEYS.match(record)
        if keys is not None:
            self._has_learned = True
            self._first_key = keys[1]
            self._record_start = _record_start_pattern([*_quote_pairs(other_pairs), (keys[1], keys[2])])

    def take_line(self, piece: RecordBytes, *, known: bool) -> RecordBytes | None:
        """The line that a damaged record begins, where each record has a line for itself: damage costs no other line.

        None, and nothing is read, if the lines behind it are no records. ``known`` tells that the record before had its
        line for itself; otherwise two lines must show it."""
        ahead = piece.data + self._peek(_RESYNC_THRESHOLD_BYTES)
        line, newline, rest = ahead.partition(b"\n")
        ends = b" \t\r," if line.rstrip().endswith(b",") else b" \t\r"
        following = [one for one in rest.split(b"\n", _LINES_AHEAD)[:_LINES_AHEAD] if one.strip()]
        whole = sum(self._decode_whole(one.strip(ends)) is not None for one in following)
        if not newline or whole < (bool(following) if known else 2):
            return None
        self._reopen(piece)
        return self._take_record(len(line.rstrip()), stray=piece.stray)

    def _reopen(self, piece: RecordBytes, start: int = 0) -> None:
        """Continue within the record that was taken last."""
        rest = piece.data[start:]
        self._buffer = rest + self._buffer[self._position :]
        self._base = piece.offset + start
        self._start = self._position = 0
        self.line -= rest.count(b"\n")

    def resynchronize(self, piece: RecordBytes) -> bytes:
        """The bytes of a damaged record, up to where the next one begins; scanning continues there.

        If the record's end looks right, that is the end. Otherwise the count may have gone wrong, in this record or
        after it, and the next beginning of a record decides."""
        if self._record_start is None:
            return piece.data
        start = self._record_start.search(piece.data, 1)
        if start is None:
            if piece.ended and _CLEAN_END.match(self._peek(CHUNK_BYTES)):
                return piece.data
            ahead = self._peek(_RESYNC_THRESHOLD_BYTES)
            start = self._record_start.search(piece.data[-1:] + ahead)
            if start is None:
                return piece.data
            more = start.start(1) - 1
            self._advance(self._position + more)
            return piece.data + ahead[:more]
        self._reopen(piece, start.start(1))
        return piece.data[: start.start(1)]

    def _learn_boundary(self) -> None:
        """Remember how the record that begins here is separated from the one before it, if it begins like the first."""
        first_key, self._first_key = self._first_key, None
        end = self._last_end - self._base
        match = _FIRST_KEYS.match(self._buffer, self._start) if 0 < end <= self._start else None
        if match and match[1] == first_key and self._start - end <= _MAX_SEPARATOR_BYTES:
            self._boundary = self._buffer[end - 1 : match.end(1)]

    def _read_up_to_boundary(self) -> RecordBytes | None:
        """The record up to where the next one seems to begin; None if it has to be counted."""
        if self._first_key is not None:
            self._learn_boundary()
        if self._boundary is None:
            return None
        searched = self._start
        while (found := self._buffer.find(self._boundary, searched)) < 0:
            buffered = len(self._buffer) - self._start
            if buffered > _BOUNDARY_SEARCH_BYTES or not self._fill_buffer():
                return None
            searched = self._start + max(0, buffered - len(self._boundary))
        value = self._decode_whole(self._buffer[self._start : found + 1])
        if value is None:  # a list in the record begins like the records, or it is unusual
            self._boundary = None
            return None
        return self._take_record(found + 1, value=value)

    def _read_container(self) -> RecordBytes:
        if (record := self._read_up_to_boundary()) is not None:
            return record
        depth = deepest = 1
        self._position += 1
        suspicious = _RESYNC_THRESHOLD_BYTES
        while True:
            match = _BALANCED_RUN.match(self._buffer, self._position)
            self._position = match.end() if match else self._position
            if self._position == len(self._buffer) or self._buffer[self._position] == _QUOTE:
                buffered = len(self._buffer) - self._start
                if buffered > suspicious:
                    suspicious *= 2
                    if buffered > MAX_RECORD_BYTES or self._has_lost_end():
                        return self._take_record(len(self._buffer), ended=False)
                    if self._is_too_large(len(self._buffer)):
                        return self._pass_over(depth)
                if not self._fill_buffer():
                    return self._take_record(len(self._buffer), ended=False)
                continue
            depth += 1 if self._buffer[self._position] in b"{[" else -1
            deepest = max(deepest, depth)
            self._position += 1
            if depth == 0:
                if self._position - self._start > _RESYNC_THRESHOLD_BYTES and self._is_too_large(self._position):
                    return self._take_record(self._position, too_large=True)
                return self._take_record(self._position, depth=deepest + _NESTING_STEP)

    def _is_too_large(self, end: int) -> bool:
        return math.isfinite(self._max_cost) and decoding_cost(self._buffer[self._start : end]) > self._max_cost

    def _pass_over(self, depth: int) -> RecordBytes:
        """Read on to the end of the container that is ``depth`` deep, and keep nothing of it."""
        offset, line = self._base + self._start, self.line
        while depth:
            match = _BALANCED_RUN.match(self._buffer, self._position)
            self._advance(match.end() if match else self._position)
            if self._position < len(self._buffer) and self._buffer[self._position] != _QUOTE:
                depth += 1 if self._buffer[self._position] in b"{[" else -1
                self._advance(self._position + 1)
            elif len(self._buffer) - self._position > MAX_RECORD_BYTES or not self._fill_buffer():
                self._advance(len(self._buffer))
                break
        self._last_end = self._base + self._position
        return RecordBytes(b"", offset, line, ended=not depth, too_large=True)

    def _read_stray(self) -> RecordBytes:
        while True:
            match = _NON_CONTAINER.match(self._buffer, self._position)
            end = match.end() if match else self._position + 1
            if end < len(self._buffer) or end - self._start > _RESYNC_THRESHOLD_BYTES or not self._fill_buffer():
                return self._take_record(end, stray=True)

    def _has_lost_end(self) -> bool:
        return self._record_start is not None and bool(self._record_start.search(self._buffer, self._start + 1))

    def _take_record(
        self,
        end: int,
        *,
        ended: bool = True,
        stray: bool = False,
        depth: int = 0,
        value: Any = None,
        too_large: bool = False,
    ) -> RecordBytes:
        data = b"" if too_large else self._buffer[self._start : end]
        piece = RecordBytes(data, self._base + self._start, self.line, ended, stray, depth, value, too_large)
        self._last_end = self._base + end
        self._advance(end)
        if (
            end > _RESYNC_THRESHOLD_BYTES
        ):  # the buffer is not needed while the record is; its last byte may begin a boundary
            self._buffer, self._base = self._buffer[end - 1 :], self._base + end - 1
            self._start = self._position = 1
        return piece

    def _advance(self, end: int) -> None:
        """Continue at ``end``; the bytes before it are not needed any more."""
        self.line += self._buffer.count(b"\n", self._start, end)
        self._start = self._position = end

    def _peek(self, size: int) -> bytes:
        while len(self._buffer) - self._position < size and self._fill_buffer():
            pass
        return self._buffer[self._position : self._position + size]

    def _fill_buffer(self) -> bool:
        """Read at least as much as the buffer holds, so that the time for long records stays linear."""
        buffered = len(self._buffer) - self._start
        data = self._stream.read(max(CHUNK_BYTES, buffered))
        self._buffer = self._buffer[self._start :] + data
        self._base += self._start
        self._position -= self._start
        self._start = 0
        return bool(data)
