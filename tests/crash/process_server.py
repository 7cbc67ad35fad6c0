"""Runs functions in processes of their own that can be killed.

It loads the program once, and forks for each line of JSON that it reads: ``[function, errors, arguments]``, where the
function is "module.name" and ``errors`` is the file that gets the standard error. What the child acknowledges is
printed, a line each: first "begun" with its process id, then what the function says. "ended" with the exit code
follows from the parent.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable, Sequence

PACKAGES = ("appliance.engine", "appliance.store", "appliance.memory", "appliance.ingest", "appliance.transports")


def say(*words: object) -> None:
    # One write: lines of several threads are never mixed.
    os.write(1, (json.dumps(words) + "\n").encode())


def load() -> None:
    """Load what the functions need, so that a child begins at once. No thread is begun, which a fork would lose."""
    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)


def run(function: Callable[..., None], errors: str, arguments: Sequence[object]) -> int:
    """Run a function in a child. Returns its exit code, negative if a signal ended it."""
    child = os.fork()
    if not child:
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        say("begun", os.getpid())
        code = 1
        try:
            function(*arguments)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    load()
    for line in sys.stdin:
        path, errors, arguments = json.loads(line)
        module, _, name = path.rpartition(".")
        say("ended", run(getattr(importlib.import_module(module), name), errors, arguments))


if __name__ == "__main__":
    main()
