"""``appliance serve``: the process that owns a home, watches its folders, runs its background work and serves it.

``serve`` reads top to bottom: open the home, listen, write the address, serve until stopped, close.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress

import msgspec
import uvicorn

from appliance import __version__, config, paths, requests
from appliance.client import Appliance
from appliance.engine.engine import Engine
from appliance.engine.reader_pool import usual_readers
from appliance.errors import ApplianceError, DaemonGone, HomeBusy, HomeLocked, UsageError
from appliance.runtime.heap import share_one_heap
from appliance.server import logs
from appliance.server.access.grants import Service
from appliance.server.access.tokens import owner_token
from appliance.server.connections import (
    ACCEPTED_AT_ONCE,
    WAITING_CONNECTIONS,
    ConnectionLimits,
    ConnectionTable,
    LimitedProtocol,
    fitting_limits,
    raise_descriptor_limit,
)
from appliance.server.http.app import create_app
from appliance.server.sockets import ListeningSockets, check_free, is_loopback, listen, pass_sockets_on_exec
from appliance.server.systemd import notify, notify_reloading, watchdog_interval
from appliance.settings import ServerSettings
from appliance.store.lock import describe_owner, read_owner
from appliance.transports.daemon import DaemonAddress, DaemonTransport
from appliance.transports.shared import (
    CLOSE_FIRST_HINT,
    DAEMON_PURPOSE,
    JOIN_RETRY_SECONDS,
    UNANNOUNCED_TIMEOUT_SECONDS,
)
from appliance.types import FileReport, Owner

SHUTDOWN_TIMEOUT_SECONDS = 10
"""Seconds for pending requests to finish after the daemon was told to stop."""

KEEP_ALIVE_SECONDS = 75
"""Seconds that an idle connection is kept open."""

HAND_OVER_SECONDS = 30.0
"""Seconds that an owner may take to leave the home: it finishes what can't be done again."""

BUSY_SECONDS = 60.0
"""Seconds to wait for an owner that does something long. Less than a service manager waits for a daemon to be ready."""

BUSY_RETRY_SECONDS = 0.5
"""Seconds until such an owner is asked again."""

WATCH_RETRY_SECONDS = 60.0
"""Seconds until the watcher starts again after an error."""

_log = logging.getLogger("appliance.daemon")


def serve(
    home: str | os.PathLike[str] | None = None,
    *,
    host: str | None = None,
    port: int | None = None,
    folders: Sequence[str | os.PathLike[str]] = (),
    beyond_loopback: bool = False,
    wait: bool = False,
    on_wait: Callable[[str], None] = lambda owner: None,
    on_ready: Callable[[DaemonAddress], None] = lambda address: None,
) -> None:
    """Own a home and serve it until SIGTERM or SIGINT; SIGHUP reloads the settings. Call it in the main thread.

    Args:
        home: The folder; the default home if None.
        host: The address to listen on; by default that of the settings.
        port: The port; by default that of the settings.
        folders: Folders to watch in addition to those of the settings.
        beyond_loopback: Allow an address that other machines can reach.
        wait: Wait without a bound for a program that has the home open, unless it is a daemon.
        on_wait: Called once with such a program, as an error names it, before it is waited for longer than a moment.
        on_ready: Called with the address once the daemon accepts requests.

    Raises:
        HomeLocked: Another process owns the home; the error names it.
        UsageError: The daemon can't listen there, or other machines can reach it without ``beyond_loopback``.
    """
    restarts = False
    share_one_heap()
    with ExitStack() as stack:
        if not (found := paths.find_home(home)).database.exists():
            # No memory is begun in vain.
            check_free(*_address(config.load(found).server, host, port, beyond_loopback))
        engine = _take_over(home, wait, on_wait)
        memory = stack.enter_context(Appliance.of(engine))
        engine.load()
        requests.load()
        settings = memory.settings.server
        engine.readers.allow(usual_readers() if settings.readers is None else settings.readers)
        host, port = _address(settings, host, port, beyond_loopback)
        stack.enter_context(logs.daemon_log(memory.home.logs))
        sockets = stack.enter_context(listen(memory.home, host, port))
        settings = msgspec.structs.replace(settings, host=host, port=sockets.port)
        server = _Server(Service(memory, engine, memory.home, settings), sockets)
        stack.enter_context(_watching(memory, folders))
        address = _write_address(memory.home, sockets)
        try:
            server.run_until_stopped(lambda: on_ready(address))
            restarts = server.restart_requested
        finally:
            if not restarts:
                memory.home.daemon.unlink(missing_ok=True)
        if restarts:
            pass_sockets_on_exec(sockets)
        _log.info("stopping" if not restarts else "restarting")
    if restarts:
        os.execv(sys.executable, sys.orig_argv)


