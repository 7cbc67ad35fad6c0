"""/v1/summaries: what conversations come to, listed and searched."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from appliance.server import shapes
from appliance.server.models import MOST, PAGE, SummariesAsked
from appliance.server.problems import as_things_stand
from appliance.server.reach import Reader
from appliance.server.routes.base import answer, group, may
from appliance.types import Level, Summary

router = group("summaries")


@router.get("/v1/summaries", response_model=shapes.SummariesAnswer, responses=may(404, 409))
def list_summaries(
    caller: Reader,
    user_id: Annotated[str | None, Query(min_length=1)] = None,
    namespace: str | None = None,
    session_id: str | None = None,
    level: Level | None = None,
    limit: Annotated[int, Query(ge=1, le=MOST, description="How many at most.")] = PAGE,
) -> Response:
    """The summaries of a user or of one session: those of the last active session first."""
    user, namespace = caller.user(user_id), caller.namespace(namespace)
    with as_things_stand():
        session = None if session_id is None else caller.info(session_id, user_id).id
        found = caller.memory.summaries.list(
            session_id=session, user_id=user, namespace=namespace, level=level, limit=limit
        )
    return answer(shapes.SummariesAnswer(tuple(found)))


@router.post("/v1/summaries/search", response_model=shapes.SummariesFound, responses=may(404, 409))
def search_summaries(caller: Reader, asked: SummariesAsked) -> Response:
    """The summaries that say most of what is asked for, best first."""
    user, namespace = caller.user(asked.user_id), caller.namespace(asked.namespace)
    with as_things_stand():
        session = None if asked.session_id is None else caller.info(asked.session_id, asked.user_id).id
        found = caller.memory.summaries.search(
            asked.query,
            limit=asked.limit,
            user_id=user,
            namespace=namespace,
            agent_id=asked.agent_id,
            session_id=session,
            level=asked.level,
        )
    return answer({"query": asked.query, "summaries": [shapes.summary_shape(one) for one in found]})


@router.get("/v1/summaries/{id}", response_model=Summary, responses=may(404))
def summary(caller: Reader, id: Annotated[str, Path(examples=["sum7"])]) -> Response:
    """A summary with what it quotes."""
    return answer(caller.summary(id))
