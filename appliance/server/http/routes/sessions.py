"""/v1/sessions: conversations listed, created, read, extended, branched and deleted."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from appliance.errors import NotFound, UsageError
from appliance.resources import Session
from appliance.server.http import idempotency, responses
from appliance.server.http.bodies import (
    DEFAULT_PAGE_SIZE,
    MAX_LIMIT,
    BranchBody,
    DateText,
    MessageBody,
    NewSessionBody,
    SessionPatchBody,
    Tag,
)
from appliance.server.http.caller import HttpCaller, Reader, Writer
from appliance.server.http.idempotency import key_reused_error
from appliance.server.http.problems import Conflict, usage_error_as_conflict
from appliance.server.http.routes.base import CREATED, json_response, make_router, problem_responses
from appliance.server.http.routes.messages import store_turn
from appliance.types import LOCAL, Message, RemovalResult, SessionInfo, SessionOrder, Window
from appliance.types.vocabulary import MAX_FILTER_VALUES

router = make_router("sessions")

Id = Annotated[str, Path(description="A session, such as s12, or its external id.", examples=["s12"])]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="How many at most.")]
After = Annotated[str | None, Query(description="The next of the page before.")]
DryRun = Annotated[bool, Query(description="Only report what would be deleted.")]


@router.get("/v1/sessions", response_model=responses.SessionsAnswer, responses=problem_responses(404))
def list_sessions(
    caller: Reader,
    user_id: Annotated[str | None, Query(min_length=1)] = None,
    namespace: str | None = None,
    agent_id: Annotated[
        str | None, Query(description="Only sessions with this agent; '' for those without an agent.")
    ] = None,
    metadata: Annotated[
        list[Annotated[str, Query(pattern=r"^[^=]+=")]],
        Query(max_length=MAX_FILTER_VALUES, description="KEY=VALUE pairs that the session's metadata has."),
    ] = [],  # noqa: B006
    source: Annotated[
        list[str], Query(max_length=MAX_FILTER_VALUES, description="Names of formats; local means created here.")
    ] = [],  # noqa: B006
    since: Annotated[DateText | None, Query(description="Last active on this day or later.")] = None,
    until: Annotated[DateText | None, Query(description="Last active on this day or before.")] = None,
    pinned: bool | None = None,
    title: Annotated[str, Query(description="Words that the title has.")] = "",
    tag: Annotated[list[Tag], Query(max_length=MAX_FILTER_VALUES, description="Tags, of which one suffices.")] = [],  # noqa: B006
    sort: SessionOrder = "active",
    reverse: bool = False,
    limit: Limit = DEFAULT_PAGE_SIZE,
    after: After = None,
) -> Response:
    """A user's conversations, the last active first, page by page."""
    user, namespace = caller.resolve_user(user_id), caller.resolve_namespace(namespace)
    with _invalid_cursor_as_not_found(after):
        page = caller.memory.sessions.list(
            user_id=user,
            namespace=namespace,
            agent_id=agent_id,
            metadata=dict(one.split("=", 1) for one in metadata),
            sources=source,
            since=since,
            until=until,
            pinned=pinned,
            title=title,
            tags=tag,
            sort=sort,
            reverse=reverse,
            limit=limit,
            after=after,
        )
    return json_response(responses.SessionsAnswer(tuple(caller.visible_sessions(page)), page.next))


