"""Copies: which messages say what another one said, by their words and by their meaning.

A round of ``embed`` hands its messages over. ``prints`` makes their fingerprints outside of any transaction;
``link`` compares them with what is there within the one that notes the round's vectors, so that a round that
is interrupted is linked again as a whole. Two messages of talk, of one scope and one role, are linked

- by ``exact`` text, once case and white space are made alike, whenever and wherever they were said;
- by ``words``: MinHash proposes pairs, and of those whose Jaccard index of three-word shingles, counted on
  the texts themselves, is at least ``NEAR`` both are variants; runs of scripts without spaces give shingles
  of four characters;
- by ``meaning``: the cosine of their vectors, within a session, a speaker and a day.

A statement with another number in it is another statement ("the train leaves at 9", "at 10"), so near copies
have the same numbers. Links by text are symmetric and join whatever they connect, so the memories that come
out do not depend on the order in which messages arrive.

MinHash: A. Broder, "On the resemblance and containment of documents" (1997).
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appliance.store import variants
from appliance.store.scripts import is_question, spaced
from appliance.store.variants import BANDS, Beside, Spoken

if TYPE_CHECKING:
    from datasketch import MinHash  # type: ignore[import-untyped]

NEAR = 0.85
"""The least Jaccard index of two near copies."""

SHINGLE = 3
LEAST_SHINGLES = 6
"""With fewer, one shingle more or less already takes two texts below ``NEAR``: only equal ones are copies."""

ROWS = 3
"""MinHash values a band. Of five bands with three each, a pair at ``NEAR`` shares one with probability
0.991, a pair at 0.9 with 0.9985, and one that has a stock phrase in common (0.05) with 0.0006. More bands
find a little more, and cost an index of 23 MB each in a million long messages."""

CANDIDATES = 32
"""How many texts a text is compared with at most. More than that share a band only where a template was
filled in very often, and then nearly any of them will do."""

SAME_MEANING = 0.92
SAME_QUESTION = 0.88
"""The least cosine of two messages that mean the same; of two questions, whose words vary more."""

A_DAY = 24 * 60 * 60 * 1_000_000
"""How far apart in time copies by meaning may be, in microseconds: later it is said anew."""

AROUND = 128
"""How many messages before and behind one in its session it is compared with by meaning."""

STRETCH = 2_048
"""How many messages of a session are looked at together at most: their vectors take 3 MB."""

BLOCK = 64
"""New messages that are compared with those around them at once."""

SETS_KEPT = 64
"""How many texts' shingles a round keeps at hand."""

# Whatever is neither space nor punctuation: marks that belong to letters must stay with them.
_WORD = re.compile(
    r"[^\s\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf"
    r"\u060c\u061b\u061f\u06d4\u0964\u0965\u2000-\u206f\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030"
    r"\ufe10-\ufe1f\ufe30-\ufe6f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+"
)
_NUMBER = re.compile(r"\d+")

ReadVectors = Callable[[Sequence[int]], NDArray[np.float32]]
"""Gives the vectors of ledger rows."""


@dataclass(frozen=True, slots=True)
class Print:
    """A message with its fingerprint: its normalised text's digest, and its bands if it has words enough."""

    message: Spoken
    text: str
    digest: int
    bands: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Vectors:
    """Where a generation's vectors are: those of this round by digest, the others in the ledger by row."""

    generation: int
    fresh: Mapping[bytes, NDArray[np.float32]]
    read: ReadVectors


def prints(db: sqlite3.Connection, chunks: Sequence[int]) -> list[Print]:
    """The fingerprints of the messages of some chunks, of those that have none yet."""
    return [fingerprint(message) for message in variants.spoken(db, variants.unseen(db, chunks))]


def link(tx: sqlite3.Connection, chunks: Sequence[int], found: Sequence[Print], vectors: Vectors) -> None:
    """Enter fingerprints, and link their messages with what is there. ``chunks`` are those that ``found`` was
    made from: a message that has changed since is left to the round that its new form will be in."""
    unseen = set(variants.unseen(tx, chunks))
    present = [each for each in found if each.message.id in unseen]
    link_by_text(tx, present)
    link_by_meaning(tx, present, vectors)


