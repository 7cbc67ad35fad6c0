"""A telephone number is found in whatever groups it is written, with and without the code of its country."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.store import literals
from appliance.store.phone_numbers import find_phone_numbers

SAID = [
    "Le plombier, c'est le 06 71 33 20 58, il répond le soir",
    "Odile: +33 6 88 14 27 39",
    "appelle le 0671332058 ou le 06.12.34.56.78 10h",
    "Mein Büro: 089/123456-78",
    "call me on (555) 123-4567",
    "the code is 4242 4242 4242 4242",
    "wa.me/33612345678 (+33 (0)6 12 34 56 78)",
    "le 06 71 33 20 59 est celui de Girard",
    "Dette kontor: 12 34 56 78",
    "The parts 71 33 20 58 are missing, and 33 20 58 too",
    "Another country: +49 671 332059",
    "12 chairs and 0033 6 88 14 27 39",
    "رقم المكتب ٠٤١٢٣٤٥٦٧٨",
    "the batch 20230508123 is late",
]


@pytest.fixture(params=[False, True], ids=["waiting", "indexed"])
def said(memory: Appliance, tmp_path: Path, request: pytest.FixtureRequest) -> Appliance:
    path = tmp_path / "said.jsonl"
    lines = [
        {"session_id": "chat", "role": "user", "timestamp": "2020-01-01T10:00:00Z", "content": text} for text in SAID
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    memory.ingest(path, wait=request.param)
    return memory


QUERIES = [
    ("0671332058", {0, 2}),
    ("+33671332058", {0, 2}),
    ("0033 671 332 058", {0, 2}),
    ("06.71.33.20.58", {0, 2}),
    ("06-71-33-20-58", {0, 2}),
    ("à qui est le 06 713 320 58 ?", {0, 2}),
    ("+33688142739", {1, 11}),
    ("06 88 14 27 39", {1, 11}),
    ("0033688142739", {1, 11}),
    ("+33 (0)6 88 14 27 39", {1, 11}),
    ("06 12 34 56 78", {2, 6}),
    ("+33612345678", {2, 6}),
    ("33612345678", {2, 6}),
    ("08912345678", {3}),
    ("+49 89 12345678", {3}),
    ("5551234567", {4}),
    ("555.123.4567", {4}),
    ("+1 555 123 4567", {4}),
    ("12345678", {8}),
    ("0412345678", {12}),
]


def _holding(memory: Appliance, query: str) -> set[int]:
    return {SAID.index(hit.text) for hit in memory.search(query, mode="lexical") if hit.why["score"]["quoted"]}


def test_the_same_digits_in_other_groups_are_found_for_certain(said: Appliance) -> None:
    for query, expected in QUERIES:
        hits = said.search(query, mode="lexical")
        assert _holding(said, query) == expected == {SAID.index(hit.text) for hit in hits[: len(expected)]}, query
        assert hits[0].score > 0.9
        assert not [note for note in hits.notes if "letter by letter" in note]


@pytest.mark.parametrize("query", ["0671332057", "71332059", "+34 688 142 739", "1234567", "555 1234 999"])
def test_other_digits_are_another_number(said: Appliance, query: str) -> None:
    assert _holding(said, query) == set()


def test_a_note_says_if_only_the_last_digits_agree(said: Appliance) -> None:
    def notes(query: str) -> list[str]:
        return [note for note in said.search(query, mode="lexical").notes if "digits" in note]

    said_of = "No message has all digits of '0688142739': the last 9 were found, with or without the code of a country"
    assert notes("0688142739") == [f"{said_of} before them."]
    assert notes("+33688142739") == notes("0671332058") == notes("0671332057") == []


def test_an_archived_number_is_found(said: Appliance) -> None:
    said.embed_pending()
    assert said.archive.run(importance=1.0).archived > 10
    hits = said.search("+33671332058", include_archived=True, mode="lexical")
    assert {SAID.index(hit.text) for hit in hits if hit.why["score"]["quoted"]} == {0, 2}


@pytest.mark.parametrize(
    "query",
    [
        "2023-05-08",
        "on 16.03.2024",
        "2021 2022 2023",
        "192.168.100.200",
        "room 714 1234",
        "0671332058x",
        "a.b/0671332058",
    ],
)
def test_other_numbers_are_no_telephone_numbers(query: str) -> None:
    assert list(find_phone_numbers(query)) == []


def test_what_may_be_several_numbers_is_not_missed(said: Appliance) -> None:
    assert not [note for note in said.search("chapters 10 11 12 13", mode="lexical").notes if "letter" in note]


def test_a_card_number_stays_what_it_was() -> None:
    assert [one.text for one in literals.find_literals("4242 4242 4242 4242")] == ["4242"]
    assert [one.text for one in literals.find_literals("1.850.000 €")] == ["1.850.000"]
