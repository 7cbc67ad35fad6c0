"""The legs, which propose candidates: from the whole index, and from the times, titles and phrases in the query.

Each leg can be switched off. The notes of the hits name a leg that can't run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from appliance.errors import ModelUnavailable, OutOfMemory
from appliance.retrieval import archive_search, time_ranges
from appliance.retrieval.candidates import (
    LEG_POOL_SIZE,
    Candidates,
    from_index,
    from_text,
    merge,
    no_candidates,
    recent_candidates,
    with_dense_scores,
)
from appliance.retrieval.file_matches import find_file_edits, find_file_matches, narrow_to_files
from appliance.retrieval.resources import EmbeddedQuery, ParsedQuery, SearchQuery, SearchResources
from appliance.retrieval.time_ranges import TimeRange
from appliance.store import chunks, lexical, literals, messages, variants
from appliance.store.index.protocol import LegQuery, VectorIndex
from appliance.store.index.tiers import TieredIndex
from appliance.store.phone_numbers import PhoneNumber, has_digits, has_number
from appliance.store.scripts import other_digits
from appliance.store.word_matches import newest_matches
from appliance.types import Filters
from appliance.types.file_names import paths

NARROWED_POOL_SIZE = 20
"""How many chunks each leg may propose of a time range, or of a session whose title matches."""

MIN_DISTINCT_MEMORIES = 20
"""If most candidates are copies and fewer different memories than this are among them, the legs propose more: the
prompt that a person repeats every day would otherwise be the only hit."""

DEEP_POOL_SIZE = 2_000
"""How many chunks of each leg are read then. It costs about 20 ms, and only queries crowded by copies pay it."""

MAX_COUNTED_PENDING = 1_000
"""How far waiting chunks are counted. To count those of a large import would take longer than the search itself."""

MAX_TITLE_SESSIONS = 3
"""How many sessions a query may name by title."""

WORDS_ONLY = "searched by words only"
"""How the note begins that the query could not be compared by meaning."""

LEXICAL_LEGS = {"own", "window"}
SEARCH_LEGS = {"dense", *LEXICAL_LEGS}
"""The legs that find messages by themselves. Times and titles only narrow them, and quotation marks only rank."""


def parse_query(resources: SearchResources, search_query: SearchQuery, notes: list[str]) -> ParsedQuery:
    """Parse a search query: its words, its time ranges, and the queries of the index's legs, the dense one first."""
    if not SEARCH_LEGS & search_query.legs:
        notes.append("nothing was searched: mode, profile and options exclude all of dense, own and window")
    mentioned_ranges = (
        time_ranges.find_time_ranges(search_query.text, search_query.now) if "time" in search_query.legs else []
    )
    impossible = time_ranges.find_impossible_dates(search_query.text) if "time" in search_query.legs else []
    notes.extend(f"There is no {words}." for words in impossible)
    if resources.index is None:
        notes.append(f"only full text was searched: {resources.unavailable_reason}")
    embedded = _embed(resources, search_query, notes)
    leg_queries = [] if resources.index is None else list(_leg_queries(search_query, embedded, notes))
    is_by_file = "file" in search_query.legs
    file_matches = (
        find_file_matches(resources.db, search_query.text, search_query.filters) if is_by_file else frozenset()
    )
    return ParsedQuery(
        search_query,
        lexical.query_words(search_query.text),
        _look_up_days(resources.index, mentioned_ranges, leg_queries, search_query.filters),
        leg_queries,
        time_ranges.words_beside([*(one.words for one in mentioned_ranges), *impossible], search_query.text),
        embedded,
        impossible,
        file_matches,
        find_file_edits(resources.db, search_query.text, search_query.filters, file_matches),
    )


def _look_up_days(
    index: VectorIndex | None, ranges: Sequence[TimeRange], leg_queries: Sequence[LegQuery], filters: Filters
) -> Sequence[TimeRange]:
    """The time ranges, where those of days of any year tell in which years the index has messages."""
    dense = [query for query in leg_queries if query.leg == "dense"]
    # The points of the archive can be searched, but not counted by time.
    if index is None or not leg_queries or (not dense and isinstance(index, TieredIndex)):
        return ranges

    def has_messages(time_range: TimeRange) -> bool:
        narrowed = _narrow(time_range, filters)
        if narrowed is None:
            return False
        return any(index.search(dense, narrowed, 1)) if dense else index.count(narrowed) > 0

    return time_ranges.look_up(ranges, has_messages)


