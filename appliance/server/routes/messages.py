"""/v1/messages: one message stored, read, compared with its like, weighed and pinned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Path
from starlette.responses import Response

from appliance.errors import NotFound
from appliance.memory.private import PrivateSession
from appliance.memory.session import Session
from appliance.server import idempotency
from appliance.server.idempotency import key_reused
from appliance.server.models import NewMessage, Turn
from appliance.server.problems import as_things_stand
from appliance.server.reach import PRIVATE, Caller, Reader, Writer
from appliance.server.routes.base import CREATED, answer, group, may
from appliance.store.sessions import key_of
from appliance.types import Importance, Message

router = group("messages")

Id = Annotated[str, Path(description="A message, such as m345.", examples=["m345"])]


@router.post("/v1/messages", response_model=Message, status_code=CREATED, responses=may(404, 409))
def add_message(caller: Writer, asked: NewMessage) -> Response:
    """Store a message in a session, or in a new one; when this answers it is on the disk and can be found."""
    with as_things_stand():
        return answer(added(caller, _session(caller, asked), asked), CREATED)


@router.get("/v1/messages/{id}", response_model=Message, responses=may(404, 409))
def message(caller: Reader, id: Id) -> Response:
    """A message, whole. It counts as recalled, unless the token only reads."""
    found = caller.message(id)
    if not caller.grant.read_only:
        caller.memory.keeping.recalled([found.id])
    return answer(found)


@router.get("/v1/messages/{id}/variants", response_model=Sequence[Message], responses=may(404, 409))
def variants(caller: Reader, id: Id) -> Response:
    """Every message that says what this one says, itself among them, in order of time."""
    return answer(caller.within(caller.memory.variants(caller.message(id).id)))


@router.get("/v1/messages/{id}/importance", response_model=Importance, responses=may(404, 409))
def importance(caller: Reader, id: Id) -> Response:
    """How important a message is now, with every part of it."""
    return answer(caller.memory.keeping.importance(caller.message(id).id))


@router.put("/v1/messages/{id}/pin", response_model=Message, responses=may(404, 409))
def pin(caller: Writer, id: Id) -> Response:
    """Let a message count as important, whatever it says."""
    return answer(caller.memory.pin(caller.message(id).id))


@router.delete("/v1/messages/{id}/pin", response_model=Message, responses=may(404, 409))
def unpin(caller: Writer, id: Id) -> Response:
    """Let a message count again for what it says."""
    return answer(caller.memory.unpin(caller.message(id).id))


# --- what is stored once ----------------------------------------------------------------------------------


def added(caller: Caller, session: Session | PrivateSession, turn: Turn) -> Message:
    """A turn stored in a session; with an Idempotency-Key the one that it has already stored, if it has.

    Raises:
        KeyReused: the key has stored something else there.
    """
    made_of = (
        None if caller.key is None or turn.external_id else idempotency.external_id(caller.grant, caller.key)
    )
    known = None if made_of is None else _known(caller, session, made_of)
    if known is not None:
        if not _same(known, session, turn):
            raise key_reused()
        return known
    return session.add(
        turn.role,
        turn.text,
        author=turn.author,
        external_id=turn.external_id or made_of,
        timestamp=turn.timestamp,
        reply_to=turn.reply_to,
        metadata=turn.metadata,
        agent_id=turn.agent_id,
    )


def _known(caller: Caller, session: Session | PrivateSession, external_id: str) -> Message | None:
    """What a key has stored before, wherever it was."""
    if isinstance(session, PrivateSession):
        return next((one for one in session.messages() if one.external_id == external_id), None)
    try:
        return caller.memory.message(external_id)
    except NotFound:
        return None


def _same(known: Message, session: Session | PrivateSession, turn: Turn) -> bool:
    said = {**turn.metadata, **({"agent": turn.agent_id} if turn.agent_id else {})}
    return (known.session_id, known.role, known.text, known.author, known.reply_to, dict(known.metadata)) == (
        session.id, turn.role, turn.text, turn.author, turn.reply_to, said,
    )  # fmt: skip


def _session(caller: Caller, asked: NewMessage) -> Session | PrivateSession:
    """The session that a new message goes to: the one that is named, found or begun.

    Raises:
        NotFound: it is named by an id, and there is none.
    """
    user, namespace = caller.user(asked.user_id), caller.namespace(asked.namespace)
    name = asked.session_id
    if name is not None and (key_of(name) or name.startswith(PRIVATE)):
        return caller.session(name, asked.user_id, asked.namespace)
    if name is not None:
        try:
            return caller.session(name, user or caller.memory.settings.user, namespace)
        except NotFound:
            pass  # it is begun
    elif caller.key is not None:
        name = idempotency.external_id(caller.grant, caller.key)
    return caller.memory.sessions.create(external_id=name, user_id=user, namespace=namespace)
