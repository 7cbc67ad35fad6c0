"""How far a caller reaches: every name in a request becomes a thing of the memory here, or an error.

The owner reaches all. Any other grant is of one user and one namespace: what lies outside of them is not there, and
is answered as if there never had been such a thing, whatever it is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Request

from appliance.engine import Engine
from appliance.errors import NotFound, UsageError
from appliance.memory.private import PrivateSession
from appliance.memory.session import Session
from appliance.server.problems import Forbidden
from appliance.server.service import Grant, Service, grant_of
from appliance.types import Fact, Message, SessionInfo, Summary

PRIVATE = "private-"
"""How the ids of sessions begin that are kept in memory only."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and what they reach. ``key`` is the Idempotency-Key of a write, if it has one."""

    service: Service
    grant: Grant
    key: str | None = None

    @property
    def memory(self) -> Engine:
        return self.service.memory

    # --- whose ----------------------------------------------------------------------------------------

    def user(self, named: str | None) -> str | None:
        """The user who is meant: the one who is named, else the only one of the grant; None is the configured one.

        Raises:
            Forbidden: the grant is another user's.
        """
        if self.grant.is_owner:
            return named
        if named not in (None, self.grant.user_id):
            raise Forbidden(
                "this token is another user's", hint="leave user_id out: the token says whose memory it is"
            )
        return self.grant.user_id

    def namespace(self, named: str | None) -> str:
        """The namespace that is meant, as ``user`` does it.

        Raises:
            Forbidden: the grant is for another one.
        """
        if self.grant.is_owner:
            return named or ""
        own = self.grant.namespace or ""
        if named not in (None, own):
            raise Forbidden(
                "this token is for another namespace", hint="leave namespace out: the token has its own"
            )
        return own

    def require_owner(self, what: str) -> None:
        """
        Raises:
            Forbidden: it is not the owner who asks.
        """
        if not self.grant.is_owner:
            raise Forbidden(f"{what} for the owner of the memory alone")

    # --- what -----------------------------------------------------------------------------------------

    def session(
        self, reference: str, user_id: str | None = None, namespace: str | None = None
    ) -> Session | PrivateSession:
        """The session of an id or an external id; only one of ``user_id`` and of ``namespace`` where they are named.

        Raises:
            NotFound: there is none, or it is out of reach.
            UsageError: several have this external id.
        """
        info = self.info(reference, user_id, namespace)
        return self.memory.sessions.get(info.id, user_id=info.user_id)

    def info(self, reference: str, user_id: str | None = None, namespace: str | None = None) -> SessionInfo:
        """What is known of that session, as ``session`` finds it."""
        user = self.user(user_id)
        own = namespace if self.grant.is_owner else self.namespace(namespace)
        try:
            if reference.startswith(PRIVATE):
                found = self.memory.sessions.get(reference, user_id=user).info
            else:
                found = self.memory.sessions.info(reference, user_id=user, namespace=own)
        except NotFound:
            if self.grant.is_owner:
                raise
            raise _no("session", reference) from None
        self._check_reach(found, "session", reference)
        return found

    def message(self, reference: str) -> Message:
        """The message of an id; the owner may name it by its external id, too.

        Raises:
            NotFound: there is none, or it is out of reach.
        """
        if self.grant.is_owner:
            return self.memory.message(reference)
        try:
            found = self.memory.message(reference)
            self._check_reach(self.memory.sessions.info(found.session_id), "message", reference)
        except (NotFound, UsageError):
            raise _no("message", reference) from None
        if found.id != reference:
            # What is called so elsewhere must not decide whether one's own is found.
            raise _no("message", reference)
        return found

    def within(self, found: Sequence[Message]) -> list[Message]:
        """Those of some messages that are in reach."""
        if self.grant.is_owner:
            return [*found]
        reached = {
            id: self._reaches(self.memory.sessions.info(id)) for id in {one.session_id for one in found}
        }
        return [one for one in found if reached[one.session_id]]

    def summary(self, id: str) -> Summary:
        """The summary of an id.

        Raises:
            NotFound: there is none, or it is out of reach.
        """
        try:
            found = self.memory.summaries.get(id)
            if not self.grant.is_owner:
                self._check_reach(self.memory.sessions.info(found.session_id), "summary", id)
        except NotFound:
            if self.grant.is_owner:
                raise
            raise _no("summary", id) from None
        return found

    def fact(self, id: str) -> Fact:
        """The fact of an id.

        Raises:
            NotFound: there is none, or it is out of reach.
        """
        try:
            return self.memory.facts.get(id, user_id=self.grant.user_id, namespace=self.grant.namespace)
        except NotFound:
            if self.grant.is_owner:
                raise
            raise _no("fact", id) from None

    def named(self, reference: str) -> str:
        """The id of the session or the message that a reference names.

        Raises:
            NotFound: there is none, or it is out of reach.
        """
        try:
            return self.info(reference).id
        except NotFound:
            try:
                return self.message(reference).id
            except NotFound:
                raise _no("session or message", reference) from None

    def _check_reach(self, info: SessionInfo, kind: str, reference: str) -> None:
        if not self._reaches(info):
            raise _no(kind, reference)

    def _reaches(self, info: SessionInfo) -> bool:
        own = (self.grant.user_id, self.grant.namespace or "")
        return self.grant.is_owner or (info.user_id, info.namespace) == own


def _no(kind: str, reference: str) -> NotFound:
    return NotFound(f"there is no {kind} {reference!r}")


# --- as the routes are given it ---------------------------------------------------------------------------


async def reader(request: Request) -> Caller:
    """Who asks, to read."""
    return Caller(request.app.state.service, grant_of(request.scope))


async def writer(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(
            description="Anything that this write alone has, such as a UUID: sent again with the same key, it is not"
            " done again.",
            min_length=8,
            max_length=255,
            pattern=r"^[A-Za-z0-9._:/+=-]+$",
        ),
    ] = None,
) -> Caller:
    """Who asks, to change something.

    Raises:
        Forbidden: the token only reads.
    """
    grant = grant_of(request.scope)
    if grant.read_only:
        raise Forbidden("this token only reads", hint="'appliance tokens new' gives out one that writes")
    return Caller(request.app.state.service, grant, idempotency_key)


Reader = Annotated[Caller, Depends(reader)]
Writer = Annotated[Caller, Depends(writer)]
