"""Measures by values worked out by hand, and what holds of them always."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.bench.ir_metrics import (
    mean,
    message_measures,
    ndcg,
    percentile,
    recall,
    reciprocal_rank,
    session_measures,
)

IDS = st.sampled_from("abcdefghijklmnopqrstuvwxyz")
RANKED = st.lists(IDS, max_size=26)
RELEVANT = st.frozensets(IDS, min_size=1)


def test_one_question_by_hand() -> None:
    row = message_measures(["x", "a", "y", "z", "w", "b"], frozenset("ab"))
    gain, best = 1 / log2(3) + 1 / log2(7), 1 + 1 / log2(3)
    assert row == {
        "recall@1": 0,
        "recall@5": 0.5,
        "recall@10": 1,
        "recall@20": 1,
        "ndcg@10": pytest.approx(gain / best),
        "mrr": 0.5,
    }


def test_the_ideal_counts_what_was_not_found() -> None:
    assert ndcg(["a"], frozenset("ab")) == pytest.approx(1 / (1 + 1 / log2(3)))
    assert ndcg(["a"], frozenset("a")) == 1
    assert ndcg([], frozenset("a")) == 0
    # Twelve are relevant, ten places count: ten relevant ones in a row are the best there is.
    assert ndcg(list("abcdefghij"), frozenset("abcdefghijkl")) == 1


def test_what_comes_behind_counts_no_more() -> None:
    ranked = [*"0123456789", "a"]
    assert ndcg(ranked, frozenset("a")) == 0
    assert message_measures([*map(str, range(20)), "a"], frozenset("a"), depths=(21,)) == {
        "recall@21": 1, "ndcg@10": 0, "mrr": 0
    }  # fmt: skip


def test_sessions_by_hand() -> None:
    assert session_measures(["s1", "s1", "s2"], frozenset({"s2", "s9"})) == {"any@5": 1, "all@5": 0}
    assert session_measures(list("abcdeaf"), frozenset("f")) == {"any@5": 0, "all@5": 0}
    assert session_measures(list("aabbccdde"), frozenset("ae")) == {"any@5": 1, "all@5": 1}
    # A question that cites nothing that is there has found none, not all.
    assert session_measures(["a"], frozenset()) == {"any@5": 0, "all@5": 0}


def test_a_mean_is_over_the_questions_that_have_the_measure() -> None:
    assert mean([{"a": 1.0, "b": 0.0}, {"a": 0.0}, {"a": 0.0}]) == {"a": 0.3333, "b": 0.0}
    assert mean([]) == {}


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert [percentile(values, share) for share in (0.5, 0.95, 0.99, 1)] == [50, 95, 99, 100]
    assert percentile([7.0], 0.5) == percentile([7.0], 0.99) == 7


@given(RANKED, RELEVANT)
def test_all_are_shares(ranked: list[str], relevant: frozenset[str]) -> None:
    assert all(0 <= value <= 1 for value in message_measures(ranked, relevant).values())
    assert all(value in (0, 1) for value in session_measures(ranked, relevant).values())


@given(RANKED, RELEVANT)
def test_ndcg_is_1_just_for_the_best_ranking(ranked: list[str], relevant: frozenset[str]) -> None:
    distinct = list(dict.fromkeys(ranked))
    wanted = min(len(relevant), 10)
    best = len(distinct) >= wanted and all(one in relevant for one in distinct[:wanted])
    assert (ndcg(ranked, relevant) == 1) == best


@given(RANKED, RELEVANT, st.integers(1, 30))
def test_looking_further_never_finds_less(ranked: list[str], relevant: frozenset[str], depth: int) -> None:
    assert recall(ranked, relevant, depth) <= recall(ranked, relevant, depth + 1)


@given(st.permutations("abcdef"), RELEVANT)
def test_a_relevant_one_further_up_never_counts_less(ranked: list[str], relevant: frozenset[str]) -> None:
    better = sorted(ranked, key=lambda one: one not in relevant)
    assert ndcg(better, relevant) >= ndcg(ranked, relevant)
    assert reciprocal_rank(better, relevant) >= reciprocal_rank(ranked, relevant)
