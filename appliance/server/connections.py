"""The TCP connections of the daemon: how many there may be, and how long a client may take to send.

A client without a token can open connections and send nothing, or a byte a minute. Each costs a file descriptor, of
which a process has only so many. So the head of a request and its body have a time limit, and when there are too many
connections, those that wait for a request give way: the unfinished ones first, then the idle ones, the oldest first.
One whose request is being answered is never closed. The Unix socket, which only the owner can open, has no such limits.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import replace
from enum import Enum
from http import HTTPStatus
from itertools import chain
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from appliance.lazy_dataclasses import dataclass
from appliance.server.access.grants import is_unix_socket_request

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

ACCEPTED_AT_ONCE = 32
"""Connections that the event loop accepts in one go. So a new one has been read from before it could be the oldest of
those that give way."""

WAITING_CONNECTIONS = 1024
"""Connections that the system holds until they are accepted. Beyond it clients try again, a second later."""

RESERVED_DESCRIPTORS = 384
"""File descriptors for databases, the index, vectors and models, and for what is accepted at once."""

WANTED_DESCRIPTORS = 8192
"""How many file descriptors the daemon asks the system for: more are of no use."""

MIN_CONNECTIONS = 16
"""Connections that are accepted, however few descriptors there are."""

_log = logging.getLogger("appliance.connections")


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be in all and from one address, and the time that a client may take."""

    total: int = 512
    per_peer: int = 256
    head_seconds: float = 10.0
    """For the head of a request, from the connection or its first byte on; and for a body that is discarded."""
    body_seconds: float = 30.0
    """How often a body is looked at: it is to bring ``body_bytes`` in this time, if the server reads it."""
    body_bytes: int = 15_000


class Phase(Enum):
    """What a connection waits for."""

    SILENT = "its first request"
    HEAD = "the rest of a request's head"
    DISCARD = "the rest of a body that is not read"
    IDLE = "another request"
    BODY = "the rest of a body"
    ANSWER = "its answer"


UNFINISHED = (Phase.SILENT, Phase.HEAD, Phase.DISCARD)
"""The phases of connections that have sent a part of a request at most, or too much of one."""


