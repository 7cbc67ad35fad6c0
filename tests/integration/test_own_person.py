"""Whose memory it is: a guess is no statement, a confirmation changes nothing, a split leaves one person, and facts are
those of that person."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import NotFound, UsageError
from appliance.store import migrations
from tests.engines import engine_of
from tests.people_exports import whatsapp, write_exports

AT_BENS = "WhatsApp Chat with Anna.txt"
AT_ANNAS = "WhatsApp Chat with Ben.txt"


@pytest.fixture
def filled(memory: Appliance, tmp_path: Path) -> Appliance:
    memory.ingest(write_exports(tmp_path / "exports"))
    return memory


@pytest.fixture
def couple(memory: Appliance, tmp_path: Path) -> Appliance:
    """The memory of a folder into which two people export their chats with each other."""
    whatsapp(tmp_path / AT_BENS, ("Anna", "Hello!"), ("Ben", "My sister is called Rosa."))
    whatsapp(tmp_path / AT_ANNAS, ("Ben", "Hello again!"), ("Anna", "I live in Rome."))
    memory.ingest([tmp_path / AT_BENS, tmp_path / AT_ANNAS])
    return memory


def own_names(memory: Appliance) -> list[str]:
    return [one.name for one in memory.people.list() if one.me]


def own_facts(memory: Appliance) -> set[str]:
    return {fact.value for fact in memory.facts.list()}


def test_a_couple_is_two_people_and_neither_is_taken_for_me(couple: Appliance) -> None:
    listed = couple.people.list()
    assert [(one.name, one.messages, one.me) for one in listed] == [("Anna", 2, False), ("Ben", 2, False)]
    assert (couple.people.me(), listed.maybe_me) == (None, tuple(one.id for one in listed))
    assert own_facts(couple) == set()
    couple.people.set_me("Ben")
    assert (own_names(couple), own_facts(couple)) == (["Ben"], {"Rosa"})
    couple.people.set_me("Anna")
    assert own_names(couple) == ["Anna"]
    assert "Rome" in own_facts(couple) and "Rosa" not in own_facts(couple)
    couple.people.undo()
    couple.people.undo()
    assert (own_names(couple), own_facts(couple)) == ([], set())


@pytest.mark.slow
def test_the_facts_of_the_other_are_no_longer_mine_after_a_split(couple: Appliance) -> None:
    couple.people.set_me("Anna")
    couple.people.merge("Anna", "Ben")
    assert own_facts(couple) >= {"Rome", "Rosa"}
    change = couple.people.split("Anna", ["Ben"])
    assert [(one.name, one.messages, one.me) for one in change.people] == [("Anna", 2, True), ("Ben", 2, False)]
    assert "You are Anna" in change.words
    assert "Rome" in own_facts(couple) and "Rosa" not in own_facts(couple)


def test_a_memory_in_which_both_were_taken_for_me_is_put_right(couple: Appliance) -> None:
    with engine_of(couple)._database.write() as tx:
        tx.execute("UPDATE person SET me = 1")
        for statement in migrations.PEOPLE_AGAIN:
            tx.execute(statement)
    assert own_names(couple) == []


def test_confirming_who_i_am_changes_nothing(filled: Appliance) -> None:
    before, facts = list(filled.people.list()), own_facts(filled)
    me = filled.people.me()
    assert me is not None and len({one.source for one in me.identities}) == 2
    change = filled.people.set_me(me.id)
    assert "as before" in change.words
    assert (list(filled.people.list()), own_facts(filled)) == (before, facts)


@pytest.mark.slow
def test_a_split_of_mine_counts_what_each_wrote(filled: Appliance, tmp_path: Path) -> None:
    chat = tmp_path / "chat.md"
    chat.write_text("# Walls\n\n**User:** Which paint is best?\n\n**Assistant:** Chalk paint.\n", "utf-8")
    filled.ingest(chat)
    me = filled.people.me()
    assert me is not None
    mine, parted = filled.people.split(me.id, ["Ana"]).people
    assert (mine.name, mine.me, mine.messages) == (me.name, True, me.messages - 1)
    assert (parted.name, parted.me, parted.messages) == ("Ana", False, 1)
    filled.people.undo()
    again = filled.people.me()
    assert again is not None and again.messages == me.messages


def test_a_name_of_several_is_an_error_that_lists_them(memory: Appliance, tmp_path: Path) -> None:
    whatsapp(tmp_path / "WhatsApp Chat - Ben Carter.txt", ("Ben Carter", "Hello"), ("Ana", "Hi"))
    whatsapp(tmp_path / "WhatsApp Chat - Ben Miller.txt", ("Ben Miller", "Hello"), ("Ana", "Hi"))
    memory.ingest(tmp_path)
    with pytest.raises(UsageError, match="'ben' is the name of 2 people") as caught:
        memory.people.get("ben")
    listed = {one.name: one.id for one in memory.people.list()}
    assert caught.value.hint is not None
    for name in ("Ben Carter", "Ben Miller"):
        assert f"{listed[name]}  {name}: whatsapp, last 2025-03-04" in caught.value.hint


@pytest.mark.parametrize("misspelt", ["Mumm", "Hellga"])
def test_an_unknown_name_gets_the_most_similar_one(filled: Appliance, misspelt: str) -> None:
    with pytest.raises(NotFound) as caught:
        filled.people.get(misspelt)
    assert caught.value.hint is not None and caught.value.hint.startswith("Did you mean Mum (p")


@pytest.mark.slow
def test_who_was_merged_is_split_off_by_the_id_of_before(filled: Appliance) -> None:
    before = {one.name: (one.id, one.messages) for one in filled.people.list()}
    kept, merged = sorted(("Mum", "Ben Carter"), key=lambda name: int(before[name][0][1:]))
    filled.people.merge(before[kept][0], before[merged][0])
    filled.people.split(before[kept][0], [before[merged][0]])
    assert {one.name: (one.id, one.messages) for one in filled.people.list()} == before


@pytest.mark.slow
def test_there_may_be_nothing_to_undo(couple: Appliance) -> None:
    with pytest.raises(NotFound) as caught:
        couple.people.undo()
    assert caught.value.hint is not None and "people split" in caught.value.hint
