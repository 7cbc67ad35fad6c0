"""What ``appliance doctor --airgap`` runs: each verb as a person, an assistant or another program would."""

from __future__ import annotations

import errno
import http.client
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit

from appliance.demo import samples
from appliance.runtime import child_process, socket_guard

LONGEST_SECONDS = 120.0
"""A run that takes longer hangs."""

DAEMON_SECONDS = 12.5
"""For so long the daemon runs. A library that reports to its maker does so by and by: the last one that did waited for
ten seconds."""

QUESTION = "which food is dangerous for Ben"
"""About the sample exports; the answer shares no word with it."""

_SCREEN_SHOWS, _SCREEN_ENDS_BY = b"F1", b"\x11"
"""What the screen shows when it is complete, and the key by which it ends (ctrl+q)."""

_PROTOCOL = "2025-06-18"

MAX_NAMED = 5
"""How many files a failure names."""


class Failure(Exception):
    """A run did not do what it should. ``fix`` says what to do."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.fix = fix


def ingest(folder: Path) -> str:
    """Import the sample exports, and embed them."""
    report = _json(folder, "ingest", *map(str, samples()))
    totals = report["totals"]
    if not totals["new"] or totals["pending"]:
        raise Failure(f"{totals['new']} messages were imported, {totals['pending']} chunks are pending", _fix("demo"))
    return f"{totals['new']} messages imported, {totals['embedded']} chunks embedded"


def search(folder: Path) -> str:
    """Search them by meaning."""
    found = _json(folder, "search", QUESTION)
    if not found["hits"]:
        raise Failure("nothing was found", _fix("demo"))
    return f"{len(found['hits'])} hits"


def context(folder: Path) -> str:
    """Build a context."""
    built = _json(folder, "context", QUESTION, "--budget", "400")
    if not built["tokens"]:
        raise Failure("the context is empty", _fix("demo"))
    return f"{built['tokens']} tokens"


def screen(folder: Path) -> str:
    """Open the screen in a terminal, wait until it is drawn, and leave it."""
    if sys.platform == "win32":
        return "not run: there is no pseudo-terminal on Windows"
    import pty

    terminal, inside = pty.openpty()
    process = subprocess.Popen(
        _command("tui"),
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"},
        stdin=inside, stdout=inside, stderr=inside, cwd=folder,
    )  # fmt: skip
    os.close(inside)
    try:
        shown = _type_when_shown(terminal, process)
        process.wait(timeout=LONGEST_SECONDS)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    if process.returncode:
        raise Failure(f"the screen ended with {process.returncode}", _fix("tui"))
    return f"{shown:,} bytes drawn"


def _type_when_shown(terminal: int, process: subprocess.Popen[bytes]) -> int:
    """Read what is drawn until the end, and leave the screen once it is complete."""
    drawn, has_typed, until = b"", False, time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 0.5)[0]:
            if process.poll() is not None:
                break
            continue
        try:
            drawn += (more := os.read(terminal, 1 << 16))
        except OSError:  # Linux says so when the other end is closed
            break
        if not more:
            break
        if not has_typed and _SCREEN_SHOWS in drawn:
            os.write(terminal, _SCREEN_ENDS_BY)
            has_typed = True
    if not has_typed:
        raise Failure("the screen was never complete", _fix("tui"))
    return len(drawn)


def mcp(folder: Path) -> str:
    """Shake hands over MCP, list the tools, and call one."""
    hello = {
        "protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": {"name": "appliance doctor", "version": "1"},
    }  # fmt: skip
    with _running(folder, "mcp") as process:
        _request(process, 1, "initialize", hello)
        _write(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = _request(process, 2, "tools/list", {})["tools"]
        called = _request(process, 3, "tools/call", {"name": "memory_search", "arguments": {"query": QUESTION}})
        cast(IO[bytes], process.stdin).close()
        process.wait(timeout=LONGEST_SECONDS)
    if called.get("isError"):
        raise Failure("memory_search answered with an error", _fix("mcp"))
    return f"handshake, {len(tools)} tools, a search"


def _request(process: subprocess.Popen[bytes], number: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    _write(process, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    for line in cast(IO[bytes], process.stdout):
        answer = json.loads(line)
        if answer.get("id") == number:
            if "result" not in answer:
                raise Failure(f"{method} was refused: {answer['error']['message']}", _fix("mcp"))
            result: dict[str, Any] = answer["result"]
            return result
    raise Failure(f"the server ended before it answered {method}", _fix("mcp"))


def _write(process: subprocess.Popen[bytes], message: Mapping[str, Any]) -> None:
    stdin = cast(IO[bytes], process.stdin)
    stdin.write(json.dumps(message).encode() + b"\n")
    stdin.flush()


def http_(folder: Path) -> str:
    """Start the daemon, ask it over HTTP on loopback, and over its Unix socket by another command, and let it work in
    the background for a while."""
    began = time.monotonic()
    with _running(folder, "serve", "--port", "0", "--json") as process:
        line = cast(IO[bytes], process.stdout).readline()
        if not line:
            raise Failure("the daemon ended before it listened", _fix("serve"))
        address = json.loads(line)
        token = Path(address["token_file"]).read_text().strip()
        _ask(address["url"], "/health/live", None)
        hits = _ask(address["url"], "/v1/search", {"query": QUESTION}, token)["hits"]
        status = _json(folder, "status")
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=max(0.0, began + DAEMON_SECONDS - time.monotonic()))
            raise Failure("the daemon ended by itself", _fix("serve"))
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=LONGEST_SECONDS)
    if not hits or not status["daemon"]:
        raise Failure("the daemon found nothing, or was not asked over its socket", _fix("serve"))
    return f"{len(hits)} hits over HTTP on loopback, status over the Unix socket"


def _ask(url: str, path: str, body: Mapping[str, Any] | None, token: str = "") -> dict[str, Any]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=LONGEST_SECONDS)
    try:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        text = answer.read()
    except OSError as error:
        if error.errno != errno.ENETUNREACH:
            raise
        raise Failure("the loopback interface is down", "Bring it up: 'sudo ip link set lo up'.") from error
    finally:
        connection.close()
    if answer.status != 200:
        raise Failure(f"{path} was answered with {answer.status}", _fix("serve"))
    value: dict[str, Any] = json.loads(text) if text[:1] == b"{" else {}
    return value


def files(folder: Path) -> str:
    """Look whether anything was written into the user's folder beside the home: ids and caches of libraries."""
    own = {folder / name for name in ("home", socket_guard.REPORT)}
    found = sorted(path for path in folder.iterdir() if path not in own)
    if found:
        named = [str(path.relative_to(folder)) for top in found for path in (top, *sorted(top.rglob("*")))]
        raise Failure(
            f"written into the user's folder: {', '.join(named[:MAX_NAMED])}",
            "A library keeps something there. Report this with the output of 'appliance version'.",
        )
    return "nothing was written outside of the memory"


