"""The collections that a home has on Qdrant servers: which they are, who may write to them, which are to go.

A row is written before its collection is created, and deleted after it has been dropped, so that none is left behind:
one that could not be dropped, because its server was away, is dropped later. ``store.index.collections`` describes the
token by which a copy of a home is told from the original.
"""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import dataclass
from typing import Literal

from appliance.errors import IndexUnavailable
from appliance.store import generation_states
from appliance.store.database import Database
from appliance.store.generation_states import Generation
from appliance.store.index import collections, remote
from appliance.store.index.collections import CollectionIdentity
from appliance.store.index.nodes import ServerNodes
from appliance.store.index.remote import RemoteIndex

State = Literal["held", "filling", "dropping"]
"""held: in use, or left by hand; filling: the target of a move that is not complete; dropping: not needed any more."""


@dataclass(frozen=True, slots=True)
class HeldCollection:
    """A collection of this home, on the server that the settings named so when it was opened."""

    name: str
    server: str
    generation: int
    token: str
    next_token: str | None
    state: State

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens by which this copy of the home is its owner."""
        return (self.token,) if self.next_token is None else (self.token, self.next_token)


def home_id(db: sqlite3.Connection) -> str | None:
    """The id of the home; None if it never had a collection on a server."""
    row = db.execute("SELECT id FROM home_identity").fetchone()
    return None if row is None else str(row[0])


def held(db: sqlite3.Connection) -> list[HeldCollection]:
    """Every collection of this home."""
    rows = db.execute("SELECT name, server, generation, token, next_token, state FROM server_collection ORDER BY 1, 2")
    return [HeldCollection(*row) for row in rows]


def identity(database: Database, nodes: ServerNodes, generation: Generation) -> CollectionIdentity:
    """What the collection of a generation is on a server; gives the home an id if it has none."""
    home = home_id(database.read())
    if home is None:
        with database.write() as tx:
            tx.execute("INSERT OR IGNORE INTO home_identity VALUES (1, ?)", (secrets.token_hex(8),))
            home = home_id(tx)
    assert home is not None
    name = collections.collection_name(nodes.options.prefix, home, generation.id)
    return CollectionIdentity(name, home, generation.identity, generation.dimension)


def open_collection(
    database: Database, nodes: ServerNodes, generation: Generation, *, state: State = "held"
) -> RemoteIndex:
    """Open the collection of a generation, or create it (then ``is_fresh`` is True), and take a new token for it.

    Raises:
        IndexUnavailable: The server is away, or the collection belongs to another home or another copy of this one.
    """
    if database.is_read_only:
        return _open_to_read(database, nodes, generation)
    wanted = identity(database, nodes, generation)
    found = collections.state(nodes, wanted.name)
    row = _row(database.read(), wanted.name, nodes.options.server)
    if found is not None:
        collections.require_owner(found, wanted.name, wanted.home, row.tokens if row else ())
        if not collections.fits(found, wanted):
            collections.drop(nodes, wanted.name)
            found = None
    token = secrets.token_hex(16)
    if found is None:
        _write_row(database, HeldCollection(wanted.name, nodes.options.server, generation.id, token, None, state))
        return remote.create_remote(nodes, wanted, token)
    assert row is not None
    # Both tokens count until the server has the new one, so that a process may end at any point.
    server, present = nodes.options.server, str(found.metadata["token"])
    _write_row(database, HeldCollection(wanted.name, server, generation.id, present, token, state), row.server)
    collections.renew_token(nodes, wanted.name, token)
    _write_row(database, HeldCollection(wanted.name, server, generation.id, token, None, state))
    return remote.open_remote(nodes, wanted, token, found)


def _open_to_read(database: Database, nodes: ServerNodes, generation: Generation) -> RemoteIndex:
    """The same where nothing can be written: neither the database nor the collection changes."""
    home = home_id(database.read()) or ""
    name = collections.collection_name(nodes.options.prefix, home, generation.id)
    wanted = CollectionIdentity(name, home, generation.identity, generation.dimension)
    found = collections.state(nodes, name)
    row = _row(database.read(), name, nodes.options.server)
    if found is None or row is None or not collections.fits(found, wanted):
        raise IndexUnavailable("The memory has no index on the server, and is read-only.")
    collections.require_owner(found, name, home, row.tokens)
    token = str(found.metadata["token"])
    return RemoteIndex(nodes, wanted, token, shard_keys=int(found.metadata.get("shard_keys", 0)))


def claim(database: Database, nodes: ServerNodes, generation: Generation) -> None:
    """Take the collection of a generation over from another copy of this home, which is refused from then on. It is
    dropped, because its points may be of texts that this copy does not have: the next opening makes it anew."""
    wanted = identity(database, nodes, generation)
    found = collections.state(nodes, wanted.name)
    if found is None:
        return
    token = str(found.metadata.get("token", ""))
    collections.require_owner(found, wanted.name, wanted.home, (token,))
    row = HeldCollection(wanted.name, nodes.options.server, generation.id, token, None, "held")
    _write_row(database, row)
    drop(database, nodes, row)


def assign_new_home_id(database: Database) -> None:
    """Give this copy of a home an id of its own. The collections that it had are the other copy's from now on."""
    with database.write() as tx:
        tx.execute("DELETE FROM server_collection")
        tx.execute("INSERT OR REPLACE INTO home_identity VALUES (1, ?)", (secrets.token_hex(8),))


