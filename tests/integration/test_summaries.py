"""Summaries from the outside: made when due, kept up to date, found, and gone with what they were made of."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.errors import NotFound, UsageError
from appliance.memory import summary_planner
from appliance.store import migrations
from appliance.types import Event, Summary
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.summary_talk import chat, check_summaries, write
from tests.waits import PATIENCE


@pytest.fixture
def told(memory: Appliance) -> list[Event]:
    events: list[Event] = []
    memory.events.listen(lambda event: events.append(event) if event.kind == "summarised" else None)
    return events


@pytest.fixture
def filled(memory: Appliance, tmp_path: Path) -> Appliance:
    memory.ingest(write(tmp_path / "harbour.jsonl", chat("harbour", 48)))
    return memory


def tend(memory: Appliance) -> int:
    """Make the summaries that are due, and nothing else; of how many sessions."""
    done = 0
    while engine_of(memory).summaries.summarize_next_due(lambda: True):
        done += 1
    return done


def levels(found: list[Summary] | Any) -> Counter[str]:
    return Counter(summary.level for summary in found)


def everything(memory: Appliance) -> str:
    """All words that any summary has, in whatever field."""
    rows = engine_of(memory)._database.read().execute("SELECT text, metadata FROM summary").fetchall()
    return " ".join(" ".join(row) for row in rows)


# --- made -------------------------------------------------------------------------------------------------


def test_an_import_is_summarised_at_once_at_three_levels(filled: Appliance, told: list[Event]) -> None:
    assert filled.summaries.pending() == 1 and filled.summaries.list() == []
    assert tend(filled) == 1
    found = filled.summaries.list()
    counts = levels(found)
    assert counts["session"] == 1 and counts["topic"] > 1 and counts["exchange"] == 24
    assert [s.level for s in found] == sorted((s.level for s in found), key=["session", "topic", "exchange"].index)
    whole = found[0]
    assert whole.messages == 48 and whole.made_by == "extractive"
    assert whole.since == "2024-03-01T10:00:00+00:00" and whole.until == "2024-03-01T10:47:00+00:00"
    assert sum(s.messages for s in found if s.level == "topic") == 48
    engine_of(filled).events.flush()
    assert told == [Event("summarised", "s1", {**counts, "made_by": "extractive"})]
    assert filled.summaries.pending() == 0 and tend(filled) == 0
    assert filled.status()["counts"]["summaries"] == len(found)
    check_summaries(filled)


def test_what_is_shorter_than_a_summary_has_none(memory: Appliance) -> None:
    session = memory.sessions.create()
    session.add("user", "The crane is broken.")
    session.add("assistant", "Then we need oil.")
    assert memory.summaries.make(session.id) == []
    assert memory.summaries.pending() == 0


SHORT_EXCHANGE = (
    ("user", "My router drops the wifi every evening around eight. What could it be?"),
    ("assistant", "Most likely channel congestion. Switch the 2.4 GHz band to channel 1 or 11. Or use the 5 GHz band."),
)


def add_short_exchange(memory: Appliance) -> str:
    session = memory.sessions.create()
    for role, text in SHORT_EXCHANGE:
        session.add(role, text)
    return session.id


def test_a_short_exchange_has_a_shorter_summary(memory: Appliance) -> None:
    (summary,) = memory.summaries.make(add_short_exchange(memory))
    quoted = sum(len(quote.text) for quote in summary.quotes)
    assert 0 < quoted < sum(len(text) for _, text in SHORT_EXCHANGE)


def test_a_summary_that_would_quote_all_of_it_is_none(memory: Appliance) -> None:
    session = memory.sessions.create()
    session.add(
        "user", "Remember that the spare key of the boat house hangs behind the green door, " + "left of it " * 10
    )
    assert memory.summaries.make(session.id) == []


def test_an_existing_home_gets_summaries_of_short_exchanges(
    filled: Appliance, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = [
        {"session_id": "short", "role": role, "content": text, "timestamp": "2024-05-01T10:00:00Z"}
        for role, text in SHORT_EXCHANGE
    ]
    filled.ingest(write(tmp_path / "short.jsonl", lines))
    with monkeypatch.context() as earlier:
        earlier.setattr(summary_planner, "MIN_PART_CHARACTERS", dict.fromkeys(summary_planner.MIN_PART_CHARACTERS, 600))
        tend(filled)
        assert not filled.summaries.list(session_id="short")
        before = {one.id for one in filled.summaries.list()}
    with engine_of(filled)._database.write() as tx:
        for statement in migrations.SHORT_SUMMARIES:
            tx.execute(statement)
    tend(filled)
    assert len(filled.summaries.list(session_id="short")) == 1
    assert before < {one.id for one in filled.summaries.list()}


def test_the_last_active_conversation_comes_first(memory: Appliance, told: list[Event], tmp_path: Path) -> None:
    for number, name in enumerate(("old", "new", "older")):
        year = {"old": 2020, "new": 2023, "older": 2018}[name]
        lines = [line | {"timestamp": line["timestamp"].replace("2024", str(year))} for line in chat(name, 12)]
        memory.ingest(write(tmp_path / f"{number}.jsonl", lines))
    memory.run_pending_jobs()
    engine_of(memory).events.flush()
    ids = [memory.sessions.get(event.about).info.external_id for event in told]
    assert ids == ["new", "old", "older"]


def test_a_running_conversation_is_summarised_every_dozen_messages(memory: Appliance) -> None:
    session = memory.sessions.create()
    for number, line in enumerate(chat("x", 30), 1):
        session.add(line["role"], line["content"])
        memory.run_pending_jobs()
        expected = number - number % memory.settings.summaries.every
        whole = memory.summaries.list(session_id=session.id, level="session")
        assert [s.messages for s in whole] == ([expected] if expected else [])
    check_summaries(memory)


def test_one_that_fell_silent_is_summarised(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[summaries]\nsilent = 0.0\n")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        session = memory.sessions.create()
        for line in chat("x", 5):
            session.add(line["role"], line["content"])
        assert tend(memory) == 1
        assert memory.summaries.list()[0].messages == 5


def test_what_has_not_changed_keeps_its_summary(filled: Appliance) -> None:
    filled.run_pending_jobs()
    before = {s.id: s for s in filled.summaries.list()}
    session = filled.sessions.get("harbour")
    for line in chat("harbour", 60)[48:]:
        session.add(line["role"], line["content"])
    assert tend(filled) == 1
    after = {s.id: s for s in filled.summaries.list()}
    kept = before.keys() & after.keys()
    assert all(before[id] == after[id] for id in kept)
    gone = [before[id] for id in before.keys() - after.keys()]
    counts = levels(gone)
    assert counts["session"] == 1 and counts["topic"] <= 1 and not counts["exchange"], "what goes on"
    assert sum(s.messages for s in after.values() if s.level == "topic") == 60
    check_summaries(filled)


def test_a_change_refreshes_what_covers_it_and_nothing_else(filled: Appliance) -> None:
    filled.run_pending_jobs()
    before = {s.id for s in filled.summaries.list()}
    session = filled.sessions.get("harbour")
    session.add("user", "The walrus " * 60, external_id="harbour-20")
    assert tend(filled) == 1
    after = {s.id for s in filled.summaries.list()}
    gone = before - after
    assert len(gone) == 3, "the session, one topic, one exchange"
    assert levels(filled.summaries.list())["session"] == 1
    check_summaries(filled)


def test_the_words_of_a_message_leave_its_summaries_in_the_same_transaction(filled: Appliance) -> None:
    filled.run_pending_jobs()
    quote = filled.summaries.list(level="session")[0].quotes[0]
    assert quote.text in everything(filled)
    key = int(quote.message_id[1:])
    with engine_of(filled)._database.write() as tx:
        tx.execute("DELETE FROM chunk WHERE message_id = ?", (key,))
        tx.execute("DELETE FROM message WHERE id = ?", (key,))
        left = " ".join(row[0] for row in tx.execute("SELECT text || metadata FROM summary"))
        assert quote.text not in left
    assert quote.text not in everything(filled)
    filled.run_pending_jobs()
    assert quote.text not in everything(filled)
    assert filled.summaries.list(level="session")[0].messages == 47


def test_an_edit_that_comes_while_a_summary_is_made_is_not_written_over(
    filled: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words that the message had before must not come back with a summary that was begun before."""
    plan = summary_planner.plan
    session = filled.sessions.get("harbour")

    def meanwhile(*given: Any) -> Any:
        made = plan(*given)
        monkeypatch.setattr(summary_planner, "plan", plan)
        session.add("user", "The walrus sleeps here now, and nobody may wake it.", external_id="harbour-0")
        return made

    monkeypatch.setattr(summary_planner, "plan", meanwhile)
    old = filled.message("harbour-0").text
    found = filled.summaries.make("harbour")
    assert found and old not in everything(filled)
    check_summaries(filled)


