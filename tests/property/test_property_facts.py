"""Facts are the same whatever the order in which messages come in and however often they are read, and are never
another's."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from appliance import Appliance
from appliance.errors import NotFound
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.examples import examples

SAID = (
    "I live in Berlin.",
    "We moved to Madrid.",
    "I moved from Madrid to Rome.",
    "I no longer live in Rome.",
    "I lived in Oslo until 2019.",
    "My birthday is May 3.",
    "My birthday is June 4.",
    "I love hiking.",
    "I hate hiking.",
    "I use Postgres 15.",
    "We use Postgres 16.",
    "I no longer use Postgres.",
    "I'm vegan.",
    "My name is Ana.",
    "My name is Ana Kowalska.",
    "My sister Ida lives in Bern.",
    "My deadline is March 15th.",
    "Always answer in metric units.",
    "Nothing to see here.",
    "We're planning a trip to Peru.",
    "We're planning a trip to Rome.",
    "The trip is cancelled.",
    "The trip to Peru is cancelled.",
    "My flight to Rome is on May 2.",
    "My flight to Peru is on May 5.",
    "My flight was moved to May 9.",
    "The deadline has been moved to April 2. I live in Bonn.",
)

messages = st.lists(st.tuples(st.sampled_from(SAID), st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=12)


def line(number: int, text: str, when: int, session: int) -> dict[str, Any]:
    return {
        "session_id": f"s{session}",
        "message_id": f"m{number}",
        "role": "user",
        "content": text,
        "timestamp": f"2024-01-{1 + when:02}T10:00:00Z",
    }


def known(memory: Appliance, user: str | None = None) -> list[Any]:
    """All facts without their ids."""
    found = [
        fact for state in ("held", "ended", "superseded", "review") for fact in memory.facts.list(user, state=state)
    ]  # type: ignore[arg-type]
    quotes = {
        fact.id: sorted((memory.message(q.message_id).external_id, q.start) for q in fact.evidence) for fact in found
    }
    return sorted(
        [
            f.state,
            f.subject,
            f.attribute,
            f.value,
            f.since or "",
            f.until or "",
            f.said_at,
            round(f.confidence, 6),
            quotes[f.id],
        ]
        for f in found
    )


def ingest(memory: Appliance, lines: list[dict[str, Any]], folder: Path, **more: Any) -> None:
    path = folder / f"{random.getrandbits(40)}.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    memory.ingest(path, wait=False, **more)


def open_memory(folder: Path) -> Appliance:
    return Appliance.open(folder / "home", worker=False, embedder=HashEmbedder())


@settings(max_examples=examples(10), deadline=None)
@given(messages, st.randoms(use_true_random=False), st.integers(1, 5))
@example([("We moved to Madrid.", 0, 1), ("I moved from Madrid to Rome.", 0, 0)], random.Random(2), 1)
@example(
    [
        ("We're planning a trip to Peru.", 0, 1),
        ("The trip is cancelled.", 1, 0),
        ("We're planning a trip to Rome.", 0, 2),
    ],
    random.Random(3),
    1,
)
def test_any_order_of_sessions_and_any_cut_gives_the_same_facts(
    said: list[tuple[str, int, int]], chance: random.Random, cuts: int
) -> None:
    lines = [line(number, *one) for number, one in enumerate(said)]
    lines.sort(key=lambda one: one["timestamp"])
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        with open_memory(Path(first)) as memory:
            ingest(memory, lines, Path(first))
            whole = known(memory)
            assert engine_of(memory).facts.extract_pending() == 0
            with engine_of(memory)._database.write() as tx:
                tx.execute("INSERT INTO fact_due SELECT id FROM message")
            assert known(memory) == whole, "read a second time"
        with open_memory(Path(second)) as memory:
            sessions = sorted({one["session_id"] for one in lines})
            chance.shuffle(sessions)
            for session in sessions:
                mine = [one for one in lines if one["session_id"] == session]
                size = max(1, len(mine) // cuts)
                for start in range(0, len(mine), size):
                    ingest(memory, mine[start : start + size], Path(second))
                    if chance.random() < 0.5:
                        engine_of(memory).facts.extract_pending()
            assert known(memory) == whole


SCOPES = (("me", ""), ("ana", ""), ("ben", ""), ("ana", "work"), ("", "ana"), ("ANA", ""))


@settings(max_examples=examples(6), deadline=None)
@given(st.data())
def test_facts_are_of_one_user_and_namespace(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder, open_memory(Path(folder)) as memory:
        owners = {scope: f"Town{chr(97 + number)}ville" for number, scope in enumerate(SCOPES)}
        for (user, namespace), town in owners.items():
            said = [f"I live in {town}.", "I use Redis.", data.draw(st.sampled_from(SAID[5:-1]))]
            lines = [line(n, text, n, 0) for n, text in enumerate(said)]
            ingest(memory, lines, Path(folder), user_id=user, namespace=namespace)
        user, namespace = data.draw(st.sampled_from(SCOPES))
        redis = next(f for f in memory.facts.list(user, namespace) if f.value == "Redis")
        act = data.draw(st.sampled_from(("confirm", "reject", "correct", "none")))
        if act == "correct":
            memory.facts.correct(redis.id, "Valkey")
        elif act != "none":
            getattr(memory.facts, act)(redis.id)
        for scope, town in owners.items():
            for fact in (*memory.facts.list(*scope), *memory.facts.history("me", user_id=scope[0], namespace=scope[1])):
                assert (fact.user_id, fact.namespace) == scope
                assert not any(other in fact.text for other in owners.values() if other != town)
                for quote in fact.evidence:
                    info = memory.sessions.info(memory.message(quote.message_id).session_id)
                    assert (info.user_id, info.namespace) == scope
            assert town in {fact.value for fact in memory.facts.list(*scope)}
            tools = {fact.value for fact in memory.facts.list(*scope) if fact.attribute == "uses"} & {"Redis", "Valkey"}
            changed = {"reject": set(), "correct": {"Valkey"}}.get(act, {"Redis"})
            assert tools == (changed if scope == (user, namespace) else {"Redis"})
            if scope[0] != user:
                with pytest.raises(NotFound):
                    memory.facts.get(redis.id, user_id=scope[0])
