"""``Popen`` and ``run`` of ``subprocess`` for Python programs, most of whose start is loading the appliance.

``python -m MODULE`` and ``python -c CODE`` are forked from a process that has loaded it (``forking_server``, one a
process of the tests, begun by the first that needs it). What is started is a process of its own like any other: a child
of this one, with the streams, the environment and the folder that it is given; it ends and is killed in the same way.
What such a process can't be like is started as usual: another command, other variables that are read while modules
are loaded, inherited files, and systems without ``prctl``.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import pickle
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.forking_server import SOURCES, Start

TAKE_IN_ORPHANS = 36
"""``PR_SET_CHILD_SUBREAPER`` of Linux: processes whose parent has ended become children of this one."""

_READ_BEFORE = re.compile(
    r"(PYTHON(?!PATH$)|TEXTUAL|_?TYPER|TERMINAL_WIDTH$|FORCE_COLOR$|PY_COLORS$|GITHUB_|LD_|HF_|OMP_)"
)
"""Variables that the interpreter and libraries read when they are loaded."""

_lock = threading.Lock()


class Popen(subprocess.Popen[Any]):
    """A process as ``subprocess`` starts it, forked where that is the same."""

    def _execute_child(  # type: ignore[no-untyped-def]
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env,
        startupinfo, creationflags, shell, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite,
        restore_signals, gid, gids, uid, umask, start_new_session, *more,
    ) -> None:  # fmt: skip
        usual = executable is None and preexec_fn is None and close_fds and not pass_fds and not shell
        usual = usual and restore_signals and gid is gids is uid is None and more in ((), (-1,))
        variables = dict(os.environ if env is None else env)
        start = _start(args, cwd, variables, umask, start_new_session) if usual else None
        if start is None:
            return super()._execute_child(  # type: ignore[misc,no-any-return]
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env,
                startupinfo, creationflags, shell, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite,
                restore_signals, gid, gids, uid, umask, start_new_session, *more,
            )  # fmt: skip
        streams = [given if given != -1 else number for number, given in enumerate((p2cread, c2pwrite, errwrite))]
        with _lock:
            self.pid = _fork(start, streams)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]


def run(
    command: Sequence[Any], *, input: Any = None, timeout: float | None = None, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """``subprocess.run``."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if options.pop("capture_output", False):
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(command, **options) as process:
        try:
            output, errors = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


def _start(args: Any, cwd: Any, environment: dict[Any, Any], umask: int, new_session: bool) -> Start | None:
    """What the server is asked for; None for what it can't start."""
    if sys.platform != "linux" or isinstance(args, str | bytes | os.PathLike):
        return None
    words = command = [*map(os.fspath, args)]
    if strict := words[1:3] == ["-W", "error"]:
        words = [words[0], *words[3:]]
    if words[0] != sys.executable or words[1:2] not in (["-m"], ["-c"]) or len(words) < 3:
        return None
    if not all(isinstance(text, str) for text in (*words, *environment, *environment.values())):
        return None
    environment |= _coerced(environment)
    search_path = [*filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    if not {*map(os.path.normpath, search_path)} <= {*map(os.path.normpath, (*SOURCES, *sys.path))}:
        return None
    if _surroundings(environment) != _server()[1]:
        return None
    if umask < 0:
        umask = _umask()
    folder = os.path.abspath(os.fspath(cwd or "."))
    if not os.path.isdir(folder):
        return None
    module, code = (words[2], None) if words[1] == "-m" else (None, words[2])
    return Start(command, module, code, words[3:], strict, folder, environment, search_path, umask, bool(new_session))


def _surroundings(environment: dict[str, str]) -> dict[str, str]:
    """What the interpreter and libraries have read when they are loaded."""
    read = {name: value for name, value in environment.items() if _READ_BEFORE.match(name)}
    return read | {"": _locale(environment)}


def _locale(environment: dict[str, str]) -> str:
    return environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or "C"


def _coerced(environment: dict[str, str]) -> dict[str, str]:
    """What the interpreter sets in the locale C, which is that where none is named."""
    return {"LC_CTYPE": "C.UTF-8"} if not environment.get("LC_ALL") and _locale(environment) == "C" else {}


def _umask() -> int:
    found = re.search(r"^Umask:\s*(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1], 8)


@functools.cache
def _server() -> tuple[socket.socket, dict[str, str]]:
    """The server of this process, and in which surroundings it has loaded what it loads."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("APPLIANCE_")}
    environment.pop("PYTHONPATH", None)
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    script = str(Path(__file__).with_name("forking_server.py"))
    process = subprocess.Popen([sys.executable, script, str(its.fileno())], pass_fds=[its.fileno()], env=environment)
    its.close()
    if ours.recv(100) != b"ready":
        raise AssertionError(f"the server of programs ended with {process.wait()}")
    atexit.register(_end, ours, process)
    return ours, _surroundings(environment | _coerced(environment))


def _end(ours: socket.socket, process: subprocess.Popen[bytes]) -> None:
    ours.close()
    process.wait()


def _fork(start: Start, streams: list[int]) -> int:
    server, _ = _server()
    system = ctypes.CDLL(None, use_errno=True)
    if system.prctl(TAKE_IN_ORPHANS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    try:
        socket.send_fds(server, [pickle.dumps(start)], streams)
        return int(server.recv(100))
    finally:
        system.prctl(TAKE_IN_ORPHANS, 0, 0, 0, 0)
