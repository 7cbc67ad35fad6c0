"""Requests sent to the process that owns the home, a daemon or any other, over its Unix socket.

Plain ``http.client``, because a command that only asks something must not wait for a large library to load.
"""

from __future__ import annotations

import http.client
import os
import secrets
import select
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import msgspec

from appliance import requests as r
from appliance.errors import DaemonGone, HomeLocked
from appliance.paths import Home, absolute_paths, as_given
from appliance.requests import Request
from appliance.runtime.decoding import decode
from appliance.runtime.streams import HeldContext
from appliance.settings import Settings
from appliance.store.lock import describe_owner, is_suspended, read_owner
from appliance.transports import codec
from appliance.transports.answer_lines import answers_in_lines
from appliance.transports.codec import VERSION
from appliance.types import IngestReport, OnProgress, Owner, Progress

R = TypeVar("R")
T = TypeVar("T")

MAX_IDLE_CONNECTIONS = 8
"""Connections that are kept open for later requests."""

CONNECT_TIMEOUT_SECONDS = 5.0
"""On one machine a daemon that does not accept a connection in this time hangs."""

SUSPENSION_CHECK_SECONDS = 1.0
"""Seconds without an answer until an owner is looked at, and between two looks. It is suspended if two find it so."""


class DaemonAddress(msgspec.Struct, frozen=True):
    """What a daemon writes of itself into ``daemon.json``."""

    pid: int
    url: str
    socket: str
    token_file: str
    version: str


@dataclass(frozen=True, slots=True)
class SocketAddress:
    """Where the owner of a home listens, and whether it is a daemon."""

    path: str
    is_daemon: bool


class Handshake(msgspec.Struct, frozen=True):
    """What an owner tells a client that attaches."""

    version: str
    settings: Settings
    model: str
    """The name of the embedding model."""


def read_address(home: Home) -> DaemonAddress | None:
    """Where the daemon of a home listens, if one wrote so. It may have ended since."""
    try:
        return decode(home.daemon.read_bytes(), DaemonAddress)
    except (OSError, msgspec.DecodeError):
        return None


def find_address(home: Home) -> SocketAddress | None:
    """Where the owner of a home listens, if one wrote so or found no room to. It may have ended since."""
    owner = read_owner(home.lock)
    if owner is not None and owner.socket is not None:
        return SocketAddress(owner.socket, is_daemon=False)
    daemon = read_address(home)
    if daemon is not None:
        return SocketAddress(daemon.socket, is_daemon=True)
    if owner is None and home.socket.exists():  # elsewhere, it may be another user's
        return SocketAddress(str(home.socket), is_daemon=False)
    return None


def connect(transport: DaemonTransport, *, model: str | None = None) -> Settings | None:
    """Attach to the owner of the transport's home. Returns its settings; None if none answers, or the transport is
    closed meanwhile.

    Args:
        model: The embedding model that the caller would use; None for the owner's.

    Raises:
        HomeLocked: The owner is of another version, uses another model, or is suspended.
    """
    home = transport._home
    try:
        handshake = transport.handshake()
    except DaemonGone:
        transport.close()
        return None
    if handshake.version != VERSION:
        transport.close()
        owner = "A daemon" if transport.is_daemon else describe_owner(read_owner(home.lock))
        raise HomeLocked(
            f"{owner} of version {handshake.version} owns the memory, but this is version {VERSION}.",
            where=str(home.root),
            hint=f"Restart {'the daemon' if transport.is_daemon else 'it'}, so that both have the same version.",
        )
    if model not in (None, handshake.model):
        transport.close()
        raise HomeLocked(
            f"The memory is in use by {describe_owner(read_owner(home.lock))} with the embedding model "
            f"{handshake.model}, but this program uses {model}.",
            where=str(home.root),
            hint="Stop it or wait, or open the memory without an embedder of your own.",
        )
    return handshake.settings


