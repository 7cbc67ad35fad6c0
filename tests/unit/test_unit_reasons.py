"""A hit says in one sentence why it was found."""

from __future__ import annotations

from typing import Any

import pytest

from appliance.retrieval.confidence import UNKNOWN_WORDS
from appliance.retrieval.explain import OFFSETS
from appliance.retrieval.weights import BUILT_IN, FIRST_STAGE_FEATURES, LEGS
from appliance.types import WhyNot
from appliance.types.labels import FEATURE_LABELS
from appliance.types.reasons import reason, stage_text

BY_WORDS = {"own": {"score": 5.0, "rank": 1}}


@pytest.mark.parametrize(
    ("parts", "legs", "sentence"),
    [
        ({"own": 3.0, "window": 4.0, "dense": 0.5}, BY_WORDS, "Found mainly by its words."),
        ({"window": 4.0, "dense": 0.5}, {}, "Found mainly by the words around it."),
        ({"own": 1.0, "dense": 0.8, "user_authored": 0.5}, BY_WORDS, "Found mainly by its words."),
        ({"own": 1.0, "dense": 1.2}, BY_WORDS, "Found by its meaning and its words."),
        (
            {"own": 3.0, "author": 0.8, "named": 1.5, "title": 2.4},
            BY_WORDS,
            "Found mainly by its words; in a conversation with such a title; said by Ben, whom the query names.",
        ),
        ({"quoted": 35.0, "own": 1.0}, BY_WORDS, "Found by its exact words."),
        ({"file": 30.0, "dense": 0.2}, {}, "Found by a file that the query names."),
        ({"period": 35.0, "time": 3.0, "dense": 0.2}, {}, "Found by its time, which is asked for."),
        ({"dense": -0.2}, {}, "Found by little that it has in common with the query."),
        (
            {"own": 3.0, "asked": -2.0},
            BY_WORDS,
            "Found mainly by its words; it repeats the question, and comes behind what may answer it.",
        ),
        ({"listed": 1.0}, {}, "It passes the filters, and the query names nothing else to look for."),
        ({"unranked": 0.0}, {}, "It has words of the query, and is not among the ranked candidates."),
    ],
)
def test_the_sentence_names_the_main_evidence(parts: dict[str, float], legs: dict[str, Any], sentence: str) -> None:
    assert reason({"score": parts, "legs": legs}, "Ben") == sentence


def test_words_of_the_query_near_by_are_named_where_they_count() -> None:
    parts = {"own": 9.0, "window": 1.0, "recent": 0.5}
    found = reason({"score": parts, "legs": BY_WORDS}, "Ben", ["Mira", "ferry", "nine"])
    assert found == "Found mainly by its words, near a message with “Mira” and “ferry”; it is recent."
    assert "near" not in reason({"score": {"own": 9.0}, "legs": BY_WORDS}, "Ben", ["Mira"])


def test_a_message_that_is_no_hit_has_a_sentence_too() -> None:
    assert stage_text(WhyNot("m5", "not proposed", "")) == "m5 was not a candidate"


def test_every_part_of_a_score_and_every_leg_has_a_name_for_a_person() -> None:
    weighed = {name for profile in BUILT_IN.values() for name in {**profile.first_stage, **(profile.weights or {})}}
    set_apart = {*OFFSETS, UNKNOWN_WORDS, "listed", "unranked", "rerank", "text", "beyond"}
    assert len(weighed) > 20
    assert weighed | FIRST_STAGE_FEATURES | set(LEGS) | set_apart == set(FEATURE_LABELS)
    assert len(set(FEATURE_LABELS.values())) == len(FEATURE_LABELS)
