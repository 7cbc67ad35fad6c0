"""Starts Python programs by forking a process that has loaded the appliance: see ``forked_programs``.

It is run with the number of its end of a socket. Each message on it is a pickled ``Start`` with the three standard
streams as file descriptors; the answer is the process id. The new process is a child of the one that asked, not of this
one: the process between them ends at once, and who asked is its next ancestor that takes in orphans.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import io
import os
import pickle
import pkgutil
import runpy
import socket
import sys
import threading
import time
import types
import warnings
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = tuple(str(ROOT / name) for name in (".", "models", "tui"))
MESSAGE_BYTES = 1_000_000

PACKAGES = ("appliance", "appliance_models", "appliance_tui")

LEFT_OUT = ("appliance.bench.", "appliance.integrations.")
"""What few commands load."""

LIBRARIES = (
    "anyio._backends._asyncio", "encodings.idna", "mcp.server.stdio", "onnxruntime", "qdrant_edge", "tiktoken",
    "tokenizers",
    "uvicorn.lifespan.on", "uvicorn.loops.auto", "uvicorn.protocols.http.auto", "uvicorn.protocols.websockets.auto",
)  # fmt: skip
"""What commands load while they run."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a process is started with: of its ``command`` the ``module`` or ``code`` is run with the ``arguments``, and
    warnings are errors if it is ``strict``."""

    command: list[str]
    module: str | None
    code: str | None
    arguments: list[str]
    strict: bool
    folder: str
    environment: dict[str, str]
    search_path: list[str]
    umask: int
    new_session: bool


def load() -> None:
    """Load what commands load. Nothing is begun that a fork would lose or share: no thread, no file, no session."""
    own = set(sys.modules)
    sys.path[:0] = SOURCES
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.endswith("__main__") and not module.name.startswith(LEFT_OUT):
                importlib.import_module(module.name)
    for name in LIBRARIES:
        importlib.import_module(name)
    del sys.path[: len(SOURCES)]
    assert threading.active_count() == 1
    atexit.register(_keep, [name for name in sys.modules if name not in own])


def _keep(names: list[str]) -> None:
    """Let the interpreter leave modules as they are when it ends: to take apart what was loaded for all is most of a
    short command. What a program has loaded and made itself ends as usual."""
    modules = [sys.modules.pop(name, None) for name in names]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(modules))


def asked(server: socket.socket) -> Start | None:
    """Wait for starts, and answer them. Returns in each new process what it is to run; in the server, None at the
    end."""
    while True:
        message, streams, _, _ = socket.recv_fds(server, MESSAGE_BYTES, 3)
        if not message:
            return None
        reading, writing = os.pipe()
        if not (between := os.fork()):
            if program := os.fork():
                os.write(writing, str(program).encode())
                os._exit(0)
            server.close()
            os.close(reading)
            os.close(writing)
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            os.closerange(3, max(streams) + 1)
            start = pickle.loads(message)
            assert isinstance(start, Start)
            return start
        os.waitpid(between, 0)
        for descriptor in (writing, *streams):
            os.close(descriptor)
        server.send(os.read(reading, 100))
        os.close(reading)


def text_stream(number: int, mode: str, like: io.TextIOWrapper) -> io.TextIOWrapper | None:
    """A standard stream as the interpreter makes it when it starts."""
    try:
        binary = open(number, mode, closefd=False)  # noqa: SIM115 — it stays open
    except OSError:
        return None
    binary.raw.name = like.name  # type: ignore[attr-defined]
    lines = number == 2 or (mode == "wb" and binary.isatty())
    stream = io.TextIOWrapper(binary, like.encoding, like.errors, newline="\n", line_buffering=lines)
    stream.mode = mode[0]  # type: ignore[misc]
    return stream


def begin(start: Start, filters: int) -> types.ModuleType:
    """Be a process that has just been started. ``filters`` is how many filters of warnings there were before anything
    was loaded. Returns its module ``__main__``."""
    if start.new_session:
        os.setsid()
    os.umask(start.umask)
    os.chdir(start.folder)
    os.environ.clear()
    os.environ.update(start.environment)
    time.tzset()
    sys.stdin = sys.__stdin__ = text_stream(0, "rb", sys.__stdin__)  # type: ignore[assignment,arg-type,misc]
    sys.stdout = sys.__stdout__ = text_stream(1, "wb", sys.__stdout__)  # type: ignore[assignment,arg-type,misc]
    sys.stderr = sys.__stderr__ = text_stream(2, "wb", sys.__stderr__)  # type: ignore[assignment,arg-type,misc]
    sys.orig_argv[:] = start.command
    first = "" if start.module is None else start.folder
    sys.path[:] = [first, *dict.fromkeys((*map(os.path.abspath, start.search_path), *sys.path))]
    if start.strict:
        later = warnings.filters[: len(warnings.filters) - filters]
        sys.warnoptions.append("error")
        del warnings.filters[: len(later)]  # type: ignore[attr-defined]
        warnings.simplefilter("error")
        warnings.filters[:0] = later  # type: ignore[index]
        warnings.filterwarnings("ignore", "^$", append=True)  # what reads them again
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    gc.enable()
    return main


def serve(server: socket.socket) -> None:
    """Answer until who asks has ended. In each new process, run its program, and return or raise as that does."""
    gc.disable()
    sys.path.pop(0)
    filters = len(warnings.filters)
    load()
    gc.freeze()
    server.send(b"ready")
    if (start := asked(server)) is None:
        return
    main = begin(start, filters)
    if start.module is not None:
        sys.argv[:] = ["-m", *start.arguments]
        runpy._run_module_as_main(start.module)  # type: ignore[attr-defined]
    else:
        assert start.code is not None
        sys.argv[:] = ["-c", *start.arguments]
        exec(compile(start.code, "<string>", "exec"), main.__dict__)


if __name__ == "__main__":
    # Started as a script, this module is not the one that pickled values name.
    sys.modules["tests.forking_server"] = sys.modules["__main__"]
    serve(socket.socket(fileno=int(sys.argv[1])))
