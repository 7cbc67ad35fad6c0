"""Requests that make backups."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

from appliance.requests.base import Request
from appliance.types import BackupReport, KnownBackups


@dataclass(frozen=True, slots=True)
class BackupRequest(Request[BackupReport]):
    """Back up the whole memory, while it is in use. Into a folder with earlier backups, only what is new is written.

    Args:
        target: A folder, which is created if necessary, or a file, named with a suffix: a file holds one backup, and
            replaces an earlier one. The folder that it is in must be there.
        keep: Then remove older backups, except the last one of each of so many days, weeks, months and years that have
            any: "7d4w12m". By default all are kept.
        passphrase: Encrypt a new folder or file with this passphrase; also reads an encrypted folder for ``keep``.
        recipients: Encrypt a new folder or file to these public keys of age or SSH.
        identity: The file of a private key, which reads an encrypted folder for ``keep``.

    Raises:
        UsageError: The target lies within the memory, or in a folder that is not there; ``keep`` has another form, or
            the keys do not fit.
        StoreError: The target can't be written, or holds other files.
    """

    name: ClassVar[str] = "backups.make"
    repeatable: ClassVar[bool] = False
    long_running: ClassVar[bool] = True

    target: str | os.PathLike[str]
    _: KW_ONLY
    keep: str | None = None
    passphrase: str | None = field(default=None, repr=False)
    recipients: Sequence[str] = ()
    identity: str | os.PathLike[str] | None = None


@dataclass(frozen=True, slots=True)
class KnownBackupsRequest(Request[list[KnownBackups]]):
    """List where backups of this memory were made, the latest first."""

    name: ClassVar[str] = "backups.known"
