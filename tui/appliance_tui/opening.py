"""Opens a file with the program that the machine has for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OPENER = "open" if sys.platform == "darwin" else "xdg-open"


def file_of(path: str) -> Path:
    """The file on the disk that a source lies in: of one in a zip ("export.zip!chat.txt"), the zip."""
    whole = Path(path)
    return whole if whole.exists() or "!" not in path else Path(path.partition("!")[0])


def open_file(path: Path) -> bool:
    """Let the machine show a file; False where it has no way to."""
    try:
        subprocess.Popen(
            [OPENER, str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return False
    return True
