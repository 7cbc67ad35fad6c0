"""One home that lives through many killed processes, and a record of what it must hold and must not hold.

A worker process does one thing with the home and prints what it has acknowledged; it is killed at some moment. Then the
home is opened here and compared with the record: what was acknowledged is there once, what was forgotten is nowhere.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard
from ahocorasick_rs import BytesAhoCorasick

from appliance import Appliance
from appliance_models import HashEmbedder

WORKER = Path(__file__).with_name("life_worker.py")
ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
ZLIB_STREAMS = (b"\x78\x01", b"\x78\x9c", b"\x78\xda")
MAX_UNPACKED_BYTES = 1 << 26


@dataclass(slots=True)
class Outcome:
    """What a worker had acknowledged when it ended, and whether it was killed before its end."""

    acknowledged: list[list[Any]]
    killed: bool
    seconds: float


def work(home: Path, action: str, *arguments: str, kill_after: float | None = None) -> Outcome:
    """Let a process do one thing with the home, and kill it so many seconds after it has the home open."""
    process = subprocess.Popen(
        [sys.executable, str(WORKER), str(home), action, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    began = time.perf_counter()
    acknowledged: list[list[Any]] = []
    timer: threading.Timer | None = None
    with process.stdout as lines:
        for text in lines:
            said = json.loads(text)
            if said == ["open"]:
                began = time.perf_counter()
                if kill_after is not None:
                    timer = threading.Timer(kill_after, process.kill)
                    timer.start()
            else:
                acknowledged.append(said)
    with process.stderr as errors:
        stderr = errors.read()
    code = process.wait()
    if timer is not None:
        timer.cancel()
        timer.join()
    assert code in (0, -signal.SIGKILL), f"{action} ended with {code}: {stderr}"
    return Outcome(acknowledged, code != 0, time.perf_counter() - began)


@dataclass(slots=True)
class Record:
    """What the home must hold: the texts by session. What it must not hold: words of what was forgotten."""

    sessions: dict[str, set[str]] = field(default_factory=dict)
    forgotten: list[str] = field(default_factory=list)
    receipts: int = 0

    @property
    def texts(self) -> set[str]:
        return {text for texts in self.sessions.values() for text in texts}


def words_of(text: str) -> list[str]:
    """The words of a text that no other text has."""
    return [word for word in text.split() if word.startswith("qz")]


def conversation(session: str, count: int) -> list[str]:
    """Texts each with a word of its own: "qz" with the session and the number."""
    chance = random.Random(session)
    common = "river bridge lantern market violin harbour winter ticket garden engine letter copper".split()
    return [f"{' '.join(chance.choices(common, k=chance.choice((2, 6, 15))))} qz{session}x{n}" for n in range(count)]


def write_export(path: Path, session: str, texts: Sequence[str]) -> Path:
    lines = (
        {"session_id": session, "message_id": f"{session}-{n}", "role": "user", "content": text,
         "session_title": f"About {session}", "timestamp": f"2024-03-{1 + n % 28:02}T10:00:00Z"}
        for n, text in enumerate(texts)
    )  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def open_memory(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


def check(home: Path, record: Record, possible: dict[str, set[str]]) -> None:
    """Compare the home with the record. ``possible`` are texts by session that may be there or not, because nobody
    acknowledged them; those that are there belong to the record from now on."""
    with open_memory(home) as memory:
        memory.run_pending_jobs()
        there = Counter((line["session_id"], line["content"]) for line in memory.export())
        assert set(there.values()) <= {1}, "nothing is there twice"
        must = {(session, text) for session, texts in record.sessions.items() for text in texts}
        may = {(session, text) for session, texts in possible.items() for text in texts}
        assert not must - set(there), "what was acknowledged is there"
        assert not set(there) - must - may, "what was forgotten stays away, and nothing is invented"
        for session, text in set(there) - must:
            record.sessions.setdefault(session, set()).add(text)
        report = memory.verify()
        assert not report.problems, report.problems
        receipts = memory.erasure.receipts()
        assert [receipt.state for receipt in receipts] == ["done"] * len(receipts)


def traces(folders: Sequence[Path], words: Sequence[str]) -> list[tuple[Path, str]]:
    """The words that stand in a file: as UTF-8 or UTF-16, as they are or within a compressed frame, or in a column of
    a database."""
    patterns = [(word, coded) for word in words for coded in (word.encode(), word.encode("utf-16-le"))]
    if not patterns:
        return []
    automaton = BytesAhoCorasick([coded for _, coded in patterns])
    return [
        (path, patterns[index][0])
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for data in _contents(path)
        for index, _, _ in automaton.find_matches_as_indexes(data.lower())
    ]


def _contents(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    yield data
    yield from _unpacked(data)
    if data.startswith(b"SQLite format 3\0"):
        for value in _values(path):
            yield from _unpacked(value)


def _unpacked(data: bytes) -> Iterator[bytes]:
    for magic, unpack in ((ZSTD_FRAME, _unzstd), *((magic, _unzlib) for magic in ZLIB_STREAMS)):
        at = data.find(magic)
        while at >= 0:
            yield unpack(data[at:])
            at = data.find(magic, at + 1)


def _unzstd(data: bytes) -> bytes:
    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    except zstandard.ZstdError:
        return b""


def _unzlib(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, MAX_UNPACKED_BYTES)
    except zlib.error:
        return b""


def _values(path: Path) -> Iterator[bytes]:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.text_factory = bytes
    try:
        tables = [row[0].decode() for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for table in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                yield from (value for value in row if isinstance(value, bytes))
    except sqlite3.Error:
        return
    finally:
        connection.close()


@dataclass(slots=True)
class Life:
    """A home, its record, and how long each action takes when nobody kills it."""

    folder: Path
    chance: random.Random
    record: Record = field(default_factory=Record)
    durations: dict[str, float] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)
    number: int = 0

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def new_session(self) -> str:
        self.number += 1
        return f"s{self.number:05}e"

    def kill_during(self, action: str, *arguments: str) -> Outcome:
        """Do something that is killed at a moment of its usual duration; sometimes it comes to its end first."""
        usual = self.durations.get(action, 0.3)
        outcome = work(self.home, action, *arguments, kill_after=self.chance.random() * usual * 1.1)
        if outcome.killed:
            self.kills[action] += 1
            self.durations[action] = usual * 1.2  # it takes longer than that
        else:
            self.durations[action] = outcome.seconds
        return outcome


Action = Callable[[Life], None]


def add(life: Life) -> None:
    session = life.new_session()
    texts = conversation(session, 40)
    outcome = life.kill_during("add", session, json.dumps(texts))
    life.record.sessions[session] = {text for _, text in outcome.acknowledged}
    check(life.home, life.record, {session: set(texts)})


def ingest(life: Life) -> None:
    session = life.new_session()
    texts = conversation(session, 120)
    export = write_export(life.folder / f"{session}.jsonl", session, texts)
    outcome = life.kill_during("ingest", str(export))
    for _, _, count in outcome.acknowledged:
        life.record.sessions[session] = set(texts[:count])
    check(life.home, life.record, {session: set(texts)})
    export.unlink()


def forget(life: Life, action: str = "forget") -> None:
    session = life.chance.choice(sorted(session for session, texts in life.record.sessions.items() if texts))
    texts = life.record.sessions.pop(session)
    outcome = life.kill_during(action, session)
    check(life.home, life.record, {} if outcome.acknowledged else {session: texts})
    left = life.record.sessions.get(session)
    if left is None or not left:
        life.record.sessions.pop(session, None)
        if action == "forget":  # what is only deleted may leave words in old pages, until the next erasure
            words = [word for text in texts for word in words_of(text)]
            life.record.forgotten.extend(words)
            assert not traces([life.home], words)
    else:
        assert left == texts, "it is there whole or gone whole"


def delete(life: Life) -> None:
    forget(life, "delete")


def reindex(life: Life) -> None:
    life.kill_during("reindex")
    check(life.home, life.record, {})


def reindex_vectors(life: Life) -> None:
    life.kill_during("vectors")
    check(life.home, life.record, {})


ACTIONS: dict[str, tuple[int, Action]] = {
    "add": (4, add),
    "ingest": (4, ingest),
    "forget": (3, forget),
    "delete": (1, delete),
    "reindex": (1, reindex),
    "vectors": (1, reindex_vectors),
}
"""What can be killed, and how often it is chosen."""


def live(folder: Path, kills: int, seed: int) -> Life:
    """Go on until so many processes were killed in the middle of something."""
    life = Life(folder, random.Random(seed))
    for _ in range(6):
        session = life.new_session()
        texts = conversation(session, 120)
        whole = work(life.home, "ingest", str(write_export(folder / f"{session}.jsonl", session, texts)))
        life.durations["ingest"] = whole.seconds
        life.record.sessions[session] = set(texts)
    names = list(ACTIONS)
    weights = [ACTIONS[name][0] for name in names]
    pending = list(names)  # each once, then as they come
    while life.kills.total() < kills:
        name = pending.pop(0) if pending else life.chance.choices(names, weights)[0]
        if len(life.record.sessions) < 4:
            name = "ingest"
        elif len(life.record.texts) > 3_000:
            name = "forget"
        ACTIONS[name][1](life)
    assert not traces([life.home], life.record.forgotten)
    return life
