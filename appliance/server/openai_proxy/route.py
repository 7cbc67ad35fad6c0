"""``/v1/chat/completions`` and ``/v1/responses`` as OpenAI has them, with memory: any chat client points here, and the
model at ``llm.base_url`` answers.

``answer_with_memory`` reads top to bottom: read the request → tell a task of the front end → build the context → store
new turns → forward → pass the answer through and store it. docs/proxy.md describes the headers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import anyio
import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from appliance.errors import ApplianceError, NotFound
from appliance.server.http.problems import BodyTooLarge
from appliance.server.openai_proxy import errors, openapi, responses, turns, upstream
from appliance.server.openai_proxy import options as memory_options
from appliance.server.openai_proxy.options import MemoryOptions
from appliance.server.openai_proxy.tasks import TaskShape
from appliance.server.openai_proxy.threads import BranchPoint, ThreadMatcher
from appliance.server.openai_proxy.upstream import Upstream

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from appliance.client import Appliance
    from appliance.server.access.grants import Service
    from appliance.types import Context

MAX_HEADER_IDS = 200
"""Message ids in a header; proxies and clients reject very long headers."""

MAX_QUERY_CHARACTERS = 4_000
"""Characters of a turn that are searched for. A longer turn contains pasted text, and the question stands before or
after it."""

router = APIRouter(tags=["chat"])


@dataclass(frozen=True, slots=True)
class InjectedMemory:
    """What the memory added to a request, and the request's place in its session."""

    place: BranchPoint | None = None
    context: Context | None = None
    notes: tuple[str, ...] = ()

    @property
    def knowledge(self) -> str:
        """The text that is added; none if the memory has nothing to say."""
        context = self.context
        return context.text if context is not None and any(layer.items for layer in context.layers) else ""

    def headers(self) -> dict[str, str]:
        """What the response says of it. Nothing is added without ``knowledge``, whatever the context has."""
        context = self.context if self.knowledge else None
        layers = context.layers if context is not None else ()
        ids = [item.message_id for layer in layers if layer.name == "retrieved" for item in layer.items]
        more = [f"{len(ids) - MAX_HEADER_IDS} more messages"] if len(ids) > MAX_HEADER_IDS else []
        values = {
            "X-Memory-Session": self.place.session_id if self.place is not None else "",
            "X-Memory-Tokens": str(context.tokens if context is not None else 0),
            "X-Memory-Messages": ",".join(ids[:MAX_HEADER_IDS]),
            "X-Memory-Notes": "; ".join((*self.notes, *more)),
        }
        return {name: _header_text(text) for name, text in values.items() if text}


class ConversationRequest(Protocol):
    """What the memory needs of a request, whichever API it belongs to; see ``turns.ChatRequest``."""

    @property
    def turns(self) -> Sequence[turns.ChatTurn]: ...
    @property
    def system(self) -> str: ...
    @property
    def latest_user_text(self) -> str: ...
    @property
    def shape(self) -> TaskShape: ...
    @property
    def previous_answer(self) -> str | None: ...
    def body(self, knowledge: str, role: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """An API that the model's endpoint speaks: its path, its requests and its answers."""

    path: str
    read: Callable[[bytes], ConversationRequest]
    answer_turns: Callable[[bytes], list[turns.ChatTurn]]
    assembler: Callable[[int], turns.EventStreamReader]


CHAT = Dialect("/chat/completions", turns.read, turns.completion_turns, turns.StreamAssembler)
RESPONSES = Dialect("/responses", responses.read, responses.answer_turns, responses.ResponseAssembler)


@router.post(
    "/v1/chat/completions",
    summary="A chat completion with memory",
    responses=openapi.CHAT_RESPONSES,
    openapi_extra=openapi.openapi_extra({"messages": {"type": "array", "items": {"type": "object"}}}, "messages"),
)
async def complete(request: Request) -> Response:
    """OpenAI's chat completion, by the configured model. What the memory knows is added to the user's latest message,
    and what is said is stored; ``X-Memory``, ``X-Memory-Session`` and ``X-Memory-Budget`` say otherwise. A front end's
    own prompts, such as one for a title, pass through."""
    return await answer_with_memory(request, CHAT)


@router.post(
    "/v1/responses",
    summary="A response with memory",
    responses=openapi.CHAT_RESPONSES,
    openapi_extra=openapi.openapi_extra(
        {"input": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]}}
    ),
)
async def respond(request: Request) -> Response:
    """OpenAI's Responses API, by the configured model, with memory as in a chat completion. A request with
    ``previous_response_id`` goes on in the session of that response."""
    return await answer_with_memory(request, RESPONSES)


