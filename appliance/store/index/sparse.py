"""Text to BM25 sparse vectors, the same for the embedded index and for a server.

A document's vector holds each term's saturated frequency, a query's holds 1 a term, and the index multiplies
by the inverse document frequency when it searches. So ``k``, ``b`` and the usual length are fixed when a
document is encoded: whoever changes them, or anything else here, raises ``base.SCHEMA``.

Terms are runs of letters and digits (``snake_case``, paths and ``v1.2`` fall into their parts), lower-cased,
without accents, without a closing ``'s``, stemmed as English.
"""

from __future__ import annotations

import unicodedata
from typing import Literal

import qdrant_edge as q

from appliance.store.scripts import single_characters, spaced

Lexical = Literal["own", "window", "gist"]

_NOTHING = q.StopwordsSet()


def _encoder(*, stopwords: q.Stopwords, b: float = 0.0, average: float = 1.0) -> q.Bm25:
    return q.Bm25(
        q.Bm25Config(
            k=1.2,
            b=b,
            avg_len=average,
            tokenizer=q.TokenizerType.Word,
            language="english",
            ascii_folding=True,
            stopwords=stopwords,
        )
    )


# Fitted roughly on turn-level recall@10. Chats reward a small ``b`` for single messages (LoCoMo: 0.600 with
# 0.3, 0.592 with 0.5, 0.577 with 0.75), long assistant answers a large one (BEAM: 0.486, 0.505, 0.537);
# windows hardly care. Documents keep their stop words, so that a query of nothing else finds something:
# that costs no recall (0.576 without, 0.577 with) and 1.7 times the terms.
_DOCUMENTS = {
    "own": _encoder(stopwords=_NOTHING, b=0.5, average=25.0),
    "window": _encoder(stopwords=_NOTHING, b=0.75, average=115.0),
    # A summary's piece is about as long as a window; there is no set to fit it on.
    "gist": _encoder(stopwords=_NOTHING, b=0.75, average=115.0),
}
LEGS = tuple(_DOCUMENTS)

# Stop words in a query cost 2 to 5 points of recall@10.
_QUERY = _encoder(stopwords=q.Language.English)
_QUERY_OF_STOPWORDS = _encoder(stopwords=_NOTHING)


def documents(own: str, window: str, gist: str = "") -> dict[str, q.SparseVector]:
    """The sparse vectors of a point by leg. A text without a word gets none: an empty one would count in the
    statistics of one engine and not of the other."""
    texts: dict[Lexical, str] = {"own": own, "window": window, "gist": gist}
    vectors = {leg: document(text, leg) for leg, text in texts.items() if text}
    return {leg: vector for leg, vector in vectors.items() if vector.indices}


def document(text: str, leg: Lexical) -> q.SparseVector:
    """The vector of an indexed text; empty when the text has no word (punctuation, emoji)."""
    plain = _plain(text)
    singles = single_characters(text)
    return _DOCUMENTS[leg].embed_document(f"{plain} {singles}" if singles else plain)


def query(text: str) -> q.SparseVector:
    """The vector of a question, without stop words unless it has nothing else ("who am I")."""
    plain = _plain(text)
    vector = _QUERY.embed_query(plain)
    return vector if vector.indices else _QUERY_OF_STOPWORDS.embed_query(plain)


def _plain(text: str) -> str:
    """The text as the tokeniser needs it: encodable, composed, scripts without spaces as pairs."""
    if text.isascii():
        return text
    # Half of a surrogate pair, as a cut emoji leaves it, can't be handed to the engine.
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    return spaced(unicodedata.normalize("NFKC", encodable))
