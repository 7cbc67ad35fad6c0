"""/v1/facts: facts about a person, listed, added and corrected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from appliance.server.http import responses
from appliance.server.http.bodies import DateText, FactCorrectionBody, FactSentenceBody, FactValueBody
from appliance.server.http.caller import Reader, Writer
from appliance.server.http.problems import usage_error_as_conflict
from appliance.server.http.routes.base import CREATED, json_response, make_router, problem_responses
from appliance.types import Fact, FactKind, FactState

router = make_router("facts")

Id = Annotated[str, Path(description="A fact, such as f7.", examples=["f7"])]


@router.get("/v1/facts", response_model=responses.FactsAnswer)
def list_facts(
    caller: Reader,
    user_id: Annotated[str | None, Query(min_length=1)] = None,
    namespace: str | None = None,
    agent_id: str | None = None,
    kind: FactKind | None = None,
    state: Annotated[FactState | None, Query(description="held by default, unless as_of is given.")] = None,
    as_of: Annotated[
        DateText | None, Query(description="Facts that held then; state filters them by their present state.")
    ] = None,
) -> Response:
    """The facts that hold now, that are in another state, or that held at another time; the latest stated last."""
    facts = caller.memory.facts.list(
        caller.resolve_user(user_id),
        caller.resolve_namespace(namespace),
        kind=kind,
        state=None if as_of is not None else state,
        as_of=as_of,
        agent_id=agent_id,
    )
    matching = tuple(item for item in facts if as_of is None or state is None or item.state == state)
    return json_response(
        responses.FactsAnswer(matching, caller.memory.facts.pending() if caller.grant.is_owner else None)
    )


@router.post("/v1/facts", response_model=Sequence[Fact], status_code=CREATED, responses=problem_responses(409))
def add_fact(caller: Writer, body: FactSentenceBody | FactValueBody) -> Response:
    """Add a fact, as a sentence or as an attribute with its value. Answers with the facts that result."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    if isinstance(body, FactSentenceBody):
        with usage_error_as_conflict():  # a question, or words that state nothing
            facts = caller.memory.facts.add(body.text, user_id=user, namespace=namespace)
        return json_response(facts, CREATED)
    facts = caller.memory.facts.add(
        attribute=body.attribute,
        value=body.value,
        kind=body.kind,
        subject=body.subject,
        user_id=user,
        namespace=namespace,
    )
    return json_response(facts, CREATED)


@router.get("/v1/facts/{id}", response_model=Fact, responses=problem_responses(404))
def fact(caller: Reader, id: Id) -> Response:
    """A fact with its evidence."""
    return json_response(caller.fact(id))


@router.get("/v1/facts/{id}/history", response_model=Sequence[Fact], responses=problem_responses(404))
def history(caller: Reader, id: Id) -> Response:
    """All facts about the same subject and attribute, in the order in which they were stated."""
    return json_response(caller.memory.facts.history(caller.fact(id).id))


@router.post("/v1/facts/{id}/confirm", response_model=Fact, responses=problem_responses(404))
def confirm(caller: Writer, id: Id) -> Response:
    """Confirm a fact, whatever contradicts it."""
    return json_response(caller.memory.facts.confirm(caller.fact(id).id))


@router.post("/v1/facts/{id}/correct", response_model=Fact, responses=problem_responses(404))
def correct(caller: Writer, id: Id, body: FactCorrectionBody) -> Response:
    """Correct the value of a fact. Answers with the fact that replaces it."""
    return json_response(caller.memory.facts.correct(caller.fact(id).id, body.value))


@router.post("/v1/facts/{id}/reject", response_model=Fact, responses=problem_responses(404))
def reject(caller: Writer, id: Id) -> Response:
    """Reject a fact; the same text does not bring it back."""
    return json_response(caller.memory.facts.reject(caller.fact(id).id))
