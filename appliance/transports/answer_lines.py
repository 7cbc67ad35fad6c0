"""What an owner answers: a greeting, and lines of JSON to requests that stream, report progress or may not be repeated.

``begun`` comes before the work begins, so that a caller whose connection ends without it knows that nothing happened.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from types import GeneratorType
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.requests import Request
from appliance.transports import codec
from appliance.transports.codec import VERSION
from appliance.transports.local import LocalTransport
from appliance.types import Progress

if TYPE_CHECKING:
    from appliance.engine.engine import Engine

PROGRESS_INTERVAL_SECONDS = 0.05
"""Seconds between two progress lines about the same file or stage: faster than anyone can read."""


class CallerGone(Exception):
    """The caller has disconnected."""


def hello_document(engine: Engine) -> Mapping[str, Any]:
    """What an owner tells a client that attaches: ``daemon.Handshake``."""
    return {"version": VERSION, "settings": engine.settings, "model": engine.model_name}


def answers_in_lines(request: Request[Any]) -> bool:
    """Whether a request is answered in lines, and not by one document."""
    return request.long_running or not request.repeatable or codec.wire_types(type(request)).streams


def carry_out_in_lines(transport: LocalTransport, request: Request[Any], lines: AnswerLines) -> Any:
    """Run a request that is answered in lines. Returns the result for the last line.

    Raises:
        CallerGone: The caller has disconnected; a stream that was closed for that ends like one that is complete.
    """
    if not codec.wire_types(type(request)).streams:
        lines.put({"begun": True})
        return transport.send(request, lines.report)
    stream: Any = transport.send(request)
    # The thread that reads a generator closes it, when its next line finds the caller gone.
    close = (lambda: None) if isinstance(stream, GeneratorType) else stream.close
    with closing(stream), lines.when_gone(close):
        lines.put({"begun": True})
        for item in stream:
            lines.put({"item": item})
    lines.check_caller()
    return None


def encode_line(value: Any) -> bytes:
    """A line of an answer."""
    return msgspec.json.encode(value, enc_hook=codec.plain) + b"\n"


class AnswerLines(ABC):
    """The lines of an answer, put by the thread that carries out the request."""

    def __init__(self) -> None:
        self._gone = threading.Event()
        self._on_gone: list[Callable[[], None]] = []
        self._reported: dict[tuple[str, str], tuple[float, bytes | None]] = {}

    @abstractmethod
    def _send(self, line: bytes) -> None:
        """Send a line; waits while the reader is slow."""

    def put(self, line: Mapping[str, Any]) -> None:
        """Send a line; waits while the reader is slow.

        Raises:
            CallerGone: The caller has disconnected.
        """
        self._put(encode_line(line))

    def report(self, progress: Progress) -> None:
        """Send progress, at most once per ``PROGRESS_INTERVAL_SECONDS`` for the same file or stage.

        Raises:
            CallerGone: The caller has disconnected.
        """
        subject = (progress.stage, progress.file)
        now, (last, _) = time.monotonic(), self._reported.get(subject, (0.0, None))
        line = encode_line({"progress": progress})
        if now - last < PROGRESS_INTERVAL_SECONDS:
            self._reported[subject] = (last, line)
            self.check_caller()
            return
        self._reported[subject] = (now, None)
        self._put(line)

    def held_lines(self) -> list[bytes]:
        """The progress that was held back, to be sent before the last line."""
        return [line for _, line in self._reported.values() if line is not None]

    def check_caller(self) -> None:
        """
        Raises:
            CallerGone: The caller has disconnected.
        """
        if self._gone.is_set():
            raise CallerGone

    def when_gone(self, act: Callable[[], None]) -> ExitStack:
        """Within the context, call ``act`` when the caller disconnects."""
        self._on_gone.append(act)
        if self._gone.is_set():
            act()
        stack = ExitStack()
        stack.callback(self._on_gone.remove, act)
        return stack

    def end(self) -> None:
        """End the work: the caller has disconnected. Called on another thread than the request's."""
        self._gone.set()
        for act in [*self._on_gone]:
            threading.Thread(target=act, name="appliance-caller-gone", daemon=True).start()

    def _put(self, line: bytes) -> None:
        self.check_caller()
        self._send(line)