def is_unused(row: HeldCollection, generations: set[int], server: str) -> bool:
    """Whether a collection is to be dropped: its generation has gone, the index has been moved away from it, or a move
    to it has not ended. ``server`` is where the index is."""
    return row.generation not in generations or (row.state != "held" and row.server != server)


def name_of(db: sqlite3.Connection, prefix: str, generation: int) -> str:
    """The name of a generation's collection; empty if this home never had any."""
    home = home_id(db)
    return "" if home is None else collections.collection_name(prefix, home, generation)


def mark_dropping(database: Database, server: str) -> None:
    """Note that the collections on a server are not needed once the index is elsewhere."""
    with database.write() as tx:
        tx.execute("UPDATE server_collection SET state = 'dropping' WHERE server = ?", (server,))


def unused(db: sqlite3.Connection, server: str) -> list[HeldCollection]:
    """The collections to be dropped; ``server`` is where the index is, empty for the home."""
    generations = {generation.id for generation in generation_states.stored(db)}
    return [row for row in held(db) if is_unused(row, generations, server)]


def drop(database: Database, nodes: ServerNodes, row: HeldCollection) -> None:
    """Drop a collection, unless another copy of this home has it, and forget it.

    Raises:
        IndexUnavailable: Its server is away.
    """
    found = collections.state(nodes, row.name)
    if found is not None and collections.is_owner(found, home_id(database.read()) or "", row.tokens):
        collections.drop(nodes, row.name)
    with database.write() as tx:
        tx.execute("DELETE FROM server_collection WHERE name = ? AND server = ?", (row.name, row.server))


def _row(db: sqlite3.Connection, name: str, server: str) -> HeldCollection | None:
    """What this home knows of a collection: first of all on this server, else under another name of it, to which a node
    may have been added."""
    rows = sorted((row for row in held(db) if row.name == name), key=lambda row: row.server != server)
    return rows[0] if rows else None


def _write_row(database: Database, row: HeldCollection, former_server: str | None = None) -> None:
    with database.write() as tx:
        if former_server is not None and former_server != row.server:
            tx.execute("DELETE FROM server_collection WHERE name = ? AND server = ?", (row.name, former_server))
        tx.execute(
            "INSERT OR REPLACE INTO server_collection (name, server, generation, token, next_token, state)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (row.name, row.server, row.generation, row.token, row.next_token, row.state),
        )
