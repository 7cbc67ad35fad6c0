"""What would still say what is erased is offered with it, and erased if the person says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.store import archive
from tests.engines import engine_of
from tests.homes import holding

pytestmark = pytest.mark.usefixtures("every_field_index")

KEYS = "The spare keys are with Mrs. Aydın"


def echoes(memory: Appliance, *references: str) -> set[tuple[str, str]]:
    return {(echo.kind, echo.id) for echo in memory.erasure.preview(*references).echoes}


def test_an_answer_that_repeats_it_is_offered_and_erased(memory: Appliance, home: Path) -> None:
    session = memory.sessions.create()
    said = session.add("user", KEYS)
    answer = session.add("assistant", "Saved: spare keys with Mrs. Aydın. Anything else?")
    other = session.add("assistant", "The market opens at nine; shall I remind you?")
    assert echoes(memory, said.id) == {("answer", answer.id)}
    assert len(memory.erasure.preview(said.id).messages) == 1, "it is only offered"

    preview = memory.erasure.preview(said.id, with_echoes=True)
    receipt = memory.erasure.forget(preview)
    assert receipt.messages == 2 and receipt.proof.traces == ()
    assert not [hit for hit in memory.search("spare keys Aydın") if "Aydın" in hit.text]
    assert [message.id for message in session.messages()] == [other.id]
    assert not holding(home, "Aydın".encode())
    assert not memory.verify().problems


def test_single_echoes_are_chosen_by_their_ids(memory: Appliance) -> None:
    session = memory.sessions.create()
    said = session.add("user", KEYS)
    answer = session.add("assistant", "Saved: spare keys with Mrs. Aydın. Anything else?")
    copied = memory.sessions.create().add("user", f"{KEYS}!")
    (fact,) = memory.facts.add(attribute="spare keys", value="with Mrs. Aydın, the spare keys")
    offered = memory.erasure.preview(said.id)
    assert {echo.id for echo in offered.echoes} == {answer.id, copied.id, fact.id}

    def erased(*ids: str) -> tuple[set[str], int]:
        preview = memory.erasure.preview(said.id, with_echoes=True, echo_ids=ids)
        assert preview.echoes == offered.echoes, "all are still listed"
        return {f"m{key}" for key in preview.messages}, len(preview.named_facts)

    assert erased() == ({said.id, answer.id, copied.id}, 1)
    assert erased(copied.id) == ({said.id, copied.id}, 0)
    assert erased(fact.id) == ({said.id}, 1)
    assert erased("m9999") == ({said.id}, 0)
    assert memory.erasure.preview(said.id, echo_ids=[copied.id]) == offered, "without echoes it means nothing"


def test_near_copies_elsewhere_are_offered(memory: Appliance) -> None:
    said = memory.sessions.create().add("user", KEYS)
    memory.embed_pending()
    copied = memory.sessions.create().add("user", f"{KEYS}!")
    longer = memory.sessions.create().add("user", f"It rained all day. {KEYS}, by the way. Then we had tea.")
    memory.embed_pending()
    assert {id for _, id in echoes(memory, said.id)} == {copied.id, longer.id}


def test_what_is_forgotten_together_is_no_echo(memory: Appliance) -> None:
    session = memory.sessions.create()
    session.add("user", KEYS)
    session.add("assistant", "Saved: spare keys with Mrs. Aydın")
    assert echoes(memory, session.id) == set()


def test_a_word_of_very_many_erased_messages_is_no_evidence(memory: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.memory.echoes.MAX_ERASED_POSTINGS", 3)
    monkeypatch.setattr("appliance.memory.echoes.MAX_RARE_MESSAGES", 1)
    session = memory.sessions.create()
    said = [session.add("user", f"The harbour clock is broken again, note {number}.").id for number in range(5)]
    rare = session.add("user", KEYS)
    memory.sessions.create().add("user", "The harbour clock is broken again.")
    repeated = memory.sessions.create().add("user", f"{KEYS}.")
    assert {id for _, id in echoes(memory, *said, rare.id)} == {repeated.id}


def test_numbers_are_repeated_in_few_words(memory: Appliance) -> None:
    session = memory.sessions.create()
    said = session.add("user", "My locker PIN is 4711")
    answer = session.add("assistant", "Noted: PIN 4711.")
    session.add("assistant", "A PIN should have more digits.")
    assert echoes(memory, said.id) == {("answer", answer.id)}


def test_common_words_make_no_echo(memory: Appliance) -> None:
    session = memory.sessions.create()
    for number in range(30):
        session.add("user", f"The weekly meeting was moved to Friday, week {number}")
    said = session.add("user", "The weekly meeting was moved to Friday")
    memory.embed_pending()
    assert not [kind for kind, _ in echoes(memory, said.id) if kind != "copy"]


def test_copies_of_frequent_words_are_offered_and_what_was_not_looked_for_is_said(memory: Appliance) -> None:
    session = memory.sessions.create()
    for number in range(30):
        session.add("user", f"The weekly meeting was moved to Friday, week {number}")
    said = session.add("user", "The weekly meeting was moved to Friday")
    copied = memory.sessions.create().add("user", "the weekly MEETING was moved to Friday!")
    memory.sessions.create(user_id="ben").add("user", "The weekly meeting was moved to Friday")
    short = session.add("user", "ok, thanks")
    preview = memory.erasure.preview(said.id)
    assert [(echo.kind, echo.id) for echo in preview.echoes] == [("copy", copied.id)]
    assert preview.notes == ("Only copies of the whole were looked for: all words of it are frequent",)
    (note,) = memory.erasure.preview(short.id).notes
    assert note.startswith("Messages that repeat it were not looked for: it is too short to be recognised")
    few, frequent = memory.erasure.preview(short.id, said.id, copied.id).notes
    assert few.startswith("Messages that repeat 1 of the 3 messages were not looked for: it is too short")
    assert frequent == "Only copies of the whole were looked for of 2 of 3 messages: all words of them are frequent"
    memory.embed_pending()
    assert [(echo.kind, echo.id) for echo in memory.erasure.preview(said.id).echoes] == [("copy", copied.id)]


@pytest.mark.parametrize("short", ["hey", *(pytest.param(one, marks=pytest.mark.slow) for one in ("Good!", "hi all"))])
def test_short_words_make_no_echo_not_even_of_a_copy(memory: Appliance, short: str) -> None:
    said = memory.sessions.create().add("user", short)
    other = memory.sessions.create()
    other.add("user", short)
    other.add("user", f"{short} it is a real surprise that the hedgehog came back")
    memory.embed_pending()
    assert echoes(memory, said.id) == set()


def test_words_scattered_over_a_long_text_make_no_echo(memory: Appliance) -> None:
    said = memory.sessions.create().add("user", "Mount the samba share before the backup starts")
    memory.sessions.create().add(
        "user",
        "The share of votes is counted by hand and sent to the town hall, where samba music plays while everybody"
        " waits for the evening news, because the mount of the old loudspeaker was repaired and the backup choir sings"
        " songs of long ago in the cold wind until midnight and nobody leaves",
    )
    repeated = memory.sessions.create().add("assistant", "Noted: mount the samba share, backup starts later.")
    memory.embed_pending()
    assert echoes(memory, said.id) == {("answer", repeated.id)}


def test_facts_that_the_person_added_and_summaries_are_offered(memory: Appliance, home: Path) -> None:
    session = memory.sessions.create()
    said = session.add("user", "My name is Quillfeather.")
    memory.facts.add("My name is Quillfeather")
    (fact,) = memory.facts.list()
    assert ("fact", fact.id) in echoes(memory, said.id)
    memory.erasure.forget(memory.erasure.preview(said.id, with_echoes=True))
    assert not memory.facts.list()
    assert not holding(home, b"quillfeather")


def test_another_user_has_no_echo_of_it(memory: Appliance) -> None:
    said = memory.sessions.create().add("user", KEYS)
    memory.sessions.create(user_id="ana").add("user", KEYS)
    memory.embed_pending()
    assert echoes(memory, said.id) == set()


def test_what_is_archived_is_an_echo_too(memory: Appliance) -> None:
    said = memory.sessions.create().add("user", KEYS)
    answer = memory.sessions.create().add("assistant", "Saved: spare keys with Mrs. Aydın")
    other = memory.sessions.create().add("user", "I met Mrs. Aydın at the market")
    memory.embed_pending()
    with engine_of(memory)._database.write() as tx:
        archive.archive(tx, archive.archivable(tx, [int(one.id[1:]) for one in (answer, other)]), None, 0)
    assert echoes(memory, said.id) == {("answer", answer.id)}


ENCRYPTED = "Messages and calls are end-to-end encrypted. Only people in this chat can read them."


def test_a_notice_of_an_app_is_no_echo(memory: Appliance, tmp_path: Path) -> None:
    for name, words in (("Ana", KEYS), ("Ben", f"{KEYS}!")):
        chat = tmp_path / f"WhatsApp Chat with {name}.txt"
        chat.write_text(f"12/31/24, 10:00 - {ENCRYPTED}\n12/31/24, 10:01 - {name}: {words}\n")
        memory.ingest(chat)
    ana, ben = sorted(memory.sessions.list(), key=lambda one: one.title or "")
    copied = memory.sessions.get(ben.id).messages()[-1]
    assert copied.text == f"{KEYS}!" and echoes(memory, ana.id) == {("repetition", copied.id)}


def test_instructions_to_an_assistant_are_words_of_a_person(memory: Appliance, tmp_path: Path) -> None:
    path = tmp_path / "talks.jsonl"
    said = [("system", KEYS), ("user", "hello"), ("assistant", "Hi!")]
    path.write_text(
        "".join(
            json.dumps({"session_id": talk, "message_id": f"{talk}{role}", "role": role, "content": content}) + "\n"
            for talk in ("one", "two")
            for role, content in said
        )
    )
    memory.ingest(path)
    first, second = (
        next(message for message in memory.sessions.get(one).messages() if message.role == "system").id
        for one in ("one", "two")
    )
    assert {id for _, id in echoes(memory, first)} == {second}
