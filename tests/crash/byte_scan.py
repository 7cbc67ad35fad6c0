"""Looks for words in the files of a home with code of its own: as UTF-8 and UTF-16, in compressed frames, in columns
of databases, and among the terms of the full text, which stores only what differs from the term before."""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import zstandard
from ahocorasick_rs import BytesAhoCorasick

ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
ZLIB_STREAMS = (b"\x78\x01", b"\x78\x9c", b"\x78\xda")
MAX_UNPACKED_BYTES = 1 << 26
CODINGS = ("utf-8", "utf-16-le", "utf-16-be")

Dictionaries = dict[int, zstandard.ZstdCompressionDict]


def traces(folder: Path, words: Sequence[str]) -> list[tuple[str, str]]:
    """The places that hold words, in the contents or the names of files, each with the word, in lower case."""
    patterns = [(word, word.encode(coding)) for word in words for coding in CODINGS]
    if not patterns:
        return []
    automaton = BytesAhoCorasick([coded for _, coded in patterns])
    dictionaries = _dictionaries(folder / "recall.db")
    return sorted(
        {
            (place, patterns[number][0])
            for path in folder.rglob("*")
            if path.is_file()
            for place, data in _contents(path, str(path.relative_to(folder)), dictionaries)
            for number, _, _ in automaton.find_matches_as_indexes(data.lower())
        }
    )


def _contents(path: Path, name: str, dictionaries: Dictionaries) -> Iterator[tuple[str, bytes]]:
    """What a file holds, in parts, each with its place."""
    yield f"the name of {name}", name.encode()
    for data in _extents(path):
        yield name, data
        yield from ((f"a frame in {name}", content) for content in _unpacked(data, dictionaries))
    if path.name == "recall.db":
        for table, value in _values(path):
            yield f"table {table}", value
            yield from ((f"a frame in table {table}", content) for content in _unpacked(value, dictionaries))
        yield from (("full text", term) for term in _full_text_terms(path))


def _extents(path: Path) -> Iterator[bytes]:
    """What a file holds, without its holes."""
    with path.open("rb") as file:
        size, end = os.fstat(file.fileno()).st_size, 0
        while end < size:
            try:
                start = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError:  # only a hole is left
                return
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            yield os.pread(file.fileno(), end - start, start)


def _unpacked(data: bytes, dictionaries: Dictionaries) -> Iterator[bytes]:
    at = data.find(ZSTD_FRAME)
    while at >= 0:
        yield _unzstd(data[at:], dictionaries)
        at = data.find(ZSTD_FRAME, at + 1)
    for magic in ZLIB_STREAMS:
        at = data.find(magic)
        while at >= 0:
            yield _unzlib(data[at:])
            at = data.find(magic, at + 1)


def _unzstd(data: bytes, dictionaries: Dictionaries) -> bytes:
    try:
        dictionary = dictionaries.get(zstandard.get_frame_parameters(data).dict_id)
        return zstandard.ZstdDecompressor(dictionary).decompressobj().decompress(data)
    except zstandard.ZstdError:
        return b""


def _unzlib(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, MAX_UNPACKED_BYTES)
    except zlib.error:
        return b""


def _read(path: Path, sql: str) -> list[tuple[bytes, ...]]:
    """Rows of a database as they stand in the file, texts as bytes."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.text_factory = bytes
    connection.create_function("unpack", 1, lambda frame: frame, deterministic=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def _tables(path: Path) -> list[str]:
    names = _read(path, "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
    return [name.decode() for (name,) in names]


def _dictionaries(path: Path) -> Dictionaries:
    if not path.exists():
        return {}
    found = [
        zstandard.ZstdCompressionDict(content) for (content,) in _read(path, "SELECT content FROM archive_dictionary")
    ]
    return {one.dict_id(): one for one in found}


def _values(path: Path) -> Iterator[tuple[str, bytes]]:
    for table in _tables(path):
        for row in _read(path, f'SELECT * FROM "{table}"'):
            yield from ((table, value) for value in row if isinstance(value, bytes))


# --- the terms of FTS5: https://sqlite.org/fts5.html, and the head of fts5_index.c --------------------------------

FIRST_LEAF = 11
"""Rows before it hold averages and the structure."""
IS_INDEX_OF_ROWS = 1 << 36


def _full_text_terms(path: Path) -> Iterator[bytes]:
    for table in _tables(path):
        if table.endswith("_fts_data"):
            for key, page in _read(path, f'SELECT id, block FROM "{table}" WHERE id >= {FIRST_LEAF}'):
                if not int(key) & IS_INDEX_OF_ROWS:
                    yield from _terms(page)


def _terms(page: bytes) -> Iterator[bytes]:
    """The terms on a leaf. Its end lists where they stand; each says how many bytes it shares with the one before."""
    at = int.from_bytes(page[2:4], "big")
    place, term = 0, b""
    while at < len(page):
        step, at = _varint(page, at)
        shared, start = (0, place + step) if not place else _varint(page, place + step)
        size, start = _varint(page, start)
        term = term[:shared] + page[start : start + size]
        place += step
        yield term


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for count in range(9):
        byte = data[at + count]
        if count == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            return value, at + count + 1
    raise AssertionError