@router.post("/v1/sessions", response_model=SessionInfo, status_code=CREATED, responses=problem_responses(409))
def begin(caller: Writer, body: NewSessionBody) -> Response:
    """Create a session; with the external id of an existing one, update that."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    with usage_error_as_conflict():
        if body.private:
            return json_response(_create_private(caller, body, user, namespace).info, CREATED)
        key_external_id = (
            None if body.external_id or caller.key is None else idempotency.external_id(caller.grant, caller.key)
        )
        existing = None if key_external_id is None else _created_by_key(caller, key_external_id, user)
        if existing is not None:
            if not _is_same(existing, body, namespace):
                raise key_reused_error()
            return json_response(existing, CREATED)
        if body.external_id is not None and not caller.grant.is_owner:
            _check_existing(caller, body, user, namespace)
        created = caller.memory.sessions.create(
            title=body.title,
            user_id=user,
            namespace=namespace,
            agent_id=body.agent_id,
            metadata=body.metadata,
            external_id=body.external_id or key_external_id,
            ttl=body.ttl,
            storage_scope=body.storage_scope,
            options=_options(body),
        )
    return json_response(created.info, CREATED)


@router.get("/v1/sessions/{id}", response_model=SessionInfo, responses=problem_responses(404, 409))
def session(caller: Reader, id: Id) -> Response:
    """A session: title, scope, counts and times, without its messages."""
    with usage_error_as_conflict():
        return json_response(caller.session_of(id))


@router.patch("/v1/sessions/{id}", response_model=SessionInfo, responses=problem_responses(404, 409))
def change(caller: Writer, id: Id, body: SessionPatchBody) -> Response:
    """Change the named properties of a session."""
    fields = body.model_fields_set
    with usage_error_as_conflict():
        target = caller.open_session(id)
        if "storage_scope" in fields:
            caller.check_scope_change(target.info, body.storage_scope)
        # Changes that can fail come first, so that either all or none take effect.
        if "ttl" in fields:
            target.set_ttl(body.ttl)
        if "storage_scope" in fields:
            target.set_storage_scope(body.storage_scope)
        if "pinned" in fields:
            _ = target.pin() if body.pinned else target.unpin()
        if "options" in fields:
            target.configure(body.options.to_stored())
        if "title" in fields:
            target.rename(body.title)
    return json_response(target.info)


@router.delete("/v1/sessions/{id}", response_model=RemovalResult, responses=problem_responses(404, 409))
def delete(caller: Writer, id: Id, dry_run: DryRun = False) -> Response:
    """Delete a session with its messages. Branches keep the messages that they share."""
    with usage_error_as_conflict():
        return json_response(caller.open_session(id).delete(dry_run=dry_run))


@router.post("/v1/sessions/{id}/clear", response_model=RemovalResult, responses=problem_responses(404, 409))
def clear(caller: Writer, id: Id, dry_run: DryRun = False) -> Response:
    """Delete a session's messages. Branches keep the messages that they share."""
    with usage_error_as_conflict():
        return json_response(caller.open_session(id).clear(dry_run=dry_run))


@router.get(
    "/v1/sessions/{id}/messages", response_model=responses.MessagesAnswer, responses=problem_responses(404, 409)
)
def messages(caller: Reader, id: Id, limit: Limit = DEFAULT_PAGE_SIZE, after: After = None) -> Response:
    """The messages of a session in order, page by page; a branch begins with the messages that it shares."""
    with usage_error_as_conflict():
        turns = caller.messages(caller.session_of(id, readable=True))
    start = 0
    if after is not None:
        positions = [position for position, turn in enumerate(turns, 1) if turn.id == after]
        if not positions:
            raise NotFound(f"There is no message {after!r} to continue after.", hint="Begin with the first page.")
        start = positions[0]
    page = turns[start : start + limit]
    more = start + limit < len(turns)
    return json_response(responses.MessagesAnswer(tuple(page), page[-1].id if more else None))


@router.post(
    "/v1/sessions/{id}/messages", response_model=Message, status_code=CREATED, responses=problem_responses(404, 409)
)
def add(caller: Writer, id: Id, body: MessageBody) -> Response:
    """Store a message. Once answered, it is on the disk and can be found."""
    with usage_error_as_conflict():
        return json_response(store_turn(caller, caller.open_session(id), body), CREATED)


