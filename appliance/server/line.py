"""The client's side of the calls: over the Unix socket of the process that owns the home, as many at a time as wanted.

Plain ``http.client``, because a command that only asks something must not wait for a large library to load.
"""

from __future__ import annotations

import http.client
import select
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

from appliance.errors import DaemonGone
from appliance.paths import Home
from appliance.server import calls

KEPT = 8
"""Connections that are kept for the next call."""

CONNECTING = 5.0
"""Seconds for a connection to be taken, on one machine: a daemon that does not take it hangs."""


class Address(msgspec.Struct, frozen=True):
    """What a daemon says of itself in ``daemon.json``."""

    pid: int
    url: str
    socket: str
    token_file: str
    version: str


def address(home: Home) -> Address | None:
    """Where the daemon of a home listens, if one said so: it may have ended since."""
    try:
        return msgspec.json.decode(home.daemon.read_bytes(), type=Address)
    except (OSError, msgspec.DecodeError):
        return None


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(CONNECTING)
        self.sock.connect(self._path)
        self.sock.settimeout(None)  # what a verb takes, it takes: whoever waits can interrupt it

    def is_alive(self) -> bool:
        """Whether the other end still holds it: nothing comes from there unasked but its end."""
        return self.sock is not None and not select.select([self.sock], [], [], 0)[0]


class Line:
    """Calls to the daemon of a home. Safe to use from several threads; each call has a connection of its own."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._kept: list[_Connection] = []

    def close(self) -> None:
        with self._lock:
            while self._kept:
                self._kept.pop().close()

    def is_taken(self) -> bool:
        """Whether there is a daemon."""
        try:
            connection = self._connected()
        except DaemonGone:
            return False
        self._keep(connection)
        return True

    def get(self, path: str, type: Any) -> Any:
        """What the daemon answers at a path.

        Raises:
            DaemonGone: there is none, or it ended meanwhile.
        """
        return msgspec.json.decode(self._asked_twice("GET", path, None), type=type)

    def call(self, room: str, verb: str, given: Mapping[str, Any], session: str | None = None) -> Any:
        """Call a verb, and return what it gives; ``given`` are its arguments by name, callbacks among them.

        Raises:
            ApplianceError: the verb's own errors.
            DaemonGone: there is no daemon any more, or it ended meanwhile: whether it was done is not known.
        """
        call = calls.call(room, verb)
        path, body = _request(call, room, verb, given, session)
        if call.streams:
            tell = {name: given[name] for name in call.tells if name in given}
            with self._exchange("POST", path, body) as answer:
                for line in _lines(answer):
                    if "tell" in line:
                        _tell(tell, msgspec.json.decode(line["tell"]))
                    elif "result" in line:
                        return calls.unpack(msgspec.json.decode(line["result"], type=call.gives))
            raise _gone(self._home)
        ask = self._asked if verb in calls.ONCE else self._asked_twice
        done = msgspec.json.decode(ask("POST", path, body), type=dict[str, msgspec.Raw])
        if "error" in done:
            raise calls.raised(msgspec.json.decode(done["error"], type=calls.Trouble))
        return calls.unpack(msgspec.json.decode(done["result"], type=call.gives))

    def items(self, room: str, verb: str, given: Mapping[str, Any]) -> Iterator[Any]:
        """Call a verb that yields, and yield what it does; raises as ``call``."""
        call = calls.call(room, verb)
        path, body = _request(call, room, verb, given, None)
        with self._exchange("POST", path, body) as answer:
            for line in _lines(answer):
                if "item" in line:
                    yield msgspec.json.decode(line["item"], type=call.gives)
                elif "result" in line:
                    return
        raise _gone(self._home)

    @contextmanager
    def listening(self, path: str, body: Any) -> Iterator[Iterator[Mapping[str, msgspec.Raw]]]:
        """The lines of something that goes on until somebody has enough; raises as ``call``."""
        with self._exchange("POST", path, msgspec.json.encode(body, enc_hook=calls.argument)) as answer:
            yield _lines(answer)

    def _asked(self, method: str, path: str, body: bytes | None) -> bytes:
        with self._exchange(method, path, body) as answer:
            return answer.read()

    def _asked_twice(self, method: str, path: str, body: bytes | None) -> bytes:
        """A daemon that begins anew, with other settings, closes what is open: the next asking finds it again."""
        try:
            return self._asked(method, path, body)
        except DaemonGone:
            return self._asked(method, path, body)

    @contextmanager
    def _exchange(self, method: str, path: str, body: bytes | None) -> Iterator[http.client.HTTPResponse]:
        connection = self._connected()
        try:
            try:
                connection.request(method, f"/local{path}", body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                yield answer
            except (OSError, http.client.HTTPException) as error:
                raise _gone(self._home) from error
            if answer.isclosed():
                self._keep(connection)
        finally:
            if not self._is_kept(connection):
                connection.close()

    def _connected(self) -> _Connection:
        with self._lock:
            while self._kept:
                connection = self._kept.pop()
                if connection.is_alive():
                    return connection
                connection.close()
        found = address(self._home)
        if found is None:
            raise _gone(self._home)
        connection = _Connection(found.socket)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise _gone(self._home) from error
        return connection

    def _keep(self, connection: _Connection) -> None:
        with self._lock:
            if len(self._kept) < KEPT:
                self._kept.append(connection)

    def _is_kept(self, connection: _Connection) -> bool:
        with self._lock:
            return connection in self._kept


def _request(
    call: calls.Call, room: str, verb: str, given: Mapping[str, Any], session: str | None
) -> tuple[str, bytes]:
    arguments = {name: calls.argument(value) for name, value in given.items() if name in call.takes}
    return f"/calls/{room}/{verb}", calls.encode({"arguments": arguments, "session": session})


def _lines(answer: http.client.HTTPResponse) -> Iterator[Mapping[str, msgspec.Raw]]:
    """The lines of an answer; an error among them is raised."""
    for line in answer:
        said = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        if "error" in said:
            raise calls.raised(msgspec.json.decode(said["error"], type=calls.Trouble))
        yield said


def _tell(callbacks: Mapping[str, Callable[..., None]], told: list[Any]) -> None:
    name, *values = told
    with suppress(KeyError):
        callbacks[name](*values)


def _gone(home: Home) -> DaemonGone:
    return DaemonGone(
        "the daemon that serves this memory does not answer any more",
        where=str(home.root),
        hint="all that it had acknowledged is kept; start 'appliance serve' again, or try again without it",
    )
