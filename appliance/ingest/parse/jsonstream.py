"""JSON files record by record: an array, objects one after the other, or one object a line.

Only one record is held at a time, whatever the file's size. A record that can't be decoded is
salvaged as far as it is whole, and reading goes on at the next place where a record begins.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from appliance.ingest.parse import text as texts
from appliance.ingest.parse.base import Document
from appliance.ingest.parse.jsonscan import Piece, Scanner, first_key
from appliance.ingest.parse.salvage import MAX_DEPTH, salvage
from appliance.types import Problem

# Salvaging is slow; what lies further inside one damaged record than this is given up.
_MAX_SALVAGE_BYTES = 32 << 20
# No message is this long; a file without line ends must not fill the memory.
_MAX_LINE_BYTES = 64 << 20
_SHOWN_CHARACTERS = 40

_HALVES = "half characters (lone surrogates) were replaced by U+FFFD"

DAMAGED: Any = object()

_OPEN_OBJECT, _CLOSE_OBJECT, _CLOSE_LIST = b"{}]"


@dataclass(frozen=True, slots=True)
class Value:
    """One record, an object; ``number`` counts from 1."""

    data: Any
    number: int
    line: int


def records(
    document: Document,
    first_keys: Sequence[tuple[str, str]] = (),
    *,
    within: str | None = None,
    max_depth: int = MAX_DEPTH,
) -> Iterator[Value | Problem]:
    """The records of a JSON document in the order of the file, with a Problem for each damage.

    The elements of a top-level array are records; so are top-level values that follow each other.
    ``first_keys`` are pairs of keys that records of the format usually begin with; they help to find
    the way back where the first record is damaged. ``within`` is the key of a list: where the document is an
    object that has it, near its beginning, the list's elements are the records. ``max_depth`` is how deep a
    record may nest: more than usual where a format nests each message in the one before it. Whoever asks
    for that walks without recursion.
    """
    decoder = _Decoder(document, max_depth)
    number = 0
    try:
        with texts.utf8(document) as (stream, raw):
            scanner = Scanner(stream, first_keys)
            if within is not None:
                scanner.enter(within)
            while (piece := scanner.next()) is not None:
                where = f"line {piece.line}, byte {piece.offset + raw.shift}"
                if piece.stray:
                    yield Problem(where, f"{_shown(piece.data)} is not a record; passed over")
                    continue
                number += 1
                value, problems, whole = decoder.value(scanner, piece, where)
                if whole:
                    scanner.learn(piece.data)
                yield from problems
                yield Value(value, number, piece.line)
            if raw.failure is not None:
                yield Problem(f"after line {scanner.line}", f"reading stopped: {explained(raw.failure)}")
    except texts.READ_ERRORS as error:
        yield Problem("", f"can't be read: {explained(error)}")


@dataclass(frozen=True, slots=True)
class Part:
    """One value out of a document that is taken apart. ``path`` leads to it: the number of the top-level
    value, then keys and places in lists, all counted from 0."""

    path: tuple[str | int, ...]
    data: Any
    line: int

    @property
    def shape(self) -> tuple[str, ...]:
        """The path without numbers: keys, and "*" for a place in a list."""
        return _shape(self.path)


def parts(
    document: Document,
    opened: Collection[tuple[str, ...]],
    first_keys: Sequence[tuple[str, str]] = (),
) -> Iterator[Part | Problem]:
    """The values of a JSON document whose one object is larger than memory, in the order of the file.

    ``opened`` are the shapes of the containers that are taken apart into their members, beside the
    top-level one: ``("messages",)`` gives each message by itself and every other member of the object
    whole. ``first_keys`` are as in ``records``, of what is in the lists. A container that is taken apart is
    no part itself. Damage costs the value that it is in, and is named.
    """
    decoder = _Decoder(document)
    open_at: list[_Open] = []
    number = 0
    damaged = False
    try:
        with texts.utf8(document) as (stream, raw):
            scanner = Scanner(stream, first_keys)
            while (byte := scanner.peek()) is not None:
                if byte in b"]}":
                    # A closing mark that opens nothing is skipped, one that was lost is made up for.
                    at = next((n for n, o in enumerate(reversed(open_at)) if o.ends == byte), None)
                    if at is not None:
                        del open_at[len(open_at) - at - 1 :]
                    scanner.step()
                    continue
                if damaged and byte == _OPEN_OBJECT and open_at:
                    damaged = False
                    _find_level(open_at, first_key(scanner.ahead()))
                key = scanner.key() if open_at and open_at[-1].ends == _CLOSE_OBJECT else None
                if not open_at:
                    path: tuple[str | int, ...] = (number,)
                elif open_at[-1].ends == _CLOSE_OBJECT:
                    name = _plain(key) if key else None
                    path = (*open_at[-1].path, name if isinstance(name, str) else "")
                    open_at[-1].first = open_at[-1].first or key
                else:
                    path = (*open_at[-1].path, open_at[-1].count)
                    open_at[-1].count += 1
                byte = scanner.peek()
                if byte is None:
                    break
                shape = _shape(path)
                if byte in b"{[" and (shape in opened or not shape):
                    number += not open_at
                    open_at.append(_Open(path, _CLOSE_OBJECT if byte == _OPEN_OBJECT else _CLOSE_LIST))
                    scanner.step()
                    continue
                piece = scanner.value()
                where = f"line {piece.line}, byte {piece.offset + raw.shift}"
                if piece.stray or not open_at or (key is None and open_at[-1].ends == _CLOSE_OBJECT):
                    yield Problem(
                        where, f"{_shown(piece.data)} stands where nothing is expected; passed over"
                    )
                    number += not open_at
                    damaged = True
                    continue
                value, problems, whole = decoder.value(scanner, piece, where)
                yield from problems
                damaged = damaged or not whole
                if whole and isinstance(path[-1], int):
                    scanner.learn(piece.data, first_keys)
                    open_at[-1].first = open_at[-1].first or first_key(piece.data)
                yield Part(path, value, piece.line)
            if raw.failure is not None:
                yield Problem(f"after line {scanner.line}", f"reading stopped: {explained(raw.failure)}")
            elif open_at and not damaged:
                yield Problem(f"line {scanner.line}", "the file is cut off")
    except texts.READ_ERRORS as error:
        yield Problem("", f"can't be read: {explained(error)}")


@dataclass(slots=True)
class _Open:
    """A container that is being taken apart, the mark that ends it, how many values it has had, and its
    first key (of a list: that of its first element)."""

    path: tuple[str | int, ...]
    ends: int
    count: int = 0
    first: bytes | None = None


def _shape(path: tuple[str | int, ...]) -> tuple[str, ...]:
    return tuple(part if isinstance(part, str) else "*" for part in path[1:])


def _find_level(open_at: list[_Open], first: bytes | None) -> None:
    """After damage that swallowed closing marks: an object that begins like one that is open, a list's
    element, is the next one of that list and not what is being read inside of it."""
    if open_at[-1].first == first:
        return
    for level in range(1, len(open_at)):
        if open_at[level].first == first is not None and open_at[level - 1].ends == _CLOSE_LIST:
            del open_at[level:]
            return


def lines(document: Document, *, blank: bool = False) -> Iterator[tuple[int, bytes] | Problem]:
    """The lines of a document as UTF-8 bytes, numbered from 1, with their ends.

    Lines end at line feeds only. Blank lines are left out unless ``blank``."""
    try:
        with texts.utf8(document) as (stream, raw):
            number = 0
            while line := stream.readline(_MAX_LINE_BYTES):
                number += 1
                if len(line) == _MAX_LINE_BYTES:
                    yield Problem(f"line {number}", "the line is too long to be a message and was left out")
                    while len(stream.readline(_MAX_LINE_BYTES)) == _MAX_LINE_BYTES:
                        pass
                elif blank or not line.isspace():
                    yield number, line
            if raw.failure is not None:
                yield Problem(f"after line {number}", f"reading stopped: {explained(raw.failure)}")
    except texts.READ_ERRORS as error:
        yield Problem("", f"can't be read: {explained(error)}")


def decode(
    data: bytes, where: str, encoding: texts.Encoding = "utf-8", max_depth: int = MAX_DEPTH
) -> tuple[Any, list[Problem]]:
    """The value of one record and what was odd about it; ``DAMAGED`` if it is not JSON.

    Takes what decoders differ about: NaN and Infinity (None), control characters and lone surrogates
    (U+FFFD) in strings, bytes of another encoding, nesting beyond ``max_depth`` (None from there on)."""
    value = _plain(data)
    if value is not DAMAGED and not _too_deep(data, value, max_depth):
        return value, []
    text, readable = texts.decoded(data, encoding)
    problems: list[Problem] = []
    if not readable:
        problems.append(Problem(where, "bytes that are not UTF-8 were replaced by U+FFFD"))
    elif encoding == "cp1252" and not data.isascii():
        problems.append(Problem(where, "read as Windows-1252, as the file is not UTF-8", harmless=True))
    try:
        value = json.loads(text, strict=False)
    except RecursionError:
        value = salvage(text, max_depth)
    except ValueError:
        return DAMAGED, problems
    oddities: set[str] = set()
    value = _storable(value, oddities, max_depth)
    problems.extend(Problem(where, oddity, harmless=True) for oddity in sorted(oddities))
    return value, problems


def glued(text: str) -> tuple[list[Any], str]:
    """The JSON values that stand one after the other in ``text``, and why what follows is none."""
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
        values.append(_storable(value, set()))
    return values, ""


@lru_cache(maxsize=2)
def preview(head: str) -> tuple[Any, ...]:
    """The first records of a document, as far as its beginning shows them."""
    if not head.lstrip("\ufeff \t\r\n").startswith(("[", "{")):
        return ()
    value = salvage(head)
    return tuple(value) if isinstance(value, list) else (value,)


def explained(error: Exception) -> str:
    """An error in words; the system's own word for it where there is one."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


