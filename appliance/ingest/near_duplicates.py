"""Near-duplicates: finds the messages that say the same as another one, by their words and by their meaning.

``signatures`` computes the signatures of a batch of the indexer outside of any transaction. ``link`` compares them with
the stored ones in the transaction that acknowledges the batch, so that an interrupted batch is linked again as a whole.
Two conversational messages of one scope and one role are linked

- by ``exact`` text, ignoring case and white space, whenever and wherever they were said;
- by ``words``: MinHash proposes pairs, which are variants if the Jaccard index of their three-word shingles, computed
  from the texts themselves, is at least ``MIN_JACCARD``; runs of scripts without spaces give shingles of four
  characters;
- by ``meaning``: the cosine of their vectors, within one session, one author and one day.

A statement with another number or an opposite word is another statement ("the train leaves at 9", "at 10"; "the
northern ferry", "the southern ferry"), so near-duplicates must have the same of them (``decisive_words``). Links by
text are symmetric and transitive, so the groups do not depend on the order in which messages arrive.

MinHash: A. Broder, "On the resemblance and containment of documents" (1997).
"""

from __future__ import annotations

import itertools
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appliance.languages import LANGUAGES
from appliance.languages.language import full_names
from appliance.lazy_dataclasses import dataclass
from appliance.store import messages, variants
from appliance.store.scripts import is_question, split_unspaced
from appliance.store.variants import BAND_COUNT, ComparableMessage, NearbyMessage

MIN_JACCARD = 0.85
"""The least Jaccard index of two near-duplicates."""

SHINGLE_WORDS = 3
MIN_SHINGLES = 6
"""With fewer shingles, a single different one takes two texts below ``MIN_JACCARD``: only equal texts are linked."""

ROWS_PER_BAND = 3
"""MinHash values of a band. With five bands of three values, a pair at ``MIN_JACCARD`` shares a band with probability
0.991, a pair at 0.9 with 0.9985, and a pair with only a stock phrase in common (0.05) with 0.0006. More bands find a
little more, and each costs an index of 23 MB for a million long messages."""

MAX_CANDIDATES = 32
"""The most texts that a text is compared with. More of them share a band only if a template was used very often, and
then nearly any of them will do."""

MIN_COSINE = 0.92
MIN_QUESTION_COSINE = 0.88
"""The least cosine of two messages that mean the same, and of two questions, whose words vary more."""

MAX_GAP_MICROSECONDS = 24 * 60 * 60 * 1_000_000
"""The most time between near-duplicates by meaning: after it, a message says something again."""

NEIGHBOUR_WINDOW = 128
"""How many messages on each side in its session a message is compared with by meaning."""

MAX_SEGMENT_MESSAGES = 2_048
"""The most messages of a session that are examined together: their vectors take 3 MB."""

COMPARISON_BLOCK = 64
"""How many new messages are compared with their surroundings at once."""

SIGNED_BLOCK = 1_024
"""How many messages are signed together: their shingles take a few megabytes."""

MAX_CACHED_SHINGLE_SETS = 64
"""How many sets of shingles a batch keeps in memory."""

# Everything but space and punctuation: combining marks must stay with their letters.
_WORD = re.compile(
    r"[^\s\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf"
    r"\u060c\u061b\u061f\u06d4\u0964\u0965\u2000-\u206f\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030"
    r"\ufe10-\ufe1f\ufe30-\ufe6f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+"
)
_NUMBER = re.compile(r"\d+")

_OPPOSITES = {
    word: group
    for group, words in enumerate(
        several
        for language in LANGUAGES
        for several in (
            *language.opposites,
            "|".join(full_names(language.temporal.months)),
            "|".join(full_names(language.temporal.weekdays)),
            "|".join(language.temporal.numbers[1:]),  # the first one is an article in some languages
        )
    )
    for word in words.split("|")
}
"""The words of which another one of the same group makes another statement, with their groups."""

ReadVectors = Callable[[Sequence[int]], NDArray[np.float32]]
"""Returns the vectors of ledger rows."""


@dataclass(frozen=True, slots=True)
class MessageSignature:
    """A message with its normalised text, the digest of that, and the bands if it has enough words."""

    message: ComparableMessage
    text: str
    digest: int
    bands: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class _Words:
    """What texts are compared by."""

    decisive: list[str]
    shingles: frozenset[str]


