"""Reads the data sets of benchmarks, whose format is recognised by its shape.

LoCoMo, LongMemEval and BEAM are JSON lists with one object per conversation; BEIR is a folder. A conversation becomes
native JSONL records and questions about them. Files are streamed: only one conversation is in memory at a time, and of
a BEIR folder only its questions.
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
from appliance.formats import json_stream
from appliance.formats.base import Document
from appliance.types import InputProblem

NativeRecord = dict[str, Any]
"""A message as a line of native JSONL."""

SkippedCounts = Counter[str]
"""What a reader left out, as a phrase, and how often."""

KNOWN_FORMATS = (
    "LoCoMo (objects with 'conversation' and 'qa'), LongMemEval ('haystack_sessions'),"
    " BEAM ('messages' and 'questions'), or a BEIR folder (corpus.jsonl, queries.jsonl, qrels)"
)

REFETCH_HINT = "Fetch the file again; the results of a part would mislead."

PROBE_BYTES = 4096
"""Bytes at the beginning and the end of a file that are read for its first and last bracket."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BenchmarkQuestion:
    """A question with its relevant messages and sessions.

    Attributes:
        text: The question.
        relevant: External ids of the relevant messages; empty if the data set names sessions only.
        kind: The data set's category.
        sessions: External ids of the relevant sessions; None if the data set names none.
        asked_at: When it was asked (ISO 8601), if the data set says so.
    """

    text: str
    relevant: frozenset[str]
    kind: str
    sessions: frozenset[str] | None = None
    asked_at: str | None = None


@dataclass(frozen=True, slots=True)
class BenchmarkCorpus:
    """The messages of one memory as native JSONL records, which can be iterated several times, and its questions: those
    that it answers, and those that it does not."""

    name: str
    records: Iterable[NativeRecord]
    questions: tuple[BenchmarkQuestion, ...]
    unanswerable: tuple[BenchmarkQuestion, ...] = ()


@dataclass(frozen=True, slots=True)
class DatasetElement:
    """One object of a data set, with its place for error messages."""

    data: dict[str, Any]
    where: str

    def convert_to(self, kind: type[T]) -> T:
        """Convert the object to a msgspec structure.

        Raises:
            InputError: A field is missing or has the wrong type; the error names it.
        """
        return convert(self.data, kind, self.where)


def convert(value: Any, kind: type[T], where: str) -> T:
    """Convert a value to a msgspec structure or another type.

    Raises:
        InputError: It has another shape; the error names ``where`` and the path within the value.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{error}.", where=where) from error


def read_benchmark(path: Path, split: str, left_out: SkippedCounts) -> tuple[str, Iterator[BenchmarkCorpus]]:
    """Read a data set.

    Args:
        path: The file, or a BEIR folder.
        split: The name of the judgements in a BEIR folder.
        left_out: Counts what is left out, while the conversations are read.

    Returns:
        The name of its format, and its conversations.

    Raises:
        NotFound: There is no such file.
        InputError: It has no known shape, or is damaged; the error names the place.
    """
    from appliance.bench import beam, beir, locomo, longmemeval

    if path.is_dir():
        return "BEIR", beir.conversations(path, split, left_out)
    if not path.is_file():
        raise NotFound("No such file or folder.", where=str(path))
    with _open_file(path) as file:
        first_character = _first_character(file)
    if first_character not in (b"", b"[", b"{"):
        raise InputError("The file is not JSON.", where=str(path), hint=f"The known formats are {KNOWN_FORMATS}.")
    first = next(elements(path), None)
    if first is None:
        raise InputError("The file is empty.", where=str(path), hint=f"The known formats are {KNOWN_FORMATS}.")
    for module in (locomo, longmemeval, beam):
        if first.data.keys() >= module.KEYS:
            return module.NAME, module.conversations(elements(path), left_out)
    raise InputError(
        "Unknown format of a benchmark.", where=first.where, hint=f"The known formats are {KNOWN_FORMATS}."
    )


def elements(path: Path) -> Iterator[DatasetElement]:
    """The objects of a JSON list, or of JSONL, one at a time.

    Raises:
        InputError: The file is damaged, or contains something else.
    """
    document = Document(str(path), path.stat().st_size, partial(_open_file, path))
    for value in json_stream.records(document):
        if isinstance(value, InputProblem):
            if value.harmless:
                continue
            what = value.message.partition(";")[0]  # the rest says what an ingest does about it
            where = f"{path}, {value.where}" if value.where else str(path)
            raise InputError(f"{what[:1].upper()}{what[1:]}.", where=where, hint=REFETCH_HINT)
        where = f"{path}, object {value.number} (line {value.line})"
        if not isinstance(value.data, dict):
            raise InputError("Not an object.", where=where)
        yield DatasetElement(value.data, where)
    if _is_truncated(path):
        raise InputError("The list does not end: the file is cut off.", where=str(path), hint=REFETCH_HINT)


def _is_truncated(path: Path) -> bool:
    """Whether a list begins but does not end. A file that is cut off between two objects shows no other sign."""
    with _open_file(path) as file:
        begins = _first_character(file)
        file.seek(max(0, path.stat().st_size - PROBE_BYTES))
        return begins == b"[" and not file.read(PROBE_BYTES).rstrip().endswith(b"]")


def _first_character(file: BinaryIO) -> bytes:
    return file.read(PROBE_BYTES).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]


def _open_file(path: Path) -> BinaryIO:
    return path.open("rb")


def sample_questions(path: Path, split: str, max_questions: int) -> frozenset[tuple[str, int]]:
    """Choose at most ``max_questions`` questions, as (conversation, number); the same ones each time.

    They are the questions with the smallest digests of place and text, so they come from the whole file.

    Raises:
        UsageError: ``max_questions`` is not positive.
    """
    import heapq
    from hashlib import blake2b

    if max_questions < 1:
        raise UsageError(f"The number of questions must be at least 1, not {max_questions}.")
    every = (
        (blake2b(f"{c.name}\n{number}\n{q.text}".encode("utf-8", "replace")).digest(), c.name, number)
        for c in read_benchmark(path, split, Counter())[1]
        for number, q in enumerate(c.questions)
    )
    return frozenset((name, number) for _, name, number in heapq.nsmallest(max_questions, every))


def filter_questions(
    conversations: Iterable[BenchmarkCorpus], chosen: frozenset[tuple[str, int]]
) -> Iterator[BenchmarkCorpus]:
    """The conversations that have chosen questions, with these questions only."""
    for conversation in conversations:
        questions_kept = tuple(
            q for number, q in enumerate(conversation.questions) if (conversation.name, number) in chosen
        )
        if questions_kept:
            yield BenchmarkCorpus(conversation.name, conversation.records, questions_kept)
