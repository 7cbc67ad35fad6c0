"""A forked program is like one that was started as usual, in all that it can see of itself and others of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import forked_programs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all programs are started as usual"),
]

SEEN = """
import json, os, signal, sys, threading, time, warnings
streams = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr")}
try:
    warnings.warn("a warning", UserWarning)
    warned = "shown"
except UserWarning:
    warned = "raised"
print(json.dumps({
    "arguments": sys.argv, "command": sys.orig_argv, "path": sys.path, "folder": os.getcwd(), "main": __name__,
    "environment": dict(os.environ), "umask": os.umask(0), "zone": time.tzname, "input": sys.stdin.read(),
    "parent": os.getppid(), "leads its session": os.getsid(0) == os.getpid(), "threads": threading.active_count(),
    "files": sorted(os.listdir("/proc/self/fd"))[:3], "more files": len(os.listdir("/proc/self/fd")),
    "handlers": [str(signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)],
    "streams": {name: [s.encoding, s.errors, s.line_buffering, s.write_through, s.isatty(), s.name, s.mode,
                       s is getattr(sys, f"__{name}__")] for name, s in streams.items()},
    "warnings": [warned, sys.warnoptions],
}))
sys.exit(7)
"""


@pytest.mark.parametrize("words", [[], ["-W", "error"]])
def test_it_sees_what_one_that_was_started_sees(tmp_path: Path, words: list[str]) -> None:
    def seen(run: Callable[..., Any]) -> dict[str, Any]:
        done = run(
            [sys.executable, *words, "-c", SEEN, "an argument", "-x"],
            input="typed\n", capture_output=True, text=True, cwd=tmp_path, umask=0o27, start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TZ": "Asia/Tokyo", "X": "ß"},
        )  # fmt: skip
        assert done.returncode == 7, done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        return said | {"told": done.stderr}

    started, forked = seen(subprocess.run), seen(forked_programs.run)
    assert "raised" in forked["warnings"] if words else "a warning" in forked.pop("told") and started.pop("told")
    assert forked == started


def test_the_command_line_ends_and_says_as_it_does_when_it_is_started(home: Path) -> None:
    for arguments in (["version"], ["status"], ["search"], ["nonsense"], ["show", "m1", "--json"]):
        command = [sys.executable, "-m", "appliance", *arguments]
        started, forked = (run(command, capture_output=True) for run in (subprocess.run, forked_programs.run))
        assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


def test_each_has_secrets_of_its_own() -> None:
    code = "from appliance.server import confirmation; print(confirmation._key().hex(), __import__('random').random())"
    keys = [forked_programs.run([sys.executable, "-c", code], capture_output=True).stdout.split() for _ in "ab"]
    assert len(keys[0]) == 2 and not set(keys[0]) & set(keys[1])


def test_what_it_can_t_be_like_is_started_as_usual(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command, forks = [sys.executable, "-c", "import sys; print(sys.stdout.encoding)"], []
    fork = forked_programs._fork
    monkeypatch.setattr(forked_programs, "_fork", lambda *given: forks.append(given) or fork(*given))
    for variables in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}, {"PYTHONPATH": str(tmp_path)}):
        done = forked_programs.run(command, capture_output=True, text=True, env={**os.environ, **variables})
        assert done.returncode == 0 and not forks, variables
    assert forked_programs.run(["true"]).returncode == forked_programs.run("exit 0", shell=True).returncode == 0
    assert not forks and forked_programs.run(command, capture_output=True).stdout == b"utf-8\n" and len(forks) == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_by_a_signal_and_leaves_no_other_process(number: signal.Signals) -> None:
    command = [sys.executable, "-c", "print('begun', flush=True); import time; time.sleep(600)"]
    with forked_programs.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"begun\n"
        process.send_signal(number)
        assert process.wait(60) == -number and process.stdout.read() == b""
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
    with pytest.raises(subprocess.TimeoutExpired):
        forked_programs.run(command, capture_output=True, timeout=0.2)
    with pytest.raises(subprocess.CalledProcessError):
        forked_programs.run([sys.executable, "-c", "raise SystemExit(3)"], check=True)
