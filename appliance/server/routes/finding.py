"""/v1/search and /v1/context: what the memory is there for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict

from starlette.responses import Response

from appliance.memory.private import PrivateSession
from appliance.server import shapes
from appliance.server.models import ContextAsked, SearchAsked
from appliance.server.problems import as_things_stand
from appliance.server.reach import Caller, Reader
from appliance.server.routes.base import answer, group, may
from appliance.types import Context, Hit, Source

router = group("finding")


@router.post("/v1/search", response_model=shapes.SearchAnswer, responses=may(404, 409))
def search(caller: Reader, asked: SearchAsked) -> Response:
    """The messages that answer a question best, one hit a message, best first."""
    with as_things_stand():
        found = caller.memory.search(
            asked.query,
            limit=asked.limit,
            mode=asked.mode,
            profile=asked.profile,
            without=asked.without,
            per_session=asked.per_session,
            user_id=caller.user(asked.user_id),
            namespace=caller.namespace(asked.namespace),
            agent_id=asked.agent_id,
            session_id=_session(caller, asked.session_id, asked.user_id),
            roles=asked.roles,
            sources=asked.sources,
            since=asked.since,
            until=asked.until,
            as_of=asked.as_of,
            asked_in=_session(caller, asked.asked_in, asked.user_id),
            why_not=None if asked.why_not is None else caller.message(asked.why_not).id,
        )
    return answer({**shapes.shape(found), "hits": [_placed(caller, hit) for hit in found]})


@router.post("/v1/context", response_model=Context, responses=may(404, 409))
def context(caller: Reader, asked: ContextAsked) -> Response:
    """What an assistant is to be given for a question: layers within an exact budget of tokens."""
    user, namespace = caller.user(asked.user_id), caller.namespace(asked.namespace)
    counted = asked.counted and not caller.grant.read_only
    how = _How(
        budget=asked.budget,
        encoding=asked.encoding,
        agent_id=asked.agent_id,
        profile=asked.profile,
        preset=asked.preset,
        shares=None if asked.shares is None else {str(layer): share for layer, share in asked.shares.items()},
        auto_recall=asked.auto_recall,
    )
    with as_things_stand():
        session = None if asked.session_id is None else caller.session(asked.session_id, asked.user_id)
        if isinstance(session, PrivateSession):
            return answer(session.context(asked.query, **how))
        here = None if session is None else session.id
        found = caller.memory.context(
            asked.query, session_id=here, user_id=user, namespace=namespace, counted=counted, **how
        )
    return answer(found)


class _How(TypedDict):
    """What a context of a stored session and of a private one have in common."""

    budget: int | None
    encoding: str | None
    agent_id: str | None
    profile: str | None
    preset: str | None
    shares: Mapping[str, float] | None
    auto_recall: bool | None


def _placed(caller: Caller, hit: Hit) -> Hit:
    """A hit without the folder that its source lay in: an upload's is gone, and others are for the owner to know."""
    path, uploads = hit.source.path, f"{caller.service.home.uploads}{os.sep}"
    if path is None or (caller.grant.is_owner and not path.startswith(uploads)):
        return hit
    _, _, uploaded = path.removeprefix(uploads).partition(os.sep)
    shown = uploaded if path.startswith(uploads) else os.path.basename(path)
    return replace(hit, source=Source(hit.source.format, shown))


def _session(caller: Caller, reference: str | None, user_id: str | None) -> str | None:
    return None if reference is None else caller.info(reference, user_id).id
