"""Archived texts: a zstd frame each, with a dictionary that is trained on the person's own texts.

A frame of its own lets a message be read, restored and erased without touching another one; the dictionary makes up for
what such a short frame loses against a long one. zstd writes the number of the dictionary into each frame, and takes
that number from the dictionary's content, so that one number never stands for two dictionaries.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

import zstandard

from appliance.errors import StoreCorrupt

LEVEL = 12
"""zstd's level: 19 saves another percent of chat messages and takes five times as long."""

MAX_DICTIONARY_BYTES = 112 * 1024
"""zstd's own default; a larger dictionary saves little more, and each connection that reads archived texts holds it."""

MIN_DICTIONARY_BYTES = 1024

SAMPLE_BYTES_PER_DICTIONARY_BYTE = 20
"""zstd asks for samples of ten to a hundred times the size of the dictionary."""

MIN_SAMPLES = 100

UNREADABLE = "\N{REPLACEMENT CHARACTER}"
"""What is read in place of a damaged frame's text, so that one damaged text does not end a search or an export.
``verify`` names its message."""


class FrameDamaged(ValueError):
    """A frame does not have its text any more, or its dictionary is missing."""


class FrameWriter:
    """Compresses texts with one dictionary, or without."""

    def __init__(self, dictionary: bytes | None) -> None:
        trained = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        self._compressor = zstandard.ZstdCompressor(LEVEL, trained, write_checksum=True, write_content_size=True)

    def pack(self, text: str) -> bytes:
        """Return the frame of a text."""
        return self._compressor.compress(text.encode("utf-8", "surrogatepass"))


class FrameReader:
    """Reads frames for one connection. ``find_dictionary`` returns the dictionary with a number, or None."""

    def __init__(self, find_dictionary: Callable[[int], bytes | None]) -> None:
        self._find_dictionary = find_dictionary
        self._decompressors: dict[int, zstandard.ZstdDecompressor] = {0: zstandard.ZstdDecompressor()}

    def unpack(self, frame: bytes) -> str:
        """Return the text of a frame.

        Raises:
            FrameDamaged: The frame is damaged, or its dictionary is missing.
        """
        try:
            number = zstandard.get_frame_parameters(frame).dict_id
            return self._decompressor(number).decompress(frame).decode("utf-8", "surrogatepass")
        except (zstandard.ZstdError, UnicodeDecodeError) as error:
            raise FrameDamaged("The archived text is damaged.") from error

    def unpack_or_mark(self, frame: bytes) -> str:
        """Return the text of a frame, or ``UNREADABLE`` if it is damaged."""
        try:
            return self.unpack(frame)
        except FrameDamaged:
            return UNREADABLE

    def _decompressor(self, number: int) -> zstandard.ZstdDecompressor:
        if number not in self._decompressors:
            dictionary = self._find_dictionary(number)
            if dictionary is None:
                raise FrameDamaged(f"The dictionary {number} of an archived text is missing.")
            self._decompressors[number] = zstandard.ZstdDecompressor(zstandard.ZstdCompressionDict(dictionary))
        return self._decompressors[number]


def register(connection: sqlite3.Connection) -> None:
    """Give a connection the function ``unpack``, through which ``message.text`` reads archived texts."""
    connection.create_function("unpack", 1, reader_of(connection).unpack_or_mark, deterministic=True)


def reader_of(connection: sqlite3.Connection) -> FrameReader:
    """Return a reader with the dictionaries of a database. One on a damaged page counts as missing."""

    def find_dictionary(number: int) -> bytes | None:
        query = "SELECT content FROM archive_dictionary WHERE id = ?"
        try:
            row = connection.execute(query, (number,)).fetchone()
        except StoreCorrupt:
            return None
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
                raise
            return None
        return row[0] if row else None

    return FrameReader(find_dictionary)


def train(samples: Sequence[str]) -> tuple[int, bytes] | None:
    """Train a dictionary on texts; returns its number and its content, or None if there is too little text."""
    encoded: list[bytes | bytearray | memoryview] = [
        data for sample in samples if len(data := sample.encode("utf-8", "surrogatepass")) >= 8
    ]
    size = min(MAX_DICTIONARY_BYTES, sum(map(len, encoded)) // SAMPLE_BYTES_PER_DICTIONARY_BYTE)
    if len(encoded) < MIN_SAMPLES or size < MIN_DICTIONARY_BYTES:
        return None
    try:
        trained = zstandard.train_dictionary(size, encoded, level=LEVEL)
    except zstandard.ZstdError:  # the samples have nothing in common
        return None
    return trained.dict_id(), trained.as_bytes()
