"""A memory under load: searches alone, then beside an ingest and two writers; in this process, then over HTTP.

    python -m tests.bench.serving --home COPY [--seconds 10] [--quick] [--only process|http|sixteen] [--user me]

The home is a copy of one that ``tests.bench.scale`` has built (its ``alone``, 100,000 chunks): it is changed. Its
vectors are a stand-in's; they count here as the shipped model's, which embeds the questions and what is taken in:
only time is measured. Each phase lasts ``--seconds``. Readers ask one question after the other, no two alike, or ten a
second in all ("paced": a question's time counts from when it was due). Beside them an ingest reads export after
export, and two writers say something, look for it, and wait a quarter of a second; what isn't found is counted as
stale. Last, sixteen ask a daemon without reader processes and one with them, in turns, alone and beside an ingest; the
processor time of a search is that of the daemon and its readers. ``--only sixteen`` does this alone, and ``--readers``
says how many there are. Nothing but loopback is opened.

Targets: p95 over HTTP at ten a second beside an ingest at most 60 ms; 40 searches a second without one; p95 with
eight readers beside all that at most twice that of eight readers alone; HTTP adds at most 5 ms; idle below 1 % of a
core and 350 MB.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import appliance_models
from appliance import Appliance
from appliance.engine.reader_pool import usual_readers
from appliance.store.passages import PASSAGE_FORMAT
from appliance.store.vectors import HEADER_BYTES, VectorLedger
from tests.bench import material, measure

TARGETS = {
    "http_beside_ingest_p95_ms": 60.0,
    "searches_a_second": 40.0,
    "beside_over_idle_p95": 2.0,
    "http_adds_ms": 5.0,
    "idle_cpu_percent": 1.0,
    "resident_mb": 350.0,
}

WARM_UP = 10
READERS = 8
WRITERS = 2
RATE = 10.0
"""Questions a second of the paced phases."""

WRITER_RESTS = 0.25
EXPORT_MESSAGES = 2_000
CONNECTIONS = (1, 2, 4, 8)
START_SECONDS = 60.0

Ask = Callable[[str], Any]


@dataclass(slots=True)
class Load:
    """What readers and writers saw."""

    taken: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    stale: int = 0
    seconds: float = 0.0

    def told(self) -> measure.Document:
        if not self.taken:
            return {"calls": 0, "errors": self.errors[:5]}
        ordered = sorted(self.taken)
        found = measure.percentiles(ordered)
        found["p99"] = round(1000 * ordered[round(0.99 * (len(ordered) - 1))], 2)
        found["a_second"] = round(len(ordered) / self.seconds, 1)
        return {**found, "errors": len(self.errors), **({"first_errors": self.errors[:3]} if self.errors else {})}


def in_turn(ask: Ask, questions: Iterator[str], readers: int, seconds: float) -> Load:
    """So many readers, each asking as soon as it has its answer."""
    load = Load(seconds=seconds)
    until = time.perf_counter() + seconds

    def reader() -> None:
        while (began := time.perf_counter()) < until:
            _one(load, ask, next(questions), began)

    _at_once(reader, readers)
    return load


def paced(ask: Ask, questions: Iterator[str], rate: float, seconds: float) -> Load:
    """So many questions a second, whether the ones before have been answered or not; each one's time counts from
    when it was due."""
    load = Load(seconds=seconds)
    begin = time.perf_counter() + 0.05
    due = iter([begin + number / rate for number in range(int(rate * seconds))])
    turn = threading.Lock()

    def reader() -> None:
        while True:
            with turn:
                at = next(due, None)
            if at is None:
                return
            time.sleep(max(0.0, at - time.perf_counter()))
            _one(load, ask, next(questions), at)

    _at_once(reader, READERS)
    return load


def _one(load: Load, ask: Ask, question: str, began: float) -> None:
    try:
        ask(question)
    except Exception as error:
        load.errors.append(f"{type(error).__name__}: {error}")
    else:
        load.taken.append(time.perf_counter() - began)


def _at_once(work: Callable[[], None], count: int) -> None:
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work) for _ in range(count)]:
            done.result()


def unlike(questions: Sequence[str]) -> Iterator[str]:
    """The questions again and again, each with another number, so that no answer is at hand."""
    numbers = itertools.count()
    lock = threading.Lock()

    def every() -> Iterator[str]:
        while True:
            with lock:
                number = next(numbers)
            yield f"{questions[number % len(questions)]} {number}"

    return _Shared(every())


class _Shared(Iterator[str]):
    """An iterator that several threads may ask."""

    def __init__(self, values: Iterator[str]) -> None:
        self._values = values
        self._lock = threading.Lock()

    def __next__(self) -> str:
        with self._lock:
            return next(self._values)


# --- beside the readers ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Beside:
    """What an ingest and two writers did meanwhile."""

    messages: int = 0
    exports: int = 0
    written: Load = field(default_factory=Load)
    found: Load = field(default_factory=Load)
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def told(self) -> measure.Document:
        self.written.seconds = self.found.seconds = self.seconds
        return {
            "messages_a_second": round(self.messages / self.seconds, 1),
            "exports": self.exports,
            "add": self.written.told(),
            "search_of_ones_own": self.found.told(),
            "stale": self.found.stale,
            "errors": self.errors[:5],
        }


Take = Callable[[Path, Callable[[int], None]], None]
"""Reads an export; tells how many messages it has read so far."""

Say = Callable[[int, str], str]
"""A writer says something; the message's id."""

