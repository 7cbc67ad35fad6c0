"""/v1/messages: a message stored, read and pinned; its variants and its importance. /v1/feedback: what it was worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Path
from starlette.responses import Response

from appliance.errors import NotFound
from appliance.requests import is_private_id
from appliance.resources import Session
from appliance.server.http import idempotency
from appliance.server.http.bodies import FeedbackBody, MessageBody, NewMessageBody
from appliance.server.http.caller import HttpCaller, Reader, Writer
from appliance.server.http.idempotency import key_reused_error
from appliance.server.http.problems import usage_error_as_conflict
from appliance.server.http.routes.base import CREATED, json_response, make_router, problem_responses
from appliance.store.sessions import key_of
from appliance.types import FeedbackKind, Importance, Message

router = make_router("messages")

Id = Annotated[str, Path(description="A message, such as m345.", examples=["m345"])]


@router.post("/v1/messages", response_model=Message, status_code=CREATED, responses=problem_responses(404, 409))
def add_message(caller: Writer, body: NewMessageBody) -> Response:
    """Store a message in a session, or in a new one. Once answered, it is on the disk and can be found."""
    with usage_error_as_conflict():
        return json_response(store_turn(caller, _target_session(caller, body), body), CREATED)


@router.get("/v1/messages/{id}", response_model=Message, responses=problem_responses(404, 409))
def message(caller: Reader, id: Id) -> Response:
    """A message in full. It counts as recalled, unless the token is read-only."""
    with usage_error_as_conflict():
        stored = caller.message(id)
    if not caller.grant.read_only:
        caller.memory.pins.note_recalled([stored.id])
    return json_response(stored)


@router.get("/v1/messages/{id}/variants", response_model=Sequence[Message], responses=problem_responses(404, 409))
def variants(caller: Reader, id: Id) -> Response:
    """Every message that says the same, this one included, in order of time."""
    with usage_error_as_conflict():
        return json_response(caller.readable_messages(caller.memory.variants(caller.message(id).id)))


@router.get("/v1/messages/{id}/importance", response_model=Importance, responses=problem_responses(404, 409))
def importance(caller: Reader, id: Id) -> Response:
    """The present importance of a message, with its parts."""
    with usage_error_as_conflict():
        return json_response(caller.memory.pins.importance(caller.message(id).id))


@router.put("/v1/messages/{id}/pin", response_model=Message, responses=problem_responses(404, 409))
def pin(caller: Writer, id: Id) -> Response:
    """Pin a message: it counts as important whatever it says."""
    with usage_error_as_conflict():
        return json_response(caller.memory.pin(caller.message(id).id))


@router.delete("/v1/messages/{id}/pin", response_model=Message, responses=problem_responses(404, 409))
def unpin(caller: Writer, id: Id) -> Response:
    """Unpin a message."""
    with usage_error_as_conflict():
        return json_response(caller.memory.unpin(caller.message(id).id))


@router.post("/v1/feedback", response_model=Importance, responses=problem_responses(404, 409))
def give(caller: Writer, body: FeedbackBody) -> Response:
    """Say what a recalled message was worth. Answers with its importance from now on."""
    with usage_error_as_conflict():
        return json_response(caller.memory.feedback(caller.message(body.message_id).id, body.kind))


@router.delete("/v1/feedback/{id}/{kind}", response_model=Importance, responses=problem_responses(404, 409))
def withdraw(caller: Writer, id: Id, kind: FeedbackKind) -> Response:
    """Take back the latest feedback of a kind. Answers with the importance of the message from now on."""
    with usage_error_as_conflict():
        return json_response(caller.memory.pins.withdraw_feedback(caller.message(id).id, kind))


# --- writes with a key ----------------------------------------------------------------------------------


def store_turn(caller: HttpCaller, session: Session, turn: MessageBody) -> Message:
    """Store a turn in a session, or find the one that its Idempotency-Key has stored.

    Raises:
        KeyReused: The key has stored another message.
    """
    key_external_id = (
        None if caller.key is None or turn.external_id else idempotency.external_id(caller.grant, caller.key)
    )
    existing = None if key_external_id is None else _stored_by_key(caller, session, key_external_id)
    if existing is not None:
        if not _is_same(existing, session, turn):
            raise key_reused_error()
        return existing
    return session.add(
        turn.role,
        turn.text,
        author=turn.author,
        external_id=turn.external_id or key_external_id,
        timestamp=turn.timestamp,
        reply_to=turn.reply_to,
        metadata=turn.metadata,
        agent_id=turn.agent_id,
    )


def _stored_by_key(caller: HttpCaller, session: Session, external_id: str) -> Message | None:
    """The message that a key has stored before, in any session."""
    if session.is_private:
        return next((message for message in session.messages() if message.external_id == external_id), None)
    try:
        return caller.memory.message(external_id)
    except NotFound:
        return None


def _is_same(existing: Message, session: Session, turn: MessageBody) -> bool:
    metadata = {**turn.metadata, **({"agent": turn.agent_id} if turn.agent_id else {})}
    fields = ("role", "text", "author", "reply_to")
    return (existing.session_id, existing.metadata) == (session.id, metadata) and all(
        getattr(existing, field) == getattr(turn, field) for field in fields
    )


def _target_session(caller: HttpCaller, body: NewMessageBody) -> Session:
    """The session of a new message: found by id or name, or created.

    Raises:
        NotFound: There is no session of this id.
    """
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    name = body.session_id
    if name is not None and (key_of(name) or is_private_id(name)):
        return caller.open_session(name, body.user_id, body.namespace)
    if name is not None:
        try:
            return caller.open_session(name, user or caller.memory.settings.user, namespace)
        except NotFound:
            pass  # it is created below
    elif caller.key is not None:
        name = idempotency.external_id(caller.grant, caller.key)
    return caller.memory.sessions.create(external_id=name, user_id=user, namespace=namespace)
