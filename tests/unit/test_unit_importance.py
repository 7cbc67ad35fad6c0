"""How important a message is: what its words are worth, what use and pins add, and what that changes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance import Appliance
from appliance.errors import NotFound
from appliance.memory import importance, pins
from appliance.requests import RecalledRequest
from appliance.store import chunks
from appliance.store import importance as stored
from appliance.store.priority import DEFAULT_IMPORTANCE, chunk_priority
from appliance.types import ROLES
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.eval import importance as measuring
from tests.waits import spent

DAY = 86_400_000_000
NOW = 1_800_000_000_000_000

SECONDS_AT_MOST = 0.005
"""Processor time that weighing five megabytes may take; it is microseconds."""


def said(text: str, role: str = "user", talk: bool = True, metadata: str = "{}") -> SimpleNamespace:
    return SimpleNamespace(role=role, conversational=talk, text=text, metadata=metadata)


def parts(text: str, role: str = "user", talk: bool = True, metadata: str = "{}") -> dict[str, float]:
    return importance.score_components(said(text, role, talk, metadata))


@pytest.mark.parametrize(
    ("more", "less", "part"),
    [
        ("My sister moved to Porto.", "Your sister moved to Porto.", "own"),
        ("Meine Schwester ist umgezogen.", "Deine Schwester ist umgezogen.", "own"),
        ("Mi hermana vive en Oporto.", "Tu hermana vive en Oporto.", "own"),
        ("We decided to take the early ferry.", "The early ferry is nice.", "decisions"),
        ("Wir haben uns entschieden.", "Wir haben gefragt.", "decisions"),
        ("Decidimos tomar el barco.", "Vimos el barco.", "decisions"),
        ("It was in Porto, with Marta.", "It was there, with her.", "names"),
        ("Wir fahren am Montag um 9:40.", "Wir fahren bald.", "names"),
        ("Quedamos el martes.", "Quedamos pronto.", "names"),
        ("We are still waiting for the permit.", "The permit is here.", "unresolved"),
        ("Die Frage ist noch offen.", "Die Frage ist beantwortet.", "unresolved"),
        ("Queda pendiente el permiso.", "El permiso ha llegado.", "unresolved"),
        ("Which pipe is it?", "It is that pipe.", "unresolved"),
        ("Run `make test` first.", "Run the tests first.", "tools"),
        ("The lease of the flat ends in spring and the deposit comes back.", "It ends.", "density"),
    ],
)
def test_a_part_sees_what_it_is_named_for(more: str, less: str, part: str) -> None:
    assert parts(more)[part] > parts(less)[part]


def test_a_word_of_the_first_person_that_another_language_uses_otherwise_is_no_sign_of_it() -> None:
    assert parts("Then he went to Porto.")["own"] == 0  # Spanish "he" is "I have"


def test_a_name_that_begins_a_sentence_is_no_sign_of_one_nor_is_i() -> None:
    assert parts("That was it. Then they went. And I did too.")["names"] == 0
    assert parts("Then Marta went.")["names"] > 0


def test_german_nouns_are_not_all_names() -> None:
    plain = parts("Die Wohnung und der Keller im Haus an der Ecke")["names"]
    assert plain < parts("A flat with Keller and Haus near Ecke")["names"]


def test_roles_count_in_their_order_and_what_nobody_saw_hardly() -> None:
    text = "The key hangs behind the clock"
    assert [parts(text, role)["role"] for role in ("user", "assistant", "tool", "system")] == sorted(
        (parts(text, role)["role"] for role in ROLES), reverse=True
    )
    assert parts(text, talk=False)["role"] == parts(text, "tool", talk=False)["role"]
    assert parts(text, "system", talk=False)["role"] == 0


def test_tools_and_files_are_seen_in_what_the_source_says() -> None:
    assert parts("done", metadata='{"files":["a.py"]}')["tools"] == parts("done", metadata='{"tools":[]}')["tools"] > 0
    assert parts("done")["tools"] == 0


@given(
    st.text(max_size=700),
    st.sampled_from(ROLES),
    st.booleans(),
    st.booleans(),
    st.integers(0, 10_000),
    st.integers(-DAY, 4000 * DAY),
)
def test_the_parts_add_up_to_a_score_between_0_and_1(
    text: str, role: str, talk: bool, pinned: bool, times: int, age: int
) -> None:
    message = said(text, role, talk)
    words = importance.score(message)
    assert 0 <= words <= 1
    known = stored.combine(words, pinned, times, NOW - age if times else None, NOW)
    explained = importance.explain(message, known, NOW)
    assert list(explained) == [*importance.COMPONENTS, "recalled", "feedback", "pinned"]
    assert all(part >= 0 for part in explained.values())
    assert sum(explained.values()) == pytest.approx(known.importance)
    assert 0 <= known.importance <= 1
    assert not pinned or known.importance == 1


def test_use_lifts_and_fades_and_saturates() -> None:
    def counted(times: int, days: int) -> float:
        return stored.combine(0.3, False, times, NOW - days * DAY, NOW).importance

    assert counted(1, 0) < counted(2, 0) < counted(9, 0) < counted(900, 0) + 1e-9 <= 0.65 + 1e-9
    assert counted(5, 0) > 0.5  # whatever it says, it is of use
    assert counted(5, 0) > counted(5, 30) > counted(5, 300)
    assert counted(5, 30) - 0.3 == pytest.approx((counted(5, 0) - 0.3) / 2)
    assert counted(5, -1) == counted(5, 0)


@pytest.mark.parametrize(
    "text", ["word? " * 900_000, "A1." * 1_700_000, "\n" * 5_000_000, "🙂" * 1_300_000, "\ud800" * 5000]
)
def test_a_message_of_any_length_costs_the_same(text: str) -> None:
    message = said(text)
    importance.score(message)
    assert min(spent(lambda: importance.score(message)) for _ in range(5)) < SECONDS_AT_MOST


# --- in the store ------------------------------------------------------------------------------------


def stored_worth(memory: Appliance) -> list[float | None]:
    return [
        value for (value,) in engine_of(memory)._database.read().execute("SELECT importance FROM message ORDER BY id")
    ]


def test_a_message_is_weighed_when_it_is_stored_and_again_when_it_changes(memory: Appliance) -> None:
    session = memory.sessions.create()
    first = session.add("user", "ok", external_id="a")
    (plain,) = stored_worth(memory)
    assert plain == importance.score(said("ok"))
    session.add("user", "We decided to sell the boat to Marta in May", external_id="a")
    (changed,) = stored_worth(memory)
    assert changed is not None and plain is not None and changed > plain
    assert memory.pins.importance(first.id).score == pytest.approx(changed)


def test_an_ingest_weighs_too(memory: Appliance, tmp_path: Path) -> None:
    lines = [{"session_id": "s", "role": role, "content": "We decided on Porto"} for role in ROLES]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    memory.ingest(tmp_path / "a.jsonl")
    worth = stored_worth(memory)
    assert None not in worth and len(set(worth)) == len(ROLES)


def test_a_pin_overrides_and_can_be_taken_back(memory: Appliance) -> None:
    message = memory.sessions.create().add("user", "ok")
    before = memory.pins.importance(message.id)
    assert not before.pinned and before.score < 0.5
    assert memory.pin(message.id).pinned
    assert memory.pins.importance(message.id).score == 1
    assert [one.id for one in memory.pins.pinned("me")] == [message.id]
    assert memory.pins.pinned("ana") == []
    assert not memory.unpin(message.id).pinned
    after = memory.pins.importance(message.id)
    assert (after.score, after.parts) == (before.score, before.parts)
    with pytest.raises(NotFound):
        memory.pin("m99")


def test_the_accessor_gives_what_is_there(memory: Appliance) -> None:
    session = memory.sessions.create()
    session.add("user", "ok")
    memory.pin(session.add("user", "fine").id)
    found = stored.get(engine_of(memory)._database.read(), [1, 2, 3])
    assert found.keys() == {1, 2}
    assert (found[1].pinned, found[2].pinned, found[2].importance) == (False, True, 1.0)


def test_a_pin_goes_out_with_the_export_and_comes_back_in(memory: Appliance, tmp_path: Path) -> None:
    session = memory.sessions.create(external_id="s")
    session.add("user", "The key hangs behind the clock", metadata={"pinned": True, "mood": "calm"})
    session.add("user", "ok")
    (pinned, other) = session.messages()
    assert (pinned.pinned, dict(pinned.metadata), other.pinned) == (True, {"mood": "calm"}, False)
    lines = list(memory.export())
    assert [line["metadata"].get("pinned") for line in lines] == [True, None]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with Appliance.open(tmp_path / "second", worker=False, embedder=HashEmbedder()) as second:
        second.ingest(tmp_path / "a.jsonl")
        assert [one.pinned for one in second.sessions.get("s").messages()] == [True, False]
    # Read back where it came from it changes nothing, whatever was pinned meanwhile.
    memory.unpin(pinned.id)
    memory.pin(other.id)
    assert memory.ingest(tmp_path / "a.jsonl").total("duplicates") == 2
    assert [one.pinned for one in session.messages()] == [False, True]


def test_an_edit_does_not_unpin(memory: Appliance) -> None:
    session = memory.sessions.create()
    memory.pin(session.add("user", "one", external_id="a").id)
    assert session.add("user", "two", external_id="a").pinned


# --- recalled ----------------------------------------------------------------------------------------


def test_a_context_counts_what_it_gives_and_a_search_does_not(memory: Appliance) -> None:
    session = memory.sessions.create()
    message = session.add("user", "My deadline is March 15th")
    memory.search("deadline")
    assert memory.pins.importance(message.id).times == 0
    memory.context("deadline", counted=False)
    assert memory.pins.importance(message.id).times == 0
    before = memory.pins.importance(message.id).score
    memory.context("deadline")
    found = memory.pins.importance(message.id)
    assert (found.times, found.score > before, found.parts["recalled"] > 0) == (1, True, True)
    assert found.last_at is not None
    # What the conversation itself holds is not recalled.
    session.context("deadline", budget=200)
    assert memory.pins.importance(message.id).times == 1


def test_counts_wait_in_memory_and_are_there_after_a_close(home: Path) -> None:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        message = memory.sessions.create().add("user", "My deadline is March 15th")
        for _ in range(3):
            memory.context("deadline")
        rows = engine_of(memory)._database.read().execute("SELECT count(*) FROM recalled").fetchone()
        assert rows == (0,)
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert memory.pins.importance(message.id).times == 3


def test_many_counts_call_for_being_written(memory: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[int] = []
    kept = pins.PinService(engine_of(memory)._database, lambda: woken.append(1))
    kept.note_recalled(RecalledRequest([f"m{number}" for number in range(1, pins.WRITE_BATCH_MESSAGES)]))
    assert not woken
    kept.note_recalled(RecalledRequest(["m9999", "no message at all"]))
    assert woken
    assert kept.write_counts() == pins.WRITE_BATCH_MESSAGES  # of messages that are not there nothing is kept
    assert engine_of(memory)._database.read().execute("SELECT count(*) FROM recalled").fetchone() == (0,)
    monkeypatch.setattr(pins, "WRITE_INTERVAL_SECONDS", 0.0)
    kept.note_recalled(RecalledRequest([]))
    assert len(woken) == 1
    kept.note_recalled(RecalledRequest(["m1"]))
    assert len(woken) == 2


def test_the_background_writes_counts_and_weighs_what_was_not(home: Path) -> None:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        session = memory.sessions.create()
        for number in range(3):
            session.add("user", f"We decided on Porto, number {number}")
        with engine_of(memory)._database.write() as tx:
            tx.execute("UPDATE message SET importance = NULL")
        assert stored.get(engine_of(memory)._database.read(), [1])[1].importance == DEFAULT_IMPORTANCE
        memory.pins.note_recalled(["m1"])
        memory.run_pending_jobs()
        assert None not in stored_worth(memory)
        assert engine_of(memory)._database.read().execute("SELECT times FROM recalled").fetchone() == (1,)


# --- the order of embedding --------------------------------------------------------------------------


def test_what_is_important_is_embedded_before_what_is_a_little_later() -> None:
    day = chunk_priority(True, NOW + DAY, 0.3)
    assert chunk_priority(True, NOW, 0.6) > day > chunk_priority(True, NOW, 0.3)
    assert chunk_priority(True, NOW + 400 * DAY, 0.0) > chunk_priority(True, NOW, 1.0)
    assert chunk_priority(True, 0, 0.0) > chunk_priority(False, NOW, 1.0)


def test_queueing_again_gives_the_same_place_and_a_pin_moves_up(memory: Appliance) -> None:
    session = memory.sessions.create()
    session.add("user", "ok")
    session.add("tool", "ran", metadata={"tools": ["sh"]})

    def queue() -> list[tuple[int, int]]:
        return engine_of(memory)._database.read().execute("SELECT chunk_id, priority FROM outbox ORDER BY 1").fetchall()

    first = queue()
    assert len(first) == 2 and all(type(priority) is int for _, priority in first)
    with engine_of(memory)._database.write() as tx:
        chunks.requeue(tx, [1, 2])
    assert queue() == first
    with engine_of(memory)._database.write() as tx:
        chunks.requeue_all(tx, 1)
    assert queue() == first
    memory.pin("m1")
    assert queue()[0][1] > first[0][1] and queue()[1] == first[1]
    memory.unpin("m1")
    assert queue() == first


# --- measured ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not measuring.datasets.FOLDER.is_dir(), reason="the conversations are not on this machine")
def test_what_questions_cite_scores_higher_than_the_rest() -> None:
    people, assisted = (measuring.measured(measuring.judged(load())) for load in measuring.SETS.values())
    assert people["auc"] > 0.75
    assert assisted["auc"] > 0.65
    for found in (people, assisted):
        assert found["mean_cited"] > found["mean_uncited"]
        assert found["first_half"]["365 days"] > found["first_half"]["0 days"]