def _embed(resources: SearchResources, search_query: SearchQuery, notes: list[str]) -> EmbeddedQuery | None:
    """The vectors of a query, if the dense leg runs."""
    if resources.index is None or "dense" not in search_query.legs or not search_query.text.strip():
        return None
    reason = resources.unavailable_reason
    if resources.embed is not None:
        try:
            return resources.embed(search_query.text)
        except (ModelUnavailable, OutOfMemory) as error:
            reason = str(error)
    notes.append(f"{WORDS_ONLY}: {reason}")
    return None


def _leg_queries(search_query: SearchQuery, embedded: EmbeddedQuery | None, notes: list[str]) -> Iterator[LegQuery]:
    if embedded is not None:
        yield LegQuery("dense", vector=embedded.vector)
    text = lexical.shorten_query(search_query.text)
    if text != search_query.text and LEXICAL_LEGS & search_query.legs:
        notes.append(f"the query is long: words after the first {lexical.MAX_QUERY_WORDS} count by meaning only")
    text = " ".join([text, *other_digits(text)])
    if "own" in search_query.legs:
        yield LegQuery("own", text=text)
    if "window" in search_query.legs:
        yield LegQuery("window", text=text)


def find_candidates(resources: SearchResources, parsed: ParsedQuery, notes: list[str]) -> Candidates:
    """The candidates of all legs. FTS5 finds the messages that are not indexed yet, quoted phrases and literals."""
    search_query = parsed.query
    by_words = bool(LEXICAL_LEGS & search_query.legs)
    quoted = _verbatim_matches(resources, parsed, notes) if "quoted" in search_query.legs else frozenset()
    if resources.index is None:
        candidates = (
            from_text(resources.db, search_query.text, search_query.filters, None) if by_words else no_candidates()
        )
        return _with_certain_matches(resources, candidates, quoted, parsed)
    # The outbox is read before the index: a chunk that leaves it in between is then found in the index.
    pending = chunks.count_pending_up_to(resources.db, resources.generation, MAX_COUNTED_PENDING + 1)
    pending_candidates = no_candidates()
    if pending:
        many = str(pending) if pending <= MAX_COUNTED_PENDING else f"more than {MAX_COUNTED_PENDING}"
        notes.append(f"{many} chunks wait for the index: their messages are found by their words alone")
        if by_words:
            pending_candidates = from_text(resources.db, search_query.text, search_query.filters, resources.generation)
        dense = next((query.vector for query in parsed.leg_queries if query.leg == "dense"), None)
        if dense is not None and resources.recent_vectors:
            recent = recent_candidates(resources.db, resources.recent_vectors, search_query.filters)
            pending_candidates = with_dense_scores(merge(pending_candidates, recent), dense, resources.recent_vectors)
    pieces = chunks.chunks_of(resources.db, resources.generation, sorted(quoted))
    extra_proposals = {"quoted": [chunk for key in sorted(quoted, reverse=True) for chunk in pieces.get(key, ())]}
    extra_proposals |= _propose_narrowed(resources, resources.index, parsed)
    candidates = from_index(resources.db, resources.index, parsed.leg_queries, search_query.filters, extra_proposals)
    if deep_proposals := _propose_beyond_duplicates(resources, resources.index, parsed, candidates):
        candidates = from_index(
            resources.db,
            resources.index,
            parsed.leg_queries,
            search_query.filters,
            {**extra_proposals, "beyond": deep_proposals},
        )
    found = merge(candidates, pending_candidates) if len(pending_candidates) else candidates
    if not pending:
        notes.extend(
            f"No messages {'' if time_range.is_bound else 'from '}{time_range.words}."
            for time_range in _empty_times(parsed, found)
        )
    return _with_certain_matches(resources, found, quoted, parsed)


