"""Where the top-level records of a JSON stream begin and end, found without decoding them.

Brackets are counted outside of strings, so a record is bounded at the speed of a few regular
expression matches. Damage misleads any counting; the way back is how records of the file begin: the
first keys of its first record.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from appliance.ingest.parse.text import CHUNK

# A record that grows longer than this is looked at for a lost end: another record may begin in it.
_SUSPICIOUS_BYTES = 16 << 20
# No conversation is this long; reading on would only fill the memory.
_MAX_RECORD_BYTES = 256 << 20

_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_FLAT = rb'[^"{}\[\]]++|' + _STRING


def _nested(levels: int) -> bytes:
    inner = _FLAT
    for _ in range(levels):
        inner = _FLAT + rb"|[\[{](?:" + inner + rb")*+[\]}]"
    return inner


# Containers up to so many levels deep are passed in one match: that is what makes scanning fast.
_LEVELS = 3
_PASS = re.compile(rb"(?:" + _nested(_LEVELS) + rb")*+", re.DOTALL)
_BETWEEN = re.compile(rb"[\s,\x00\x1e]*+")
_STRAY = re.compile(rb"[^{}\[\]]++")
_WHOLE_STRING = re.compile(_STRING, re.DOTALL)
_ATOM = re.compile(rb'[^\s"{}\[\],:]*+')
_NAMES = re.compile(rb'(?:[^"\\]|\\.)*+"\s*+:', re.DOTALL)
_CLEAN_END = re.compile(rb'[\s,]*+(?:\{\s*+"|\]|$)')
_SCALAR_THEN = rb'\s*+(?:"(?:[^"\\]++|\\.)*+"|[^\s"{}\[\],]++)\s*+,\s*+'
_KEY = rb'("(?:[^"\\]|\\.){1,80}+")\s*+:'
_FIRST_KEYS = re.compile(rb"\{\s*+" + _KEY + rb"(?:" + _SCALAR_THEN + _KEY + rb")?", re.DOTALL)

_QUOTE, _OPEN_OBJECT, _CLOSE_LIST = b'"{]'

# What a wrapper says about itself before its list of records.
_NEAR = 1 << 20
_MEMBER = (
    _STRING
    + rb"\s*+:\s*+(?:"
    + _STRING
    + rb'|[^\s"{}\[\],]++|[\[{](?:'
    + _nested(_LEVELS)
    + rb")*+[\]}])\s*+,\s*+"
)
# A list that ends is followed by its object's next key or end.
_AFTER_LIST = re.compile(rb'\]\s*+(?:,\s*+"|\}|$)')


def _quoted(pairs: Sequence[tuple[str, str]]) -> list[tuple[bytes, bytes | None]]:
    return [(b'"%s"' % first.encode(), b'"%s"' % second.encode()) for first, second in pairs]


def _beginnings(pairs: Sequence[tuple[bytes, bytes | None]]) -> re.Pattern[bytes]:
    """Where a record may begin: an object, not the value of a key, whose first two keys are one of the
    pairs, the first with a plain value."""
    keys = [
        re.escape(first) + rb"\s*+:" + (_SCALAR_THEN + re.escape(second) + rb"\s*+:" if second else b"")
        for first, second in pairs
    ]
    return re.compile(rb"[,}\]\[{\n]\s*+(\{\s*+(?:" + b"|".join(keys) + rb"))", re.DOTALL)


def first_key(record: bytes) -> bytes | None:
    """The first key of an object, in its quotes."""
    found = _FIRST_KEYS.match(record)
    return found[1] if found else None


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of one record. ``ended`` is False if the file ends in it or its end was not found;
    ``stray`` says that it is no object. ``depth`` is how deep it is nested, or some levels more.
    ``line`` counts from 1, ``offset`` from 0."""

    data: bytes
    offset: int
    line: int
    ended: bool = True
    stray: bool = False
    depth: int = 0


