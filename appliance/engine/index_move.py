"""Where the index of an open home is, and moving it between the home and a Qdrant server while it is in use.

``IndexMoveService.move`` reads top to bottom: the target is begun empty; from then on every update goes to the serving
index and to the target (``store.index.mirror``); pages of points are copied from database and ledger, between the steps
of indexing; then the target is compared with the database, the setting is written and the serving index is changed in
one step, while no search runs. Nothing is embedded. Until that step the old index serves alone, and what is left of an
interrupted move is discarded later.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice

import msgspec

from appliance import config
from appliance import requests as r
from appliance.engine.index_location import EXPOSED_KEY_WARNING, UNAVAILABLE, IndexLocation, server_options
from appliance.engine.index_service import IndexService
from appliance.errors import IndexUnavailable, StoreError, UsageError
from appliance.ingest import indexer
from appliance.paths import Home
from appliance.runtime.admission import AdmissionControl
from appliance.settings import IndexSettings
from appliance.store import chunks, generation_states, generations, point_ids, server_collections, summary_chunks
from appliance.store.chunks import SUMMARY_POINTS, OutboxItem
from appliance.store.database import Database
from appliance.store.generation_states import Generation
from appliance.store.generations import DerivedStores
from appliance.store.index import collections
from appliance.store.index.edge import open_edge
from appliance.store.index.mirror import MirrorIndex, MirrorTarget
from appliance.store.index.protocol import IndexPoint, VectorIndex
from appliance.store.sql import JSON_KEYS_SQL, json_keys
from appliance.types import IndexStatus, OnProgress, Progress

EMBEDDED = "embedded"

PAGE_POINTS = 1_000
"""Points that are copied in one step, during which no new message is indexed: about 0.3 s."""


class IndexMoveService:
    """Says where the index is, moves it, and settles whose it is. Safe to use from several threads."""

    def __init__(
        self, home: Home, database: Database, index_service: IndexService, admission: AdmissionControl
    ) -> None:
        self._home = home
        self._database = database
        self._index_service = index_service
        self._serving = index_service.serving
        self._admission = admission
        self._moving = threading.Lock()

    def status(self, request: r.IndexStatusRequest) -> IndexStatus:
        """See ``IndexStatusRequest``. Opens an index in the home to count its points."""
        found = self.overview()
        if self._serving.location.server or self._database.is_read_only:  # which has to copy an index to open it
            return found
        try:
            with self._serving.lease() as stores:
                return found if stores is None else replace(found, points=stores.index.count())
        except UNAVAILABLE as error:
            return replace(found, trouble=str(error))

    def overview(self) -> IndexStatus:
        """The same without the points of an index in the home. Opens neither the index nor the model."""
        db, location = self._database.read(), self._serving.location
        found = self._serving.current()
        expected = pending = 0
        if found is not None:
            expected = chunks.count(db, found.id) + summary_chunks.count(db, found.id)
            expected -= chunks.count_archived(db, found.id)
            pending = chunks.count_pending(db, found.id) + summary_chunks.count_pending(db, found.id)
        name = self._collection_name(db, found)[0] if location.server and found is not None else ""
        points, trouble = None, ""
        try:
            points = self._remote_points(db, name)
        except StoreError as error:
            trouble = str(error)
        warnings = []
        if location.server and server_options(location.settings).is_key_exposed:
            warnings.append(EXPOSED_KEY_WARNING)
        in_use = {self._collection_name(db, one) for one in generation_states.stored(db)}
        others = [row for row in server_collections.held(db) if (row.name, row.server) not in in_use]
        return IndexStatus(
            place=location.server or EMBEDDED,
            collection=name,
            points=points,
            expected=expected,
            pending=pending,
            trouble=trouble,
            warnings=tuple(warnings),
            unused=tuple(f"{row.name} on {row.server}" for row in others),
        )

    def _collection_name(self, db: sqlite3.Connection, generation: Generation) -> tuple[str, str]:
        """The name of a generation's collection, and the server where it is."""
        location = self._serving.location
        return server_collections.name_of(db, location.settings.prefix, generation.id), location.server

    def _remote_points(self, db: sqlite3.Connection, name: str) -> int | None:
        """About how many points the collection of this home has; None if it has none yet."""
        nodes = self._serving.location.nodes()
        if nodes is None:
            return None
        if not name:
            nodes.call("be reached", lambda client: client.get_collections())
            return None
        found = collections.state(nodes, name)
        if found is None:
            return None
        rows = [row for row in server_collections.held(db) if row.name == name]
        tokens = tuple(token for row in rows for token in row.tokens)
        collections.require_owner(found, name, server_collections.home_id(db) or "", tokens)
        return found.points

    # --- moving ------------------------------------------------------------------------------------------

    def move(self, request: r.MoveIndexRequest, on_progress: OnProgress) -> IndexStatus:
        """See ``MoveIndexRequest``."""
        settings = self._target_settings(request.target)
        if not self._moving.acquire(blocking=False):
            raise StoreError("The index is being moved already.")
        try:
            # Building waits, because it has an index of its own open; rebuilding and erasing, because they close it.
            with self._index_service.no_build(), self._index_service.preserve_vectors():
                self._move(settings, on_progress)
        except IndexUnavailable as error:
            hint = "The index stays where it is; nothing has changed."
            raise IndexUnavailable(error.args[0], where=error.where, hint=hint) from error
        finally:
            self._moving.release()
        self._index_service.drain()
        return self.status(r.IndexStatusRequest())

    def _target_settings(self, target: str) -> IndexSettings:
        """The settings of the index as they will be, by the present state of the file."""
        present, origins = config.load_with_origins(self._home)
        origin = origins["index.url"]
        if origin not in ("default", str(self._home.config)):
            raise UsageError(
                f"{origin} sets where the index is, so that the settings can't.", hint=f"Unset {origin}, then move it."
            )
        values = {**msgspec.structs.asdict(present.index), "url": "" if target == EMBEDDED else target}
        try:
            settings = msgspec.convert(values, IndexSettings)
        except msgspec.ValidationError as error:
            hint = f'Give the URL of a Qdrant server, or "{EMBEDDED}".'
            raise UsageError(f"{error}.", hint=hint) from error
        settings = msgspec.structs.replace(settings, url=",".join(settings.urls))
        if target != EMBEDDED and not settings.urls:
            raise UsageError("The server has no URL.", hint=f'Give the URL of a Qdrant server, or "{EMBEDDED}".')
        if settings.url == self._serving.location.server:
            raise UsageError(f"The index is at {settings.url or 'home'} already.")
        return settings

    def _move(self, settings: IndexSettings, on_progress: OnProgress) -> None:
        found, old = self._serving.current(), self._serving.location.server
        target_location = IndexLocation(settings)
        try:
            if found is None or not self._is_source_open():
                # Nothing to copy from: the target is filled from the vectors as any new index is.
                self._require_reachable(target_location)
                self._switch(settings, old)
                return
            with self._filled_target(found, target_location, on_progress) as target, self._index_service.exclusive():
                self._complete(found, target)
                target.index.close()
                self._switch(settings, old)
        finally:
            target_location.close()

    def _is_source_open(self) -> bool:
        try:
            return self._serving.open() is not None
        except IndexUnavailable:  # the server may be gone for good
            return False

    def _require_reachable(self, location: IndexLocation) -> None:
        if (nodes := location.nodes()) is not None:
            nodes.call("be reached", lambda client: client.get_collections())

    @contextmanager
    def _filled_target(
        self, generation: Generation, location: IndexLocation, on_progress: OnProgress
    ) -> Iterator[MirrorTarget]:
        """The target with all points, which gets every update within the context; discarded if the move fails."""
        target = MirrorTarget(self._begin_target(generation, location))
        try:
            with self._index_service.exclusive():
                self._serving.begin_mirror(lambda serving: MirrorIndex(serving, target))
            self._copy_all(generation, target, on_progress)
            yield target
        except BaseException:
            with self._index_service.exclusive():
                self._serving.end_mirror()
            target.index.close()
            with suppress(StoreError):  # what is left on a server that is away is dropped later
                self._discard_target(generation, location)
            raise

    def _begin_target(self, generation: Generation, location: IndexLocation) -> VectorIndex:
        """An empty index at the target, in place of one that was left there."""
        self._discard_target(generation, location)
        nodes = location.nodes()
        if nodes is None:
            return open_edge(generations.index_path(self._home, generation.id), generation.dimension)
        return server_collections.open_collection(self._database, nodes, generation, state="filling")

    def _discard_target(self, generation: Generation, location: IndexLocation) -> None:
        nodes = location.nodes()
        if nodes is None:
            generations.remove_index(self._home, generation.id)
            return
        for row in server_collections.held(self._database.read()):
            if row.server == location.server and row.generation == generation.id:
                server_collections.drop(self._database, nodes, row)

    def _copy_all(self, generation: Generation, target: MirrorTarget, on_progress: OnProgress) -> None:
        db = self._database.read()
        total = chunks.count(db, generation.id) + summary_chunks.count(db, generation.id)
        done = after = unoptimized = 0
        while True:
            self._admission.yield_to_queries()
            with self._index_service.exclusive():
                page = list(islice(point_ids.expected(db, generation.id, after=after), PAGE_POINTS))
                self._copy(generation, target, page)
            if not page:
                return
            after, done, unoptimized = page[-1], done + len(page), unoptimized + len(page)
            if unoptimized >= indexer.OPTIMIZE_AFTER_POINTS:
                target.index.optimize()
                unoptimized = 0
            on_progress(Progress("embedding", done, max(0, total - done)))

    def _copy(self, generation: Generation, target: MirrorTarget, ids: Sequence[int]) -> None:
        """Copy points as the database says now. The caller keeps the indexer out."""
        stores = self._serving.open()
        if stores is None or stores.generation.id != generation.id:
            raise StoreError("The memory has changed its vectors while the index was moved.", hint="Move it again.")
        target.update(lambda index: index.upsert(list(_points(self._database.read(), stores, ids))))
        if target.failure is not None:
            raise target.failure

    def _complete(self, generation: Generation, target: MirrorTarget) -> None:
        """Bring the target to exactly the points that the database says. The caller keeps the indexer out.

        Raises:
            StoreError: Points are missing that can't be copied.
        """
        db, index = self._database.read(), target.index
        if target.failure is not None:
            raise target.failure
        index.delete(list(point_ids.surplus(db, generation.id, index.ids())))
        self._copy(generation, target, list(point_ids.missing(db, generation.id, index.ids())))
        index.flush()
        if lacking := sum(1 for _ in point_ids.missing(db, generation.id, index.ids())):
            raise StoreError(
                f"{lacking} points can't be moved, because their vectors are missing or damaged.",
                hint="Run 'appliance reindex --vectors', then move the index.",
            )
        index.optimize()

    def _switch(self, settings: IndexSettings, old: str) -> None:
        """Let the target serve from now on, and remove the old index, also those of generations that do not serve. The
        next search opens the target."""
        with self._index_service.kept_closed(), self._serving.closed():
            if old:  # first, so that an interruption leaves no collection that nothing knows to be unused
                server_collections.mark_dropping(self._database, old)
            config.write_setting(self._home, "index", "url", settings.url)
            self._serving.mirror = None
            self._serving.location.change(settings)
            if not old:
                for stored in generation_states.stored(self._database.read()):
                    generations.remove_index(self._home, stored.id)
        with suppress(IndexUnavailable):
            self._serving.open()
        self._serving.drop_unused_collections()

    # --- two copies of one memory ------------------------------------------------------------------------

    def claim(self, request: r.ClaimIndexRequest) -> IndexStatus:
        """See ``ClaimIndexRequest``."""
        nodes, found = self._serving.location.nodes(), self._serving.current()
        if nodes is None:
            raise UsageError("The index is in the home, where no other memory uses it.")
        service = self._index_service
        with service.no_build(), service.preserve_vectors(), service.exclusive(), self._serving.closed():
            if request.new:
                server_collections.assign_new_home_id(self._database)
            elif found is not None:
                server_collections.claim(self._database, nodes, found)
        self._index_service.drain()
        return self.status(r.IndexStatusRequest())


