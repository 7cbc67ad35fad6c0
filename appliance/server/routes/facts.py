"""/v1/facts: what is known of a person, and what the person has to say about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from appliance.server import shapes
from appliance.server.models import Correction, FactGiven, FactTold, When
from appliance.server.reach import Reader, Writer
from appliance.server.routes.base import CREATED, answer, group, may
from appliance.types import Fact, FactKind, FactState

router = group("facts")

Id = Annotated[str, Path(description="A fact, such as f7.", examples=["f7"])]


@router.get("/v1/facts", response_model=shapes.FactsAnswer)
def list_facts(
    caller: Reader,
    user_id: Annotated[str | None, Query(min_length=1)] = None,
    namespace: str | None = None,
    agent_id: str | None = None,
    kind: FactKind | None = None,
    state: Annotated[
        FactState | None, Query(description="held, unless another is named or as_of is given.")
    ] = None,
    as_of: Annotated[
        When | None, Query(description="What held then; state keeps those of it that are so now.")
    ] = None,
) -> Response:
    """What holds now, the latest said last; in another state; or what held at another time."""
    found = caller.memory.facts.list(
        caller.user(user_id),
        caller.namespace(namespace),
        kind=kind,
        state=None if as_of is not None else state,
        as_of=as_of,
        agent_id=agent_id,
    )
    kept = tuple(one for one in found if as_of is None or state is None or one.state == state)
    return answer(shapes.FactsAnswer(kept, caller.memory.facts.pending() if caller.grant.is_owner else None))


@router.post("/v1/facts", response_model=Sequence[Fact], status_code=CREATED)
def add_fact(caller: Writer, asked: FactTold | FactGiven) -> Response:
    """Tell something, as a sentence or as an attribute with its value; the facts that hold by it."""
    user, namespace = caller.user(asked.user_id), caller.namespace(asked.namespace)
    if isinstance(asked, FactTold):
        return answer(caller.memory.facts.add(asked.text, user_id=user, namespace=namespace), CREATED)
    found = caller.memory.facts.add(
        attribute=asked.attribute,
        value=asked.value,
        kind=asked.kind,
        subject=asked.subject,
        user_id=user,
        namespace=namespace,
    )
    return answer(found, CREATED)


@router.get("/v1/facts/{id}", response_model=Fact, responses=may(404))
def fact(caller: Reader, id: Id) -> Response:
    """A fact with its evidence."""
    return answer(caller.fact(id))


@router.get("/v1/facts/{id}/history", response_model=Sequence[Fact], responses=may(404))
def history(caller: Reader, id: Id) -> Response:
    """All that was ever known of what a fact is about, in the order in which it was said."""
    return answer(caller.memory.facts.history(caller.fact(id).id))


@router.post("/v1/facts/{id}/confirm", response_model=Fact, responses=may(404))
def confirm(caller: Writer, id: Id) -> Response:
    """Say that a fact is so, whatever contradicts it."""
    return answer(caller.memory.facts.confirm(caller.fact(id).id))


@router.post("/v1/facts/{id}/correct", response_model=Fact, responses=may(404))
def correct(caller: Writer, id: Id, asked: Correction) -> Response:
    """Say what a fact should have been all along; the fact that is so now."""
    return answer(caller.memory.facts.correct(caller.fact(id).id, asked.value))


@router.post("/v1/facts/{id}/reject", response_model=Fact, responses=may(404))
def reject(caller: Writer, id: Id) -> Response:
    """Say that a fact is not so; it does not come back from the same words."""
    return answer(caller.memory.facts.reject(caller.fact(id).id))
