"""Facts through the public API: what supersedes what, what the person decides, and what becomes of the evidence."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance, Session
from appliance.engine.fact_extraction import CALLS_PER_BURST
from appliance.errors import NotFound, UsageError
from appliance.store import messages
from appliance.types import Fact, Quote
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.llm_server import response, serving
from tests.waits import PATIENCE, until


def texts(facts: Sequence[Fact]) -> list[str]:
    return [fact.text for fact in facts]


def day(number: int, year: int = 2024) -> datetime:
    return datetime(year, 1, number, tzinfo=UTC)


@pytest.fixture
def chat(memory: Appliance) -> Session:
    return memory.sessions.create(title="chat")


def only(memory: Appliance, attribute: str) -> Fact:
    (fact,) = [fact for fact in memory.facts.list() if fact.attribute == attribute]
    return fact


def delete(memory: Appliance, id: str) -> None:
    with engine_of(memory)._database.write() as tx:
        tx.execute("DELETE FROM message WHERE id = ?", (messages.message_key(id),))


def lines(path: Path, *said: tuple[str, str], **more: Any) -> Path:
    path.write_text(
        "".join(
            json.dumps(
                {
                    "session_id": "s",
                    "message_id": f"{when} {text}",
                    "role": "user",
                    "content": text,
                    "timestamp": when,
                    **more,
                }
            )
            + "\n"
            for when, text in said
        ),
        encoding="utf-8",
    )
    return path


def test_a_fact_has_its_words_and_when_they_were_said(memory: Appliance, chat: Session) -> None:
    message = chat.add("user", "Thanks! I live in Berlin. What is open on Sunday?", timestamp=day(5))
    (fact,) = memory.facts.list()
    assert (fact.text, fact.kind, fact.subject, fact.attribute, fact.value) == (
        "lives in Berlin", "profile", "me", "home", "Berlin",
    )  # fmt: skip
    assert fact.evidence == (Quote(message.id, 8, 24, "I live in Berlin"),)
    assert fact.said_at == fact.since == "2024-01-05T00:00:00+00:00" and fact.until is None
    assert memory.facts.get(fact.id) == fact


def test_what_the_assistant_says_is_nobody_s_fact(memory: Appliance, chat: Session) -> None:
    chat.add("assistant", "My name is Bot and I live in Berlin.")
    chat.add("tool", "I live in Rome.")
    assert memory.facts.list() == []


def test_a_newer_value_takes_the_place_and_history_stays(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I live in Berlin.", timestamp=day(5, 2023))
    chat.add("user", "We moved to Madrid.", timestamp=day(5, 2024))
    assert texts(memory.facts.list()) == ["lives in Madrid"]
    old, new = memory.facts.history("me", "home")
    assert (old.state, old.until, old.replaced_by) == ("superseded", new.since, new.id)
    assert texts(memory.facts.list(as_of="2023-06-01")) == ["lives in Berlin"]
    assert texts(memory.facts.list(as_of="2022-06-01")) == []
    assert texts(memory.facts.list(as_of=day(6))) == ["lives in Madrid"]
    assert memory.facts.history(new.id) == [old, new]


def test_what_is_said_again_is_surer_and_one_fact(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I use Vim.", timestamp=day(1))
    first = only(memory, "uses")
    chat.add("user", "I use vim for everything.", timestamp=day(2))
    again = only(memory, "uses")
    assert again.id == first.id and len(again.evidence) == 2 and again.confidence > first.confidence


def test_a_fuller_value_is_no_other(memory: Appliance, chat: Session) -> None:
    chat.add("user", "My name is Ana.", timestamp=day(1))
    chat.add("user", "My name is Ana Kowalska.", timestamp=day(2))
    assert only(memory, "name").value == "Ana Kowalska"
    assert len(memory.facts.history("me", "name")) == 1


def test_many_values_stand_beside_each_other_and_versions_do_not(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I use Postgres 15 and Redis.", timestamp=day(1))
    chat.add("user", "We use Postgres 16. I love hiking.", timestamp=day(2))
    assert set(texts(memory.facts.list())) == {"uses Postgres 16", "uses Redis", "likes hiking"}
    chat.add("user", "I hate hiking.", timestamp=day(3))
    chat.add("user", "I no longer use Redis.", timestamp=day(4))
    assert set(texts(memory.facts.list())) == {"uses Postgres 16", "dislikes hiking"}
    assert texts(memory.facts.list(state="ended")) == ["uses Redis"]


def test_an_older_message_that_comes_late_slots_into_history(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I live in Madrid.", timestamp=day(1, 2024))
    assert texts(memory.facts.list()) == ["lives in Madrid"]
    chat.add("user", "I live in Berlin.", timestamp=day(1, 2020))
    assert texts(memory.facts.list()) == ["lives in Madrid"]
    assert texts(memory.facts.list(as_of="2021-01-01")) == ["lives in Berlin"]


def test_what_can_not_change_waits_for_the_person(memory: Appliance, chat: Session) -> None:
    chat.add("user", "My birthday is May 3.", timestamp=day(1))
    chat.add("user", "My birthday is June 4.", timestamp=day(2))
    assert texts(memory.facts.list()) == ["birthday: 3 May"]
    (asked,) = memory.facts.review()
    assert memory.facts.confirm(asked.id).state == "held"
    assert texts(memory.facts.list()) == ["birthday: 4 June"] and memory.facts.review() == []


def test_two_values_at_the_same_time_wait_for_the_person(memory: Appliance) -> None:
    for number, town in enumerate(("Berlin", "Madrid")):
        memory.sessions.create(title=str(number)).add("user", f"I live in {town}.", timestamp=day(1))
    assert len(memory.facts.list()) == len(memory.facts.review()) == 1


def test_what_the_person_confirmed_is_changed_by_no_message(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I live in Berlin.", timestamp=day(1))
    memory.facts.confirm(only(memory, "home").id)
    chat.add("user", "I live in Paris.", timestamp=day(2))
    chat.add("user", "I no longer live in Berlin.", timestamp=day(3))
    assert texts(memory.facts.list()) == ["lives in Berlin"]
    assert set(texts(memory.facts.review())) == {"lives in Paris", "no longer: lives in Berlin"}
    end = next(fact for fact in memory.facts.review() if fact.text.startswith("no longer"))
    assert memory.facts.confirm(end.id).state == "ended"
    assert memory.facts.list() == []


def test_a_correction_is_what_was_so_all_along(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I work at Simens.", timestamp=day(1))
    fact = memory.facts.correct(only(memory, "employer").id, "Siemens")
    assert (fact.value, fact.made_by, fact.confidence) == ("Siemens", "person", 1.0)
    assert texts(memory.facts.list(as_of="2024-01-02")) == ["works at Siemens"]
    chat.add("user", "I love jaz.", timestamp=day(2))
    memory.facts.correct(only(memory, "likes").id, "jazz")
    assert "likes jazz" in texts(memory.facts.list()) and "likes jaz" not in texts(memory.facts.list())


def test_what_was_rejected_does_not_come_back_from_the_same_words(memory: Appliance, tmp_path: Path) -> None:
    export = lines(tmp_path / "a.jsonl", ("2024-01-01T00:00:00Z", "I live in Berlin."))
    memory.ingest(export)
    assert memory.facts.reject(only(memory, "home").id).state == "rejected"
    assert memory.facts.list() == []
    memory.ingest(export)
    memory.sessions.create(title="other").add("user", "I live in Berlin.", timestamp=day(1))
    assert memory.facts.list() == [] and memory.facts.review() == []
    with engine_of(memory)._database.write() as tx:
        tx.execute("DELETE FROM message")
    memory.ingest(lines(tmp_path / "b.jsonl", ("2024-01-01T00:00:00Z", "I live in Berlin.")))
    assert memory.facts.list() == [] and memory.facts.review() == []
    memory.ingest(lines(tmp_path / "c.jsonl", ("2024-05-01T00:00:00Z", "Really, I live in Berlin.")))
    assert memory.facts.list() == [] and texts(memory.facts.review()) == ["lives in Berlin"]


def test_what_was_rejected_can_be_told_by_the_person(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I live in Berlin.")
    memory.facts.reject(only(memory, "home").id)
    (fact,) = memory.facts.add("I live in Berlin")
    assert texts(memory.facts.list()) == ["lives in Berlin"] and fact.made_by == "person"
    memory.facts.reject(fact.id)
    assert memory.facts.list() == []


def test_when_the_newer_is_rejected_the_older_holds_again(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I live in Berlin.", timestamp=day(1))
    chat.add("user", "I live in Mordor.", timestamp=day(2))
    memory.facts.reject(only(memory, "home").id)
    assert texts(memory.facts.list()) == ["lives in Berlin"]


def test_a_fact_goes_with_its_evidence_and_not_if_it_was_confirmed(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I live in Berlin.", timestamp=day(1))
    gone = chat.add("user", "I live in Paris. I'm vegan.", timestamp=day(2))
    memory.facts.confirm(only(memory, "diet").id)
    delete(memory, gone.id)
    assert set(texts(memory.facts.list())) == {"lives in Berlin", "is vegan"}
    assert only(memory, "diet").evidence == ()
    assert len(memory.facts.history("me", "home")) == 1


def test_an_edited_message_is_read_anew(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I live in Berlin.", external_id="x", timestamp=day(1))
    assert texts(memory.facts.list()) == ["lives in Berlin"]
    chat.add("user", "I live in Bergen.", external_id="x")
    assert texts(memory.facts.list()) == ["lives in Bergen"]
    assert len(memory.facts.history("me", "home")) == 1


def test_among_people_only_the_person_s_own_messages_count(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_NAME", "Ana")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        path = tmp_path / "chat.jsonl"
        said = [("Ben", "I live in Paris."), ("ana", "I live in Rome. Never use commas!"), ("Cleo", "My name is Cleo.")]
        path.write_text(
            "".join(
                json.dumps({"session_id": "s", "role": "user", "author": who, "content": text}) + "\n"
                for who, text in said
            ),
            encoding="utf-8",
        )
        memory.ingest(path)
        assert texts(memory.facts.list()) == ["lives in Rome"], "and people give each other no instructions"
        memory.ingest(path, user_id="ben")
        assert texts(memory.facts.list("ben")) == ["lives in Paris"]


def test_a_second_author_makes_a_chat_among_people(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I live in Rome.", author="Dora")
    assert texts(memory.facts.list()) == ["lives in Rome"]
    chat.add("user", "And I live in Paris.", author="Emil")
    assert memory.facts.list() == []


def test_an_answer_of_an_assistant_makes_it_the_person_s(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(lines(tmp_path / "a.jsonl", ("2024-01-01T00:00:00Z", "I live in Rome."), author="Dora"))
    assert memory.facts.list() == []
    path = tmp_path / "b.jsonl"
    path.write_text(json.dumps({"session_id": "s", "role": "assistant", "content": "Good to know."}) + "\n")
    memory.ingest(path)
    assert texts(memory.facts.list()) == ["lives in Rome"]


def test_a_session_that_gives_nothing_to_others_has_no_facts(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I live in Rome.")
    assert len(memory.facts.list()) == 1
    for scope, count in (("none", 0), ("conversational", 1), ("summaries_only", 0), ("all", 1)):
        with engine_of(memory)._database.write() as tx:
            tx.execute("UPDATE session SET storage_scope = ?", (scope,))
        assert len(memory.facts.list()) == count


def test_the_person_tells_facts(memory: Appliance) -> None:
    assert texts(memory.facts.add("I have a dog named Rex")) == ["has a dog called Rex"]
    assert texts(memory.facts.add("the key hangs behind the clock")) == ["the key hangs behind the clock"]
    assert texts(memory.facts.add(attribute="shoe size", value="43")) == ["shoe size is 43"]
    assert all(fact.made_by == "person" and fact.confidence == 1 for fact in memory.facts.list())
    for given in ({}, {"text": "x", "attribute": "a", "value": "b"}, {"attribute": "a"}, {"text": " "}):
        with pytest.raises(UsageError):
            memory.facts.add(**given)  # type: ignore[arg-type]


def test_the_profile_begins_with_instructions(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I love jazz. I live in Rome. Always answer in metric units.")
    assert texts(memory.facts.profile()) == ["Always answer in metric units", "lives in Rome", "likes jazz"]


def test_what_can_not_be_asked_is_told(memory: Appliance) -> None:
    with pytest.raises(UsageError, match="no kind"):
        memory.facts.list(kind="nonsense")  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        memory.facts.list(state="held", as_of="2024-01-01")
    with pytest.raises(UsageError):
        memory.facts.list(as_of="some day")
    for call in (memory.facts.get, memory.facts.confirm, memory.facts.reject, memory.facts.history):
        with pytest.raises(NotFound):
            call("f99")


def test_tend_reads_what_is_due(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I live in Rome.")
    assert memory.facts.pending() == 1
    assert memory.run_pending_jobs() >= 1
    assert memory.facts.pending() == 0 and memory.run_pending_jobs() == 0


def test_a_home_of_before_is_read_from_its_messages(memory: Appliance, chat: Session) -> None:
    chat.add("user", "I live in Rome. I'm vegan.", timestamp=day(1))
    before = memory.facts.list()
    with engine_of(memory)._database.write() as tx:
        tx.execute("DELETE FROM fact_statement")
        tx.execute("INSERT INTO fact_due SELECT id FROM message")
    assert memory.facts.list() == before, "with the same ids"


def test_an_agent_knows_what_was_said_where_it_takes_part(memory: Appliance) -> None:
    memory.sessions.create(agent_id="cook").add("user", "I live in Rome.")
    memory.sessions.create(agent_id="tutor").add("user", "I'm vegan.")
    memory.facts.add("I love jazz")
    assert texts(memory.facts.list(agent_id="cook")) == ["lives in Rome", "likes jazz"]
    assert texts(memory.facts.list(agent_id="guide")) == ["likes jazz"]
    assert "Rome" in memory.context("where do I live?", agent_id="cook").text
    assert "Rome" not in memory.context("where do I live?", agent_id="tutor").text
    with pytest.raises(NotFound, match="does not take part"):
        memory.context("where do I live?", session_id="s1", agent_id="tutor")
    with pytest.raises(NotFound, match="namespace"):
        memory.context("where do I live?", session_id="s1", namespace="work")


def test_a_session_that_has_outlived_its_time_gives_no_facts(memory: Appliance, chat: Session) -> None:
    chat.set_ttl(60)
    chat.add("user", "I live in Rome. I love jazz.")
    confirmed = next(fact for fact in memory.facts.list() if fact.value == "jazz")
    memory.facts.confirm(confirmed.id)
    assert texts(memory.facts.list()) == ["lives in Rome", "likes jazz"]
    with engine_of(memory)._database.write() as tx:
        tx.execute("UPDATE session SET expires_at = 1")
    assert texts(memory.facts.list()) == ["likes jazz"], "not even before it is cleared away"
    assert memory.facts.get(confirmed.id).evidence == ()


# --- by a local model -------------------------------------------------------------------------------------

PROPOSAL = (
    '[{"message": 0, "quote": "the boat of ours is the Marigold", "kind": "project", "subject": "me",'
    ' "attribute": "boat", "value": "Marigold"},'
    ' {"message": 0, "quote": "never said", "kind": "profile", "subject": "me", "attribute": "x", "value": "y"}]'
)


@pytest.fixture
def opened(home: Path) -> Iterator[Callable[..., Appliance]]:
    kept: list[Appliance] = []

    def open_with(base_url: str, timeout: float = 10.0) -> Appliance:
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(f'[llm]\nbase_url = "{base_url}"\nmodel = "tiny"\ntimeout = {timeout}\n')
        kept.append(Appliance.open(home, worker=False, embedder=HashEmbedder()))
        return kept[-1]

    yield open_with
    for memory in kept:
        memory.close()


@pytest.mark.usefixtures("socket_enabled")
def test_a_local_model_proposes_what_it_can_quote(opened: Callable[..., Appliance]) -> None:
    with serving(lambda body: PROPOSAL) as server:
        memory = opened(server.base_url)
        memory.sessions.create().add("user", "So the boat of ours is the Marigold, by the way.")
        memory.sessions.create(storage_scope="none").add("user", "My PIN is 0000.")
        memory.run_pending_jobs()
        assert [(fact.value, fact.made_by) for fact in memory.facts.list()] == [("Marigold", "tiny")]
        assert memory.status()["facts"] == {"due": 0, "model": "tiny", "trouble": None}
        assert len(server.asked) == 1 and "PIN" not in str(server.asked)
        memory.run_pending_jobs()
        assert len(server.asked) == 1, "it has read all that there is"


@pytest.mark.usefixtures("socket_enabled")
def test_a_long_history_is_read_by_and_by(opened: Callable[..., Appliance]) -> None:
    with serving(lambda body: "[]") as server:
        memory = opened(server.base_url)
        session = memory.sessions.create()
        for number in range(100):
            session.add("user", f"{number} bees")
        memory.run_pending_jobs()
        assert len([one for one in server.asked if "lasting facts" in str(one)]) == CALLS_PER_BURST
        assert "[0] 99 bees" in str(server.asked[-CALLS_PER_BURST:])


@pytest.mark.usefixtures("socket_enabled")
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (response(b"{}", "500 Internal Server Error"), "answered with HTTP 500"),
        (None, "did not answer"),
        ("Bees!", None),
    ],
    ids=["fails", "hangs", "nonsense"],
)
def test_a_model_that_does_not_answer_changes_nothing_and_that_is_said(
    opened: Callable[..., Appliance], answer: bytes | str | None, says: str | None
) -> None:
    with serving(lambda body: answer) as server:
        # Only a model that hangs is given up on by the clock.
        memory = opened(server.base_url, 0.3 if answer is None else PATIENCE)
        memory.sessions.create().add("user", "I live in Rome.")
        memory.run_pending_jobs()
        assert texts(memory.facts.list()) == ["lives in Rome"]
        trouble = memory.status()["facts"]["trouble"]
        assert (trouble is None) if says is None else (says in trouble)
        until(lambda: server.asked, "the request")  # a model that hangs may be given up on before its server reads
        assert len(server.asked) == 1


@pytest.mark.usefixtures("socket_enabled")
def test_closing_does_not_wait_for_a_model(home: Path) -> None:
    home.mkdir()
    asked = threading.Event()

    def silence(body: object) -> None:
        asked.set()

    with serving(silence) as server:
        (home / "config.toml").write_text(f'[llm]\nbase_url = "{server.base_url}"\nmodel = "tiny"\n')
        memory = Appliance.open(home, embedder=HashEmbedder())
        memory.sessions.create().add("user", "I live in Rome.")
        assert asked.wait(PATIENCE)
        memory.close()
        assert server.silent == 1, "it waited for the model"
