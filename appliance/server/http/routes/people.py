"""/v1/people: the people who wrote the messages, listed, merged, split and renamed."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from appliance.server.http import responses
from appliance.server.http.caller import Reader, Writer
from appliance.server.http.people_bodies import (
    MeBody,
    PeopleScopeBody,
    PersonMergeBody,
    PersonNameBody,
    PersonSplitBody,
)
from appliance.server.http.routes.base import json_response, make_router, problem_responses
from appliance.types import PeopleChange, PeopleList, PersonDetails

router = make_router("people")

PersonRef = Annotated[
    str, Path(description="A person: an id such as p3, or a name, address or number.", examples=["p3"], max_length=300)
]
UserId = Annotated[str | None, Query(min_length=1)]


@router.get("/v1/people", response_model=PeopleList)
def list_people(
    caller: Reader,
    user_id: UserId = None,
    namespace: str | None = None,
    everyone: Annotated[bool, Query(description="Also people who are only in an address book.")] = False,
) -> Response:
    """The people who wrote the messages, those with the most first, and proposals of who may be one person."""
    return json_response(
        caller.memory.people.list(
            caller.resolve_user(user_id),
            caller.resolve_namespace(namespace),
            everyone=everyone,
            shared_only=not caller.sees_everything,
        )
    )


@router.get("/v1/people/me", response_model=responses.MeAnswer)
def me(caller: Reader, user_id: UserId = None, namespace: str | None = None) -> Response:
    """The person whose memory it is, as the exports say or as it was set; null if it is not known."""
    found = caller.memory.people.me(caller.resolve_user(user_id), caller.resolve_namespace(namespace))
    return json_response(responses.MeAnswer(found))


@router.put("/v1/people/me", response_model=PeopleChange, responses=problem_responses(404))
def set_me(caller: Writer, body: MeBody) -> Response:
    """Decide whose memory it is, whatever the exports say. Facts are read again."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    return json_response(caller.memory.people.set_me(body.person, user_id=user, namespace=namespace))


@router.post("/v1/people/undo", response_model=PeopleChange, responses=problem_responses(404))
def undo(caller: Writer, body: PeopleScopeBody) -> Response:
    """Undo the last decision about people that is not undone yet."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    return json_response(caller.memory.people.undo(user, namespace))


@router.get("/v1/people/{person}", response_model=PersonDetails, responses=problem_responses(404))
def person(caller: Reader, person: PersonRef, user_id: UserId = None, namespace: str | None = None) -> Response:
    """A person: identities and why they belong together, sources, latest conversations, what is asked about."""
    user, space = caller.resolve_user(user_id), caller.resolve_namespace(namespace)
    shared_only = not caller.sees_everything
    return json_response(caller.memory.people.get(person, user_id=user, namespace=space, shared_only=shared_only))


@router.post("/v1/people/{person}/merge", response_model=PeopleChange, responses=problem_responses(404))
def merge(caller: Writer, person: PersonRef, body: PersonMergeBody) -> Response:
    """Decide that two people are one."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    return json_response(caller.memory.people.merge(person, body.other, user_id=user, namespace=namespace))


@router.post("/v1/people/{person}/split", response_model=PeopleChange, responses=problem_responses(404))
def split(caller: Writer, person: PersonRef, body: PersonSplitBody) -> Response:
    """Decide that identities of a person are another one's, or that two people are not one."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    return json_response(caller.memory.people.split(person, body.identities, user_id=user, namespace=namespace))


@router.post("/v1/people/{person}/rename", response_model=PeopleChange, responses=problem_responses(404))
def rename(caller: Writer, person: PersonRef, body: PersonNameBody) -> Response:
    """Decide what a person is called."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    return json_response(caller.memory.people.rename(person, body.name, user_id=user, namespace=namespace))