@dataclass(slots=True)
class _Decoder:
    """Decodes the records of a document. Its encoding is looked for when the first one isn't UTF-8."""

    document: Document
    max_depth: int = MAX_DEPTH
    encoding: texts.Encoding | None = None

    def value(self, scanner: Scanner, piece: Piece, where: str) -> tuple[Any, list[Problem], bool]:
        """A record, what was odd about it, and whether a plain decoder took it."""
        value = _plain(piece.data) if piece.ended and piece.depth <= MAX_DEPTH else DAMAGED
        if value is not DAMAGED:
            return value, [], True
        if self.encoding is None and not is_utf8(piece.data):
            self.encoding = texts.encoding_of(self.document)
        value, problems = _with_care(scanner, piece, where, self.encoding or "utf-8", self.max_depth)
        return value, problems, False


def _with_care(
    scanner: Scanner, piece: Piece, where: str, encoding: texts.Encoding, max_depth: int
) -> tuple[Any, list[Problem]]:
    """The value of a record that a plain decoder refuses: odd, cut off, or broken inside."""
    problems: list[Problem] = []
    if piece.ended:
        value, problems = decode(piece.data, where, encoding, max_depth)
        if value is not DAMAGED:
            return value, problems
    data = scanner.bounded(piece)
    text, _ = texts.decoded(data[:_MAX_SALVAGE_BYTES], encoding)
    what = "the record is not valid JSON" if piece.ended else "the file is cut off or broken inside a record"
    problems.append(Problem(where, f"{what}; what is whole in it was kept"))
    return _storable(salvage(text, max_depth), set(), max_depth), problems


