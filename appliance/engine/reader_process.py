"""Carries out searches for the owner of a home: ``python -m appliance.engine.reader_process DATABASE``.

Each ``SearchTask`` on standard input is answered on standard output. The process reads the database itself, so that it
sees what is committed, and asks the owner for the index, the token vectors and the vectors of the query. It changes
nothing, and ends when standard input does.
"""

from __future__ import annotations

import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

import appliance_models
from appliance import __version__
from appliance.engine import reader_frames
from appliance.engine.reader_frames import Call, CallName, CallResult, HitsFrame, NotFound, ReadyFrame, SearchTask
from appliance.retrieval import pipeline
from appliance.retrieval.resources import EmbeddedQuery, SearchResources
from appliance.runtime.metrics import Stage
from appliance.store.database import open_for_reading
from appliance.store.index.archive_index import ArchiveIndex, TermStatistics
from appliance.store.index.protocol import Leg, LegQuery, ScoredPoint, VectorIndex
from appliance.types import Filters, Scope


class Owner:
    """The owner of the home, at the other end of the pipes. It also is the ``VectorIndex`` of the searches."""

    def __init__(self, tasks: BinaryIO, answers: BinaryIO) -> None:
        self._tasks = tasks
        self._answers = answers

    def next_task(self) -> SearchTask | None:
        """The next search; None if the owner wants no more."""
        task = reader_frames.read(self._tasks)
        assert task is None or isinstance(task, SearchTask)
        return task

    def answer(self, frame: ReadyFrame | HitsFrame | NotFound) -> None:
        reader_frames.write(self._answers, frame)

    def search(self, queries: Sequence[LegQuery], filters: Filters | None, limit: int) -> list[list[ScoredPoint]]:
        return reader_frames.unpack_points(self.call("search", queries, filters, limit))

    def score(
        self, queries: Sequence[LegQuery], ids: Sequence[Collection[int]], scope: Scope | None
    ) -> list[dict[int, float]]:
        found: list[dict[int, float]] = self.call("score", queries, [list(each) for each in ids], scope)
        return found

    def inverse_document_frequencies(self, query: LegQuery, scope: Scope | None) -> dict[int, float]:
        found: dict[int, float] = self.call("inverse_document_frequencies", query, scope)
        return found

    def count(self, filters: Filters | None = None) -> int:
        return int(self.call("count", filters))

    def embed(self, text: str) -> EmbeddedQuery:
        return cast(EmbeddedQuery, self.call("embed", text))

    def read_tokens(self, keys: Collection[int]) -> Mapping[int, NDArray[np.int8]]:
        return reader_frames.unpack_tokens(self.call("read_tokens", list(keys)))

    def call(self, name: CallName, *arguments: Any) -> Any:
        reader_frames.write(self._answers, Call(name, arguments))
        result = reader_frames.read(self._tasks)
        if result is None:
            sys.exit()
        assert isinstance(result, CallResult)
        if result.error is not None:
            raise result.error
        return result.value


class OwnersArchive:
    """The owner's archive index, as far as a search reads it."""

    def __init__(self, call: Callable[..., Any], points: int) -> None:
        self._call = call
        self._points = points

    def __len__(self) -> int:
        return self._points

    def search(
        self, query: LegQuery, filters: Filters | None, limit: int, weights: Mapping[int, float]
    ) -> list[ScoredPoint]:
        (found,) = reader_frames.unpack_points(self._call("search_archive", query, filters, limit, weights))
        return found

    def score(self, query: LegQuery, ids: Collection[int], weights: Mapping[int, float]) -> dict[int, float]:
        found: dict[int, float] = self._call("score_archive", query, list(ids), weights)
        return found

    def statistics(self, leg: Leg, terms: Collection[int], scope: Scope | None) -> TermStatistics:
        return cast(TermStatistics, self._call("archive_statistics", leg, list(terms), scope))


def carry_out(task: SearchTask, db: sqlite3.Connection, owner: Owner) -> HitsFrame:
    """Carry out a search."""
    stages: list[tuple[Stage, float]] = []

    @contextmanager
    def time_stage(stage: Stage) -> Iterator[None]:
        began = time.perf_counter()
        yield
        stages.append((stage, time.perf_counter() - began))

    resources = SearchResources(
        db=db,
        index=cast(VectorIndex, owner),
        generation=task.generation,
        embed=owner.embed if task.is_embedding else None,
        lexicon=appliance_models.load_lexicon,
        unavailable_reason=task.unavailable_reason,
        time_stage=time_stage,
        recent_vectors=task.recent_vectors,
        archive=None if task.archived is None else cast(ArchiveIndex, OwnersArchive(owner.call, task.archived)),
        read_tokens=owner.read_tokens if task.has_tokens else None,
        model=task.model,
        notes=task.notes,
    )
    return HitsFrame(pipeline.search(resources, task.query, task.page), stages)


def run(database: Path, owner: Owner) -> None:
    """Carry out searches until the owner wants no more."""
    db = open_for_reading(database)
    appliance_models.load_lexicon()
    owner.answer(ReadyFrame(__version__))
    while (task := owner.next_task()) is not None:
        try:
            found: HitsFrame | NotFound = carry_out(task, db, owner)
        except Exception as error:  # the owner meets it too, and tells it
            found = NotFound(type(error).__name__)
        owner.answer(found)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, which every process gets: the owner ends this one
    run(Path(sys.argv[1]), Owner(sys.stdin.buffer, sys.stdout.buffer))


if __name__ == "__main__":
    main()
