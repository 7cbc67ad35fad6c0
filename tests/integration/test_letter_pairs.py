"""A word with œ, æ or ß is found by the two letters that each of them stands for, and the other way round."""

from __future__ import annotations

import pytest

from appliance import Appliance

SAID = [
    "La dernière œuvre du sculpteur est au musée",
    "Le magasin a ouvré un dimanche",
    "On mange du bœuf bourguignon samedi",
    "Le boeuf est trop cher en ce moment",
    "The æther is a curious idea",
    "Treffen wir uns in der Schlossstraße?",
    "Der Fussball liegt im Garten",
    "Ma sœur arrive vendredi",
]


@pytest.fixture
def said(memory: Appliance) -> Appliance:
    session = memory.sessions.create(title="Manœuvres")
    for text in SAID:
        session.add("user", text)
    return memory


@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("oeuvre", {0}),
        ("ŒUVRE", {0}),
        ("oeuvre sculpteur", {0}),
        ("boeuf", {2, 3}),
        ("bœuf", {2, 3}),
        ("aether", {4}),
        ("Schloßstrasse", {5}),
        ("Fußball", {6}),
        ("ma soeur", {7}),
    ],
)
def test_either_spelling_is_found(said: Appliance, query: str, found: set[int], is_indexed: bool) -> None:
    if is_indexed:
        said.embed_pending()
    hits = said.search(query, mode="lexical", min_score=0)
    assert {SAID.index(hit.text) for hit in hits[: len(found)]} == found
    assert not [note for note in hits.notes if "searched for" in note]


def test_a_listing_finds_either_spelling(said: Appliance) -> None:
    assert {hit.text for hit in said.search("boeuf", sort="time", mode="lexical")} == {SAID[2], SAID[3]}


def test_a_title_is_found_by_either_spelling(said: Appliance) -> None:
    assert [one.title for one in said.sessions.list(title="manoeuvres")] == ["Manœuvres"]
