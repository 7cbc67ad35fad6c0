"""A process of its own that works on a home, says what it has acknowledged, and can be killed in between."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workers import shared_workers

from appliance import Appliance
from appliance.store.index.edge import EdgeIndex
from appliance_models import HashEmbedder
from tests.engines import engine_of


@dataclass(slots=True)
class Acknowledged:
    """What a process had said when it ended: messages by file, and chunks embedded. ``killed`` is False
    when it came to its end first; ``seconds`` is how long it worked."""

    files: dict[str, int] = field(default_factory=dict)
    embedded: int = 0
    events: int = 0
    killed: bool = False
    seconds: float = 0.0


def run(action: str, home: Path, files: Sequence[Path | str], kill: tuple[int, float] | None = None) -> Acknowledged:
    """Work on a home in another process; ``kill`` ends it that many seconds after so many events."""
    outcome = shared_workers().run("run_verbs.work", action, str(home), *map(str, files), kill_at=kill)
    assert outcome.code == 0 or (kill is not None and outcome.killed), f"it failed by itself: {outcome.errors}"
    said = Acknowledged(killed=outcome.killed, seconds=outcome.seconds)
    for words in outcome.acknowledged:
        _hear(said, words)
    return said


def _hear(said: Acknowledged, words: list[Any]) -> None:
    said.events += 1
    if words[0] == "file":
        said.files[words[1]] = words[2]
    elif words[0] == "embedded":
        said.embedded = words[1]


def moments(whole: Acknowledged, count: int, seed: int) -> list[tuple[int, float]]:
    """So many moments to kill at, spread over a run like ``whole``: after which event, and how long after.

    Half of them are at once, which is when something would be missing that was acknowledged too early.
    """
    chance = random.Random(seed)
    gap = whole.seconds / whole.events
    last = whole.events - 1
    return [
        (1 + int((number + chance.random()) * last / count), chance.choice((0.0, chance.random() * gap)))
        for number in range(count)
    ]


def write(path: Path, lines: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def chat(session: str, count: int, *, edited: bool = False) -> list[dict[str, Any]]:
    """A conversation of talk and tool records, long and short, some without a time. ``edited`` gives every
    fifth message other words and adds some at the end."""
    chance = random.Random(session)
    words = "river bridge lantern market violin harbour winter ticket garden engine letter copper".split()
    lines = []
    for number in range(count + (count // 10 if edited else 0)):
        said = " ".join(chance.choices(words, k=chance.choice((3, 8, 20))))
        # A third says what others say too: their chunks share a vector.
        text = chance.choice(words) if number % 3 == 0 else f"{said} number {number} of {session}"
        if number % 40 == 0:
            text = " ".join(f"{text}, sentence {i}." for i in range(30))
        if edited and number % 5 == 0:
            text += " as it was meant"
        line = {
            "session_id": session,
            "message_id": f"{session}-{number}",
            "role": ("user", "assistant", "user", "tool")[number % 4],
            "content": text,
        }
        if number % 7:
            line["timestamp"] = f"2024-03-{1 + number * 28 // (2 * count):02}T10:{number % 60:02}:00Z"
        lines.append(line)
    return lines


QUESTIONS = ("violin at the harbour", "number 77 of", "copper engine winter as it was meant")


@dataclass(frozen=True, slots=True)
class Content:
    """All that a home holds, to be compared with another's."""

    exported: list[dict[str, Any]]
    found: list[list[tuple[str, float]]]
    indexed: list[tuple[str, int, str, str]]
    vectors: int
    points: int
    revisions: int


def _points(memory: Appliance) -> list[tuple[str, int, str, str]]:
    """Every point by message and place in it, with the terms of its two texts as the index has them."""
    engine = engine_of(memory)
    rows = engine._database.read().execute(
        "SELECT c.id, m.external_id, c.start FROM chunk c JOIN message m ON m.id = c.message_id"
        " WHERE c.generation = (SELECT id FROM generation WHERE state = 'active')"
    )
    places = {chunk: (name, start) for chunk, name, start in rows}
    with engine._index_service.serving.lease() as stores:
        assert stores is not None and isinstance(stores.index, EdgeIndex)
        with stores.index._engine("be compared") as shard:
            records = shard.retrieve(sorted(places), False, ["own", "window"])
    return sorted(
        (*places[record.id], *(_terms(record.vector, leg) for leg in ("own", "window"))) for record in records
    )


def _terms(vectors: Any, leg: str) -> str:
    found = (vectors or {}).get(leg)
    return str(
        sorted((index, round(value, 3)) for index, value in zip(found.indices, found.values, strict=True))
        if found
        else []
    )


def but_found(content: Content) -> Content:
    """The content without the hits. When many points were replaced, scores depend on the history of an index in their
    fourth digit: its 4-bit codes are those of each segment, and its word statistics count deleted points a while."""
    return replace(content, found=[])


def content(memory: Appliance) -> Content:
    findings = memory.verify()
    assert not findings.problems
    assert memory.status()["counts"]["pending"] == 0
    return Content(
        list(memory.export()),
        [[(hit.external_id, round(hit.score, 4)) for hit in memory.search(q, limit=10)] for q in QUESTIONS],
        _points(memory),
        findings.checked.get("vectors", 0),
        findings.checked.get("points", 0),
        findings.checked.get("revisions", 0),
    )


def open_memory(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())