def test_what_is_said_while_a_summary_is_made_waits_for_the_next(
    filled: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = summary_planner.plan
    session = filled.sessions.get("harbour")

    def meanwhile(*given: Any) -> Any:
        made = plan(*given)
        monkeypatch.setattr(summary_planner, "plan", plan)
        for line in chat("later", 13):
            session.add(line["role"], line["content"])
        return made

    monkeypatch.setattr(summary_planner, "plan", meanwhile)
    assert engine_of(filled).summaries.summarize_next_due(lambda: True) == 1
    assert filled.summaries.list(level="session")[0].messages == 48
    assert filled.summaries.pending() == 1, "thirteen more"
    filled.run_pending_jobs()
    assert filled.summaries.list(level="session")[0].messages == 61
    check_summaries(filled)


def test_a_conversation_that_is_deleted_takes_its_summaries_along(filled: Appliance) -> None:
    filled.run_pending_jobs()
    with engine_of(filled)._database.write() as tx:
        from appliance.store import chunks

        keys = [key for (key,) in tx.execute("SELECT id FROM message")]
        chunks.delete(tx, keys)
        tx.execute("DELETE FROM message_fts")
        tx.execute("DELETE FROM session")
    assert filled.summaries.list() == []
    filled.embed_pending()
    assert filled.verify().checked.get("points", 0) == 0
    assert tend(filled) == 0


def test_the_background_makes_them(home: Path, tmp_path: Path) -> None:
    import threading

    with Appliance.open(home, embedder=HashEmbedder()) as memory:
        made = threading.Event()
        memory.events.listen(lambda event: made.set() if event.kind == "summarised" else None)
        memory.ingest(write(tmp_path / "a.jsonl", chat("harbour", 30)), wait=False)
        assert made.wait(PATIENCE)
        session = memory.sessions.create()
        session.add("user", "An add does not wait for any of this.")
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert memory.summaries.list()
        memory.embed_pending()
        check_summaries(memory)


def test_a_summary_that_takes_longer_than_a_slice_of_jobs_is_made(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance.client.JOB_SLICE", 0.0)
    memory.ingest(write(tmp_path / "a.jsonl", chat("harbour", 30)))
    assert memory.run_pending_jobs() > 0
    assert memory.summaries.list() and not memory.summaries.pending() and not memory.facts.pending()


@pytest.mark.slow
def test_a_very_long_conversation_is_summarised_from_its_topics(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary_planner, "MAX_DIRECT_MESSAGES", 100)
    memory.ingest(write(tmp_path / "long.jsonl", chat("long", 110)))
    memory.run_pending_jobs()
    (whole,) = memory.summaries.list(level="session")
    assert whole.messages == 110 and 5 < len(whole.quotes) <= 30
    quoted = {q for s in memory.summaries.list(level="topic") for q in s.quotes}
    assert set(whole.quotes) <= quoted
    check_summaries(memory)


# --- kept -------------------------------------------------------------------------------------------------


def test_they_survive_a_rebuild_and_another_model(filled: Appliance) -> None:
    filled.run_pending_jobs()
    before = filled.summaries.list()
    hits = [h.summary.id for h in filled.summaries.search("tomato greenhouse")]
    points = filled.verify().checked["points"]
    assert points >= filled.status()["counts"]["chunks"] + len(before)
    filled.reindex()
    assert [h.summary.id for h in filled.summaries.search("tomato greenhouse")] == hits
    filled.reindex(vectors=True)
    assert [h.summary.id for h in filled.summaries.search("tomato greenhouse")] == hits
    assert filled.summaries.list() == before
    assert filled.verify().checked["points"] == points
    check_summaries(filled)


def test_verify_names_a_summary_that_does_not_agree(filled: Appliance) -> None:
    filled.run_pending_jobs()
    with engine_of(filled)._database.write() as tx:
        tx.execute("UPDATE summary SET sentences = '[[1,0,99999]]' WHERE id = 1")
        tx.execute("UPDATE summary SET text = text || ' and more' WHERE id = 2")
    problems = {p.where: p.message for p in filled.verify().problems}
    assert "quotes text that m1 does not have" in problems["sum1"]
    assert "chunk" in problems["sum2"]


def test_a_long_summary_has_several_pieces(filled: Appliance) -> None:
    filled.run_pending_jobs()
    db = engine_of(filled)._database.read()
    longest = max(filled.summaries.list(), key=lambda s: len(s.text))
    key = int(longest.id[3:])
    spans = db.execute("SELECT start, stop FROM summary_chunk WHERE summary_id = ? ORDER BY start", (key,)).fetchall()
    assert spans[0][0] == 0 and spans[-1][1] == len(longest.text)


# --- found ------------------------------------------------------------------------------------------------


@pytest.fixture
def two(filled: Appliance, tmp_path: Path) -> Appliance:
    lines = [line | {"session_title": "Apart"} for line in chat("apart", 20, seed=1)]
    filled.ingest(write(tmp_path / "apart.jsonl", lines))
    filled.run_pending_jobs()
    return filled


def test_a_search_for_summaries_finds_them_by_meaning_and_words(two: Appliance) -> None:
    hits = two.summaries.search("watering the tomato in the greenhouse", limit=5)
    assert hits and "tomato" in hits[0].summary.text
    assert [h.rank for h in hits] == list(range(1, len(hits) + 1))
    for hit in hits:
        assert hit.score == pytest.approx(sum(hit.why.values()))
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
    assert list(two.summaries.search("watering the tomato in the greenhouse", limit=2)) == hits[:2]


def test_of_several_that_cover_the_same_messages_the_best_is_shown(two: Appliance) -> None:
    hits = two.summaries.search("crane oil", limit=50)
    order = {m.id: n for s in ("harbour", "apart") for n, m in enumerate(two.sessions.messages(s))}
    for number, hit in enumerate(hits):
        for other in hits[:number]:
            if hit.summary.session_id == other.summary.session_id:
                assert (
                    order[hit.summary.last_id] < order[other.summary.first_id]
                    or order[other.summary.last_id] < order[hit.summary.first_id]
                )


@pytest.mark.parametrize("level", ["session", "topic", "exchange"])
def test_a_level_can_be_asked_for(two: Appliance, level: Any) -> None:
    hits = two.summaries.search("the crane and the oil", level=level, limit=20)
    assert hits and {h.summary.level for h in hits} == {level}
    assert {s.level for s in two.summaries.list(level=level)} == {level}


def test_a_session_can_be_asked_for(two: Appliance) -> None:
    apart = two.sessions.get("apart").id
    assert {h.summary.session_id for h in two.summaries.search("crane", session_id=apart, limit=30)} == {apart}
    assert {s.session_id for s in two.summaries.list(session_id="apart")} == {apart}


def test_message_searches_never_show_a_summary_and_bring_the_best_beside(two: Appliance) -> None:
    bare = two.search("watering the tomato in the greenhouse", limit=50)
    assert all(hit.message_id.startswith("m") for hit in bare)
    assert 0 < len(bare.summaries) <= 3
    assert "tomato" in bare.summaries[0].summary.text
    for roles in (["user"], ["tool", "system"]):
        assert two.search("tomato", roles=roles).summaries == ()  # type: ignore[arg-type]


def test_summaries_change_nothing_in_what_a_message_search_finds(filled: Appliance) -> None:
    questions = ("watering the tomato in the greenhouse", "crane oil", "latency of the query")
    before = [[(h.message_id, h.score) for h in filled.search(q, limit=40)] for q in questions]
    assert all(not filled.search(q).summaries for q in questions)
    filled.run_pending_jobs()
    after = [[(h.message_id, h.score) for h in filled.search(q, limit=40)] for q in questions]
    for one, other in zip(before, after, strict=True):
        assert [id for id, _ in one] == [id for id, _ in other]
        assert [s for _, s in one] == pytest.approx([s for _, s in other], abs=1e-5)


def test_what_a_session_keeps_to_itself_is_found_within_it_only(two: Appliance) -> None:
    harbour = two.sessions.get("harbour").id
    everywhere = {h.summary.session_id for h in two.summaries.search("tomato crane", limit=50)}
    assert harbour in everywhere
    for kept in ("none",):
        with engine_of(two)._database.write() as tx:
            tx.execute("UPDATE session SET storage_scope = ? WHERE external_id = 'harbour'", (kept,))
        found = {h.summary.session_id for h in two.summaries.search("tomato crane", limit=50)}
        assert found and harbour not in found
        assert all(h.summary.session_id != harbour for h in two.search("tomato crane").summaries)
        assert two.summaries.search("tomato crane", session_id=harbour)
    for given in ("summaries_only", "conversational"):
        with engine_of(two)._database.write() as tx:
            tx.execute("UPDATE session SET storage_scope = ? WHERE external_id = 'harbour'", (given,))
        assert harbour in {h.summary.session_id for h in two.summaries.search("tomato crane", limit=50)}


def test_bad_requests_are_clear(two: Appliance) -> None:
    with pytest.raises(NotFound, match="sum999"):
        two.summaries.get("sum999")
    with pytest.raises(NotFound, match="m1"):
        two.summaries.get("m1")
    with pytest.raises(NotFound):
        two.summaries.make("s999")
    with pytest.raises(UsageError, match="level"):
        two.summaries.list(level="chapter")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="level"):
        two.summaries.search("x", level="chapter")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="limit"):
        two.summaries.search("x", limit=0)
    assert two.summaries.search("") is not None
    first = two.summaries.list()[0]
    assert two.summaries.get(first.id) == first