class Scanner:
    """Reads a stream of UTF-8 bytes and hands out its top-level records one by one."""

    def __init__(self, stream: Readable, first_keys: Sequence[tuple[str, str]] = ()) -> None:
        self._stream = stream
        self._buffer = b""
        self._base = 0  # the offset of the buffer's first byte
        self._start = 0  # where the record at hand begins in the buffer
        self._at = 0
        self._learned = False
        self._inside = False
        # Until a whole record was seen: how records of this format usually begin.
        self._beginning = _beginnings(_quoted(first_keys)) if first_keys else None
        self.line = 1

    def enter(self, key: str) -> bool:
        """Go into the list that the object at the beginning of the stream has under ``key``: its elements
        are the records, and what follows the list is not read. Only before the first record."""
        wanted = re.escape(b'"%s"' % key.encode()) + rb"\s*+:\s*+\["
        found = re.match(
            rb"\s*+\{\s*+(?:(?!" + wanted + rb")" + _MEMBER + rb")*+" + wanted, self._peek(_NEAR), re.DOTALL
        )
        if found is not None:
            self._inside = True
            self._advance(found.end())
        return found is not None

    def next(self) -> Piece | None:
        """The next record, or None at the end of the stream."""
        while (byte := self.peek()) is not None:
            if byte == _OPEN_OBJECT:
                return self._container()
            if byte == _CLOSE_LIST and self._inside and _AFTER_LIST.match(self.ahead()):
                return None
            if byte not in b"[]":
                return self._stray()
            # The records are the elements of the list, or lists; their ends are passed over like commas.
            self.step()
        return None

    def peek(self) -> int | None:
        """The next byte that is neither space nor comma, or None at the end of the stream."""
        while True:
            between = _BETWEEN.match(self._buffer, self._at)
            self._advance(between.end() if between else self._at)
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._read():
                return None

    def step(self) -> None:
        """Go on behind the byte that ``peek`` gave: into a container or out of it."""
        self._advance(self._at + 1)

    def key(self) -> bytes | None:
        """The key that stands next, in its quotes; reading goes on at its value. None where none stands."""
        if self.peek() != _QUOTE:
            return None
        while (name := _NAMES.match(self._buffer, self._at + 1)) is None:
            if len(self._buffer) - self._at > CHUNK or not self._read():
                return None
        key = self._buffer[self._at : name.end()]
        self._advance(name.end())
        return key[:-1].rstrip()

    def value(self) -> Piece:
        """The value that stands next, of whatever type. ``stray`` if it is no value at all."""
        byte = self.peek()
        if byte is not None and byte in b"{[":
            return self._container()
        while True:
            at = self._buffer[self._at : self._at + 1]
            found = (_WHOLE_STRING if at == b'"' else _ATOM).match(self._buffer, self._at)
            end = found.end() if found else len(self._buffer)
            # What ends with the buffer may go on behind it.
            if found is not None and end < len(self._buffer):
                return self._taken(max(end, self._at + 1), stray=end == self._at)
            if len(self._buffer) - self._start > _MAX_RECORD_BYTES or not self._read():
                return self._taken(end, ended=found is not None, stray=end == self._at)

    def ahead(self) -> bytes:
        """Some of what comes next, without reading on into it."""
        return self._peek(CHUNK)

    def learn(self, record: bytes, besides: Sequence[tuple[str, str]] = ()) -> None:
        """Remember how whole records of this file begin, to find the next one after a damaged one."""
        keys = None if self._learned else _FIRST_KEYS.match(record)
        if keys is not None:
            self._learned = True
            self._beginning = _beginnings([*_quoted(besides), (keys[1], keys[2])])

    def bounded(self, piece: Piece) -> bytes:
        """The bytes of a damaged record, up to where the next one begins; scanning goes on there.

        If its end looks right, that is the end. Otherwise the counting may have lost its way, in
        this record or beyond, and the next beginning decides."""
        if self._beginning is None:
            return piece.data
        found = self._beginning.search(piece.data, 1)
        if found is None:
            if piece.ended and _CLEAN_END.match(self._peek(CHUNK)):
                return piece.data
            ahead = self._peek(_SUSPICIOUS_BYTES)
            found = self._beginning.search(piece.data[-1:] + ahead)
            if found is None:
                return piece.data
            more = found.start(1) - 1
            self._advance(self._at + more)
            return piece.data + ahead[:more]
        rest = piece.data[found.start(1) :]
        self._buffer = rest + self._buffer[self._at :]
        self._base = piece.offset + found.start(1)
        self._start = self._at = 0
        self.line -= rest.count(b"\n")
        return piece.data[: found.start(1)]

    def _container(self) -> Piece:
        depth = deepest = 1
        self._at += 1
        suspicious = _SUSPICIOUS_BYTES
        while True:
            passed = _PASS.match(self._buffer, self._at)
            self._at = passed.end() if passed else self._at
            if self._at == len(self._buffer) or self._buffer[self._at] == _QUOTE:
                held = len(self._buffer) - self._start
                if held > suspicious:
                    suspicious *= 2
                    if held > _MAX_RECORD_BYTES or self._lost_end():
                        return self._taken(len(self._buffer), ended=False)
                if not self._read():
                    return self._taken(len(self._buffer), ended=False)
                continue
            depth += 1 if self._buffer[self._at] in b"{[" else -1
            deepest = max(deepest, depth)
            self._at += 1
            if depth == 0:
                return self._taken(self._at, depth=deepest + _LEVELS)

    def _stray(self) -> Piece:
        while True:
            found = _STRAY.match(self._buffer, self._at)
            end = found.end() if found else self._at + 1
            if end < len(self._buffer) or end - self._start > _SUSPICIOUS_BYTES or not self._read():
                return self._taken(end, stray=True)

    def _lost_end(self) -> bool:
        return self._beginning is not None and bool(self._beginning.search(self._buffer, self._start + 1))

    def _taken(self, end: int, *, ended: bool = True, stray: bool = False, depth: int = 0) -> Piece:
        data = self._buffer[self._start : end]
        piece = Piece(data, self._base + self._start, self.line, ended, stray, depth)
        self._advance(end)
        return piece

    def _advance(self, end: int) -> None:
        """Go on to ``end``; what lies before it is not needed any more."""
        self.line += self._buffer.count(b"\n", self._start, end)
        self._start = self._at = end

    def _peek(self, size: int) -> bytes:
        while len(self._buffer) - self._at < size and self._read():
            pass
        return self._buffer[self._at : self._at + size]

    def _read(self) -> bool:
        """Read on; the more is held already, the more, so that long records stay linear."""
        kept = len(self._buffer) - self._start
        data = self._stream.read(max(CHUNK, kept))
        self._buffer = self._buffer[self._start :] + data
        self._base += self._start
        self._at -= self._start
        self._start = 0
        return bool(data)
