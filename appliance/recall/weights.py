"""The weights of the one linear score, by profile. ``tests/eval/fit.py`` fits them, and says how they carry over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite

from appliance.errors import ConfigError

QUOTED = 30.0
"""What is quoted comes first: more than all else together."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of weights. ``first`` chooses whom to look at closely, ``weights`` set those in order; without
    them the first ranking is the ranking. ``legs`` are those that it searches by."""

    name: str
    first: Mapping[str, float]
    weights: Mapping[str, float] | None
    legs: frozenset[str]


LEGS = ("dense", "own", "window", "quoted", "title", "time")
"""What can propose candidates, each of which can be switched off. Without the index's legs, full text stands in."""

FIRST_FEATURES = frozenset(
    ("dense", "own", "window", "author", "told", "time", "title", "quoted", "recent", "here")
)
"""Those that are known before the closer look."""

_FIRST = {
    "dense": 1.3,
    "own": 3.6,
    "window": 8.6,
    "author": 2.8,
    "told": 5.0,
    "time": 5.0,
    "title": 4.0,
    "quoted": QUOTED,
}

EVIDENCE = Profile(
    "evidence",
    _FIRST,
    {
        "dense": 1.4,
        "own": 1.4,
        "window": 4.7,
        "author": 0.8,
        "told": 4.4,
        "beside": 2.2,
        "late": 3.3,
        "amount": 3.0,
        "dated": 2.6,
        "replies": 2.8,
        "named": 3.2,
        "session": 2.2,
        "phrase": 3.0,
        "time": 3.6,
        "title": 4.0,
        "quoted": QUOTED,
    },
    frozenset(LEGS),
)
"""For finding the message that says it: fitted on LoCoMo and BEAM together, but for ``quoted`` and ``title``."""

SEMANTIC = 4.0
"""What counts as 0.45 of the balanced profile: about what the evidence profile's score differs by between a message
that says it and the others looked at (medians of 4.9 on LoCoMo and 3.8 on BEAM, in a study)."""


def _beside_meaning(share: float) -> float:
    return share / 0.45 * SEMANTIC


BALANCED = Profile(
    "balanced",
    _FIRST,
    {
        **(EVIDENCE.weights or {}),
        "recent": _beside_meaning(0.25),
        "kind": _beside_meaning(0.15),
        "entities": _beside_meaning(0.10),
        "here": _beside_meaning(0.05),
    },
    frozenset(LEGS),
)
"""For what an assistant should have in mind: meaning 0.45, recency 0.25 with a half-life of a week, kind 0.15, names
and numbers in common 0.10, the same session 0.05. What no message has, or all have, changes no order."""

BM25 = Profile("bm25", {"own": 1.0}, None, frozenset({"own"}))
DENSE = Profile("dense", {"dense": 1.0}, None, frozenset({"dense"}))
"""One leg alone, to compare with."""

BUILT_IN: Mapping[str, Profile] = {one.name: one for one in (EVIDENCE, BALANCED, BM25, DENSE)}

RERANK = 7.0
"""For what a reranker says, 0 to 1. Not fitted, because no such model comes with the program: it is what lies between
the first and the thirtieth hit of a question (6.7, the median of a LoCoMo chat), so that the last hit it reads can
come first, and between hits as good to it the others decide."""


def profiles(own: Mapping[str, tuple[str, Mapping[str, float]]]) -> Mapping[str, Profile]:
    """The built-in profiles and the person's own: each the name of the one that it is like, and the weights that
    are others.

    Raises:
        ConfigError: it is like none, or a weight is of nothing that a message is judged by.
    """
    known = dict(BUILT_IN)
    for name, (like, weights) in own.items():
        where = f"profiles.{name}"
        if name in BUILT_IN:
            raise ConfigError("this profile is built in", where=where, hint="give yours another name")
        if like not in BUILT_IN:
            raise ConfigError(
                f"there is no profile {like!r} to be like", where=where, hint="one of " + ", ".join(BUILT_IN)
            )
        features = sorted({*BALANCED.first, *(BALANCED.weights or {})})
        if unknown := sorted(set(weights) - set(features)):
            raise ConfigError(
                f"no message is judged by {unknown[0]!r}",
                where=where,
                hint="weights are of " + ", ".join(features),
            )
        if odd := [feature for feature, weight in weights.items() if not isfinite(weight)]:
            raise ConfigError(f"{weights[odd[0]]} weighs nothing", where=f"{where}.weights.{odd[0]}")
        base = BUILT_IN[like]
        if base.weights is None and (later_only := sorted(set(weights) - FIRST_FEATURES)):
            raise ConfigError(
                f"like {like} nothing is looked at closely, and {later_only[0]!r} would weigh nothing",
                where=where,
                hint="be like evidence or balanced",
            )
        early = {feature: weight for feature, weight in weights.items() if feature in FIRST_FEATURES}
        later = None if base.weights is None else {**base.weights, **weights}
        # What is weighed has to run.
        legs = base.legs | {feature for feature, weight in weights.items() if weight and feature in LEGS}
        known[name] = replace(base, name=name, first={**base.first, **early}, weights=later, legs=legs)
    return known
