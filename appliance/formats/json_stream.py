"""JSON files record by record: an array, objects one after the other, or one object a line.

Only one record is in memory at a time, whatever the file's size. The undamaged parts of a record that can't be
decoded are salvaged, and reading continues where the next record begins.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from appliance.formats import text as texts
from appliance.formats.base import Document
from appliance.formats.json_scanner import KeyPairs, RecordBytes, RecordScanner, decoding_cost, first_key
from appliance.formats.salvage import MAX_DEPTH, salvage
from appliance.types import InputProblem

# Salvaging is slow; the rest of a damaged record beyond this is given up.
_MAX_SALVAGE_BYTES = 32 << 20
# What a record of a zip may take in memory, about: a small zip can hold one of very many values, which take ten times
# their bytes. The largest conversations take a tenth of this.
MAX_ZIPPED_RECORD_COST = 512 << 20
# Shorter records are not looked at.
_ALWAYS_DECODED_BYTES = 16 << 20
# No message is this long; a file without line ends must not fill the memory.
_MAX_LINE_BYTES = 64 << 20
_EXCERPT_CHARACTERS = 40
# A log's first lines show what it is; the others are alike.
_PREVIEW_LINES = 40

_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[^u])", re.DOTALL)

_SURROGATE_NOTE = "half characters (lone surrogates) were replaced by U+FFFD"

DAMAGED: Any = object()

_OPEN_OBJECT, _CLOSE_OBJECT, _CLOSE_LIST = b"{}]"


@dataclass(frozen=True, slots=True)
class JsonRecord:
    """One record. ``number`` and ``line`` count from 1."""

    data: Any
    number: int
    line: int


def records(
    document: Document, first_keys: KeyPairs = (), *, within: str | None = None, max_depth: int = MAX_DEPTH
) -> Iterator[JsonRecord | InputProblem]:
    """The records of a JSON document in the order of the file, with a problem for each damage.

    The elements of a top-level array are records; so are top-level values that follow each other.

    Args:
        first_keys: pairs of keys with which records of the format usually begin; they show where the next record
            begins if the first one is damaged.
        within: the key of a list. If the document is an object that has it near its beginning, the list's
            elements are the records.
        max_depth: how deep a record may nest; more than usual for formats that nest each message in the one before
            it. The caller must then walk a record without recursion.
    """
    decoder = _RecordDecoder(document, max_depth)
    number = last_line = 0
    has_line_each = False
    try:
        with texts.utf8(document) as (stream, raw):
            scanner = RecordScanner(stream, first_keys, _decode_whole, _max_cost(document))
            if within is not None:
                scanner.enter(within)
            while (piece := scanner.next()) is not None:
                where = f"line {piece.line}, byte {piece.offset + raw.shift}"
                begins_line, last_line = piece.line > last_line, scanner.line
                if piece.stray:
                    if begins_line and (taken := scanner.take_line(piece, known=has_line_each)):
                        piece = taken
                    last_line = scanner.line
                    yield InputProblem(where, f"{_excerpt(piece.data)} is not a record; skipped")
                    continue
                number += 1
                if piece.too_large:
                    yield _too_large("record", where)
                    continue
                value, problems, whole = decoder.value(scanner, piece, where, has_line_each if begins_line else None)
                if whole:
                    has_line_each = begins_line and scanner.line == piece.line
                    scanner.learn(piece.data)
                line, last_line = piece.line, scanner.line
                del piece  # its bytes need not wait for the reader
                yield from problems
                yield JsonRecord(value, number, line)
            if raw.failure is not None:
                yield InputProblem(f"after line {scanner.line}", f"reading stopped: {error_text(raw.failure)}")
    except texts.READ_ERRORS as error:
        yield InputProblem("", f"can't be read: {error_text(error)}")


def first_object(document: Document | None, max_bytes: float = math.inf) -> dict[str, Any]:
    """The object at the beginning of a document; an empty one if there is no document or object, or it is too large."""
    if document is None or document.size > max_bytes:
        return {}
    value = next((record.data for record in records(document) if isinstance(record, JsonRecord)), None)
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True)
class JsonPart:
    """One value of a document that is read in parts. ``path`` leads to it: the number of the top-level
    value, then keys and indexes of lists, all counted from 0."""

    path: tuple[str | int, ...]
    data: Any
    line: int

    @property
    def shape(self) -> tuple[str, ...]:
        """The path without numbers: keys, and "*" for an index of a list."""
        return _shape(self.path)


def parts(
    document: Document, opened: Collection[tuple[str, ...]], first_keys: KeyPairs = ()
) -> Iterator[JsonPart | InputProblem]:
    """The values of a JSON document whose one object is larger than memory, in the order of the file.

    Damage costs the value that it is in, and is reported.

    Args:
        opened: the shapes of the containers, besides the top-level one, that are split into their members and are no
            parts themselves: ``("messages",)`` yields each message and every other member of the object whole.
        first_keys: as in ``records``, for the elements of lists.
    """
    decoder = _RecordDecoder(document)
    open_at: list[_OpenContainer] = []
    number = 0
    damaged = False
    try:
        with texts.utf8(document) as (stream, raw):
            scanner = RecordScanner(stream, first_keys, max_cost=_max_cost(document))
            while (byte := scanner.peek()) is not None:
                if byte in b"]}":
                    # A closing bracket without its opening one is skipped; it also closes containers that lost theirs.
                    at = next((n for n, o in enumerate(reversed(open_at)) if o.closing_byte == byte), None)
                    if at is not None:
                        del open_at[len(open_at) - at - 1 :]
                    scanner.step()
                    continue
                if damaged and byte == _OPEN_OBJECT and open_at:
                    damaged = False
                    _resynchronize_level(open_at, first_key(scanner.lookahead()))
                key = scanner.key() if open_at and open_at[-1].closing_byte == _CLOSE_OBJECT else None
                if not open_at:
                    path: tuple[str | int, ...] = (number,)
                elif open_at[-1].closing_byte == _CLOSE_OBJECT:
                    name = _decode_plain(key) if key else None
                    path = (*open_at[-1].path, name if isinstance(name, str) else "")
                    open_at[-1].first_key = open_at[-1].first_key or key
                else:
                    path = (*open_at[-1].path, open_at[-1].count)
                    open_at[-1].count += 1
                byte = scanner.peek()
                if byte is None:
                    break
                shape = _shape(path)
                if byte in b"{[" and (shape in opened or not shape):
                    number += not open_at
                    open_at.append(_OpenContainer(path, _CLOSE_OBJECT if byte == _OPEN_OBJECT else _CLOSE_LIST))
                    scanner.step()
                    continue
                piece = scanner.value()
                where = f"line {piece.line}, byte {piece.offset + raw.shift}"
                if piece.stray or not open_at or (key is None and open_at[-1].closing_byte == _CLOSE_OBJECT):
                    yield InputProblem(where, f"unexpected {_excerpt(piece.data)}; skipped")
                    number += not open_at
                    damaged = True
                    continue
                if piece.too_large:
                    yield _too_large("value", where)
                    continue
                value, problems, whole = decoder.value(scanner, piece, where)
                yield from problems
                damaged = damaged or not whole
                if whole and isinstance(path[-1], int):
                    scanner.learn(piece.data, first_keys)
                    open_at[-1].first_key = open_at[-1].first_key or first_key(piece.data)
                yield JsonPart(path, value, piece.line)
            if raw.failure is not None:
                yield InputProblem(f"after line {scanner.line}", f"reading stopped: {error_text(raw.failure)}")
            elif open_at and not damaged:
                yield InputProblem(f"line {scanner.line}", "the file is cut off in this line, its last one")
    except texts.READ_ERRORS as error:
        yield InputProblem("", f"can't be read: {error_text(error)}")


@dataclass(slots=True)
class _OpenContainer:
    """A container that is being split. ``count`` is the number of values so far; ``first_key`` is that of a list's
    first element."""

    path: tuple[str | int, ...]
    closing_byte: int
    count: int = 0
    first_key: bytes | None = None


def _shape(path: tuple[str | int, ...]) -> tuple[str, ...]:
    return tuple(part if isinstance(part, str) else "*" for part in path[1:])


def _resynchronize_level(open_at: list[_OpenContainer], first: bytes | None) -> None:
    """Close containers whose closing brackets were lost to damage: an object that begins like an open element of a
    list is the next element of that list."""
    if open_at[-1].first_key == first:
        return
    for level in range(1, len(open_at)):
        if open_at[level].first_key == first is not None and open_at[level - 1].closing_byte == _CLOSE_LIST:
            del open_at[level:]
            return


def lines(document: Document, *, blank: bool = False) -> Iterator[tuple[int, bytes] | InputProblem]:
    """The lines of a document as UTF-8 bytes with their ends, numbered from 1.

    Only line feeds end a line. Blank lines are left out unless ``blank`` is set."""
    max_cost = _max_cost(document)
    try:
        with texts.utf8(document) as (stream, raw):
            number = 0
            while line := stream.readline(_MAX_LINE_BYTES):
                number += 1
                if len(line) == _MAX_LINE_BYTES:
                    yield InputProblem(f"line {number}", "the line is too long to be a message and was left out")
                    while len(stream.readline(_MAX_LINE_BYTES)) == _MAX_LINE_BYTES:
                        pass
                elif len(line) > _ALWAYS_DECODED_BYTES and decoding_cost(line) > max_cost:
                    yield _too_large("line", f"line {number}")
                elif blank or not line.isspace():
                    yield number, line
            if raw.failure is not None:
                yield InputProblem(f"after line {number}", f"reading stopped: {error_text(raw.failure)}")
    except texts.READ_ERRORS as error:
        yield InputProblem("", f"can't be read: {error_text(error)}")


def decode(
    data: bytes, where: str, encoding: texts.Encoding = "utf-8", max_depth: int = MAX_DEPTH
) -> tuple[Any, list[InputProblem]]:
    """The value of one record and notes on it; ``DAMAGED`` if it is not JSON.

    Accepts what decoders differ about: NaN and Infinity (become None), control characters and lone surrogates
    (U+FFFD) in strings, bytes of another encoding, nesting beyond ``max_depth`` (None below it)."""
    value = _decode_plain(data)
    if value is not DAMAGED and not _too_deep(data, value, max_depth):
        return value, []
    text, readable = texts.decoded(data, encoding)
    problems: list[InputProblem] = []
    if not readable:
        problems.append(InputProblem(where, "bytes that are not UTF-8 were replaced by U+FFFD"))
    elif encoding == "cp1252" and not data.isascii():
        problems.append(InputProblem(where, "read as Windows-1252, as the file is not UTF-8", harmless=True))
    try:
        value = json.loads(text, strict=False)
    except RecursionError:
        value = salvage(text, max_depth)
    except ValueError:
        return DAMAGED, problems
    oddities: set[str] = set()
    value = _sanitize(value, oddities, max_depth)
    problems.extend(InputProblem(where, oddity, harmless=True) for oddity in sorted(oddities))
    return value, problems


def split_values(text: str) -> tuple[list[Any], str]:
    """The JSON values at the beginning of ``text``, and the error after the last one or ""."""
    decoder = json.JSONDecoder(strict=False)
    values: list[Any] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deep"
            return values, f"{reason} at character {at + 1}"
        values.append(_sanitize(value, set()))
    return values, ""


@lru_cache(maxsize=32)
def preview(head: str) -> tuple[Any, ...]:
    """The first records of a document, as far as its ``head`` shows them: the elements of a list, an object, or the
    objects on the first lines of a log."""
    text = head.lstrip("\ufeff \t\r\n")
    if not text.startswith(("[", "{")):
        return ()
    first, *rest = text.split("\n", _PREVIEW_LINES)[:_PREVIEW_LINES]
    # Objects within objects are indented, or close in another line.
    logged = tuple(value for line in rest if line.startswith("{") for value in split_values(line)[0])
    if first.startswith("{") and (values := split_values(first))[0] and not values[1]:
        return (*values[0], *logged)
    data = text.encode("utf-8", "replace")
    value = _decode_plain(data)
    if value is DAMAGED or _too_deep(data, value, MAX_DEPTH):
        value = salvage(_with_its_last_text(head))
    return tuple(value) if isinstance(value, list) else (value, *logged)


def _with_its_last_text(head: str) -> str:
    """The beginning of a document, with the text closed in which it ends: its first message may be longer."""
    plain = _ESCAPE.sub("", head)
    if plain.count('"') % 2 == 0:
        return head
    _, cut_escape, rest = plain[plain.rfind('"') :].rpartition("\\")
    return head[: len(head) - len(cut_escape + rest) if cut_escape else None] + '"'


def error_text(error: Exception) -> str:
    """The text of an error; the operating system's where it has one."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