@dataclass(frozen=True, slots=True)
class ComparisonVectors:
    """The vectors of a generation: those of this batch by digest, the others in the ledger by row."""

    generation: int
    new_vectors: Mapping[bytes, NDArray[np.float32]]
    read: ReadVectors


def signatures(db: sqlite3.Connection, chunks: Sequence[int]) -> list[MessageSignature]:
    """Return the signatures of the messages of the given chunks that have no fingerprint yet."""
    found = variants.comparable_messages(db, variants.without_fingerprint(db, chunks))
    return [
        signature for start in range(0, len(found), SIGNED_BLOCK) for signature in sign(found[start:][:SIGNED_BLOCK])
    ]


def link(
    tx: sqlite3.Connection, chunks: Sequence[int], found: Sequence[MessageSignature], vectors: ComparisonVectors
) -> None:
    """Store fingerprints, and link their messages with stored ones. ``found`` are the signatures of ``chunks``; a
    message that has changed since is left to the batch of its new chunks."""
    unseen = set(variants.without_fingerprint(tx, chunks))
    present = [signature for signature in found if signature.message.id in unseen]
    link_by_text(tx, present)
    link_by_meaning(tx, present, vectors)


# --- by text --------------------------------------------------------------------------------------------


def sign(found: Sequence[ComparableMessage]) -> list[MessageSignature]:
    """Compute the signatures of messages."""
    texts = [variants.normalize_text(message.text) for message in found]
    shingle_sets = [shingles(text) for text in texts]
    values = iter(minhashes([pieces for pieces in shingle_sets if len(pieces) >= MIN_SHINGLES]))
    return [
        _signature(message, text, next(values) if len(pieces) >= MIN_SHINGLES else None)
        for message, text, pieces in zip(found, texts, shingle_sets, strict=True)
    ]


def _signature(message: ComparableMessage, text: str, values: NDArray[np.uint32] | None) -> MessageSignature:
    """The signature of a message, given the MinHash of its text if that is long enough."""
    scope = (message.user_id, message.namespace, message.role)
    digest = variants.text_digest(*scope, text)
    if values is None:
        return MessageSignature(message, text, digest, None)
    prefix_hash = variants.hash_parts(4, *scope, *numbers(text))
    bands = []
    for band in range(BAND_COUNT):
        key = prefix_hash.copy()
        key.update(bytes([band]) + values[band * ROWS_PER_BAND : (band + 1) * ROWS_PER_BAND].tobytes())
        bands.append(int.from_bytes(key.digest(), "big", signed=True))
    return MessageSignature(message, text, digest, tuple(bands))


def shingles(text: str) -> frozenset[str]:
    """Return all runs of three words in a normalised text.

    >>> sorted(shingles("we met at the harbour."))
    ['at the harbour', 'met at the', 'we met at']
    """
    words = _WORD.findall(split_unspaced(text))
    return frozenset(map(" ".join, zip(*(words[i:] for i in range(SHINGLE_WORDS)), strict=False)))


def numbers(text: str) -> list[str]:
    """Return the numbers in a text, sorted as texts."""
    return sorted(_NUMBER.findall(text))


def decisive_words(text: str) -> list[str]:
    """Return what two near-duplicates must have in common: the numbers of a text, and its words of which another one
    makes it another statement. In lower case, sorted.

    >>> decisive_words("the Northern ferry leaves on Monday at 9")
    ['9', 'monday', 'northern']
    """
    return sorted([*numbers(text), *(word for word in _WORD.findall(text.lower()) if word in _OPPOSITES)])


def are_opposed(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether the decisive words of two texts exclude that they mean the same: other numbers, or opposite words."""
    if [word for word in first if word.isdigit()] != [word for word in second if word.isdigit()]:
        return True
    differing = set(first) ^ set(second)
    groups = [{_OPPOSITES[word] for word in words if word in differing} for words in (first, second)]
    return not groups[0].isdisjoint(groups[1])


def minhashes(shingle_sets: Sequence[frozenset[str]]) -> NDArray[np.uint32]:
    """Return the MinHash of each of the sets, which are not empty: the least hash of its shingles under each
    permutation, shape (len(shingle_sets), ``BAND_COUNT * ROWS_PER_BAND``), little-endian.

    They are those of datasketch 2's ``MinHash(num_perm=…, seed=1, hashfunc=zlib.crc32, scheme="affine32")``. Computing
    those of many texts at once takes a fifth of the time.
    """
    if not shingle_sets:
        return np.zeros((0, BAND_COUNT * ROWS_PER_BAND), "<u4")
    starts = list(itertools.accumulate((len(pieces) for pieces in shingle_sets[:-1]), initial=0))
    factors, summands = _permutations()
    hashes = np.array(
        [zlib.crc32(piece.encode("utf-8", "surrogatepass")) for pieces in shingle_sets for piece in pieces], np.uint32
    )
    mixed = _mix(hashes)[:, np.newaxis]
    least: NDArray[np.uint32] = np.minimum.reduceat(mixed * factors + summands, starts, axis=0)
    return least.astype("<u4")


def _mix(hashes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The finalizer of MurmurHash3, without which similar hashes would have similar permutations."""
    hashes = hashes ^ (hashes >> np.uint32(16))
    hashes = hashes * np.uint32(0x85EBCA6B)
    hashes = hashes ^ (hashes >> np.uint32(13))
    hashes = hashes * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))


