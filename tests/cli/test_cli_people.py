"""``people`` on the command line, and ``search`` by a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runs import Run, document

from tests.people_exports import mailbox, write_exports


@pytest.fixture
def known(run: Run, home: Path, tmp_path: Path) -> Path:
    run("ingest", str(write_exports(tmp_path / "exports")), "--no-wait")
    return home


def test_the_list_has_names_counts_and_sources(run: Run, known: Path) -> None:
    result = run("people")
    assert result.exit_code == 0
    head, *rows = result.stdout.splitlines()
    assert head.split() == ["ID", "NAME", "MESSAGES", "CONVERSATIONS", "SOURCES", "FIRST", "LAST"]
    assert any("Mum" in row and "contacts, mail, whatsapp" in row and row.endswith("2025-03-04") for row in rows)
    assert any("Ana Silva (you)" in row for row in rows)
    assert run("people", "list").stdout == result.stdout


def test_the_list_as_json_has_the_shape_of_the_contract(run: Run, known: Path) -> None:
    found = document(run("people", "list", "--json"))
    assert set(found) == {"people", "proposals", "maybe_me"}
    for person in found["people"]:
        assert set(person) == {"id", "name", "me", "identities", "messages", "sessions", "first", "last", "automated"}
        assert all(set(one) == {"source", "kind", "value"} for one in person["identities"])


def test_one_person_is_shown(run: Run, known: Path) -> None:
    shown = run("people", "show", "mum").stdout
    assert "3 messages in 2 conversations" in shown
    assert "helga@brandt.example (contacts, mail)" in shown
    assert "Linked because:" in shown and "whatsapp" in shown
    assert document(run("people", "show", "mum", "--json"))["person"]["name"] == "Mum"


def test_people_are_merged_split_renamed_and_all_that_is_undone(run: Run, known: Path) -> None:
    before = run("people", "--json").stdout
    assert "are one person" in run("people", "merge", "Ben Carter", "Mum").stderr
    assert "is called Helga" in run("people", "rename", "Mum", "Helga").stderr
    assert "are different people" in run("people", "split", "Helga", "ben@carter.example").stderr
    for _ in range(3):
        assert run("people", "undo").exit_code == 0
    assert run("people", "--json").stdout == before
    nothing = run("people", "undo")
    assert nothing.exit_code == 4 and "no decision" in nothing.stderr


def test_a_merge_says_which_id_stays_and_the_other_one_means_the_same_person(run: Run, known: Path) -> None:
    people = {one["name"]: one["id"] for one in document(run("people", "--json"))["people"]}
    ids = {people["Ben Carter"], people["Mum"]}
    said = run("people", "merge", *sorted(ids)).stderr
    kept = document(run("people", "show", "Mum", "--json"))["person"]
    assert f"are one person: {kept['name']} ({kept['id']})." in said
    (gone,) = ids - {kept["id"]}
    assert document(run("people", "show", gone, "--json"))["person"]["id"] == kept["id"]
    assert run("people", "show", "p999").exit_code == 4


def test_me_is_shown_and_set(run: Run, known: Path) -> None:
    assert run("people", "me").stdout.startswith("You are Ana Silva (p")
    listed = run("people").stderr
    assert "You are taken to be Ana Silva (p" in listed and "'appliance people me PERSON'" in listed
    assert "You are Ben Carter" in run("people", "me", "ben@carter.example").stderr
    assert run("people", "me").stdout.startswith("You are Ben Carter")


def test_without_a_hint_nobody_is_me(run: Run, home: Path, tmp_path: Path) -> None:
    run("add", "Hello", "--session", "s")
    result = run("people", "me")
    assert result.exit_code == 0 and "don't say who you are" in result.stderr


def test_a_search_keeps_to_a_person(run: Run, known: Path) -> None:
    hits = document(run("search", "boiler parrot plumber", "--author", "mum", "--min-score", "0", "--json"))["hits"]
    assert {hit["author"] for hit in hits} == {"Mum", "Helga Brandt"}
    hits = document(run("search", "parrot boiler", "--with", "mum", "--min-score", "0", "--json"))["hits"]
    assert {hit["author"] for hit in hits} == {"Mum", "Helga Brandt", "Ana"}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("show", "Zoe"), 4, "There is no person 'Zoe'"),
        (("merge", "mum", "mum"), 2, "the same person"),
        (("split", "mum", "x@y.example"), 4, "has no identity"),
        (("show", "a"), 2, "is the name of"),
    ],
)
def test_what_there_is_not_is_said(run: Run, known: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    result = run("people", *arguments)
    assert result.exit_code == code
    assert says in result.stderr


def test_counts_are_by_person(run: Run, known: Path) -> None:
    rows = document(run("stats", "--by", "author", "--json"))["rows"]
    assert [(row["keys"], row["messages"]) for row in rows if row["keys"] == ["Mum"]] == [(["Mum"], 3)]
    for verb in ("stats", "timeline", "attachments"):
        result = run(verb, "--author", "Mumm")
        assert result.exit_code == 0
        assert "note: no author 'Mumm'; did you mean Mum?" in result.stderr


def test_the_names_of_a_person_are_shown_before_all_messages_are_erased(run: Run, known: Path) -> None:
    for more in (("--dry-run",), ("--yes",)):
        result = run("forget", "--author", "helga@brandt.example", *more)
        assert result.exit_code == 0
        assert "Written under these names, with the number of messages: Mum (2), Helga Brandt (1)." in result.stderr
    assert "3 messages" in result.stdout
    assert run("search", "parrot", "--author", "mum").stderr.startswith("note: no author 'mum'")


@pytest.mark.slow
def test_filters_are_written_inside_the_query(run: Run, known: Path) -> None:
    def authors_of(*arguments: str) -> list[str]:
        return [hit["author"] for hit in document(run("search", *arguments, "--min-score", "0", "--json"))["hits"]]

    assert set(authors_of("boiler parrot author:mum")) == {"Mum", "Helga Brandt"}
    assert set(authors_of('author:"helga brandt" source:mail boiler')) == {"Helga Brandt"}
    assert set(authors_of("with:mum parrot", "--source", "whatsapp")) == {"Mum", "Ana"}
    assert authors_of("author:mum since:2025-03-04") == ["Mum", "Mum"]
    assert authors_of("boiler has:image") == authors_of("boiler tag:none") == []
    refused = run("search", "  ")
    assert refused.exit_code == 2 and "The query is empty" in refused.stderr
    assert run("search", "author:mum role:boss").exit_code == 2


def test_all_that_somebody_wrote_is_listed(run: Run, known: Path) -> None:
    result = run("search", "everything Mum wrote")
    assert "note: only messages by Mum (p" in result.stderr and "3 hits" in result.stderr
    assert "weak" not in result.stderr


def test_proposals_take_a_line_a_name_and_the_reasons_are_listed(run: Run, tmp_path: Path, home: Path) -> None:
    mails = [("Ben Carter", f"ben{number}@x.example", "Hello", f"Letter {number}") for number in range(3)]
    run("ingest", str(mailbox(tmp_path / "mail.mbox", mails)), "--no-wait")
    (line,) = [line for line in run("people").stderr.splitlines() if line.startswith("  ")]
    assert line == "  Ben Carter (p1, p2, p3)"
    listed = run("people", "proposals")
    assert len(listed.stdout.splitlines()) == 3 and "the same name, Ben Carter" in listed.stdout
    assert len(document(run("people", "proposals", "--json"))["proposals"]) == 3
    shown = run("people", "show", "p3").stderr
    assert "May be the same: Ben Carter (p1) and Ben Carter (p3): " in shown


def test_a_name_that_ends_with_a_full_stop_gets_no_second_one(run: Run, known: Path) -> None:
    assert run("people", "rename", "Mum", "Helga B.").stderr.splitlines()[0].endswith(" is called Helga B.")
    assert run("people", "show", "nobody").stderr.count("'appliance people list' shows who there is.") == 1


def test_a_long_table_of_authors_is_cut(run: Run, known: Path) -> None:
    cut = run("stats", "--by", "author", "-k", "1")
    assert len(cut.stdout.splitlines()) == 2
    assert "and 2 more with 4 messages" in cut.stderr
    assert len(document(run("stats", "--by", "author", "-k", "1", "--json"))["rows"]) == 1
