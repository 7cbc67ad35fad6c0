"""Labels: what the parts of a score, the kinds of facts and what waits are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance.types import FactKind, Waiting

NOTE_ATTRIBUTE = "note"
"""The attribute of what the person adds and no rule understands."""

FEATURE_LABELS: Mapping[str, str] = {
    "dense": "meaning",
    "own": "words of the message",
    "window": "words of the message and its neighbours",
    "quoted": "exact words",
    "file": "about a file in the query",
    "neighbour_dense": "meaning of the neighbouring messages",
    "token_match": "word-by-word match",
    "token_match_near": "word-by-word match with neighbours",
    "max_sim": "word-by-word match without context",
    "idf_mass": "length",
    "dated": "mentions of time",
    "replies": "words of the query in the message before",
    "phrase": "words in the order of the query",
    "named": "words near messages by a person in the query",
    "session": "match of the whole conversation",
    "session_mass": "other good matches in the conversation",
    "asks_back": "is a question itself",
    "first_named": "by the first person in the query",
    "amount": "has a number",
    "recalled": "said by the assistant",
    "asked": "repeats the question",
    "unknown_words": "lacks words of the query",
    "rerank_floor": "not in the second stage",
    "unranked": "has the words; not ranked",
    "time": "sent at a time in the query",
    "period": "sent at the time that is asked for",
    "title": "title of the conversation",
    "recent": "recent message",
    "here": "in this conversation",
    "feedback": "feedback on it",
    "kind": "decision, preference or statement",
    "entities": "names and numbers in common",
    "rerank": "reranker",
    "author": "by a person in the query",
    "user_authored": "statement by a person",
    "text": "words, not indexed yet",
    "beyond": "found behind duplicates",
}
"""Labels of features and legs, as explanations show them."""

RAW_SCORE_LABELS: Mapping[str, str] = {"dense": "cosine", "own": "BM25", "window": "BM25", "text": "BM25"}
"""The kind of raw score that each leg gives."""

FACT_KIND_HEADINGS: Mapping[FactKind, str] = {
    "instruction": "Standing instructions",
    "profile": "You",
    "relation": "Your people and animals",
    "date": "Dates",
    "project": "Projects",
    "tool": "Tools",
    "preference": "Likes and preferences",
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