class DaemonTransport:
    """Sends requests to the owner of a home. Each request that is under way has a connection of its own."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._idle: list[_UnixConnection] = []
        self._waiting: set[_UnixConnection] = set()
        self._closed = False
        self.is_daemon = False
        """Whether the owner that it last connected to is a daemon."""

    def send(self, request: Request[R], on_progress: OnProgress | None = None) -> R:
        """Send a request and return its result, as ``Transport.send``."""
        if isinstance(request, r.InteractiveUseRequest):
            nothing: Any = HeldContext(nullcontext())  # another process's work can't hold up this one's frames
            return nothing  # type: ignore[no-any-return]
        if isinstance(request, r.IngestRequest):
            report: Any = self._ingest(request, on_progress)
            return report  # type: ignore[no-any-return]
        result: R = self._send(prepared(request), on_progress)
        return result

    def handshake(self) -> Handshake:
        """Ask the owner what it is. One that has just taken the home answers when it has opened it.

        Raises:
            DaemonGone: There is none, or ``close`` was called meanwhile.
        """
        try:
            answered = self._ask_hello()
        except DaemonGone as error:
            if not error.begun:
                raise
            answered = self._ask_hello()  # an owner that restarts or leaves has closed the connection
        return decode(answered, Handshake)

    def _ask_hello(self) -> bytes:
        connection = self._connection()
        with self._ended_by_close(connection), self._exchange("GET", "/hello", None, connection) as answer:
            return answer.read()

    def ask_for_home(self, successor: Owner) -> None:
        """Ask the owner to leave the home to another process. It leaves soon after it has answered.

        Raises:
            HomeLocked: It needs the home, or is of another version.
            DaemonGone: It has left already.
        """
        answered = msgspec.json.decode(
            self._ask("POST", "/hand-over", msgspec.json.encode(successor)), type=dict[str, msgspec.Raw]
        )
        if "error" in answered:
            raise codec.decode_error(decode(answered["error"], codec.EncodedError))

    def wait_until_gone(self) -> None:
        """Return when the owner has ended, or at ``close``."""
        with suppress(DaemonGone), closing(self._connection()) as lifeline, self._ended_by_close(lifeline):
            lifeline.wait_for_end()

    @contextmanager
    def _ended_by_close(self, connection: _UnixConnection) -> Iterator[None]:
        """Within, ``close`` ends the connection, which may wait for an owner that says nothing.

        Raises:
            DaemonGone: ``close`` was called before.
        """
        with self._lock:
            if self._closed:
                connection.close()
                raise self.gone(connected=False)
            self._waiting.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._waiting.discard(connection)

    def close(self) -> None:
        """Let go of the owner, which goes on."""
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()
            for connection in self._waiting:
                connection.hang_up()

    # --- one request ------------------------------------------------------------------------------------

    def _send(self, request: Request[Any], on_progress: OnProgress | None) -> Any:
        types = codec.wire_types(type(request))
        path, body = f"/requests/{request.name}", codec.encode_request(request)
        if types.streams:
            return _ItemStream(self, path, body, types.result)
        if answers_in_lines(request):
            return self._follow(path, body, types.result, on_progress)
        try:
            answered = self._ask("POST", path, body)
        except DaemonGone:
            # A daemon that restarts, with other settings, closes what is open: the second try finds it again.
            answered = self._ask("POST", path, body)
        done = msgspec.json.decode(answered, type=dict[str, msgspec.Raw])
        if "error" in done:
            raise codec.decode_error(decode(done["error"], codec.EncodedError))
        return decode(done["result"], types.result)

    def _follow(self, path: str, body: bytes, result: Any, on_progress: OnProgress | None) -> Any:
        """Send a request that is answered in lines, and read its progress and result."""
        begun = False
        try:
            with self._exchange("POST", path, body, self._connection()) as answer:
                for line in _lines(answer):
                    begun = begun or "begun" in line
                    if "progress" in line and on_progress is not None:
                        on_progress(decode(line["progress"], Progress))
                    elif "result" in line:
                        return decode(line["result"], result)
        except DaemonGone as error:
            if not error.begun:
                raise
            raise self.gone(begun=begun) from error
        raise self.gone(begun=begun)

    def _ingest(self, request: r.IngestRequest, on_progress: OnProgress | None) -> IngestReport:
        """The owner reads the files where they are; the report names them as the caller did."""
        given = absolute_paths(request.source)

        def follow(progress: Progress) -> None:
            if on_progress is not None:
                on_progress(replace(progress, file=as_given(progress.file, given)))

        report: IngestReport = self._send(replace(request, source=[str(path) for path in given]), follow)
        return replace(report, files=tuple(replace(file, path=as_given(file.path, given)) for file in report.files))

    # --- connections ------------------------------------------------------------------------------------

    def _ask(self, method: str, path: str, body: bytes | None) -> bytes:
        with self._exchange(method, path, body, self._connection()) as answer:
            return answer.read()

    @contextmanager
    def _exchange(
        self, method: str, path: str, body: bytes | None, connection: _UnixConnection
    ) -> Iterator[http.client.HTTPResponse]:
        try:
            answer = self._begin(connection, method, path, body)
            try:
                yield answer
            except (OSError, http.client.HTTPException) as error:
                raise self.gone() from error
            if answer.isclosed():
                self._keep(connection)
        finally:
            if not self._is_kept(connection):
                connection.close()

    def _begin(
        self, connection: _UnixConnection, method: str, path: str, body: bytes | None
    ) -> http.client.HTTPResponse:
        try:
            headers = {"Content-Type": "application/json", codec.VERSION_HEADER: VERSION}
            connection.request(method, f"/local{path}", body, headers)
            self._await_answer(connection, has_asked=body is not None)
            return connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise self.gone() from error

    def _await_answer(self, connection: _UnixConnection, *, has_asked: bool) -> None:
        """Return when an answer begins, or the connection ends.

        Raises:
            HomeLocked: The owner is suspended. If it was asked for something, it may still do that later.
        """
        found_suspended = 0
        while connection.is_silent(SUSPENSION_CHECK_SECONDS):
            owner = read_owner(self._home.lock)
            found_suspended = found_suspended + 1 if owner is not None and is_suspended(owner) else 0
            if owner is not None and found_suspended > 1:
                later = " It may still do what it was just asked for." if has_asked else ""
                raise HomeLocked(
                    f"The memory is in use by {describe_owner(owner)}, which is suspended.",
                    where=str(self._home.root),
                    hint=f"Resume it with 'fg' in its terminal or 'kill -CONT {owner.pid}', or end it.{later}",
                )

    def _connection(self) -> _UnixConnection:
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if connection.is_alive():
                    return connection
                connection.close()
        address = find_address(self._home)
        if address is None:
            raise self.gone(connected=False)
        self.is_daemon = address.is_daemon
        connection = _UnixConnection(address.path)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise self.gone(connected=False) from error
        return connection

    def _keep(self, connection: _UnixConnection) -> None:
        with self._lock:
            if len(self._idle) < MAX_IDLE_CONNECTIONS and not self._closed:
                self._idle.append(connection)

    def _is_kept(self, connection: _UnixConnection) -> bool:
        with self._lock:
            return connection in self._idle

    def gone(self, *, connected: bool = True, begun: bool = True) -> DaemonGone:
        """The error of an owner that does not answer. ``begun``: whether it said that it had begun; a daemon may say
        so too late."""
        if self.is_daemon:
            error = DaemonGone(
                "The daemon that serves this memory has stopped answering.",
                where=str(self._home.root),
                hint="Everything that it acknowledged is kept. Start 'appliance serve' again, or continue without it.",
            )
        else:
            error = DaemonGone(
                "The process that owned this memory ended before it answered.",
                where=str(self._home.root),
                hint="Everything that it acknowledged is kept. Check whether this was done before you repeat it.",
            )
        error.begun = connected and (begun or self.is_daemon)
        return error


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(CONNECT_TIMEOUT_SECONDS)
        self.sock.connect(self._path)
        self.sock.settimeout(None)  # a verb takes as long as it takes, and can be interrupted

    def is_alive(self) -> bool:
        """Whether the other end still holds it: the only thing that arrives unasked is its end."""
        return self.sock is not None and self.is_silent(0)

    def is_silent(self, seconds: float) -> bool:
        """Whether nothing arrives for so long, not even the other end's closing."""
        return not select.select([self.sock], [], [], seconds)[0]

    def wait_for_end(self) -> None:
        """Return when the other end closes it, or at ``hang_up``."""
        with suppress(OSError, AttributeError):
            self.sock.recv(1)

    def hang_up(self) -> None:
        """End it, even if another thread waits for what comes."""
        with suppress(OSError, AttributeError):
            self.sock.shutdown(socket.SHUT_RDWR)


