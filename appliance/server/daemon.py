"""``appliance serve``: one process that owns a home, watches its folders, does its background work, and answers.

``serve`` reads top to bottom: own the home, listen, say so, answer until told to end, let go.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

import msgspec
import uvicorn

from appliance import __version__, config, paths
from appliance.engine import Engine
from appliance.errors import ApplianceError, UsageError
from appliance.server import calls, logs
from appliance.server.app import create_app
from appliance.server.client import SERVES
from appliance.server.line import Address
from appliance.server.listen import Listening, hand_on, is_loopback, listen
from appliance.server.notify import notify, reloading, watchdog
from appliance.server.service import Service
from appliance.server.tokens import owners
from appliance.types import FileReport

PATIENCE = 10
"""Seconds that requests under way may take after the daemon was told to end."""

KEEP_ALIVE = 75
"""Seconds that a connection is held for the next request."""

M_ARENA_MAX = -8
"""Of glibc's malloc.h."""

AGAIN = 60.0
"""Seconds until folders are watched again after that ended with an error."""

_log = logging.getLogger("appliance.daemon")


def serve(
    home: str | os.PathLike[str] | None = None,
    *,
    host: str | None = None,
    port: int | None = None,
    folders: Sequence[str | os.PathLike[str]] = (),
    beyond_loopback: bool = False,
    on_ready: Callable[[Address], None] = lambda address: None,
) -> None:
    """Own a home and serve it until SIGTERM or SIGINT; SIGHUP reads the settings anew. ``host`` and ``port`` are as in
    the settings unless given, ``folders`` are watched besides. Must be called in the main thread.

    Raises:
        HomeLocked: another process has the home; the error names it.
        UsageError: it can't listen there, or it is an address that others reach and ``beyond_loopback`` is not said.
    """
    again = False
    _share_one_heap()
    with ExitStack() as stack:
        memory = stack.enter_context(Engine.open(home, purpose=SERVES))
        calls.load()
        settings = memory.settings.server
        host, port = host or settings.host, settings.port if port is None else port
        if not is_loopback(host) and not beyond_loopback:
            raise UsageError(
                f"other machines reach {host}",
                hint="say --beyond-loopback if that is what you want; what is sent is not encrypted",
            )
        stack.enter_context(logs.written(memory.home.logs))
        sockets = stack.enter_context(listen(memory.home, host, port))
        settings = msgspec.structs.replace(settings, host=host, port=sockets.port)
        server = _Server(Service(memory, memory.home, settings), sockets)
        stack.enter_context(_watching(memory, folders))
        address = _announce(memory.home, sockets)
        try:
            server.run_until_told(lambda: on_ready(address))
            again = server.again
        finally:
            if not again:
                memory.home.daemon.unlink(missing_ok=True)
        if again:
            hand_on(sockets)
        _log.info("ending" if not again else "beginning anew")
    if again:
        os.execv(sys.executable, sys.orig_argv)


def _share_one_heap() -> None:
    """Let all threads of this process share one heap, where the C library is glibc: a heap for each, given back to the
    system again and again, costs a search on a thread a tenth of its time, and memory."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


class _Server(uvicorn.Server):
    """uvicorn on sockets of ours, whose signals are ours."""

    def __init__(self, service: Service, sockets: Listening) -> None:
        self._app = create_app(service)
        super().__init__(
            uvicorn.Config(
                logs.Requests(self._app),
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=PATIENCE,
            )
        )
        self._service = service
        self._sockets = sockets
        self.again = False
        """Whether it was told to begin anew, with other settings."""

    def run_until_told(self, on_ready: Callable[[], None]) -> None:
        asyncio.run(self._until_told(on_ready))

    async def _until_told(self, on_ready: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        loop.add_signal_handler(signal.SIGHUP, self._begin_anew)
        # It closes what it is given, and ours may have to be handed on.
        given = [self._sockets.tcp.dup(), self._sockets.unix.dup()]
        serving = loop.create_task(self._serve(given))
        while not self.started and not serving.done():
            await asyncio.sleep(0.01)
        if self.started:
            _log.info("serving", extra={"about": {"version": __version__, "pid": os.getpid()}})
            notify("READY=1", f"MAINPID={os.getpid()}")
            on_ready()
        warming = loop.create_task(self._get_ready())
        alive = loop.create_task(self._say_alive())
        try:
            await serving
        finally:
            alive.cancel()
            await warming

    async def _get_ready(self) -> None:
        """Load index and model: whoever asks first waits no longer than the others."""
        with suppress(ApplianceError):  # whoever asks is told
            await asyncio.to_thread(self._service.memory.get_ready)

    def _end(self) -> None:
        notify("STOPPING=1")
        self._stop()

    def _begin_anew(self) -> None:
        try:
            config.load(self._service.home)
        except ApplianceError as error:  # the present settings go on
            _log.error("the settings can't be read anew: %s", error)
            return
        reloading()
        self.again = True
        self._stop()

    def _stop(self) -> None:
        self._service.ending.set()
        self._app.state.streams.close()
        self.should_exit = True

    async def _say_alive(self) -> None:
        """Tell the service manager, as often as it wants to know, that the memory still answers."""
        if (often := watchdog()) is None:
            return
        while True:
            await asyncio.to_thread(self._service.memory.sessions.list, limit=1)
            notify("WATCHDOG=1")
            await asyncio.sleep(often)


def _announce(home: paths.Home, sockets: Listening) -> Address:
    """Write down where whoever wants to attach finds the daemon."""
    owners(home)
    address = Address(os.getpid(), sockets.url, str(sockets.path), str(home.token), __version__)
    paths.write_small_file(home.daemon, msgspec.json.encode(address))
    return address


@contextmanager
def _watching(memory: Engine, folders: Sequence[str | os.PathLike[str]]) -> Iterator[None]:
    """Within, exports are read as they land in the inbox and in the watched folders."""
    ended = threading.Event()
    watcher = memory.watcher(folders, on_read=_note_file, on_trouble=_note_trouble)

    def watch() -> None:
        while not ended.is_set():
            try:
                watcher.run()
            except ApplianceError as error:
                _note_trouble(str(error))
                ended.wait(AGAIN)

    thread = threading.Thread(target=watch, name="appliance-watch")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        watcher.stop()
        thread.join()


def _note_file(report: FileReport) -> None:
    about = {"format": report.format, "status": report.status, "new": report.new, "updated": report.updated}
    _log.info("read a file", extra={"about": about})


def _note_trouble(words: str) -> None:
    _log.warning("watching: %s", words)
