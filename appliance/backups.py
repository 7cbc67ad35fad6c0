"""Backups, as a program makes them, looks at them, and gets a memory back from one.

Only making one needs an open memory. To list, check and restore backups, no memory has to exist.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import requests as r
from appliance.types import BackupCheck, BackupInfo, BackupReport, RestoreReport
from appliance.verbs import Verb

if TYPE_CHECKING:
    from appliance.store.backup.encryption import Keys
    from appliance.transports.base import Transport

OnStep = Callable[[int, int], None]
"""Called with what is done and what is left."""

FilePath = str | os.PathLike[str]


def unheard(done: int, left: int) -> None:
    """Ignore the progress."""


class Backups:
    """The backups of a memory."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    known = Verb(lambda: r.KnownBackupsRequest)

    def make(
        self,
        target: FilePath,
        *,
        keep: str | None = None,
        passphrase: str | None = None,
        recipients: Sequence[str] = (),
        identity: FilePath | None = None,
        progress: OnStep = unheard,
    ) -> BackupReport:
        """Back up the memory; see ``requests.BackupRequest``. ``progress`` is called with the blocks that are done and
        those that are left."""
        request = r.BackupRequest(target, keep=keep, passphrase=passphrase, recipients=recipients, identity=identity)
        return self._transport.send(request, lambda step: progress(step.done, step.pending))

    @staticmethod
    def list(source: FilePath, *, passphrase: str | None = None, identity: FilePath | None = None) -> list[BackupInfo]:
        """List the backups in a folder or a file, the latest first. Needs no open memory.

        Args:
            source: The folder or the file.
            passphrase, identity: To decrypt encrypted ones: the passphrase, or the file of a private key.

        Raises:
            NotFound: There are none.
            StoreCorrupt: The description of one is damaged.
            StoreError: They are encrypted.
        """
        from appliance.store.backup import checking

        return checking.list_backups(Path(source), _keys(passphrase, identity))

    @staticmethod
    def verify(
        source: FilePath,
        *,
        read_data: bool = False,
        passphrase: str | None = None,
        identity: FilePath | None = None,
        progress: OnStep = unheard,
    ) -> BackupCheck:
        """Check that all backups in a folder or a file are complete. Needs no open memory.

        Args:
            source: The folder or the file.
            read_data: Also read every block, and compare it with its digest.
            passphrase, identity: To decrypt encrypted ones: the passphrase, or the file of a private key.
            progress: Called with the packs that are checked and those that are left.

        Raises:
            NotFound: There are none.
            StoreError: They are encrypted.
        """
        from appliance.store.backup import checking

        return checking.check(Path(source), read_data=read_data, keys=_keys(passphrase, identity), progress=progress)

    @staticmethod
    def restore(
        source: FilePath,
        home: FilePath,
        *,
        id: str | None = None,
        passphrase: str | None = None,
        identity: FilePath | None = None,
        progress: OnStep = unheard,
    ) -> RestoreReport:
        """Restore a backup into a new home, which ``Appliance.open`` then opens. Needs no open memory.

        Args:
            source: The folder or the file of the backup.
            home: A folder that does not exist or is empty.
            id: The id of the backup, or its beginning; by default the latest one.
            passphrase, identity: To decrypt an encrypted one: the passphrase, or the file of a private key.
            progress: Called with the blocks that are written and those that are left.

        Raises:
            HomeError: The folder holds something, or can't be written.
            NotFound: There is no such backup.
            StoreCorrupt: The database in the backup is damaged.
            StoreVersion: A newer version of this program made it.
            StoreError: It is encrypted.
        """
        from appliance.store.backup import restoring

        return restoring.restore(Path(source), Path(home), id, keys=_keys(passphrase, identity), progress=progress)

    @staticmethod
    def has_passphrase(source: FilePath) -> bool:
        """Whether the backups in a folder or a file are encrypted with a passphrase. Needs no open memory.

        Raises:
            NotFound: There are none.
        """
        from appliance.store.backup import encryption, repository

        with repository.opened(Path(source).expanduser().absolute()) as opened:
            return opened.storage.size(encryption.KEY) is not None


def _keys(passphrase: str | None, identity: FilePath | None) -> Keys:
    from appliance.store.backup.encryption import Keys

    return Keys(passphrase, identity=None if identity is None else Path(identity).expanduser())