def _address(settings: ServerSettings, host: str | None, port: int | None, beyond_loopback: bool) -> tuple[str, int]:
    """Where to listen: as given, else by the settings.

    Raises:
        UsageError: Other machines can reach it without ``beyond_loopback``.
    """
    host = host or settings.host
    if not is_loopback(host) and not beyond_loopback:
        raise UsageError(
            f"Other machines can reach {host}.", hint="Allow it with --beyond-loopback; the traffic is not encrypted."
        )
    return host, settings.port if port is None else port


def _take_over(home: str | os.PathLike[str] | None, wait: bool, on_wait: Callable[[str], None]) -> Engine:
    """Open the home. A program that owns it is asked to leave it to the daemon; it attaches to it then. One that does
    something long is waited for, and asked again.

    Raises:
        HomeLocked: The owner is a daemon, or needs the home.
    """
    deadline = time.monotonic() + UNANNOUNCED_TIMEOUT_SECONDS
    agreed: Owner | None = None
    waits_for: Owner | None = None
    while True:
        try:
            return Engine.open(home, purpose=DAEMON_PURPOSE)
        except HomeLocked as error:
            refusal, pause = error, JOIN_RETRY_SECONDS
        found = paths.find_home(home)
        owner = read_owner(found.lock)
        refusal.hint = CLOSE_FIRST_HINT
        if owner is not None and owner.purpose == DAEMON_PURPOSE and owner.pid != os.getpid():
            # A note of this process is of a home that is being handed over to it.
            refusal.hint = "It serves the memory already, and other commands use it. Stop it first to start another."
            raise refusal
        is_busy = False
        if owner is not None and owner.socket is not None and owner != agreed:
            try:
                if _ask_for_home(found):
                    agreed, deadline = owner, time.monotonic() + HAND_OVER_SECONDS
            except HomeLocked as error:
                refusal, pause, is_busy = error, BUSY_RETRY_SECONDS, isinstance(error, HomeBusy)
                if not (is_busy or wait):
                    raise
        if owner is not None and owner != waits_for and (is_busy or wait):
            waits_for, deadline = owner, time.monotonic() + BUSY_SECONDS
            on_wait(describe_owner(owner))
        if not wait and time.monotonic() > deadline:
            raise refusal
        time.sleep(pause)


def _ask_for_home(home: paths.Home) -> bool:
    """Ask the owner to leave the home to this process. Returns whether it will; False if it has gone already.

    Raises:
        HomeLocked: It needs the home.
    """
    with closing(DaemonTransport(home)) as transport, suppress(DaemonGone):
        transport.ask_for_home(Owner(os.getpid(), DAEMON_PURPOSE))
        return True
    return False


