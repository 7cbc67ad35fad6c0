"""Texts that a person saves to a file of their own."""

from __future__ import annotations

import os
from pathlib import Path

from appliance.errors import UsageError
from appliance.paths import FILE_MODE


def save_private(typed: str, text: str) -> Path:
    """Write a text to a new file that only its owner can read.

    Args:
        typed: The path as it was typed; "~" is the person's home folder.

    Raises:
        UsageError: No path was typed, the file exists, or it can't be written; nothing was changed.
    """
    if not typed.strip():
        raise UsageError("No file is named.", hint="Type the path of a new file.")
    path = Path(typed.strip()).expanduser().absolute()
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except FileExistsError:
        raise UsageError(f"{path} already exists.", hint="Type the path of a new file.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{path} can't be written: {reason}.", hint="Type another path.") from None
    try:
        with open(file, "w", encoding="utf-8", errors="surrogatepass") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise UsageError(f"{path} can't be written: {error.strerror}.", hint="Type another path.") from None
    return path