Find = Callable[[str], list[str]]
"""The ids of the messages that a question finds."""


@contextmanager
def busy(exports: Iterator[Path], take: Take, say: Say | None = None, find: Find | None = None) -> Iterator[Beside]:
    """An ingest and, with what they need, two writers, as long as the block lasts. It has read one export before, so
    that no module is left to be imported."""
    take(next(exports), lambda count: None)
    beside = Beside()
    stop = threading.Event()
    began = time.perf_counter()

    def taking() -> None:
        while not stop.is_set():
            before = beside.messages

            def told(count: int, before: int = before) -> None:
                beside.messages = before + count
                if stop.is_set():
                    raise KeyboardInterrupt  # what is committed stays

            try:
                take(next(exports), told)
                beside.exports += 1
            except KeyboardInterrupt:
                return
            except Exception as error:
                beside.errors.append(f"{type(error).__name__}: {error}")
                return

    def writing(writer: int, say: Say, find: Find) -> None:
        for number in itertools.count():
            if stop.wait(WRITER_RESTS):
                return
            text = f"writer{writer} keeps keepsake{os.getpid()}x{int(began)}x{number} in drawer {number}"
            try:
                at = time.perf_counter()
                message = say(writer, text)
                beside.written.taken.append(time.perf_counter() - at)
                at = time.perf_counter()
                found = find(text)
                beside.found.taken.append(time.perf_counter() - at)
                beside.found.stale += message not in found
            except Exception as error:
                beside.errors.append(f"{type(error).__name__}: {error}")

    threads = [
        threading.Thread(target=taking),
        *(threading.Thread(target=writing, args=(n, say, find)) for n in range(WRITERS) if say and find),
    ]
    for thread in threads:
        thread.start()
    try:
        yield beside
    finally:
        beside.seconds = time.perf_counter() - began
        stop.set()
        for thread in threads:
            thread.join()


def exports(folder: Path, texts: Sequence[str], count: int = EXPORT_MESSAGES) -> Iterator[Path]:
    """One export after another, none with a text of another's: each text has to be embedded."""
    pool = material.sentences(texts)
    for number in itertools.count():
        mark = f"{os.getpid()}-{number}"
        chance = random.Random(mark)
        yield material.write_jsonl(
            folder / f"export-{number}.jsonl",
            [
                {
                    "session_id": f"load-{mark}-{turn // material.SESSION_MESSAGES}",
                    "message_id": f"load-{mark}-{turn}",
                    "role": "assistant" if turn % 2 else "user",
                    "timestamp": f"2025-03-{1 + turn % 28:02}T10:{turn % 60:02}:00Z",
                    "content": " ".join(chance.choices(pool, k=chance.choice((2, 2, 3)))),
                }
                for turn in range(count)
            ],
        )


