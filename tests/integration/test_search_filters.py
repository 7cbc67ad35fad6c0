"""Filters of a search: by author, in every tier and leg; and what is said of a value that nothing has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import UsageError
from appliance_models import HashEmbedder

pytestmark = pytest.mark.usefixtures("every_field_index")

AUTHORS = ("Ana Gómez", "Ben", "Benjamin Weber", None)


@pytest.fixture
def chats(home: Path, tmp_path: Path) -> Iterator[Appliance]:
    """Two hundred messages about boats by four authors in turn, and one by another user's friend."""
    export = tmp_path / "chat.jsonl"
    records = [
        {"session_id": f"s{n // 20}", "message_id": f"t{n}", "role": "user", "author": AUTHORS[n % 4],
         "timestamp": f"2020-01-{1 + n % 28:02}T10:00:00Z", "content": f"The boat at berth {n} has a blue sail."}
        for n in range(200)
    ]  # fmt: skip
    export.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.ingest(export)
        memory.sessions.create(user_id="zoe").add("user", "The boat is mine.", author="Xavier")
        yield memory


def authors_of(memory: Appliance, *names: str, **how: object) -> set[str | None]:
    return {hit.author for hit in memory.search("the boat", authors=names, limit=100, **how)}  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_only_messages_by_an_author_are_found(chats: Appliance, mode: str) -> None:
    found = chats.search("the boat", authors=["ben"], mode=mode, limit=100)  # type: ignore[arg-type]
    assert {hit.author for hit in found} == {"Ben", "Benjamin Weber"}
    assert len(found) == 100, "the legs look among their messages only, and not among the best of all"
    assert not [note for note in found.notes if "author" in note]


def test_names_are_compared_without_case_and_add_up(chats: Appliance) -> None:
    assert authors_of(chats, "GÓMEZ") == {"Ana Gómez"}
    assert authors_of(chats, "weber", "ana") == {"Ana Gómez", "Benjamin Weber"}


def test_quoted_words_pending_messages_and_the_archive_keep_to_the_author(chats: Appliance, tmp_path: Path) -> None:
    assert [hit.author for hit in chats.search('"berth 41"', authors=["Ben"], limit=1)] == ["Ben"]
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"session_id": "new", "role": "user", "author": "Ida", "content": "A boat, Ben!"}))
    chats.ingest(more, wait=False)
    assert authors_of(chats, "ida", mode="lexical") == {"Ida"}
    chats.archive.run(importance=1.0)
    assert authors_of(chats, "weber", include_archived=True) == {"Benjamin Weber"}


def test_a_message_says_that_its_author_was_not_asked_for(chats: Appliance) -> None:
    answer = chats.search("the boat", authors=["Ana"], why_not="t1").why_not
    assert answer is not None and (answer.stage, answer.words) == ("filtered", "Its author is Ben.")


@pytest.mark.parametrize(
    ("filters", "note"),
    [
        ({"authors": ["Benjamim"]}, "no author 'Benjamim'; did you mean Benjamin Weber?"),
        ({"authors": ["gomes"]}, "no author 'gomes'; did you mean Ana Gómez?"),
        ({"authors": ["Ben", "Quirin"]}, "no author 'Quirin'"),
        ({"authors": ["Xavier"]}, "no author 'Xavier'"),
        ({"sources": ["natve"]}, "no source 'natve'; did you mean native?"),
        ({"sources": ["slack"]}, "no source 'slack'; there is only native"),
        ({"user_id": "bob", "authors": ["Ben"]}, "nothing is stored for user 'bob'"),
    ],
)
def test_a_value_that_nothing_has_is_said(chats: Appliance, filters: dict[str, object], note: str) -> None:
    found = chats.search("the boat", **filters)  # type: ignore[arg-type]
    assert note in found.notes
    assert {hit.author for hit in found} <= {"Ben", "Benjamin Weber"}


def test_the_name_of_no_author_is_refused(chats: Appliance) -> None:
    with pytest.raises(UsageError, match="empty"):
        chats.search("the boat", authors=[" "])
