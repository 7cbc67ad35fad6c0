"""What a benchmark is made of, read from a file that is recognised by its shape.

Four shapes: LoCoMo, LongMemEval and BEAM are JSON lists, one object a conversation; BEIR is a folder. Every
conversation is native JSONL records and the questions asked about it. Files are streamed: one conversation
is held at a time, and of a BEIR folder its questions only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from appliance.errors import InputError, NotFound, UsageError
from appliance.ingest.parse import jsonstream
from appliance.ingest.parse.base import Document
from appliance.types import Problem

Native = dict[str, Any]
"""A message as a line of native JSONL."""

LeftOut = Counter[str]
"""What a reader left out, in words, and how often."""

SHAPES = (
    "LoCoMo (objects with 'conversation' and 'qa'), LongMemEval ('haystack_sessions'),"
    " BEAM ('messages' and 'questions'), or a BEIR folder (corpus.jsonl, queries.jsonl, qrels)"
)

MUST_BE_WHOLE = "fetch the file again: figures of a part would mislead"

ENDS = 4096
"""Bytes at the beginning and the end of a file in which its first and last marks stand."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what answers it: external ids of messages, and of their sessions.

    ``relevant`` is empty where the set names sessions only; ``sessions`` is None where it has none to find.
    ``kind`` is the set's own category. ``asked_at`` is when it was asked (ISO 8601), where the set says so.
    """

    text: str
    relevant: frozenset[str]
    kind: str
    sessions: frozenset[str] | None = None
    asked_at: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """One memory: native JSONL records (read anew each time they are gone through) and its questions."""

    name: str
    records: Iterable[Native]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """One object of a benchmark's list, with its place for errors."""

    data: dict[str, Any]
    where: str

    def as_type(self, kind: type[T]) -> T:
        """The object in the shape that its format has.

        Raises:
            InputError: it lacks something, or has something of another type; the error names it.
        """
        return checked(self.data, kind, self.where)


def checked(value: Any, kind: type[T], where: str) -> T:
    """``value`` as ``kind``, a msgspec structure or a type.

    Raises:
        InputError: it is not one; ``where`` and the path within the value are named.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InputError(str(error), where=where) from error


def read(path: Path, split: str, left_out: LeftOut) -> tuple[str, Iterator[Conversation]]:
    """The format of a benchmark, and its conversations one after the other.

    ``split`` names the judgements of a BEIR folder. ``left_out`` is counted up while reading.

    Raises:
        NotFound: no such file.
        InputError: it has none of the known shapes, or is damaged; the error names the place.
    """
    from appliance.bench import beam, beir, locomo, longmemeval

    if path.is_dir():
        return "BEIR", beir.conversations(path, split, left_out)
    if not path.is_file():
        raise NotFound("no such file or folder", where=str(path))
    first = next(elements(path), None)
    if first is None:
        raise InputError("there is nothing in it", where=str(path), hint="known are " + SHAPES)
    for module in (locomo, longmemeval, beam):
        if first.data.keys() >= module.KEYS:
            return module.NAME, module.conversations(elements(path), left_out)
    raise InputError("no benchmark that is known by its shape", where=first.where, hint="known are " + SHAPES)


def elements(path: Path) -> Iterator[Element]:
    """The objects of a JSON list, or of JSONL, one at a time.

    Raises:
        InputError: the file is damaged, or holds something else.
    """
    document = Document(str(path), path.stat().st_size, partial(_opened, path))
    for value in jsonstream.records(document):
        if isinstance(value, Problem):
            if value.harmless:
                continue
            what = value.message.partition(";")[0]  # behind it stands what an ingest does about it
            where = f"{path}, {value.where}" if value.where else str(path)
            raise InputError(what, where=where, hint=MUST_BE_WHOLE)
        where = f"{path}, object {value.number} (line {value.line})"
        if not isinstance(value.data, dict):
            raise InputError("not an object", where=where)
        yield Element(value.data, where)
    if _cut_off(path):
        raise InputError("the list does not end: the file is cut off", where=str(path), hint=MUST_BE_WHOLE)


def _cut_off(path: Path) -> bool:
    """Whether a list is begun and not ended; what is cut off between two objects shows nowhere else."""
    with _opened(path) as file:
        begins = file.read(ENDS).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        file.seek(max(0, path.stat().st_size - ENDS))
        return begins == b"[" and not file.read(ENDS).rstrip().endswith(b"]")


def _opened(path: Path) -> BinaryIO:
    return path.open("rb")


def spread(path: Path, split: str, most: int) -> frozenset[tuple[str, int]]:
    """Which questions to ask when only ``most`` shall be: (conversation, number), the same ones each time.

    They are those with the smallest digests of place and words, so that they come from all over the file.

    Raises:
        UsageError: ``most`` is not positive.
    """
    import heapq
    from hashlib import blake2b

    if most < 1:
        raise UsageError(f"{most} questions measure nothing")
    every = (
        (blake2b(f"{c.name}\n{number}\n{q.text}".encode("utf-8", "replace")).digest(), c.name, number)
        for c in read(path, split, Counter())[1]
        for number, q in enumerate(c.questions)
    )
    return frozenset((name, number) for _, name, number in heapq.nsmallest(most, every))


def only(conversations: Iterable[Conversation], chosen: frozenset[tuple[str, int]]) -> Iterator[Conversation]:
    """The conversations with the chosen questions alone; those without one are passed over."""
    for conversation in conversations:
        kept = tuple(
            q for number, q in enumerate(conversation.questions) if (conversation.name, number) in chosen
        )
        if kept:
            yield Conversation(conversation.name, conversation.records, kept)
