"""The command line: each verb parses its options, calls the client, and prints.

``app`` joins the verbs. Importing this package loads only the standard library, so that an interrupt is handled from
the start.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

PRIVATE_UMASK = 0o077
"""Only the user can read the files that this process creates, in the home or elsewhere."""

BLAS_THREAD_TIMEOUT = "4"
"""Threads of OpenBLAS, which NumPy loads, wait for work for 2 to the power of this many cycles before they sleep. By
default they keep a processor busy for 50 ms after each use, and when NumPy is loaded: the screen draws meanwhile."""

YOUNG_OBJECTS = 50_000
"""New objects after which the garbage collector looks for cycles. What a command loads and makes lasts to its end: by
Python's own 700 the collector took a tenth of the processor time of a short command."""


SCREEN_PURPOSE = "appliance tui"
"""What a screen uses a home for."""

_SCREEN_ELSEWHERE = frozenset({"--help", "-h", "--json", "--serve"})
"""The options of ``tui`` with which no screen is drawn in this terminal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, by default that of this process, and return its exit code."""
    os.umask(PRIVATE_UMASK)
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", BLAS_THREAD_TIMEOUT)
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    try:
        with _beginning(sys.argv[1:] if arguments is None else arguments):
            try:
                from appliance.cli.app import run
            except Exception as error:
                return _report_damage(error)
            return run(arguments)
    except KeyboardInterrupt:  # before a verb runs, or when it has ended
        return 130


def _beginning(arguments: Sequence[str]) -> AbstractContextManager[None]:
    """What a verb begins with before the modules of the command line are loaded: a screen, with the process that opens
    its memory."""
    if list(arguments[:1]) != ["tui"] or not sys.stdout.isatty() or not _SCREEN_ELSEWHERE.isdisjoint(arguments):
        return nullcontext()
    from appliance.transports import owner_process

    return owner_process.started_early(SCREEN_PURPOSE)


def _report_damage(error: Exception) -> int:
    """Say why the command line can't be loaded, and what to do, if files of the installation are damaged."""
    from appliance.doctor.files import damage

    if (check := damage(error)) is None:
        raise error
    print(f"error: The program can't be loaded ({error}): {check.detail}\n  {check.fix}", file=sys.stderr)
    return 1
