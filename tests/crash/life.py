"""One home that lives through many killed processes, and a record of what it must hold and must not hold.

A process does one thing with the home and says what it has acknowledged; it is killed at some moment. Then the home is
opened here and compared with the record: what was acknowledged is there once, what was forgotten is nowhere, and each
receipt is true.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from byte_scan import traces
from workers import Outcome, Workers

from appliance import Appliance, Backups
from appliance.errors import NotFound
from appliance_models import HashEmbedder

Texts = dict[str, set[str]]
"""Texts by session."""


@dataclass(slots=True)
class Record:
    """What the home must hold. What it must not hold: the names of sessions that were forgotten, which are part of all
    that is said in them, their titles and the names of their files. ``deleted`` are beginnings of words that may be
    left in free pages until the next erasure. ``receipts`` are the messages of each erasure; ``backups`` what each
    backup holds, by id."""

    sessions: Texts = field(default_factory=dict)
    forgotten: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    receipts: list[int] = field(default_factory=list)
    backups: dict[str, Texts] = field(default_factory=dict)

    def size(self) -> int:
        return sum(map(len, self.sessions.values()))

    def copy(self) -> Texts:
        return {session: set(texts) for session, texts in self.sessions.items()}


def conversation(session: str, count: int) -> list[str]:
    """Texts each with a word of its own, the name of the session and a number."""
    chance = random.Random(session)
    common = "river bridge lantern market violin harbour winter ticket garden engine letter copper".split()
    return [f"{' '.join(chance.choices(common, k=chance.choice((2, 6, 15))))} {session}x{n}" for n in range(count)]


def write_export(path: Path, session: str, texts: Sequence[str]) -> Path:
    lines = (
        {"session_id": session, "message_id": f"{session}-{n}", "role": "user", "content": text,
         "author": f"Dr {session}", "session_title": f"About {session}", "metadata": {"place": f"at {session}"},
         "timestamp": f"2024-03-{1 + n % 28:02}T10:00:00Z"}
        for n, text in enumerate(texts)
    )  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def open_memory(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


def texts_in(memory: Appliance) -> Texts:
    """All messages of a memory, each of which is there once."""
    there = Counter((line["session_id"], line["content"]) for line in memory.export())
    assert set(there.values()) <= {1}, "nothing is there twice"
    found: Texts = {}
    for session, text in there:
        found.setdefault(session, set()).add(text)
    return found


def check(home: Path, record: Record, possible: Texts) -> None:
    """Compare the home with the record. ``possible`` are texts that may be there or not, because no call acknowledged
    them; those that are there belong to the record from now on."""
    with open_memory(home) as memory:
        memory.run_pending_jobs()
        there = texts_in(memory)
        for session in record.sessions.keys() | there.keys() | possible.keys():
            must, found = record.sessions.get(session, set()), there.get(session, set())
            assert not must - found, f"lost of {session}: {sorted(must - found)[:3]}"
            assert not found - must - possible.get(session, set()), f"came back or invented: {session}"
        record.sessions = there
        report = memory.verify()
        assert not report.problems, report.problems
        check_found(memory, record)


def check_found(memory: Appliance, record: Record) -> None:
    """One message of the memory is found by its word, and nothing is found by that of a forgotten session."""
    texts = min(record.sessions.values(), default=set())
    for text in sorted(texts)[:1]:
        found = memory.search(f'"{text.split()[-1]}"', include_archived=True, limit=3)
        assert text in [hit.text for hit in found], text
    for session in record.forgotten[-1:]:
        found = memory.search(f'"{session}x0"', include_archived=True, limit=3)
        assert not [hit for hit in found if session in hit.text]


def check_erased(home: Path, record: Record) -> None:
    """No file of the home has a word of what was forgotten."""
    found = traces(home, record.forgotten)
    assert not found, found


def check_receipts(memory: Appliance, record: Record, backups: Path) -> None:
    """The receipts claim what happened: all texts sought, no traces, and which backups still hold what was erased."""
    receipts = memory.erasure.receipts()[::-1]
    assert [receipt.messages for receipt in receipts] == record.receipts
    made = []
    with suppress(NotFound):  # a killed backup may have left a folder without any
        made += [info.at for info in Backups.list(backups)]
    for receipt in receipts:
        proof = receipt.proof
        assert (receipt.state, proof.searched, proof.traces, proof.yours) == ("done", True, (), ()), receipt
        assert proof.texts == proof.erased_texts == receipt.messages
        older = [at for at in made if at <= receipt.at]
        assert bool(receipt.backups) == bool(older), (receipt.backups, made, receipt.at)


@dataclass(slots=True)
class Life:
    """A home, its record, and how long each verb takes without a kill."""

    folder: Path
    chance: random.Random
    workers: Workers
    record: Record = field(default_factory=Record)
    durations: dict[str, float] = field(default_factory=dict)
    action: str = ""
    kills: Counter[str] = field(default_factory=Counter)
    """By action; those of the ``jobs`` after one for themselves."""
    forgets_beside_writers: int = 0
    number: int = 0

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def backups(self) -> Path:
        return self.folder / "backups"

    def new_session(self) -> str:
        """A name that is one word and has no ending: full text keeps it as it is."""
        self.number += 1
        return f"qz{self.number:05}k"

    def some_session(self) -> str:
        return self.chance.choice(sorted(session for session, texts in self.record.sessions.items() if texts))

    def work(self, verb: str, *arguments: object) -> Outcome:
        outcome = self.workers.run(f"life_verbs.{verb}", *arguments)
        assert outcome.code == 0, f"{verb} ended with {outcome.code}: {outcome.errors}"
        self.durations[verb] = outcome.seconds
        return outcome

    def kill_during(self, verb: str, *arguments: object) -> Outcome:
        """Do something that is killed at a moment of its usual duration; sometimes it comes to its end first."""
        usual = self.durations.get(verb, 0.3)
        outcome = self.workers.run(f"life_verbs.{verb}", *arguments, kill_after=self.chance.random() * usual * 1.1)
        assert outcome.killed or outcome.code == 0, f"{verb} ended with {outcome.code}: {outcome.errors}"
        if outcome.killed:
            self.kills["jobs" if verb == "jobs" else self.action] += 1
            self.durations[verb] = usual * 1.1  # it takes longer than that
        else:
            self.durations[verb] = outcome.seconds
        return outcome

    def check(self, possible: Texts | None = None) -> None:
        """Open the home again, sometimes after a process that did so was killed too, and compare it with the record."""
        if self.chance.random() < 0.2:
            self.kill_during("jobs", str(self.home))
        check(self.home, self.record, possible or {})

    def check_receipts(self) -> None:
        with open_memory(self.home) as memory:
            check_receipts(memory, self.record, self.backups)


Action = Callable[[Life], None]


def acknowledged_texts(outcome: Outcome) -> Iterable[tuple[str, str]]:
    return ((said[1], said[2]) for said in outcome.acknowledged if said[0] == "added")


def live(life: Life, actions: dict[str, tuple[int, Action]], kills: int, *, sessions: int, max_messages: int) -> None:
    """Go on until so many processes were killed in the middle of something. ``actions`` are what is done, each with its
    weight: how many of the kills should be its own. At first, each is done once. ``sessions`` are there before."""
    for _ in range(sessions):
        session = life.new_session()
        texts = conversation(session, 120)
        life.work("ingest", str(life.home), str(write_export(life.folder / f"{session}.jsonl", session, texts)))
        life.record.sessions[session] = set(texts)
    names = list(actions)
    pending = list(names)
    while life.kills.total() < kills or pending:
        weights = [actions[name][0] / (1 + life.kills[name]) for name in names]
        name = pending.pop(0) if pending else life.chance.choices(names, weights)[0]
        if len(life.record.sessions) < 3:
            name = "ingest"
        elif life.record.size() > max_messages:
            name = "forget"
        life.action = name
        actions[name][1](life)
    check_erased(life.home, life.record)
    life.check_receipts()