# --- in this process ------------------------------------------------------------------------------------


def in_process(
    home: Path, user: str, questions: Sequence[str], seconds: float, messages: int = EXPORT_MESSAGES
) -> measure.Document:
    asked = unlike(questions)
    with tempfile.TemporaryDirectory() as folder, Appliance.open(home, create=False) as memory:
        made = exports(Path(folder), material.texts()[0], messages)
        sessions = [memory.sessions.create(title=f"Writer {n}", user_id=user) for n in range(WRITERS)]

        def ask(question: str) -> object:
            return memory.search(question, user_id=user)

        def take(file: Path, told: Callable[[int], None]) -> None:
            memory.ingest(
                file, user_id=user, on_file=lambda path, count: told(count), on_embedded=lambda d, p: told(messages)
            )

        def say(writer: int, text: str) -> str:
            return sessions[writer].add("user", text).id

        def find(text: str) -> list[str]:
            return [hit.message_id for hit in memory.search(text, user_id=user)]

        in_turn(ask, asked, 1, seconds / 5)
        found: measure.Document = {"chunks": memory.status()["counts"]["chunks"]}
        found["idle"] = {
            "one": in_turn(ask, asked, 1, seconds).told(),
            "eight": in_turn(ask, asked, READERS, seconds).told(),
            "paced": paced(ask, asked, RATE, seconds).told(),
        }
        found["beside"] = {}
        for name, load in (
            ("one", lambda: in_turn(ask, asked, 1, seconds)),
            ("eight", lambda: in_turn(ask, asked, READERS, seconds)),
            ("paced", lambda: paced(ask, asked, RATE, seconds)),
        ):
            with busy(made, take, say, find) as beside:
                measured = load().told()
            found["beside"][name] = {**measured, "beside": beside.told()}
        found["beside_over_idle_p95"] = {
            name: round(found["beside"][name]["p95"] / found["idle"][name]["p95"], 2) for name in found["idle"]
        }
        found["status"] = {k: v for k, v in memory.status().items() if k in ("latency", "queues", "memory")}
        found["rss_anon_mb"] = measure.rss_anon_mb()
    return found


# --- over HTTP ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Daemon:
    """A memory that is served by a process of its own."""

    process: int
    url: str
    token: str

    def client(self) -> httpx.Client:
        return httpx.Client(
            base_url=self.url, headers={"authorization": f"Bearer {self.token}"}, timeout=120.0, trust_env=False
        )


@contextmanager
def daemon(home: Path) -> Iterator[Daemon]:
    """``appliance serve`` on a port that is free, until the block ends.

    Raises:
        RuntimeError: it ended, or did not begin to serve in time.
    """
    place = home / "daemon.json"
    place.unlink(missing_ok=True)
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "appliance", "serve", "--home", str(home), "--port", "0"],
            cwd=measure.ROOT,
            env=measure.environment(),
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        try:
            until = time.monotonic() + START_SECONDS
            while not place.exists():
                if process.poll() is not None or time.monotonic() > until:
                    said.seek(0)
                    raise RuntimeError(f"'appliance serve' does not serve: {said.read()[-2_000:]}")
                time.sleep(0.05)
            told = json.loads(place.read_text(encoding="utf-8"))
            token = Path(told["token_file"]).read_text(encoding="utf-8").strip()
            yield Daemon(process.pid, told["url"], token)
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def over_http(home: Path, user: str, questions: Sequence[str], seconds: float) -> measure.Document:
    asked = unlike(questions)
    with Appliance.open(home, create=False, worker=False) as memory:
        memory.embed_pending()
        here = in_turn(lambda question: memory.search(question, user_id=user), asked, 1, seconds).told()
    found: measure.Document = {"in_process_one": here}
    clients = threading.local()
    with tempfile.TemporaryDirectory() as folder, daemon(home) as served:
        beyond: list[float] = []

        def ask(question: str) -> None:
            if not hasattr(clients, "client"):
                clients.client = served.client()
            began = time.perf_counter()
            answer = clients.client.post("/v1/search", json={"query": question, "user_id": user})
            answer.raise_for_status()
            beyond.append(time.perf_counter() - began - answer.json()["took_ms"] / 1000)

        _, take = asking(served, user)
        in_turn(ask, asked, 1, seconds / 5)
        found["idle"] = measure.idle(served.process, seconds)
        found["sustained"] = {}
        for connections in CONNECTIONS:
            beyond.clear()
            found["sustained"][str(connections)] = in_turn(ask, asked, connections, seconds).told()
            found["sustained"][str(connections)]["beyond_the_search_ms"] = measure.percentiles(beyond)
        found["adds_ms_p50"] = round(found["sustained"]["1"]["p50"] - here["p50"], 2)
        made = exports(Path(folder), material.texts()[0])
        with busy(made, take) as beside:
            found["beside_ingest"] = paced(ask, asked, RATE, 2 * seconds).told()
        found["beside_ingest"]["beside"] = beside.told()
        found["after"] = measure.idle(served.process, seconds)
    return found


