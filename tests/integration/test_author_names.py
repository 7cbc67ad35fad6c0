"""An author is found whatever accents and case the name is written with, and "ich" is who the memory belongs to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import Appliance


@pytest.fixture
def chat(memory: Appliance, tmp_path: Path) -> Appliance:
    said = [("Jürgen Müßig", "The boiler is cold"), ("Sabine", "The boiler again"), ("Zoë", "A boiler, really")]
    lines = [
        json.dumps({"session_id": "s", "message_id": f"x{n}", "role": "user", "author": author, "content": text})
        for n, (author, text) in enumerate(said)
    ]
    (tmp_path / "chat.jsonl").write_text("\n".join(lines), encoding="utf-8")
    memory.ingest(tmp_path / "chat.jsonl")
    return memory


@pytest.mark.parametrize(
    ("name", "author"),
    [
        ("jurgen", "Jürgen Müßig"),
        ("JÜRGEN", "Jürgen Müßig"),
        ("mussig", "Jürgen Müßig"),
        ("zoe", "Zoë"),
        ("sabine", "Sabine"),
    ],
)
def test_a_name_is_folded(chat: Appliance, name: str, author: str) -> None:
    hits = chat.search("boiler", authors=[name], min_score=0)
    assert {hit.author for hit in hits} == {author} and not [note for note in hits.notes if "author" in note]


@pytest.mark.parametrize("name", ["me", "ich", "Yo", "moi"])
def test_me_in_any_language_is_the_person(chat: Appliance, name: str) -> None:
    assert (
        f"no author {name!r}: 'appliance people me NAME' says who you are"
        in chat.search("boiler", authors=[name]).notes
    )
    (person,) = (one for one in chat.people.list() if one.name == "Sabine")
    chat.people.set_me(person.id)
    assert {hit.author for hit in chat.search("boiler", authors=[name], min_score=0)} == {"Sabine"}
