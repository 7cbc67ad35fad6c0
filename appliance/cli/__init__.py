"""The command line: each verb parses its options, calls the client, and prints.

``app`` joins the verbs. Importing this package loads only the standard library, so that an interrupt is handled from
the start.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

PRIVATE_UMASK = 0o077
"""Only the user can read the files that this process creates, in the home or elsewhere."""

BLAS_THREAD_TIMEOUT = "4"
"""Threads of OpenBLAS, which NumPy loads, wait for work for 2 to the power of this many cycles before they sleep. By
default they keep a processor busy for 50 ms after each use, and when NumPy is loaded: the screen draws meanwhile."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, by default that of this process, and return its exit code."""
    os.umask(PRIVATE_UMASK)
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", BLAS_THREAD_TIMEOUT)
    try:
        from appliance.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:  # before a verb runs, or when it has ended
        return 130
