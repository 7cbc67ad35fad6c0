"""What a search looks for: its request, completed by the settings."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from appliance import requests as r
from appliance.retrieval import question_targets, search_query
from appliance.retrieval.resources import SearchQuery
from appliance.retrieval.weights import ScoringProfile
from appliance.settings import Settings
from appliance.types import Scope


def refresh(request: r.SearchRequest, people: Callable[[], object], facts: Callable[[], object]) -> None:
    """Bring the people and the facts up to date, if a request asks for them."""
    if request.authors or request.participants or question_targets.may_name_people(request.query):
        people()
    if question_targets.asks_about_person(request.query):
        facts()


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