@dataclass(slots=True)
class _RecordDecoder:
    """Decodes the records of a document, whose encoding is determined at the first one that isn't UTF-8."""

    document: Document
    max_depth: int = MAX_DEPTH
    encoding: texts.Encoding | None = None

    def value(
        self, scanner: RecordScanner, piece: RecordBytes, where: str, has_line_each: bool | None = None
    ) -> tuple[Any, list[InputProblem], bool]:
        """The value of a record, problems, and whether the plain decoder accepted it. ``has_line_each`` tells whether
        the record before had its line for itself; None where this one does not begin its line."""
        if piece.value is not None:
            return piece.value, [], True
        value = _decode_plain(piece.data) if piece.ended and piece.depth <= MAX_DEPTH else DAMAGED
        if value is not DAMAGED:
            return value, [], True
        if self.encoding is None and not is_utf8(piece.data):
            self.encoding = texts.encoding_of(self.document)
        encoding = self.encoding or "utf-8"
        value, problems = _decode_damaged(scanner, piece, where, encoding, self.max_depth, has_line_each)
        return value, problems, False


def _decode_damaged(
    scanner: RecordScanner,
    piece: RecordBytes,
    where: str,
    encoding: texts.Encoding,
    max_depth: int,
    has_line_each: bool | None,
) -> tuple[Any, list[InputProblem]]:
    """The value of a record that the plain decoder refuses: unusual, cut off, or broken inside."""
    problems: list[InputProblem] = []
    if piece.ended:
        value, problems = decode(piece.data, where, encoding, max_depth)
        if value is not DAMAGED:
            return value, problems
    line = None if has_line_each is None else scanner.take_line(piece, known=has_line_each)
    data = scanner.resynchronize(piece) if line is None else line.data
    text, _ = texts.decoded(data[:_MAX_SALVAGE_BYTES], encoding)
    if piece.ended or line is not None:
        what = "the record is not valid JSON"
    elif len(data) < len(piece.data):
        what = "the record is broken inside"
    else:
        end = piece.offset + len(piece.data)
        what = f"what begins here is cut off at the end of the file, after {end:,} byte{'' if end == 1 else 's'}"
    problems.append(InputProblem(where, f"{what}; its undamaged parts were kept"))
    return _sanitize(salvage(text, max_depth), set(), max_depth), problems


