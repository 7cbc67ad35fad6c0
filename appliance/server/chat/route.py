"""``/v1/chat/completions`` as OpenAI has it, with memory: any chat client points here, and the model at
``llm.base_url`` answers.

``complete`` reads top to bottom: read the request → what the memory knows → store what is new → forward → pass the
answer through and store it. docs/proxy.md says what clients may ask for, and what they are told.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response, StreamingResponse

from appliance.errors import ApplianceError, EndpointError, NotFound, UsageError
from appliance.server.chat import document, turns, upstream
from appliance.server.chat.following import Following, Owner, Place
from appliance.server.chat.upstream import Upstream

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from appliance.engine import Engine
    from appliance.server.service import Grant, Service
    from appliance.types import Context

MOST_NAMED = 200
"""Ids of messages in a header: proxies and clients give up on long ones."""

DIGITS = 9
"""Of a budget: no model reads a thousand million tokens."""

QUESTION = 4_000
"""Characters of a turn that are asked about. In one that is longer something was pasted, and what is wanted stands
before it or behind it."""

router = APIRouter(tags=["chat"])


@dataclass(frozen=True, slots=True)
class Wish:
    """What a request asks of the memory: whether it is read and written, for which session, with how many tokens."""

    owner: Owner
    reads: bool
    writes: bool
    name: str | None
    budget: int


@dataclass(frozen=True, slots=True)
class Added:
    """What the memory added to a request, and where the request stands in it."""

    place: Place | None = None
    context: Context | None = None
    notes: tuple[str, ...] = ()

    @property
    def knowledge(self) -> str:
        return self.context.text if self.context is not None else ""

    def headers(self) -> dict[str, str]:
        """What the client is told."""
        layers = self.context.layers if self.context is not None else ()
        ids = [item.message_id for layer in layers if layer.name == "retrieved" for item in layer.items]
        more = [f"{len(ids) - MOST_NAMED} more messages"] if len(ids) > MOST_NAMED else []
        told = {
            "X-Memory-Session": self.place.session_id if self.place is not None else "",
            "X-Memory-Tokens": str(self.context.tokens if self.context is not None else 0),
            "X-Memory-Messages": ",".join(ids[:MOST_NAMED]),
            "X-Memory-Notes": "; ".join((*self.notes, *more)),
        }
        return {name: _plain(words) for name, words in told.items() if words}


@router.get(
    "/v1/models", summary="The models of the endpoint that chats are forwarded to", responses=document.MODELS
)
async def models(request: Request) -> Response:
    """As the endpoint lists them."""
    service: Service = request.app.state.service
    try:
        whole = await _upstream(service).get("/models")
    except ApplianceError as error:
        return _refused(error)
    return Response(whole.body, whole.status, whole.headers)


@router.post(
    "/v1/chat/completions",
    summary="A chat completion with memory",
    responses=document.ANSWERS,
    openapi_extra=document.REQUEST,
)
async def complete(request: Request) -> Response:
    """OpenAI's chat completion, by the configured model. What the memory knows is added as a system message, and what
    is said is stored; ``X-Memory``, ``X-Memory-Session`` and ``X-Memory-Budget`` say otherwise."""
    service: Service = request.app.state.service
    added = Added()
    try:
        model = _upstream(service)
        wish = read_wish(request.headers, request.state.grant, service.memory.settings.proxy.budget)
        body = await _body(request, service.settings.body)
        following = _following(request)
        asked = turns.read(body)
        if wish.reads or wish.writes:
            added = await run_in_threadpool(remember, service.memory, following, wish, asked)
            body = asked.body(added.knowledge) if added.knowledge else body
        answered = await model.post("/chat/completions", body)
    except ApplianceError as error:
        return _refused(error, added.headers())
    keep = Keeping(following, added.place if wish.writes else None)
    headers = {**answered.headers, **added.headers()}
    if answered.is_stream:
        return Passing(answered, keep, headers, service.settings.body)
    try:
        whole = await answered.whole(service.settings.body)
        if whole.status == 200:
            await keep.store(turns.of_completion(whole.body))
    except ApplianceError as error:
        return _refused(error, added.headers())
    return Response(whole.body, whole.status, headers)


def read_wish(headers: Mapping[str, str], grant: Grant, budget: int) -> Wish:
    """
    Raises:
        UsageError: a header says what can't be.
    """
    does = headers.get("X-Memory", "on").strip()
    if does not in ("on", "off", "read", "write"):
        raise UsageError(f"X-Memory is on, off, read or write, not {does!r}")
    given = headers.get("X-Memory-Budget", str(budget)).strip()
    if not (given.isascii() and given.isdigit() and len(given) <= DIGITS):
        raise UsageError(f"X-Memory-Budget is a number of tokens, not {given!r}")
    tokens = int(given)
    return Wish(
        owner=Owner(grant.user_id, grant.namespace or ""),
        reads=does in ("on", "read") and tokens > 0,
        writes=does in ("on", "write") and not grant.read_only,
        name=headers.get("X-Memory-Session", "").strip() or None,
        budget=tokens,
    )


def remember(memory: Engine, following: Following, wish: Wish, asked: turns.Request) -> Added:
    """What is known for a request, then its new turns into the store. It blocks.

    A context that can't be made is said in the notes, and the chat goes on without one; what can't be stored is an
    error, because nobody would notice a memory that does not remember.

    Raises:
        NotFound, UsageError: no such session, or a name that can't be.
        StoreError: the store refuses.
    """
    place = following.find(wish.owner, wish.name, asked.turns, asked.system)
    added = Added(place)
    if wish.reads and asked.asked.strip():
        try:
            added = replace(added, context=_context(memory, wish, asked, place))
        except ApplianceError as error:
            added = replace(added, notes=(f"nothing is added: {error}",))
        if added.context is not None:
            added = replace(added, notes=added.context.notes)
    if wish.writes and asked.turns:
        added = replace(added, place=following.store(wish.owner, wish.name, asked.turns, asked.system))
    return added


def _context(memory: Engine, wish: Wish, asked: turns.Request, place: Place | None) -> Context:
    """What is known for the latest turn of the user, without what the request holds itself: its turns, and a summary of
    them, unless it leaves out what was said before."""
    shares = {"recent": 0.0} if place is not None and place.before else {"recent": 0.0, "summary": 0.0}
    return memory.context(
        question(asked.asked),
        session_id=place.session_id if place is not None else None,
        user_id=wish.owner.user_id,
        namespace=wish.owner.namespace,
        budget=wish.budget,
        shares=shares,
        leave_out=[turn.text for turn in asked.turns],
    )


def question(turn: str) -> str:
    """What the memory is asked for a turn of the user: all of it, or the beginning and the end of a long one."""
    if len(turn) <= QUESTION:
        return turn
    return f"{turn[: QUESTION // 2]}\n{turn[-QUESTION // 2 :]}"


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where an answer is stored: behind ``place``, or nowhere."""

    following: Following
    place: Place | None

    async def store(self, turns: list[turns.Turn]) -> None:
        """
        Raises:
            StoreError: the store refuses.
        """
        if self.place is None or not turns:
            return
        try:
            await run_in_threadpool(self.following.walk, self.place, turns)
        except NotFound:
            return  # the conversation was deleted while the model was thinking: its answer goes with it


