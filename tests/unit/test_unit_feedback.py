"""What feedback on recalled messages changes: their importance and their rank, within bounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance import Appliance
from appliance.errors import NotFound, StoreError, UsageError
from appliance.memory import importance, pins
from appliance.store import feedback
from appliance.store import importance as stored
from appliance.store.feedback import NO_FEEDBACK, StoredFeedback
from appliance.types import FEEDBACK_KINDS, FeedbackKind
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.unit.test_unit_importance import said

DAY = 86_400_000_000
NOW = 1_800_000_000_000_000

JUDGEMENTS: tuple[FeedbackKind | None, ...] = (None, "helpful", "wrong", "outdated")


def judged(kind: FeedbackKind) -> StoredFeedback:
    return StoredFeedback({kind: 1}, kind)


def used(times: int, days: int = 0) -> StoredFeedback:
    return StoredFeedback({"used": times}, None, NOW - days * DAY)


@given(st.floats(0, 1), st.sampled_from(JUDGEMENTS), st.integers(0, 10_000), st.integers(-DAY, 4000 * DAY))
def test_an_importance_stays_between_0_and_1_and_its_parts_add_up(
    score: float, judgement: FeedbackKind | None, times: int, age: int
) -> None:
    noted = StoredFeedback({"used": times}, judgement, NOW - age if times else None)
    assert 0 <= score + feedback.score_change(score, noted, NOW) <= 1 + 1e-9
    assert -1 <= feedback.rank_value(noted, NOW) <= 1
    message = said("We decided to take the early ferry to Porto with Marta.")
    known = stored.combine(importance.score(message), False, 2, NOW - DAY, NOW, noted)
    assert sum(importance.explain(message, known, NOW).values()) == pytest.approx(known.importance)
    pinned = stored.combine(importance.score(message), True, 2, NOW - DAY, NOW, noted)
    assert pinned.importance == 1
    assert sum(importance.explain(message, pinned, NOW).values()) == pytest.approx(1)


def test_judgements_have_an_order_and_a_wrong_message_is_not_hidden() -> None:
    changes = [feedback.score_change(0.5, judged(kind), NOW) for kind in ("wrong", "outdated", "helpful")]
    assert changes == sorted(changes)
    assert changes[0] < changes[1] < 0 < changes[2]
    assert 0.5 + changes[0] > 0
    assert feedback.score_change(0.5, NO_FEEDBACK, NOW) == 0
    values = [
        feedback.rank_value(one, NOW) for one in (judged("wrong"), judged("outdated"), used(3), judged("helpful"))
    ]
    assert values == sorted(values) and len(set(values)) == 4


def test_uses_saturate_and_fade_and_judgements_do_not() -> None:
    def change(noted: StoredFeedback) -> float:
        return feedback.score_change(0.4, noted, NOW)

    assert change(used(1)) < change(used(2)) < change(used(900)) <= 0.3 + 1e-9
    assert change(used(3, days=30)) == pytest.approx(change(used(3)) / 2)
    later = NOW + 365 * DAY
    assert feedback.score_change(0.4, judged("wrong"), later) == change(judged("wrong"))


# --- in the store ------------------------------------------------------------------------------------


def test_the_last_judgement_holds_and_the_earlier_ones_are_counted(memory: Appliance) -> None:
    message = memory.sessions.create().add("user", "The deadline is March 15th", external_id="d")
    before = memory.pins.importance(message.id)
    assert (before.feedback, before.judgement, before.parts["feedback"]) == ({}, None, 0)
    helped = memory.feedback(message.id, "helpful")
    assert helped.score > before.score and helped.judgement == "helpful"
    memory.feedback(message.id, "used")
    outdated = memory.feedback("d", "outdated")
    assert outdated.feedback == {"helpful": 1, "used": 1, "outdated": 1}
    assert outdated.judgement == "outdated" and outdated.parts["feedback"] < 0
    assert outdated.score == pytest.approx(sum(outdated.parts.values()))
    assert memory.feedback(message.id, "helpful").judgement == "helpful"
    with pytest.raises(NotFound, match="m99"):
        memory.feedback("m99", "used")
    with pytest.raises(UsageError, match="no feedback 'good'") as refused:
        memory.feedback(message.id, "good")  # type: ignore[arg-type]
    assert refused.value.hint is not None and all(kind in refused.value.hint for kind in FEEDBACK_KINDS)


def test_feedback_that_is_withdrawn_leaves_what_was_given_before(memory: Appliance) -> None:
    message = memory.sessions.create().add("user", "The deadline is March 15th", external_id="d")
    before = memory.pins.importance(message.id)
    memory.feedback(message.id, "outdated")
    memory.feedback(message.id, "wrong")
    memory.feedback(message.id, "wrong")
    for left in ({"outdated": 1, "wrong": 1}, {"outdated": 1}):
        assert memory.pins.withdraw_feedback("d", "wrong").feedback == left
    assert memory.pins.importance(message.id).judgement == "outdated"
    assert memory.pins.withdraw_feedback("d", "outdated") == before
    with pytest.raises(NotFound, match=f"{message.id} has no feedback 'outdated'"):
        memory.pins.withdraw_feedback("d", "outdated")
    with pytest.raises(UsageError, match="no feedback 'good'"):
        memory.pins.withdraw_feedback("d", "good")  # type: ignore[arg-type]


def test_usefulness_and_consistency_are_counted_by_month(memory: Appliance) -> None:
    january, today = 1_767_700_000_000_000, 1_771_200_000_000_000  # 2026-01-06 and 2026-02-15
    session = memory.sessions.create()
    keys = [int(session.add("user", f"number {number}").id[1:]) for number in range(4)]
    with engine_of(memory)._database.write() as tx:
        assert feedback.overview(tx, today)["usefulness"] is None
        stored.add_recalls(tx, dict.fromkeys(keys, (2, january)))
        stored.add_recalls(tx, {keys[0]: (3, today), keys[1]: (1, today - DAY)})
        assert feedback.overview(tx, today)["usefulness"] is None  # recalled, and worth unknown
        for kind, at in (("used", january), ("wrong", january), ("wrong", january + 1), ("helpful", today)):
            feedback.add(tx, keys[0], kind, at)  # type: ignore[arg-type]
        seen = feedback.overview(tx, today)
    assert (seen["messages"], seen["times"]) == (4, 12)
    assert seen["feedback"] == {"helpful": 1, "used": 1, "wrong": 2, "outdated": 0}
    assert (seen["usefulness"], seen["consistency"]) == (1 / 4, 1)  # January is older than thirty days
    assert seen["months"] == {
        "2026-01": {
            "recalled": 8,
            "feedback": {"used": 1, "wrong": 2},
            "usefulness": 1 / 8,
            "consistency": pytest.approx(1 / 3),
        },
        "2026-02": {"recalled": 4, "feedback": {"helpful": 1}, "usefulness": 1 / 4, "consistency": 1},
    }


def test_feedback_goes_with_its_message(memory: Appliance) -> None:
    session = memory.sessions.create()
    memory.feedback(session.add("user", "one").id, "used")
    session.delete()
    assert engine_of(memory)._database.read().execute("SELECT count(*) FROM feedback").fetchone() == (0,)


def test_feedback_moves_the_rank_in_contexts_and_is_explained(memory: Appliance) -> None:
    session = memory.sessions.create()
    ids = [
        session.add("user", f"My deadline for the {thing} is in {month}").id
        for thing, month in (("garden", "March"), ("cellar", "April"), ("attic", "May"))
    ]
    memory.embed_pending()

    def ranked() -> list[str]:
        return [hit.message_id for hit in memory.search("When is my deadline?", profile="balanced")]

    before = ranked()
    assert set(before) == set(ids)
    memory.feedback(before[0], "wrong")
    memory.feedback(before[-1], "helpful")
    after = memory.search("When is my deadline?", profile="balanced")
    assert after[0].message_id == before[-1]
    assert before[0] in [hit.message_id for hit in after[1:]]  # it falls, and is not hidden
    explained = {hit.message_id: hit.why["score"]["feedback"] for hit in after}
    assert explained[before[0]] < 0 < explained[before[-1]]
    plain = memory.search("When is my deadline?", profile="evidence")
    assert "feedback" not in plain[0].why["score"]


@pytest.mark.slow
def test_what_helped_counts_less_for_a_question_that_it_matches_less(memory: Appliance) -> None:
    session = memory.sessions.create()
    garden = session.add("user", "The deadline for the garden is in March").id
    session.add("user", "The deadline for the cellar is in April")
    memory.embed_pending()

    def counted(query: str) -> float:
        hits = {hit.message_id: hit for hit in memory.search(query, profile="balanced")}
        return float(hits[garden].why["score"]["feedback"])

    memory.feedback(garden, "helpful")
    full = counted("deadline for the garden")
    assert 0 < counted("deadline for the cellar") < 0.8 * full
    memory.feedback(garden, "wrong")
    assert counted("deadline for the cellar") == counted("deadline for the garden") == -full


def test_a_context_marks_what_was_judged_wrong_or_outdated(memory: Appliance) -> None:
    session = memory.sessions.create()
    wrong, outdated, helpful = (
        session.add("user", f"My deadline for the {thing} is in March").id for thing in ("garden", "cellar", "attic")
    )
    memory.embed_pending()
    for id, kind in ((wrong, "wrong"), (outdated, "outdated"), (helpful, "helpful")):
        memory.feedback(id, kind)
    built = memory.context("When is my deadline?")
    assert f"[{wrong} user, judged wrong]" in built.text and f"[{outdated} user, judged outdated]" in built.text
    assert f"[{helpful} user]" in built.text


# --- what an answer cites -----------------------------------------------------------------------------


def test_what_an_answer_cites_counts_as_used_if_it_was_recalled(
    memory: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = memory.sessions.create()
    cited = session.add("user", "My deadline is March 15th")
    other = session.add("user", "My deadline at school is in June")
    memory.context("deadline")
    ignored = session.add("user", "The M8 screws are in the cellar")  # not recalled
    talk = memory.sessions.create()
    talk.add("user", f"Is {other.id} right?")  # a person cites nothing that way
    talk.add("assistant", f"It is on March 15th [{cited.id}], and {ignored.id} has the screws.")
    assert memory.pins.importance(cited.id).feedback == {"used": 1}
    assert memory.pins.importance(other.id).feedback == {}
    assert memory.pins.importance(ignored.id).feedback == {}
    assert memory.metrics().counters["feedback_used"] == 1
    monkeypatch.setattr(pins, "CITATION_MICROSECONDS", -1)
    talk.add("assistant", f"As I said, {cited.id}.")
    assert memory.pins.importance(cited.id).feedback == {"used": 1}


def test_a_citation_that_cannot_be_written_is_logged_and_counted_later(
    memory: Appliance, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cited = memory.sessions.create().add("user", "My deadline is March 15th")
    talk = memory.sessions.create()
    memory.context("deadline")

    def refuse(*values: object) -> None:
        raise StoreError("The database is locked.")

    with monkeypatch.context() as broken:
        broken.setattr(stored, "add_recalls", refuse)
        answer = talk.add("assistant", f"It is on March 15th [{cited.id}].")
    assert memory.message(answer.id).text.endswith(f"[{cited.id}].")
    assert "cites is not counted as used yet" in caplog.text and "March" not in caplog.text
    found = memory.pins.importance(cited.id)
    assert (found.feedback, found.times) == ({"used": 1}, 1), "the recall is not lost either"


def test_an_answer_cites_nothing_of_another_user(memory: Appliance) -> None:
    message = memory.sessions.create(user_id="ana").add("user", "My deadline is March 15th")
    memory.context("deadline", user_id="ana")
    memory.sessions.create(user_id="ben").add("assistant", f"See {message.id}")
    assert memory.pins.importance(message.id).feedback == {}
    memory.sessions.create(user_id="ana").add("assistant", f"See {message.id}")
    assert memory.pins.importance(message.id).feedback == {"used": 1}


# --- out and in again ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_feedback_goes_out_with_the_export_and_comes_back_in_once(memory: Appliance, tmp_path: Path) -> None:
    session = memory.sessions.create(external_id="s")
    message = session.add("user", "The key hangs behind the clock", external_id="k")
    for kind in ("helpful", "used", "outdated"):
        memory.feedback(message.id, kind)
    lines = list(memory.export(state=True))
    records = [line for line in lines if line.get("record") == "feedback"]
    assert [record["kind"] for record in records] == ["helpful", "used", "outdated"]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with Appliance.open(tmp_path / "second", worker=False, embedder=HashEmbedder()) as second:
        for _ in range(2):
            second.ingest(tmp_path / "a.jsonl", again=True)
            found = second.pins.importance("k")
            assert found.feedback == {"helpful": 1, "used": 1, "outdated": 1}
            assert found.judgement == "outdated"
