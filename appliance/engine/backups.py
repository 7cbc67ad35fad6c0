"""Backups of an open home."""

from __future__ import annotations

from pathlib import Path

from appliance import requests as r
from appliance.engine.index_service import IndexService
from appliance.memory import erasure
from appliance.paths import Home
from appliance.store.backup import catalogue, making, retention
from appliance.store.backup.encryption import Keys
from appliance.store.database import Database
from appliance.types import BackupReport, KnownBackups, OnProgress, Progress


class BackupService:
    """Makes backups of a home while it is in use."""

    def __init__(self, home: Home, database: Database, index_service: IndexService) -> None:
        self._home = home
        self._database = database
        self._index_service = index_service

    def make(self, request: r.BackupRequest, on_progress: OnProgress) -> BackupReport:
        """See ``BackupRequest``."""
        identity = request.identity
        keep = None if request.keep is None else retention.parse_policy(request.keep)
        with self._index_service.preserve_vectors():
            return making.make(
                self._home,
                Path(request.target),
                keys=Keys(request.passphrase, request.recipients, None if identity is None else Path(identity)),
                keep=keep,
                forgotten_at=erasure.last_at(self._database.read()),
                is_read_only=self._database.is_read_only,
                progress=lambda done, left: on_progress(Progress("saving", done, left)),
            )

    def known(self, request: r.KnownBackupsRequest) -> list[KnownBackups]:
        """See ``KnownBackupsRequest``."""
        return catalogue.known(self._home)
