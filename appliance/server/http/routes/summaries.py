"""/v1/summaries: summaries of conversations, listed and searched."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from appliance.server.http import responses
from appliance.server.http.bodies import DEFAULT_PAGE_SIZE, MAX_LIMIT, SummarySearchBody
from appliance.server.http.caller import Reader
from appliance.server.http.problems import usage_error_as_conflict
from appliance.server.http.routes.base import json_response, make_router, problem_responses
from appliance.types import Level, Summary

router = make_router("summaries")


@router.get("/v1/summaries", response_model=responses.SummariesAnswer, responses=problem_responses(404, 409))
def list_summaries(
    caller: Reader,
    user_id: Annotated[str | None, Query(min_length=1)] = None,
    namespace: str | None = None,
    session_id: str | None = None,
    level: Level | None = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="How many at most.")] = DEFAULT_PAGE_SIZE,
) -> Response:
    """The summaries of a user or of one session, last active session first."""
    user, namespace = caller.resolve_user(user_id), caller.resolve_namespace(namespace)
    with usage_error_as_conflict():
        session = None if session_id is None else caller.session_of(session_id, user_id).id
        found = caller.memory.summaries.list(
            session_id=session,
            user_id=user,
            namespace=namespace,
            level=level,
            limit=limit if caller.sees_everything else None,  # some of them may be out of sight
        )
    return json_response(responses.SummariesAnswer(tuple(caller.visible_summaries(found)[:limit])))


@router.post(
    "/v1/summaries/search", response_model=responses.SummarySearchAnswer, responses=problem_responses(404, 409)
)
def search_summaries(caller: Reader, body: SummarySearchBody) -> Response:
    """The summaries that match a query best, best first."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    with usage_error_as_conflict():
        session = None if body.session_id is None else caller.session_of(body.session_id, body.user_id).id
        found = caller.memory.summaries.search(
            body.query,
            limit=body.limit,
            user_id=user,
            namespace=namespace,
            agent_id=body.agent_id,
            session_id=session,
            level=body.level,
        )
    return json_response({"query": body.query, "summaries": [responses.summary_shape(one) for one in found]})


@router.get("/v1/summaries/{id}", response_model=Summary, responses=problem_responses(404))
def summary(caller: Reader, id: Annotated[str, Path(examples=["sum7"])]) -> Response:
    """A summary with its quotes."""
    return json_response(caller.summary(id))
