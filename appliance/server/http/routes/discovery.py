"""/v1/discover: where histories lie on this machine."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from appliance.server.http.caller import Reader
from appliance.server.http.routes.base import json_response, make_router, problem_responses
from appliance.types import Discovery

router = make_router("intake")

DEFAULT_SECONDS = 10.0
"""How long conversations are counted unless a client says otherwise."""

MAX_SECONDS = 300.0
"""The longest that a client may let them be counted."""


@router.get("/v1/discover", response_model=Discovery, responses=problem_responses(503))
def discover(
    caller: Reader,
    seconds: Annotated[
        float, Query(ge=0, le=MAX_SECONDS, description="How long conversations are counted; the rest is estimated.")
    ] = DEFAULT_SECONDS,
) -> Response:
    """Histories of other programs and exports on this machine: only read, and nothing is stored. Owner only."""
    caller.require_owner("what lies on this machine")
    return json_response(caller.memory.discover(seconds=seconds))
