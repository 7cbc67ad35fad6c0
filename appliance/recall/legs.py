"""What proposes candidates: the index's legs over everything, and over what the question points to itself.

Each can be switched off. One that can't run is said in the answer's notes, never left out silently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from appliance.recall import times
from appliance.recall.candidates import (
    POOL,
    Candidates,
    from_index,
    from_text,
    joined,
    just_said,
    nobody,
    with_meaning,
)
from appliance.recall.shelf import Asked, Shelf, Wish
from appliance.recall.times import Stretch
from appliance.store import chunks, lexical, titles, variants
from appliance.store.index.base import Index, LegQuery
from appliance.types import Filters

POINTED = 20
"""How many chunks each leg may propose of a stretch of time, or of a session by its title."""

CROWDED = 20
"""With fewer different memories among the candidates, most of them copies, what stands behind these is looked at
too: somebody's daily prompt would otherwise be the only hit."""

BEHIND = 2_000
"""How many chunks of each leg are looked through then. It costs some 20 ms, where copies crowd a question alone."""

COUNTED = 1_000
"""How many chunks that wait are counted: all of a large import would take longer than the rest of a search."""

TITLED = 3
"""How many sessions may be meant by their titles."""

LEXICAL = {"own", "window"}
SEARCHES = {"dense", *LEXICAL}
"""The legs that find by themselves: a time or a title only says where to look, quotation marks what comes first."""


def understand(shelf: Shelf, wish: Wish, notes: list[str]) -> Asked:
    """What a wish says, and what each leg of the index is to be asked for it, the dense one first."""
    if not SEARCHES & wish.legs:
        notes.append(
            "nothing was searched: of dense, own and window, none is left by mode, profile and options"
        )
    named = times.named(wish.text, wish.now) if "time" in wish.legs else []
    return Asked(wish, lexical.words(wish.text), named, list(_queries(shelf, wish, notes)))


def _queries(shelf: Shelf, wish: Wish, notes: list[str]) -> Iterator[LegQuery]:
    if shelf.index is None:
        notes.append(f"only full text was searched: {shelf.lacks}")
        return
    if "dense" in wish.legs and wish.text.strip():
        if shelf.embed is None:
            notes.append(f"the dense leg did not run: {shelf.lacks}")
        else:
            yield LegQuery("dense", vector=shelf.embed(wish.text))
    text = lexical.shortened(wish.text)
    if text != wish.text and LEXICAL & wish.legs:
        notes.append(f"the query is long: words behind its first {lexical.QUERY_WORDS} count by meaning only")
    if "own" in wish.legs:
        yield LegQuery("own", text=text)
    if "window" in wish.legs:
        yield LegQuery("window", text=text)


def find(shelf: Shelf, asked: Asked, notes: list[str]) -> Candidates:
    """Candidates of every leg; FTS5 finds what the index does not hold yet, and what is quoted."""
    wish = asked.wish
    by_words = bool(LEXICAL & wish.legs)
    quoted = _holding(shelf, wish, notes) if "quoted" in wish.legs else frozenset()
    if shelf.index is None:
        candidates = from_text(shelf.db, wish.text, wish.filters, None) if by_words else nobody()
        return replace(candidates, quoted=quoted)
    # First what waits: what leaves the outbox after this look is in the index by the next.
    waiting = chunks.waits(shelf.db, shelf.generation, COUNTED + 1)
    awaited = nobody()
    if waiting:
        many = str(waiting) if waiting <= COUNTED else f"more than {COUNTED}"
        notes.append(f"{many} chunks wait for the index: their messages are found by FTS5 alone")
        if by_words:
            awaited = from_text(shelf.db, wish.text, wish.filters, shelf.generation)
        dense = next((query.vector for query in asked.legs if query.leg == "dense"), None)
        if dense is not None and shelf.fresh:
            said = just_said(shelf.db, shelf.fresh, wish.filters)
            awaited = with_meaning(joined(awaited, said), dense, shelf.fresh)
    pieces = chunks.chunks_of(shelf.db, shelf.generation, sorted(quoted))
    also = {"quoted": [chunk for key in sorted(quoted, reverse=True) for chunk in pieces.get(key, ())]}
    also |= _pointed(shelf, shelf.index, asked)
    candidates = from_index(shelf.db, shelf.index, asked.legs, wish.filters, also)
    if beyond := _beyond(shelf, shelf.index, asked, candidates):
        candidates = from_index(shelf.db, shelf.index, asked.legs, wish.filters, {**also, "beyond": beyond})
    return replace(joined(candidates, awaited) if len(awaited) else candidates, quoted=quoted)


def _holding(shelf: Shelf, wish: Wish, notes: list[str]) -> frozenset[int]:
    """The messages that hold what the query has in quotation marks."""
    phrases = lexical.phrases(wish.text)
    if not phrases:
        return frozenset()
    found = lexical.holding(shelf.db, phrases, wish.filters, POOL)
    if found is None:
        notes.append("what is quoted has frequent words only: it counts as its words do")
    return frozenset(found or ())


def _pointed(shelf: Shelf, index: Index, asked: Asked) -> dict[str, list[int]]:
    """The chunks that the legs like best within the times that are named, and in sessions by their titles."""
    found: dict[str, list[int]] = {}
    if not asked.legs:
        return found
    for name, narrowed in (
        *(("time", narrowed) for narrowed in _within(asked.times, asked.wish.filters)),
        *(("title", narrowed) for narrowed in _titled(shelf, asked)),
    ):
        for leg in index.search(asked.legs, narrowed, POINTED):
            found.setdefault(name, []).extend(scored.id for scored in leg)
    return {name: list(dict.fromkeys(keys)) for name, keys in found.items()}


def _beyond(shelf: Shelf, index: Index, asked: Asked, candidates: Candidates) -> list[int]:
    """Where copies crowd the candidates, what each leg likes best of other memories, a chunk of each."""
    found = candidates.messages.tolist()
    seen = {candidates.memories.get(key, key) for key in found}
    if len(seen) >= CROWDED or len(found) < 2 * len(seen):
        return []
    beyond: list[int] = []
    for leg in index.search(asked.legs, asked.wish.filters, BEHIND):
        pieces = chunks.spoken(shelf.db, [one.id for one in leg], asked.wish.filters)
        message = dict(zip(pieces.chunks, pieces.messages, strict=True))
        memory = variants.groups(shelf.db, message.values())
        new: dict[int, int] = {}
        for key in (one.id for one in leg if one.id in message):
            new.setdefault(memory.get(message[key], message[key]), key)
        beyond += list(islice((key for number, key in new.items() if number not in seen), POINTED))
    return list(dict.fromkeys(beyond))


def _within(stretches: Sequence[Stretch], filters: Filters) -> Iterator[Filters]:
    """The filters, narrowed to each time that is named; a time of any year narrows nothing."""
    for stretch in stretches:
        if sum(other.words == stretch.words for other in stretches) == 1:
            since = stretch.start if filters.since is None else max(stretch.start, filters.since)
            until = stretch.end if filters.until is None else min(stretch.end, filters.until)
            if since < until:
                yield replace(filters, since=since, until=until)


def _titled(shelf: Shelf, asked: Asked) -> Iterator[Filters]:
    filters = asked.wish.filters
    if "title" in asked.wish.legs and filters.session is None:
        for session in titles.matching(shelf.db, asked.words, filters.scope, TITLED):
            yield replace(filters, session=session)
