"""What the daemon writes down: JSON lines in the home, by rotation, without a word of any message.

Of an error that is a bug, its class and its places in the program are told and not its text, which may quote anything.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from appliance.errors import ApplianceError
from appliance.paths import FILE_MODE, FOLDER_MODE

BYTES = 2_000_000
FILES = 5
"""Ten megabytes of log in all: some weeks of use."""

FRAMES = 12
"""Places of a bug that are told, the last ones."""

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGI = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_log = logging.getLogger("appliance.requests")


@contextmanager
def written(folder: Path) -> Iterator[None]:
    """Within, the log of this process is written into ``folder``/daemon.log; warnings also to stderr, where that is no
    terminal: a service manager keeps them."""
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    file = _Private(
        folder / "daemon.log", maxBytes=BYTES, backupCount=FILES - 1, encoding="utf-8", delay=True
    )
    handlers: list[logging.Handler] = [file]
    if not sys.stderr.isatty():
        shown = logging.StreamHandler()
        shown.setLevel(logging.WARNING)
        handlers.append(shown)
    root = logging.getLogger()
    for handler in handlers:
        handler.setFormatter(_Lines())
        root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("appliance").setLevel(logging.INFO)
    try:
        yield
    finally:
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()


def of_bug(error: BaseException) -> dict[str, Any]:
    """What may be written down of an error: its class, and where it came from; of our own also what it says where it
    is about the machine (files, settings, models), never about a question."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    said = {"where": error.where} if isinstance(error, ApplianceError) and error.where else {}
    return {"error": type(error).__name__, "places": places, **said}


class Requests:
    """ASGI: writes down each request when it has been answered: route, status, milliseconds; no path, no query."""

    def __init__(self, app: ASGI) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def noted(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path", "")
            took = round((time.perf_counter() - began) * 1000, 1)
            level = logging.WARNING if status >= 500 else logging.INFO
            about = {"method": scope["method"], "route": route, "status": status, "ms": took}
            _log.log(level, "request", extra={"about": about})


class _Private(RotatingFileHandler):
    def _open(self) -> Any:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE)
        return os.fdopen(descriptor, "a", encoding=self.encoding)


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "from": record.name,
            "what": record.getMessage() if record.name.startswith(("appliance", "uvicorn")) else record.msg,
            **getattr(record, "about", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= of_bug(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False, default=str)
