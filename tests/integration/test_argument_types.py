"""An argument of another type is refused in words, whoever owns the memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.errors import UsageError


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("query", lambda memory: memory.search(None)),
        ("limit", lambda memory: memory.search("keys", limit="ten")),
        ("roles", lambda memory: memory.search("keys", roles="user")),
        ("since", lambda memory: memory.search("keys", since=2024)),
        ("query", lambda memory: memory.context(None)),
        ("source", lambda memory: memory.ingest(None)),
        ("title", lambda memory: memory.sessions.create(title=5)),
        ("text", lambda memory: memory.sessions.create().add("user", None)),
        ("text", lambda memory: memory.sessions.create(private=True).add("user", None)),
    ],
)
def test_an_argument_of_another_type_is_named(
    memory: Appliance, argument: str, call: Callable[[Appliance], Any]
) -> None:
    with pytest.raises(UsageError, match=rf"^Invalid argument {argument}: Expected "):
        call(memory)


@pytest.mark.parametrize(
    ("says", "call"),
    [
        ("Appliance.search() takes no 'limt'. Did you mean limit?", lambda memory: memory.search("x", limt=3)),
        ("Appliance.search(): missing a required argument: 'query'.", lambda memory: memory.search()),
        ("Facts.list() takes no 'usr_id'. Did you mean user_id?", lambda memory: memory.facts.list(usr_id="a")),
        (
            "Session.add() takes no 'autor'. Did you mean author?",
            lambda memory: memory.sessions.create().add("user", "x", autor="Ana"),
        ),
        ("Session.add(): too many positional arguments.", lambda memory: memory.sessions.create().add(*"123456789")),
        (
            "Sessions.create() takes no 'metadat'. Did you mean metadata?",
            lambda memory: memory.sessions.create(metadat={}),
        ),
    ],
)
def test_an_argument_that_a_method_does_not_take_is_told_in_its_name(
    memory: Appliance, says: str, call: Callable[[Appliance], Any]
) -> None:
    with pytest.raises(TypeError) as caught:
        call(memory)
    assert str(caught.value).strip() == says


def test_times_paths_and_any_collection_are_taken(memory: Appliance, tmp_path: Path) -> None:
    (tmp_path / "chat.jsonl").write_text(
        '{"role": "user", "content": "The keys hang in the hall", "timestamp": "2024-05-01T10:00:00Z"}\n',
        encoding="utf-8",
    )
    assert memory.ingest(iter([tmp_path / "chat.jsonl"])).total("new") == 1
    (hit,) = memory.search("keys", roles={"user"}, since=date(1970, 1, 1), mode="lexical")
    assert hit.text == "The keys hang in the hall"
