"""Where a repository keeps its entries: in a folder, or in one file (a zip without compression)."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from appliance.errors import DiskFull, NotFound, StoreCorrupt, StoreError
from appliance.paths import FILE_MODE, FOLDER_MODE, sync_folder, write_file_atomically
from appliance.runtime import file_locks
from appliance.store.room import free_bytes, is_disk_full

REPOSITORY = "repository.json"
PACKS = "packs"
BACKUPS = "backups"
LOCK = "lock"

MARKER = "unfinished"
"""The entry that names the backup that is being made. If its process ends, the next one removes its packs."""


class Storage(Protocol):
    """The entries of a repository by their names ("packs/…"). ``path`` is the folder or the file."""

    path: Path

    def names(self, folder: str) -> list[str]:
        """Return the names of the entries in a folder, without the folder, sorted."""
        ...

    def size(self, name: str) -> int | None:
        """Return the size of an entry in bytes; None if there is no such entry.

        Raises:
            StoreError: The folder can't be read.
        """
        ...

    def read(self, name: str) -> bytes:
        """Return an entry.

        Raises:
            StoreCorrupt: It is missing or damaged.
            StoreError: It can't be read.
        """
        ...

    def write(self, name: str, data: bytes) -> None:
        """Write a new entry, or replace one, as a whole.

        Raises:
            StoreError: It can't be written.
        """
        ...

    def remove(self, name: str) -> None:
        """Remove an entry, if it exists."""
        ...


class FolderStorage:
    """A repository in a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(entry.name for entry in (self.path / folder).iterdir() if not entry.name.endswith(".new"))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def size(self, name: str) -> int | None:
        try:
            return (self.path / name).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def read(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError as error:
            raise _missing(self.path / name) from error
        except OSError as error:
            raise _unreadable(self.path / name, error) from error

    def write(self, name: str, data: bytes) -> None:
        path = self.path / name
        try:
            path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            write_file_atomically(path, data)
        except OSError as error:
            with suppress(OSError):
                path.with_name(path.name + ".new").unlink()
            raise unwritable(self.path, error) from error

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            (self.path / name).unlink()


class ArchiveStorage:
    """A repository in one file. It is written once, from beginning to end, and read after that."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._archive = archive

    def names(self, folder: str) -> list[str]:
        prefix = folder + "/"
        return sorted(name.removeprefix(prefix) for name in self._archive.namelist() if name.startswith(prefix))

    def size(self, name: str) -> int | None:
        try:
            return self._archive.getinfo(name).file_size
        except KeyError:
            return None

    def read(self, name: str) -> bytes:
        try:
            return self._archive.read(name)
        except KeyError as error:
            raise _missing(self.path / name) from error
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error, struct.error) as error:
            raise StoreCorrupt("This part of the backup is damaged.", where=str(self.path / name)) from error
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def write(self, name: str, data: bytes) -> None:
        try:
            self._archive.writestr(name, data)
        except OSError as error:
            raise unwritable(self.path, error) from error

    def remove(self, name: str) -> None:
        """Nothing is removed from a file that is written once."""


def is_archive(path: Path) -> bool:
    """Whether a path names a single file: it is one, or it does not exist and has a suffix."""
    return path.is_file() or (not path.exists() and bool(path.suffix))


@contextmanager
def reading(path: Path) -> Iterator[Storage]:
    """The entries of an existing repository.

    Raises:
        NotFound: There is none.
        StoreCorrupt: It is a file that is no backup.
    """
    if not path.exists():
        raise NotFound("There is no such file or folder.", where=str(path), hint="Name the folder of the backups.")
    if path.is_dir():
        yield FolderStorage(path)
        return
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        hint = "Name another backup. A backup whose making was interrupted is not one."
        raise StoreCorrupt("This file is not a backup, or it is damaged.", where=str(path), hint=hint) from error
    except OSError as error:
        raise _unreadable(path, error) from error
    with archive:
        yield ArchiveStorage(path, archive)


@contextmanager
def writing(path: Path) -> Iterator[Storage]:
    """The entries of a repository to which a backup is added: of a folder, which is created if necessary, or of a new
    file, which replaces an earlier one when everything is written.

    Raises:
        StoreError: It can't be written, or another process writes into the folder.
    """
    if is_archive(path):
        with _new_archive(path) as archive:
            yield archive
        return
    try:
        path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, FILE_MODE)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        try:
            file_locks.lock(descriptor, wait=False)
        except OSError as error:
            hint = "Wait until it is done, then try again."
            raise StoreError("Another backup is being made in this folder.", where=str(path), hint=hint) from error
        yield FolderStorage(path)
    finally:
        os.close(descriptor)


@contextmanager
def _new_archive(path: Path) -> Iterator[Storage]:
    temporary = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC, FILE_MODE)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        with os.fdopen(descriptor, "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                yield ArchiveStorage(path, archive)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise unwritable(path, error) from error
        raise
    sync_folder(path.parent)


def unwritable(path: Path, error: OSError) -> StoreError:
    """The error of a backup that can't be written."""
    if is_disk_full(error):
        hint = "Make room there, or remove older backups (--keep), then try again. Earlier backups there are kept."
        free = free_bytes(next(folder for folder in (path, *path.parents) if folder.is_dir()))
        message = f"The disk has no room for the backup: {free / 1e6:,.1f} MB are free."
        return DiskFull(message, where=str(path), hint=hint)
    hint = "Check that the disk works and has room, then try again. Earlier backups there are kept."
    return StoreError(f"The backup can't be written: {error.strerror or error}.", where=str(path), hint=hint)


def _unreadable(path: Path, error: OSError) -> StoreError:
    hint = "Check the disk and its permissions, or name another backup."
    return StoreError(f"The backup can't be read: {error.strerror or error}.", where=str(path), hint=hint)


def _missing(path: Path) -> StoreCorrupt:
    hint = "Restore another backup: 'appliance backup list' shows them."
    return StoreCorrupt("A part of the backup is missing.", where=str(path), hint=hint)
