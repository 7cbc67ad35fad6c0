"""Which models the generations of a home were made with, read without opening the memory."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from appliance.paths import Home
from appliance.store.database import as_store_errors

_MODELS_SQL = "SELECT model, state FROM generation WHERE state <> 'discarded' ORDER BY state = 'active', id"


def models_of_generations(home: Home) -> dict[str, str]:
    """The models of all generations of a home, serving, being built or kept, each with its state
    ("active" if it has several); none in a home without a database.

    Raises:
        StoreError: The database can't be read.
    """
    if not home.database.exists():
        return {}
    uri = f"{home.database.as_uri()}?mode=ro"
    with as_store_errors(home.database), closing(sqlite3.connect(uri, uri=True)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'generation'").fetchone():
            return {}
        return dict(database.execute(_MODELS_SQL).fetchall())
