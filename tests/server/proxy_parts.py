"""A model's endpoint and the proxy before it, both on loopback, and what tests of the proxy ask them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai
import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from appliance import Appliance
from appliance.context import render
from appliance.server.access.grants import OWNER, Grant, Service
from appliance.server.openai_proxy import models
from appliance.server.openai_proxy.route import router
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.waits import PATIENCE, until

TOKENS = {
    "owner": OWNER,
    "ana": Grant("ana", "ana", ""),
    "ben": Grant("ben", "ben", ""),
    "work": Grant("work", "ana", "work"),
    "reader": Grant("reader", "ana", "", read_only=True),
    "webui": Grant("webui", "webui", "", any_user=True),
}

Answer = Callable[[dict[str, Any]], "str | Response"]


@dataclass
class Model:
    """A running endpoint: what it was asked (bodies, as bytes too) and the headers that came along. ``gate`` holds a
    stream back behind its first piece while it is not set."""

    base_url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    heads: list[dict[str, str]] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)

    def told(self, at: int = -1) -> str:
        """The memories that a request was given."""
        return told(self.asked[at])


def told(body: dict[str, Any]) -> str:
    """The memories that a request has before the words of the user's latest message."""
    texts = [one["content"] for one in body["messages"] if one["role"] == "user" and isinstance(one["content"], str)]
    memories, mark, _ = (texts or [""])[-1].partition(render.MESSAGE)
    return memories if mark else ""


