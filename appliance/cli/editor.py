"""Editing a text in the person's own editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from appliance.errors import UsageError


def edit_text(text: str) -> str:
    """Open a text in the editor that VISUAL or EDITOR names, and return what it saved. The file with the text can be
    read by its owner only, and is deleted.

    Raises:
        UsageError: The editor can't be started, ends with an error, or saves something that is not UTF-8.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if sys.platform == "win32" else "vi")
    descriptor, name = tempfile.mkstemp(".txt", "appliance-")
    path = Path(name)
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
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"The editor saved what is not UTF-8 text at byte {error.start}.") from error
    finally:
        path.unlink(missing_ok=True)
