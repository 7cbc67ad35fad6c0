"""What the parts of a score and the kinds of facts are called where they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance.types import FactKind

MEANINGS: Mapping[str, str] = {
    "dense": "its meaning",
    "own": "its words",
    "window": "words in it and around it",
    "quoted": "it holds what is quoted",
    "beside": "meaning of what stands next to it",
    "late": "its words one by one, against the best",
    "amount": "how much it says, against the best",
    "dated": "it speaks of times",
    "replies": "words of the question before it",
    "phrase": "words in the order of the question",
    "named": "words around what is said by who is named",
    "session": "its conversation, against the best",
    "behind": "not looked at closely",
    "time": "said at the time that is named",
    "title": "the title of its conversation",
    "recent": "said lately",
    "here": "said in this conversation",
    "kind": "a decision, a preference, a statement",
    "entities": "names and numbers in common",
    "rerank": "read together with the question",
    "author": "said by who is named",
    "told": "told by a person, not answered",
    "text": "its words, not yet indexed",
    "beyond": "found behind copies of others",
}
"""What features and legs stand for, in a few words to show."""

RAW_SCORES: Mapping[str, str] = {"dense": "cosine", "own": "BM25", "window": "BM25", "text": "BM25"}
"""What each leg's raw score is."""

FACT_HEADS: Mapping[FactKind, str] = {
    "instruction": "Standing instructions",
    "profile": "You",
    "relation": "Your people and animals",
    "date": "Dates",
    "project": "Projects",
    "tool": "Tools",
    "preference": "Likes and preferences",
}
"""The kinds of facts in the order of a profile."""
