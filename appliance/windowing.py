"""Joins working memory with the models' counters and the lexicon's vectors, and with the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import appliance_models
from appliance.config import Settings
from appliance.memory.folding import Habits, Writer
from appliance.memory.working import Host, Making, WorkingMemory
from appliance.store.database import Database
from appliance.types import Event

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def usual_habits(settings: Settings) -> Habits:
    """How sessions keep their windows that say nothing of it themselves."""
    given = settings.working
    return Habits(
        given.strategy,
        given.budget,
        given.threshold,
        given.target,
        given.keep,
        given.turns,
        settings.context.encoding,
    )


def sentence_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """What sentences say, by the shipped lexicon: no model runs."""
    return appliance_models.load_lexicon().vectors(texts)


def making(settings: Settings) -> Making:
    """How windows are made by the settings."""
    return Making(usual_habits(settings), appliance_models.encoding_for, sentence_vectors)


def working_memory(
    database: Database, settings: Settings, tell: Callable[[Event], None], writer: Writer | None = None
) -> WorkingMemory:
    """The working memory of a store."""
    return WorkingMemory(Host(database, making(settings), tell, writer))
