"""The daemon's log: rotated JSON lines in the home, without any text of messages.

Of a bug the log has the class and the places in the program, not the exception's text, which may quote anything.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from appliance.errors import ApplianceError
from appliance.paths import FILE_MODE, FOLDER_MODE
from appliance.server.access.grants import ANONYMOUS

MAX_FILE_BYTES = 2_000_000
FILE_COUNT = 5
"""Ten megabytes of log in all: some weeks of use."""

MAX_BUG_FRAMES = 12
"""Frames of a bug's traceback that are logged, the last ones."""

REPEAT_SECONDS = 1.0
"""How often a line is logged that clients without a token can cause."""

OFTEN_REPEATED = ("asyncio", "uvicorn.error", "appliance.connections", "appliance.requests")
"""The loggers of such lines; of requests, only those without a token."""

MAX_REMEMBERED_LINES = 1000

_PLACEHOLDER = re.compile(r"%(?:%|(?:\([^)]*\))?[-#0 +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?[a-zA-Z])")
"""Where a message of ``logging`` takes an argument."""

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGI = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_log = logging.getLogger("appliance.requests")


@contextmanager
def daemon_log(folder: Path) -> Iterator[None]:
    """Within the context, log to ``folder``/daemon.log; warnings also to stderr unless it is a terminal: service
    managers store them."""
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    file_handler = _PrivateRotatingHandler(
        folder / "daemon.log", maxBytes=MAX_FILE_BYTES, backupCount=FILE_COUNT - 1, encoding="utf-8", delay=True
    )
    handlers: list[logging.Handler] = [file_handler]
    if not sys.stderr.isatty():
        stderr_handler = _ResilientHandler()
        stderr_handler.setLevel(logging.WARNING)
        handlers.append(stderr_handler)
    root = logging.getLogger()
    for handler in handlers:
        handler.setFormatter(_JsonLinesFormatter())
        root.addHandler(handler)
    repeats = RepeatFilter()
    for name in OFTEN_REPEATED:
        logging.getLogger(name).addFilter(repeats)
    root.setLevel(logging.WARNING)
    logging.getLogger("appliance").setLevel(logging.INFO)
    try:
        yield
    finally:
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()
        for name in OFTEN_REPEATED:
            logging.getLogger(name).removeFilter(repeats)


class RepeatFilter(logging.Filter):
    """Passes a line once a second. The next one says how many like it were left out.

    Everything that a client without a token can cause is logged through it, so that it can't fill the log.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._passed_at: dict[str, float] = {}
        self._left_out: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == _log.name and not getattr(record, "stranger", ""):
            return True
        line, now = f"{record.name} {record.getMessage()} {getattr(record, 'stranger', '')}", self._clock()
        if now - self._passed_at.get(line, -math.inf) < REPEAT_SECONDS:
            self._left_out[line] += 1
            return False
        if len(self._passed_at) >= MAX_REMEMBERED_LINES:
            self._passed_at.clear()
        self._passed_at[line] = now
        if left_out := self._left_out.pop(line, 0):
            record.about = {**getattr(record, "about", {}), "left_out": left_out}
        return True


def describe_error(error: BaseException) -> dict[str, Any]:
    """What may be logged of an error: its class and its frames, and of an ``ApplianceError`` the file, setting or model
    that it is about."""
    frames = traceback.extract_tb(error.__traceback__)[-MAX_BUG_FRAMES:]
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    location = {"where": error.where} if isinstance(error, ApplianceError) and error.where else {}
    return {"error": type(error).__name__, "places": places, **location}


class RequestLogMiddleware:
    """ASGI: logs each answered request by route, status and milliseconds, without its path and query."""

    def __init__(self, app: ASGI) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def send_and_note_status(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note_status)
        finally:
            route = getattr(scope.get("route"), "path", "")
            milliseconds = round((time.perf_counter() - started) * 1000, 1)
            level = logging.WARNING if status >= 500 else logging.INFO
            about = {"method": scope["method"], "route": route, "status": status, "ms": milliseconds}
            has_token = scope.get("state", {}).get("grant", ANONYMOUS) is not ANONYMOUS
            stranger = "" if has_token else f"{route} {status}"
            _log.log(level, "request", extra={"about": about, "stranger": stranger})


class _ResilientHandler(logging.StreamHandler[Any]):
    """A handler that can't write, as on a full disk, says so in one line, once, in place of a traceback for each."""

    has_failed = False

    def handleError(self, record: logging.LogRecord) -> None:
        if self.has_failed:
            return
        self.has_failed = True
        reason = sys.exc_info()[1]
        where = getattr(self, "baseFilename", "stderr")
        what = (isinstance(reason, OSError) and reason.strerror) or type(reason).__name__
        with suppress(OSError, ValueError, AttributeError):  # stderr may be closed, full or missing
            sys.stderr.write(f"The log can't be written to {where} ({what}). Serving goes on.\n")

    def close(self) -> None:
        with suppress(OSError):  # what is still to be written finds no room either
            super().close()


class _PrivateRotatingHandler(_ResilientHandler, RotatingFileHandler):
    def _open(self) -> Any:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE)
        return os.fdopen(descriptor, "a", encoding=self.encoding)


def _bare_message(record: logging.LogRecord) -> str:
    """What a library logs, without the arguments, which may quote anything, and without their placeholders."""
    if not isinstance(record.msg, str):
        return type(record.msg).__name__
    return (
        _PLACEHOLDER.sub(lambda found: "%" if found.group() == "%%" else "…", record.msg) if record.args else record.msg
    )


class _JsonLinesFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "from": record.name,
            "what": record.getMessage() if record.name.startswith(("appliance", "uvicorn")) else _bare_message(record),
            **getattr(record, "about", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= describe_error(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False, default=str)
