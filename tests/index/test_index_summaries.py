"""Summaries are points of their own kind: messages are searched as if there were none, whichever engine is beneath."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from index_points import FIELDS, START, point, unit

from appliance.errors import UsageError
from appliance.store.chunks import SUMMARY_POINTS
from appliance.store.index.edge import open_edge
from appliance.store.index.protocol import IndexPoint, LegQuery, VectorIndex
from appliance.types import LEVELS, Filters, Scope

Ids = Callable[..., list[list[int]]]
ANA = Scope("ana")


def summary(id: int, text: str, **fields: Any) -> IndexPoint:
    own = replace(FIELDS, **({"role": "summary", "conversational": False, "level": "topic"} | fields))
    return IndexPoint(SUMMARY_POINTS + id, unit(id), "", "", own, summary=text)


def legs(text: str, seed: int = 3) -> list[LegQuery]:
    return [LegQuery("dense", vector=unit(seed)), LegQuery("own", text=text), LegQuery("window", text=text)]


def found(index: VectorIndex, leg: LegQuery, **filters: Any) -> list[int]:
    (answer,) = index.search([leg], Filters(ANA, **({"levels": LEVELS} | filters)), 20)
    return [scored.id - SUMMARY_POINTS for scored in answer]


@pytest.mark.parametrize("all_conversational", [True, False])
def test_messages_are_found_and_scored_as_if_there_were_none(index: VectorIndex, all_conversational: bool) -> None:
    index.upsert(
        [point(id, "cat " * (id % 3) + "mat", conversational=all_conversational or id % 2 == 0) for id in range(1, 9)]
    )
    narrowed = [
        Filters(ANA), Filters(ANA, roles=("user",)), Filters(ANA, session=1), Filters(Scope("ana", "", "")),
    ]  # fmt: skip
    before = [index.search(legs("cat"), one, 50) for one in narrowed]
    exact = index.score(legs("cat"), [range(1, 9)] * 3, ANA)
    index.upsert([summary(id, "cat " * 9) for id in range(1, 30)])
    for one, old in zip(narrowed, before, strict=True):
        for leg, was in zip(index.search(legs("cat"), one, 50), old, strict=True):
            assert [s.id for s in leg] == [s.id for s in was]
            assert [s.score for s in leg] == pytest.approx([s.score for s in was], rel=1e-5)
    for leg, was in zip(index.score(legs("cat"), [range(1, 9)] * 3, ANA), exact, strict=True):
        assert leg == pytest.approx(was, rel=1e-5)


def test_summaries_are_found_alone_and_by_their_filters(index: VectorIndex) -> None:
    index.upsert([point(id, "cat", "cat") for id in range(1, 9)])
    index.upsert(
        [
            summary(1, "a cat", level="session", session=1, at=START),
            summary(2, "a cat and a dog", session=2, agents=("coder",), source="whatsapp"),
            summary(3, "rain", level="exchange"),
            summary(4, "a cat", user_id="bob"),
            summary(5, "a cat", namespace="work"),
        ]
    )
    cat = LegQuery("summary", text="cat")
    dense = LegQuery("dense", vector=unit(1))
    assert sorted(found(index, cat)) == [1, 2]
    assert sorted(found(index, dense)) == [1, 2, 3] and found(index, dense)[0] == 1
    assert sorted(found(index, dense, levels=("session", "exchange"))) == [1, 3]
    assert found(index, dense, levels=("procedure",)) == []
    assert found(index, dense, session=2) == [2] and found(index, dense, sources=("whatsapp",)) == [2]
    assert found(index, dense, since=START, until=START + 1) != []
    (answer,) = index.search([dense], Filters(Scope("ana", "", "coder"), levels=LEVELS), 9)
    assert [s.id - SUMMARY_POINTS for s in answer] == [2]
    (scored,) = index.score([cat], [[SUMMARY_POINTS + 1, SUMMARY_POINTS + 3]], ANA)
    assert scored.keys() == {SUMMARY_POINTS + 1}
    assert index.count(Filters(ANA, levels=LEVELS)) == 3 and index.count(Filters(ANA)) == 8


def test_they_are_told_apart_after_the_index_was_opened_again(tmp_path: Any) -> None:
    with_both = open_edge(tmp_path / "index", 32)
    with_both.upsert([*(point(id, "cat") for id in range(1, 9)), summary(1, "a cat")])
    with_both.close()
    again = open_edge(tmp_path / "index", 32)
    for leg in again.search(legs("cat"), Filters(ANA), 20):
        assert sorted(s.id for s in leg) == list(range(1, 9))
    assert found(again, LegQuery("dense", vector=unit(1))) == [1]
    again.close()


@pytest.mark.parametrize("fields", [{"role": "user"}, {"conversational": True}, {"level": "chapter"}, {"level": None}])
def test_what_is_neither_message_nor_summary_is_refused(index: VectorIndex, fields: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        index.upsert([summary(1, "cat", **fields)])
    with pytest.raises(UsageError, match="level"):
        index.search([LegQuery("summary", text="x")], Filters(ANA, levels=("chapter",)), 3)  # type: ignore[arg-type]
