"""BM25 sparse vectors of texts, the same for the embedded index and a server.

The vector of a document has the saturated frequency of each term, that of a query has 1 for each term; the index
multiplies by the inverse document frequency when it searches. So ``k``, ``b`` and the average length are fixed when a
document is encoded: a change of them, or of anything else here, must raise ``protocol.SCHEMA_VERSION``.

Terms are runs of letters and digits (``snake_case``, paths and ``v1.2`` are split), in lower case, without accents,
without a final ``'s``, stemmed as English.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

import qdrant_edge as q

from appliance.store.scripts import single_characters, split_unspaced

SparseLeg = Literal["own", "window", "summary"]

_NO_STOPWORDS = q.StopwordsSet()


def _encoder(*, stopwords: q.Stopwords, b: float = 0.0, average: float = 1.0) -> q.Bm25:
    return q.Bm25(
        q.Bm25Config(
            k=1.2, b=b, avg_len=average, tokenizer=q.TokenizerType.Word, language="english", ascii_folding=True,
            stopwords=stopwords,
        )
    )  # fmt: skip


# Roughly fitted to turn-level recall@10. For single messages, chats favour a small ``b`` (LoCoMo: 0.600 with 0.3, 0.592
# with 0.5, 0.577 with 0.75), long assistant answers a large one (BEAM: 0.486, 0.505, 0.537); for windows it hardly
# matters. Documents keep their stop words, so that a query of stop words alone finds something: that does not change
# recall (0.576 without, 0.577 with) and takes 1.7 times the terms.
_DOCUMENT_ENCODERS = {
    "own": _encoder(stopwords=_NO_STOPWORDS, b=0.5, average=25.0),
    "window": _encoder(stopwords=_NO_STOPWORDS, b=0.75, average=115.0),
    # A summary's chunk is about as long as a window; there is no data set to fit this.
    "summary": _encoder(stopwords=_NO_STOPWORDS, b=0.75, average=115.0),
}
LEGS = tuple(_DOCUMENT_ENCODERS)

# Stop words in a query lower recall@10 by 2 to 5 points.
_QUERY_ENCODER = _encoder(stopwords=q.Language.English)
_STOPWORD_QUERY_ENCODER = _encoder(stopwords=_NO_STOPWORDS)


def encode_document_fields(own: str, window: str, summary: str = "") -> dict[str, q.SparseVector]:
    """Return the sparse vectors of a point by leg. A text without words has none: an empty vector would count in the
    statistics of one engine but not of the other."""
    texts: dict[SparseLeg, str] = {"own": own, "window": window, "summary": summary}
    vectors = {leg: encode_document(text, leg) for leg, text in texts.items() if text}
    return {leg: vector for leg, vector in vectors.items() if vector.indices}


def encode_document(text: str, leg: SparseLeg) -> q.SparseVector:
    """Return the vector of an indexed text; empty if the text has no words (punctuation, emoji)."""
    plain = _normalize_text(text)
    singles = single_characters(text)
    return _DOCUMENT_ENCODERS[leg].embed_document(f"{plain} {singles}" if singles else plain)


@lru_cache(maxsize=64)
def encode_query(text: str) -> q.SparseVector:
    """Return the vector of a query, without stop words unless it has no other words ("who am I"). A search encodes its
    query for each leg and each reading of the index."""
    plain = _normalize_text(text)
    vector = _QUERY_ENCODER.embed_query(plain)
    return vector if vector.indices else _STOPWORD_QUERY_ENCODER.embed_query(plain)


def weighted(query: q.SparseVector, weights: Mapping[int, float] | None) -> q.SparseVector:
    """Return the vector of a query with the weights of its terms multiplied; 1 for those that are not named."""
    if weights is None:
        return query
    values = [value * weights.get(term, 1.0) for term, value in zip(query.indices, query.values, strict=True)]
    return q.SparseVector(query.indices, values)


def single_terms(query: q.SparseVector) -> list[tuple[int, q.SparseVector]]:
    """Return each term of a query, and a query of it alone."""
    return [(term, q.SparseVector([term], [1.0])) for term in query.indices]


def _normalize_text(text: str) -> str:
    """The text as the tokenizer needs it: encodable, composed, scripts without spaces as pairs."""
    if text.isascii():
        return text
    # The engine can't take half of a surrogate pair, which a truncated emoji leaves.
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    return split_unspaced(unicodedata.normalize("NFKC", encodable))