@cache
def _permutations() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    # As datasketch draws them. numpy keeps what RandomState draws as it is, and bands are stored.
    draw, count = np.random.RandomState(1), BAND_COUNT * ROWS_PER_BAND
    factors = draw.randint(0, 1 << 31, count, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return factors, draw.randint(0, 1 << 32, count, dtype=np.uint32)


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the Jaccard index of two sets, 0 to 1."""
    common = len(first & second)
    return common / (len(first) + len(second) - common)


def link_by_text(tx: sqlite3.Connection, found: Sequence[MessageSignature]) -> None:
    """Store fingerprints, and link each message with one of equal text, or else with its near-duplicates."""
    shingle_cache: dict[int, _Words] = {}
    for signature in found:
        key = signature.message.id
        exact_match = variants.find_exact_duplicate(tx, signature.message, signature.digest, signature.text)
        variants.add_fingerprint(tx, key, signature.digest, None if exact_match is not None else signature.bands)
        if exact_match is not None:
            variants.link(tx, key, exact_match, "exact")
        elif signature.bands is not None:
            for duplicate in _near_duplicates(tx, signature, signature.bands, shingle_cache):
                variants.link(tx, key, duplicate, "words")


def _near_duplicates(
    tx: sqlite3.Connection, signature: MessageSignature, bands: Sequence[int], shingle_cache: dict[int, _Words]
) -> Iterator[int]:
    """The near-duplicates of a text, one of each group. ``shingle_cache`` has the words of messages."""
    candidates = variants.find_band_matches(tx, signature.message, bands, MAX_CANDIDATES)
    if not candidates:
        return
    own = _Words(decisive_words(signature.text), shingles(signature.text))
    groups = variants.group_numbers(tx, candidates)
    linked_groups: set[int] = set()
    for candidate in candidates:
        # All other messages of a linked group are linked with it.
        if groups.get(candidate) in linked_groups:
            continue
        if candidate not in shingle_cache:
            text = variants.normalize_text(messages.texts(tx, [candidate])[candidate])
            if len(shingle_cache) >= MAX_CACHED_SHINGLE_SETS:
                shingle_cache.clear()
            shingle_cache[candidate] = _Words(decisive_words(text), shingles(text))
        words = shingle_cache[candidate]
        if words.decisive == own.decisive and jaccard(own.shingles, words.shingles) >= MIN_JACCARD:
            if candidate in groups:
                linked_groups.add(groups[candidate])
            yield candidate


# --- by meaning -----------------------------------------------------------------------------------------


def link_by_meaning(tx: sqlite3.Connection, found: Sequence[MessageSignature], vectors: ComparisonVectors) -> None:
    """Link messages with those in their surroundings that mean the same."""
    sessions: dict[int, list[ComparableMessage]] = {}
    for signature in found:
        sessions.setdefault(signature.message.session, []).append(signature.message)
    for session, new_messages in sessions.items():
        new_messages.sort(key=lambda message: (message.order_at, message.position, message.id))
        for segment, new in _segments(tx, session, new_messages, vectors.generation):
            for first, second in _similar_pairs(tx, segment, new, vectors):
                variants.link(tx, first, second, "meaning")


def _segments(
    tx: sqlite3.Connection, session: int, new_messages: Sequence[ComparableMessage], generation: int
) -> Iterator[tuple[list[NearbyMessage], list[int]]]:
    """The new messages of a session with their surroundings, segment by segment: the messages of a segment in order,
    and the indexes of the new ones. Each new message is in one segment only."""
    ids = {message.id for message in new_messages}
    done = 0
    while done < len(new_messages):
        first = new_messages[done]
        position = (first.order_at, first.position, first.id)
        segment = variants.nearby_messages(tx, generation, session, position, NEIGHBOUR_WINDOW, before=True)[::-1]
        before = len(segment)
        position = (first.order_at, first.position, first.id - 1)
        new: list[int] = []
        while True:
            page = variants.nearby_messages(tx, generation, session, position, NEIGHBOUR_WINDOW, before=False)
            new_places = [len(segment) + i for i, message in enumerate(page) if message.id in ids]
            full = len(segment) - before + len(page) > MAX_SEGMENT_MESSAGES
            segment += page
            if not full:
                new += new_places
            if full or not new_places or len(page) < NEIGHBOUR_WINDOW:
                break
            position = (page[-1].order_at, page[-1].position, page[-1].id)
        done += max(1, len(new))
        yield segment, new


def _similar_pairs(
    tx: sqlite3.Connection, segment: Sequence[NearbyMessage], new: Sequence[int], vectors: ComparisonVectors
) -> Iterator[tuple[int, int]]:
    """Pairs of messages that mean the same and are not in one group yet; the first of each pair is new."""
    comparable = np.array([m.digest is not None and m.row is not None and m.at is not None for m in segment])
    rows = np.array([i for i in new if comparable[i]], dtype=np.int64)
    if rows.size == 0 or int(comparable.sum()) < 2:
        return
    all_vectors = _vectors(segment, comparable, vectors)
    at = np.array([message.at or 0 for message in segment], dtype=np.int64)
    author = _as_codes([(message.role, message.author) for message in segment])
    group = _as_codes([message.group or -message.id for message in segment])
    pairs: list[tuple[int, int, float]] = []
    for start in range(0, len(rows), COMPARISON_BLOCK):
        block = rows[start : start + COMPARISON_BLOCK]
        order = np.arange(max(0, block[0] - NEIGHBOUR_WINDOW), min(len(segment), block[-1] + NEIGHBOUR_WINDOW + 1))
        # Not a matrix product: sharing such a small one among threads costs BLAS more than computing it.
        cosine = np.einsum("ij,kj->ik", all_vectors[block], all_vectors[order])
        close = (
            (cosine >= MIN_QUESTION_COSINE)
            & comparable[None, order]
            & (author[block, None] == author[None, order])
            & (group[block, None] != group[None, order])
            & (np.abs(at[block, None] - at[None, order]) <= MAX_GAP_MICROSECONDS)
            & (np.abs(block[:, None] - order[None, :]) <= NEIGHBOUR_WINDOW)
        )
        pairs += [(int(block[i]), int(order[j]), float(cosine[i, j])) for i, j in np.argwhere(close)]
    if not pairs:
        return
    texts = messages.texts(tx, {segment[i].id for pair in pairs for i in pair[:2]})
    decisive_in = {key: decisive_words(text) for key, text in texts.items()}
    is_question_of = {key: is_question(text) for key, text in texts.items()}
    for i, j, similarity in pairs:
        first, second = segment[i].id, segment[j].id
        threshold = MIN_QUESTION_COSINE if is_question_of[first] and is_question_of[second] else MIN_COSINE
        if (
            group[i] != group[j]
            and similarity >= threshold
            and not are_opposed(decisive_in[first], decisive_in[second])
        ):
            group[group == group[j]] = group[i]
            yield first, second


def _vectors(
    segment: Sequence[NearbyMessage], comparable: NDArray[np.bool_], vectors: ComparisonVectors
) -> NDArray[np.float32]:
    """The vectors of a segment, shape (messages, dimension); zeros for messages without one."""
    stored_places = [
        i for i, message in enumerate(segment) if comparable[i] and message.digest not in vectors.new_vectors
    ]
    stored = vectors.read([segment[i].row or 0 for i in stored_places])
    found = np.zeros((len(segment), stored.shape[1]), np.float32)
    found[stored_places] = stored
    for i, message in enumerate(segment):
        if comparable[i] and message.digest is not None and message.digest in vectors.new_vectors:
            found[i] = vectors.new_vectors[message.digest]
    return found


def _as_codes(values: Sequence[Any]) -> NDArray[np.int64]:
    """Numbers for the values, equal ones for equal values."""
    codes: dict[Any, int] = {}
    return np.array([codes.setdefault(value, len(codes)) for value in values], dtype=np.int64)