def _plain(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return DAMAGED


def _shown(data: bytes) -> str:
    text = data[: 4 * _SHOWN_CHARACTERS].decode("utf-8", "replace").strip().replace("\n", " ")
    return repr(text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…")


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are valid UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _too_deep(data: bytes, value: Any, max_depth: int) -> bool:
    if data.count(b"[") + data.count(b"{") <= max_depth:
        return False
    level = [value]
    for _ in range(max_depth):
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                deeper.extend(v for v in item.values() if isinstance(v, dict | list))
            elif isinstance(item, list):
                deeper.extend(v for v in item if isinstance(v, dict | list))
        if not deeper:
            return False
        level = deeper
    return True


def _storable(value: Any, oddities: set[str], max_depth: int = MAX_DEPTH) -> Any:
    """``value`` without what no store and no JSON takes, changed in place: damaged containers stay marked."""
    top = [value]
    waiting: list[tuple[Any, int]] = [(top, 0)]
    while waiting:
        inside, depth = waiting.pop()
        if isinstance(inside, dict) and any(map(texts.has_surrogates, inside)):
            oddities.add(_HALVES)
            cleaned = {texts.without_surrogates(key): item for key, item in inside.items()}
            inside.clear()
            inside.update(cleaned)
        for key, item in inside.items() if isinstance(inside, dict) else enumerate(inside):
            if isinstance(item, str):
                if texts.has_surrogates(item):
                    oddities.add(_HALVES)
                    inside[key] = texts.without_surrogates(item)
            elif isinstance(item, float):
                if not math.isfinite(item):
                    oddities.add("numbers that are not finite were left out")
                    inside[key] = None
            elif isinstance(item, dict | list):
                if depth > max_depth:
                    oddities.add(f"what is nested more than {max_depth} deep was left out")
                    inside[key] = None
                else:
                    waiting.append((item, depth + 1))
    return top[0]