@router.post(
    "/v1/completions",
    summary="A completion of a text, without memory",
    responses=openapi.CHAT_RESPONSES,
    openapi_extra=openapi.plain_extra({"prompt": {}}),
)
async def complete_text(request: Request) -> Response:
    """OpenAI's completion of a text, by the configured model. A text has no turns: it passes through untouched, and
    nothing of it is stored."""
    service: Service = request.app.state.service
    try:
        body = await read_body(request, service.settings.body)
        turns.require_object(body)
        response = await configured_upstream(service).post("/completions", body)
        if response.is_stream:
            assembler = turns.StreamAssembler(service.settings.body)
            return PassThroughStream(response, None, response.headers, assembler)
        answer = await response.read_all(service.settings.body)
    except ApplianceError as error:
        return errors.response(error)
    return Response(answer.body, answer.status, answer.headers)


async def answer_with_memory(request: Request, dialect: Dialect) -> Response:
    """The model's answer to a request, which memories were added to."""
    service: Service = request.app.state.service
    injected = InjectedMemory()
    try:
        body = await read_body(request, service.settings.body)
        asked = dialect.read(body)  # first: what is wrong with a request is so without a model, too
        model, settings = configured_upstream(service), service.memory.settings.proxy
        matcher = _thread_matcher(request)
        options = memory_options.read(request.headers, request.state.grant, settings, asked.shape)
        if options.reads or options.writes:
            injected = await run_in_threadpool(recall_and_store, service.memory, matcher, options, asked)
            body = asked.body(injected.knowledge, settings.role) if injected.knowledge else body
        response = await model.post(dialect.path, body)
    except ApplianceError as error:
        return errors.response(error, injected.headers())
    answer_store = AnswerStore(matcher, injected.place if options.writes else None)
    headers = {**response.headers, **injected.headers(), **options.headers()}
    if response.is_stream:
        return PassThroughStream(response, answer_store, headers, dialect.assembler(service.settings.body))
    try:
        answer = await response.read_all(service.settings.body)
        if answer.status == 200:
            said = dialect.answer_turns(answer.body)
            await answer_store.store(said)
            if answer_store.place is not None and not said:
                injected = replace(injected, notes=(*injected.notes, _unstored_note(answer.body)))
                headers |= injected.headers()
    except ApplianceError as error:
        return errors.response(error, injected.headers())
    return Response(answer.body, answer.status, headers)


def recall_and_store(
    memory: Appliance, matcher: ThreadMatcher, options: MemoryOptions, asked: ConversationRequest
) -> InjectedMemory:
    """Build the context of a request, then store its new turns. Blocks.

    If the context fails, the notes say so and the chat continues without it. A failure to store is an error, because it
    would go unnoticed otherwise.

    Raises:
        NotFound, UsageError: There is no such session, or the name is invalid.
        StoreError: The turns can't be stored.
    """
    if options.name is None and asked.previous_answer is not None:
        options = replace(options, name=matcher.session_of_answer(asked.previous_answer, options.owner))
    place = matcher.find(options.owner, options.name, asked.turns, asked.system)
    injected = InjectedMemory(place, notes=options.notes)
    if options.reads and asked.latest_user_text.strip():
        try:
            injected = replace(injected, context=_context(memory, options, asked, place))
        except ApplianceError as error:
            injected = replace(injected, notes=(*options.notes, f"No memory was added: {error}"))
        if injected.context is not None:
            injected = replace(injected, notes=(*options.notes, *injected.context.notes))
    if options.writes and asked.turns:
        injected = replace(injected, place=matcher.store(options.owner, options.name, asked.turns, asked.system))
    return injected


