"""The segments of an archive index: what each stores of its points, and how it is searched.

A segment is a set of arrays, memory-mapped from the file, a row a point. Dense vectors are kept as one bit a dimension:
Hamming distance preselects, and the exact vectors in the ledger decide. Texts are kept as postings, the rows and BM25
weights of each term.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from appliance.lazy_dataclasses import dataclass
from appliance.store.index import conditions, sparse
from appliance.store.index.conditions import (
    AnyOfCondition,
    Condition,
    EitherCondition,
    EqualCondition,
    IdsCondition,
    MissingCondition,
    RangeCondition,
)
from appliance.store.index.protocol import IndexPoint

PostingsLeg = Literal["own", "window"]
POSTINGS_LEGS: tuple[PostingsLeg, ...] = ("own", "window")

KEYWORD_FIELDS = ("scope", "talk", "role", "source", "agent_id", "author")

MAX_BM25_WEIGHT = 2.2
"""No term weighs more: BM25's saturation with k = 1.2."""

_NO_TIME = np.iinfo(np.int64).min
_WEIGHT_STEP = MAX_BM25_WEIGHT / 255

Mask = NDArray[np.bool_]
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class ArchivedPoint:
    """A point, and the row of its vector in the ledger."""

    point: IndexPoint
    row: int


@dataclass(slots=True)
class Segment:
    """Points as arrays.

    Attributes:
        arrays: ``ids``, ``rows`` (of the ledger), ``session``, ``at``, ``codes`` (words of 64 bits, points), a code for
            each keyword field, and for each leg ``terms`` (sorted), ``starts``, ``docs`` and ``weights``.
        values: The values of each keyword field, by code.
        dead: The points that a later segment has again; None if there are none.
    """

    arrays: Mapping[str, Array]
    values: Mapping[str, Sequence[Sequence[str]]]
    dead: Mask | None = None
    _order: Array | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.arrays["ids"])

    def places(self, ids: Collection[int]) -> Array:
        """The rows of those of the given points that the segment has, without dead ones."""
        known = self.arrays["ids"]
        if not len(known):
            return _NOTHING
        if self._order is None:
            self._order = np.argsort(known, kind="stable")
        wanted = np.fromiter(ids, np.int64, len(ids))
        at = np.searchsorted(known, wanted, sorter=self._order)
        rows: Array = self._order[np.minimum(at, len(known) - 1)]
        rows = rows[known[rows] == wanted]
        return rows if self.dead is None else rows[~self.dead[rows]]

    def mask(self, required: Sequence[Condition]) -> Mask | None:
        """The points that meet all conditions and are not dead; None for all points."""
        found = None if self.dead is None else ~self.dead
        for condition in required:
            if (met := self._meeting(condition)) is not None:
                found = met if found is None else found & met
        return found

    def _meeting(self, condition: Condition) -> Mask | None:
        match condition:
            case EqualCondition(field, value):
                return self._among(field, [value])
            case AnyOfCondition(field, values):
                return self._among(field, values)
            case IdsCondition(ids):
                return np.isin(self.arrays["ids"], list(ids))
            case RangeCondition(_, since, until):
                times = self.arrays["at"]
                met: Mask = times != _NO_TIME
                if since is not None:
                    met &= times >= since
                if until is not None:
                    met &= times < until
                return met
            case MissingCondition(field):
                return self._without(field)
            case EitherCondition(options):
                found = np.zeros(len(self), bool)
                for option in options:
                    every = np.ones(len(self), bool)
                    for one in option:
                        if (mask := self._meeting(one)) is not None:
                            every &= mask
                    found |= every
                return found

    def _among(self, field: str, wanted: Sequence[str | int]) -> Mask | None:
        if field == "session":
            return np.isin(self.arrays["session"], list(wanted))
        if field not in KEYWORD_FIELDS:  # summaries are not archived
            return np.zeros(len(self), bool)
        codes = [code for code, values in enumerate(self.values[field]) if not set(wanted).isdisjoint(values)]
        if len(codes) == len(self.values[field]):
            return None
        return np.isin(self.arrays[field], codes)

    def _without(self, field: str) -> Mask:
        codes = [code for code, values in enumerate(self.values[field]) if not values]
        return np.isin(self.arrays[field], codes)

    def postings(self, leg: PostingsLeg, term: int) -> tuple[Array, Array]:
        """The points that have a term, and its weights in them."""
        terms, starts = self.arrays[f"{leg}_terms"], self.arrays[f"{leg}_starts"]
        place = int(np.searchsorted(terms, term))
        if place == len(terms) or terms[place] != term:
            return _NOTHING, _NOTHING
        part = slice(int(starts[place]), int(starts[place + 1]))
        return self.arrays[f"{leg}_docs"][part], self.arrays[f"{leg}_weights"][part].astype(np.float32) * _WEIGHT_STEP

    def bm25(self, leg: PostingsLeg, weights: Mapping[int, float]) -> NDArray[np.float32]:
        """The scores of all points for terms with the weights of a query."""
        scores = np.zeros(len(self), np.float32)
        for term, weight in weights.items():
            docs, document_weights = self.postings(leg, term)
            scores[docs] += document_weights * np.float32(weight)
        return scores

    def nearest(self, query: NDArray[np.float32], mask: Mask | None, limit: int) -> Array:
        """The ``limit`` points whose codes are nearest to those of a query, in no particular order."""
        allowed = None if mask is None else np.flatnonzero(mask)
        codes = self.arrays["codes"]
        own = _codes(query[None, :])[:, 0]
        count = len(self) if allowed is None else len(allowed)
        if count <= limit:
            return np.arange(count) if allowed is None else allowed
        distances = np.zeros(count, np.uint16)
        for words, word in zip(codes, own, strict=True):
            distances += np.bitwise_count((words if allowed is None else words[allowed]) ^ word)
        chosen = np.argpartition(distances, limit)[:limit]
        return chosen if allowed is None else allowed[chosen]


