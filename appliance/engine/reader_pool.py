"""The reader processes of a daemon: searches that run at the same time do not share one interpreter.

A search that runs alone is carried out in this process, where it takes the least time. One that comes while another
runs is carried out by a free reader process, if there is one; the thread that asked keeps what the search reads from
open meanwhile, so that an erasure waits for it as for any search, and answers the reader's calls. Where a reader dies
or fails, this process carries out the search. Readers are started when searches meet, replaced when they have died,
and ended when they have had nothing to do.
"""

from __future__ import annotations

import logging
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from appliance import __version__
from appliance.engine import reader_frames
from appliance.engine.reader_frames import Call, CallResult, HitsFrame, ReadyFrame, SearchTask
from appliance.errors import ApplianceError
from appliance.retrieval import pipeline
from appliance.retrieval.resources import Page, SearchQuery, SearchResources
from appliance.runtime import child_process
from appliance.runtime.address_space import available_bytes
from appliance.runtime.admission import AdmissionControl
from appliance.runtime.metrics import Metrics
from appliance.runtime.processors import processors
from appliance.types import Hits

IDLE_SECONDS = 300.0
"""Seconds without a search after which a reader ends, because it takes memory."""

STUCK_SECONDS = 120.0
"""Seconds without a call after which a reader that carries out a search is ended; this process carries it out then."""

RETRY_SECONDS = 60.0
"""Seconds until another reader is started after one that could not be."""

_log = logging.getLogger("appliance.readers")


MAX_USUAL_READERS = 4
"""More have less and less to do: a third of each search is done by the owner, under the lock of its interpreter."""


def usual_readers() -> int:
    """How many readers a daemon has if no setting says so: one less than there are processors."""
    return min(processors() - 1, MAX_USUAL_READERS)


class ReaderProcess:
    """A reader; one thread uses it at a time."""

    def __init__(self, database: Path) -> None:
        """Start it.

        Raises:
            OSError: It can't be started.
        """
        self._process = subprocess.Popen(
            child_process.command_for("appliance.engine.reader_process", str(database)),
            env=child_process.environment(),
            stdin=subprocess.PIPE,  # its end tells the process that this one is gone
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._tasks, self._answers = cast(BinaryIO, self._process.stdin), cast(BinaryIO, self._process.stdout)
        self.used_at = time.monotonic()
        self.has_failed = False
        """Whether it is dead, or its answers are not those to what it is asked."""

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_ready(self) -> bool:
        """Wait until it has opened the database; returns whether it could, and is of this version of the program."""
        frame = reader_frames.read(self._answers)
        return isinstance(frame, ReadyFrame) and frame.version == __version__

    def search(self, resources: SearchResources, search_query: SearchQuery, page: Page) -> HitsFrame | None:
        """Carry out a search; None if it can't be carried out here."""
        self.used_at = time.monotonic()
        self.has_failed = True  # until it has answered: whatever interrupts this leaves a part of an answer behind
        found = None
        with suppress(OSError):  # it has died
            reader_frames.write(self._tasks, _task(resources, search_query, page))
            found = self._answer_calls(resources)
            self.has_failed = found is None
        return found if isinstance(found, HitsFrame) else None

    def _answer_calls(self, resources: SearchResources) -> object | None:
        """Answer what the reader asks for, until it has carried out the search."""
        while isinstance(frame := reader_frames.read(self._answers), Call):
            reader_frames.write(self._tasks, _answer(resources, frame))
            self.used_at = time.monotonic()
        return frame

    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """End the process while another thread may wait for it."""
        self._process.kill()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._tasks, self._answers):
            with suppress(OSError):  # what it did not read any more
                stream.close()


def _task(resources: SearchResources, search_query: SearchQuery, page: Page) -> SearchTask:
    return SearchTask(
        search_query,
        page,
        resources.generation,
        is_embedding=resources.embed is not None,
        has_tokens=resources.read_tokens is not None,
        archived=None if resources.archive is None else len(resources.archive),
        unavailable_reason=resources.unavailable_reason,
        recent_vectors=resources.recent_vectors,
        model=resources.model,
        notes=resources.notes,
    )


