"""One person's memory is never shown to another: whatever is asked, in whatever mode, embedded or waiting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from appliance import Appliance
from appliance.errors import NotFound
from appliance_models import HashEmbedder
from tests.examples import examples

pytestmark = pytest.mark.usefixtures("every_field_index")

SCOPES = (("me", ""), ("ana", ""), ("ben", ""), ("ana", "work"), ("ana", "me"), ("", "ana"), ("ANA", ""))
SHARED = "the violin lies in the harbour office, ask about the copper key on tuesday".split()


def mark(scope: tuple[str, str]) -> str:
    """A word that only this scope's messages hold."""
    return f"mark{SCOPES.index(scope)}x"


@pytest.fixture(scope="module", params=["embedded", "half", "waiting"])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """A memory in which all scopes have the same sessions, message ids and words, but for one word each."""
    folder = tmp_path_factory.mktemp("shared")
    with Appliance.open(folder / "home", worker=False, embedder=HashEmbedder()) as memory:
        for number, scope in enumerate(SCOPES):
            lines = [
                {
                    "session_id": "same",
                    "message_id": f"same-{i}",
                    "role": ("user", "assistant", "tool")[i % 3],
                    "content": f"{' '.join(SHARED[i % 5 :: 2])} {mark(scope)}",
                    "author": f"Author{mark(scope)}",
                    "session_title": f"Title {mark(scope)}",
                    "timestamp": f"2024-01-{1 + i % 28:02}T10:00:00Z",
                }
                for i in range(24)
            ]
            path = folder / "lines.jsonl"
            path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            wait = request.param == "embedded" or (request.param == "half" and number % 2 == 0)
            memory.ingest(path, user_id=scope[0], namespace=scope[1], wait=wait)
        yield memory


queries = st.one_of(
    st.lists(st.sampled_from([*SHARED, *map(mark, SCOPES)]), min_size=1, max_size=8).map(" ".join), st.text(max_size=20)
)
narrowed = st.fixed_dictionaries(
    {},
    optional={
        "roles": st.lists(st.sampled_from(("user", "assistant", "tool", "system")), min_size=1, max_size=3),
        "sources": st.sampled_from((["native"], ["whatsapp", "native"], ["chatgpt"])),
        "since": st.sampled_from(("2024-01-05", "2023-01-01T00:00:00Z")),
        "until": st.sampled_from(("2024-01-09", "2024-01-20T10:00:00+00:00")),
        "agent_id": st.sampled_from(("", "helper")),
    },
)


def foreign(scope: tuple[str, str], text: str) -> list[str]:
    return [mark(other) for other in SCOPES if other != scope and mark(other) in text]


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    scope=st.sampled_from(SCOPES),
    query=queries,
    mode=st.sampled_from(("hybrid", "dense", "lexical")),
    filters=narrowed,
    limit=st.integers(1, 60),
)
def test_a_search_shows_only_its_own_scope(
    shared: Appliance, scope: tuple[str, str], query: str, mode: Any, filters: dict[str, Any], limit: int
) -> None:
    hits = shared.search(query, mode=mode, user_id=scope[0], namespace=scope[1], limit=limit, **filters)
    for hit in hits:
        assert mark(scope) in hit.text and mark(scope) in (hit.author or "")
        assert not foreign(scope, json.dumps([hit.text, hit.snippet, hit.author, hit.session_title]))
        assert hit.role in filters.get("roles", ("user", "assistant"))
        assert (hit.timestamp or "") >= "2024-01-05" or filters.get("since") != "2024-01-05"
        assert (hit.timestamp or "") < "2024-01-10" or filters.get("until") != "2024-01-09"
    if filters.get("agent_id") == "helper" or filters.get("sources") == ["chatgpt"]:
        assert not hits


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scope=st.sampled_from(SCOPES), query=queries, budget=st.integers(1, 1_500))
def test_a_context_holds_only_its_own_scope(shared: Appliance, scope: tuple[str, str], query: str, budget: int) -> None:
    (info,) = shared.sessions.list(user_id=scope[0], namespace=scope[1])
    for context in (
        shared.context(query, user_id=scope[0], namespace=scope[1], budget=budget),
        shared.context(query, session_id=info.id, budget=budget),
    ):
        everything = json.dumps(
            [context.text, context.messages, [layer.items for layer in context.layers]], default=str
        )
        assert not foreign(scope, everything)
        assert context.tokens <= budget


def test_every_scope_is_found_by_its_own_words(shared: Appliance) -> None:
    """The tests above would pass on an empty answer."""
    for scope in SCOPES:
        for mode in ("hybrid", "lexical"):
            hits = shared.search(mark(scope), mode=mode, user_id=scope[0], namespace=scope[1], limit=50)  # type: ignore[arg-type]
            folded = [other for hit in hits for other in hit.why["variants"]]
            assert len({hit.message_id for hit in hits} | set(folded)) == 16, "all of its talk"
            for other in SCOPES:
                if other != scope:
                    found = shared.search(mark(scope), mode="lexical", user_id=other[0], namespace=other[1])
                    assert not found
        context = shared.context("violin harbour key", user_id=scope[0], namespace=scope[1], budget=1_000)
        assert mark(scope) in context.text


def test_another_user_s_session_is_not_opened_by_its_id(shared: Appliance) -> None:
    (theirs,) = shared.sessions.list(user_id="ben")
    assert not shared.search("violin", user_id="ana", session_id=theirs.id)
    with pytest.raises(NotFound):
        shared.context("violin", user_id="ana", session_id=theirs.id)


def test_lists_and_exports_are_of_one_user(shared: Appliance, tmp_path: Path) -> None:
    for scope in SCOPES:
        (info,) = shared.sessions.list(user_id=scope[0], namespace=scope[1])
        assert info.title == f"Title {mark(scope)}"
    ours = json.dumps(list(shared.export(user_id="ben")))
    assert mark(("ben", "")) in ours and not foreign(("ben", ""), ours)
    assert len(list(shared.export())) == 24 * len(SCOPES)