_NOTHING = np.zeros(0, np.int64)


def _codes(vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
    """The signs of vectors as words of 64 bits, (words, vectors)."""
    bits = np.packbits(vectors > 0, axis=1)
    padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(padded.view(np.uint64).T)


# --- making ------------------------------------------------------------------------------------------


def encode(points: Sequence[ArchivedPoint]) -> Segment:
    """Make a segment of points, sorted by id."""
    points = sorted(points, key=lambda one: one.point.id)
    payloads = [conditions.payload(one.point.fields) for one in points]
    arrays: dict[str, Array] = {
        "ids": np.array([one.point.id for one in points], np.int64),
        "rows": np.array([one.row for one in points], np.int64),
        "session": np.array([payload["session"] for payload in payloads], np.int64),
        "at": np.array([payload.get("at", _NO_TIME) for payload in payloads], np.int64),
        "codes": _codes(np.stack([one.point.vector for one in points])),
    }
    values: dict[str, list[list[str]]] = {}
    for name in KEYWORD_FIELDS:
        arrays[name], values[name] = _keywords([payload.get(name, []) for payload in payloads])
    texts = {"own": [one.point.own for one in points], "window": [one.point.window for one in points]}
    for leg in POSTINGS_LEGS:
        vectors = [sparse.encode_document(text, leg) for text in texts[leg]]
        arrays |= _postings(leg, [(vector.indices, vector.values) for vector in vectors])
    return Segment(arrays, values)


def _keywords(found: Sequence[object]) -> tuple[Array, list[list[str]]]:
    """The code of each point's value or values, and the values of each code."""
    codes: dict[tuple[str, ...], int] = {}
    rows = []
    for value in found:
        key = (value,) if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]
        rows.append(codes.setdefault(key, len(codes)))
    return np.array(rows, np.uint32), [list(key) for key in codes]


