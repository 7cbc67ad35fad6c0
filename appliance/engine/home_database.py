"""The database of a home, as an engine opens it."""

from __future__ import annotations

from contextlib import suppress

from appliance import paths
from appliance.errors import DiskFull, StoreError
from appliance.settings import DatabaseSettings
from appliance.store import migrations, sessions
from appliance.store.backup import snapshot
from appliance.store.database import Database, PageCaches, ReadOnlyDatabase


def open_database(home: paths.Home, settings: DatabaseSettings, *, worker: bool) -> Database:
    """Open the database, after a backup if it has to be migrated. On a full disk, it can at least be read; a process
    with a ``worker`` may run until there is room again, and is refused.

    Raises:
        DiskFull: There is no room to open it.
        StoreError: It is refused.
    """
    if paths.is_read_only(home):
        return ReadOnlyDatabase(home.database)
    snapshot.remove_copy(home)
    if migrations.is_due(home.database):
        from appliance.store.backup import making

        making.make_before_migration(home)
    try:
        usual = PageCaches()
        return Database(
            home.database, PageCaches(settings.cache or usual.writer, settings.reader_cache or usual.reader)
        )
    except DiskFull:
        if worker:
            raise
        with suppress(StoreError):  # its log would have to be applied first
            return ReadOnlyDatabase(home.database, is_disk_full=True)
        raise


def apply_default_ttl(database: Database, ttl: int) -> None:
    """Apply the default lifetime of sessions where the settings have changed it."""
    if not database.is_read_only and not sessions.default_ttl_applied(database.read(), ttl):
        with database.write() as tx:
            sessions.apply_default_ttl(tx, ttl)