class Passing(StreamingResponse):
    """A stream of the model's that passes through, byte by byte as it comes. What was said is stored when it ends,
    however it ends."""

    def __init__(
        self, answered: upstream.Answered, keep: Keeping, headers: Mapping[str, str], most: int
    ) -> None:
        self._answered = answered
        self._keep = keep
        self._gathering = turns.Gathering(most)
        self._is_kept = False
        super().__init__(self._pass(), answered.status, headers)

    async def _pass(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._answered.chunks():
                self._gathering.take(chunk)
                yield chunk
            await self._store()  # before the stream ends, so that who waits for its end finds the answer
        except ApplianceError as error:
            yield b"data: " + bytes(_refused(error).body) + b"\n\n"

    async def _store(self) -> None:
        if not self._is_kept and self.status_code == 200:
            self._is_kept = True
            await self._keep.store(self._gathering.turns())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):  # the client may have gone, and what was said is kept
                await self._answered.close()
                await self._store()


# --- small things --------------------------------------------------------------------------------------


def _upstream(service: Service) -> Upstream:
    """
    Raises:
        EndpointError: none is configured.
    """
    settings = service.memory.settings
    return Upstream(settings.llm.base_url, settings.llm.api_key, settings.proxy.timeout)


def _following(request: Request) -> Following:
    """One for the whole app: it has the lock that keeps two requests from storing the same turn."""
    state = request.app.state
    memory: Engine = state.service.memory
    found = getattr(state, "following", None)
    if not isinstance(found, Following) or found.memory is not memory:
        found = state.following = Following(memory)
    return found


async def _body(request: Request, most: int) -> bytes:
    """
    Raises:
        UsageError: it is larger than that.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise TooLarge(f"the request has more than {most:,} bytes", hint="server.body sets the limit")
    return bytes(body)


class TooLarge(UsageError):
    """A request has more bytes than are taken."""


def _refused(error: ApplianceError, headers: Mapping[str, str] | None = None) -> Response:
    """An error in OpenAI's shape, which its clients print."""
    status, code = next((status, code) for kind, status, code in KINDS if isinstance(error, kind))
    words = f"{error} ({error.hint})" if error.hint else str(error)
    kind = "invalid_request_error" if status < 500 else "api_error"
    told = {"message": words, "type": kind, "param": None, "code": code}
    return JSONResponse({"error": told}, status, headers)


KINDS: tuple[tuple[type[ApplianceError], int, str], ...] = (
    (upstream.NotConfigured, 503, "model_not_configured"),
    (upstream.TooSlow, 504, "model_timeout"),
    (EndpointError, 502, "model_unreachable"),
    (TooLarge, 413, "request_too_large"),
    (UsageError, 400, "invalid_request"),
    (NotFound, 404, "not_found"),
    (ApplianceError, 503, "memory_unavailable"),
)
"""The status and the code of each kind of error, the first that fits."""


def _plain(words: str) -> str:
    """As a header can have it."""
    return " ".join(words.encode("ascii", "replace").decode().split())
