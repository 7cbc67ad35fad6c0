"""Searches files for many texts at once (Aho-Corasick): in UTF-8 and UTF-16, as JSON escapes them, and inside
compressed frames.

Only what a file holds is read: the files of the index are mostly holes. A file that disappears holds nothing, because
the index and the database replace their files while they work.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import ahocorasick_rs
import zstandard

from appliance.store.shared_files import descriptor_of

BLOCK_BYTES = 1 << 20

MAX_FRAME_BYTES = 256 << 20
"""Bytes that are searched of one compressed frame: a crafted one could hold any number."""

_FIRST_READ_BYTES = 4096
"""Most of what begins like a frame is none, and a decoder sees it in its first bytes."""

_ZIP_HEADER_BYTES = 30
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_FRAME_STARTS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"\x1f\x8b\x08": "gzip",
    b"\x78\x01": "zlib",
    b"\x78\x5e": "zlib",
    b"\x78\x9c": "zlib",
    b"\x78\xda": "zlib",
}
"""How compressed frames, and entries of zip files, begin."""

_FRAME_KINDS = tuple(_FRAME_STARTS.values())
_FRAME_FINDER = ahocorasick_rs.BytesAhoCorasick(list(_FRAME_STARTS))
_MAX_FRAME_START_BYTES = max(map(len, _FRAME_STARTS))
_ZIP_DEFLATE = b"\x08\x00"


class TextFinder:
    """Finds which of many texts occur in bytes, in any of the forms in which a file may hold them."""

    def __init__(self, texts: Iterable[str]) -> None:
        forms = {form: text for text in texts for form in _forms(text)}
        self._texts = list(forms.values())
        self._automaton = ahocorasick_rs.BytesAhoCorasick(list(forms))
        self.overlap = max(map(len, forms), default=1) - 1
        """Bytes that two blocks must share, so that no text is cut."""

    def find(self, data: bytes) -> Iterator[str]:
        """Yield the texts that occur in ``data``, some of them repeatedly."""
        for number, _, _ in self._automaton.find_matches_as_indexes(data, overlapping=True):
            yield self._texts[number]

    def find_in_blocks(self, blocks: Iterable[bytes]) -> Iterator[str]:
        """Yield the texts that occur in data which comes in blocks."""
        tail = b""
        for block in blocks:
            data = tail + block
            yield from self.find(data)
            tail = data[-self.overlap :] if self.overlap else b""


def _forms(text: str) -> set[bytes]:
    escaped = (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    return {
        text.encode("utf-16-le", "surrogatepass"),
        text.encode("utf-16-be", "surrogatepass"),
        *(form.encode("utf-8", "surrogatepass") for form in (text, *escaped)),
    }


def data_bytes(path: Path) -> int:
    """Return how many bytes of a file hold data; 0 if it has gone."""
    with suppress(FileNotFoundError), descriptor_of(path) as descriptor:
        return sum(end - start for start, end in _extents(descriptor))
    return 0


def find_in_file(path: Path, finder: TextFinder) -> tuple[set[str], int]:
    """Return the texts that a file holds, and how many compressed frames in it were read to their end."""
    found: set[str] = set()
    frames = 0
    with suppress(FileNotFoundError), descriptor_of(path) as descriptor:
        for start, end in _extents(descriptor):
            found.update(finder.find_in_blocks(_blocks(descriptor, start, end)))
            for at, kind in _frame_starts(descriptor, start, end):
                contents, ended = _FrameContents(descriptor, at, kind), False
                with suppress(zlib.error, zstandard.ZstdError):
                    found.update(finder.find_in_blocks(contents))
                    ended = contents.ended
                frames += ended
    return found, frames


def _extents(descriptor: int) -> Iterator[tuple[int, int]]:
    """The parts of a file that hold data."""
    size = os.fstat(descriptor).st_size
    if not hasattr(os, "SEEK_DATA"):
        yield 0, size
        return
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
        except OSError:  # nothing but a hole is left
            return
        yield start, end


def _blocks(descriptor: int, start: int, end: int) -> Iterator[bytes]:
    while start < end and (block := os.pread(descriptor, min(BLOCK_BYTES, end - start), start)):
        yield block
        start += len(block)


def _frame_starts(descriptor: int, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Where a compressed frame may begin, and of what kind it would be."""
    at, tail = start, b""
    for block in _blocks(descriptor, start, end):
        data = tail + block
        # A start that was cut at the end of a block is seen whole in the next one, and none is seen twice.
        for number, begin, stop in _FRAME_FINDER.find_matches_as_indexes(data):
            if stop > len(tail):
                yield at - len(tail) + begin, _FRAME_KINDS[number]
        at += len(block)
        tail = data[1 - _MAX_FRAME_START_BYTES :]


class _FrameContents:
    """Yields what a compressed frame holds. ``ended`` says whether it was read to its end.

    Raises while iterating:
        zlib.error, zstandard.ZstdError: It is damaged, or no frame at all.
    """

    def __init__(self, descriptor: int, at: int, kind: str) -> None:
        self.ended = False
        self._descriptor = descriptor
        self._at = at
        self._kind = kind

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for content in self._zstd() if self._kind == "zstd" else self._inflated():
            yield content
            size += len(content)
            if size > MAX_FRAME_BYTES:
                self.ended = False
                return

    def _zstd(self) -> Iterator[bytes]:
        # A decoder of zstd returns all that its input gives: of so few bytes at most 128 MB.
        decoder, at = zstandard.ZstdDecompressor().decompressobj(), self._at
        while not decoder.eof and (data := os.pread(self._descriptor, _FIRST_READ_BYTES, at)):
            yield decoder.decompress(data)
            at += len(data)
        self.ended = decoder.eof

    def _inflated(self) -> Iterator[bytes]:
        decoder, at, size = zlib.decompressobj(_GZIP_OR_ZLIB), self._at, _FIRST_READ_BYTES
        if self._kind == "zip":
            header = os.pread(self._descriptor, _ZIP_HEADER_BYTES, at)
            if header[8:10] != _ZIP_DEFLATE:
                return
            at += _ZIP_HEADER_BYTES + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
            decoder = zlib.decompressobj(-zlib.MAX_WBITS)
        data = b""
        while not decoder.eof:
            if not data:
                data = os.pread(self._descriptor, size, at)
                at, size = at + len(data), min(2 * size, BLOCK_BYTES)
            content = decoder.decompress(data, BLOCK_BYTES)
            if not data and not content:  # the file ends within the frame
                return
            yield content
            data = decoder.unconsumed_tail
        self.ended = True
