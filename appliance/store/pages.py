"""The pages of a SQLite database, read without SQLite, so that damage to some of them does not hide the others.

A database is trees of pages: a table's leaves hold its rows; a long row goes on in a chain of overflow pages. Every
tree is walked from its root; a page that is in no tree and not among the free ones lost the page that named it. Pages
that were committed to the write-ahead log count in place of those of the file, as for SQLite.

The format is described at https://www.sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from appliance.lazy_dataclasses import dataclass

DEFAULT_PAGE_BYTES = 4096
"""The size of a page where the file does not say it any more; this program has always used it."""

CACHED_PAGES = 256
"""Pages that are held in memory: each row asks for its page several times, and the next row for the same."""

_MAGIC = b"SQLite format 3\0"
_FILE_HEADER_BYTES = 100
_INTERIOR_INDEX, _INTERIOR_TABLE, _LEAF_INDEX, _LEAF_TABLE = 2, 5, 10, 13
_HEADER_BYTES = {_INTERIOR_INDEX: 12, _INTERIOR_TABLE: 12, _LEAF_INDEX: 8, _LEAF_TABLE: 8}
_WAL_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
_WAL_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
"""The first number of a log, and the byte order of its checksums."""

_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""The length of an integer by its serial type."""


class Text(bytes):
    """The bytes of a text, which may not be UTF-8 any more."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its number, None in a table WITHOUT ROWID, and its values as far as they are stored."""

    rowid: int | None
    values: tuple[int | float | bytes | None, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """The pages of a table or index that have rows, and those that can't be read or don't belong there."""

    pages: tuple[int, ...]
    damaged: tuple[int, ...]


class PageFile:
    """A database's pages by number, from 1. A page that the disk can't read is as one that is missing."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY)
        self._bytes = os.fstat(self._file).st_size
        log = path.with_name(f"{path.name}-wal")
        self._log = _committed(log.read_bytes()) if log.is_file() else {}
        self._read = lru_cache(CACHED_PAGES)(self._read_page)
        self.page_bytes = _page_bytes(self._read_at(0, _FILE_HEADER_BYTES), self._log)
        self.count = max([self._bytes // self.page_bytes, *self._log])
        self._used: set[int] = set()
        self.roots = self._find_roots()
        """The root pages of all tables and indexes that the schema still names, by name."""

    def close(self) -> None:
        os.close(self._file)

    def page(self, number: int) -> bytes:
        """Return a page; empty if the file has none of this number."""
        if number in self._log:
            return self._log[number]
        return self._read(number) if number >= 1 else b""

    def _read_page(self, number: int) -> bytes:
        page = self._read_at((number - 1) * self.page_bytes, self.page_bytes)
        return page if len(page) == self.page_bytes else b""

    def _read_at(self, start: int, size: int) -> bytes:
        try:
            return os.pread(self._file, size, start)
        except OSError:
            return b""

    def _find_roots(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for number in self.walk(1).pages:
            for row in self.rows(number)[0]:
                if len(row.values) == 5:
                    kind, name, _, root, _ = row.values
                    if kind in (b"table", b"index") and isinstance(name, Text) and isinstance(root, int) and root > 1:
                        found[name.decode("utf-8", "replace")] = root
        return found

    def walk(self, root: int) -> Tree:
        """Return the pages of a tree. They count as used from then on."""
        table = self._kind(root) in (_INTERIOR_TABLE, _LEAF_TABLE)
        kinds = (_INTERIOR_TABLE, _LEAF_TABLE) if table else (_INTERIOR_INDEX, _LEAF_INDEX)
        pages: list[int] = []
        damaged: list[int] = []
        pending = [root]
        while pending:
            number = pending.pop()
            kind = self._kind(number)
            if number in self._used or kind not in kinds:
                damaged.append(number)
                continue
            self._used.add(number)
            cells, is_whole = self._cells(number)
            if not is_whole:
                damaged.append(number)
            page, start = self.page(number), self._start(number)
            if kind in (_INTERIOR_INDEX, _INTERIOR_TABLE):
                children = [int.from_bytes(page[cell : cell + 4], "big") for cell in cells]
                pending += [int.from_bytes(page[start + 8 : start + 12], "big"), *reversed(children)]
            if kind != _INTERIOR_TABLE:
                pages.append(number)
        return Tree(tuple(pages), tuple(damaged))

    def orphans(self) -> list[int]:
        """Return the pages with rows that belong to no tree that was walked, and are not free. An overflow page never
        looks like one: it begins with a number, whose first byte is 0."""
        known = self._used.union(self._free_pages())
        kinds = (_LEAF_TABLE, _LEAF_INDEX, _INTERIOR_INDEX)
        return [number for number in range(2, self.count + 1) if number not in known and self._kind(number) in kinds]

    def rows(self, number: int) -> tuple[list[Row], int]:
        """Return the rows of a page, and how many others on it can't be read."""
        cells, is_whole = self._cells(number)
        rows = [row for cell in cells if (row := self._row(number, cell)) is not None]
        return rows, len(cells) - len(rows) + (not is_whole)

    def rows_with_pages(self, number: int) -> list[tuple[Row, list[int]]]:
        """Return the rows of a page, each with all pages on which it stands."""
        cells, _ = self._cells(number)
        rows = ((self._row(number, cell), cell) for cell in cells)
        return [(row, [number, *self._overflow_pages(number, cell)]) for row, cell in rows if row is not None]

    def _start(self, number: int) -> int:
        return _FILE_HEADER_BYTES if number == 1 else 0

    def _kind(self, number: int) -> int:
        page = self.page(number) if 1 <= number <= self.count else b""
        kind = page[self._start(number)] if page else 0
        return kind if kind in _HEADER_BYTES else 0

    def _cells(self, number: int) -> tuple[list[int], bool]:
        """The offsets of a page's cells as far as they are possible, and whether all are."""
        page, start = self.page(number), self._start(number)
        if not self._kind(number):
            return [], False
        first = start + _HEADER_BYTES[page[start]]
        count = int.from_bytes(page[start + 3 : start + 5], "big")
        end = min(first + 2 * count, len(page) & ~1)
        offsets = [int.from_bytes(page[at : at + 2], "big") for at in range(first, end, 2)]
        cells = [offset for offset in offsets if end <= offset < len(page) - 3]
        return cells, len(cells) == count

    def _row(self, number: int, cell: int) -> Row | None:
        """The row at an offset of a page; None if it can't be read."""
        page = self.page(number)
        try:
            size, rowid, at = self._head(number, cell)
            local = self._local_bytes(number, size)
            if at + local > len(page):
                return None
            payload = page[at : at + local]
            for overflow in self._overflow_pages(number, cell):
                payload += self.page(overflow)[4:]
            values = _record(payload[:size]) if len(payload) >= size else None
        except (IndexError, struct.error):
            return None
        return None if values is None else Row(rowid, values)

    def _head(self, number: int, cell: int) -> tuple[int, int | None, int]:
        """The length of a cell's record, its row number, and where the record begins."""
        page, kind = self.page(number), self.page(number)[self._start(number)]
        size, at = _varint(page, cell + 4 if kind == _INTERIOR_INDEX else cell)
        if kind != _LEAF_TABLE:
            return size, None, at
        rowid, at = _varint(page, at)
        return size, rowid - (1 << 64) if rowid >= 1 << 63 else rowid, at

    def _local_bytes(self, number: int, size: int) -> int:
        """How much of a record of this length stands on its page."""
        usable = self.page_bytes
        is_table = self.page(number)[self._start(number)] == _LEAF_TABLE
        most = usable - 35 if is_table else (usable - 12) * 64 // 255 - 23
        if size <= most:
            return size
        least = (usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (usable - 4)
        return local if local <= most else least

    def _overflow_pages(self, number: int, cell: int) -> list[int]:
        """The pages on which a cell's record goes on, as far as the chain is whole."""
        page = self.page(number)
        try:
            size, _, at = self._head(number, cell)
        except IndexError:
            return []
        left = size - self._local_bytes(number, size)
        if left <= 0 or size > self._bytes + len(self._log) * self.page_bytes:
            return []
        at += size - left
        following = int.from_bytes(page[at : at + 4], "big")
        chain: list[int] = []
        while left > 0 and 1 < following <= self.count and following not in chain:
            chain.append(following)
            left -= self.page_bytes - 4
            following = int.from_bytes(self.page(following)[:4], "big")
        return chain

    def _free_pages(self) -> Iterator[int]:
        """The pages of the list of free ones, as far as it can be followed."""
        trunk = int.from_bytes(self.page(1)[32:36], "big") if self.page(1).startswith(_MAGIC) else 0
        seen: set[int] = set()
        while 1 < trunk <= self.count and trunk not in seen:
            seen.add(trunk)
            page = self.page(trunk)
            count = min(int.from_bytes(page[4:8], "big"), self.page_bytes // 4 - 2)
            yield trunk
            yield from struct.unpack(f">{count}I", page[8 : 8 + 4 * count])
            trunk = int.from_bytes(page[:4], "big")


def _page_bytes(content: bytes, log: Mapping[int, bytes]) -> int:
    if log:
        return len(next(iter(log.values())))
    size = int.from_bytes(content[16:18], "big") if content.startswith(_MAGIC) else 0
    size = 65_536 if size == 1 else size
    return size if 512 <= size <= 65_536 and size & (size - 1) == 0 else DEFAULT_PAGE_BYTES


def _committed(log: bytes) -> dict[int, bytes]:
    """The pages of a write-ahead log up to its last commit whose checksums are right, by number."""
    if len(log) < _WAL_HEADER_BYTES:
        return {}
    magic, _, page_bytes, _, *salts = struct.unpack(">6I", log[:24])
    order = _WAL_MAGIC.get(magic)
    if order is None or not 512 <= page_bytes <= 65_536:
        return {}
    sums = _checksum(order, log[:24], (0, 0))
    if sums != struct.unpack(">2I", log[24:32]):
        return {}
    pages: dict[int, bytes] = {}
    uncommitted: dict[int, bytes] = {}
    step = _FRAME_HEADER_BYTES + page_bytes
    for at in range(_WAL_HEADER_BYTES, len(log) - step + 1, step):
        number, size, *frame_salts, first, second = struct.unpack(">6I", log[at : at + _FRAME_HEADER_BYTES])
        page = log[at + _FRAME_HEADER_BYTES : at + step]
        sums = _checksum(order, page, _checksum(order, log[at : at + 8], sums))
        if frame_salts != salts or sums != (first, second):
            break
        uncommitted[number] = page
        if size:  # the database's number of pages, which only the last frame of a transaction has
            pages |= uncommitted
            pages = {number: page for number, page in pages.items() if number <= size}
            uncommitted = {}
    return pages


def _checksum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    for even, odd in struct.iter_unpack(f"{order}2I", data):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends.

    Raises:
        IndexError: The data ends first.
    """
    value = 0
    for place in range(8):
        byte = data[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | data[at + 8], at + 9


def _record(payload: bytes) -> tuple[int | float | bytes | None, ...] | None:
    """The values of a record; None if its header and its length do not agree.

    Raises:
        IndexError: The header ends too early.
    """
    header_bytes, at = _varint(payload, 0)
    if header_bytes > len(payload):
        return None
    kinds: list[int] = []
    while at < header_bytes:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values: list[int | float | bytes | None] = []
    for kind in kinds:
        if kind >= 12:
            size = (kind - 12) // 2
            data = payload[at : at + size]
            values.append(Text(data) if kind % 2 else data)
        elif kind in _INTEGER_BYTES:
            size = _INTEGER_BYTES[kind]
            values.append(int.from_bytes(payload[at : at + size], "big", signed=True))
        elif kind == 7:
            size = 8
            values.append(struct.unpack(">d", payload[at : at + 8])[0])
        elif kind in (0, 8, 9):
            size = 0
            values.append({0: None, 8: 0, 9: 1}[kind])
        else:
            return None
        at += size
    return tuple(values) if at == len(payload) else None
