"""Gives the terminal back when the program is killed: no code of a killed process runs, so another one waits for its
end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SHELL = "/bin/sh"

RESTORING_SEQUENCES = "".join(
    (
        "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l",  # no reports of the mouse
        "\x1b[?1004l\x1b[?2004l",  # none of the focus, none around pastes
        "\x1b[<u",  # keys as before
        "\x1b[?1049l",  # the screen as before
        "\x1b[?25h\x1b[0m",  # the cursor, and no colours
    )
)
"""What ends all that Textual sets. A shell sets the modes of the line by itself when a program was killed."""

_WAIT_AND_RESTORE = 'read -r _ || printf %s "$1" >&2'
"""A line means that the program ends by itself; the end of the file that it was killed."""


@contextmanager
def restored_when_killed() -> Iterator[None]:
    """Restore the terminal if the process is killed within the block."""
    terminal = sys.__stderr__  # which Textual draws on
    if terminal is None or not terminal.isatty() or not os.path.exists(SHELL):
        yield
        return
    # In a session of its own: the signals that end this process leave it alone.
    with subprocess.Popen(
        [SHELL, "-c", _WAIT_AND_RESTORE, SHELL, RESTORING_SEQUENCES],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as waiting:
        try:
            yield
        finally:
            with suppress(BrokenPipeError):
                waiting.communicate(b"\n")
