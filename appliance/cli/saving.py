"""An export on its way to a file: whole or not at all, and the user's alone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appliance.cli import out
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.server.client import Appliance

FORMATS = ("jsonl", "markdown")


def pieces(memory: Appliance, format: str, user: str | None) -> Iterator[bytes]:
    """The export as UTF-8, piece by piece; a line a piece in JSONL."""
    if format == "markdown":
        for text in memory.export_markdown(user_id=user):
            yield text.encode()
        return
    import msgspec

    encode = msgspec.json.Encoder().encode
    for line in memory.export(user_id=user):
        yield encode(line) + b"\n"


def save(file: str, data: Iterable[bytes]) -> dict[str, Any]:
    """Write a file beside its place, flush it to the disk, and move it there. An older file of the
    name stays until then. Says where it is, and how large.

    Raises:
        UsageError: it can't be written there.
    """
    from appliance.paths import sync_folder

    target = Path(file).expanduser().resolve()
    if target.exists() and not target.is_file():
        raise UsageError("not a file", where=out.path(target), hint="name a file, or - for stdout")
    try:
        # mkstemp makes it 0600 from the first moment.
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
    except OSError as error:
        raise _unwritable(target, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.writelines(data)
            stream.flush()
            os.fsync(stream.fileno())
            size = stream.tell()
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise _unwritable(target, error) from error
        raise
    sync_folder(target.parent)
    return {"path": out.path(target), "bytes": size}


def _unwritable(target: Path, error: OSError) -> UsageError:
    reason = error.strerror or error
    return UsageError(f"can't be written ({reason})", where=out.path(target), hint="name another place")
