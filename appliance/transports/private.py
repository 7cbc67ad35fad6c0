"""Private sessions: kept in this process's memory, whichever transport carries the other requests."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from appliance import requests as r
from appliance.errors import ApplianceError, NotFound, UsageError
from appliance.requests import PRIVATE_ID_BYTES, PRIVATE_PREFIX, Request, is_private_id, recall_options
from appliance.transports.base import Transport
from appliance.transports.codec import check_types
from appliance.types import Message, OnProgress, RemovalResult, SessionInfo, Window

if TYPE_CHECKING:
    from appliance.memory.sessions import SessionService
    from appliance.settings import Settings

R = TypeVar("R")

_NAMING_FIELDS = ("reference", "references", "ids", "message_id", "message_ids", "why_not")
"""The fields of requests that name messages, and sessions among them."""

FORMAT = "private"
"""The format of private sessions, which no stored session has."""


class PrivateTransport:
    """Carries out requests about private sessions itself, and passes all others on.

    A context for a private session uses the long-term memory of its user, which learns nothing from the session.
    """

    def __init__(self, transport: Transport, settings: Settings) -> None:
        self._transport = transport
        self._settings = settings
        self._lock = threading.RLock()
        self._service: SessionService | None = None
        self._stored_ids: dict[str, str] = {}
        self._private_ids: dict[str, str] = {}
        self._message_ids: dict[str, str] = {}

    def send(self, request: Request[R], on_progress: OnProgress | None = None) -> R:
        """Carry out a request, as ``Transport.send``."""
        check_types(request)
        result: Any
        if isinstance(request, r.CreateSessionRequest) and request.private:
            with self._lock:
                # It expires with its program, and is found by its id only.
                result = self._begin(self._sessions().create(replace(request, private=False, ttl=0, external_id=None)))
            return result  # type: ignore[no-any-return]
        if isinstance(request, r.SearchRequest) and is_private_id(request.asked_in or ""):
            # It shares nothing with the search, and learns nothing from it; but it must be there.
            self.send(r.SessionRequest(request.asked_in or "", user_id=request.user_id))
            searched: Any = replace(request, asked_in=None)
            result = self.send(searched)
            return result  # type: ignore[no-any-return]
        id = _session_of(request)
        if id is None or not is_private_id(id):
            if named := _private_ids_in(request):
                result = self._send_naming(request, named, on_progress)
                return result  # type: ignore[no-any-return]
            return self._transport.send(request, on_progress)
        with self._lock:
            if id not in self._stored_ids:
                raise NotFound(f"There is no session {id!r}.", hint="A private session ends with its program.")
            _check_private(request, id)
            if isinstance(request, r.ListSummariesRequest):
                result = []  # nothing is made of a private session
                return result  # type: ignore[no-any-return]
            if not isinstance(request, r.ContextRequest):
                result = self._run(request, id)
                return result  # type: ignore[no-any-return]
            context = self._context(request, id)
        result = self._transport.send(context)
        return result  # type: ignore[no-any-return]

    def _send_naming(self, request: Any, named: Sequence[str], on_progress: OnProgress | None) -> Any:
        """Send a request that names private sessions or messages other than as the session that it is about.

        Raises:
            UsageError: It is there, and the request asks for more than to read it.
        """
        if isinstance(request, r.RecalledRequest):
            return self._transport.send(
                replace(request, message_ids=tuple(id for id in request.message_ids if id not in named)), on_progress
            )
        with self._lock:
            for id in named:
                message = self._message(id)
                if message is not None and isinstance(request, r.MessageRequest):
                    return message
                if message is not None or id in self._stored_ids:
                    raise _not_indexed("Session" if message is None else "Message", id)
        return self._transport.send(request, on_progress)

    def _message(self, id: str) -> Message | None:
        """The message of a private session; a branch may have it alone."""
        for session in self._stored_ids:
            for message in self._run(r.SessionMessagesRequest(session), session):
                if message.id == id:
                    return message  # type: ignore[no-any-return]
        return None

    def close(self) -> None:
        """Forget the private sessions, and let go of the engine."""
        with self._lock:
            self._stored_ids.clear()
            self._service = None
        self._transport.close()

    def _sessions(self) -> SessionService:
        if self._service is None:
            from appliance.engine.private_sessions import private_session_service

            self._service = private_session_service(self._settings)
        return self._service

    def _begin(self, stored: SessionInfo) -> SessionInfo:
        id = PRIVATE_PREFIX + secrets.token_hex(PRIVATE_ID_BYTES)
        self._stored_ids[id], self._private_ids[stored.id] = stored.id, id
        info: SessionInfo = self._renamed(stored)
        return info

    def _run(self, request: Any, id: str) -> Any:
        """Carry out a request about one session on the service, in its ids."""
        name = "session_id" if hasattr(request, "session_id") else "reference"
        inner = replace(request, **{name: self._stored_ids[id]})
        if isinstance(inner, r.BranchRequest):
            return self._begin(self._sessions().branch(replace(inner, at=self._branch_point(request))))
        method: Callable[[Any], Any] = getattr(self._sessions(), request.name.removeprefix("sessions."))
        try:
            result = method(inner)
        except NotFound as error:
            raise NotFound(f"There is no session {id!r} of this user.") from error
        except ApplianceError as error:
            hint = error.hint and self._with_private_ids(error.hint)
            raise type(error)(self._with_private_ids(str(error)), hint=hint) from error
        if isinstance(request, r.DeleteSessionRequest) and not request.dry_run:
            del self._private_ids[self._stored_ids.pop(id)]
        return self._renamed(result)

    def _branch_point(self, request: r.BranchRequest) -> str:
        """The service's id of the message at which a session branches.

        Raises:
            UsageError: There is no message yet, or ``at`` is of another session.
        """
        turns: Sequence[Message] = self._run(r.SessionMessagesRequest(request.session_id), request.session_id)
        if not turns:
            raise UsageError(f"Session {request.session_id} has no message to branch at.", hint="Add a message first.")
        at = turns[-1].id if request.at is None else request.at
        for turn in sorted(turns, key=lambda turn: turn.id != at):  # an id goes before an external id
            if at in (turn.id, turn.external_id):
                return next(stored for stored, id in self._message_ids.items() if id == turn.id)
        raise UsageError(f"Message {at!r} does not belong to session {request.session_id}.")

    def _with_private_ids(self, words: str) -> str:
        """What an error says, in the ids of private sessions and their messages."""
        return re.sub(
            r"\b[sm]\d+\b", lambda id: self._private_ids.get(id[0]) or self._message_ids.get(id[0], id[0]), words
        )

    def _context(self, request: r.ContextRequest, id: str) -> r.ContextRequest:
        """A context's request in terms of the long-term memory: the session itself comes as its window."""
        info: SessionInfo = self._run(r.SessionRequest(id), id)
        window: Window = self._run(r.WindowRequest(id), id)
        options = recall_options.resolve(request, info.options, recall_options.RecallOptions(None))
        return replace(
            request,
            session_id=None,
            user_id=info.user_id,
            namespace=info.namespace,
            window=window,
            auto_recall=options.auto_recall,
            recall_limit=options.recall_limit,
            min_score=options.min_score,
            counted=False,
        )

    def _renamed(self, result: Any) -> Any:
        """A result in the ids of private sessions."""
        if isinstance(result, SessionInfo):
            branch_of = self._private_ids.get(result.branch_of or "")
            branch_at = self._message_ids.get(result.branch_at or "") if branch_of else None
            id = self._private_ids[result.id]
            return replace(
                result, id=id, external_id=id, format=FORMAT, storage_scope="none", ttl=None, branch_of=branch_of,
                branch_at=branch_at,
            )  # fmt: skip
        if isinstance(result, Message):
            session_id = self._private_ids[result.session_id]
            # An id stays, even when the session that added the message is gone and a branch has it.
            id = self._message_ids.setdefault(result.id, f"{session_id}-{result.id[1:]}")
            return replace(result, id=id, session_id=session_id)
        if isinstance(result, Window):
            return replace(
                result,
                session_id=self._private_ids[result.session_id],
                quotes=tuple(replace(quote, message_id=self._message_ids[quote.message_id]) for quote in result.quotes),
                turns=tuple(map(self._renamed, result.turns)),
            )
        if isinstance(result, RemovalResult):
            return replace(result, heir=self._private_ids.get(result.heir or ""))
        return [self._renamed(one) for one in result] if isinstance(result, list) else result


