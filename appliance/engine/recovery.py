"""Recovers the messages of a damaged database into a new home.

The database is only read, page by page (``store.pages``). The new home is written into a hidden folder beside its place
and gets its name at the end: it is there as a whole, or not at all.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from appliance import config
from appliance.engine.index_service import IndexService
from appliance.engine.model_cache import ModelCache
from appliance.errors import ConfigError, ModelUnavailable, NotFound
from appliance.ingest import rechunk
from appliance.paths import FOLDER_MODE, Home, copy_folder, create_home
from appliance.runtime.admission import AdmissionControl
from appliance.runtime.metrics import Metrics
from appliance.settings import Settings
from appliance.store import kept_files, recovery
from appliance.store.backup import restoring, salvage
from appliance.store.backup.encryption import Keys
from appliance.store.backup.repository import NO_KEYS
from appliance.store.database import Database
from appliance.store.lock import OwnerLock
from appliance.types import LostPart, RecoveryReport


def recover(source: Path, target: Path, id: str | None = None, *, keys: Keys = NO_KEYS) -> RecoveryReport:
    """Save every readable message of a damaged home, or of a damaged backup, into a new one. What is damaged is not
    changed.

    Vectors, index, summaries and facts are made again from the messages. Search finds messages by their words until
    their vectors are computed.

    Args:
        source: The damaged home, or its database file, or the folder or file with backups.
        target: The new home: a folder that does not exist, or an empty one.
        id: The id of the backup or its beginning; None for the latest one.
        keys: To decrypt the backup.

    Raises:
        HomeError: The folder of the new home is not empty, or can't be written.
        HomeLocked: A process uses the damaged home.
        NotFound: There is no database, or no such backup.
        StoreCorrupt: The file is no database, and no message can be read in it.
        StoreVersion: A newer version of this program wrote it.
    """
    began = time.perf_counter()
    source, target = source.expanduser().absolute(), target.expanduser().absolute()
    if source.exists() and salvage.is_repository(source):
        return _recover_backup(source, target, id, keys)
    home = Home(source if source.is_dir() else source.parent)
    database = home.database if source.is_dir() else source
    if not database.is_file():
        raise NotFound("There is no database.", where=str(database), hint="Name a home, or its file recall.db.")
    restoring.refuse_to_overwrite(target)
    with ExitStack() as stack:
        if home.lock.is_file() and os.access(home.lock, os.W_OK):
            lock = OwnerLock(home.lock)
            lock.acquire("appliance recover")
            stack.callback(lock.release)
        work = create_home(Home(restoring.begin(target, stack, "appliance recover")))
        lost = _copy_settings(home, work)
        with closing(Database(work.database)) as recovered:
            settings = config.load(work)
            found = recovery.recover(database, recovered, settings.user)
            lost += [*found.lost, *_copy_attachments(home, work, recovered), *_queue_all(work, settings, recovered)]
        restoring.finish(work.root, target)
    return RecoveryReport(str(target), found.messages, time.perf_counter() - began, tuple(lost))


def _recover_backup(source: Path, target: Path, id: str | None, keys: Keys) -> RecoveryReport:
    """Recover what can be read of a backup, which is first written beside the new home."""
    restoring.refuse_to_overwrite(target)
    with ExitStack() as stack:  # what a killed recovery has left there is removed by the next one
        folder = restoring.begin(target.with_name(f"{target.name}.readable"), stack, "appliance recover")
        readable = Home(folder / "backup")
        readable.root.mkdir(mode=FOLDER_MODE)
        lost = salvage.write_readable(source, readable, id, keys=keys)
        report = recover(readable.database, target)
    return replace(report, lost=(*lost, *report.lost))


def _copy_settings(home: Home, work: Home) -> list[LostPart]:
    if not home.config.is_file():
        return []
    shutil.copyfile(home.config, work.config)
    try:
        config.load(work)
    except ConfigError as error:
        work.config.unlink()
        return [LostPart("config.toml", str(error.args[0]))]
    return []


def _copy_attachments(home: Home, work: Home, database: Database) -> list[LostPart]:
    """Copy the kept attachments that recovered messages have."""
    if not home.attachments.is_dir():
        return []
    try:
        copy_folder(home.attachments, work.attachments)
    except OSError as error:  # shutil.Error among them: it names every file
        return [LostPart("attachments", f"not all copies of attached files could be read: {error}")]
    kept_files.purge(database, work.attachments)
    return []


def _queue_all(home: Home, settings: Settings, database: Database) -> list[LostPart]:
    """Chunk all messages, so that the new home embeds them when it is used."""
    metrics = Metrics()
    models = ModelCache(home, settings, metrics, None)
    index_service = IndexService(home, settings, database, AdmissionControl(), metrics, lambda event: None, models)
    try:
        generation, chunker = index_service.serving.chunking_target()
    except ModelUnavailable as error:
        return [LostPart("vectors", f"{error.args[0]} Run 'appliance reindex --vectors' when it is there.")]
    rechunk.messages(database, generation, chunker)
    return []
