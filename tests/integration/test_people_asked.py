"""Questions for what a person wrote or said find what that person wrote, under whatever name."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance import Appliance
from tests.people_exports import mailbox, write_exports

MAILS = [
    ("Diego Rivas", "diego@r.example", "Move", "We packed forty boxes on Sunday."),
    ("Ana Silva", "ana@silva.example", "Re: Move", "Diego wrote that he packed everything."),
    ("Hans Müller", "hans@m.example", "Heizung", "Der Kessel ist kalt."),
    ("Diego Rivas", "diego@r.example", "Piano", "The piano does not fit through the door."),
]
DIEGO = [MAILS[3][3], MAILS[0][3]]


@pytest.fixture
def filled(memory: Appliance, tmp_path: Path) -> Appliance:
    memory.ingest(mailbox(tmp_path / "mail.mbox", MAILS))
    return memory


def texts(memory: Appliance, query: str, **more: object) -> list[str]:
    return [hit.text for hit in memory.search(query, **more)]  # type: ignore[arg-type]


LISTED = (
    "everything Diego wrote", "all messages from diego rivas", "alles, was Diego geschrieben hat", "qué dijo Diego",
    "todo lo que Diego ha escrito", "tout ce que Diego a écrit", "what did diego@r.example write?",
)  # fmt: skip
ABOUT = (
    "what did Mum say about the boiler", "was hat Mum über den boiler gesagt", "qué dijo Mum sobre the boiler",
    "qu'est-ce que Mum a dit sur the boiler", "what did my mum tell me about the boiler",
)  # fmt: skip


def test_all_that_somebody_wrote_is_listed_the_newest_first(filled: Appliance) -> None:
    for question in LISTED:
        hits = filled.search(question)
        assert [hit.text for hit in hits] == DIEGO, question
        assert hits.found and hits.total == hits.likely == 2 and not hits.more and {hit.score for hit in hits} == {1.0}
        assert any(note.startswith("only messages by Diego Rivas (p") for note in hits.notes)


def test_a_list_of_all_goes_on_page_by_page_and_in_the_archive(filled: Appliance) -> None:
    first = filled.search("everything Diego wrote", limit=1, count=True)
    assert (first.total, first.more, first[0].text) == (2, True, DIEGO[0])
    assert texts(filled, "everything Diego wrote", limit=1, offset=1) == DIEGO[1:]
    assert texts(filled, "everything Diego wrote", offset=2) == []
    assert texts(filled, "everything Diego wrote", sort="time", min_score=0.5) == DIEGO
    filled.archive.run(days=0, importance=1.0)
    assert set(texts(filled, "everything Diego wrote", include_archived=True)) == set(DIEGO)


def test_a_topic_is_searched_among_what_somebody_said(filled: Appliance) -> None:
    assert texts(filled, "what did Diego say about the piano", min_score=0)[0] == DIEGO[0]
    assert set(texts(filled, "what did Diego say about packing boxes", min_score=0)) == set(DIEGO)
    assert texts(filled, "what did Müllers Hans schreiben") == ["Der Kessel ist kalt."]
    assert texts(filled, "was schrieb Hans zum Kessel", min_score=0) == ["Der Kessel ist kalt."]


def test_an_alias_names_the_person(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(write_exports(tmp_path / "exports"))
    for question in ABOUT:
        hits = memory.search(question, min_score=0)
        assert hits[0].text == "The boiler man comes on Friday at noon.", question
        assert hits[0].author == "Helga Brandt" and {hit.author for hit in hits} <= {"Helga Brandt", "Mum"}


def test_what_somebody_did_not_write_is_looked_for_everywhere(filled: Appliance) -> None:
    question = "what did Hans say about the piano"
    hits = filled.search(question, min_score=0, since="2025-03-03T10:03Z")
    assert hits.query == question and [hit.text for hit in hits] == [DIEGO[0]]
    assert not any(note.startswith("only messages by") for note in hits.notes)
    assert any(note.startswith("nothing by Hans Müller (p") for note in hits.notes)


def test_an_author_who_is_named_goes_before_the_question(filled: Appliance) -> None:
    assert texts(filled, "everything Diego wrote", authors=["Ana"], min_score=0) == [MAILS[1][3]]


def test_questions_about_somebody_are_searched_as_before(filled: Appliance) -> None:
    hits = filled.search("what did Zoe write about the piano", min_score=0)
    assert "Diego Rivas" in {hit.author for hit in hits} and not any("only messages" in note for note in hits.notes)
    assert "Ana Silva" in {hit.author for hit in filled.search("who packed everything, Diego?", min_score=0)}


def test_names_inside_words_name_no_one(filled: Appliance) -> None:
    assert not any("only messages by" in note for note in filled.search("everything Rosa wrote", min_score=0).notes)
    assert not any("only messages by" in note for note in filled.search("everything Die wrote", min_score=0).notes)