@contextmanager
def running(app: Any) -> Iterator[str]:
    """Serve an app on a free port of loopback until the block ends."""
    # asyncio sends small pieces at once only on a socket that says that it is TCP.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=5)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        until(lambda: server.started)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def message(content: str | None, **more: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content, **more}}
        ],
    }


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "tiny", "choices": [choice]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def response(id: str, text: str, status: str = "completed") -> dict[str, Any]:
    """An answer of the Responses API."""
    part = {"type": "output_text", "text": text, "annotations": []}
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "The otter, Sepp."}]}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": [part]}
    return {
        "id": id,
        "object": "response",
        "created_at": 1,
        "model": "tiny",
        "status": status,
        "output": [thought, said],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def response_events(id: str, text: str) -> list[bytes]:
    """The same as a stream."""
    begun = {**response(id, "", "in_progress"), "output": []}
    place = {"item_id": "msg_1", "output_index": 1, "content_index": 0, "logprobs": []}
    said: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    said += [
        {"type": "response.output_text.delta", "delta": word, **place} for word in text.replace(" ", " \n").split("\n")
    ]
    said += [{"type": "response.completed", "response": response(id, text)}]
    return [
        f"event: {one['type']}\ndata: {json.dumps({**one, 'sequence_number': at})}\n\n".encode()
        for at, one in enumerate(said)
    ]


def events(text: str) -> list[bytes]:
    """An answer as a stream: a word a piece."""
    words = [event({"role": "assistant", "content": ""})]
    words += [event({"content": word}) for word in text.replace(" ", " \n").split("\n")]
    return [*words, event({}, "stop"), b"data: [DONE]\n\n"]


@contextmanager
def model(answer: Answer) -> Iterator[Model]:
    """A model's endpoint that says what ``answer`` says, as a stream where that is asked for."""
    served = Model()
    served.gate.set()

    async def pieces(text: str) -> Any:
        from starlette.concurrency import run_in_threadpool

        for at, piece in enumerate(events(text)):
            if at == 2:
                await run_in_threadpool(served.gate.wait, PATIENCE)
            yield piece

    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def complete(request: Request) -> Response:
        served.bodies.append(await request.body())
        served.asked.append(json.loads(served.bodies[-1]))
        served.heads.append(dict(request.headers))
        said = answer(served.asked[-1])
        if isinstance(said, Response):
            return said
        if served.asked[-1].get("stream"):
            return StreamingResponse(pieces(said), media_type="text/event-stream")
        return JSONResponse(message(said), headers={"x-request-id": "r1"})

    @app.post("/v1/responses")
    async def respond(request: Request) -> Response:
        served.bodies.append(await request.body())
        served.asked.append(json.loads(served.bodies[-1]))
        said = answer(served.asked[-1])
        if isinstance(said, Response):
            return said
        id = f"resp_{len(served.asked)}"
        if served.asked[-1].get("stream"):
            return StreamingResponse(iter(response_events(id, said)), media_type="text/event-stream")
        return JSONResponse(response(id, said))

    @app.post("/v1/completions")
    async def complete_text(request: Request) -> Response:
        served.asked.append(json.loads(await request.body()))
        choice = {"index": 0, "text": answer(served.asked[-1]), "finish_reason": "stop", "logprobs": None}
        return JSONResponse(
            {"id": "t1", "object": "text_completion", "created": 1, "model": "tiny", "choices": [choice]}
        )

    @app.get("/v1/models")
    async def list_models(request: Request) -> Response:
        served.heads.append(dict(request.headers))
        listed = [{"id": name, "object": "model", "created": 1, "owned_by": "us"} for name in ("tiny", "hub/large:7b")]
        return JSONResponse({"object": "list", "data": listed})

    with running(app) as url:
        served.base_url = url + "/v1"
        try:
            yield served
        finally:
            served.gate.set()


class Guard:
    """Stands for the one of the server: a token's grant, for every request."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            token = dict(scope["headers"]).get(b"authorization", b"Bearer owner").decode().split()[-1]
            scope.setdefault("state", {})["grant"] = TOKENS[token]
        await self._app(scope, receive, send)


@dataclass
class Proxy:
    """A running proxy, and the memory that it serves."""

    memory: Appliance
    url: str
    _clients: list[openai.OpenAI] = field(default_factory=list)

    def client(self, token: str = "owner", **headers: str) -> openai.OpenAI:
        """A client that sends these headers ("memory_session" is X-Memory-Session)."""
        sent = {f"X-{name.replace('_', '-')}": value for name, value in headers.items()}
        client = openai.OpenAI(
            base_url=self.url + "/v1",
            api_key=token,
            max_retries=0,
            default_headers=sent,
            http_client=openai.DefaultHttpxClient(trust_env=False),
        )
        self._clients.append(client)
        return client

    def chat(self, *messages: tuple[str, str], token: str = "owner", **headers: str) -> Any:
        """A completion of these turns, with the headers of its answer."""
        said = [{"role": role, "content": content} for role, content in messages]
        return self.client(token, **headers).chat.completions.with_raw_response.create(
            model="tiny",
            messages=said,  # type: ignore[arg-type]
        )

    def said(self, session: str | None = None) -> list[tuple[str, str]]:
        """Role and words of a session's turns; without one, of all that is stored, session by session."""
        if session is not None:
            return [(turn.role, turn.text) for turn in self.memory.sessions.messages(session)]
        return [(line["role"], line["content"]) for line in self.memory.export()]

    def close(self) -> None:
        for client in self._clients:
            with suppress(Exception):
                client.close()


@contextmanager
def proxy(home: Path, base_url: str, settings: str = "", *, has_model: bool = False) -> Iterator[Proxy]:
    """A memory with the proxy before a model's endpoint; ``settings`` are more lines of config.toml. With ``has_model``
    it embeds by the shipped model, which tells what no memory matches."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "config.toml").write_text(f'[llm]\nbase_url = "{base_url}"\nmodel = "tiny"\napi_key = "s3cret"\n{settings}')
    with Appliance.open(home, worker=False, embedder=None if has_model else HashEmbedder()) as memory:
        app = FastAPI()
        app.include_router(router)
        app.include_router(models.router)
        app.add_middleware(Guard)
        app.state.service = Service(memory, engine_of(memory), memory.home, memory.settings.server)
        with running(app) as url:
            there = Proxy(memory, url)
            try:
                yield there
            finally:
                there.close()
