"""The archive in a search: searched together with the hot messages, when that is asked for or worth a look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from appliance.retrieval.confidence import Confidence
from appliance.retrieval.resources import SearchResources
from appliance.store import archive, chunks, lexical, messages
from appliance.store.index.protocol import LegQuery
from appliance.store.index.tiers import TieredIndex
from appliance.store.literals import Literal
from appliance.store.sql import pages
from appliance.types import Filters, Hits

GOOD_CONFIDENCE = 0.9
"""The confidence of the best hit from which on a search of the hot messages counts as good. With four fifths of
LoCoMo's messages archived at random, searches look into the archive for 75 % of the questions, and recall@10 is 0.71;
with 0.8, 46 % and 0.53; with both tiers for all questions, 0.85 (``tests/eval/archive.py``)."""

PHRASE_POOL_SIZE = 500
"""How many archived chunks, the best by the words of a quoted phrase, are read to find the phrase itself."""


def with_archive(resources: SearchResources) -> SearchResources:
    """Return resources whose index is both tiers in one."""
    if resources.archive is None or resources.index is None:
        return resources
    return replace(resources, index=TieredIndex(resources.index, resources.archive))


def is_worth_a_look(resources: SearchResources, confidence: Confidence) -> bool:
    """Whether a search of the hot messages found nothing good, and the archive may have something better."""
    if resources.archive is None or resources.index is None:
        return False
    return float(confidence.scores.max(initial=0.0)) < GOOD_CONFIDENCE


def with_note(found: Hits) -> Hits:
    """Return the hits of both tiers with the note that the archive was searched."""
    count = sum(hit.tier == "archived" for hit in found.hits)
    plural = "1 hit is" if count == 1 else f"{count} hits are"
    note = f"The archive was searched too: {plural} from there." if count else "The archive has nothing better."
    return replace(found, notes=(*found.notes, note))


def with_missing_note(resources: SearchResources, found: Hits) -> Hits:
    """Return the hits with a note if the archive could not be searched, or not all of it."""
    if resources.archive is None:
        return found
    missing = archive.count(resources.db) - len(resources.archive)
    if resources.index is None:
        note = "the archive was not searched, because the index can't be used"
    elif missing > 0:
        note = f"{missing} archived messages wait for the archive index"
    else:
        return found
    return replace(found, notes=(*found.notes, note))


def containing_phrases(resources: SearchResources, phrases: Sequence[str], filters: Filters, limit: int) -> list[int]:
    """Return archived messages that contain every phrase verbatim, except for case and white space, newest first."""
    folded = [lexical.fold(phrase) for phrase in phrases]
    words = " ".join(phrases)
    return _holding(resources, words, lambda text: all(one in lexical.fold(text) for one in folded), filters)[:limit]


def containing_literal(resources: SearchResources, literal: Literal, filters: Filters, limit: int) -> list[int]:
    """Return archived messages that have a literal, newest first; none for an emoji, which is no word of the index."""
    return _holding(resources, literal.match, literal.is_in, filters)[:limit] if literal.match is not None else []


def _holding(resources: SearchResources, words: str, holds: Callable[[str], bool], filters: Filters) -> list[int]:
    """The archived messages whose text passes a test, newest first, of the best by some words."""
    assert resources.index is not None
    query = LegQuery("own", text=words)
    (proposed,) = resources.index.search([query], filters, PHRASE_POOL_SIZE)
    keys = set(chunks.load_columns(resources.db, [one.id for one in proposed], filters).messages)
    texts = messages.texts(resources.db, keys)
    return sorted((key for key, text in texts.items() if holds(text)), reverse=True)


def matching(resources: SearchResources, filters: Filters, text: str) -> list[int]:
    """Return the archived messages that match the words of a text, or all its quoted phrases, best first; none if the
    archive is not searched."""
    if not isinstance(resources.index, TieredIndex):
        return []
    if phrases := lexical.phrases(text):
        return containing_phrases(resources, phrases, filters, PHRASE_POOL_SIZE)
    found = resources.index.search_archive(LegQuery("own", text=lexical.shorten_query(text)), filters)
    message_of: dict[int, int] = {}
    for page in pages([one.id for one in found]):
        columns = chunks.load_columns(resources.db, page, filters)
        message_of |= zip(columns.chunks, columns.messages, strict=True)
    keys = list(dict.fromkeys(message_of[one.id] for one in found if one.id in message_of))
    archived = archive.archived(resources.db, keys)  # the index may still have some that have come back
    return [key for key in keys if key in archived]
