"""The transport of ``Appliance.open``: it owns the home or attaches to its owner, and changes when the owner leaves.

Every owner answers the others over the home's socket, so that none is refused. When an owner leaves, its callers take
the lock: one becomes the owner, the others attach to it, and requests that were under way go on there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar

from appliance import requests as r
from appliance.errors import ApplianceError, DaemonGone, HomeLocked, StoreError
from appliance.requests import Request
from appliance.store.lock import read_owner
from appliance.types import OnProgress

if TYPE_CHECKING:
    from appliance.engine.engine import Engine
    from appliance.paths import Home
    from appliance.settings import Settings
    from appliance.store.lock import OwnerLock
    from appliance.transports.daemon import DaemonTransport
    from appliance.transports.local import LocalTransport
    from appliance.transports.rpc_server import RpcServer
    from appliance.types import Stream

R = TypeVar("R")

JOIN_TIMEOUT_SECONDS = 15.0
"""Seconds that an owner may take to listen, or to leave. A daemon opens a large home in two."""

UNANNOUNCED_TIMEOUT_SECONDS = 2.0
"""Seconds to wait for an owner that names no socket: it has just taken the lock, or it never listens."""

JOIN_RETRY_SECONDS = 0.02
"""Seconds between two tries to attach or to own."""

DAEMON_PURPOSE = "appliance serve"
"""The purpose that a daemon names when it takes a home."""


OpenEngine = Callable[["Callable[[OwnerLock], None]"], "Engine"]
"""Opens the engine of the home in this process. Calls its argument as ``on_owned`` of ``Engine.open``."""


class SharedTransport:
    """Carries requests to the home's owner, which may be this process."""

    settings: Settings
    """The settings of the owner that it began with."""

    def __init__(self, home: Home, open_engine: OpenEngine, *, worker: bool, model: str | None) -> None:
        """Call ``open`` or ``attach`` next.

        Args:
            home: The home.
            open_engine: How this process opens the home when it becomes the owner.
            worker: Take over as soon as the owner leaves, also without a request, so that its jobs go on.
            model: The embedding model that this process would use; None for the owner's.
        """
        self._home = home
        self._open_engine = open_engine
        self._worker = worker
        self._model = model
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._server: RpcServer | None = None
        self._interactive_uses: set[_InteractiveUse] = set()
        self._local: LocalTransport | None = None
        self._remote: DaemonTransport | None = None
        self._connecting: DaemonTransport | None = None

    def open(self) -> Self:
        """Attach to the home's owner, or become it.

        Raises:
            HomeError: The folder can't be used, or holds no memory and ``create`` is False.
            HomeLocked: The owner does not answer, is of another version, or has another embedder.
            StoreError, ConfigError: The store or the settings are refused.
        """
        self.settings = self._join()
        return self

    def attach(self) -> Self | None:
        """Attach to the home's owner; None if it has none.

        Raises:
            HomeLocked: The owner is of another version, or has another embedder.
        """
        settings = self._attach()
        if settings is None:
            return None
        self.settings = settings
        return self

    @property
    def is_attached(self) -> bool:
        """Whether another process owns the home."""
        return self._remote is not None

    @property
    def is_attached_to_daemon(self) -> bool:
        """Whether a daemon owns the home."""
        return self._remote is not None and self._remote.is_daemon

    @property
    def is_listening(self) -> bool:
        """Whether this process owns the home and answers others."""
        return self._server is not None

    @property
    def engine(self) -> Any:
        """The engine, if this process owns the home."""
        return self._local.engine if self._local is not None else None

    def send(self, request: Request[R], on_progress: OnProgress | None = None) -> R:
        """Run a request, as ``Transport.send``."""
        result: Any
        if isinstance(request, r.InteractiveUseRequest):
            result = self._begin_interactive_use(request)
            return result  # type: ignore[no-any-return]
        if self._remote is None:
            return self._send(request, on_progress)
        from appliance.transports.carried_stream import CarriedStream
        from appliance.transports.codec import wire_types
        from appliance.transports.daemon import prepared

        request = prepared(request)
        if request.resumable and wire_types(request.name).streams:
            stream: Any = request
            is_export = isinstance(request, r.ExportRequest | r.ExportMarkdownRequest | r.ExportHtmlRequest)
            result = CarriedStream[Any](lambda: self._send(stream, None), repeats=is_export)
            return result  # type: ignore[no-any-return]
        return self._send(request, on_progress)

    def close(self) -> None:
        """Let go of the home. An owner first finishes what others asked of it and can't ask of the next one."""
        self._closed.set()
        if self._connecting is not None:  # a thread may wait for an owner that does not answer yet
            self._connecting.close()
        with self._lock:  # a thread that changes the owner has ended
            if self._remote is not None:
                self._remote.close()
            if self._server is not None:
                self._server.leave()
            if self._local is not None:
                self._local.close()

    def _send(self, request: Request[R], on_progress: OnProgress | None) -> R:
        while True:
            remote = self._remote
            if remote is None:
                assert self._local is not None
                return self._local.send(request, on_progress)
            if self._closed.is_set():
                raise _closed_error()
            try:
                return remote.send(request, on_progress)
            except DaemonGone as error:
                may_follow = request.repeatable or request.resumable or not error.begun
                if remote.is_daemon or not may_follow:
                    raise
                self._change_owner(remote)

    # --- owning and attaching ---------------------------------------------------------------------------------

    def _change_owner(self, gone: DaemonTransport) -> None:
        """Own the home, or attach to its next owner, unless another thread did so already."""
        with self._lock:
            if self._remote is gone:
                gone.close()
                self._join()
                for use in self._interactive_uses:
                    use.begin(self._local)

    def _join(self) -> Settings:
        began = time.monotonic()
        while not self._closed.is_set():
            if (settings := self._attach()) is not None:
                return settings
            if self._closed.is_set():
                break
            try:
                return self._own()
            except HomeLocked:
                if time.monotonic() - began > self._join_timeout():
                    raise
            self._closed.wait(JOIN_RETRY_SECONDS)
        raise _closed_error()

    def _join_timeout(self) -> float:
        owner = read_owner(self._home.lock)
        listens = owner is None or owner.socket is not None or owner.purpose == DAEMON_PURPOSE
        return JOIN_TIMEOUT_SECONDS if listens else UNANNOUNCED_TIMEOUT_SECONDS

    def _attach(self) -> Settings | None:
        owner = read_owner(self._home.lock)
        may_listen = owner.socket is not None if owner else self._home.socket.exists()
        if not may_listen and not self._home.daemon.exists():
            return None
        from appliance.transports import daemon

        self._connecting = remote = daemon.DaemonTransport(self._home)
        if self._closed.is_set():  # ``close`` did not see it
            return None
        if (settings := daemon.connect(remote, model=self._model)) is None:
            return None
        self._remote = remote
        if self._worker and not remote.is_daemon:
            threading.Thread(target=self._follow_owner, args=(remote,), name="appliance-owner", daemon=True).start()
        return settings

    def _own(self) -> Settings:
        from appliance.transports import local, rpc_server

        server: RpcServer | None = None

        def listen(lock: OwnerLock) -> None:
            nonlocal server
            server = rpc_server.RpcServer.listen(self._home)
            if server is not None:
                lock.announce(server.path, server.stop_listening)

        engine = self._open_engine(listen)
        self._local, self._server, self._remote = local.LocalTransport(engine), server, None
        if server is not None:
            server.begin(self._local)
        return engine.settings

    def _follow_owner(self, remote: DaemonTransport) -> None:
        """Take over as soon as the owner leaves, also without a request, so that background work goes on."""
        remote.wait_until_gone()
        if not self._closed.is_set():
            with suppress(ApplianceError):  # the next request reports it
                self._change_owner(remote)

    # --- a screen in this process -----------------------------------------------------------------------------

    def _begin_interactive_use(self, request: r.InteractiveUseRequest) -> _InteractiveUse:
        with self._lock:
            use = _InteractiveUse(request, self._interactive_uses.discard)
            use.begin(self._local)
            self._interactive_uses.add(use)
            return use


def _closed_error() -> StoreError:
    return StoreError("The memory is closed.", hint="Open it again.")


class _InteractiveUse:
    """An empty stream: until it is closed, the engine works in small steps, if it is in this process."""

    def __init__(self, request: r.InteractiveUseRequest, on_close: Any) -> None:
        self._request = request
        self._on_close = on_close
        self._held: Stream[None] | None = None

    def begin(self, local: LocalTransport | None) -> None:
        if local is not None and self._held is None:
            self._held = local.send(self._request)

    def __iter__(self) -> _InteractiveUse:
        return self

    def __next__(self) -> None:
        raise StopIteration

    def close(self) -> None:
        self._on_close(self)
        if self._held is not None:
            self._held.close()
