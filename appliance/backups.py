"""Backups, as a program makes them, looks at them, and gets a memory back from one.

Only making one needs an open memory. To list, check and restore backups, no memory has to exist.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import requests as r
from appliance.types import BackupCheck, BackupInfo, BackupReport, RestoreReport

if TYPE_CHECKING:
    from appliance.transports.base import Transport

OnStep = Callable[[int, int], None]
"""Called with what is done and what is left."""


def unheard(done: int, left: int) -> None:
    """Progress that nobody follows."""


class Backups:
    """The backups of a memory."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def make(
        self, target: str | os.PathLike[str], *, keep: str | None = None, progress: OnStep = unheard
    ) -> BackupReport:
        """Back up the memory; see ``requests.BackupRequest``. ``progress`` is called with the blocks that are done and
        those that are left."""
        return self._transport.send(r.BackupRequest(target, keep=keep), lambda step: progress(step.done, step.pending))

    @staticmethod
    def list(source: str | os.PathLike[str]) -> list[BackupInfo]:
        """List the backups in a folder or a file, the latest first. Needs no open memory.

        Raises:
            NotFound: There are none.
            StoreCorrupt: The description of one is damaged.
        """
        from appliance.store.backup import checking

        return checking.list_backups(Path(source))

    @staticmethod
    def verify(source: str | os.PathLike[str], *, read_data: bool = False, progress: OnStep = unheard) -> BackupCheck:
        """Check that all backups in a folder or a file are complete. Needs no open memory.

        Args:
            source: The folder or the file.
            read_data: Also read every block, and compare it with its digest.
            progress: Called with the packs that are checked and those that are left.

        Raises:
            NotFound: There are none.
        """
        from appliance.store.backup import checking

        return checking.check(Path(source), read_data=read_data, progress=progress)

    @staticmethod
    def restore(
        source: str | os.PathLike[str],
        home: str | os.PathLike[str],
        *,
        id: str | None = None,
        progress: OnStep = unheard,
    ) -> RestoreReport:
        """Restore a backup into a new home, which ``Appliance.open`` then opens. Needs no open memory.

        Args:
            source: The folder or the file of the backup.
            home: A folder that does not exist or is empty.
            id: The id of the backup, or its beginning; by default the latest one.
            progress: Called with the blocks that are written and those that are left.

        Raises:
            HomeError: The folder holds something, or can't be written.
            NotFound: There is no such backup.
            StoreCorrupt: The database in the backup is damaged.
            StoreVersion: A newer version of this program made it.
        """
        from appliance.store.backup import restoring

        return restoring.restore(Path(source), Path(home), id, progress)