class _ItemStream(Generic[T]):
    """The items of a streaming request, as they arrive. The owner has begun when this is made."""

    def __init__(self, transport: DaemonTransport, path: str, body: bytes, type: Any) -> None:
        self._transport = transport
        self._type = type
        self._closed = False
        self._reading = threading.Lock()
        self._connection = transport._connection()
        try:
            self._lines = _lines(transport._begin(self._connection, "POST", path, body))
            if not any("begun" in line for line in self._lines):
                raise transport.gone(begun=False)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise transport.gone(begun=False) from error
        except BaseException:
            self._connection.close()
            raise

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        with self._reading:
            try:
                return self._next_item()
            except BaseException:
                self._closed = True
                self._connection.close()
                raise

    def _next_item(self) -> T:
        if self._closed:
            raise StopIteration
        try:
            for line in self._lines:
                if "item" in line:
                    item: T = decode(line["item"], self._type)
                    return item
                if "result" in line or self._closed:
                    raise StopIteration
        except (OSError, ValueError, http.client.HTTPException) as error:
            if self._closed:
                raise StopIteration from None
            raise self._transport.gone() from error
        if self._closed:
            raise StopIteration
        raise self._transport.gone()

    def close(self) -> None:
        """End the stream; the owner notices that it is no longer read."""
        self._closed = True
        self._connection.hang_up()
        with self._reading:  # a reader that waited has noticed
            self._connection.close()


