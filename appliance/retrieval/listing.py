"""The hits of a search in their order, as far as anybody reads: keys first, texts page by page.

The ranked candidates come first, as they were selected. They are a pool of some hundred, whatever the limit; behind
them come all other messages that match the words of the query, so that a search can be read to its end. If the best one
is no good match, there are no hits, unless the caller says how good they must be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from appliance.retrieval import archive_search
from appliance.retrieval.candidates import Candidates
from appliance.retrieval.confidence import Confidence
from appliance.retrieval.diversify import DiverseSelection
from appliance.retrieval.legs import LEXICAL_LEGS
from appliance.retrieval.placeholders import drop_placeholders
from appliance.retrieval.ranking import Ranking, best_first
from appliance.retrieval.resources import Page, ParsedQuery, SearchResources
from appliance.retrieval.time_ranges import definite, within
from appliance.store import variants
from appliance.store.word_matches import WordMatch, newest_matches, word_matches
from appliance.types import HitOrder
from appliance.types.search import LIKELY_SCORE

MAX_COUNTED = 10_000
"""How far hits are counted: to know that there are more takes 0.1 s, and to count a million would take ten."""


@dataclass(frozen=True, slots=True)
class RankedSearch:
    """A search whose candidates are ranked, selected and judged, with what it read from and what it has to say."""

    resources: SearchResources
    parsed: ParsedQuery
    candidates: Candidates
    ranking: Ranking
    selection: DiverseSelection
    confidence: Confidence
    notes: tuple[str, ...]


class Listed(NamedTuple):
    """A hit by the key of its message, and by its row if it is a candidate."""

    message: int
    row: int | None


class ListedPage(NamedTuple):
    """One page of the hits, and what is known of the others: see ``Hits``."""

    hits: list[Listed]
    total: int
    total_is_exact: bool
    more: bool


def is_found(found: RankedSearch, page: Page) -> bool:
    """Whether the best hit is a good match: by itself, and by what the caller asks for."""
    confidence = found.confidence
    if found.parsed.query.lists_all:
        return next(list_hits(found, page), None) is not None
    return confidence.found and bool((confidence.scores >= (page.min_score or 0.0)).any())


def supports_context(found: RankedSearch) -> bool:
    """Whether the best hit is so good that an assistant may rely on it."""
    return found.confidence.supports_context or found.parsed.query.lists_all


def read_page(found: RankedSearch, page: Page) -> ListedPage:
    """Read the hits of one page, without counting those behind it."""
    if page.min_score is None and page.sort == "score" and not (found.confidence.found or found.parsed.query.lists_all):
        return ListedPage([], len(found.selection.rows), not found.selection.rows, False)
    listed = list_hits(found, page)
    skipped = sum(1 for _ in islice(listed, page.offset))
    hits = list(islice(listed, page.limit + 1))
    more = len(hits) > page.limit
    known = skipped + len(hits)
    if more and page.sort == "score" and not found.parsed.query.lists_all:
        known = max(known, len(_rows(found, page)))
    return ListedPage(hits[: page.limit], known, not more, more)


def count_hits(found: RankedSearch, page: Page) -> tuple[int, bool]:
    """Count all hits up to ``MAX_COUNTED``. Returns the number, and whether there are no others."""
    total = len(list(islice(list_hits(found, page, ordered=False), MAX_COUNTED + 1)))
    return min(total, MAX_COUNTED), total <= MAX_COUNTED


def count_likely(found: RankedSearch, total: int) -> int:
    """How many of all hits are likely to be what was asked for. Those behind the candidates are as likely as the
    last one of these; all are what was asked for where all that pass the filters were."""
    if found.parsed.query.lists_all:
        return total
    scores = found.confidence.scores[found.selection.rows]
    if not len(scores):
        return total
    behind = max(total - len(scores), 0) if scores.min() >= LIKELY_SCORE else 0
    return min(int((scores >= LIKELY_SCORE).sum()) + behind, total)


def other_time_note(found: RankedSearch) -> str:
    """What is said where there are messages from the times of a query, and the best hit is none of them; "" else."""
    ranges, rows = definite(found.parsed.times), found.selection.rows
    from_then = within(ranges, found.candidates.times) > 0
    if found.parsed.query.lists_all or not len(rows) or not from_then.any() or from_then[rows[0]]:
        return ""
    named = dict.fromkeys(one.words if one.is_bound else f"from {one.words}" for one in ranges)
    return f"The best match is not {' or '.join(named)}."


def list_hits(found: RankedSearch, page: Page, *, ordered: bool = True) -> Iterator[Listed]:
    """Yield all hits of a search from the first on; in any order, and faster, if they need not be ``ordered``."""
    keys, rows = found.candidates.messages.tolist(), _rows(found, page)
    by_words = bool(LEXICAL_LEGS & found.parsed.query.legs) and not page.min_score
    query = found.parsed.query
    if query.lists_all:
        row_of = {key: row for row, key in enumerate(keys)}
        matches = newest_matches(found.resources.db, query.filters, archived=query.archived != "never")
        yield from (Listed(key, row_of.get(key)) for key in _distinct(matches, set(), Counter(), found))
    elif page.sort == "score":
        yield from (Listed(keys[row], row) for row in rows)
        if by_words:
            yield from _unranked(found, keys, page.sort if ordered else None)
    elif by_words:
        row_of = {key: row for row, key in enumerate(keys)}
        matches = _matches(found, page.sort if ordered else None)
        distinct = _distinct(matches, set(), Counter(), found)
        yield from (
            Listed(key, row_of.get(key)) for key in drop_placeholders(found.resources.db, found.parsed, distinct)
        )
    else:
        newest_first = best_first(
            np.nan_to_num(found.candidates.times, nan=-np.inf)[rows], found.candidates.messages[rows]
        )
        yield from (Listed(keys[row], row) for row in np.array(rows, np.intp)[newest_first].tolist())


def _rows(found: RankedSearch, page: Page) -> list[int]:
    """The ranked candidates that are good enough."""
    rows = found.selection.rows
    return [row for row in rows if found.confidence.scores[row] >= page.min_score] if page.min_score else rows


def _unranked(found: RankedSearch, candidates: list[int], sort: HitOrder | None) -> Iterator[Listed]:
    """The hits that are no candidates, best by BM25 first."""
    known, rows = set(candidates), found.selection.rows
    selected = [candidates[row] for row in rows]
    numbers = variants.numbers(found.resources.db, selected)
    authors = found.candidates.authors
    shown = {(numbers[key], authors[row]) for key, row in zip(selected, rows, strict=True) if key in numbers}
    sessions = Counter(found.candidates.sessions[rows].tolist())
    others = (match for match in _matches(found, sort) if match.message not in known)
    distinct = _distinct(others, shown, sessions, found)
    yield from (Listed(key, None) for key in drop_placeholders(found.resources.db, found.parsed, distinct))


def _matches(found: RankedSearch, sort: HitOrder | None) -> Iterator[WordMatch]:
    query = found.parsed.query
    archived = archive_search.matching(found.resources, query.filters, query.text)
    verbatim = sorted(found.candidates.quote_matches.difference(archived), reverse=True)
    return word_matches(found.resources.db, query.text, query.filters, [*archived, *verbatim], sort)


def _distinct(
    matches: Iterable[WordMatch], shown: set[tuple[int, str | None]], sessions: Counter[int], found: RankedSearch
) -> Iterator[int]:
    """The messages of matches, if the query folds without variants by the same author of a message before, and with no
    more of a session than the query allows: ``diversify`` for any number of them."""
    per_session, folds = found.parsed.query.per_session, found.parsed.query.folds
    for match in matches:
        if folds and match.variants is not None and (match.variants, match.author) in shown:
            continue
        if per_session is not None:
            if sessions[match.session] >= per_session:
                continue
            sessions[match.session] += 1
        if match.variants is not None:
            shown.add((match.variants, match.author))
        yield match.message
