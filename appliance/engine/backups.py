"""Backups of an open home."""

from __future__ import annotations

from pathlib import Path

from appliance import requests as r
from appliance.engine.index_service import IndexService
from appliance.paths import Home
from appliance.store.backup import making
from appliance.types import BackupReport, OnProgress, Progress


class BackupService:
    """Makes backups of a home while it is in use."""

    def __init__(self, home: Home, index_service: IndexService) -> None:
        self._home = home
        self._index_service = index_service

    def make(self, request: r.BackupRequest, on_progress: OnProgress) -> BackupReport:
        """See ``BackupRequest``."""
        with self._index_service.preserve_vectors():
            return making.make(
                self._home, Path(request.target), lambda done, left: on_progress(Progress("saving", done, left))
            )