class _Server(uvicorn.Server):
    """uvicorn on the daemon's sockets, with the daemon's signal handlers."""

    def __init__(self, service: Service, sockets: ListeningSockets) -> None:
        self._app = create_app(service)
        settings = service.settings
        limits = ConnectionLimits(total=settings.connections, per_peer=settings.connections_per_peer)
        table = ConnectionTable(fitting_limits(limits, raise_descriptor_limit()))
        super().__init__(
            uvicorn.Config(
                logs.RequestLogMiddleware(self._app),
                http=functools.partial(LimitedProtocol, table),  # type: ignore[arg-type]
                backlog=ACCEPTED_AT_ONCE,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
            )
        )
        self._service = service
        self._sockets = sockets
        self.restart_requested = False
        """Whether to restart with changed settings."""

    def run_until_stopped(self, on_ready: Callable[[], None]) -> None:
        asyncio.run(self._run_until_stopped(on_ready))

    async def _run_until_stopped(self, on_ready: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signal_number, self._handle_terminate)
        loop.add_signal_handler(signal.SIGHUP, self._handle_reload)
        # uvicorn closes its sockets, and the originals may have to be passed on.
        socket_copies = [self._sockets.tcp.dup(), self._sockets.unix.dup()]
        server_task = loop.create_task(self._serve(socket_copies))
        while not self.started and not server_task.done():
            await asyncio.sleep(0.01)
        if self.started:
            self._sockets.tcp.listen(WAITING_CONNECTIONS)  # asyncio makes it as short as what it accepts at once
            _log.info("serving", extra={"about": {"version": __version__, "pid": os.getpid()}})
            notify("READY=1", f"MAINPID={os.getpid()}")
            on_ready()
        warm_up_task = loop.create_task(self._warm_up())
        watchdog_task = loop.create_task(self._ping_watchdog())
        try:
            await server_task
        finally:
            watchdog_task.cancel()
            await warm_up_task

    async def _warm_up(self) -> None:
        """Load index and model, so that the first query is as fast as the others."""
        with suppress(ApplianceError):  # a query reports it
            await asyncio.to_thread(self._service.memory.warm_up)

    def _handle_terminate(self) -> None:
        notify("STOPPING=1")
        self.restart_requested = False  # a reload that is under way ends with it
        self._stop()

    def _handle_reload(self) -> None:
        try:
            config.load(self._service.home)
        except ApplianceError as error:  # the present settings stay
            _log.error("can't reload the settings: %s", error)
            return
        notify_reloading()
        self.restart_requested = True
        self._stop()

    def _stop(self) -> None:
        self._service.stopping.set()
        self._app.state.streams.close()
        self.should_exit = True

    async def _ping_watchdog(self) -> None:
        """Ping the service manager's watchdog while the memory answers."""
        if (interval := watchdog_interval()) is None:
            return
        while True:
            await asyncio.to_thread(self._service.memory.sessions.list, limit=1)
            notify("WATCHDOG=1")
            await asyncio.sleep(interval)


def _write_address(home: paths.Home, sockets: ListeningSockets) -> DaemonAddress:
    """Write the file by which other programs find the daemon."""
    owner_token(home)
    address = DaemonAddress(os.getpid(), sockets.url, str(sockets.path), str(home.token), __version__)
    paths.write_file_atomically(home.daemon, msgspec.json.encode(address))
    return address


@contextmanager
def _watching(memory: Appliance, folders: Sequence[str | os.PathLike[str]]) -> Iterator[None]:
    """Within the context, ingest exports that arrive in the inbox and the watched folders."""
    ended = threading.Event()
    watcher = memory.watcher(folders, on_read=_log_file, on_trouble=_log_trouble)

    def watch() -> None:
        while not ended.is_set():
            try:
                watcher.run()
            except ApplianceError as error:
                _log_trouble(str(error))
                ended.wait(WATCH_RETRY_SECONDS)

    thread = threading.Thread(target=watch, name="appliance-watch")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        watcher.stop()
        thread.join()


def _log_file(report: FileReport) -> None:
    about = {"format": report.format, "status": report.status, "new": report.new, "updated": report.updated}
    _log.info("read a file", extra={"about": about})


def _log_trouble(message: str) -> None:
    _log.warning("watching: %s", message)