class ConnectionTable:
    """The open TCP connections. The oldest unfinished one gives way to a new one, else the oldest idle one."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._peers: Counter[str] = Counter()
        # Oldest first. One queue for all that is unfinished: a new connection is silent until it has been read from.
        self._unfinished: dict[LimitedProtocol, None] = {}
        self._idle: dict[LimitedProtocol, None] = {}

    def __len__(self) -> int:
        return self._peers.total()

    def admit(self, connection: LimitedProtocol) -> bool:
        """Add a new connection; another one is closed for it if there are too many. False if none gives way: the new
        one is refused."""
        if self._peers[connection.peer] >= self.limits.per_peer:
            has_room = self._close_one(connection.peer)
        elif len(self) >= self.limits.total:
            has_room = self._close_one(None)
        else:
            has_room = True
        if not has_room:
            _log.warning("refused a connection: all others are being answered")
            return False
        self._peers[connection.peer] += 1
        self._unfinished[connection] = None
        return True

    def note_phase(self, connection: LimitedProtocol) -> None:
        """Note what a connection waits for now."""
        now = self._queue(connection.phase)
        for queue in (self._unfinished, self._idle):
            if queue is not now:
                queue.pop(connection, None)
        if now is not None:
            now[connection] = None

    def remove(self, connection: LimitedProtocol) -> None:
        self._unfinished.pop(connection, None)
        self._idle.pop(connection, None)
        self._peers[connection.peer] -= 1
        if not self._peers[connection.peer]:
            del self._peers[connection.peer]

    def _queue(self, phase: Phase) -> dict[LimitedProtocol, None] | None:
        if phase in UNFINISHED:
            return self._unfinished
        return self._idle if phase is Phase.IDLE else None

    def _close_one(self, peer: str | None) -> bool:
        """Close the first connection that gives way, of this peer if one is named."""
        for connection in chain(self._unfinished, self._idle):
            if peer in (None, connection.peer):
                _log.warning("closed a connection that waited for %s: there are too many", connection.phase.value)
                connection.give_way()
                return True
        return False


class LimitedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, with the limits of a ``ConnectionTable``.

    An answer that is sent before the body has arrived, such as a refusal, is followed by the end of the stream, and
    what the client still sends is discarded for a while: it would not get the answer if the connection were reset.
    """

    def __init__(self, table: ConnectionTable, **options: Any) -> None:
        super().__init__(**options)
        self.peer = ""
        self.phase = Phase.SILENT
        self._table = table
        self._is_limited = False
        self._is_lingering = False
        self._timer: asyncio.TimerHandle | None = None
        self._body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, _LingeringTransport(transport, self)))
        if is_unix_socket_request({"server": self.server}):
            return
        self.peer = self.client[0] if self.client else ""
        if not self._table.admit(self):
            transport.abort()
            return
        self._is_limited = True
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_lingering:
            return
        self._body_bytes += len(data)
        super().data_received(data)
        self._note_phase(has_data=True)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._note_phase(has_data=False)

    def give_way(self) -> None:
        """Close the connection at once, for a new one."""
        self._leave()
        self.transport.abort()

    def begin_to_linger(self) -> bool:
        """Discard what still comes, if the client is still sending a body. False if the connection can be closed."""
        if not self._is_limited or self.conn.their_state is not h11.SEND_BODY:
            return False
        if not self._is_lingering:
            self._is_lingering = True
            self.flow.resume_reading()
            self.transport.write_eof()
            self._note_phase(has_data=False)
        return True

    def _leave(self) -> None:
        self._stop_timer()
        if self._is_limited:
            self._is_limited = False
            self._table.remove(self)

    def _note_phase(self, *, has_data: bool) -> None:
        before, self.phase = self.phase, self._current_phase(has_data)
        if self._is_limited and self.phase is not before:
            self._table.note_phase(self)
            self._start_timer()

    def _current_phase(self, has_data: bool) -> Phase:
        if self._is_lingering:
            return Phase.DISCARD
        if self.conn.their_state is h11.IDLE:
            return Phase.HEAD if has_data or self.conn.trailing_data[0] else Phase.IDLE
        if self.conn.their_state is h11.SEND_BODY:
            return Phase.DISCARD if self.conn.our_state is h11.DONE else Phase.BODY
        return Phase.ANSWER

    # --- time limits ------------------------------------------------------------------------------------------

    def _start_timer(self) -> None:
        self._stop_timer()
        limits = self._table.limits
        self._body_bytes = 0
        match self.phase:
            case Phase.SILENT | Phase.HEAD | Phase.DISCARD:
                self._timer = self.loop.call_later(limits.head_seconds, self._time_out)
            case Phase.BODY:
                self._timer = self.loop.call_later(limits.body_seconds, self._check_body)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_body(self) -> None:
        # A body that the server does not read for now, because it writes what came before, is not late.
        if self._body_bytes < self._table.limits.body_bytes and not self.flow.read_paused:
            self._time_out()
        else:
            self._start_timer()

    def _time_out(self) -> None:
        if self.phase in (Phase.HEAD, Phase.BODY) and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            headers = [("content-length", "0"), ("connection", "close")]
            response = h11.Response(status_code=HTTPStatus.REQUEST_TIMEOUT, headers=headers, reason=b"Request Timeout")
            self.transport.write(self.conn.send(response))
        self._leave()
        self.transport.close()


class _LingeringTransport:
    """A transport that is closed only when the client has sent its body, or has taken too long."""

    def __init__(self, transport: asyncio.Transport, protocol: LimitedProtocol) -> None:
        self._transport = transport
        self._protocol = protocol

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        if not self._protocol.begin_to_linger():
            self._transport.close()


def raise_descriptor_limit() -> int:
    """Let this process open as many files as the system allows, up to ``WANTED_DESCRIPTORS``. Returns how many."""
    if resource is None:
        return WANTED_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, WANTED_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):  # macOS allows fewer than it says
            return soft
        return wanted
    return WANTED_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


def fitting_limits(limits: ConnectionLimits, descriptors: int) -> ConnectionLimits:
    """The limits that this many file descriptors allow."""
    most = max(MIN_CONNECTIONS, descriptors - RESERVED_DESCRIPTORS)
    return replace(limits, total=min(limits.total, most), per_peer=min(limits.per_peer, most))
