"""/health and /v1/status: liveness, readiness and state."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from fastapi import Request
from starlette.responses import Response

from appliance import __version__
from appliance.errors import StoreError
from appliance.server.access.grants import Service
from appliance.server.http import responses
from appliance.server.http.caller import Reader
from appliance.server.http.readiness import Readiness, Ready
from appliance.server.http.routes.base import json_response, make_router, problem_responses

router = make_router("health")

HEALTHY = "ok"
UNHEALTHY_TEXT = "not well: the owner can see why with 'appliance status'"


@dataclass(frozen=True, slots=True)
class LivenessAnswer:
    """The server answers."""

    status: Literal["ok"] = "ok"


@dataclass(frozen=True, slots=True)
class ReadinessAnswer:
    """Searches are answered: by words and meaning, or by words only, because the model can't be used."""

    status: Ready = "ok"


@dataclass(frozen=True, slots=True)
class HealthAnswer:
    """Whether the memory is well, and how it is in words."""

    status: Literal["ok", "not well"]
    health: str
    version: str


@router.get("/health/live", response_model=LivenessAnswer)
async def live() -> Response:
    """The process answers. Needs no token and reveals nothing of the memory."""
    return json_response(LivenessAnswer())


@router.get("/health/ready", response_model=ReadinessAnswer, responses=problem_responses(503))
def ready(request: Request) -> Response:
    """Searches are answered, and messages stored. Needs no token and reveals nothing of the memory."""
    service: Service = request.app.state.service
    try:
        service.memory.sessions.list(limit=1)
    except Exception:
        # The reason is in /health and the log, which need access.
        raise StoreError("The memory does not answer.", hint="'appliance status' says why.") from None
    readiness: Readiness = request.app.state.readiness
    if (answered := readiness.ask()) is None:
        hint = "Try again in a moment; 'appliance status' says why if it lasts."
        raise StoreError("The memory answers no search yet.", hint=hint)
    return json_response(ReadinessAnswer(answered))


@router.get("/health", response_model=HealthAnswer, responses=problem_responses(503))
def health(caller: Reader) -> Response:
    """The health of the memory, in a few words."""
    health_text = _health_text(caller.memory.status()["health"], owner=caller.grant.is_owner)
    return json_response(HealthAnswer("ok" if health_text == HEALTHY else "not well", health_text, __version__))


@router.get(
    "/v1/status", response_model=responses.StatusAnswer | responses.ScopedStatus, responses=problem_responses(503)
)
def status(caller: Reader) -> Response:
    """Counts, model, disk use and health; for a token with a fixed scope, its scope and the health."""
    found = caller.memory.status()
    grant = caller.grant
    if grant.is_owner:
        return json_response(responses.status_shape(found, os.fspath(caller.service.home.root)))
    return json_response(
        responses.ScopedStatus(
            version=__version__,
            health=_health_text(found["health"], owner=False),
            name=grant.name,
            user_id=grant.user_id or "",
            namespace=grant.namespace or "",
            read_only=grant.read_only,
        )
    )


def _health_text(health: str, *, owner: bool) -> str:
    return health if owner or health == HEALTHY else UNHEALTHY_TEXT
