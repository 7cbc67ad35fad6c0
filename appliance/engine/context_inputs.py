"""What a context is built from: its request, completed by the settings, and the services that have its material."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import appliance_models
from appliance import requests as r
from appliance.context.builder import ContextInputs, ContextSources
from appliance.context.shares import shares
from appliance.errors import UsageError
from appliance.memory.how_to import is_how_to
from appliance.requests.recall_options import RecallOptions
from appliance.retrieval.followups import search_with_turns
from appliance.settings import Settings
from appliance.store import sessions
from appliance.store.database import Database
from appliance.types import Hits, Scope

if TYPE_CHECKING:
    from appliance.memory.facts import FactService
    from appliance.memory.sessions import SessionService
    from appliance.memory.summaries import SummaryService
    from appliance.memory.working_memory import WorkingMemory


def sources(
    database: Database,
    search: Callable[[r.SearchRequest], Hits],
    session_service: SessionService,
    facts: FactService,
    summaries: SummaryService,
    working_memory: Callable[[], WorkingMemory],
) -> ContextSources:
    """Return where the material of a context comes from. ``working_memory`` is called when a session needs it."""
    return ContextSources(
        database=database,
        search=partial(search_with_turns, search),
        find_session=session_service.info,
        profile=facts.profile,
        window=lambda info: working_memory().window(sessions.key(info)),
        find_summaries=summaries.search,
        is_how_to=is_how_to,
        recent_summaries=summaries.recent,
        own_summaries=partial(summaries.recent, of_person=True),
    )


def resolve(request: r.ContextRequest, settings: Settings, scope: Scope) -> ContextInputs:
    """Return the inputs of a request.

    Raises:
        UsageError: The budget, a share or a preset is invalid, or the encoding is unknown.
    """
    defaults = settings.context
    budget = defaults.budget if request.budget is None else request.budget
    if budget < 1:
        raise UsageError(f"The budget must be at least 1, not {budget}.")
    own_shares = {} if request.preset else {str(layer): share for layer, share in defaults.shares.items()}
    return ContextInputs(
        request=request,
        scope=scope,
        budget=budget,
        counter=_counter(request.encoding, defaults.encoding),
        shares=shares(request.preset or defaults.preset, own_shares if request.shares is None else request.shares),
        ranking=request.profile or defaults.profile,
        per_session=defaults.per_session,
        recall=RecallOptions(defaults.auto_recall, defaults.recall_limit, defaults.min_score),
        mask_secrets=settings.secrets.policy != "keep",
    )


def _counter(requested: str | None, default: str) -> appliance_models.TokenCounter:
    """The counter of an encoding or a model. One that is asked for must be known: a budget that is counted in another
    encoding is not kept. The default is of the settings, and a context says where it is an approximation."""
    counter = appliance_models.encoding_for(default if requested is None else requested)
    if requested is not None and counter.note:
        from appliance_models.encodings import TABLES

        raise UsageError(
            f"The encoding of {requested!r} is unknown.",
            hint=f"Use {' or '.join(TABLES)}, or a model that has one of these; without an encoding, {default} counts.",
        )
    return counter
