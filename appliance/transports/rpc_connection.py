"""One client's connection to an owner that is no daemon: reads requests, carries them out, and answers them."""

from __future__ import annotations

import socket
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO

from appliance.errors import ApplianceError, HomeLocked, UsageError
from appliance.requests import Request
from appliance.runtime.decoding import decode
from appliance.transports import codec
from appliance.transports.answer_lines import (
    AnswerLines,
    CallerGone,
    answers_in_lines,
    carry_out_in_lines,
    encode_line,
    hello_document,
)
from appliance.transports.codec import VERSION
from appliance.transports.local import LocalTransport
from appliance.types import Owner

MAX_HEAD_LINE_BYTES = 65_536
"""Bytes of one line of a request's head."""

MAX_HEAD_LINES = 100
"""Lines of a request's head; a client of ours sends five."""


HandOver = Callable[[Owner], None]
"""Leaves the home to another process, soon after it returns. Raises HomeLocked if this process needs the home."""

HAND_OVER_PATH = "/local/hand-over"


class RpcConnection:
    """A connection, which carries one request at a time.

    ``lock`` is the server's: the owner asks what is under way before it leaves.
    """

    def __init__(
        self, accepted: socket.socket, transport: LocalTransport, lock: threading.Condition, hand_over: HandOver
    ) -> None:
        self._hand_over = hand_over
        self._socket = accepted
        self._incoming: BinaryIO = accepted.makefile("rb")
        self._transport = transport
        self._lock = lock
        self._leaving = False
        self._request: Request[Any] | None = None
        self._lines: SocketLines | None = None

    @property
    def must_finish(self) -> bool:
        """Whether a request is under way that can't be sent again to the next owner. Call it with the lock held."""
        return self._request is not None and not (self._request.repeatable or self._request.resumable)

    def serve(self) -> None:
        """Answer requests until the client or the owner leaves.

        Raises:
            OSError: The client has gone.
        """
        while (head := _read_head(self._incoming)) is not None:
            path, headers = head
            length = headers.get("content-length", "0")
            if not length.isdecimal():
                return
            body = self._incoming.read(int(length))
            if path == "/local/hello":
                self._answer(hello_document(self._transport.engine))
            elif (version := headers.get(codec.VERSION_HEADER.lower())) != VERSION:
                self._answer({"error": codec.encode_error(_version_error(version))})
            elif path == HAND_OVER_PATH:
                self._answer(_outcome(partial(self._leave_home, body)))
            elif not self._carry_out(path.rpartition("/")[2], body):
                return

    def _leave_home(self, body: bytes) -> None:
        self._hand_over(decode(body, Owner))

    def leave(self) -> None:
        """End after the request that is under way; interrupt it if the next owner can resume it. Call it with the lock
        held."""
        self._leaving = True
        if self._request is None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RD)
        elif self._lines is not None and self._request.resumable:
            self._lines.end()

    def hang_up(self) -> None:
        """End now, whatever is under way."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection, which ``_watch_caller`` may still be reading: closing alone would not end it."""
        self.hang_up()
        self._incoming.close()
        self._socket.close()

    def _carry_out(self, name: str, body: bytes) -> bool:
        """Carry out a request and answer it. False if the connection ends with it."""
        try:
            request = codec.decode_request(name, body)
        except UsageError as error:
            self._answer({"error": codec.encode_error(error)})
            return True
        lines = SocketLines(self._socket) if answers_in_lines(request) else None
        with self._lock:
            if self._leaving:
                return False
            self._request, self._lines = request, lines
        try:
            if lines is None:
                self._answer(_outcome(lambda: self._transport.send(request)))
                return not self._leaving
            return lines.answer(lambda: carry_out_in_lines(self._transport, request, lines)) and not self._leaving
        finally:
            with self._lock:
                self._request = self._lines = None
                self._lock.notify_all()

    def _answer(self, value: Mapping[str, Any]) -> None:
        body = encode_line(value)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._socket.sendall(head.encode() + body)


class SocketLines(AnswerLines):
    """The lines of an answer, written to the socket by the thread that carries out the request."""

    def __init__(self, to: socket.socket) -> None:
        super().__init__()
        self._socket = to
        self._answered = threading.Event()
        self._head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"

    def answer(self, work: Callable[[], Any]) -> bool:
        """Carry out the request and send its lines. False if the caller has gone, or the owner leaves before the
        end: then there is no last line, and the caller sends the request to the next owner."""
        threading.Thread(target=self._watch_caller, name="appliance-rpc-caller", daemon=True).start()
        try:
            last = _outcome(work)
            for held in self.held_lines():
                self._send(held)
            self._send(encode_line(last))
            self._write(b"0\r\n\r\n")
            return True
        except CallerGone:
            return False
        finally:
            self._answered.set()

    def _send(self, line: bytes) -> None:
        head, self._head = self._head, b""
        self._write(head + b"%x\r\n%b\r\n" % (len(line), line))

    def _write(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise CallerGone from error

    def _watch_caller(self) -> None:
        """End the work when the caller hangs up. Until it is answered, a caller sends nothing."""
        with suppress(OSError):
            self._socket.recv(1, socket.MSG_PEEK)
        if not self._answered.is_set():
            self.end()


def _outcome(work: Callable[[], Any]) -> Mapping[str, Any]:
    try:
        return {"result": work()}
    except CallerGone:
        raise
    except Exception as error:
        return {"error": _encode_error(error)}


def _encode_error(error: Exception) -> codec.EncodedError:
    if isinstance(error, ApplianceError):
        return codec.encode_error(error)
    # Only the place: what a bug says may hold words of a message.
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    place = f"{frame.f_globals.get('__name__')}, line {line}"
    return codec.EncodedError(type(error).__name__, "This is a bug. Please report it.", where=place)


def _version_error(version: str | None) -> HomeLocked:
    return HomeLocked(
        f"Version {VERSION} of this program owns the memory now, but this is version {version}.",
        hint="Start this program again, so that both have the same version.",
    )


def _read_head(incoming: BinaryIO) -> tuple[str, dict[str, str]] | None:
    """The path and the headers of the next request; None at the end of the connection, and where it is no request."""
    words = incoming.readline(MAX_HEAD_LINE_BYTES).split()
    if len(words) != 3:
        return None
    headers: dict[str, str] = {}
    for _ in range(MAX_HEAD_LINES):
        line = incoming.readline(MAX_HEAD_LINE_BYTES)
        if not line.strip():
            return words[1].decode("latin-1"), headers
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return None
