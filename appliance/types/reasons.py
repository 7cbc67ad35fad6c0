"""Why a message was found, or was not, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from appliance.types.search import WhyNot

MAIN_SHARE = 0.6
"""The share of one kind of evidence from which on a message was found mainly by it."""

SECOND_SHARE = 0.25
"""The share from which on a second kind of evidence is named."""

MIN_PART = 0.1
"""A smaller part of a score is not named."""

MAX_CIRCUMSTANCES = 2

MAX_NEAR_WORDS = 2

_EVIDENCE: Mapping[str, tuple[str, ...]] = {
    "its words": ("own", "phrase", "text"),
    "its meaning": ("dense", "token_match", "max_sim"),
    "the words around it": ("window", "replies"),
    "the meaning of the messages around it": ("neighbour_dense", "token_match_near", "session", "session_mass"),
    "the reranker": ("rerank",),
}
"""The features by what they find a message by."""

_CIRCUMSTANCES: Mapping[str, str] = {
    "title": "in a conversation with such a title",
    "time": "sent at about the time in the query",
    "dated": "it names a time",
    "entities": "it has the names and numbers of the query",
    "kind": "it is a decision, a preference or a statement",
    "recent": "it is recent",
    "here": "it is in this conversation",
}


STAGES: Mapping[str, str] = {
    "filtered": "was filtered out",
    "not proposed": "was not a candidate",
    "ranked": "ranks below the hits",
    "left out": "was left out",
    "below minimum": "scores too low",
    "shown": "is a hit",
}
"""The stages of a search at which a message may be dropped, as a predicate."""


def stage_text(why_not: WhyNot) -> str:
    """Say what became of a message that a search was asked about: "m5 was not a candidate"."""
    return f"{why_not.message_id} {STAGES[why_not.stage]}"


def reason(why: Mapping[str, Any], author: str | None, near_words: Sequence[str] = ()) -> str:
    """Say why a message was found.

    Args:
        why: The reasons of a hit.
        author: The hit's author.
        near_words: Words of the query that messages near the hit have, and the hit has not. They are named if the words
            around it speak for it.
    """
    parts: Mapping[str, float] = why.get("score", {})
    if "listed" in parts:
        return "It passes the filters, and the query names nothing else to look for."
    if "unranked" in parts:
        return "It has words of the query, and is not among the ranked candidates."
    found_by = _found_by(parts, why.get("legs", {}))
    # What puts a message first, whatever else speaks for it.
    if parts.get("quoted", 0.0) >= MIN_PART:
        found_by = "by its exact words"
    elif parts.get("file", 0.0) >= MIN_PART:
        found_by = "by a file that the query names"
    elif parts.get("period", 0.0) >= MIN_PART:
        found_by = "by its time, which is asked for"
    if near_words and any(parts.get(name, 0.0) >= MIN_PART for name in _EVIDENCE["the words around it"]):
        found_by += f", near a message with {' and '.join(f'“{word}”' for word in near_words[:MAX_NEAR_WORDS])}"
    return "; ".join((f"Found {found_by}", *_circumstances(parts, author))) + "."


def _found_by(parts: Mapping[str, float], legs: Mapping[str, Mapping[str, Any]]) -> str:
    sums = {name: sum(max(parts.get(one, 0.0), 0.0) for one in features) for name, features in _EVIDENCE.items()}
    # The window holds the message itself: where the message has the words too, it is found by them.
    if (legs.get("own", {}).get("score") or 0.0) > 0:
        sums["its words"] += max(parts.get("window", 0.0), 0.0)
        sums["the words around it"] -= max(parts.get("window", 0.0), 0.0)
    # A statement by a person counts by the better of its words and its meaning.
    better = "its words" if parts.get("own", 0.0) >= parts.get("dense", 0.0) else "its meaning"
    sums[better] += max(parts.get("user_authored", 0.0), 0.0)
    total = sum(sums.values())
    if total <= 0:
        return "by little that it has in common with the query"
    (first, most), (second, next_most), *_ = sorted(sums.items(), key=lambda item: -item[1])
    if most >= MAIN_SHARE * total:
        return f"mainly by {first}"
    return f"by {first}" + (f" and {second}" if next_most >= SECOND_SHARE * total else "")


def _circumstances(parts: Mapping[str, float], author: str | None) -> Iterator[str]:
    """What else speaks for a message, the most important first."""
    by_person = max(parts.get("author", 0.0), 0.0) + max(parts.get("named", 0.0), 0.0)
    known = {text: parts.get(name, 0.0) for name, text in _CIRCUMSTANCES.items()}
    if "period" in parts and parts["period"] >= MIN_PART:
        del known[_CIRCUMSTANCES["time"]]
    if author:
        known[f"said by {author}, whom the query names"] = by_person
    best = sorted(((part, text) for text, part in known.items() if part >= MIN_PART), reverse=True)
    yield from (text for _, text in best[:MAX_CIRCUMSTANCES])
    if parts.get("asked", 0.0) < 0:
        yield "it repeats the question, and comes behind what may answer it"
