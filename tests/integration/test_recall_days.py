"""Days without a year, and dates that no calendar has, in a search."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import pytest

from appliance import Appliance, Hit


def store(memory: Appliance, folder: Path, records: Iterable[dict[str, Any]]) -> None:
    path = folder / "chats.jsonl"
    path.write_text("".join(json.dumps({"role": "user", **record}) + "\n" for record in records), encoding="utf-8")
    assert memory.ingest(path).complete


def ids(hits: Iterable[Hit]) -> list[str]:
    return [hit.external_id for hit in hits]


DAYS = {
    "2026-05-28": "we signed the lease",
    "2025-05-28": "the piano is tuned",
    "2024-05-29": "paint for the kitchen",
    "2024-03-10": "and this one is from March",
    "2026-03-15": "dinner with the Bergs",
}


@pytest.fixture
def days(memory: Appliance, tmp_path: Path) -> Appliance:
    records = [
        {"session_id": day, "message_id": day, "content": text, "timestamp": f"{day}T10:00:00Z"}
        for day, text in DAYS.items()
    ]
    store(memory, tmp_path, records)
    return memory


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what did we say on May 28", ["2026-05-28", "2025-05-28"]),
        ("on March 15", ["2026-03-15"]),
        ("between 28 and 29 May", ["2026-05-28", "2025-05-28", "2024-05-29"]),
    ],
)
def test_a_day_without_its_year_comes_first_the_latest_year_before_others(
    days: Appliance, mode: Literal["hybrid", "lexical"], question: str, expected: list[str]
) -> None:
    hits = days.search(question, mode=mode)
    assert ids(hits)[: len(expected)] == expected and hits[0].score > 0.9
    assert not any("No messages" in note for note in hits.notes)


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_a_day_that_no_year_has_messages_of_is_said(days: Appliance, mode: Literal["hybrid", "lexical"]) -> None:
    found = days.search("what did we say on 3 June", mode=mode)
    assert all(hit.score < 0.01 for hit in found) and "No messages from 3 June." in found.notes
    assert "No messages from 3 June." in days.search("the lease on 3 June", mode=mode).notes


def test_a_best_match_from_another_time_than_the_question_names_is_said_to_be_that(days: Appliance) -> None:
    """Who reads on must not take the lease of May 2026 for one of March 2024."""
    note = "The best match is not from March 2024."
    found = days.search("signed the lease in March 2024")
    assert found[0].external_id == "2026-05-28" and note in found.notes
    for question in ("signed the lease in May 2026", "what was said in March 2024", "signed the lease in July 2018"):
        assert not any("best match" in one for one in days.search(question).notes), question


@pytest.mark.parametrize("date", ["31 February 2024", "2026-05-32"])
def test_a_date_that_no_calendar_has_is_said_and_finds_nothing(days: Appliance, date: str) -> None:
    found = days.search(f"what did we say on {date}", mode="lexical")
    assert not found.hits and f"There is no {date}." in found.notes
    assert f"There is no {date}." not in days.search(f"on {date}", without=["time"]).notes


def test_a_message_that_has_the_impossible_date_is_found(memory: Appliance, tmp_path: Path) -> None:
    store(memory, tmp_path, [{"session_id": "s", "message_id": "m", "content": "the invoice is of 31 February 2024"}])
    assert ids(memory.search("31 February 2024", mode="lexical")) == ["m"]


def test_a_day_without_its_year_is_looked_up_within_the_filters(days: Appliance) -> None:
    assert ids(days.search("on 28 May", until="2025-12-31"))[0] == "2025-05-28"
    assert "No messages from 28 May." in days.search("on 28 May", until="2024-12-31").notes


FRENCH = {
    "2024-03-15": ("Camille", "Le loyer passe à neuf cents euros dès le premier avril"),
    "2024-06-20": ("Camille", "La chaudière est réparée, le plombier est parti"),
    "2024-07-02": ("Diego", "O contrato da casa foi assinado hoje"),
    "2025-06-10": ("Camille", "Nous avons repeint la cuisine en vert"),
    "2025-06-11": ("Diego", "Em junho o jardim fica cheio de abelhas"),
}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Qu'est-ce que Camille a dit en mars 2024", ["2024-03-15"]),
        ("qu'a dit Camille en juin 2025", ["2025-06-10"]),
        ("o que disse a Camille em junho de 2024", ["2024-06-20"]),
        ("o que o Diego escreveu em julho de 2024", ["2024-07-02"]),
    ],
)
def test_what_somebody_said_at_a_time_in_french_and_portuguese(
    memory: Appliance, tmp_path: Path, question: str, expected: list[str]
) -> None:
    records = [
        {"session_id": day, "message_id": day, "author": author, "content": text, "timestamp": f"{day}T10:00:00Z"}
        for day, (author, text) in FRENCH.items()
    ]
    store(memory, tmp_path, records)
    hits = memory.search(question)
    assert ids(hits) == expected
    assert not any("the messages of all were searched" in note or "searched for" in note for note in hits.notes)
    found = memory.search("o contrato em julho de 2024")
    assert found[0].external_id == "2024-07-02" and not any("junho" in note for note in found.notes)
    assert not any("junho" in note for note in memory.search("contrato julho").notes)
    assert ids(memory.search("contrato", since="juin 2024", until="juillet 2024")) == ["2024-07-02", "2024-06-20"]