def _max_cost(document: Document) -> float:
    return math.inf if document.packed_size is None else MAX_ZIPPED_RECORD_COST


def _too_large(what: str, where: str) -> InputProblem:
    megabytes = MAX_ZIPPED_RECORD_COST >> 20
    return InputProblem(
        where,
        f"this {what} was not read: it would take over {megabytes:,} MB of memory, the limit within a zip. "
        "Unpack the zip and ingest the file if you know what it holds",
    )


def _decode_plain(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return DAMAGED


def _decode_whole(data: bytes) -> Any:
    value = _decode_plain(data)
    return value if isinstance(value, dict) and not _too_deep(data, value, MAX_DEPTH) else None


def _excerpt(data: bytes) -> str:
    text = data[: 4 * _EXCERPT_CHARACTERS].decode("utf-8", "replace").strip().replace("\n", " ")
    return repr(text if len(text) <= _EXCERPT_CHARACTERS else text[:_EXCERPT_CHARACTERS] + "…")


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are valid UTF-8."""
    try:
        data.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def _too_deep(data: bytes, value: Any, max_depth: int) -> bool:
    if data.count(b"[") + data.count(b"{") <= max_depth:
        return False
    level = [value]
    for _ in range(max_depth):
        deeper: list[Any] = []
        for item in level:
            values = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
            deeper.extend(value for value in values if isinstance(value, dict | list))
        if not deeper:
            return False
        level = deeper
    return True


def _sanitize(value: Any, oddities: set[str], max_depth: int = MAX_DEPTH) -> Any:
    """Remove in place what neither a store nor JSON accepts; damaged containers stay marked."""
    top = [value]
    waiting: list[tuple[Any, int]] = [(top, 0)]
    while waiting:
        inside, depth = waiting.pop()
        if isinstance(inside, dict) and any(map(texts.has_surrogates, inside)):
            oddities.add(_SURROGATE_NOTE)
            cleaned = {texts.without_surrogates(key): item for key, item in inside.items()}
            inside.clear()
            inside.update(cleaned)
        for key, item in inside.items() if isinstance(inside, dict) else enumerate(inside):
            if isinstance(item, str):
                if texts.has_surrogates(item):
                    oddities.add(_SURROGATE_NOTE)
                    inside[key] = texts.without_surrogates(item)
            elif isinstance(item, float):
                if not math.isfinite(item):
                    oddities.add("numbers that are not finite were left out")
                    inside[key] = None
            elif isinstance(item, dict | list):
                if depth > max_depth:
                    oddities.add(f"values nested more than {max_depth} deep were left out")
                    inside[key] = None
                else:
                    waiting.append((item, depth + 1))
    return top[0]