def _answer(resources: SearchResources, call: Call) -> CallResult:
    """Carry out a call of a reader."""
    index, archive, embed, read_tokens = resources.index, resources.archive, resources.embed, resources.read_tokens
    assert index is not None
    try:
        match call.name:
            case "search":
                return CallResult(reader_frames.pack_points(index.search(*call.arguments)))
            case "score":
                return CallResult(index.score(*call.arguments))
            case "inverse_document_frequencies":
                return CallResult(index.inverse_document_frequencies(*call.arguments))
            case "count":
                return CallResult(index.count(*call.arguments))
            case "search_archive":
                assert archive is not None
                return CallResult(reader_frames.pack_points([archive.search(*call.arguments)]))
            case "score_archive":
                assert archive is not None
                return CallResult(archive.score(*call.arguments))
            case "archive_statistics":
                assert archive is not None
                return CallResult(archive.statistics(*call.arguments))
            case "embed":
                assert embed is not None
                return CallResult(embed(*call.arguments))
            case "read_tokens":
                assert read_tokens is not None
                return CallResult(reader_frames.pack_tokens(read_tokens(*call.arguments)))
    except ApplianceError as error:
        return CallResult(error=error)


class ReaderPool:
    """Carries out searches, in this process or in readers. Safe to use from several threads."""

    def __init__(self, database: Path, admission: AdmissionControl, metrics: Metrics) -> None:
        self._database = database
        self._admission = admission
        self._metrics = metrics
        self._lock = threading.Lock()
        self._size = 0
        self._searches_here = 0
        self._free: list[ReaderProcess] = []
        self._all: set[ReaderProcess] = set()
        self._starting = 0
        self._may_start_at = 0.0
        self._is_closed = threading.Event()
        self._watcher: threading.Thread | None = None

    def allow(self, size: int) -> None:
        """Let up to ``size`` readers search; none where a process can't be started, or memory is limited."""
        if available_bytes() is not None or not self._database.is_file():
            size = 0
        self._size = size
        self._admission.allow_queries(size + 1)

    @property
    def pids(self) -> list[int]:
        """The process ids of the readers that have started."""
        with self._lock:
            return [reader.pid for reader in self._all]

    def search(
        self, resources: SearchResources, search_query: SearchQuery, page: Page, explained_message: str | None = None
    ) -> Hits:
        """See ``pipeline.search``."""
        # A cross-encoder is in this process alone, and an explanation is asked for by a person, one at a time.
        is_suitable = resources.index is not None and resources.reranker is None and explained_message is None
        reader = self._take() if is_suitable else None
        if reader is not None:
            try:
                found = reader.search(resources, search_query, page)
            finally:
                self._give_back(reader)
            if found is not None:
                for stage, seconds in found.stages:
                    self._metrics.search[stage].add(seconds)
                return found.hits
        with self._lock:
            self._searches_here += 1
        try:
            return pipeline.search(resources, search_query, page, explained_message=explained_message)
        finally:
            with self._lock:
                self._searches_here -= 1

    def close(self) -> None:
        """End the readers; no search may run any more."""
        with self._lock:
            self._size = 0
            self._is_closed.set()
            readers, self._free = [*self._all], []
            self._all.clear()
        for reader in readers:
            reader.close()
        if self._watcher is not None:
            self._watcher.join()

    def _take(self) -> ReaderProcess | None:
        """A free reader, if another search runs in this process; starts one if there is none and there may be."""
        with self._lock:
            if not self._searches_here or not self._size:
                return None
            if self._free:
                return self._free.pop()
            if len(self._all) + self._starting < self._size and time.monotonic() >= self._may_start_at:
                self._starting += 1
                threading.Thread(target=self._start, name="appliance-reader-start", daemon=True).start()
            return None

    def _start(self) -> None:
        reader, is_ready = None, False
        with suppress(OSError):
            reader = ReaderProcess(self._database)
            is_ready = reader.is_ready()
        with self._lock:
            self._starting -= 1
            if is_ready and reader is not None and not self._is_closed.is_set():
                self._all.add(reader)
                self._free.append(reader)
                if self._watcher is None:
                    self._watcher = threading.Thread(target=self._watch, name="appliance-readers", daemon=True)
                    self._watcher.start()
                return
            self._may_start_at = time.monotonic() + RETRY_SECONDS
        if not self._is_closed.is_set():
            _log.warning("a reader process can't be started; the daemon carries out all searches itself")
        if reader is not None:
            reader.close()

    def _give_back(self, reader: ReaderProcess) -> None:
        with self._lock:
            if not reader.has_failed and reader in self._all:
                self._free.append(reader)
                return
            self._all.discard(reader)
        reader.close()

    def _watch(self) -> None:
        """End the readers that have had nothing to do or are stuck, and remove those that have died."""
        while not self._is_closed.wait(1.0):
            now = time.monotonic()
            with self._lock:
                free = [one for one in self._free if not one.has_ended() and now - one.used_at < IDLE_SECONDS]
                ended, self._free = {*self._free}.difference(free), free
                self._all -= ended
                for reader in self._all.difference(free):
                    if now - reader.used_at > STUCK_SECONDS:
                        reader.kill()
            for reader in ended:
                reader.close()
