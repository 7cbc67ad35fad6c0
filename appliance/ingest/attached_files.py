"""The files that lie beside a conversation and are attached to its messages: found by name, measured, and read.

An export names its files in many ways: with the path, with the name alone, with an id before the name. So a file is
looked for among those in the folder of the document (or the same folder of its zip) and below, and counts only if there
is one of that name.
"""

from __future__ import annotations

import hashlib
import mimetypes
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from appliance.errors import InputError, NotFound
from appliance.formats.base import Document
from appliance.formats.text import READ_ERRORS
from appliance.ingest import zip_members
from appliance.store import kept_files
from appliance.types import AttachedFile, Attachment, MessageRecord, Record

MAX_DIGESTED_BYTES = 64 * 2**20
"""Bytes of a file whose digest is computed. A larger one is listed without."""

MAX_DOCUMENT_BYTES = 4 * 2**30
"""Bytes of the files of one document that are read for digests: some seconds of reading. Later ones are listed
without; the next ingest of the document goes on with them."""

BLOCK_BYTES = 1 << 20

# ChatGPT puts the id of a file before its name: "file-8hT3bQ-garden.png".
_IDENTIFIED = re.compile(r"(file[-_][A-Za-z0-9]{6,})(?:-(.+))?", re.S)


def with_files(
    records: Iterator[Record], document: Document, known_digests: Callable[[], Mapping[tuple[str, int], str]]
) -> Iterator[Record]:
    """Add to messages what is known of their attached files.

    Args:
        records: What a parser yields.
        document: The document that it reads.
        known_digests: Returns the digests of the document's files that are stored, by path and size, so that none is
            read again.
    """
    files: _BesideFiles | None = None
    for record in records:
        if isinstance(record, MessageRecord) and "attachments" in record.metadata:
            if files is None:
                files = _BesideFiles(document, known_digests())
            record = replace(record, files=tuple(files.describe(record)))
        yield record


@dataclass(slots=True)
class _BesideFiles:
    """The files in the folder of a document and below, by name, and how much of them was read."""

    document: Document
    digests: Mapping[tuple[str, int], str]
    read_bytes: int = 0
    _paths: dict[str, list[str]] | None = field(default=None)

    def describe(self, record: MessageRecord) -> Iterator[AttachedFile]:
        """What is known of the attachments of a message."""
        told = {one.name: one for one in record.files}
        entries = record.metadata["attachments"]
        for entry in entries if isinstance(entries, list) else []:
            name = entry.get("name") if isinstance(entry, dict) else entry
            if isinstance(name, str) and name:
                yield self._completed(told.get(name) or AttachedFile(name))

    def _completed(self, file: AttachedFile) -> AttachedFile:
        path = self._path(file)
        found = None if path is None else self.document.context.find(path)
        if path is None or found is None:
            return replace(file, path=None)
        guessed, _ = mimetypes.guess_type(path)
        self.document.context.attach(found.name)
        digest = self.digests.get((path, found.size)) or self._digest(found)
        return AttachedFile(file.name, path, file.type or guessed, found.size, digest)

    def _path(self, file: AttachedFile) -> str | None:
        """The path of a file, from the document's folder on; None if there is none, or several fit equally."""
        if self._paths is None:
            self._paths = {}
            for path in self.document.context.names():
                name = path.rpartition("/")[2]
                self._paths.setdefault(name, []).append(path)
                if match := _IDENTIFIED.fullmatch(name):
                    identity = match[1] if match[2] else match[1].rpartition(".")[0] or match[1]
                    for other in {identity, match[2]} - {None, name}:
                        self._paths.setdefault(str(other), []).append(path)
        given, paths = "", []
        for told in filter(None, (file.path, file.name)):
            given = told.replace("\\", "/")
            if paths := self._paths.get(given.rpartition("/")[2], []):
                break
        if len(paths) > 1:
            # An export that gives the path says which one; it may begin at another folder.
            paths = [
                path for path in paths if path == given or given.endswith(f"/{path}") or path.endswith(f"/{given}")
            ]
        return paths[0] if len(paths) == 1 else None

    def _digest(self, file: Document) -> str | None:
        if file.size > MAX_DIGESTED_BYTES or self.read_bytes + file.size > MAX_DOCUMENT_BYTES:
            return None
        hashed = hashlib.sha256()
        try:
            with file.open() as stream:
                while block := stream.read(BLOCK_BYTES):
                    hashed.update(block)
                    self.read_bytes += len(block)
        except READ_ERRORS:
            return None  # the message is worth more than the digest of its file
        return hashed.hexdigest()


# --- opening an attachment ----------------------------------------------------------------------------


def file_of(attachment: Attachment, kept: Path) -> Path:
    """Return the file of an attachment, as its export has it, else as the home keeps it in the folder ``kept``. What is
    in a zip or in the home is copied into a new private folder for temporary files, which is the caller's to delete.

    Raises:
        NotFound: The export does not have the file, or it is not where it was when it was read.
        InputError: The zip is damaged.
    """
    if attachment.path is None or attachment.source is None:
        raise NotFound(
            f"The file of {attachment.id} ({attachment.name}) is not in the export; the export only mentions it.",
            hint="Import the export again with its files, such as the whole zip as it was downloaded.",
        )
    file, archive = _place(attachment.source, attachment.path)
    if archive is None and file.is_file():
        return file
    if attachment.kept and attachment.digest is not None:
        copy = kept_files.path_of(kept, attachment.digest)
        if copy.is_file():
            return _copied(lambda: copy.open("rb"), attachment.path)
    if archive is not None:
        return _unpacked(archive, os.path.relpath(file, archive).replace(os.sep, "/"), attachment)
    raise NotFound(
        f"The file of {attachment.id} is not at {file} any more.",
        hint="Put the export back to this place, or ingest it from where it is now.",
    )


def opener(source: str, path: str) -> Callable[[], AbstractContextManager[BinaryIO]] | None:
    """Return what opens the file at a path beside a source; None if it is not there any more."""
    file, archive = _place(source, path)
    try:
        if archive is None:
            return (lambda: file.open("rb")) if file.is_file() else None
        member = zip_members.zip_member(archive, os.path.relpath(file, archive).replace(os.sep, "/"))
    except (OSError, zipfile.BadZipFile):
        return None
    return None if member is None else member.open


def _place(source: str, path: str) -> tuple[Path, Path | None]:
    """The path of a file beside a source, and the zip that it is in, if it is no file by itself."""
    folder = Path(source).parent
    file = Path(os.path.normpath(folder / path))
    if file.is_file():
        return file, None
    return file, next((parent for parent in (folder, *folder.parents) if parent.is_file()), None)


def _unpacked(archive: Path, member: str, attachment: Attachment) -> Path:
    """Unpack a member of a zip into a new private folder."""
    try:
        document = zip_members.zip_member(archive, member)
        if document is None:
            raise NotFound(f"The zip has no member {member} any more.", where=str(archive))
        return _copied(document.open, member)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise InputError(f"{attachment.id} can't be unpacked: {error}", where=str(archive)) from error


def _copied(open_file: Callable[[], AbstractContextManager[BinaryIO]], name: str) -> Path:
    """Copy a file into a new private folder, under its name."""
    folder = Path(tempfile.mkdtemp(prefix="appliance-attachment-"))
    target = folder / (re.sub(r"[^\w.() -]", "_", name.rpartition("/")[2])[-100:] or "file")
    try:
        with open_file() as stream, open(target, "xb", opener=_private) as copy:
            shutil.copyfileobj(stream, copy, BLOCK_BYTES)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return target


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
