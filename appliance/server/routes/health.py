"""/health and /v1/status: whether it lives, whether it answers, and how it is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from fastapi import Request
from starlette.responses import Response

from appliance import __version__
from appliance.errors import StoreError
from appliance.server import shapes
from appliance.server.reach import Reader
from appliance.server.routes.base import answer, group, may
from appliance.server.service import Service

router = group("health")

WELL = "ok"
NOT_WELL = "not well: the owner's 'appliance status' says why"


@dataclass(frozen=True, slots=True)
class Life:
    """That the server answers."""

    status: Literal["ok"] = "ok"


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the memory answers, and how it is in words."""

    status: Literal["ok", "not well"]
    health: str
    version: str


@router.get("/health/live", response_model=Life)
async def live() -> Response:
    """The process answers. Needs no token, and says nothing of what is remembered."""
    return answer(Life())


@router.get("/health/ready", response_model=Life, responses=may(503))
def ready(request: Request) -> Response:
    """The memory answers. Needs no token, and says nothing of what is remembered."""
    service: Service = request.app.state.service
    try:
        service.memory.sessions.list(limit=1)
    except Exception:
        # Why is for those who may ask: /health and the log.
        raise StoreError("the memory does not answer", hint="'appliance status' says why") from None
    return answer(Life())


@router.get("/health", response_model=Health, responses=may(503))
def health(caller: Reader) -> Response:
    """How the memory is, in a few words."""
    words = _words(caller.memory.status()["health"], owner=caller.grant.is_owner)
    return answer(Health("ok" if words == WELL else "not well", words, __version__))


@router.get("/v1/status", response_model=shapes.StatusAnswer | shapes.ScopedStatus, responses=may(503))
def status(caller: Reader) -> Response:
    """Counts, model, disk use and health; for a token with a fixed scope what the token is, and whether all is well."""
    found = caller.memory.status()
    grant = caller.grant
    if grant.is_owner:
        return answer(shapes.status_shape(found, os.fspath(caller.service.home.root)))
    return answer(
        shapes.ScopedStatus(
            version=__version__,
            health=_words(found["health"], owner=False),
            name=grant.name,
            user_id=grant.user_id or "",
            namespace=grant.namespace or "",
            read_only=grant.read_only,
        )
    )


def _words(health: str, *, owner: bool) -> str:
    return health if owner or health == WELL else NOT_WELL