def _lines(answer: http.client.HTTPResponse) -> Iterator[Mapping[str, msgspec.Raw]]:
    """The lines of an answer. An error among them is raised."""
    for text in answer:
        try:
            line = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        except msgspec.DecodeError as error:  # the owner was killed while it wrote the line
            raise http.client.IncompleteRead(text) from error
        if "error" in line:
            raise codec.decode_error(decode(line["error"], codec.EncodedError))
        yield line


def prepared(request: Request[Any]) -> Request[Any]:
    """A request as another process can carry it out: with absolute paths, and with an external id for what is added, so
    that sending it again adds nothing twice."""
    if isinstance(request, r.WatchRequest | r.ListWatchedFoldersRequest):
        return replace(request, folders=[_absolute(folder) for folder in request.folders])
    if isinstance(request, r.AddWatchedRequest | r.RemoveWatchedRequest):
        return replace(request, paths=[_absolute(path) for path in request.paths])
    if isinstance(request, r.BackupRequest):
        identity = None if request.identity is None else _absolute(request.identity)
        return replace(request, target=_absolute(request.target), identity=identity)
    if isinstance(request, r.AddMessageRequest | r.CreateSessionRequest) and request.external_id is None:
        return replace(request, external_id=secrets.token_hex(8))
    return request


def _absolute(path: str | os.PathLike[str]) -> str:
    return str(Path(path).expanduser().absolute())