def _postings(leg: PostingsLeg, vectors: Sequence[tuple[Sequence[int], Sequence[float]]]) -> dict[str, Array]:
    docs = np.repeat(np.arange(len(vectors), dtype=np.uint32), [len(indices) for indices, _ in vectors])
    terms = np.array([term for indices, _ in vectors for term in indices], np.uint32)
    weights = np.array([weight for _, values in vectors for weight in values], np.float32)
    order = np.lexsort((docs, terms))
    distinct, starts = np.unique(terms[order], return_index=True)
    return {
        f"{leg}_terms": distinct,
        f"{leg}_starts": np.append(starts, len(terms)).astype(np.int64),
        f"{leg}_docs": docs[order],
        f"{leg}_weights": np.clip(np.rint(weights[order] / _WEIGHT_STEP), 1, 255).astype(np.uint8),
    }


def merge(segments: Sequence[Segment], wanted: Callable[[Array], Mask]) -> Segment:
    """Make one segment of several, with only those of their live points that ``wanted`` chooses from their ids."""
    kept = []
    for segment in segments:
        chosen = wanted(segment.arrays["ids"])
        kept.append(np.flatnonzero(chosen if segment.dead is None else chosen & ~segment.dead))
    arrays: dict[str, Array] = {
        name: np.concatenate([segment.arrays[name][rows] for segment, rows in zip(segments, kept, strict=True)])
        for name in ("ids", "rows", "session", "at")
    }
    arrays["codes"] = np.concatenate(
        [segment.arrays["codes"][:, rows] for segment, rows in zip(segments, kept, strict=True)], axis=1
    )
    values: dict[str, list[list[str]]] = {}
    for name in KEYWORD_FIELDS:
        codes: dict[tuple[str, ...], int] = {}
        columns = []
        for segment, rows in zip(segments, kept, strict=True):
            # Only the values of kept points: the author of an erased message must not stay.
            old_codes, places = np.unique(segment.arrays[name][rows], return_inverse=True)
            found = [tuple(segment.values[name][code]) for code in old_codes.tolist()]
            translation = np.array([codes.setdefault(value, len(codes)) for value in found], np.uint32)
            columns.append(translation[places])
        arrays[name], values[name] = np.concatenate(columns), [list(value) for value in codes]
    for leg in POSTINGS_LEGS:
        arrays |= _merged_postings(leg, segments, kept)
    return Segment(arrays, values)


def _merged_postings(leg: PostingsLeg, segments: Sequence[Segment], kept: Sequence[Array]) -> dict[str, Array]:
    """The postings of the kept rows, term by term. They are put into place a segment at a time: sorting all of them at
    once would need several times their size in memory."""
    parts, first_row = [], 0
    for segment, rows in zip(segments, kept, strict=True):
        docs = segment.arrays[f"{leg}_docs"]
        new_rows = np.full(len(segment), -1, np.int64)
        new_rows[rows] = np.arange(first_row, first_row + len(rows))
        first_row += len(rows)
        lengths = np.diff(segment.arrays[f"{leg}_starts"])
        places = np.repeat(np.arange(len(lengths)), lengths)
        left = new_rows[docs] >= 0
        counts = np.bincount(places[left], minlength=len(lengths))
        parts.append((segment.arrays[f"{leg}_terms"], counts, new_rows[docs[left]], left))
    terms = np.unique(np.concatenate([term[counts > 0] for term, counts, *_ in parts]))
    totals = np.zeros(len(terms), np.int64)
    for term, counts, *_ in parts:
        totals[np.searchsorted(terms, term[counts > 0])] += counts[counts > 0]
    starts = np.concatenate([[0], np.cumsum(totals)]).astype(np.int64)
    docs, weights = np.empty(starts[-1], np.uint32), np.empty(starts[-1], np.uint8)
    filled = starts[:-1].copy()
    for segment, (term, counts, rows, left) in zip(segments, parts, strict=True):
        places, counted = np.searchsorted(terms, term[counts > 0]), counts[counts > 0]
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counted) - counted, counted)
        target = np.repeat(filled[places], counted) + within
        docs[target], weights[target] = rows, segment.arrays[f"{leg}_weights"][left]
        filled[places] += counted
    return {f"{leg}_terms": terms, f"{leg}_starts": starts, f"{leg}_docs": docs, f"{leg}_weights": weights}
