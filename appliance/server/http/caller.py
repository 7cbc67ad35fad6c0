"""Who sent an HTTP request: the access policy as the routes use it, and the dependencies that inject it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Request

from appliance.errors import NotFound
from appliance.lazy_dataclasses import dataclass
from appliance.resources import Session
from appliance.server.access.grants import Service, get_grant
from appliance.server.access.policy import AccessPolicy
from appliance.server.http.problems import Forbidden
from appliance.types import Message, SessionInfo, StorageScope


@dataclass(frozen=True, slots=True)
class HttpCaller(AccessPolicy):
    """The sender of a request. ``key`` is the Idempotency-Key of a write, if it has one."""

    service: Service
    key: str | None = None

    def resolve_user(self, requested: str | None) -> str | None:
        """The user that a request means; None is the configured one.

        Raises:
            Forbidden: The grant is another user's.
        """
        if self.grant.is_owner:
            return requested
        if requested not in (None, self.grant.user_id):
            raise Forbidden("This token is for another user.", hint="Leave user_id out; the token determines the user.")
        return self.grant.user_id

    def resolve_namespace(self, requested: str | None) -> str:
        """The namespace that a request means.

        Raises:
            Forbidden: The grant is for another one.
        """
        if self.grant.is_owner:
            return requested or ""
        if requested not in (None, self.namespace):
            raise Forbidden(
                "This token is for another namespace.", hint="Leave namespace out; the token determines it."
            )
        return self.namespace

    def require_owner(self, what: str) -> None:
        """
        Raises:
            Forbidden: The grant is not the owner's.
        """
        if not self.grant.is_owner:
            raise Forbidden(f"Only the owner of the memory may read {what}.")

    def check_scope_change(self, info: SessionInfo, scope: StorageScope) -> None:
        """
        Raises:
            Forbidden: The session would share more than before, which only its owner decides.
        """
        if not self.allows_scope_change(info.storage_scope, scope):
            raise Forbidden(
                f"Session {info.id} shares {info.storage_scope}, and this token can't widen that.",
                hint="'appliance sessions scope' sets what a session shares.",
            )

    def session_of(
        self, reference: str, user_id: str | None = None, namespace: str | None = None, *, readable: bool = False
    ) -> SessionInfo:
        """The session of an id or an external id.

        Args:
            reference: An id, or an external id.
            user_id: Only a session of this user; any the caller may see if None.
            namespace: Only a session in this namespace; any the caller may see if None.
            readable: Whether the caller must be allowed to read its messages.

        Raises:
            NotFound: There is no such session that the caller may see.
            UsageError: Several sessions have this external id.
            Forbidden: The user or namespace is not the grant's.
        """
        user = self.resolve_user(user_id)
        if self.grant.is_owner:
            return self.memory.sessions.info(reference, user_id=user, namespace=namespace)
        self.resolve_namespace(namespace)
        return self.readable_session(reference) if readable else self.session(reference)

    def open_session(self, reference: str, user_id: str | None = None, namespace: str | None = None) -> Session:
        """As ``session_of``, with the session's verbs."""
        info = self.session_of(reference, user_id, namespace)
        return self.memory.sessions.get(info.id, user_id=info.user_id)

    def message(self, reference: str) -> Message:
        """A message that the caller may read.

        Raises:
            NotFound: There is none.
        """
        return self.memory.message(reference) if self.grant.is_owner else self.message_with_session(reference)[0]

    def resolve_id(self, reference: str) -> str:
        """The id of the session or the message that a reference names.

        Raises:
            NotFound: There is none that the caller may see.
        """
        try:
            return self.session(reference).id
        except NotFound:
            try:
                return self.message(reference).id
            except NotFound:
                raise self.not_found("session or message", reference) from None


async def reader(request: Request) -> HttpCaller:
    """The caller of a request that reads."""
    service: Service = request.app.state.service
    return HttpCaller(service.masked, get_grant(request.scope), service)


async def writer(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(
            description="A value that only this write has, such as a UUID. Sent again with the same key, the write is"
            " not repeated.",
            min_length=8,
            max_length=255,
            pattern=r"^[A-Za-z0-9._:/+=-]+$",
        ),
    ] = None,
) -> HttpCaller:
    """The caller of a request that writes.

    Raises:
        Forbidden: The token is read-only.
    """
    service: Service = request.app.state.service
    grant = get_grant(request.scope)
    if grant.read_only:
        raise Forbidden("This token is read-only.", hint="'appliance tokens new' creates one that writes.")
    return HttpCaller(service.masked, grant, service, idempotency_key)


Reader = Annotated[HttpCaller, Depends(reader)]
Writer = Annotated[HttpCaller, Depends(writer)]