# --- by text --------------------------------------------------------------------------------------------


def fingerprint(message: Spoken) -> Print:
    text = variants.normalised(message.text)
    scope = (message.user_id, message.namespace, message.role)
    digest = variants.digest(*scope, text)
    pieces = shingles(text)
    if len(pieces) < LEAST_SHINGLES:
        return Print(message, text, digest, None)
    values = minhash(pieces)
    beginning = variants.blake(4, *scope, *numbers(text))
    bands = []
    for band in range(BANDS):
        key = beginning.copy()
        key.update(bytes([band]) + values[band * ROWS : (band + 1) * ROWS].tobytes())
        bands.append(int.from_bytes(key.digest(), "big", signed=True))
    return Print(message, text, digest, tuple(bands))


def shingles(text: str) -> frozenset[str]:
    """Every three words in a row of a normalised text.

    >>> sorted(shingles("we met at the harbour."))
    ['at the harbour', 'met at the', 'we met at']
    """
    words = _WORD.findall(spaced(text))
    return frozenset(map(" ".join, zip(*(words[i:] for i in range(SHINGLE)), strict=False)))


def numbers(text: str) -> list[str]:
    """The numbers that a text has, in order of size as text."""
    return sorted(_NUMBER.findall(text))


def minhash(pieces: frozenset[str]) -> NDArray[np.uint32]:
    """The least value of the shingles under each of ``BANDS * ROWS`` permutations, little-endian."""
    sketch = _blank().copy()
    sketch.update_batch([piece.encode("utf-8", "surrogatepass") for piece in pieces])
    return np.asarray(sketch.hashvalues).astype("<u4")


@cache
def _blank() -> MinHash:
    # Loaded when first needed: it brings scipy along, which takes a second and 35 MB.
    from datasketch import MinHash

    return MinHash(num_perm=BANDS * ROWS, seed=1, hashfunc=zlib.crc32, scheme="affine32")


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """How much two sets have in common: 0 to 1."""
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def link_by_text(tx: sqlite3.Connection, found: Sequence[Print]) -> None:
    """Enter fingerprints, and link each message with an equal text or else with those that nearly are."""
    kept: dict[int, frozenset[str]] = {}
    for each in found:
        key = each.message.id
        twin = variants.twin(tx, each.message, each.digest, each.text)
        variants.enter(tx, key, each.digest, None if twin is not None else each.bands)
        if twin is not None:
            variants.link(tx, key, twin, "exact")
        elif each.bands is not None:
            for other in _near(tx, each, each.bands, kept):
                variants.link(tx, key, other, "words")


def _near(
    tx: sqlite3.Connection, each: Print, bands: Sequence[int], kept: dict[int, frozenset[str]]
) -> Iterator[int]:
    """The near copies of a text, one of each memory. ``kept`` are shingles at hand by message."""
    proposed = variants.resembling(tx, each.message, bands, CANDIDATES)
    if not proposed:
        return
    own, had = shingles(each.text), numbers(each.text)
    memory = variants.memories(tx, proposed)
    joined: set[int] = set()
    for other in proposed:
        # Whatever is one memory with a near copy is joined already.
        if memory.get(other) in joined:
            continue
        if other not in kept:
            text = variants.normalised(variants.texts(tx, [other])[other])
            if len(kept) >= SETS_KEPT:
                kept.clear()
            kept[other] = shingles(text) if numbers(text) == had else frozenset()
        if jaccard(own, kept[other]) >= NEAR:
            if other in memory:
                joined.add(memory[other])
            yield other


# --- by meaning -----------------------------------------------------------------------------------------


def link_by_meaning(tx: sqlite3.Connection, found: Sequence[Print], vectors: Vectors) -> None:
    """Link messages with those around them that mean the same."""
    sessions: dict[int, list[Spoken]] = {}
    for each in found:
        sessions.setdefault(each.message.session, []).append(each.message)
    for session, fresh in sessions.items():
        fresh.sort(key=lambda message: (message.order_at, message.position, message.id))
        for stretch, new in _stretches(tx, session, fresh, vectors.generation):
            for one, other in _alike(tx, stretch, new, vectors):
                variants.link(tx, one, other, "meaning")