def _context(
    memory: Appliance, options: MemoryOptions, asked: ConversationRequest, place: BranchPoint | None
) -> Context:
    """The context of the user's latest turn, without the turns in the request, and without a summary of the session
    unless the request omits earlier turns."""
    shares = {"recent": 0.0} if place is not None and place.omitted else {"recent": 0.0, "summary": 0.0}
    return memory.context(
        search_query(asked.latest_user_text),
        session_id=place.session_id if place is not None else None,
        user_id=options.owner.user_id,
        namespace=options.owner.namespace,
        budget=options.budget,
        shares=shares,
        leave_out=[turn.text for turn in asked.turns],
    )


def search_query(text: str) -> str:
    """The query for a turn of the user: its text, or the beginning and the end of a long one."""
    if len(text) <= MAX_QUERY_CHARACTERS:
        return text
    return f"{text[: MAX_QUERY_CHARACTERS // 2]}\n{text[-MAX_QUERY_CHARACTERS // 2 :]}"


@dataclass(frozen=True, slots=True)
class AnswerStore:
    """Stores an answer after ``place``; does nothing if that is None."""

    matcher: ThreadMatcher
    place: BranchPoint | None

    async def store(self, turns: list[turns.ChatTurn]) -> None:
        """
        Raises:
            StoreError: The answer can't be stored.
        """
        if self.place is None or not turns:
            return
        try:
            await run_in_threadpool(self.matcher.store_from, self.place, turns)
        except NotFound:
            return  # the session was deleted while the model answered


class PassThroughStream(StreamingResponse):
    """Passes the model's stream through unchanged, and stores the answer when it ends, however it ends. Without an
    ``answer_store`` nothing is stored."""

    def __init__(
        self,
        response: upstream.UpstreamStream,
        answer_store: AnswerStore | None,
        headers: Mapping[str, str],
        assembler: turns.EventStreamReader,
    ) -> None:
        self._upstream_response = response
        self._answer_store = answer_store
        self._assembler = assembler
        self._is_stored = False
        super().__init__(self._stream_chunks(), response.status, headers)

    async def _stream_chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._upstream_response.chunks():
                self._assembler.feed(chunk)
                yield chunk
            self._assembler.finish()
            await self._store()  # first, so that a client finds the answer once the stream ends
            if self.status_code == 200 and not (self._assembler.is_ended or self._assembler.has_failed):
                raise self._upstream_response.ended_early()
        except ApplianceError as error:
            # Behind a blank line, because the model's last event may be unfinished.
            yield b"\n\ndata: " + bytes(errors.response(error).body) + b"\n\n"

    async def _store(self) -> None:
        if self._answer_store is not None and not self._is_stored and self.status_code == 200:
            with anyio.CancelScope(shield=True):  # a client that leaves at the last piece must not cancel it
                self._is_stored = True
                await self._answer_store.store(self._assembler.turns())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):  # store even if the client has disconnected
                await self._upstream_response.close()
                await self._store()


def _unstored_note(body: bytes) -> str:
    """Why nothing of an answer was stored."""
    try:
        msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return "The model's answer was not stored, because it is not JSON."
    return "The model's answer was not stored, because it has no text."


# --- helpers --------------------------------------------------------------------------------------


def configured_upstream(service: Service) -> Upstream:
    """
    Raises:
        EndpointError: No endpoint is configured.
    """
    settings = service.memory.settings
    return Upstream(settings.llm.base_url, settings.llm.api_key, settings.proxy.timeout)


def _thread_matcher(request: Request) -> ThreadMatcher:
    """The app's only matcher: its lock keeps two requests from storing the same turn."""
    state = request.app.state
    memory: Appliance = state.service.memory
    matcher = getattr(state, "following", None)
    if not isinstance(matcher, ThreadMatcher) or matcher.memory is not memory:
        matcher = state.following = ThreadMatcher(memory)
    return matcher


async def read_body(request: Request, max_bytes: int) -> bytes:
    """
    Raises:
        BodyTooLarge: The body has more than ``max_bytes`` bytes.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise BodyTooLarge(f"The request has more than {max_bytes:,} bytes.", hint="server.body sets the limit.")
    return bytes(body)


def _header_text(text: str) -> str:
    """A text as one line of ASCII."""
    return " ".join(text.encode("ascii", "replace").decode().split())
