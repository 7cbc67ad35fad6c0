"""The scoring profiles: named weights of the linear score. ``tests/eval/fit.py`` fits them and reports how they
generalise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite

from appliance.errors import ConfigError
from appliance.lazy_dataclasses import dataclass

FIRST_WEIGHT = 30.0
"""What holds the quoted words, is about the file that is named, or was said at the time that alone is asked for, comes
first: more than all other weights together."""


@dataclass(frozen=True, slots=True)
class ScoringProfile:
    """A named set of weights.

    Attributes:
        name: The name of the profile.
        first_stage: The weights of the first ranking, which selects the candidates of the second stage.
        weights: The weights of the final ranking; None if the first ranking is the final one.
        legs: The legs that it searches with.
    """

    name: str
    first_stage: Mapping[str, float]
    weights: Mapping[str, float] | None
    legs: frozenset[str]


LEGS = ("dense", "own", "window", "quoted", "title", "time", "file")
"""The legs, each of which can be switched off. If the index is not available, full text takes the place of its legs."""

FIRST_STAGE_FEATURES = frozenset(
    ("dense", "own", "window", "author", "user_authored", "time", "title", "quoted", "file", "period", "recent", "here")
)
"""The features that are known before the second stage."""

_FIRST_STAGE_WEIGHTS = {
    "dense": 1.3,
    "own": 3.6,
    "window": 8.6,
    "author": 2.8,
    "user_authored": 5.0,
    "time": 5.0,
    "title": 4.0,
    "quoted": FIRST_WEIGHT,
    "file": FIRST_WEIGHT,
    "period": FIRST_WEIGHT,
}

EVIDENCE = ScoringProfile(
    "evidence",
    _FIRST_STAGE_WEIGHTS,
    {
        "dense": 2.6,
        "own": 1.2,
        "window": 4.3,
        "author": 0.2,
        "user_authored": 4.6,
        "neighbour_dense": 1.9,
        "token_match": 3.2,
        "token_match_near": 3.8,
        "max_sim": 3.3,
        "idf_mass": 1.7,
        "dated": 2.5,
        "replies": 2.7,
        "named": 2.4,
        "session": 1.4,
        "phrase": 3.0,
        "session_mass": 1.2,
        "asks_back": -0.5,
        "first_named": 0.8,
        "amount": 1.2,
        "recalled": 1.1,
        "time": 3.3,
        "title": 4.0,
        "quoted": FIRST_WEIGHT,
        "file": FIRST_WEIGHT,
        "period": FIRST_WEIGHT,
    },
    frozenset(LEGS),
)
"""For finding the message that answers: fitted on LoCoMo and BEAM, except ``quoted``, ``file``, ``period`` and
``title``."""

SEMANTIC_SCALE = 4.0
"""The score that counts as 0.45 of the balanced profile: about the difference of the evidence profile's score between
an answering message and the other candidates of the second stage (medians of 4.9 on LoCoMo and 3.8 on BEAM)."""


def weight_of_share(share: float) -> float:
    """The weight of a feature that is to have a share of the balanced profile."""
    return share / 0.45 * SEMANTIC_SCALE


FEEDBACK_SHARE = 0.08
"""The share of feedback in the balanced profile: what ``tests/eval/feedback.py`` finds to help the questions whose
evidence was marked, without taking more than two in a hundred of recall@10 from the others."""

BALANCED = ScoringProfile(
    "balanced",
    _FIRST_STAGE_WEIGHTS,
    {
        **(EVIDENCE.weights or {}),
        "recent": weight_of_share(0.25),
        "kind": weight_of_share(0.15),
        "entities": weight_of_share(0.10),
        "here": weight_of_share(0.05),
        "feedback": weight_of_share(FEEDBACK_SHARE),
    },
    frozenset(LEGS),
)
"""For the context of an assistant: meaning 0.45, recency 0.25 with a half-life of a week, kind 0.15, names and numbers
in common 0.10, the same session 0.05, feedback 0.08. A feature that all messages or none have does not change the
order."""

ITEMS = ScoringProfile(
    "items",
    {"dense": 4.2, "own": 1.4, "time": 3.6, "quoted": FIRST_WEIGHT, "file": FIRST_WEIGHT, "period": FIRST_WEIGHT},
    None,
    frozenset(LEGS) - {"window", "title"},
)
"""For messages that stand by themselves, such as the items of a store: their meaning and their own words. Chosen by
hand: of the 30 questions in tests/integrations/test_adapters_langgraph.py, the first hit answers 29, and 26 with the
evidence profile, which was fitted on conversations."""

BM25 = ScoringProfile("bm25", {"own": 1.0}, None, frozenset({"own"}))
DENSE = ScoringProfile("dense", {"dense": 1.0}, None, frozenset({"dense"}))
"""One leg alone, for comparison."""

BUILT_IN: Mapping[str, ScoringProfile] = {one.name: one for one in (EVIDENCE, BALANCED, ITEMS, BM25, DENSE)}

RERANK_WEIGHT = 7.0
"""The weight of a reranker's score, 0 to 1. It is not fitted, because no reranker comes with the program. It is the
difference between the first and the thirtieth hit of a query (6.7, the median of a LoCoMo chat), so that the last hit
that the reranker reads can come first, and the other features decide between hits that it scores alike."""


def profiles(custom: Mapping[str, tuple[str, Mapping[str, float]]]) -> Mapping[str, ScoringProfile]:
    """The built-in profiles and the configured ones.

    Args:
        custom: By name, the built-in profile that a configured one is based on, and the weights that differ.

    Raises:
        ConfigError: A name is built in, a base is not, or a weight is invalid or belongs to no feature.
    """
    known = dict(BUILT_IN)
    for name, (like, weights) in custom.items():
        where = f"profiles.{name}"
        if name in BUILT_IN:
            raise ConfigError("This profile is built in.", where=where, hint="Give yours another name.")
        if like not in BUILT_IN:
            raise ConfigError(
                f"There is no built-in profile {like!r}.",
                where=where,
                hint=f"Set 'like' to one of {', '.join(BUILT_IN)}.",
            )
        features = sorted({*BALANCED.first_stage, *(BALANCED.weights or {})})
        if unknown := sorted(set(weights) - set(features)):
            raise ConfigError(
                f"There is no feature {unknown[0]!r}.", where=where, hint=f"The features are {', '.join(features)}."
            )
        if not_finite := [feature for feature, weight in weights.items() if not isfinite(weight)]:
            raise ConfigError(
                f"The weight must be a finite number, not {weights[not_finite[0]]}.",
                where=f"{where}.weights.{not_finite[0]}",
            )
        base = BUILT_IN[like]
        if base.weights is None and (second_stage_only := sorted(set(weights) - FIRST_STAGE_FEATURES)):
            raise ConfigError(
                f"The profile {like!r} has no second stage, so {second_stage_only[0]!r} would have no effect.",
                where=where,
                hint='Set like = "evidence" or "balanced".',
            )
        first_stage = {feature: weight for feature, weight in weights.items() if feature in FIRST_STAGE_FEATURES}
        second_stage = None if base.weights is None else {**base.weights, **weights}
        # A leg with a weight must run.
        legs = base.legs | {feature for feature, weight in weights.items() if weight and feature in LEGS}
        known[name] = replace(
            base, name=name, first_stage={**base.first_stage, **first_stage}, weights=second_stage, legs=legs
        )
    return known
