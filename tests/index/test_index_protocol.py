"""What every index does, whichever engine is beneath."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from index_points import FIELDS, HOUR, START, point, unit

from appliance.errors import StoreError
from appliance.store.index.protocol import LegQuery, VectorIndex
from appliance.types import Filters, Scope, SessionPart

Ids = Callable[..., list[list[int]]]


def own(text: str) -> LegQuery:
    return LegQuery("own", text=text)


def window(text: str) -> LegQuery:
    return LegQuery("window", text=text)


def dense(seed: int) -> LegQuery:
    return LegQuery("dense", vector=unit(seed))


def test_a_new_index_is_empty_and_says_so(index: VectorIndex) -> None:
    assert index.is_fresh
    assert index.count() == 0
    assert list(index.ids()) == []
    assert index.search([dense(1), own("cat")], None, 5) == [[], []]
    assert index.score([dense(1), own("cat")], [[1, 2], []], None) == [{}, {}]
    assert index.vectors([1]) == {}
    index.upsert([])
    index.delete([])
    index.delete([4])
    index.flush()
    assert index.optimize() is False


def test_each_leg_finds_what_is_its_own(index: VectorIndex, ids_of: Ids) -> None:
    index.upsert([point(1, "a cat", "a cat and a dog"), point(2, "a dog", "a fish"), point(3, "rain", "rain")])
    index.flush()
    assert ids_of(index, dense(2), own("dogs"), window("dog"), limit=1) == [[2], [2], [1]]
    assert ids_of(index, own("unheard"), own("fish"), window("fish")) == [[], [], [2]]


def test_the_best_come_first_and_no_more_than_asked_for(index: VectorIndex) -> None:
    index.upsert([point(id, "cat " * (id % 4) + "mat") for id in range(1, 41)])
    found = index.search([dense(7), own("cat")], None, 6)
    assert [len(leg) for leg in found] == [6, 6]
    assert found[0][0].id == 7
    assert found[0][0].score == pytest.approx(1.0, abs=1e-3)
    for leg in found:
        assert leg == sorted(leg, key=lambda scored: (-scored.score, scored.id))
    assert all(scored.score > 0 for scored in found[1])


def test_upsert_replaces_the_whole_point(index: VectorIndex, ids_of: Ids) -> None:
    index.upsert([point(1, "cat", at=START), point(2, "dog")])
    index.upsert([replace(point(1, "...", "rain", user_id="bob", at=None), vector=unit(99))])
    assert index.count() == 2
    assert ids_of(index, own("cat"), window("cat"), window("rain")) == [[], [], [1]]
    assert ids_of(index, dense(99), limit=1) == [[1]]
    assert index.count(Filters(Scope("bob"))) == index.count(Filters(Scope("ana"))) == 1
    assert index.count(Filters(Scope("bob"), since=0)) == 0


def test_what_is_deleted_is_gone(index: VectorIndex, ids_of: Ids) -> None:
    index.upsert([point(id, "cat") for id in range(1, 6)])
    index.delete([2, 4, 77])
    index.flush()
    assert list(index.ids()) == [1, 3, 5]
    assert sorted(ids_of(index, own("cat"))[0]) == [1, 3, 5]
    assert sorted(index.vectors([1, 2, 3])) == [1, 3]
    assert index.score([dense(1)], [[1, 2]], None)[0].keys() == {1}


def test_vectors_come_back_as_they_were_given(index: VectorIndex) -> None:
    index.upsert([point(id) for id in range(1, 30)])
    for id, vector in index.vectors(range(1, 30)).items():
        assert vector.dtype == np.float32
        np.testing.assert_allclose(vector, unit(id), atol=5e-4)


def test_score_agrees_with_search_for_every_leg(index: VectorIndex) -> None:
    scope = Scope("ana")
    index.upsert([point(id, "cat " * (id % 5) + "mat", user_id="ana" if id % 3 else "bob") for id in range(1, 61)])
    queries = [dense(5), own("cat"), window("mat")]
    searched = index.search(queries, Filters(scope), 60)
    scored = index.score(queries, [range(1, 61)] * 3, scope)
    for found, exact in zip(searched, scored, strict=True):
        assert {item.id for item in found} <= exact.keys()
        for item in found:
            assert exact[item.id] == pytest.approx(item.score, abs=1e-3)
    assert scored[0].keys() == set(range(1, 61))
    assert scored[1].keys() == {id for id in range(1, 61) if id % 5}


def test_how_rare_a_word_is_depends_on_ones_own_texts_only(index: VectorIndex) -> None:
    ours = [point(id, "cat" if id < 5 else "dog") for id in range(1, 9)]
    index.upsert(ours)
    before = (index.search([own("cat")], Filters(Scope("ana")), 9), index.score([own("cat")], [[1]], Scope("ana")))
    index.upsert([point(id, "cat", user_id="bob") for id in range(100, 150)])
    after = (index.search([own("cat")], Filters(Scope("ana")), 9), index.score([own("cat")], [[1]], Scope("ana")))
    assert [s.id for s in after[0][0]] == [s.id for s in before[0][0]] == [1, 2, 3, 4]
    assert after[0][0][0].score == pytest.approx(before[0][0][0].score, rel=1e-5)
    assert after[1][0][1] == pytest.approx(before[1][0][1], rel=1e-5)
    assert index.score([own("cat")], [[1]], None)[0][1] < after[1][0][1]


def test_texts_without_a_word_are_accepted(index: VectorIndex, ids_of: Ids) -> None:
    index.upsert([point(1, "", ""), point(2, "?! …", "🙂"), point(3, "\ud83d \x00", "cat\ud83d")])
    assert index.count() == 3
    assert ids_of(index, own("?!"), own(""), window("cat"), dense(2), limit=1) == [[], [], [3], [2]]


def test_stop_words_count_when_there_is_nothing_else(index: VectorIndex, ids_of: Ids) -> None:
    index.upsert([point(1, "who am I"), point(2, "a cat sat"), point(3, "rain")])
    assert ids_of(index, own("who am i?")) == [[1]]
    assert ids_of(index, own("who is the cat")) == [[2]]


NARROWED: tuple[tuple[dict[str, Any], Filters], ...] = (
    ({"user_id": "bob"}, Filters(Scope("ana"))),
    ({"user_id": ""}, Filters(Scope("ana"))),
    ({"namespace": "work"}, Filters(Scope("ana"))),
    ({"agents": ("coder",)}, Filters(Scope("ana", agent_id=""))),
    ({"withheld": True}, Filters(Scope("ana"))),
    ({"withheld": True}, Filters(Scope("ana"), roles=("user",))),
    ({"withheld": True, "session": 2}, Filters(Scope("ana"), exempt_parts=(SessionPart(1),))),
    ({"withheld": True, "user_id": "bob"}, Filters(Scope("ana"), exempt_parts=(SessionPart(1),))),
    ({"session": 3}, Filters(Scope("ana"), session=1, ancestor_parts=(SessionPart(2, 9),))),
    ({"session": 2}, Filters(Scope("ana"), session=1)),
    ({"session": 2**62}, Filters(Scope("ana"), session=1)),
    ({"role": "assistant"}, Filters(Scope("ana"), roles=("user", "tool"))),
    ({"conversational": False}, Filters(Scope("ana"))),
    ({"source": "whatsapp"}, Filters(Scope("ana"), sources=("chatgpt", "claude"))),
    ({"at": START - 1}, Filters(Scope("ana"), since=START)),
    ({"at": START + HOUR}, Filters(Scope("ana"), until=START + HOUR)),
    ({"at": None}, Filters(Scope("ana"), since=0)),
    ({"at": None}, Filters(Scope("ana"), until=2**61)),
)


def test_every_field_narrows(index: VectorIndex, ids_of: Ids) -> None:
    for changed, filters in NARROWED:
        index.upsert([point(1, "cat", at=START), point(2, "cat", **{"at": START, **changed})])
        assert ids_of(index, dense(2), own("cat"), window("cat"), filters=filters) == [[1], [1], [1]], changed
        assert (index.count(filters), index.count()) == (1, 2), changed


def test_no_agent_and_no_roles_leave_those_fields_open(index: VectorIndex) -> None:
    index.upsert(
        [
            point(1, agents=("coder", "painter")),
            point(2, role="tool", conversational=False),
            point(3, role="system", conversational=True),
        ]
    )
    assert index.count(Filters(Scope("ana"))) == 2
    assert index.count(Filters(Scope("ana"), roles=("tool",))) == 1
    assert index.count(Filters(Scope("ana", agent_id="coder"))) == 1
    assert index.count(Filters(Scope("ana", agent_id="painter"))) == 1


def test_what_is_withheld_is_found_by_its_own_session_alone(index: VectorIndex, ids_of: Ids) -> None:
    index.upsert([point(1, "cat", withheld=True), point(2, "cat", session=2), point(3, "dog", session=2)])
    elsewhere, within = Filters(Scope("ana")), Filters(Scope("ana"), exempt_parts=(SessionPart(1),))
    assert ids_of(index, own("cat"), dense(1), filters=elsewhere) == [[2], [2, 3]]
    assert sorted(ids_of(index, own("cat"), filters=within)[0]) == [1, 2]
    assert ids_of(index, own("cat"), filters=Filters(Scope("ana"), session=1, exempt_parts=(SessionPart(1),))) == [[1]]
    # How rare the word is elsewhere does not tell that it is there.
    before = index.search([own("cat")], elsewhere, 5)
    index.delete([1])
    assert index.search([own("cat")], elsewhere, 5) == before


def test_a_search_of_several_stretches_finds_in_all_of_them(index: VectorIndex) -> None:
    index.upsert([point(id, "cat", session=id) for id in range(1, 5)])
    assert index.count(Filters(Scope("ana"), session=3, ancestor_parts=(SessionPart(1, 7), SessionPart(2, 8)))) == 3


def test_large_ids_and_many_points_at_once(index: VectorIndex) -> None:
    ids = [*range(1, 1203), 2**53 + 1, 2**63 - 1]
    index.upsert([point(id) for id in ids])
    assert list(index.ids()) == ids
    assert len(index.vectors(ids)) == len(index.score([dense(3)], [ids], None)[0]) == len(ids)
    index.delete(ids[1:])
    assert list(index.ids()) == [1]


def test_a_closed_index_says_so(index: VectorIndex) -> None:
    index.upsert([point(1)])
    index.close()
    index.close()
    for call in (
        lambda: index.count(),
        lambda: index.flush(),
        lambda: index.upsert([point(2)]),
        lambda: index.search([own("cat")], None, 1),
        lambda: list(index.ids()),
    ):
        with pytest.raises(StoreError, match="closed"):
            call()


def test_fields_are_all_there_is(index: VectorIndex) -> None:
    """A field without a filter would be stored for nothing, one without a test above would go unnoticed."""
    assert set(FIELDS.__slots__) == {
        "user_id", "namespace", "agents", "session", "role", "source", "conversational", "at", "withheld",
        "level", "author",
    }  # fmt: skip
