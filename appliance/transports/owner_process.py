"""A process that owns a home on behalf of another one: ``python -m appliance.transports.owner_process``.

A screen starts it at once, and attaches to it. So the memory is opened while the screen loads its own modules, on
another processor, and no work on the memory ever holds the interpreter that draws. If it can't be started, fails, or
is killed, the screen opens the home itself, as any attached process does when the owner leaves.

It loads its modules, reads the home's folder from the first line of standard input, writes a line when it answers
requests, and closes the home when standard input ends: when the other process closes it, or is gone. So it can be
started before it is known which home it is for (``started_early``).
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from appliance.runtime.processors import processors

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from appliance.engine.engine import Engine
    from appliance.paths import Home
    from appliance.store.lock import OwnerLock

MIN_PROCESSORS = 2
"""With one, it would hold up the process that it works for."""

_early: list[subprocess.Popen[bytes]] = []
"""The process that was started early, until ``running`` takes it."""


@contextmanager
def started_early(purpose: str) -> Iterator[None]:
    """Start the process before the home is known: it loads its modules while this process loads its own. ``running``
    within the context takes it; one that nothing has taken ends with the context.

    Args:
        purpose: As of ``running``.
    """
    if _is_possible() and (process := _started(purpose)) is not None:
        _early.append(process)
    try:
        yield
    finally:
        _drop_early()


def _drop_early() -> None:
    while _early:  # it has no home yet
        process = _early.pop()
        process.kill()
        _wait_for_end(process)


@contextmanager
def running(home: Home, purpose: str) -> Iterator[Callable[[], None]]:
    """Let another process own a home within the context.

    Args:
        purpose: What the home is used for; other processes show it.

    Yields:
        A function that waits until the process answers, or until it is known that it will not, because there is
        another owner, or it can't open the home. Attach, or own the home, then.
    """
    process = None
    if _is_possible() and not home.daemon.exists():
        process = _early.pop() if _early else _started(purpose)
    _drop_early()
    if process is None:
        with ExitStack() as reading:
            yield lambda: _read_ahead(home, reading)
        return
    try:
        _name_home(process, home)
        yield lambda: _wait_for_line(process)
    finally:
        _wait_for_end(process)


def _name_home(process: subprocess.Popen[bytes], home: Home) -> None:
    with suppress(OSError):  # it has ended already
        stdin = cast(IO[bytes], process.stdin)
        stdin.write(os.fsencode(home.root) + b"\n")
        stdin.flush()


def _wait_for_end(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):  # it has ended already
        cast(IO[bytes], process.stdin).close()
    process.wait()
    cast(IO[bytes], process.stdout).close()


def _read_ahead(home: Home, stack: ExitStack) -> None:
    """Begin to read the index for this process, unless a daemon has it open."""
    from appliance.store.index import readahead

    if not home.daemon.exists():
        stack.enter_context(readahead.reading_ahead(home.index))


def _is_possible() -> bool:
    from appliance.runtime.address_space import available_bytes

    return available_bytes() is None and processors() >= MIN_PROCESSORS


def _started(purpose: str) -> subprocess.Popen[bytes] | None:
    import subprocess

    from appliance.runtime import child_process

    with suppress(OSError):
        return subprocess.Popen(
            child_process.command_for("appliance.transports.owner_process", purpose),
            env=child_process.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Keys and signals of the terminal are for the screen, which closes this process, or takes its end along.
            start_new_session=True,
        )
    return None


def _wait_for_line(process: subprocess.Popen[bytes]) -> None:
    cast(IO[bytes], process.stdout).readline()


# --- in the process ---------------------------------------------------------------------------------------


def main() -> None:
    import gc

    gc.disable()  # the modules loaded during the start are not garbage
    named: Future[Home | None] = Future()
    with ExitStack() as stack:
        reading = threading.Thread(target=_read_home, args=(named, stack))
        reading.start()
        try:
            _load_modules()
            if (home := named.result()) is not None:
                from appliance.errors import ApplianceError

                with suppress(ApplianceError):  # the other process meets the same error
                    _own(home, sys.argv[1])
        finally:
            reading.join()


def _read_home(named: Future[Home | None], stack: ExitStack) -> None:
    """Read which home it is, None if it is none, and begin to read its index."""
    from appliance import paths
    from appliance.errors import ApplianceError
    from appliance.store.index import readahead

    home = None
    if line := sys.stdin.buffer.readline():
        with suppress(ApplianceError):
            home = paths.find_home(Path(os.fsdecode(line.removesuffix(b"\n"))))
    named.set_result(home)
    if home is not None:
        stack.enter_context(readahead.reading_ahead(home.index))


def _load_modules() -> None:
    """Load what any home needs."""
    for name in ("config", "requests", "engine.model_cache", "transports.shared", "transports.rpc_server"):
        importlib.import_module(f"appliance.{name}")


def _own(home: Home, purpose: str) -> None:
    """Own a home until standard input ends. The model is loaded, mostly without the interpreter's lock, while the
    modules of the engine are."""
    import gc

    from appliance import config
    from appliance import requests as r
    from appliance.engine.model_cache import ModelCache
    from appliance.runtime.metrics import Metrics
    from appliance.transports.shared import SharedTransport

    settings = config.load(home)
    models = ModelCache(home, settings, Metrics(), None)
    _on_thread(models.preload, settings.model.full_name())

    def open_engine(on_owned: Callable[[OwnerLock], None]) -> Engine:
        from appliance.engine.engine import Engine

        return Engine.open(home.root, models=models, purpose=purpose, on_owned=on_owned)

    transport = SharedTransport(home, open_engine, worker=True, model=None).open()
    try:
        if not transport.is_listening:  # there is another owner, or no socket is possible
            return
        sys.stdout.buffer.write(b"ready\n")
        sys.stdout.buffer.flush()
        _on_thread(transport.send, r.WarmUpRequest())
        gc.freeze()
        gc.enable()
        sys.stdin.buffer.read()
    finally:
        transport.close()


def _on_thread(work: Callable[..., object], *arguments: object) -> None:
    threading.Thread(target=work, args=arguments, name="appliance-warm-up", daemon=True).start()


if __name__ == "__main__":
    main()
