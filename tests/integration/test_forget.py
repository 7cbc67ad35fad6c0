"""What is forgotten is gone from every file, does not come back by itself, and takes nothing else with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.errors import NotFound, UsageError
from appliance.paths import SAMPLE_PREFIX
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.homes import holding

pytestmark = pytest.mark.usefixtures("every_field_index")

SECRET = "the blue envelope lies under the third stair of the lighthouse"
LONG = " ".join(f"Paragraph {i} of a confession nobody should read, item {i * 7919}." for i in range(400))
KEPT = "the market opens at nine on Saturdays"


def line(session: str, number: int, content: str, **more: Any) -> dict[str, Any]:
    when = f"2026-03-{number:02}T10:00:00Z"
    return {"session_id": session, "message_id": str(number), "role": "user", "timestamp": when,
            "content": content, **more}  # fmt: skip


def export(folder: Path, name: str, lines: list[dict[str, Any]]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    return path


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    tool = line("b", 3, f"search: {SECRET}", role="tool")
    return export(
        tmp_path,
        "chats.jsonl",
        [
            *(line("a", number, said) for number, said in enumerate((KEPT, SECRET, "what a day", LONG), 1)),
            *(line("b", number, said) for number, said in enumerate(("hello again", "so be it"), 1)),
            tool,
        ],
    )


def traces(home: Path, *texts: str) -> list[Path]:
    """The files of a home that hold a piece of one of the texts."""
    pieces = [text[at : at + 20].encode() for text in texts for at in range(0, len(text) - 20, 400)]
    return holding(home, *pieces)


def texts(memory: Appliance) -> set[str]:
    return {one["content"] for one in memory.export()}


def test_no_file_holds_what_was_forgotten(memory: Appliance, home: Path, chats: Path) -> None:
    memory.ingest(chats)
    edited = memory.sessions.create(title="edits")
    edited.add("user", SECRET, external_id="e")
    edited.add("user", "something harmless", external_id="e")
    assert traces(home, SECRET), "the test would prove nothing"

    doomed = memory.erasure.preview(query="Blue Envelope  lies")
    assert len(doomed.messages) == 3, "the tool's record and the message that once said it, too"
    receipt = memory.erasure.forget(doomed)
    assert (receipt.state, receipt.messages, receipt.proof.texts, receipt.proof.traces) == ("done", 3, 4, ())
    assert receipt.vectors == 2, "the tool's record has its own; equal texts share one"
    assert not traces(home, SECRET)
    assert not memory.search("envelope under the stair", mode="lexical")
    assert not memory.verify().problems
    assert KEPT in texts(memory) and LONG in texts(memory)
    assert memory.search("market on Saturdays")[0].text == KEPT
    assert [one.id for one in memory.erasure.receipts()] == [receipt.id]


def test_the_sample_of_a_killed_measurement_goes_too(memory: Appliance, home: Path, chats: Path) -> None:
    memory.ingest(chats)
    left = memory.home.uploads / f"{SAMPLE_PREFIX}x" / "sample.jsonl"
    left.parent.mkdir(parents=True)
    left.write_text(SECRET, encoding="utf-8")
    receipt = memory.erasure.forget(memory.erasure.preview(query="Blue Envelope  lies"))
    assert receipt.proof.traces == () and not left.parent.exists()


@pytest.mark.slow
def test_a_long_message_goes_whole(memory: Appliance, home: Path, chats: Path) -> None:
    memory.ingest(chats)
    (hit,) = memory.search('"item 7919."', limit=1)
    memory.erasure.forget(memory.erasure.preview(hit.message_id))
    assert not traces(home, LONG)
    assert not memory.verify().problems


def test_reading_the_export_again_does_not_bring_it_back(memory: Appliance, chats: Path, tmp_path: Path) -> None:
    memory.ingest(chats)
    memory.erasure.forget(memory.erasure.preview(query=SECRET))
    later = export(
        tmp_path, "later.jsonl", [*map(json.loads, chats.read_text().splitlines()), line("a", 5, "a new one")]
    )
    report = memory.ingest(later)
    assert report.total("new") == 1
    assert "skipped 2 messages that had been forgotten" in report.files[0].notes[0].message
    assert not any(SECRET in text for text in texts(memory))
    # The same id in another chat is another message.
    assert memory.ingest(export(tmp_path, "c.jsonl", [line("c", 2, "mine")])).total("new") == 1

    assert memory.ingest(later, again=True).total("new") == 2
    assert SECRET in texts(memory)
    assert memory.ingest(later).total("new") == 0


def test_a_chat_whose_messages_have_no_ids_stays_forgotten_under_another_name(
    memory: Appliance, tmp_path: Path
) -> None:
    said = "\n".join(f"06.02.26, 10:{minute:02} - Ana: line {minute}" for minute in range(10, 30))
    (tmp_path / "WhatsApp Chat with Ana.txt").write_text(said + f"\n06.02.26, 11:00 - Ana: {SECRET}\n")
    (tmp_path / "WhatsApp Chat with Ana (2).txt").write_text(said + f"\n06.02.26, 11:00 - Ana: {SECRET}\n")
    memory.ingest(tmp_path / "WhatsApp Chat with Ana.txt")
    (info,) = memory.sessions.list()
    memory.erasure.forget(memory.erasure.preview(info.id))
    assert not memory.sessions.list() and not texts(memory)
    assert memory.ingest(tmp_path / "WhatsApp Chat with Ana (2).txt").total("new") == 0


def test_what_somebody_else_says_too_stays(memory: Appliance, home: Path, chats: Path) -> None:
    memory.ingest(chats)
    memory.ingest(chats, user_id="ana")
    doomed = memory.erasure.preview(query=SECRET)
    assert len(doomed.messages) == 2
    receipt = memory.erasure.forget(doomed)
    assert receipt.proof.traces == (), "what Ana still says is no trace"
    assert memory.search("blue envelope", user_id="ana", mode="lexical")[0].text == SECRET
    assert not memory.search("blue envelope", mode="lexical")
    assert not memory.verify().problems
    with pytest.raises(NotFound):
        memory.erasure.preview(memory.search("market", user_id="ana", mode="lexical")[0].message_id)


@pytest.mark.slow
def test_by_source_by_session_and_everything(memory: Appliance, home: Path, chats: Path, tmp_path: Path) -> None:
    memory.ingest(chats)
    other = export(tmp_path, "other.jsonl", [line("o", 1, "from elsewhere entirely")])
    memory.ingest(other)
    assert memory.erasure.preview(source=str(other)).files == (str(other),)
    assert len(memory.erasure.forget(memory.erasure.preview(source=str(other))).formats) == 1
    assert not memory.search("elsewhere entirely", mode="lexical")

    session = memory.sessions.info("b")
    assert len(memory.erasure.preview(session.id, query=SECRET).messages) == 1, "together they narrow"
    memory.erasure.forget(memory.erasure.preview(session.id))
    assert {info.external_id for info in memory.sessions.list()} == {"a"}

    memory.erasure.forget(memory.erasure.preview(everything=True))
    assert not memory.sessions.list() and not texts(memory)
    assert not traces(home, SECRET, LONG, KEPT)
    assert memory.status()["counts"]["chunks"] == 0
    assert not memory.verify().problems


def test_a_file_that_only_had_what_was_known_stays_noted(memory: Appliance, chats: Path, tmp_path: Path) -> None:
    memory.ingest(chats)
    memory.ingest(export(tmp_path, "again.jsonl", [line("a", 1, KEPT)]))
    memory.erasure.forget(memory.erasure.preview(query=SECRET))
    assert memory.status()["counts"]["sources"] == 2


def test_a_session_keeps_its_place_when_its_messages_are_named(memory: Appliance) -> None:
    session = memory.sessions.create(title="Diary")
    only = session.add("user", SECRET)
    memory.erasure.forget(memory.erasure.preview(only.id))
    assert session.messages() == [] and session.title == "Diary"


def test_an_empty_wish_and_frequent_words_are_refused(memory: Appliance, chats: Path) -> None:
    memory.ingest(chats)
    with pytest.raises(UsageError, match="Nothing is selected to forget"):
        memory.erasure.preview()
    with pytest.raises(NotFound):
        memory.erasure.preview("m999")
    with pytest.raises(NotFound, match="No message came from"):
        memory.erasure.preview(source="telegram")
    assert memory.erasure.preview(query="never said by anybody").messages == ()


def test_an_export_in_the_inbox_is_named(memory: Appliance, home: Path, chats: Path) -> None:
    inside = home / "inbox" / "chats.jsonl"
    inside.write_bytes(chats.read_bytes())
    memory.ingest(inside)
    receipt = memory.erasure.forget(memory.erasure.preview(query=SECRET))
    assert receipt.proof.traces == () and receipt.proof.yours == (str(inside),)


def test_the_search_for_traces_finds_one(memory: Appliance, home: Path, chats: Path) -> None:
    memory.ingest(chats)
    (home / "left.txt").write_text(f"somebody copied it: {SECRET}")
    receipt = memory.erasure.forget(memory.erasure.preview(query=SECRET))
    assert receipt.proof.traces == (str(home / "left.txt"),)


def test_what_was_interrupted_is_finished(home: Path, chats: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.ingest(chats)
        monkeypatch.setattr(engine_of(memory)._index_service, "expunge", lambda *progress: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            memory.erasure.forget(memory.erasure.preview(query=SECRET))
        monkeypatch.undo()
        assert not any(SECRET in text for text in texts(memory))
        assert memory.erasure.receipts()[0].state == "open"
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.run_pending_jobs()
        assert memory.erasure.receipts()[0].state == "done"
        assert not traces(home, SECRET)
        assert not memory.verify().problems


def test_what_was_made_of_it_goes_too(memory: Appliance, home: Path) -> None:
    city, doctor, street = "Zanzibargue", "Quillfeather", "Lanternwick Alley"
    session = memory.sessions.create()
    said = session.add("user", f"I live in {city}, {street}. My doctor is Dr. {doctor}.")
    session.add("assistant", "Noted. What else?")
    branch = session.branch()
    branch.add("user", "I am allergic to walnuts.")
    assert city in str(branch.title)
    for fact in memory.facts.list():
        memory.facts.confirm(fact.id)
    for number in range(8):
        session.add("user", f"We decided to plant walnut tree number {number} behind the old barn. " * 3)
        session.add("assistant", f"Then tree number {number} stands behind the barn, and gets water twice a week. " * 3)
    memory.summaries.make(session.id)
    assert memory.summaries.list() and len(memory.facts.list()) >= 2
    memory.erasure.forget(memory.erasure.preview(said.id))
    assert not traces(home, f"I live in {city}, {street}") and not words_left(home, city, doctor, street)
    assert [fact.value for fact in memory.facts.list()] == ["walnuts"]
    assert branch.title is None and len(branch.messages()) == 2


def test_a_fact_that_is_still_said_stays_and_so_does_what_the_person_added(memory: Appliance, home: Path) -> None:
    session = memory.sessions.create()
    first = session.add("user", "I live in Zanzibargue.")
    session.add("user", "As I told you, I live in Zanzibargue.")
    only = session.add("user", "My name is Quillfeather.")
    memory.facts.confirm(memory.facts.list()[0].id)
    memory.facts.add("My name is Quillfeather")
    memory.erasure.forget(memory.erasure.preview(first.id, only.id))
    assert {fact.value for fact in memory.facts.list()} == {"Zanzibargue", "Quillfeather"}


def test_everything_is_facts_and_empty_sessions_too(memory: Appliance, home: Path) -> None:
    memory.sessions.create(title="Umbrellick plans", metadata={"k": "Krassnapol"})
    memory.facts.add("I live in Zanzibargue")
    memory.facts.add("I live in Quillfeather", user_id="ana")
    doomed = memory.erasure.preview(everything=True)
    assert len(doomed.sessions) == 1 and doomed.facts == 1
    memory.erasure.forget(doomed)
    assert not memory.sessions.list() and not memory.facts.list()
    assert not words_left(home, "Umbrellick", "Krassnapol", "Zanzibargue")
    assert [fact.value for fact in memory.facts.list("ana")] == ["Quillfeather"]


def words_left(home: Path, *words: str) -> list[tuple[str, str]]:
    """Which words stand in which files, as they are or in small letters."""
    return [(word, path.name) for word in words for path in holding(home, word.encode())]


def test_what_comes_into_a_conversation_after_the_look_stays(memory: Appliance) -> None:
    session = memory.sessions.create(title="Lighthouse")
    session.add("user", SECRET)
    doomed = memory.erasure.preview(session.id)
    assert len(doomed.messages) == len(doomed.sessions) == 1
    later = session.add("user", KEPT)
    receipt = memory.erasure.forget(doomed)
    assert (receipt.messages, receipt.sessions) == (1, 0)
    assert [message.id for message in session.messages()] == [later.id]
    assert [hit.text for hit in memory.search("market on Saturdays")] == [KEPT]
    assert not memory.verify().problems


def test_the_vector_that_was_made_last_is_counted_too(memory: Appliance) -> None:
    session = memory.sessions.create()
    session.add("user", "The tide is high at nine.")
    memory.embed_pending()
    last = session.add("user", "Nobody needs to know this.")
    memory.embed_pending()
    assert memory.erasure.forget(memory.erasure.preview(last.id)).vectors == 1
