"""From bytes to text: encodings, lines, and characters that can't be stored.

An encoding is decided for a whole file: a byte-order mark first, then UTF-8; a file in which more
bytes break UTF-8 than make it up is taken as Windows-1252. Bytes that fit nowhere become U+FFFD, and
whoever reads is told.
"""

from __future__ import annotations

import codecs
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Literal, cast

from appliance.ingest.parse.base import Document

Encoding = Literal["utf-8", "cp1252", "utf-16-le", "utf-16-be"]

# What reading a file or a zip member can raise half-way.
READ_ERRORS = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError)

CHUNK = 1 << 18

_MARKS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_NON_ASCII = re.compile("[^\x00-\x7f]")


def read_some(stream: BinaryIO, size: int) -> bytes:
    """At most ``size`` bytes, whatever is there first: an error must not cost what was read before it."""
    read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
    return read(size)


class Utf8Stream(io.RawIOBase):
    """The bytes of a document as UTF-8, without a byte-order mark.

    UTF-16 is recoded on the way. An error while reading ends the stream and is kept in ``failure``,
    so that what was read before it is still used; ``shift`` is the length of a skipped UTF-8 mark.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._recode: codecs.IncrementalDecoder | None = None
        self._pending = b""
        self._ended = False
        self.failure: Exception | None = None
        self.shift = 0
        head = self._pull(4)
        for mark, encoding in _MARKS:
            if head.startswith(mark):
                head = head[len(mark) :]
                if encoding == "utf-8":
                    self.shift = len(mark)
                else:
                    self._recode = codecs.getincrementaldecoder(encoding)("surrogatepass")
                break
        self._pending = self._converted(head)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        while not self._pending and not self._ended:
            self._pending = self._converted(self._pull(max(len(view), CHUNK)))
        taken = self._pending[: len(view)]
        self._pending = self._pending[len(taken) :]
        view[: len(taken)] = taken
        return len(taken)

    def _pull(self, size: int) -> bytes:
        try:
            data = read_some(self._source, size)
        except READ_ERRORS as error:
            self.failure = error
            data = b""
        if not data:
            self._ended = True
        return data

    def _converted(self, data: bytes) -> bytes:
        if self._recode is None:
            return data
        try:
            text = self._recode.decode(data, final=self._ended)
        except UnicodeDecodeError:
            # Half a character at the end: a byte that is never UTF-8, so that whoever decodes reports it.
            return b"\xff"
        return text.encode("utf-8", "surrogatepass")


@contextmanager
def utf8(document: Document) -> Iterator[tuple[BinaryIO, Utf8Stream]]:
    """A buffered stream over a document's bytes as UTF-8, and the raw stream that knows of failures.

    Raises whatever opening raises (``READ_ERRORS``)."""
    with document.open() as source:
        raw = Utf8Stream(source)
        with io.BufferedReader(raw, CHUNK) as stream:
            yield cast(BinaryIO, stream), raw


def encoding_of(document: Document) -> Encoding:
    """The encoding of a document's bytes after ``Utf8Stream``: "utf-8" or "cp1252".

    Reads the whole document, once, in chunks."""
    valid = broken = 0
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    with utf8(document) as (stream, _):
        ended = False
        while not ended:
            chunk = stream.read(CHUNK)
            ended = not chunk
            text = decoder.decode(chunk, final=ended)
            if text.isascii():
                continue
            bad = len(_ESCAPED_BYTE.findall(text))
            broken += bad
            valid += len(_NON_ASCII.findall(text)) - bad
    return "cp1252" if broken > valid else "utf-8"


def decoded(data: bytes, encoding: Encoding) -> tuple[str, bool]:
    """The text of ``data``, and whether every byte of it could be read."""
    if encoding == "cp1252":
        try:
            return data.decode("cp1252"), True
        except UnicodeDecodeError:
            # The five bytes that Windows-1252 leaves open are control characters in Latin-1.
            return "".join(_one_byte(byte) for byte in data), True
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), False


def without_surrogates(text: str) -> str:
    """``text`` with U+FFFD for every lone surrogate: no store takes those."""
    return _SURROGATE.sub("\ufffd", text)


def has_surrogates(text: str) -> bool:
    return _SURROGATE.search(text) is not None


def _one_byte(byte: int) -> str:
    try:
        return bytes((byte,)).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)
