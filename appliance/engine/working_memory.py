"""Connects working memory with the token counters, the vectors of the lexicon, and the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import appliance_models
from appliance.memory.compaction import RunningSummaryWriter, WindowPolicy
from appliance.memory.working_memory import WindowBuilder, WorkingMemory, WorkingMemoryContext
from appliance.settings import Settings
from appliance.store.database import Database
from appliance.types import Event

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def default_window_policy(settings: Settings) -> WindowPolicy:
    """The window policy of sessions without one of their own."""
    working = settings.working
    return WindowPolicy(
        working.strategy,
        working.budget,
        working.threshold,
        working.target,
        working.keep,
        working.turns,
        settings.context.encoding,
    )


def sentence_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors of sentences from the bundled lexicon, without running a model."""
    return appliance_models.load_lexicon().vectors(texts)


def window_builder(settings: Settings) -> WindowBuilder:
    """A window builder with the configured policy."""
    return WindowBuilder(default_window_policy(settings), appliance_models.encoding_for, sentence_vectors)


def working_memory(
    database: Database, settings: Settings, publish: Callable[[Event], None], writer: RunningSummaryWriter | None = None
) -> WorkingMemory:
    """The working memory of an open home."""
    return WorkingMemory(WorkingMemoryContext(database, window_builder(settings), publish, writer))
