"""Exports as files: their formats, their bytes, and how they are written. The faces of the client share it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.errors import IncompleteExport
from appliance.lazy_dataclasses import dataclass
from appliance.paths import sync_folder

if TYPE_CHECKING:
    from appliance.client import Appliance


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format of exports. ``suffix`` is that of its files."""

    name: str
    suffix: str
    media_type: str


FORMATS: Mapping[str, ExportFormat] = {
    format.name: format
    for format in (
        ExportFormat("jsonl", ".jsonl", "application/x-ndjson"),
        ExportFormat("markdown", ".md", "text/markdown"),
        ExportFormat("html", ".html", "text/html"),
    )
}
"""The formats by name. JSONL can be ingested again; the others are for reading."""


def format_of(file: str) -> str:
    """The name of the format in which a file is written if none is named: that of its suffix, else JSONL."""
    suffix = Path(file).suffix.lower()
    return _FORMATS_BY_SUFFIX.get(suffix, "jsonl")


_FORMATS_BY_SUFFIX = {
    **{format.suffix: format.name for format in FORMATS.values()},
    ".json": "jsonl",
    ".htm": "html",
    ".markdown": "markdown",
}


def export_chunks(
    memory: Appliance, format: str, user_id: str | None, *, ids: Sequence[str] = (), state: bool = False
) -> Iterator[bytes]:
    """Yield an export in UTF-8, in chunks; in JSONL a chunk is a line.

    Args:
        memory: The memory.
        format: A name of ``FORMATS``.
        user_id, ids: As for ``ExportRequest``.
        state: As for ``ExportRequest``; only for JSONL.

    Raises:
        ApplianceError: As the memory says, while the chunks are read.
    """
    if format != "jsonl":
        read = memory.export_html if format == "html" else memory.export_markdown
        for text in read(user_id=user_id, ids=ids):
            # A name in the metadata may hold half a surrogate pair: it is shown and not replaced by "?".
            yield text.encode("utf-8", "backslashreplace")
        return
    import msgspec

    encode = msgspec.json.Encoder().encode
    for line in memory.export(user_id=user_id, state=state, ids=ids):
        yield encode(line) + b"\n"


class ReadableChunks:
    """The chunks of an export up to its end; ``error`` then says which messages are damaged, if any."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.error: IncompleteExport | None = None

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._chunks
        except IncompleteExport as error:
            self.error = error

    def raise_if_incomplete(self) -> None:
        if self.error is not None:
            raise self.error


def write_export(target: Path, chunks: Iterable[bytes], *, overwrite: bool) -> int:
    """Write a file that only its owner can read, completely or not at all: a temporary file next to it is flushed to
    the disk and takes its name.

    Returns:
        The size in bytes.

    Raises:
        FileExistsError: The file exists, or has appeared meanwhile, and may not be overwritten.
        OSError: It can't be written.
    """
    if not overwrite and target.exists():
        raise FileExistsError(target)
    # mkstemp creates the file with mode 0600.
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.writelines(chunks)
            stream.flush()
            os.fsync(stream.fileno())
            size = stream.tell()
        if not overwrite and target.exists():  # since the export began
            raise FileExistsError(target)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(target.parent)
    return size