def _points(db: sqlite3.Connection, stores: DerivedStores, ids: Sequence[int]) -> Iterator[IndexPoint]:
    """The points of chunks as the indexer makes them, without those that have no intact vector yet."""
    generation = stores.generation.id
    keys = [id for id in ids if id < SUMMARY_POINTS]
    rows = db.execute(f"SELECT DISTINCT message_id FROM chunk WHERE id IN {JSON_KEYS_SQL}", (json_keys(keys),))
    wanted = set(keys)
    messages = chunks.with_point_fields(db, generation, [message for (message,) in rows])
    pending = [chunk for chunk in messages if chunk.chunk in wanted]
    summaries = summary_chunks.with_point_fields(db, generation, [id for id in ids if id >= SUMMARY_POINTS])
    items: Sequence[OutboxItem] = [*pending, *summaries]
    rows_of = {item.digest: item.row for item in items if item.row is not None}
    damaged = stores.ledger.damaged_rows(rows_of.values())
    intact = {digest: row for digest, row in rows_of.items() if row not in damaged}
    vectors = dict(zip(intact, stores.ledger.read(list(intact.values())), strict=True))
    yield from (indexer.point(chunk, vectors[chunk.digest]) for chunk in pending if chunk.digest in vectors)
    yield from (indexer.summary_point(chunk, vectors[chunk.digest]) for chunk in summaries if chunk.digest in vectors)
