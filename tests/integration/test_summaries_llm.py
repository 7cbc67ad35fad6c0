"""Summaries that a local model writes, and what is made instead when it does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.types import Event
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.llm_server import Served, nobody, response, serving
from tests.summary_talk import chat, check_summaries, is_for_facts, noted, write
from tests.waits import PATIENCE


def for_notes(server: Served) -> list[Any]:
    """What the model was asked to summarise; it is asked for facts too."""
    return [one for one in server.asked if not is_for_facts(one)]


@pytest.fixture
def opened(home: Path, tmp_path: Path) -> Iterator[Any]:
    home.mkdir()
    kept: list[Appliance] = []

    def open_with(base_url: str, timeout: float = 10.0) -> Appliance:
        (home / "config.toml").write_text(f'[llm]\nbase_url = "{base_url}"\nmodel = "tiny"\ntimeout = {timeout}\n')
        kept.append(Appliance.open(home, worker=False, embedder=HashEmbedder()))
        kept[-1].ingest(write(tmp_path / "harbour.jsonl", chat("harbour", 48)))
        return kept[-1]

    yield open_with
    for memory in kept:
        memory.close()


@pytest.mark.usefixtures("socket_enabled")
def test_what_a_model_has_written_is_not_written_again_after_an_interruption(opened: Any) -> None:
    with serving(noted) as server:
        memory = opened(server.base_url)
        service = engine_of(memory).summaries
        assert service.summarize_next_due(lambda: not for_notes(server)) == 0 and not memory.summaries.list()
        assert service.summarize_next_due(lambda: True) == 1
        found = memory.summaries.list()
        assert len(for_notes(server)) == sum(s.level != "exchange" for s in found) > 1


@pytest.mark.usefixtures("socket_enabled")
def test_a_local_model_writes_topics_and_sessions(opened: Any) -> None:
    with serving(noted) as server:
        memory = opened(server.base_url)
        memory.run_pending_jobs()
        found = memory.summaries.list()
        assert {s.made_by for s in found if s.level != "exchange"} == {"tiny"}
        assert {s.made_by for s in found if s.level == "exchange"} == {"extractive"}
        assert len(for_notes(server)) == sum(s.level != "exchange" for s in found)
        whole = found[0]
        assert whole.level == "session" and whole.quotes and f"[{whole.quotes[0].message_id}]" in whole.text
        assert "decisions" in whole.metadata and "fallback" not in whole.metadata
        assert memory.status()["summaries"] == {"due": 0, "model": "tiny", "fallback": None}
        check_summaries(memory)

        # What is said later goes with the notes that there are.
        session = memory.sessions.get("harbour")
        for line in chat("later", 12):
            session.add(line["role"], line["content"])
        memory.run_pending_jobs()
        last = for_notes(server)[-1]["messages"][1]["content"]
        assert last.startswith("NOTES SO FAR:\n") and last.count("We should see to") < 12 * 5 + 5


@pytest.mark.usefixtures("socket_enabled")
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (response(b"{}", "500 Internal Server Error"), "answered with HTTP 500"),
        (response(b"{oh no"), "something other than a chat completion"),
        ("", "wrote nothing"),
        ("I like trains, planes and automobiles, honestly.", "hardly a word"),
        ("- We should see to the crane or the garden or the server. [77777]", "do not exist"),
        (None, "did not answer within 0.3 s"),
    ],
    ids=["fails", "garbage", "empty", "nonsense", "invented ids", "hangs"],
)
def test_a_model_that_does_not_do_it_is_fallen_back_from_and_that_is_said(opened: Any, answer: Any, says: str) -> None:
    with serving(lambda body: answer) as server:
        # Only a model that hangs is given up on by the clock: any other has all the time that a busy machine needs.
        memory = opened(server.base_url, 0.3 if answer is None else PATIENCE)
        events: list[Event] = []
        memory.events.listen(events.append)
        memory.run_pending_jobs()
        engine_of(memory).events.flush()
        events = [event for event in events if event.kind == "summarised"]
    found = memory.summaries.list()
    assert {s.made_by for s in found} == {"extractive"}
    for summary in found:
        assert (says in summary.metadata.get("fallback", "")) == (summary.level != "exchange")
    assert says in events[0].detail["fallback"]
    assert says in memory.status()["summaries"]["fallback"]
    if not isinstance(answer, str):
        assert len(server.asked) == 1, "one that is down is not asked for each"
    check_summaries(memory)


@pytest.mark.usefixtures("socket_enabled")
def test_an_echo_is_refused(opened: Any) -> None:
    with serving(lambda body: body["messages"][1]["content"]) as server:
        memory = opened(server.base_url)
        memory.run_pending_jobs()
        assert "repeats the prompt" in memory.summaries.list()[0].metadata["fallback"]


@pytest.mark.usefixtures("socket_enabled")
def test_once_the_model_is_there_they_are_written_anew_on_demand(opened: Any, home: Path) -> None:
    with nobody() as base_url:
        memory = opened(base_url)
        memory.run_pending_jobs()
        assert "can't be reached" in memory.status()["summaries"]["fallback"]
        memory.close()
    with serving(noted) as server:
        memory = opened(server.base_url)
        memory.run_pending_jobs()
        assert {s.made_by for s in memory.summaries.list()} == {"extractive"}, "nothing has changed"
        found = memory.summaries.make("harbour")
        assert {s.made_by for s in found if s.level != "exchange"} == {"tiny"}
        assert memory.status()["summaries"]["fallback"] is None


@pytest.mark.usefixtures("socket_enabled")
def test_a_summary_that_contradicts_a_held_fact_is_flagged(opened: Any) -> None:
    def answer(body: dict[str, Any]) -> str | bytes | None:
        return f"{noted(body)}\n- The user lives in Berlin. [1]" if not is_for_facts(body) else noted(body)

    with serving(answer) as server:
        memory = opened(server.base_url)
        memory.facts.add("I live in Lisbon.")
        memory.run_pending_jobs()
        (fact,) = memory.facts.list()
        whole = memory.summaries.list()[0]
    assert whole.made_by == "tiny"
    (found,) = whole.metadata["contradicts"]
    assert found == {"note": "The user lives in Berlin.", "fact_id": fact.id, "fact": fact.text}
    assert "UNVERIFIED: The user lives in Berlin." in whole.text
    assert all("contradicts" not in one.metadata for one in memory.summaries.list() if one.made_by == "extractive")


@pytest.mark.usefixtures("socket_enabled")
def test_a_running_summary_keeps_its_marks(opened: Any) -> None:
    uncertain = "- UNVERIFIED: Somebody may sell the crane. [1]"

    def answer(body: dict[str, Any]) -> str | bytes | None:
        if is_for_facts(body):
            return noted(body)
        asked = body["messages"][1]["content"]
        return f"{noted(body)}\n{uncertain.replace('UNVERIFIED: ', '') if asked.startswith('NOTES') else uncertain}"

    with serving(answer) as server:
        memory = opened(server.base_url)
        session = memory.sessions.create(options={"working": {"budget": 400}})
        for line in chat("talk", 60):
            session.add(line["role"], line["content"])
        memory.run_pending_jobs()
        window = session.window()
        assert any(asked["messages"][1]["content"].startswith("NOTES") for asked in for_notes(server))
    assert window.made_by == "tiny" and window.summary is not None
    assert "UNVERIFIED: Somebody may sell the crane." in window.summary
