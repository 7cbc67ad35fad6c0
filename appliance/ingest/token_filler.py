"""Gives token vectors to texts that were embedded without them: by an earlier version, before a restore, or by a model
whose token vectors have changed since. Every text is embedded once more; its vector stays as it is."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from appliance.ingest.indexer import IndexingContext, append_tokens, embedding_inputs
from appliance.store import token_places

STEP_TEXTS, STEP_TEXTS_DURING_QUERIES = 64, 2
"""Texts embedded in one step, which takes about 0.2 s or 6 ms on two cores."""

FIRST_CHUNK = (1 << 63) - 1
"""The newest chunks come first; no key is as high."""


class FilledStep(NamedTuple):
    """How many chunks a step gave token vectors to, and the key that the next one goes on before."""

    chunks: int
    before: int


def fill_step(context: IndexingContext, before: int) -> FilledStep:
    """Give token vectors to the texts of the next chunks with keys below ``before``, the newest first."""
    limit = STEP_TEXTS if context.throttle.is_idle() else STEP_TEXTS_DURING_QUERIES
    missing = token_places.next_missing(context.database.read(), context.generation, limit, before)
    if not missing or context.tokens is None:
        return FilledStep(0, before)
    wanted = {chunk.digest for chunk in missing}
    inputs = embedding_inputs(missing, frozenset())
    with context.metrics.time_embedding(sum(len(one.digests) for one in inputs)):
        embedded = context.embed([one.passage for one in inputs])
    found = zip(chain.from_iterable(one.digests for one in inputs), embedded.tokens or (), strict=False)
    places = append_tokens(context, {digest: tokens for digest, tokens in found if digest in wanted})
    with context.database.write() as tx:
        token_places.add(tx, context.generation, places, context.tokens.end_with(places.values()))
    context.tokens.acknowledge(places.values())
    return FilledStep(len(missing), missing[-1].chunk)