@router.post(
    "/v1/sessions/{id}/branch", response_model=SessionInfo, status_code=CREATED, responses=problem_responses(404, 409)
)
def branch(caller: Writer, id: Id, body: BranchBody) -> Response:
    """Create a session that shares this one's past."""
    with usage_error_as_conflict():
        parent = caller.open_session(id)
        external_id = None
        if caller.key is not None and not parent.is_private:
            external_id = idempotency.external_id(caller.grant, caller.key)
            if (existing := _created_by_key(caller, external_id, parent.info.user_id)) is not None:
                if not _is_same_branch(existing, parent, body):
                    raise key_reused_error()
                return json_response(existing, CREATED)
        return json_response(parent.branch(body.at, title=body.title, external_id=external_id).info, CREATED)


@router.get("/v1/sessions/{id}/window", response_model=Window, responses=problem_responses(404, 409))
def window(caller: Reader, id: Id) -> Response:
    """A session's working memory: the running summary and the latest turns."""
    with usage_error_as_conflict():
        info = caller.session_of(id, readable=True)
        stored = caller.memory.sessions.get(info.id, user_id=info.user_id).window()
    return json_response(replace(stored, turns=tuple(caller.shared_messages(info, stored.turns))))


@router.get(
    "/v1/sessions/{id}/summaries", response_model=responses.SummariesAnswer, responses=problem_responses(404, 409)
)
def summaries(caller: Reader, id: Id) -> Response:
    """The summaries of a session, the whole before its parts."""
    with usage_error_as_conflict():
        found = caller.open_session(id)
        return json_response(responses.SummariesAnswer(tuple(caller.memory.summaries.list(session_id=found.id))))


# --- creation -----------------------------------------------------------------------------------


def _create_private(caller: HttpCaller, body: NewSessionBody, user: str | None, namespace: str) -> Session:
    return caller.memory.sessions.create(
        title=body.title,
        user_id=user,
        namespace=namespace,
        agent_id=body.agent_id,
        metadata=body.metadata,
        options=_options(body),
        private=True,
    )


def _options(body: NewSessionBody) -> dict[str, object] | None:
    if body.options is None:
        return None
    return {name: value for name, value in body.options.to_stored().items() if value is not None}


def _created_by_key(caller: HttpCaller, external_id: str, user: str | None) -> SessionInfo | None:
    """The session that a key has created before."""
    try:
        return caller.session_of(external_id, user)
    except NotFound:
        return None


def _check_existing(caller: HttpCaller, body: NewSessionBody, user: str | None, namespace: str) -> None:
    """
    Raises:
        Conflict: The external id is that of a session that the caller may not see.
        Forbidden: It is that of a session that would share more than before.
    """
    external_id = body.external_id or ""
    try:
        info = caller.memory.sessions.info(
            external_id, user_id=user or caller.memory.settings.user, namespace=namespace
        )
    except (NotFound, UsageError):
        return
    if info.external_id != external_id or info.format != LOCAL:
        return
    if not caller.allows_session(info):
        raise Conflict(f"The external id {external_id!r} is taken.", hint="Use another one.")
    if body.storage_scope is not None:
        caller.check_scope_change(info, body.storage_scope)


def _is_same(existing: SessionInfo, body: NewSessionBody, namespace: str) -> bool:
    title = None if body.title is None else " ".join(body.title.split())
    return (existing.namespace, existing.agent_id, dict(existing.metadata)) == (
        namespace, body.agent_id, body.metadata,
    ) and (title is None or existing.title == title)  # fmt: skip


def _is_same_branch(existing: SessionInfo, parent: Session, body: BranchBody) -> bool:
    point = next((turn for turn in parent.messages() if turn.id == existing.branch_at), None)
    title = None if body.title is None else " ".join(body.title.split())
    return (
        point is not None
        and body.at in (None, point.id, point.external_id)
        and (title is None or existing.title == title)
    )  # fmt: skip


class _invalid_cursor_as_not_found:
    """Turns the error for an invalid cursor into NotFound."""

    def __init__(self, after: str | None) -> None:
        self._after = after

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._after is not None and isinstance(error, UsageError):
            raise NotFound(str(error.args[0]), where=error.where, hint=error.hint) from error
