"""Editing a text in the person's own editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from appliance.errors import ApplianceError, UsageError


@contextmanager
def edited(text: str) -> Iterator[str]:
    """Open a text in the editor that VISUAL or EDITOR names; within the context stands what it saved.

    The file with the text can be read by its owner only. It is deleted, unless an error keeps what was written from
    being stored: the error then names it.

    Raises:
        UsageError: The editor can't be started, ends with an error, or saves something that is not UTF-8.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if sys.platform == "win32" else "vi")
    descriptor, name = tempfile.mkstemp(".txt", "appliance-")
    path, is_kept = Path(name), False
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            ended = subprocess.run([*shlex.split(editor), name], check=False)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"The editor {editor!r} can't be started: {error}.", hint="Set VISUAL or EDITOR to another one."
            ) from error
        if ended.returncode:
            raise UsageError(f"The editor {editor!r} ended with exit code {ended.returncode}; nothing was changed.")
        is_kept = True
        try:
            yield path.read_text("utf-8")
        except UnicodeDecodeError as error:
            reason = f"The editor saved what is not UTF-8 text at byte {error.start}."
            raise UsageError(reason, hint=f"What you wrote is kept in {name}.") from error
        except ApplianceError as error:
            error.hint = f"{error.hint or ''} What you wrote is kept in {name}.".strip()
            raise
        is_kept = False
    finally:
        if not is_kept:
            path.unlink(missing_ok=True)
