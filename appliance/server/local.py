"""The daemon's side of the calls: each is carried out on a thread of its own pool, and answered as it goes.

Only what came over the Unix socket gets here: the socket's file is its owner's alone, in a folder that is theirs.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from appliance import __version__
from appliance.errors import ApplianceError, UsageError
from appliance.server import calls
from appliance.server.calls import Call
from appliance.server.service import Service, came_over_the_socket
from appliance.types import FileReport

SHORT = 8
"""Calls that are answered at a time: as many readers of the store, a connection each."""

LONG = 32
"""Calls that tell what they do, go on for long, or wait for something, at a time."""

SLICE = 2.0
"""Seconds after which what was to go on "as long as you say" is answered, so that the caller can say."""

OFTEN = 0.05
"""Seconds between two lines about the same: who looks at a progress bar sees no more."""

STILL = 1.0
"""Seconds after which a line says that there is nothing new: whether anybody still listens shows by it."""

WAITING = 256
"""Lines that wait for a slow reader, before the verb that makes them waits too."""

_log = logging.getLogger("appliance.calls")


class Gone(Exception):
    """Whoever called has gone."""


class Asked(msgspec.Struct, frozen=True):
    """The body of a call. ``session`` is the one that is meant, in the room of that name."""

    arguments: dict[str, msgspec.Raw] = {}
    session: str | None = None


class Watching(msgspec.Struct, frozen=True):
    """What a watcher is to be made with; ``run`` is False for a look at its folders alone."""

    folders: Sequence[str] = ()
    user_id: str | None = None
    namespace: str = ""
    once: bool = False
    run: bool = True


def router(service: Service) -> APIRouter:
    """The routes of the calls."""
    short = ThreadPoolExecutor(SHORT, "appliance-call")
    long = ThreadPoolExecutor(LONG, "appliance-long-call")
    routes = APIRouter(prefix="/local", include_in_schema=False)

    @routes.get("/hello")
    async def hello(request: Request) -> Response:
        if not came_over_the_socket(request.scope):
            return Response(status_code=404)
        return _answer({"version": __version__, "settings": service.memory.settings})

    @routes.post("/calls/{room}/{verb}")
    async def called(request: Request, room: str, verb: str) -> Response:
        if not came_over_the_socket(request.scope):
            return Response(status_code=404)
        try:
            call = calls.call(room, verb)
            asked = msgspec.json.decode(await request.body(), type=Asked)
        except (KeyError, msgspec.DecodeError):
            return _answer(calls.Trouble("UsageError", f"there is no call {room}.{verb} of this form"), 400)
        lines = Lines(service.ending) if call.streams else None
        work = lambda: perform(service, room, verb, call, asked, lines)  # noqa: E731
        if lines is not None:
            return StreamingResponse(lines.of(long, work), media_type="application/x-ndjson")
        try:
            return _answer({"result": await asyncio.get_running_loop().run_in_executor(short, work)})
        except Exception as error:
            return _answer({"error": _trouble(error, f"{room}.{verb}")}, 400)

    @routes.post("/events")
    async def events(request: Request) -> Response:
        if not came_over_the_socket(request.scope):
            return Response(status_code=404)
        lines = Lines(service.ending)
        work = lambda: listen_until_gone(service, lines)  # noqa: E731
        return StreamingResponse(lines.of(long, work), media_type="application/x-ndjson")

    @routes.post("/watch")
    async def watch(request: Request) -> Response:
        if not came_over_the_socket(request.scope):
            return Response(status_code=404)
        wanted = msgspec.json.decode(await request.body(), type=Watching)
        lines = Lines(service.ending)
        work = lambda: watch_until_gone(service, wanted, lines)  # noqa: E731
        return StreamingResponse(lines.of(long, work), media_type="application/x-ndjson")

    return routes


def perform(service: Service, room: str, verb: str, call: Call, asked: Asked, lines: Lines | None) -> Any:
    """Carry out a call; what it gives, ready to travel, None where it was given line by line."""
    given, spread = _arguments(call, asked.arguments)
    target: Any = service.memory
    if room == "session":
        target = service.memory.sessions.get(asked.session or "")
    elif room != "memory":
        target = getattr(service.memory, room)
    member = getattr(target, verb)
    if not callable(member):
        return member
    if lines is not None:
        given |= {name: lines.telling(name) for name in call.tells}
        given |= {name: lines.for_a_while() for name in call.asks}
    answer = member(*spread, **given)
    if call.yields and lines is not None:
        for item in answer:
            lines.put({"item": item})
        return None
    return calls.pack(answer)


def _arguments(call: Call, raw: Mapping[str, msgspec.Raw]) -> tuple[dict[str, Any], Sequence[Any]]:
    unknown = raw.keys() - call.takes.keys()
    if unknown:
        raise UsageError(f"this call takes no {', '.join(sorted(unknown))}")
    given: dict[str, Any] = {}
    for name, value in raw.items():
        try:
            given[name] = msgspec.json.decode(value, type=call.takes[name])
        except msgspec.DecodeError as error:
            raise UsageError(f"{name}: {error}") from error
    return given, given.pop(call.spread, ()) if call.spread else ()


def watch_until_gone(service: Service, wanted: Watching, lines: Lines) -> None:
    """Watch folders for as long as whoever asked listens."""

    def read(report: FileReport) -> None:
        lines.put({"tell": ["on_read", report]})

    watcher = service.memory.watcher(
        wanted.folders, user_id=wanted.user_id, namespace=wanted.namespace,
        on_read=read, on_trouble=lambda words: lines.put({"tell": ["on_trouble", words]}),
    )  # fmt: skip
    lines.put({"tell": ["folders", watcher.folders]})
    if wanted.run:
        with lines.when_gone(watcher.stop):
            watcher.run(once=wanted.once)


def listen_until_gone(service: Service, lines: Lines) -> None:
    """Tell of the memory's events for as long as whoever asked listens; of those that a slow one missed, how many."""
    end = service.memory.events.listen(lambda event: lines.put({"event": event}))
    try:
        lines.put({"listening": True})
        lines.wait_until_gone()
    finally:
        end()