RUN: Mapping[str, Callable[[Path], str]] = {
    "ingest": ingest, "search": search, "context": context, "screen": screen, "mcp": mcp, "http": http_,
    "files": files,
}  # fmt: skip
"""The runs by name. Each gets the folder to run in, and says what it has done.

Raises:
    Failure: It did not do what it should.
"""


def _command(*arguments: str) -> list[str]:
    return child_process.program_command(*arguments)


def _json(folder: Path, *arguments: str) -> dict[str, Any]:
    """Run a verb, and read the JSON document that it prints."""
    ended = subprocess.run(
        _command(*arguments, "--json"),
        capture_output=True, stdin=subprocess.DEVNULL, cwd=folder, timeout=LONGEST_SECONDS, check=False,
    )  # fmt: skip
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().splitlines()
        raise Failure(f"it ended with {ended.returncode}: {said[0] if said else 'without a word'}", _fix(arguments[0]))
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


@contextmanager
def _running(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A verb that runs until it is ended. It is killed at the end of the context, or when it hangs."""
    process = subprocess.Popen(
        _command(*arguments),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
    )  # fmt: skip
    timer = threading.Timer(LONGEST_SECONDS, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None and not stream.closed:
                stream.close()


def _fix(verb: str) -> str:
    return f"Run 'appliance {verb}' by itself: it says more."
