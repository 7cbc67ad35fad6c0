"""Joins what makes summaries: the stores and models that serve, the settings, and the local language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from appliance.config import Settings
from appliance.errors import EndpointError
from appliance.llm import Endpoint
from appliance.memory.abstract import Nonsense, cited, written
from appliance.memory.folding import Writer
from appliance.memory.summaries import Host, Summaries
from appliance.memory.summarise import Draft
from appliance.recall import gists
from appliance.serving import Serving
from appliance.store import derived
from appliance.store.database import Database
from appliance.types import Event, Filters, Message, SummaryHit
from appliance.windowing import sentence_vectors


def notes(model: Endpoint | None) -> Writer | None:
    """Has the model write the running summary of a working memory; what it can't is left to the sentences."""
    if model is None:
        return None

    def write(prior: str, turns: Sequence[Message]) -> str | None:
        try:
            return written(model, prior, turns, turns, Draft("", (), {}), cited(prior)).text
        except (EndpointError, Nonsense):
            return None

    return Writer(model.name, write)


def summaries(
    database: Database,
    serving: Serving,
    settings: Settings,
    tell: Callable[[Event], None],
    model: Endpoint | None,
) -> Summaries:
    """The summaries of an open home, written by a language model if there is one."""

    def vectors(keys: Sequence[int]) -> NDArray[np.float32] | None:
        with serving.reading() as stores:
            return None if stores is None else derived.message_vectors(database.read(), stores, keys)

    def find(text: str, filters: Filters, limit: int) -> list[SummaryHit]:
        with serving.shelf(dense=True) as shelf:
            return [] if shelf is None else gists.search(shelf, text, filters, limit)

    host = Host(
        database=database,
        owner=settings.user,
        every=settings.summaries.every,
        silent=settings.summaries.silent,
        target=serving.target,
        drain=serving.drain_idly,
        embed=sentence_vectors,
        vectors=vectors,
        writer=model,
        find=find,
        tell=tell,
    )
    return Summaries(host)
