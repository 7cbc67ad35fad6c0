"""What a search looks for: its request, completed by the settings."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from appliance import requests as r
from appliance.retrieval import search_query
from appliance.retrieval.resources import SearchQuery
from appliance.retrieval.weights import ScoringProfile
from appliance.settings import Settings
from appliance.types import Scope


def resolve(
    db: sqlite3.Connection,
    request: r.SearchRequest,
    settings: Settings,
    profiles: Mapping[str, ScoringProfile],
    scope: Scope,
    current_session: int | None,
    *,
    by_asked_author: bool = True,
) -> SearchQuery:
    """Return the query of a request; see ``search_query.resolve``."""
    defaults = settings.search
    return search_query.resolve(
        db,
        request,
        scope,
        profile=search_query.find_profile(request.profile or defaults.profile, profiles),
        without=defaults.without if request.without is None else request.without,
        per_session=defaults.per_session if request.per_session is None else request.per_session,
        current_session=current_session,
        look_in_archive=settings.archive.look,
        by_asked_author=by_asked_author,
    )
