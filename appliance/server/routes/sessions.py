"""/v1/sessions: conversations listed, begun, read, gone on with, branched and removed."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from appliance.errors import NotFound, UsageError
from appliance.memory.private import PrivateSession
from appliance.server import idempotency, shapes
from appliance.server.idempotency import key_reused
from appliance.server.models import MOST, PAGE, BranchAsked, NewSession, SessionChanged, Turn, When
from appliance.server.problems import as_things_stand
from appliance.server.reach import Caller, Reader, Writer
from appliance.server.routes.base import CREATED, answer, group, may
from appliance.server.routes.messages import added
from appliance.store.listing import Sort
from appliance.types import Message, Removed, SessionInfo, Window

router = group("sessions")

Id = Annotated[str, Path(description="A session, such as s12, or its external id.", examples=["s12"])]
Limit = Annotated[int, Query(ge=1, le=MOST, description="How many at most.")]
After = Annotated[str | None, Query(description="What the page before gave as next.")]
DryRun = Annotated[bool, Query(description="Only say what would go.")]


@router.get("/v1/sessions", response_model=shapes.SessionsPage, responses=may(404))
def list_sessions(
    caller: Reader,
    user_id: Annotated[str | None, Query(min_length=1)] = None,
    namespace: str | None = None,
    agent_id: Annotated[
        str | None, Query(description="In which this agent takes part; '' for those without any.")
    ] = None,
    metadata: Annotated[
        list[Annotated[str, Query(pattern=r"^[^=]+=")]], Query(description="KEY=VALUE, each of which it has.")
    ] = [],  # noqa: B006
    source: Annotated[list[str], Query(description="Names of formats; local was begun here.")] = [],  # noqa: B006
    since: Annotated[When | None, Query(description="Last active on this day or later.")] = None,
    until: Annotated[When | None, Query(description="Last active on this day or before.")] = None,
    pinned: bool | None = None,
    title: Annotated[str, Query(description="All of these words are in the title.")] = "",
    sort: Sort = "active",
    reverse: bool = False,
    limit: Limit = PAGE,
    after: After = None,
) -> Response:
    """A user's conversations, the last active first, page by page."""
    user, namespace = caller.user(user_id), caller.namespace(namespace)
    with _page_is_there(after):
        found = caller.memory.sessions.list(
            user_id=user,
            namespace=namespace,
            agent_id=agent_id,
            metadata=dict(one.split("=", 1) for one in metadata),
            sources=source,
            since=since,
            until=until,
            pinned=pinned,
            title=title,
            sort=sort,
            reverse=reverse,
            limit=limit,
            after=after,
        )
    return answer(shapes.SessionsPage(tuple(found), found.next))


@router.post("/v1/sessions", response_model=SessionInfo, status_code=CREATED, responses=may(409))
def begin(caller: Writer, asked: NewSession) -> Response:
    """Begin a conversation, or find the one of this external id again and set what is given."""
    user, namespace = caller.user(asked.user_id), caller.namespace(asked.namespace)
    with as_things_stand():
        if asked.private:
            return answer(_private(caller, asked, user, namespace).info, CREATED)
        once = (
            None
            if asked.external_id or caller.key is None
            else idempotency.external_id(caller.grant, caller.key)
        )
        known = None if once is None else _known(caller, once, user)
        if known is not None:
            if not _same(known, asked, namespace):
                raise key_reused()
            return answer(known, CREATED)
        begun = caller.memory.sessions.create(
            title=asked.title,
            user_id=user,
            namespace=namespace,
            agent_id=asked.agent_id,
            metadata=asked.metadata,
            external_id=asked.external_id or once,
            ttl=asked.ttl,
            storage_scope=asked.storage_scope,
            options=_options(asked),
        )
    return answer(begun.info, CREATED)


@router.get("/v1/sessions/{id}", response_model=SessionInfo, responses=may(404, 409))
def session(caller: Reader, id: Id) -> Response:
    """A conversation: title, scope, counts and times, without its messages."""
    with as_things_stand():
        return answer(caller.info(id))


@router.patch("/v1/sessions/{id}", response_model=SessionInfo, responses=may(404, 409))
def change(caller: Writer, id: Id, asked: SessionChanged) -> Response:
    """Change what is named, and leave the rest."""
    named = asked.model_fields_set
    with as_things_stand():
        found = caller.session(id)
        # What a session can refuse comes first, so that all is changed or nothing.
        if "ttl" in named:
            found.set_ttl(asked.ttl)
        if "storage_scope" in named:
            found.set_storage_scope(asked.storage_scope)
        if "pinned" in named:
            _ = found.pin() if asked.pinned else found.unpin()
        if "options" in named:
            found.configure(asked.options.kept())
        if "title" in named:
            found.rename(asked.title)
    return answer(found.info)


