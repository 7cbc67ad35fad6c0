"""People through the public API: linked across sources, found by any name, decided by hand, undone, forgotten, kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import NotFound, UsageError
from appliance.types import Person
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.people_exports import MAILS, mailbox, slack, whatsapp, write_exports


@pytest.fixture
def filled(memory: Appliance, tmp_path: Path) -> Appliance:
    memory.ingest(write_exports(tmp_path / "exports"))
    return memory


def named(memory: Appliance, name: str) -> Person:
    (found,) = [person for person in memory.people.list() if person.name == name]
    return found


def found(memory: Appliance, query: str, **more: object) -> set[str]:
    return {hit.text for hit in memory.search(query, limit=50, min_score=0, **more)}  # type: ignore[arg-type]


# --- listing ----------------------------------------------------------------------------------------------


def test_a_person_is_the_same_in_mail_chat_and_address_book(filled: Appliance) -> None:
    mum = named(filled, "Mum")
    values = {(one.source, one.kind, one.value) for one in mum.identities}
    assert {
        ("contacts", "number", "01701234567"), ("contacts", "address", "helga@brandt.example"),
        ("mail", "address", "helga@brandt.example"), ("mail", "name", "Helga Brandt"), ("whatsapp", "name", "Mum"),
    } <= values  # fmt: skip
    assert (mum.messages, mum.sessions, mum.me) == (3, 2, False)
    assert mum.first is not None and mum.first.startswith("2025-03-03T10:00:00")
    assert mum.last is not None and mum.last.startswith("2025-03-04T11:02:00")


def test_the_exports_say_who_i_am(filled: Appliance) -> None:
    me = filled.people.me()
    assert me is not None and me.me
    assert {one.value for one in me.identities} >= {"ana@silva.example", "Ana", "Ana Silva"}
    assert me.messages == 3


def test_one_person_is_shown_with_evidence_sources_and_what_is_asked(filled: Appliance) -> None:
    hit = filled.search("who feeds the parrot", authors=["Mum"])[0]
    filled.pins.note_recalled([hit.message_id])
    filled.pins.note_recalled([hit.message_id])
    engine_of(filled).pins.write_counts(lambda: True)
    details = filled.people.get("helga@brandt.example")
    assert details.person.id == named(filled, "Mum").id
    assert [(one.source, one.messages, one.sessions) for one in details.sources] == [
        ("whatsapp", 2, 1), ("mail", 1, 1),
    ]  # fmt: skip
    assert [one.title for one in details.conversations] == ["Mum", "Boiler"]
    assert any("mail" in words and "helga@brandt.example" in words for words in details.evidence)
    assert details.recalled >= 2 and details.asked_about[0].message_id == hit.message_id


def test_machines_stand_behind_people(memory: Appliance, tmp_path: Path) -> None:
    sent = [("Alerts", "no-reply@bank.example", "Alert", f"Your balance is {number}.") for number in range(3)]
    memory.ingest(mailbox(tmp_path / "mail.mbox", [*sent, *MAILS]))
    assert [(one.name, one.automated) for one in memory.people.list()][-1] == ("Alerts", True)
    assert sum(one.automated for one in memory.people.list()) == 1


def test_people_in_the_address_book_alone_are_listed_on_demand(memory: Appliance, tmp_path: Path) -> None:
    book = write_exports(tmp_path / "exports") / "contacts.vcf"
    report = memory.ingest(book)
    assert report.complete and [note.message[:15] for note in report.files[0].notes] == ["read 2 contacts"]
    assert list(memory.people.list()) == []
    assert {person.name for person in memory.people.list(everyone=True)} == {"Mum", "Ben Carter"}


def test_namesakes_of_one_workspace_are_two_people(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(slack(tmp_path / "ws", ("U1", "Ben", "ben1@b.example"), ("U2", "Ben", "ben2@b.example")))
    assert [person.messages for person in memory.people.list()] == []
    assert found(memory, "launch", authors=["Ben"]) == {
        "Message of U1 about the launch", "Message of U2 about the launch",
    }  # fmt: skip


# --- filters ------------------------------------------------------------------------------------------------


def test_an_author_is_found_by_any_name(filled: Appliance) -> None:
    mum = named(filled, "Mum").id
    everything = {"The boiler man comes on Friday at noon.", "Did you feed the parrot on Sunday?",
                  "And call the plumber, the sink drips."}  # fmt: skip
    for name in (mum, "Mum", "helga brandt", "HELGA@brandt.example", "0170 1234567"):
        assert found(filled, "boiler parrot plumber", authors=[name]) == everything, name
    assert found(filled, "boiler parrot plumber", authors=["me"]) == {
        "Yes, the parrot is fine.", MAILS[1][3], MAILS[3][3],
    }  # fmt: skip


def test_with_keeps_to_conversations_of_a_person(filled: Appliance) -> None:
    assert found(filled, "parrot boiler", participants=["Helga"]) == {
        "The boiler man comes on Friday at noon.", "Did you feed the parrot on Sunday?", "Yes, the parrot is fine.",
        "And call the plumber, the sink drips.",
    }  # fmt: skip
    assert found(filled, "parrot boiler", participants=["Helga", "ben@carter.example"]) == set()
    hits = filled.search("parrot", participants=["Zoe"])
    assert not hits and any("no author 'Zoe'" in note for note in hits.notes)


def test_a_name_of_several_people_is_said(memory: Appliance, tmp_path: Path) -> None:
    mails = [("Ben Carter", "ben@c.example", "One", "The launch is on Monday."),
             ("Ben Miller", "ben@m.example", "Two", "The launch is on Tuesday.")]  # fmt: skip
    memory.ingest(mailbox(tmp_path / "mail.mbox", mails))
    hits = memory.search("launch", authors=["ben"], min_score=0)
    assert len(hits) == 2
    assert any("'ben' is the name of 2 people: Ben Carter (p" in note for note in hits.notes)


def test_one_of_two_namesakes_is_searched_exactly(memory: Appliance, tmp_path: Path) -> None:
    for name, number in (("one", 1), ("two", 2)):
        memory.ingest(slack(tmp_path / name, (f"U{number}", "Ben", f"ben{number}@b.example"), channel=name))
    first, second = sorted(memory.people.list(), key=lambda person: min(one.value for one in person.identities))
    for waiting in (True, False):
        if not waiting:
            memory.embed_pending()
        assert found(memory, "launch", authors=[first.id]) == {"Message of U1 about the launch"}
        assert found(memory, "launch", authors=[second.id]) == {"Message of U2 about the launch"}


def test_a_filter_by_person_holds_in_the_archive(filled: Appliance, tmp_path: Path) -> None:
    for name, number in (("one", 1), ("two", 2)):
        filled.ingest(slack(tmp_path / name, (f"U{number}", "Ben", f"ben{number}@b.example"), channel=name))
    assert filled.archive.run(days=0, importance=1.0).archived > 4
    filled.embed_pending()
    ids = {one.value: person.id for person in filled.people.list() for one in person.identities if one.kind == "id"}
    everywhere = {"include_archived": True}
    assert found(filled, "launch", authors=[ids["T1/U1"]], **everywhere) == {"Message of U1 about the launch"}
    assert "Yes, the parrot is fine." in found(filled, "parrot", authors=["me"], **everywhere)
    assert "Did you feed the parrot on Sunday?" not in found(filled, "parrot", authors=["me"], **everywhere)


def test_a_question_names_a_person_by_an_alias(filled: Appliance) -> None:
    hits = filled.search("does Mum know about the boiler", min_score=0)
    assert hits[0].text == "The boiler man comes on Friday at noon." and hits[0].author == "Helga Brandt"
    assert hits[0].why["score"]["author"] > 0
    assert all(
        "author" not in hit.why["score"] or not hit.why["score"]["author"] for hit in hits if hit.author == "Ben Carter"
    )


def test_what_i_write_to_an_assistant_is_mine(filled: Appliance) -> None:
    filled.sessions.create(title="chat").add("user", "Which parrot food is best?")
    assert "Which parrot food is best?" in found(filled, "parrot", authors=["me"])
    me = filled.people.me()
    assert me is not None and me.messages == 4
    filled.embed_pending()
    assert "Which parrot food is best?" in found(filled, "parrot", authors=["me"])


# --- deciding -----------------------------------------------------------------------------------------------


def test_a_merge_is_made_and_undone(filled: Appliance) -> None:
    ben, mum = named(filled, "Ben Carter"), named(filled, "Mum")
    change = filled.people.merge(ben.id, mum.id)
    assert [person.messages for person in change.people] == [4]
    assert len(filled.people.list()) == 2
    filled.people.undo()
    assert {person.name: person.messages for person in filled.people.list()} == {
        "Mum": 3,
        "Ana Silva": 3,
        "Ben Carter": 1,
    }
    assert named(filled, "Ben Carter").id == ben.id
    with pytest.raises(NotFound):
        filled.people.undo()


def test_a_split_is_kept_apart_and_undone(filled: Appliance) -> None:
    mum = named(filled, "Mum")
    change = filled.people.split(mum.id, ["helga@brandt.example"])
    assert sorted(person.messages for person in change.people) == [1, 2]
    assert len(filled.people.list()) == 4
    filled.people.undo()
    assert named(filled, "Mum").messages == 3


def test_two_people_may_be_kept_apart(memory: Appliance, tmp_path: Path) -> None:
    mails = [
        ("Helga Brandt", "h@a.example", "One", "Hello there."),
        ("Helga Brandt", "h@b.example", "Two", "Hello again."),
    ]
    memory.ingest(mailbox(tmp_path / "mail.mbox", mails))
    (proposal,) = memory.people.list().proposals
    assert "Helga Brandt" in proposal.reason
    memory.people.split(proposal.a, [proposal.b])
    assert memory.people.list().proposals == ()
    memory.people.merge(proposal.a, proposal.b)
    assert len(memory.people.list()) == 1


def test_a_name_of_an_account_is_no_identity_and_the_account_is_named(filled: Appliance) -> None:
    with pytest.raises(NotFound, match="no identity 'Helga Brandt'") as refused:
        filled.people.split("Mum", ["Helga Brandt"])
    assert refused.value.hint == "An account is called so. Name the account: helga@brandt.example."


def test_a_name_is_given_and_taken_back(filled: Appliance) -> None:
    filled.people.rename("Mum", "Helga B.")
    assert named(filled, "Helga B.").messages == 3
    assert found(filled, "parrot", authors=["helga b."]) >= {"Did you feed the parrot on Sunday?"}
    filled.people.undo()
    assert named(filled, "Mum")


def test_what_can_not_be_decided_says_why(filled: Appliance) -> None:
    mum = named(filled, "Mum").id
    for call, error, says in (
        (lambda: filled.people.get("Zoe"), NotFound, "no person 'Zoe'"),
        (lambda: filled.people.merge(mum, "Mum"), UsageError, "the same person"),
        (lambda: filled.people.split(mum, ["x@y.example"]), NotFound, "no identity 'x@y.example'"),
        (lambda: filled.people.rename(mum, " "), UsageError, "is empty"),
        (lambda: filled.people.get("a"), UsageError, "the name of"),
    ):
        with pytest.raises(error, match=says):
            call()


def test_facts_are_about_the_person_that_i_am(filled: Appliance) -> None:
    assert sorted(fact.value for fact in filled.facts.list()) == ["Lisbon", "Rosa"]
    assert len(filled.facts.list()) == 2
    filled.people.set_me("Ben Carter")
    assert filled.facts.list() == []
    filled.people.undo()
    assert len(filled.facts.list()) == 2


# --- what stays ---------------------------------------------------------------------------------------------


def test_reading_the_exports_again_changes_nothing(filled: Appliance, tmp_path: Path) -> None:
    filled.people.merge("Ben Carter", "Mum")
    before = filled.people.list()
    report = filled.ingest(tmp_path / "exports")
    assert report.total("new") == report.total("updated") == 0
    assert filled.people.list() == before


def test_a_home_of_an_earlier_version_learns_from_the_exports_it_reads_again(filled: Appliance, tmp_path: Path) -> None:
    with engine_of(filled)._database.write() as tx:
        tx.execute("DELETE FROM profile")  # what that version did not store
    assert {person.name for person in filled.people.list()} >= {"Helga Brandt", "Mum"}
    report = filled.ingest(tmp_path / "exports")
    assert report.total("new") == report.total("updated") == 0
    assert named(filled, "Mum").messages == 3


def test_an_address_book_that_comes_late_links_what_is_there(memory: Appliance, tmp_path: Path) -> None:
    exports = write_exports(tmp_path / "exports")
    book = exports / "contacts.vcf"
    cards = book.read_text("utf-8")
    book.unlink()
    memory.ingest(exports)
    assert {person.name for person in memory.people.list()} == {"Helga Brandt", "Mum", "Ana Silva", "Ben Carter"}
    ids = [named(memory, name).id for name in ("Helga Brandt", "Mum")]
    book.write_text(cards, "utf-8")
    memory.ingest(book)
    assert named(memory, "Mum").messages == 3
    assert named(memory, "Mum").id == min(ids), "the older id stays"


def test_an_export_of_the_memory_takes_people_along(filled: Appliance, tmp_path: Path) -> None:
    filled.people.rename("Mum", "Helga B.")
    filled.people.merge("Helga B.", "Ben Carter")
    lines = tmp_path / "all.jsonl"
    lines.write_text("".join(json.dumps(line) + "\n" for line in filled.export(state=True)), "utf-8")
    with Appliance.open(tmp_path / "other", worker=False, embedder=HashEmbedder()) as other:
        assert other.ingest(lines).complete

        def kept(memory: Appliance) -> list[object]:
            return [(one.name, one.me, one.identities, one.messages, one.first) for one in memory.people.list()]

        assert kept(other) == kept(filled)
        assert list(other.export(state=True)) == list(filled.export(state=True))
        other.ingest(lines)
        other.people.undo()
        assert named(other, "Helga B.").messages == 3


def test_a_backup_has_people(filled: Appliance, tmp_path: Path) -> None:
    filled.people.rename("Mum", "Helga B.")
    before = filled.people.list()
    filled.backup(tmp_path / "backups")
    filled.backups.restore(tmp_path / "backups", home=tmp_path / "restored")
    with Appliance.open(tmp_path / "restored", worker=False, embedder=HashEmbedder()) as restored:
        assert restored.people.list() == before


def test_people_are_told_again_from_what_is_stored(filled: Appliance) -> None:
    filled.people.merge("Ben Carter", "Mum")
    before = filled.people.list()
    engine = engine_of(filled)
    with engine._database.write() as tx:
        tx.execute("INSERT OR IGNORE INTO people_stale VALUES (?, '')", (engine.settings.user,))
        tx.execute("UPDATE session_author SET person_id = NULL")
    assert filled.people.list() == before


# --- forgetting ----------------------------------------------------------------------------------------------


def test_forgetting_all_of_a_person_leaves_no_trace(filled: Appliance, home: Path, tmp_path: Path) -> None:
    filled.people.rename("Mum", "Helga Brandtson")
    mum = named(filled, "Helga Brandtson")
    preview = filled.erasure.preview(author="Mum")
    preview2 = filled.erasure.preview(author="Helga Brandt")
    for one in (preview, preview2):
        receipt = filled.erasure.forget(one)
        assert receipt.proof.traces == ()
    assert mum.id not in {person.id for person in filled.people.list(everyone=True)}
    filled.close()
    for path in home.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            for word in (b"Helga Brandt", b"helga@brandt.example", b"01701234567", b"Brandtson"):
                assert word not in data, (path, word)


def test_forgetting_some_messages_keeps_the_person(filled: Appliance) -> None:
    filled.erasure.forget(filled.erasure.preview(source="whatsapp"))
    mum = named(filled, "Mum")
    assert mum.messages == 1
    assert "whatsapp" not in {one.source for one in mum.identities}


def test_an_address_book_is_forgotten_by_its_file(filled: Appliance, home: Path, tmp_path: Path) -> None:
    preview = filled.erasure.preview(source=str(tmp_path / "exports" / "contacts.vcf"))
    assert (len(preview.messages), len(preview.contacts)) == (0, 2)
    assert filled.erasure.forget(preview).proof.traces == ()
    assert {person.name for person in filled.people.list(everyone=True)} == {
        "Helga Brandt", "Mum", "Ana Silva", "Ben Carter",
    }  # fmt: skip
    filled.close()
    data = (home / "recall.db").read_bytes()
    assert b"01701234567" not in data and b"contacts.vcf" not in data


def test_forgetting_everything_forgets_the_address_book(filled: Appliance, home: Path) -> None:
    filled.erasure.forget(filled.erasure.preview(everything=True))
    assert list(filled.people.list(everyone=True)) == []
    filled.close()
    assert b"helga@brandt" not in (home / "recall.db").read_bytes()


def test_a_private_session_leaves_nobody(memory: Appliance) -> None:
    session = memory.sessions.create(private=True)
    session.add("user", "Secret words", author="Zora Hidden")
    assert list(memory.people.list(everyone=True)) == []


# --- scopes --------------------------------------------------------------------------------------------------


def test_nobody_sees_the_people_of_another_user(filled: Appliance, tmp_path: Path) -> None:
    filled.ingest(whatsapp(tmp_path / "WhatsApp Chat - Zoe.txt", ("Zoe", "Hi"), ("Ana", "Hello")), user_id="zoe")
    assert {person.name for person in filled.people.list("zoe")} == {"Zoe", "Ana"}
    assert "Zoe" not in {person.name for person in filled.people.list()}
    mum = named(filled, "Mum").id
    with pytest.raises(NotFound):
        filled.people.get(mum, user_id="zoe")
    with pytest.raises(NotFound):
        filled.people.merge(mum, "Zoe", user_id="zoe")
    assert found(filled, "boiler", authors=[mum], user_id="zoe") == set()
