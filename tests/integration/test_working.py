"""Working memory through the public API: what a session's window is, keeps and says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.engine import working_memory
from appliance.errors import UsageError
from appliance.memory.compaction import RunningSummaryWriter
from appliance.memory.window import describe_window, render_window
from appliance.memory.working_memory import WindowBuilder, WorkingMemory, WorkingMemoryContext
from appliance.resources import Session
from appliance.settings import Settings
from appliance.store import sessions
from appliance.store.sql import to_json
from appliance.types import Event, Message, Window
from appliance_models import HashEmbedder, encoding_for
from tests.engines import engine_of

PLACES = "Bergen Lisbon Quito Osaka Tartu Perth Accra Hanoi Lyon Turku Cusco Aden".split()


def opened(home: Path, *, worker: bool = False) -> Appliance:
    return Appliance.open(home, embedder=HashEmbedder(), worker=worker)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Appliance]:
    with opened(tmp_path) as memory:
        yield memory


def talk(session: Session, turns: int, start: int = 0) -> list[Message]:
    """Turns of some thirty tokens, each of a place of its own."""
    return [
        session.add(
            "user" if i % 2 else "assistant",
            f"In year {1900 + i} we decided to move the office to {PLACES[i % len(PLACES)]} because the rent was lower"
            " there, and everybody who worked with us then moved too.",
            external_id=f"turn {i}",
        )
        for i in range(start, start + turns)
    ]


def set_options(memory: Appliance, session: Session, **working: object) -> None:
    with engine_of(memory)._database.write() as tx:
        options = to_json({"working": working})
        tx.execute("UPDATE session SET options = ? WHERE id = ?", (options, sessions.key(session.info)))


def counted(window: Window) -> int:
    return encoding_for(window.encoding).count(render_window(window.summary, window.turns))


def test_a_short_conversation_is_its_own_window(memory: Appliance) -> None:
    session = memory.sessions.create()
    turns = talk(session, 4)
    window = session.window()
    assert (window.turns, window.summary, window.compacted, window.made_by) == (tuple(turns), None, 0, "")
    assert window.tokens == counted(window)


def test_a_long_one_keeps_its_latest_turns_and_quotes_the_others(memory: Appliance) -> None:
    session = memory.sessions.create()
    turns = talk(session, 120)
    window = session.window()
    assert window.compacted + len(window.turns) == 120
    assert window.turns == tuple(turns[window.compacted :])
    assert window.summary and len(window.turns) >= 3
    assert window.tokens == counted(window) <= 0.8 * 2000
    said = {turn.id: turn.text for turn in turns[: window.compacted]}
    assert window.quotes
    assert all(said[quote.message_id][quote.start : quote.end] == quote.text for quote in window.quotes)


def test_it_is_the_same_after_a_restart_and_whenever_it_was_asked_for(tmp_path: Path) -> None:
    windows: list[tuple[str | None, int, tuple[str, ...]]] = []
    for name, step in (("at the end", 90), ("after every turn", 1), ("now and then", 17)):
        with opened(tmp_path / name) as memory:
            session = memory.sessions.create()
            for start in range(0, 90, step):
                talk(session, min(step, 90 - start), start)
                session.window()
            id = session.id
        with opened(tmp_path / name) as memory:
            window = memory.sessions.get(id).window()
        year = str(window.turns[0].timestamp)[:4]
        summary = "\n".join(line.partition(year)[2][12:] for line in (window.summary or "").splitlines())
        windows.append((summary, window.compacted, tuple(turn.text for turn in window.turns)))
    assert windows[0][1] > 0
    assert windows[0] == windows[1] == windows[2]


def test_the_background_folds_and_says_so_without_a_word_of_what_was_said(memory: Appliance) -> None:
    told: list[Event] = []
    memory.events.listen(told.append)
    session = memory.sessions.create()
    talk(session, 100)
    engine_of(memory).events.flush()
    assert {event.kind for event in told} == {"ingested"}
    memory.run_pending_jobs()
    engine_of(memory).events.flush()
    events = [event for event in told if event.detail.get("what") == "working"]
    assert [event.kind for event in events] == ["summarised"]
    assert events[0].about == session.id
    assert not any(place in str(event.detail) for event in events for place in PLACES)
    window = session.window()
    assert events[0].detail["all"] == window.compacted
    assert len([event for event in told if event.detail.get("what") == "working"]) == 1


def test_an_edit_of_what_was_folded_makes_the_summary_anew(memory: Appliance) -> None:
    session = memory.sessions.create()
    talk(session, 60)
    before = session.window()
    quoted = before.quotes[0]
    edited = memory.message(quoted.message_id)
    session.add(edited.role, "In the end we moved the office to Valparaiso.", external_id=edited.external_id)
    after = session.window()
    assert after.compacted >= before.compacted - 1
    assert quoted.text not in (after.summary or "")
    texts = {message.id: message.text for message in session.messages()}
    assert all(texts[quote.message_id][quote.start : quote.end] == quote.text for quote in after.quotes)


def test_a_message_that_is_erased_leaves_the_running_summary_at_once(memory: Appliance) -> None:
    session = memory.sessions.create()
    talk(session, 60)
    quoted = session.window().quotes[0]
    with engine_of(memory)._database.write() as tx:
        tx.execute("DELETE FROM message WHERE id = ?", (int(quoted.message_id[1:]),))
    assert engine_of(memory)._database.read().execute("SELECT count(*) FROM working").fetchone() == (0,)
    assert quoted.text not in (session.window().summary or "")


def test_one_that_is_not_folded_leaves_it_as_it_is(memory: Appliance) -> None:
    session = memory.sessions.create()
    talk(session, 60)
    before = session.window()
    last = before.turns[-1]
    session.add(last.role, "Something else.", external_id=last.external_id)
    after = session.window()
    assert (after.summary, after.compacted) == (before.summary, before.compacted)
    assert after.turns[-1].text == "Something else."


def test_the_latest_turns_stand_whole_even_if_they_alone_are_more(memory: Appliance) -> None:
    session = memory.sessions.create()
    talk(session, 40)
    long = session.add("user", "The garden has many old trees. " * 500)
    window = session.window()
    assert window.turns[-1] == long
    assert len(window.turns) == 3
    assert window.tokens == counted(window) > 2000
    assert window.summary is None and window.made_by == ""
    assert any("more than the budget" in note for note in window.notes)
    talk(session, 6, 50)
    later = session.window()
    assert later.tokens <= 2000 and later.summary


def test_a_session_can_have_habits_of_its_own(memory: Appliance) -> None:
    session = memory.sessions.create()
    turns = talk(session, 40)
    set_options(memory, session, budget=500, keep=2)
    small = session.window()
    assert small.budget == 500 and small.tokens == counted(small) <= 400
    set_options(memory, session, strategy="buffer_window", turns=5)
    latest = session.window()
    assert latest.turns == tuple(turns[-5:])
    assert (latest.strategy, latest.summary, latest.compacted, latest.budget) == ("buffer_window", None, 35, None)
    set_options(memory, session, encoding="some-local-model")
    assert any("approximated with cl100k_base" in note for note in session.window().notes)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"bugdet": 100}, "Unknown option working.bugdet"),
        ({"budget": 10}, "budget"),
        ({"strategy": "everything"}, "strategy"),
        ({"threshold": 0.5, "target": 0.9}, "target"),
        ({"keep": "three"}, "keep"),
    ],
)
def test_an_option_that_cannot_be_is_named(memory: Appliance, options: dict[str, object], says: str) -> None:
    session = memory.sessions.create()
    talk(session, 2)
    set_options(memory, session, **options)
    with pytest.raises(UsageError, match=says) as raised:
        session.window()
    assert session.id in str(raised.value)
    memory.run_pending_jobs()


def test_a_model_writes_in_the_background_and_never_while_somebody_waits(memory: Appliance) -> None:
    asked: list[tuple[str, int]] = []

    def write(prior: str, turns: Sequence[Message]) -> str | None:
        asked.append((prior, len(turns)))
        return None if len(asked) == 2 else f"They moved {len(asked)} times."

    writer = RunningSummaryWriter("a-model", write)
    working = working_memory.working_memory(engine_of(memory)._database, Settings(), lambda event: None, writer)
    session = memory.sessions.create()
    key = sessions.key(session.info)
    talk(session, 60)
    working.mark_changed(key)
    working.run_pending_compactions()
    assert len(asked) == 1
    window = working.window(key)
    assert (window.summary, window.made_by) == ("They moved 1 times.", "a-model")
    assert window.quotes  # the evidence
    talk(session, 40, 60)
    working.mark_changed(key)
    working.run_pending_compactions()
    assert asked[1][0] != ""
    refused = working.window(key)
    assert refused.made_by == "extractive" and "decided to move" in (refused.summary or "")
    talk(session, 40, 100)
    assert working.window(key).made_by == "extractive"
    assert len(asked) == 2


def test_two_that_fold_at_the_same_time_do_not_write_over_each_other(memory: Appliance) -> None:
    session = memory.sessions.create()
    key = sessions.key(session.info)
    talk(session, 60)
    usual = working_memory.default_window_policy(Settings())
    other = working_memory.working_memory(engine_of(memory)._database, Settings(), lambda event: None)
    raced: list[str] = []

    def embed(texts: Sequence[str]):  # type: ignore[no-untyped-def]
        if not raced:  # meanwhile somebody edits what is being compacted
            raced.append("once")
            session.add("user", "In year 1901 nothing was decided at all.", external_id="turn 1")
            other.window(key)
        return working_memory.sentence_vectors(texts)

    working = WorkingMemory(
        WorkingMemoryContext(engine_of(memory)._database, WindowBuilder(usual, encoding_for, embed), lambda event: None)
    )
    window = working.window(key)
    assert raced
    assert window == other.window(key)
    texts = {message.id: message.text for message in session.messages()}
    assert all(texts[quote.message_id][quote.start : quote.end] == quote.text for quote in window.quotes)


@pytest.mark.slow
def test_ten_thousand_turns_leave_no_more_than_a_hundred(memory: Appliance) -> None:
    session = memory.sessions.create()
    key = sessions.key(session.info)
    talk(session, 1)
    with engine_of(memory)._database.write() as tx:
        tx.executemany(
            "INSERT INTO message (session_id, external_id, position, order_at, role, body, talk, metadata, revision,"
            " added_at) SELECT ?, ?, ?, order_at + ?, 'user', ?, 1, '{}', 1, added_at FROM message WHERE id = 1",
            ((key, f"more {i}", i, i, f"On day {i} we moved to {PLACES[i % 12]}.") for i in range(1, 10_000)),
        )
    window = session.window()
    assert window.compacted + len(window.turns) == 10_000
    assert window.tokens <= 1600
    assert len(window.quotes) < 60
    assert any(int(quote.text.split()[2]) > 9_000 for quote in window.quotes if quote.text.startswith("On day"))


def test_the_background_stops_between_two_pieces_of_work_and_goes_on_later(memory: Appliance) -> None:
    session = memory.sessions.create()
    set_options(memory, session, budget=150)
    key = sessions.key(session.info)
    talk(session, 60)
    asked: list[bool] = []

    def once() -> bool:
        asked.append(True)
        return len(asked) == 1

    first = engine_of(memory)._working_memory.run_pending_compactions(once)
    compacted = engine_of(memory)._database.read().execute("SELECT folded FROM working").fetchone()[0]
    assert 0 < first < 60 and compacted < 57
    assert engine_of(memory)._working_memory.run_pending_compactions() > 0
    assert engine_of(memory)._working_memory.run_pending_compactions() == 0
    window = engine_of(memory)._working_memory.window(key)
    assert window.compacted > compacted


def test_a_window_is_shown_with_what_it_is_made_of(memory: Appliance) -> None:
    session = memory.sessions.create()
    talk(session, 60)
    window = session.window()
    lines = describe_window(window).splitlines()
    assert lines[0].startswith(f"{session.id} · summary_buffer · {window.compacted} turns compacted")
    assert "# Earlier in this conversation" in lines
    assert "# This conversation so far" in lines