@router.delete("/v1/sessions/{id}", response_model=Removed, responses=may(404, 409))
def delete(caller: Writer, id: Id, dry_run: DryRun = False) -> Response:
    """Remove a conversation with its messages; what branches share goes over to them."""
    with as_things_stand():
        return answer(caller.session(id).delete(dry_run=dry_run))


@router.post("/v1/sessions/{id}/clear", response_model=Removed, responses=may(404, 409))
def clear(caller: Writer, id: Id, dry_run: DryRun = False) -> Response:
    """Remove a conversation's messages; what branches share goes over to them."""
    with as_things_stand():
        return answer(caller.session(id).clear(dry_run=dry_run))


@router.get("/v1/sessions/{id}/messages", response_model=shapes.MessagesPage, responses=may(404, 409))
def messages(caller: Reader, id: Id, limit: Limit = PAGE, after: After = None) -> Response:
    """What was said in a conversation, in order, page by page; of a branch, first what it shares."""
    with as_things_stand():
        turns = caller.session(id).messages()
    start = 0
    if after is not None:
        places = [place for place, turn in enumerate(turns, 1) if turn.id == after]
        if not places:
            raise NotFound(
                f"no page begins behind {after!r}", hint="the message is gone: begin with the first page"
            )
        start = places[0]
    page = turns[start : start + limit]
    more = start + limit < len(turns)
    return answer(shapes.MessagesPage(tuple(page), page[-1].id if more else None))


@router.post(
    "/v1/sessions/{id}/messages", response_model=Message, status_code=CREATED, responses=may(404, 409)
)
def add(caller: Writer, id: Id, asked: Turn) -> Response:
    """Store a turn; when this answers it is on the disk and can be found."""
    with as_things_stand():
        return answer(added(caller, caller.session(id), asked), CREATED)


@router.post(
    "/v1/sessions/{id}/branch", response_model=SessionInfo, status_code=CREATED, responses=may(404, 409)
)
def branch(caller: Writer, id: Id, asked: BranchAsked) -> Response:
    """Begin a conversation with the same past and a future of its own."""
    with as_things_stand():
        return answer(caller.session(id).branch(asked.at, title=asked.title).info, CREATED)


@router.get("/v1/sessions/{id}/window", response_model=Window, responses=may(404, 409))
def window(caller: Reader, id: Id) -> Response:
    """Its working memory: the running summary and the latest turns."""
    with as_things_stand():
        return answer(caller.session(id).window())


@router.get("/v1/sessions/{id}/summaries", response_model=shapes.SummariesAnswer, responses=may(404, 409))
def summaries(caller: Reader, id: Id) -> Response:
    """The summaries of a conversation, the whole before its parts."""
    with as_things_stand():
        found = caller.session(id)
        if isinstance(found, PrivateSession):
            return answer(shapes.SummariesAnswer(()))
        return answer(shapes.SummariesAnswer(tuple(caller.memory.summaries.list(session_id=found.id))))


# --- what is begun once -----------------------------------------------------------------------------------


def _private(caller: Caller, asked: NewSession, user: str | None, namespace: str) -> PrivateSession:
    return caller.memory.sessions.create(
        title=asked.title,
        user_id=user,
        namespace=namespace,
        agent_id=asked.agent_id,
        metadata=asked.metadata,
        options=_options(asked),
        private=True,
    )


def _options(asked: NewSession) -> dict[str, object] | None:
    if asked.options is None:
        return None
    return {name: value for name, value in asked.options.kept().items() if value is not None}


def _known(caller: Caller, external_id: str, user: str | None) -> SessionInfo | None:
    """What a key has begun before."""
    try:
        return caller.info(external_id, user)
    except NotFound:
        return None


def _same(known: SessionInfo, asked: NewSession, namespace: str) -> bool:
    title = None if asked.title is None else " ".join(asked.title.split())
    return (known.namespace, known.agent_id, dict(known.metadata)) == (
        namespace, asked.agent_id, asked.metadata,
    ) and (title is None or known.title == title)  # fmt: skip


class _page_is_there:
    """A cursor that is none names a page that is not there."""

    def __init__(self, after: str | None) -> None:
        self._after = after

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._after is not None and isinstance(error, UsageError):
            raise NotFound(str(error.args[0]), where=error.where, hint=error.hint) from error
