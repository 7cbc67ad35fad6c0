"""Counts, timelines and erasures mean people, under whatever names they wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import UsageError
from tests.people_exports import MAILS, mailbox, slack, whatsapp, write_exports

PARROT = "Did you feed the parrot on Sunday?"
PLUMBER = "And call the plumber, the sink drips."
BOILER = "The boiler man comes on Friday at noon."


@pytest.fixture
def filled(memory: Appliance, tmp_path: Path) -> Appliance:
    memory.ingest(write_exports(tmp_path / "exports"))
    return memory


def counted(memory: Appliance, *by: str) -> dict[tuple[str, ...], int]:
    return {row.keys: row.messages for row in memory.statistics(by).rows}  # type: ignore[arg-type]


def texts(memory: Appliance) -> set[str]:
    return {str(line["content"]) for line in memory.export() if "content" in line}


# --- counts -------------------------------------------------------------------------------------------------


def test_a_person_is_one_author_under_all_names(filled: Appliance) -> None:
    me = filled.people.me()
    assert me is not None
    assert counted(filled, "author") == {("Mum",): 3, (me.name,): 3, ("Ben Carter",): 1}
    assert counted(filled, "source", "author") == {
        ("mail", "Mum"): 1, ("whatsapp", "Mum"): 2, ("mail", me.name): 2, ("whatsapp", me.name): 1,
        ("mail", "Ben Carter"): 1,
    }  # fmt: skip
    filled.people.rename("Mum", "Helga")
    assert ("Helga",) in counted(filled, "author")


def test_two_people_of_one_name_are_counted_apart(memory: Appliance, tmp_path: Path) -> None:
    for name, number in (("one", 1), ("two", 2)):
        memory.ingest(slack(tmp_path / name, (f"U{number}", "Ben", f"ben{number}@b.example"), channel=name))
    ids = sorted(person.id for person in memory.people.list())
    assert counted(memory, "author") == {(f"Ben ({id})",): 1 for id in ids}


def test_a_name_that_nothing_tells_apart_counts_as_it_is_written(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(slack(tmp_path / "ws", ("U1", "Ben", "ben1@b.example"), ("U2", "Ben", "ben2@b.example")))
    assert counted(memory, "author") == {("Ben",): 2}


def test_what_i_write_to_an_assistant_counts_as_mine(filled: Appliance, tmp_path: Path) -> None:
    lines = [
        {"session_id": "s", "role": "user", "content": "Which bread keeps longest?"},
        {"session_id": "s", "role": "assistant", "content": "Rye bread."},
    ]
    (tmp_path / "chat.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    filled.ingest(tmp_path / "chat.jsonl")
    me = filled.people.me()
    assert me is not None
    found = counted(filled, "author", "role")
    assert (found[me.name, "user"], found["assistant", "assistant"]) == (4, 1)
    assert sum(count for (author, _), count in found.items() if author == me.name) == me.messages


def test_my_words_to_an_assistant_are_not_counted_with_its_own(memory: Appliance, tmp_path: Path) -> None:
    (tmp_path / "chat.md").write_text("**User:** Which bread?\n\n**Assistant:** Rye bread.\n", "utf-8")
    memory.ingest(tmp_path / "chat.md")
    assert counted(memory, "author") == {("me",): 1, ("Markdown (assistant)",): 1}


def test_a_name_that_no_author_has_is_said_with_the_like(filled: Appliance) -> None:
    found = filled.statistics(authors=["Hegla"])
    assert not found.rows and found.notes == ("no author 'Hegla'; did you mean Helga Brandt?",)
    assert [month.messages for month in filled.timeline(["Mum"])] == [3]
    assert filled.statistics(authors=["Mum"]).notes == ()


def test_a_misspelt_name_of_the_address_book_is_proposed(memory: Appliance, tmp_path: Path) -> None:
    folder = write_exports(tmp_path / "exports")
    whatsapp(folder / "WhatsApp Chat - Mum.txt", ("+49 170 1234567", PARROT), ("Ana", "Yes."))
    memory.ingest(folder)
    hits = memory.search("parrot", authors=["Mumm"])
    assert not hits and "no author 'Mumm'; did you mean Mum?" in hits.notes


# --- erasures -----------------------------------------------------------------------------------------------


def test_forgetting_an_author_means_the_person_and_shows_the_names(filled: Appliance) -> None:
    mum = next(person for person in filled.people.list() if person.name == "Mum")
    for reference in ("Mum", mum.id, "helga@brandt.example", "0170 1234567"):
        preview = filled.erasure.preview(author=reference)
        assert preview.authors == {"Mum": 2, "Helga Brandt": 1}, reference
        assert len(preview.messages) == 3 and not preview.notes
    receipt = filled.erasure.forget(filled.erasure.preview(author="Mum"))
    assert receipt.messages == 3 and not receipt.proof.traces
    assert not {PARROT, PLUMBER, BOILER} & texts(filled)
    assert "Yes, the parrot is fine." in texts(filled)
    assert not [person for person in filled.people.list(everyone=True) if person.name == "Mum"]


@pytest.mark.slow
def test_a_written_name_can_be_forgotten_alone(filled: Appliance) -> None:
    preview = filled.erasure.preview(author_name="helga brandt")
    assert preview.authors == {"Helga Brandt": 1}
    filled.erasure.forget(preview)
    assert BOILER not in texts(filled) and {PARROT, PLUMBER} <= texts(filled)


def test_forgetting_me_means_what_i_wrote_to_assistants_too(filled: Appliance) -> None:
    filled.sessions.create(title="bread").add("user", "Which bread keeps longest?")
    preview = filled.erasure.preview(author="me")
    assert preview.authors == {"Ana": 1, "Ana Silva": 2, "": 1}


def test_forgetting_a_part_of_a_name_says_whose_it_is(memory: Appliance, tmp_path: Path) -> None:
    mails = [("Ben Carter", "ben@c.example", "One", "The launch is on Monday."),
             ("Ben Miller", "ben@m.example", "Two", "The launch is on Tuesday.")]  # fmt: skip
    memory.ingest(mailbox(tmp_path / "mail.mbox", mails))
    preview = memory.erasure.preview(author="ben")
    assert not preview.messages and preview.notes == (
        "no author is named exactly 'ben'; it is a part of Ben Carter, Ben Miller",
    )
    one = next(person for person in memory.people.list() if person.name == "Ben Carter")
    assert memory.erasure.preview(author=one.id).authors == {"Ben Carter": 1}


@pytest.mark.slow
def test_forgetting_one_of_two_namesakes_keeps_the_other(memory: Appliance, tmp_path: Path) -> None:
    for name, number in (("one", 1), ("two", 2)):
        memory.ingest(slack(tmp_path / name, (f"U{number}", "Ben", f"ben{number}@b.example"), channel=name))
    first = min(memory.people.list(), key=lambda person: min(one.value for one in person.identities))
    memory.erasure.forget(memory.erasure.preview(author=first.id))
    assert texts(memory) == {"Message of U2 about the launch"}


def test_forgetting_a_name_of_several_people_is_refused_with_who_they_are(memory: Appliance, tmp_path: Path) -> None:
    for name, number in (("one", 1), ("two", 2)):
        memory.ingest(slack(tmp_path / name, (f"U{number}", "Ben", f"ben{number}@b.example"), channel=name))
    ids = sorted(person.id for person in memory.people.list())
    with pytest.raises(UsageError) as refused:
        memory.erasure.preview(author="Ben")
    assert f"'Ben' is the name of 2 people: Ben ({ids[0]}), Ben ({ids[1]})" in str(refused.value)


@pytest.mark.parametrize("option", ["author", pytest.param("author_name", marks=pytest.mark.slow)])
def test_a_name_never_erases_the_messages_of_a_longer_one(memory: Appliance, tmp_path: Path, option: str) -> None:
    for name in ("Jane", "Jungle Jane", "Jané 🤓", "JANE", "Janet"):
        lines = {"session_id": name, "role": "user", "author": name, "content": f"I am {name}"}
        (tmp_path / "chat.jsonl").write_text(json.dumps(lines), "utf-8")
        memory.ingest(tmp_path / "chat.jsonl")
    preview = memory.erasure.preview(**{option: "jane"})  # type: ignore[arg-type]
    assert preview.authors == {"Jane": 1, "JANE": 1}
    assert memory.erasure.preview(**{option: "jane 🤓"}).authors == {"Jané 🤓": 1}  # type: ignore[arg-type]
    assert not memory.erasure.preview(**{option: "a"}).messages  # type: ignore[arg-type]


def test_forgetting_nobody_proposes_the_like(filled: Appliance) -> None:
    preview = filled.erasure.preview(author="Hegla")
    assert not preview.messages and preview.notes == ("no author 'Hegla'; did you mean Helga Brandt?",)


def test_an_earlier_author_of_a_message_is_forgotten_with_it(filled: Appliance, tmp_path: Path) -> None:
    changed = [(name.replace("Ben Carter", "B. C."), *rest) for name, *rest in MAILS]
    filled.ingest(mailbox(tmp_path / "exports" / "mail.mbox", changed))  # type: ignore[arg-type]
    assert len(filled.erasure.preview(author_name="Ben Carter").messages) == 1
    assert len(filled.erasure.preview(author="Ben Carter").messages) == 1