def _with_certain_matches(
    resources: SearchResources, candidates: Candidates, quoted: frozenset[int], parsed: ParsedQuery
) -> Candidates:
    """The candidates with the messages that have the query's words letter by letter, or are about its files: no other
    leg may have proposed them while they wait for the index."""
    newest_of_files = [
        *sorted(parsed.file_edits, reverse=True)[:NARROWED_POOL_SIZE],
        *sorted(parsed.file_matches, reverse=True)[:NARROWED_POOL_SIZE],
    ]
    unproposed = quoted.union(newest_of_files).difference(candidates.messages.tolist())
    if unproposed:
        candidates = merge(candidates, recent_candidates(resources.db, unproposed, parsed.query.filters))
    return replace(candidates, quote_matches=quoted)


def _empty_times(parsed: ParsedQuery, candidates: Candidates) -> Iterator[TimeRange]:
    """The time ranges of the query without a message, where messages of every range that has some are candidates."""
    are_proposed = _has_dense(parsed) or (parsed.leg_queries and not parsed.words_beside_times)
    named: dict[str, list[TimeRange]] = {}
    for time_range in time_ranges.definite(parsed.times):
        named.setdefault(time_range.words, []).append(time_range)
    for ranges in named.values():
        is_known = all(time_range.has_messages is False for time_range in ranges)
        if (are_proposed or is_known) and not time_ranges.within(ranges, candidates.times).any():
            yield ranges[-1]


def _verbatim_matches(resources: SearchResources, parsed: ParsedQuery, notes: list[str]) -> frozenset[int]:
    """The messages that contain what the query has in quotation marks, or else most of its literals."""
    search_query = parsed.query
    if phrases := lexical.phrases(search_query.text):
        return _quote_matches(resources, phrases, search_query.filters, notes)
    found = literals.find_literals(search_query.text, [time_range.words for time_range in parsed.times])
    if any(literal.match is None for literal in found) and not literals.are_all_scanned(resources.db):
        notes.append(f"Only the newest {literals.MAX_SCANNED_MESSAGES:,} messages were searched for the emoji.")
    counts = Counter(literals.containing(resources.db, found, search_query.filters, LEG_POOL_SIZE))
    if isinstance(resources.index, TieredIndex):
        for literal in found:
            counts.update(archive_search.containing_literal(resources, literal, search_query.filters, LEG_POOL_SIZE))
    if found and not counts:
        files = paths(search_query.text) if parsed.file_matches else ()
        notes.extend(
            f"No message has {literal.text!r} letter by letter."
            for literal in found
            if literal.is_certain and literal.text not in files
        )
    most = max(counts.values(), default=0)
    certain = frozenset(key for key, count in counts.items() if count == most)
    notes.extend(_other_forms(resources, [one.phone_number for one in found if one.phone_number], certain))
    return certain


def _other_forms(resources: SearchResources, numbers: Sequence[PhoneNumber], found: frozenset[int]) -> Iterator[str]:
    """A sentence for each telephone number of which the messages that were found have only the last digits."""
    texts = messages.texts(resources.db, found).values() if numbers and found else ()
    for number in numbers:
        alike = [text for text in texts if has_number(number, text)]
        if alike and not any(has_digits(number, text) for text in alike):
            yield (
                f"No message has all digits of {number.text!r}: the last {len(number.national)} were found, with or"
                " without the code of a country before them."
            )


def _quote_matches(
    resources: SearchResources, phrases: Sequence[str], filters: Filters, notes: list[str]
) -> frozenset[int]:
    """The messages that contain all phrases."""
    found = lexical.containing_phrases(resources.db, phrases, filters, LEG_POOL_SIZE)
    if isinstance(resources.index, TieredIndex):
        archived = archive_search.containing_phrases(resources, phrases, filters, LEG_POOL_SIZE)
        found = None if found is None and not archived else [*(found or ()), *archived]
    if found is None:
        notes.append("the quoted phrase has only frequent words: its words count singly")
    texts = messages.texts(resources.db, found or ())
    # "train" stands in "trained" too. In a script without spaces a phrase is never a word by itself.
    as_words = [key for key, text in texts.items() if all(lexical.has_as_words(text, phrase) for phrase in phrases)]
    return frozenset(as_words or found or ())