def _stretches(
    tx: sqlite3.Connection, session: int, fresh: Sequence[Spoken], generation: int
) -> Iterator[tuple[list[Beside], list[int]]]:
    """A session's new messages among those around them, stretch by stretch: all messages of a stretch in
    order, and which of them are the new ones. No two stretches have a new message in common."""
    ids = {message.id for message in fresh}
    next_one = 0
    while next_one < len(fresh):
        first = fresh[next_one]
        place = (first.order_at, first.position, first.id)
        stretch = variants.around(tx, generation, session, place, AROUND, before=True)[::-1]
        before = len(stretch)
        place = (first.order_at, first.position, first.id - 1)
        new: list[int] = []
        while True:
            page = variants.around(tx, generation, session, place, AROUND, before=False)
            there = [len(stretch) + i for i, message in enumerate(page) if message.id in ids]
            full = len(stretch) - before + len(page) > STRETCH
            stretch += page
            if not full:
                new += there
            if full or not there or len(page) < AROUND:
                break
            place = (page[-1].order_at, page[-1].position, page[-1].id)
        next_one += max(1, len(new))
        yield stretch, new


def _alike(
    tx: sqlite3.Connection, stretch: Sequence[Beside], new: Sequence[int], vectors: Vectors
) -> Iterator[tuple[int, int]]:
    """Pairs of messages that mean the same and are not of one memory yet, the first of each a new one."""
    use = np.array([m.digest is not None and m.row is not None and m.at is not None for m in stretch])
    rows = np.array([i for i in new if use[i]], dtype=np.int64)
    if rows.size == 0 or int(use.sum()) < 2:
        return
    all_vectors = _vectors(stretch, use, vectors)
    at = np.array([message.at or 0 for message in stretch], dtype=np.int64)
    who = _coded([(message.role, message.author) for message in stretch])
    memory = _coded([message.memory or -message.id for message in stretch])
    pairs: list[tuple[int, int, float]] = []
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        order = np.arange(max(0, block[0] - AROUND), min(len(stretch), block[-1] + AROUND + 1))
        # Not a product of matrices: so small a one costs BLAS more to share among threads than to compute.
        cosine = np.einsum("ij,kj->ik", all_vectors[block], all_vectors[order])
        close = (
            (cosine >= SAME_QUESTION)
            & use[None, order]
            & (who[block, None] == who[None, order])
            & (memory[block, None] != memory[None, order])
            & (np.abs(at[block, None] - at[None, order]) <= A_DAY)
            & (np.abs(block[:, None] - order[None, :]) <= AROUND)
        )
        pairs += [(int(block[i]), int(order[j]), float(cosine[i, j])) for i, j in np.argwhere(close)]
    if not pairs:
        return
    texts = variants.texts(tx, {stretch[i].id for pair in pairs for i in pair[:2]})
    had = {key: numbers(text) for key, text in texts.items()}
    asks = {key: is_question(text) for key, text in texts.items()}
    root = memory.copy()
    for i, j, likeness in pairs:
        one, other = stretch[i].id, stretch[j].id
        enough = SAME_QUESTION if asks[one] and asks[other] else SAME_MEANING
        if root[i] != root[j] and likeness >= enough and had[one] == had[other]:
            root[root == root[j]] = root[i]
            yield one, other


def _vectors(stretch: Sequence[Beside], use: NDArray[np.bool_], vectors: Vectors) -> NDArray[np.float32]:
    """The vectors of a stretch, shape (messages, dimension), zero where there is none."""
    there = [i for i, message in enumerate(stretch) if use[i] and message.digest not in vectors.fresh]
    stored = vectors.read([stretch[i].row or 0 for i in there])
    found = np.zeros((len(stretch), stored.shape[1]), np.float32)
    found[there] = stored
    for i, message in enumerate(stretch):
        if use[i] and message.digest is not None and message.digest in vectors.fresh:
            found[i] = vectors.fresh[message.digest]
    return found


def _coded(values: Sequence[Any]) -> NDArray[np.int64]:
    """The values as numbers, equal ones as equal numbers."""
    codes: dict[Any, int] = {}
    return np.array([codes.setdefault(value, len(codes)) for value in values], dtype=np.int64)
