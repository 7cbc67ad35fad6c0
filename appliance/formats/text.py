"""From bytes to text: encodings, and characters that can't be stored.

A file has one encoding: that of its byte-order mark, or UTF-16 or UTF-32 if its first characters show it, else UTF-8,
or Windows-1252 if more bytes violate UTF-8 than form its characters. Other undecodable bytes become U+FFFD, and the
parser reports them.
"""

from __future__ import annotations

import codecs
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import BinaryIO, Literal, cast

from appliance.formats.base import Document

Encoding = Literal["utf-8", "cp1252", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]

# The errors of reading a file or a zip member, which may also occur half-way.
READ_ERRORS = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError)

CHUNK_BYTES = 1 << 18

_MARKS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    # The mark of UTF-32 begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
MARK_BYTES = 4
"""The bytes at the beginning of a file that show its encoding."""

# Which of the first four bytes are zero, where two or one characters of ASCII begin the file.
_ZEROS: dict[tuple[bool, ...], Encoding] = {
    (False, True, False, True): "utf-16-le",
    (True, False, True, False): "utf-16-be",
    (False, True, True, True): "utf-32-le",
    (True, True, True, False): "utf-32-be",
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_NON_ASCII = re.compile("[^\x00-\x7f]")
# Windows-1252 with the five bytes that it leaves undefined as control characters, as in Latin-1.
_CP1252 = {byte: bytes((byte,)).decode("cp1252", "ignore") or chr(byte) for byte in range(256)}


def read_some(stream: BinaryIO, size: int) -> bytes:
    """At most ``size`` bytes, as soon as some are available, so that a later error doesn't lose them."""
    read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
    return read(size)


def encoding_of_start(head: bytes) -> tuple[Encoding, int]:
    """The encoding that the first ``MARK_BYTES`` bytes of a file show, and the length of its byte-order mark.

    "utf-8" stands for every encoding whose ASCII characters are single bytes."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding, len(mark)
    return _ZEROS.get(tuple(byte == 0 for byte in head), "utf-8"), 0


class Utf8Stream(io.RawIOBase):
    """The bytes of a document as UTF-8 without a byte-order mark; UTF-16 and UTF-32 are recoded.

    An error of reading ends the stream and is kept in ``failure``, so that the data before it is still used.
    ``shift`` is the length of a skipped UTF-8 mark.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._recode: codecs.IncrementalDecoder | None = None
        self._pending = b""
        self._ended = False
        self.failure: Exception | None = None
        self.shift = 0
        head = b""
        while len(head) < MARK_BYTES and (more := self._read_source(MARK_BYTES - len(head))):
            head += more
        self._encoding, length = encoding_of_start(head)
        if self._encoding == "utf-8":
            self.shift = length
        else:
            self._recode = codecs.getincrementaldecoder(self._encoding)("surrogatepass")
        self._pending = self._converted(head[length:])

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        while not self._pending and not self._ended:
            self._pending = self._converted(self._read_source(max(len(view), CHUNK_BYTES)))
        data, self._pending = self._pending[: len(view)], self._pending[len(view) :]
        view[: len(data)] = data
        return len(data)

    def _read_source(self, size: int) -> bytes:
        try:
            data = read_some(self._source, size)
        except READ_ERRORS as error:
            self.failure = error
            data = b""
        self._ended = self._ended or not data
        return data

    def _converted(self, data: bytes) -> bytes:
        if self._recode is None:
            return data
        try:
            return self._recode.decode(data, final=self._ended).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            # A byte that is never valid UTF-8 shows the reader that characters were lost: half a one at the end, or
            # some that UTF-32 doesn't have.
            self._recode.reset()
            text = "" if self._ended else data.decode(self._encoding, "replace")
            return b"\xff" + text.encode("utf-8")


@contextmanager
def utf8(document: Document) -> Iterator[tuple[BinaryIO, Utf8Stream]]:
    """A buffered stream of a document's bytes as UTF-8, and the raw stream below it with its ``failure``.

    Raises: The errors of opening the document (``READ_ERRORS``)."""
    with document.open() as source:
        raw = Utf8Stream(source)
        with io.BufferedReader(raw, CHUNK_BYTES) as stream:
            yield cast(BinaryIO, stream), raw


def encoding_of(document: Document) -> Encoding:
    """The encoding of a document's bytes after ``Utf8Stream``: "utf-8" or "cp1252". Reads the whole document."""
    with utf8(document) as (stream, _):
        return _encoding_of_chunks(iter(partial(stream.read, CHUNK_BYTES), b""))


def _encoding_of_chunks(chunks: Iterable[bytes]) -> Encoding:
    valid = broken = 0
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for chunk in chain(chunks, (b"",)):
        ended = not chunk
        # The file may be cut off within a character; a single byte may as well be one of cp1252.
        cut_off = ended and len(decoder.getstate()[0]) > 1
        valid += cut_off
        text = decoder.decode(chunk, final=ended and not cut_off)
        if not text.isascii():
            count = len(_ESCAPED_BYTE.findall(text))
            broken += count
            valid += len(_NON_ASCII.findall(text)) - count
    return "cp1252" if broken > valid else "utf-8"


def text_of_start(data: bytes) -> str:
    """The first bytes of a file as text, as far as they can be decoded: as a parser decodes the file, if they tell."""
    encoding, length = encoding_of_start(data[:MARK_BYTES])
    data = data[length:]
    # What has zeros is no text of single bytes.
    if encoding == "utf-8" and b"\0" not in data and _encoding_of_chunks([data]) == "cp1252":
        return decoded(data, "cp1252")[0]
    return data.decode(encoding, "replace")


def decoded(data: bytes, encoding: Encoding) -> tuple[str, bool]:
    """The text of ``data``, and whether every byte was decodable."""
    if encoding == "cp1252":
        try:
            return data.decode("cp1252"), True
        except UnicodeDecodeError:
            return "".join(map(_CP1252.__getitem__, data)), True
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), False


def without_surrogates(text: str) -> str:
    """``text`` with U+FFFD for every lone surrogate, which no store accepts."""
    return _SURROGATE.sub("\ufffd", text)


def has_surrogates(text: str) -> bool:
    return _SURROGATE.search(text) is not None
