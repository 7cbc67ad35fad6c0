"""The transport of ``Appliance.open``: it owns the home or attaches to its owner, and changes when the owner leaves.

Every owner answers the others over the home's socket, so that none is refused. When an owner leaves, its callers take
the lock: one becomes the owner, the others attach to it, and requests that were under way go on there. A program that
begins with a daemon waits for it instead, when it stops.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar

from appliance import requests as r
from appliance.errors import ApplianceError, DaemonGone, HomeBusy, HomeLocked, StoreError
from appliance.requests import Request
from appliance.store.lock import describe_owner, is_running, read_owner
from appliance.transports.local_streams import LocalStream, LocalStreams
from appliance.types import OnProgress, Owner

if TYPE_CHECKING:
    from appliance.engine.engine import Engine
    from appliance.paths import Home
    from appliance.settings import Settings
    from appliance.store.lock import OwnerLock
    from appliance.transports.carried_stream import CarriedStream
    from appliance.transports.daemon import DaemonTransport
    from appliance.transports.local import LocalTransport
    from appliance.transports.rpc_server import RpcServer
    from appliance.types import Stream

R = TypeVar("R")

JOIN_TIMEOUT_SECONDS = 15.0
"""Seconds that an owner may take to listen, or to leave. A daemon opens a large home in two."""

DAEMON_TIMEOUT_SECONDS = 30.0
"""Seconds that a daemon may take to leave, or to restart: it answers what it was asked, and finishes an erasure."""

UNANNOUNCED_TIMEOUT_SECONDS = 2.0
"""Seconds to wait for an owner that names no socket: it has just taken the lock, or it never listens."""

JOIN_RETRY_SECONDS = 0.02
"""Seconds between two tries to attach or to own."""

DAEMON_PURPOSE = "appliance serve"
"""The purpose that a daemon names when it takes a home."""

CLOSE_FIRST_HINT = "Close it first: 'appliance serve' must own the memory."

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
        self._owner_lock: OwnerLock | None = None
        self._streams = LocalStreams()
        self._local_uses = threading.Condition()
        self._under_way: Counter[bool] = Counter()
        self._is_leaving = False
        self._waits_for_daemon = True

    def open(self) -> Self:
        """Attach to the home's owner, or become it.

        Raises:
            HomeError: The folder can't be used, or holds no memory and ``create`` is False.
            HomeLocked: The owner does not answer, is of another version, or has another embedder.
            StoreError, ConfigError: The store or the settings are refused.
        """
        self.settings = self._join()
        self._waits_for_daemon = self.is_attached_to_daemon
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
        self._waits_for_daemon = self.is_attached_to_daemon
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
            result = self._send(request, on_progress)
            if isinstance(result, LocalStream):
                result = self._carried(request, first=result)
            return result  # type: ignore[no-any-return]
        from appliance.transports.codec import wire_types
        from appliance.transports.daemon import prepared

        request = prepared(request)
        if request.resumable and wire_types(type(request)).streams:
            result = self._carried(request)
            return result  # type: ignore[no-any-return]
        return self._send(request, on_progress)

    def _carried(self, request: Request[Any], first: LocalStream[Any] | None = None) -> CarriedStream[Any]:
        """The stream of a resumable request, whichever process owns the home; ``first`` is that of this process."""
        from appliance.transports.carried_stream import CarriedStream

        opened = [] if first is None else [first]
        is_export = isinstance(request, r.ExportRequest | r.ExportMarkdownRequest | r.ExportHtmlRequest)
        return CarriedStream[Any](lambda: opened.pop() if opened else self._send(request, None), repeats=is_export)

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
            with self._local_use(request) as (local, remote):
                if local is not None:
                    result: Any = local.send(request, on_progress)
                    if request.resumable and hasattr(result, "__next__"):
                        result = self._streams.add(result)
                    return result  # type: ignore[no-any-return]
            assert remote is not None
            if self._closed.is_set():
                raise _closed_error()
            try:
                return remote.send(request, on_progress)
            except DaemonGone as error:
                may_follow = request.repeatable or request.resumable or not error.begun
                if not may_follow or (remote.is_daemon and self._waits_for_daemon):
                    raise
                self._change_owner(remote)

    @contextmanager
    def _local_use(self, request: Request[Any]) -> Iterator[tuple[LocalTransport | None, DaemonTransport | None]]:
        """The transports to the owner, this process or another one. Within, the owner does not change if it is this
        process."""
        with self._local_uses:
            self._local_uses.wait_for(lambda: not self._is_leaving)
            local, remote = (self._local, None) if self._remote is None else (None, self._remote)
            self._under_way[request.long_running] += local is not None
        try:
            yield local, remote
        finally:
            with self._local_uses:
                self._under_way[request.long_running] -= local is not None
                self._local_uses.notify_all()

    # --- owning and attaching ---------------------------------------------------------------------------------

    def _change_owner(self, gone: DaemonTransport) -> None:
        """Own the home, or attach to its next owner, unless another thread did so already."""
        with self._lock:
            if self._remote is gone:
                gone.close()
                self._join(after_daemon=gone.is_daemon)
                for use in self._interactive_uses:
                    use.begin(self._local)

    def _join(self, *, after_daemon: bool = False) -> Settings:
        """Attach to the owner, or become it. ``after_daemon``: wait for a daemon that restarts, with other settings."""
        began = time.monotonic()
        while not self._closed.is_set():
            if (settings := self._attach()) is not None:
                return settings
            if self._closed.is_set():
                break
            is_late = time.monotonic() - began > (DAEMON_TIMEOUT_SECONDS if after_daemon else self._join_timeout())
            try:
                if is_late or not (after_daemon and self._is_daemon_running()):
                    return self._own()
            except HomeLocked:
                if is_late:
                    raise
            self._closed.wait(JOIN_RETRY_SECONDS)
        raise _closed_error()

    def _is_daemon_running(self) -> bool:
        """Whether the home names a daemon that has not ended: one that serves, is about to leave, or restarts."""
        from appliance.transports import daemon

        address = daemon.read_address(self._home)
        return address is not None and is_running(address.pid)

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
        if self._worker and not (remote.is_daemon and self._waits_for_daemon):
            threading.Thread(target=self._follow_owner, args=(remote,), name="appliance-owner", daemon=True).start()
        return settings

    def _own(self) -> Settings:
        from appliance.transports import local, rpc_server

        server: RpcServer | None = None

        def listen(lock: OwnerLock) -> None:
            nonlocal server
            self._owner_lock = lock
            server = rpc_server.RpcServer.listen(self._home)
            if server is not None:
                lock.announce(server.path, server.stop_listening)

        engine = self._open_engine(listen)
        self._local, self._server, self._remote = local.LocalTransport(engine), server, None
        if server is not None:
            server.begin(self._local, self._hand_over)
        return engine.settings

    def _hand_over(self, successor: Owner) -> None:
        """Leave the home to another process, and attach to it. What this process is asked for meanwhile waits.

        Raises:
            HomeLocked: This process has a model of its own.
            HomeBusy: It does something long for itself, or leaves the home already.
        """
        with self._local_uses:
            in_use = f"The memory is in use by {describe_owner(read_owner(self._home.lock))}."
            where = str(self._home.root)
            if self._model is not None:
                raise HomeLocked(in_use, where=where, hint=CLOSE_FIRST_HINT)
            if self._under_way[True] or self._is_leaving:
                raise HomeBusy(
                    in_use,
                    where=where,
                    hint="It does something long, such as an import, and leaves the memory to 'appliance serve' after"
                    " that. Try again then, or let 'appliance serve --wait' wait for it.",
                )
            self._is_leaving = True
        threading.Thread(target=self._leave_to, args=(successor,), name="appliance-hand-over", daemon=True).start()

    def _leave_to(self, successor: Owner) -> None:
        from appliance.transports.daemon import DaemonTransport

        with self._lock:
            local, server, lock = self._local, self._server, self._owner_lock
            gone = DaemonTransport(self._home)
            try:
                if local is None or server is None or lock is None or self._closed.is_set():
                    return
                with self._local_uses:
                    self._local_uses.wait_for(lambda: not self._under_way.total())
                lock.leave_to(successor)
                self._streams.leave()
                server.leave()
                local.close()
                for use in self._interactive_uses:
                    use.leave()
                self._local = self._server = self._owner_lock = None
                self._remote = gone
            finally:
                with self._local_uses:
                    self._is_leaving = False
                    self._local_uses.notify_all()
        with suppress(ApplianceError):  # the next request reports it
            self._change_owner(gone)

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

    def leave(self) -> None:
        """Forget the engine, which is closed."""
        self._held = None

    def __iter__(self) -> _InteractiveUse:
        return self

    def __next__(self) -> None:
        raise StopIteration

    def close(self) -> None:
        self._on_close(self)
        if self._held is not None:
            self._held.close()
