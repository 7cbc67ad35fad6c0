"""Joins what makes summaries: the stores and models that serve, the settings, and the local language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

import appliance_models
from appliance.config import Settings
from appliance.llm import Endpoint
from appliance.memory.summaries import Host, Summaries
from appliance.recall import gists
from appliance.serving import Serving
from appliance.store import derived
from appliance.store.database import Database
from appliance.types import Event, Filters, SummaryHit


def endpoint(settings: Settings) -> Endpoint | None:
    """The local language model, if the settings name one.

    Raises:
        ConfigError: its address or its name can't be.
    """
    llm = settings.llm
    if not llm.base_url:
        return None
    return Endpoint(llm.base_url, llm.model, api_key=llm.api_key, timeout=llm.timeout)


def summaries(
    database: Database, serving: Serving, settings: Settings, tell: Callable[[Event], None]
) -> Summaries:
    """The summaries of an open home.

    Raises:
        ConfigError: the language model's address or name can't be.
    """

    def embed(sentences: Sequence[str]) -> NDArray[np.float32]:
        return appliance_models.load_lexicon().vectors(sentences)

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
        embed=embed,
        vectors=vectors,
        writer=endpoint(settings),
        find=find,
        tell=tell,
    )
    return Summaries(host)
