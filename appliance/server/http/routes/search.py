"""/v1/search and /v1/context."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict

from starlette.responses import Response

from appliance.server.http import responses
from appliance.server.http.bodies import ContextBody, SearchBody
from appliance.server.http.caller import HttpCaller, Reader
from appliance.server.http.problems import usage_error_as_conflict
from appliance.server.http.routes.base import json_response, make_router, problem_responses
from appliance.types import Context, Hit, SessionInfo, Source

router = make_router("finding")


@router.post("/v1/search", response_model=responses.SearchAnswer, responses=problem_responses(404, 409))
def search(caller: Reader, body: SearchBody) -> Response:
    """The messages that match a query best, one hit per message, page by page."""
    with usage_error_as_conflict():
        session, asked_in = (_searched_session(caller, id, body.user_id) for id in (body.session_id, body.asked_in))
        hits = caller.memory.search(
            body.query,
            limit=body.limit,
            offset=body.offset,
            sort=body.sort,
            count=body.count,
            neighbours=body.neighbours,
            min_score=body.min_score,
            mode=body.mode,
            profile=body.profile,
            without=body.without,
            per_session=body.per_session,
            variants=body.variants,
            user_id=caller.resolve_user(body.user_id),
            namespace=caller.resolve_namespace(body.namespace),
            agent_id=body.agent_id,
            session_id=session.id if session is not None else None,
            roles=body.roles,
            sources=body.sources,
            authors=body.authors,
            has=body.has,
            tags=body.tags,
            tools=body.tools,
            files=body.files,
            entities=body.entities,
            topics=body.topics,
            participants=body.participants,
            since=body.since,
            until=body.until,
            as_of=body.as_of,
            asked_in=asked_in.id if asked_in is not None else None,
            include_archived=body.include_archived,
            why_not=None if body.why_not is None else caller.message(body.why_not).id,
            generation=body.generation,
        )
    hits = caller.readable_hits(hits, session, asked_in)
    return json_response({**responses.search_shape(hits), "hits": [_without_folders(caller, hit) for hit in hits]})


@router.post("/v1/context", response_model=Context, responses=problem_responses(404, 409))
def context(caller: Reader, body: ContextBody) -> Response:
    """The context for an assistant to answer a question: layers within an exact budget of tokens."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    counted = body.counted and not caller.grant.read_only
    options = _ContextOptions(
        budget=body.budget,
        encoding=body.encoding,
        agent_id=body.agent_id,
        profile=body.profile,
        preset=body.preset,
        shares=None if body.shares is None else {str(layer): share for layer, share in body.shares.items()},
        auto_recall=body.auto_recall,
        recall_limit=body.recall_limit,
        min_score=body.min_score,
    )
    with usage_error_as_conflict():
        session = _searched_session(caller, body.session_id, body.user_id)
        result = caller.memory.context(
            body.query,
            session_id=session.id if session is not None else None,
            user_id=user,
            namespace=namespace,
            counted=counted,
            roles=body.roles,
            sources=body.sources,
            authors=body.authors,
            participants=body.participants,
            has=body.has,
            tags=body.tags,
            tools=body.tools,
            files=body.files,
            entities=body.entities,
            topics=body.topics,
            since=body.since,
            until=body.until,
            **options,
        )
    return json_response(result)


class _ContextOptions(TypedDict):
    """The options of a context."""

    budget: int | None
    encoding: str | None
    agent_id: str | None
    profile: str | None
    preset: str | None
    shares: Mapping[str, float] | None
    auto_recall: bool | None
    recall_limit: int | None
    min_score: float | None


def _without_folders(caller: HttpCaller, hit: Hit) -> Hit:
    """A hit without the folder of its source: an upload's no longer exists, and other paths only the owner may see."""
    path, uploads = hit.source.path, f"{caller.service.home.uploads}{os.sep}"
    if path is None or (caller.grant.is_owner and not path.startswith(uploads)):
        return hit
    _, _, uploaded = path.removeprefix(uploads).partition(os.sep)
    display_path = uploaded if path.startswith(uploads) else os.path.basename(path)
    return replace(hit, source=Source(hit.source.format, display_path))


def _searched_session(caller: HttpCaller, reference: str | None, user_id: str | None) -> SessionInfo | None:
    return None if reference is None else caller.session_of(reference, user_id, readable=True)
