"""Labels: what the parts of a score, the kinds of facts and what waits are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance.types import FactKind, Waiting

NOTE_ATTRIBUTE = "note"
"""The attribute of what the person adds and no rule understands."""

FEATURE_LABELS: Mapping[str, str] = {
    "dense": "closeness in meaning",
    "own": "search words that it has",
    "window": "search words in it and beside it",
    "quoted": "the exact words",
    "file": "about a file that the search names",
    "neighbour_dense": "meaning of the messages beside it",
    "token_match": "likeness of its words, one by one",
    "token_match_near": "likeness of words in and beside it",
    "max_sim": "likeness of single words",
    "idf_mass": "many words, and rare ones",
    "dated": "names a time, as the search asks",
    "replies": "answers a question with search words",
    "phrase": "search words that follow one another",
    "named": "search words, by a named person",
    "session": "meaning of its conversation",
    "session_mass": "other good hits in its conversation",
    "asks_back": "is a question itself",
    "first_named": "by the first person in the search",
    "amount": "has a number, as the search asks",
    "recalled": "said by the assistant, as asked",
    "asked": "repeats the question",
    "unknown_words": "lacks search words",
    "rerank_floor": "not looked at closely",
    "unranked": "has search words; not ranked",
    "listed": "passes the filters, as each hit does",
    "time": "sent about the time in the search",
    "period": "sent at the time that is asked for",
    "title": "title of its conversation",
    "recent": "how recent it is",
    "here": "in this conversation",
    "feedback": "what was said of its worth",
    "kind": "a decision, preference or statement",
    "entities": "names and numbers in common",
    "rerank": "the judgement of the reranking model",
    "author": "by a person in the search",
    "user_authored": "said by a person",
    "text": "search words, not indexed yet",
    "beyond": "found behind repetitions",
}
"""What a part of a score or a way to find a message is called, for a person, by the name of the feature or the leg."""

RAW_SCORE_LABELS: Mapping[str, str] = {"dense": "cosine", "own": "BM25", "window": "BM25", "text": "BM25"}
"""The kind of raw score that each leg gives, for developers."""

FACT_KIND_HEADINGS: Mapping[FactKind, str] = {
    "instruction": "Standing instructions",
    "profile": "You",
    "relation": "Your people and animals",
    "date": "Dates",
    "project": "Projects",
    "tool": "Tools",
    "preference": "Likes and preferences",
    "note": "Notes",
}
"""Headings of the kinds of facts, in the order of a profile."""


def waiting_heading(waiting: Waiting) -> str:
    """The heading of ``waiting_labels``: files that were read wait for nothing."""
    waits = any(name != "read" for name in waiting_labels(waiting))
    return ("Waiting, new" if waits else "New") if waiting.files_read else "Waiting"


def waiting_labels(waiting: Waiting) -> dict[str, str]:
    """What waits for the person, in words, by what is waited for: the names are "contradictions", "proposals",
    "imports", "failed", "read" and "archived"."""
    counts = {
        "contradictions": (waiting.contradictions, "contradiction{} to settle"),
        "proposals": (waiting.proposals, "pair{} of names that may be one person"),
        "imports": (waiting.imports, "import{} to finish"),
        "failed": (waiting.files_failed, "file{} that could not be read"),
        "read": (waiting.files_read, "watched file{} read since yesterday"),
        "archived": (waiting.archived_soon_count, "conversation{} about to be archived"),
    }
    return {
        name: f"{count:,} {words.format('' if count == 1 else 's')}" for name, (count, words) in counts.items() if count
    }
