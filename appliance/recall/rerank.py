"""The best candidates read once more, each together with the question, by a cross-encoder if one is set up.

It reads the chunk that matched, not the whole message, from the best down and within a time limit. What it says is
never less than 0, so what it has read stays before the rest, and the rest keeps its order.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event

import numpy as np

from appliance.recall.candidates import Candidates
from appliance.recall.rank import Ranking, best_first, score
from appliance.recall.shelf import Asked, Reranking, Scorer, Shelf
from appliance.recall.weights import RERANK
from appliance.store import messages
from appliance.store.chunks import passage

FLAT = 30.0
"""Logits beyond this are as good as certain; the exponential of larger ones overflows."""


def reranked(
    shelf: Shelf, question: Asked, candidates: Candidates, ranking: Ranking, notes: list[str]
) -> Ranking:
    """The ranking with one more column, ``rerank``, if the shelf has a model for it and the profile looks at all
    closely; ``notes`` says how far it came."""
    asked, query = shelf.reranking, question.wish.text
    if asked is None or question.wish.profile.weights is None or not len(candidates) or not query.strip():
        return ranking
    if asked.scorer is None:
        notes.append(f"the hits were not reranked: {asked.lacks}")
        return ranking
    if not asked.scorer.takes(query):
        notes.append(f"the hits were not reranked: the question is too long for {asked.scorer.name}")
        return ranking
    best = ranking.order[: asked.top]
    logits, trouble = within(asked, asked.scorer, query, passages(shelf, candidates, best.tolist()))
    limit = "" if len(logits) == len(best) else f", as many as {asked.budget_ms:g} ms allow"
    ended = f": {type(trouble).__name__}, {trouble}" if trouble else limit
    notes.append(f"{len(logits)} of the best {len(best)} were reranked by {asked.scorer.name}{ended}")
    return _with(ranking, candidates, logits) if logits else ranking


def passages(shelf: Shelf, candidates: Candidates, rows: Sequence[int]) -> list[str]:
    """The chunk of each candidate that matched, as a model is given it; the whole text where none is known."""
    keys: list[int] = candidates.messages[rows].tolist()
    found = messages.get(shelf.db, keys)
    texts = []
    for row, key in zip(rows, keys, strict=True):
        text = found[key].text if key in found else ""
        start, end = candidates.span(row) or (0, len(text))
        texts.append(passage(candidates.authors[row], text[start:end]))
    return texts


def within(
    asked: Reranking, scorer: Scorer, query: str, texts: Sequence[str]
) -> tuple[list[float], BaseException | None]:
    """The logits of the first texts, as many as are done in time, and what went wrong in the model, if anything
    did: a search answers without it. The model is given as many together as it works on at once.

    The model works in a thread of its own, because a call to it can't be interrupted: one that takes too
    long is no longer waited for, and ends unheard. None is begun that would not end in time, as far as the
    slowest before it tells.
    """
    ends = time.monotonic() + asked.budget_ms / 1000
    done: list[float] = []
    enough = Event()

    def work() -> None:
        slowest = 0.0
        for first in range(0, len(texts), scorer.threads):
            began = time.monotonic()
            if enough.is_set() or began + slowest > ends:
                return
            done.extend(scorer.score(query, texts[first : first + scorer.threads]).tolist())
            slowest = max(slowest, time.monotonic() - began)

    worker = ThreadPoolExecutor(1, "rerank")
    running = worker.submit(work)
    worker.shutdown(wait=False)
    wait([running], timeout=max(0.0, ends - time.monotonic()))
    enough.set()
    return list(done), running.exception() if running.done() else None


def _with(ranking: Ranking, candidates: Candidates, logits: Sequence[float]) -> Ranking:
    """The ranking with what the model said of its first rows: 0 to 1, and 0 for those it has not read."""
    read = ranking.order[: len(logits)]
    said = np.zeros(len(candidates))
    said[read] = 1 / (1 + np.exp(-np.clip(logits, -FLAT, FLAT)))
    values, weights = {**ranking.values, "rerank": said}, {**ranking.weights, "rerank": RERANK}
    scores = score(values, weights)
    return Ranking(best_first(scores, candidates.messages), values, weights, scores)