def _session_of(request: Request[Any]) -> str | None:
    """The session that a request names, if it names one."""
    names_one = isinstance(request, r.SessionRequest | r.ResumeSessionRequest | r.SessionMessagesRequest)
    name = "reference" if names_one else "session" if isinstance(request, r.OutlineRequest) else "session_id"
    id: str | None = getattr(request, name, None)
    return id


def _private_ids_in(request: Request[Any]) -> list[str]:
    """The ids of private sessions and messages among all that a request names."""
    named: list[str] = []
    for field in _NAMING_FIELDS:
        value = getattr(request, field, None)
        named += [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return [id for id in named if isinstance(id, str) and is_private_id(id)]


def _not_indexed(what: str, id: str) -> UsageError:
    return UsageError(
        f"{what} {id} is private and not indexed.", hint="It is kept in memory only: read its messages, or delete it."
    )


def _check_private(request: Request[Any], id: str) -> None:
    """
    Raises:
        UsageError: The request asks to keep, to share or to search a private session.
    """
    if not request.name.startswith("sessions.") and not isinstance(request, r.ContextRequest | r.ListSummariesRequest):
        raise _not_indexed("Session", id)
    shares = isinstance(request, r.SetStorageScopeRequest) and request.scope != "none"
    if isinstance(request, r.PinSessionRequest | r.SetTtlRequest) or shares:
        raise UsageError(f"Session {id} is private: it is kept in memory only, and shares nothing with other sessions.")
