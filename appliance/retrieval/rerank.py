"""Reranking of the best candidates by a cross-encoder, if one is configured.

The cross-encoder reads the query with the chunk that matched, not with the whole message, from the best candidate down
and within a time limit. Its score is never below 0, so the candidates that it has read stay before the others, which
keep their order.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event

import numpy as np

from appliance.retrieval.candidates import Candidates
from appliance.retrieval.ranking import Ranking
from appliance.retrieval.resources import ParsedQuery, PassageScorer, RerankerSettings, SearchResources
from appliance.retrieval.weights import RERANK_WEIGHT
from appliance.store import messages
from appliance.store.passages import passage

MAX_LOGIT = 30.0
"""Logits are clipped to this: beyond it the score is certain, and the exponential of larger ones overflows."""


def rerank(
    resources: SearchResources, parsed: ParsedQuery, candidates: Candidates, ranking: Ranking, notes: list[str]
) -> Ranking:
    """Add the feature ``rerank`` to a ranking, if a reranker is configured and the profile has a second stage.

    ``notes`` gets a sentence on how many candidates were read, or why none was.
    """
    settings, query = resources.reranker, parsed.query.text
    if settings is None or parsed.query.profile.weights is None or not len(candidates) or not query.strip():
        return ranking
    if settings.scorer is None:
        notes.append(f"the hits were not reranked: {settings.unavailable_reason}")
        return ranking
    if not settings.scorer.accepts_query(query):
        notes.append(f"the hits were not reranked: the question is too long for {settings.scorer.name}")
        return ranking
    best = ranking.order[: settings.top]
    logits, error = score_within_budget(
        settings, settings.scorer, query, passages(resources, candidates, best.tolist())
    )
    limit = "" if len(logits) == len(best) else f", as many as {settings.budget_ms:g} ms allow"
    outcome = f": {type(error).__name__}, {error}" if error else limit
    notes.append(f"{len(logits)} of the best {len(best)} were reranked by {settings.scorer.name}{outcome}")
    return _with_rerank_scores(ranking, candidates, logits) if logits else ranking


def passages(resources: SearchResources, candidates: Candidates, rows: Sequence[int]) -> list[str]:
    """The matching chunk of each candidate in the form that a model reads; the whole text if no chunk is known."""
    keys: list[int] = candidates.messages[rows].tolist()
    found = messages.get(resources.db, keys)
    texts = []
    for row, key in zip(rows, keys, strict=True):
        text = found[key].text if key in found else ""
        start, end = candidates.span(row) or (0, len(text))
        texts.append(passage(candidates.authors[row], text[start:end]))
    return texts


def score_within_budget(
    settings: RerankerSettings, scorer: PassageScorer, query: str, texts: Sequence[str]
) -> tuple[list[float], BaseException | None]:
    """Score as many texts as the time limit allows, in batches of as many as the model scores in parallel.

    The model runs on a thread of its own, because a call can't be interrupted: the search stops waiting for a call that
    takes too long, and its result is dropped. A batch is not begun if the slowest batch so far would not end in time.

    Returns:
        The logits of the first texts, and the model's error, if any. The search goes on without the rest.
    """
    deadline = time.monotonic() + settings.budget_ms / 1000
    done: list[float] = []
    stop = Event()

    def work() -> None:
        slowest = 0.0
        for first in range(0, len(texts), scorer.threads):
            began = time.monotonic()
            if stop.is_set() or began + slowest > deadline:
                return
            done.extend(scorer.score(query, texts[first : first + scorer.threads]).tolist())
            slowest = max(slowest, time.monotonic() - began)

    worker = ThreadPoolExecutor(1, "rerank")
    running = worker.submit(work)
    worker.shutdown(wait=False)
    wait([running], timeout=max(0.0, deadline - time.monotonic()))
    stop.set()
    return list(done), running.exception() if running.done() else None


def _with_rerank_scores(ranking: Ranking, candidates: Candidates, logits: Sequence[float]) -> Ranking:
    """The ranking with the model's scores, 0 to 1, for its first rows; 0 for the rows that it has not read."""
    scored_rows = ranking.order[: len(logits)]
    rerank_scores = np.zeros(len(candidates))
    rerank_scores[scored_rows] = 1 / (1 + np.exp(-np.clip(logits, -MAX_LOGIT, MAX_LOGIT)))
    return ranking.with_feature("rerank", rerank_scores, RERANK_WEIGHT, candidates.messages)