def _propose_narrowed(resources: SearchResources, index: VectorIndex, parsed: ParsedQuery) -> dict[str, list[int]]:
    """The best chunks of the legs within the time ranges of the query, in the sessions that it names by title, and of
    the messages about its files.

    The words of a query for a time alone find nothing: without the dense leg, the newest messages of the time count."""
    found: dict[str, list[int]] = {}
    if not parsed.leg_queries:
        return found
    if not (_has_dense(parsed) or parsed.words_beside_times):
        for narrowed in _narrow_to_times(parsed.times, parsed.query.filters):
            newest = newest_matches(resources.db, narrowed, archived=isinstance(index, TieredIndex))
            keys = [one.message for one in islice(newest, NARROWED_POOL_SIZE)]
            pieces = chunks.chunks_of(resources.db, resources.generation, keys)
            found.setdefault("time", []).extend(chunk for key in keys for chunk in pieces.get(key, ()))
    for name, narrowed in (
        *(("time", narrowed) for narrowed in _narrow_to_times(parsed.times, parsed.query.filters)),
        *(("title", narrowed) for narrowed in _narrow_to_titles(resources, parsed)),
        *(("file", narrowed) for narrowed in _narrow_to_files(resources, parsed)),
    ):
        for leg in index.search(parsed.leg_queries, narrowed, NARROWED_POOL_SIZE):
            found.setdefault(name, []).extend(scored.id for scored in leg)
    return {name: list(dict.fromkeys(keys)) for name, keys in found.items()}


def _has_dense(parsed: ParsedQuery) -> bool:
    return any(query.leg == "dense" for query in parsed.leg_queries)


def _propose_beyond_duplicates(
    resources: SearchResources, index: VectorIndex, parsed: ParsedQuery, candidates: Candidates
) -> list[int]:
    """If copies crowd the candidates, the best chunks of other memories in each leg, one of each memory."""
    found = candidates.messages.tolist()
    seen = {candidates.duplicate_groups.get(key, key) for key in found}
    if len(seen) >= MIN_DISTINCT_MEMORIES or len(found) < 2 * len(seen):
        return []
    proposed: list[int] = []
    for leg in index.search(parsed.leg_queries, parsed.query.filters, DEEP_POOL_SIZE):
        pieces = chunks.load_columns(resources.db, [one.id for one in leg], parsed.query.filters)
        message = dict(zip(pieces.chunks, pieces.messages, strict=True))
        memory = variants.group_heads(resources.db, message.values())
        new: dict[int, int] = {}
        for key in (one.id for one in leg if one.id in message):
            new.setdefault(memory.get(message[key], message[key]), key)
        proposed += list(islice((key for number, key in new.items() if number not in seen), NARROWED_POOL_SIZE))
    return list(dict.fromkeys(proposed))


def _narrow_to_times(ranges: Sequence[TimeRange], filters: Filters) -> Iterator[Filters]:
    """The filters narrowed to each time range of the query. A month that may be of any year narrows nothing."""
    for time_range in time_ranges.definite(ranges):
        if time_range.has_messages is not False and (narrowed := _narrow(time_range, filters)) is not None:
            yield narrowed


def _narrow(time_range: TimeRange, filters: Filters) -> Filters | None:
    """The filters narrowed to a time range; None if no time passes them."""
    since = time_range.start if filters.since is None else max(time_range.start, filters.since)
    until = time_range.end if filters.until is None else min(time_range.end, filters.until)
    return replace(filters, since=since, until=until) if since < until else None


def _narrow_to_files(resources: SearchResources, parsed: ParsedQuery) -> Iterator[Filters]:
    if parsed.file_matches:
        yield narrow_to_files(resources.db, parsed.file_matches, parsed.query.filters)


def _narrow_to_titles(resources: SearchResources, parsed: ParsedQuery) -> Iterator[Filters]:
    filters = parsed.query.filters
    if "title" in parsed.query.legs and filters.session is None:
        for session in lexical.sessions_by_title(resources.db, parsed.words, filters.scope, MAX_TITLE_SESSIONS):
            yield replace(filters, session=session)