def asking(served: Daemon, user: str) -> tuple[Ask, Take]:
    """How to ask a daemon, and how to give it an export."""
    clients = threading.local()

    def ask(question: str) -> None:
        if not hasattr(clients, "client"):
            clients.client = served.client()
        clients.client.post("/v1/search", json={"query": question, "user_id": user}).raise_for_status()

    def take(file: Path, told: Callable[[int], None]) -> None:
        with served.client() as client:
            client.post(
                "/v1/import",
                params={"user_id": user, "wait": "true", "filename": file.name},
                content=file.read_bytes(),
                headers={"content-type": "application/octet-stream"},
            ).raise_for_status()
        told(EXPORT_MESSAGES)

    return ask, take


def relabelled(home: Path) -> None:
    """Let the stand-in's vectors count as the shipped model's."""
    model = appliance_models.load()
    identity = f"{model.identity} {PASSAGE_FORMAT}"
    database = sqlite3.connect(home / "recall.db")
    try:
        generation, known = database.execute("SELECT id, identity FROM generation WHERE state = 'active'").fetchone()
        if known == identity:
            return
        assert known.startswith("projection@") and model.dimension == 384, known
        blank = home / "blank.ledger"
        VectorLedger(blank, identity, model.dimension, 0).close()
        with (home / "vectors" / f"g{generation}.ledger").open("r+b") as ledger:
            ledger.write(blank.read_bytes()[:HEADER_BYTES])
        blank.unlink()
        with database:
            database.execute(
                "UPDATE generation SET model = ?, identity = ? WHERE id = ?", (model.name, identity, generation)
            )
    finally:
        database.close()


def run(
    home: Path, user: str, seconds: float, only: str | None,
    question_count: int = 200, messages: int = EXPORT_MESSAGES, readers: int = 1,
) -> measure.Document:  # fmt: skip
    relabelled(home)
    questions = material.questions(material.texts()[0], question_count)
    document: measure.Document = {
        "benchmark": "serving",
        "machine": measure.machine(),
        "seconds_a_phase": seconds,
        "targets": TARGETS,
    }
    if only in (None, "process"):
        document["in_process"] = in_process(home, user, questions, seconds, messages)
    if only in (None, "http"):
        document["http"] = over_http(home, user, questions, seconds)
    if only in (None, "sixteen"):
        from tests.bench import searchers  # it is made of the parts of this module

        document["sixteen"] = searchers.sixteen(home, user, questions, seconds, readers)
    return document


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True, help="a copy: it is changed")
    parser.add_argument("--user", default="me", help="whose memory is asked")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each phase lasts")
    parser.add_argument("--quick", action="store_true", help="two seconds a phase")
    parser.add_argument("--only", choices=("process", "http", "sixteen"), help="one part alone")
    parser.add_argument("--readers", type=int, default=max(usual_readers(), 1), help="reader processes of a daemon")
    given = parser.parse_args()
    measure.show(run(given.home, given.user, 2.0 if given.quick else given.seconds, given.only, readers=given.readers))


if __name__ == "__main__":
    main()
