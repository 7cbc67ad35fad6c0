"""The database of a home, as an engine opens it."""

from __future__ import annotations

from appliance import paths
from appliance.store import migrations
from appliance.store.backup import snapshot
from appliance.store.database import Database, ReadOnlyDatabase


def open_database(home: paths.Home) -> Database:
    """Open the database, after a backup if it has to be migrated."""
    if paths.is_read_only(home):
        return ReadOnlyDatabase(home.database)
    snapshot.remove_copy(home)
    if migrations.is_due(home.database):
        from appliance.store.backup import making

        making.make_before_migration(home)
    return Database(home.database)
