"""A repository of backups, opened to read or to write."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from appliance.errors import NotFound, StoreCorrupt, StoreError, StoreVersion, UsageError
from appliance.runtime.decoding import decode
from appliance.store.backup import encryption, packs, storage
from appliance.store.backup import manifest as manifests
from appliance.store.backup.encryption import AgeCipher, Cipher, Keys, NoCipher
from appliance.store.backup.manifest import FORMAT_VERSION, Manifest, StoredPack
from appliance.store.backup.packs import Pack
from appliance.store.backup.storage import BACKUPS, PACKS, REPOSITORY, Storage

NO_KEYS = Keys()


class RepositoryHead(msgspec.Struct, frozen=True):
    """What ``repository.json`` holds: the format, an id by which a home knows the repository again, and the recipients
    to which it is encrypted; none if it is not."""

    format: int
    id: str
    recipients: list[str] = []


@dataclass(frozen=True, slots=True)
class Repository:
    """The backups in a folder or a file."""

    storage: Storage
    head: RepositoryHead
    cipher: Cipher

    def backup_ids(self) -> list[str]:
        """Return the ids of all backups, the oldest first."""
        return self.storage.names(BACKUPS)

    def manifest(self, id: str) -> Manifest:
        """Return the manifest of a backup.

        Raises:
            StoreCorrupt: It is missing or damaged.
            StoreVersion: A newer version of this program wrote it.
        """
        name = f"{BACKUPS}/{id}"
        where = str(self.storage.path / name)
        return manifests.decode(self.cipher.decrypt(self.storage.read(name), where), where)

    def pack(self, stored: StoredPack) -> Pack:
        """Return a pack.

        Raises:
            StoreCorrupt: It is missing or damaged.
        """
        data, where = self._read_pack(stored)
        if hashlib.sha256(data).hexdigest() != stored.sha256:
            raise packs.damaged(where)
        return packs.decode(self.cipher.decrypt(data, where), where)

    def damaged_pack(self, stored: StoredPack) -> Pack:
        """Return a pack of which some blocks may be damaged.

        Raises:
            StoreCorrupt: It is missing, or can't be read at all.
        """
        data, where = self._read_pack(stored)
        return packs.decode(self.cipher.decrypt(data, where), where)

    def _read_pack(self, stored: StoredPack) -> tuple[bytes, str]:
        name = f"{PACKS}/{stored.name}"
        return self.storage.read(name), str(self.storage.path / name)

    def write_pack(self, name: str, data: bytes, blocks: int) -> StoredPack:
        data = self.cipher.encrypt(data)
        self.storage.write(f"{PACKS}/{name}", data)
        return StoredPack(name, len(data), blocks, hashlib.sha256(data).hexdigest())

    def write_manifest(self, manifest: Manifest) -> None:
        """Write the manifest, by which the backup comes to exist."""
        self.storage.write(f"{BACKUPS}/{manifest.id}", self.cipher.encrypt(manifests.encode(manifest)))

    def find(self, id: str | None) -> str:
        """Return the id of the backup that ``id`` or its beginning names, of the latest one if it is None.

        Raises:
            NotFound: There is none, or there are several.
        """
        ids = self.backup_ids()
        found = ids[-1:] if id is None else [one for one in ids if one.startswith(id)]
        if len(found) == 1:
            return found[0]
        where = str(self.storage.path)
        if not ids:
            raise NotFound("There is no backup in this folder.", where=where, hint="Make one with 'appliance backup'.")
        what = f"There are {len(found)} backups" if found else "There is no backup"
        raise NotFound(f"{what} {id!r}.", where=where, hint="'appliance backup list' shows them.")


@contextmanager
def opened(path: Path, keys: Keys = NO_KEYS) -> Iterator[Repository]:
    """A repository to read from.

    Raises:
        NotFound: There is none at ``path``.
        StoreCorrupt: Its head is damaged.
        StoreVersion: A newer version of this program wrote it.
    """
    with storage.reading(path) as entries:
        if entries.size(REPOSITORY) is None:
            raise NotFound(
                "There are no backups in this folder.", where=str(path), hint="Name the folder or file of a backup."
            )
        yield _repository(entries, _head(entries), keys)


@contextmanager
def opened_to_write(path: Path, keys: Keys = NO_KEYS) -> Iterator[Repository]:
    """A repository to which a backup is added; a new one if there is none, encrypted if there are keys to encrypt with.
    Only one process writes at a time.

    Raises:
        UsageError: An existing repository is not encrypted, or to other recipients.
        StoreError: It can't be written, is being written by another process, or is a folder with other files.
    """
    if path.is_file():
        with opened(path):  # refuses any other file
            pass
    elif path.is_dir() and any(path.iterdir()) and not (path / REPOSITORY).exists():
        names = {entry.name for entry in path.iterdir()}
        if names - {storage.LOCK, REPOSITORY + ".new"}:
            hint = "Name a new or an empty folder, or one with earlier backups."
            raise StoreError("This folder holds other files and no backups.", where=str(path), hint=hint)
    with storage.writing(path) as entries:
        if entries.size(REPOSITORY) is None:
            head = RepositoryHead(FORMAT_VERSION, secrets.token_hex(8), encryption.begin(entries, keys))
            entries.write(REPOSITORY, msgspec.json.encode(head) + b"\n")
        else:
            head = _head(entries)
            _check_recipients(head, keys, path)
        yield _repository(entries, head, keys)


def _repository(entries: Storage, head: RepositoryHead, keys: Keys) -> Repository:
    return Repository(entries, head, AgeCipher(entries, head.recipients, keys) if head.recipients else NoCipher())


def _check_recipients(head: RepositoryHead, keys: Keys, path: Path) -> None:
    if keys and not head.recipients:
        hint = "Name a new folder for encrypted backups, or leave --encrypt and --recipient out."
        raise UsageError("The backups in this folder are not encrypted.", where=str(path), hint=hint)
    if not set(keys.recipients) <= set(head.recipients):
        hint = "Name a new folder for these recipients, or leave --recipient out."
        raise UsageError("The backups in this folder are encrypted to others.", where=str(path), hint=hint)


def _head(entries: Storage) -> RepositoryHead:
    where = str(entries.path / REPOSITORY)
    try:
        head = decode(entries.read(REPOSITORY), RepositoryHead)
    except msgspec.DecodeError as error:
        raise StoreCorrupt("The description of the backups is damaged.", where=where) from error
    if head.format > FORMAT_VERSION:
        raise StoreVersion(
            "A newer version of this program wrote these backups.", where=where, hint="Update the program."
        )
    return head
