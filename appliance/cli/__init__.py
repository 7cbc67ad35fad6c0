"""The command line: each verb parses its flags, calls the engine, and prints.

One module a group of verbs; ``app`` joins them. Importing this package loads nothing but the standard
library, so that an interrupt is met from the first moment on.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

PRIVATE = 0o077
"""The umask: whatever this process makes, in the home or elsewhere, is its user's alone."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (the process's own without ``arguments``) and return its exit code."""
    os.umask(PRIVATE)
    try:
        from appliance.cli.app import run
    except KeyboardInterrupt:
        return 130
    return run(arguments)
