"""Summaries under any course of things: they quote what stands there, cover what is there, stay in their scope."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from appliance import Appliance
from appliance.store import chunks
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.examples import examples
from tests.summary_talk import chat, write

SCOPES = (("me", ""), ("ana", ""), ("ana", "work"), ("", "ana"))

PIECES = ["We decided it.", "Why?\n", "```\nx = 1\n```", "Ä ö 漢字。", "\x00", "- a\n"]
texts = st.one_of(st.text(max_size=900), st.lists(st.sampled_from(PIECES), max_size=80).map(" ".join)).filter(
    lambda text: text.strip() and not any("\ud800" <= c <= "\udfff" for c in text)
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(("user", "assistant", "tool")), texts),
        st.tuples(st.just("edit"), st.integers(0, 30), texts),
        st.tuples(st.just("remove"), st.integers(0, 30)),
        st.tuples(st.just("make")),
        st.tuples(st.just("fill"), st.integers(1, 14)),
    ),
    min_size=2,
    max_size=14,
)


@settings(max_examples=examples(15, costly=True), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_a_summary_quotes_what_stands_there(course: list[tuple[Any, ...]]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Appliance.open(folder, worker=False, embedder=HashEmbedder()) as memory,
    ):
        session = memory.sessions.create()
        filling = iter(chat("fill", 200))
        for step in [*course, ("make",)]:
            there = session.messages()
            match step:
                case ("add", role, text):
                    session.add(role, text)
                case ("edit", number, text) if there:
                    chosen = there[number % len(there)]
                    session.add(chosen.role, text, external_id=chosen.external_id)
                case ("remove", number) if there:
                    _remove(memory, int(there[number % len(there)].id[1:]))
                case ("fill", count):
                    for _ in range(count):
                        line = next(filling)
                        session.add(line["role"], line["content"])
                case ("make",):
                    memory.summaries.make(session.id)
            _check(memory, session.id)
        assert not memory.verify().problems


def _remove(memory: Appliance, key: int) -> None:
    from appliance.store import lexical

    with engine_of(memory)._database.write() as tx:
        lexical.remove_from_index(tx, {key})
        chunks.delete(tx, [key])
        tx.execute("DELETE FROM message WHERE id = ?", (key,))


def _check(memory: Appliance, session: str) -> None:
    """At any moment, also between two makings."""
    messages = memory.sessions.messages(session)
    place = {m.id: n for n, m in enumerate(messages)}
    text = {m.id: m.text for m in messages}
    found = memory.summaries.list(session_id=session)
    for summary in found:
        assert place[summary.first_id] <= place[summary.last_id]
        for quote in summary.quotes:
            assert text[quote.message_id][quote.start : quote.end] == quote.text
            assert " ".join(quote.text.split()) in summary.text
            assert place[summary.first_id] <= place[quote.message_id] <= place[summary.last_id]
            (own,) = [m for m in messages if m.id == quote.message_id]
            assert own.role in ("user", "assistant")
        for items in (summary.metadata[key] for key in ("decisions", "commitments", "unresolved")):
            for item in items:
                assert item["text"] in " ".join(text[item["message_id"]].split())
    for level in ("topic", "exchange"):
        spans = [(place[s.first_id], place[s.last_id]) for s in found if s.level == level]
        assert all(one[1] < other[0] for one, other in pairwise(spans))


def mark(scope: tuple[str, str]) -> str:
    return f"mark{SCOPES.index(scope)}x"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """The same conversation of several people, but for one word."""
    folder = tmp_path_factory.mktemp("shared")
    with Appliance.open(folder / "home", worker=False, embedder=HashEmbedder()) as memory:
        for user, namespace in SCOPES:
            lines = [
                line | {"content": line["content"].replace("see to", f"see {mark((user, namespace))} to")}
                for line in chat("same", 40)
            ]
            memory.ingest(write(folder / "lines.jsonl", lines), user_id=user, namespace=namespace)
        memory.run_pending_jobs()
        yield memory


@settings(
    max_examples=examples(40, costly=True), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    scope=st.sampled_from(SCOPES),
    query=st.lists(
        st.sampled_from(["crane", "tomato", "latency", "oil", *map(mark, SCOPES)]), min_size=1, max_size=4
    ).map(" ".join),
    level=st.sampled_from([None, "session", "topic", "exchange"]),
    limit=st.integers(1, 60),
)
def test_nobody_finds_anothers_summaries(
    shared: Appliance, scope: tuple[str, str], query: str, level: Any, limit: int
) -> None:
    user, namespace = scope
    found = [h.summary for h in shared.summaries.search(
        query, user_id=user, namespace=namespace, level=level, limit=limit)]  # fmt: skip
    assert found
    beside = shared.search(query, user_id=user, namespace=namespace).summaries
    listed = shared.summaries.list(user_id=user, namespace=namespace, level=level)
    assert listed
    for summary in (*found, *(hit.summary for hit in beside), *listed):
        assert mark(scope) in summary.text
        assert not any(mark(other) in repr(summary) for other in SCOPES if other != scope)
    assert not shared.summaries.search(query, user_id=user, namespace=namespace, agent_id="helper")