class Lines:
    """What a verb says while it works, on its way from its thread to whoever called."""

    def __init__(self, ending: threading.Event) -> None:
        self._ending = ending
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING)
        self._gone = threading.Event()
        self._on_gone: list[Callable[[], None]] = []
        self._told: dict[tuple[Any, ...], tuple[float, bytes | None]] = {}

    # --- on the verb's thread ---------------------------------------------------------------------------

    def put(self, line: Mapping[str, Any]) -> None:
        """Say something; waits while the reader is slow.

        Raises:
            Gone: nobody listens any more.
        """
        self._put(_line(line))

    def telling(self, name: str) -> Callable[..., None]:
        """A callback that says what it is told, the same subject not more often than somebody would look."""

        def tell(*values: Any) -> None:
            subject = (name, *(value for value in values if isinstance(value, str)))
            now, (last, _) = time.monotonic(), self._told.get(subject, (0.0, None))
            line = _line({"tell": [name, *values]})
            if now - last < OFTEN:
                self._told[subject] = (last, line)
                if self._gone.is_set():
                    raise Gone
                return
            self._told[subject] = (now, None)
            self._put(line)

        return tell

    def for_a_while(self) -> Callable[[], bool]:
        """Says whether to go on: for a slice of time, as long as somebody listens."""
        end = time.monotonic() + SLICE
        return lambda: time.monotonic() < end and not self._gone.is_set()

    def when_gone(self, act: Callable[[], None]) -> ExitStack:
        """Within, ``act`` is called when nobody listens any more."""
        self._on_gone.append(act)
        if self._gone.is_set():
            act()
        stack = ExitStack()
        stack.callback(self._on_gone.remove, act)
        return stack

    def wait_until_gone(self) -> None:
        """Return when nobody listens any more."""
        self._gone.wait()

    def _put(self, line: bytes) -> None:
        if self._gone.is_set():
            raise Gone
        asyncio.run_coroutine_threadsafe(self._queue.put(line), self._loop).result()

    def _work(self, work: Callable[[], Any]) -> None:
        try:
            last = {"result": work()}
        except Gone:
            return
        except Exception as error:
            last = {"error": _trouble(error, "a call")}
        try:
            for _, line in self._told.values():
                if line is not None:
                    self._put(line)
            self._put(_line(last))
        except Gone:
            return

    # --- on the server's --------------------------------------------------------------------------------

    async def of(self, pool: ThreadPoolExecutor, work: Callable[[], Any]) -> AsyncIterator[bytes]:
        """The lines of a piece of work, from its beginning to its end."""
        working = self._loop.run_in_executor(pool, self._work, work)
        working.add_done_callback(lambda _: self._loop.create_task(self._queue.put(None)))
        try:
            while True:
                try:
                    line = await asyncio.wait_for(self._queue.get(), STILL)
                except TimeoutError:
                    if self._ending.is_set():
                        return
                    line = _line({"still": True})
                if line is None:
                    return
                yield line
        finally:
            self._gone.set()
            for act in [*self._on_gone]:
                act()
            while not self._queue.empty():  # whoever waits to put a line finds that nobody listens
                self._queue.get_nowait()


def _trouble(error: Exception, what: str) -> calls.Trouble:
    if not isinstance(error, ApplianceError):
        _log.error("%s failed", what, exc_info=error)
    return calls.trouble(error)


def _line(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=calls.argument) + b"\n"


def _answer(value: Any, status: int = 200) -> Response:
    body = msgspec.json.encode(value, enc_hook=calls.argument)
    return Response(body, status, media_type="application/json")
