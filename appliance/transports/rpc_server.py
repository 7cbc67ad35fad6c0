"""The RPC server of an owner that is no daemon: a thread a connection, on the home's Unix socket.

It speaks the protocol of the daemon's ``/local`` routes, with the standard library alone: a command that owns the home
for half a second can't wait for a web server to load. ``rpc_connection``, which answers, is loaded when the first
client connects.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.errors import HomeError
from appliance.paths import Home
from appliance.transports.unix_socket import listen_unix, remove_socket, socket_path

if TYPE_CHECKING:
    from appliance.transports.local import LocalTransport
    from appliance.transports.rpc_connection import HandOver, RpcConnection

LEAVE_TIMEOUT_SECONDS = 10.0
"""Seconds that short requests have to end and resumable ones to stop when the owner leaves."""


ACCEPT_RETRY_SECONDS = 0.1
"""Seconds after a connection that could not be accepted."""


class RpcServer:
    """Answers other programs of the same user from the moment of ``begin`` until ``close``.

    Clients that connect between ``listen`` and ``begin`` wait in the socket's queue.
    """

    def __init__(self, unix: socket.socket, path: Path) -> None:
        self.path = path
        self._unix = unix
        self._waker, self._woken = socket.socketpair()
        self._lock = threading.Condition()
        self._connections: set[RpcConnection] = set()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._hand_over: HandOver

    @classmethod
    def listen(cls, home: Home) -> RpcServer | None:
        """Listen on the socket of a home that this process owns; None where there can be no socket, as on a file system
        without them."""
        path = socket_path(home)
        try:
            return cls(listen_unix(path), path)
        except HomeError:
            return None

    def begin(self, transport: LocalTransport, hand_over: HandOver) -> None:
        """Answer requests with this transport. ``hand_over`` is called when another process asks for the home."""
        self._hand_over = hand_over
        self._thread = threading.Thread(target=self._accept, args=(transport,), name="appliance-rpc", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Stop answering, so that another process can take over. Call it before the engine is closed.

        Requests that the next owner can't resume are finished first. Of the others, the short ones are finished and the
        long ones are interrupted; their callers send them to the next owner.
        """
        with self._lock:
            self._lock.wait_for(lambda: not any(one.must_finish for one in self._connections))
        self.stop_listening()
        with self._lock:
            for connection in self._connections:
                connection.leave()
            self._lock.wait_for(lambda: not self._connections, LEAVE_TIMEOUT_SECONDS)
            for connection in self._connections:
                connection.hang_up()

    def stop_listening(self) -> None:
        """Remove the socket. May be called again."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        remove_socket(self.path)
        if self._thread is not None:
            self._waker.send(b"x")
            self._thread.join()
        for one in (self._unix, self._waker, self._woken):
            one.close()

    # --- the threads ----------------------------------------------------------------------------------------

    def _accept(self, transport: LocalTransport) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._unix, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while all(key.fileobj is self._unix for key, _ in selector.select()):
                self._accept_one(transport)

    def _accept_one(self, transport: LocalTransport) -> None:
        from appliance.transports import rpc_connection

        try:
            accepted, _ = self._unix.accept()
        except OSError:  # the client has gone already, or this process has too many open files
            time.sleep(ACCEPT_RETRY_SECONDS)
            return
        connection = rpc_connection.RpcConnection(accepted, transport, self._lock, self._hand_over)
        with self._lock:
            self._connections.add(connection)
        threading.Thread(target=self._serve, args=(connection,), name="appliance-rpc-client", daemon=True).start()

    def _serve(self, connection: RpcConnection) -> None:
        try:
            with suppress(OSError):  # the client has gone
                connection.serve()
        finally:
            with self._lock:
                self._connections.discard(connection)
                self._lock.notify_all()
            connection.close()
