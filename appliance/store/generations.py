"""The derived stores of one generation, opened together: its vector ledger and its index.

Both can be rebuilt. An index that is damaged or of another version is replaced by an empty one, and all chunks are
queued to be put again from the ledger, so nothing has to be embedded twice.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from appliance.errors import IndexUnavailable, NotFound, StoreCorrupt, StoreVersion, UsageError
from appliance.paths import Home, copy_folder, file_stats, make_private
from appliance.store import chunks, generation_states, summary_chunks, token_places
from appliance.store.backup.catalogue import restore_hint
from appliance.store.database import Database
from appliance.store.generation_states import Generation
from appliance.store.index import edge, preallocation, shard
from appliance.store.index.archive_index import ArchiveIndex
from appliance.store.index.away import AwayIndex
from appliance.store.index.nodes import ServerNodes
from appliance.store.index.protocol import VectorIndex
from appliance.store.ledger_header import HEADER_BYTES
from appliance.store.room import allocated_bytes, file_errors, megabytes, require_room
from appliance.store.sql import JSON_KEYS_SQL, json_keys
from appliance.store.token_vectors import TOKENS_SUFFIX, TokenLedger
from appliance.store.vectors import LedgerDtype, VectorLedger
from appliance.timestamps import iso_from_microseconds

_FIRST_PAGE_CELLS = slice(103, 105)
"""Where a database has the number of its first page's cells, which describe its tables."""

_GENERATION = re.compile(r"g(\d+)(?:\.ledger|\.tokens|\.archive)?(?:\.new)?")


@dataclass(frozen=True, slots=True)
class DerivedStores:
    """The ledgers, the index and the archive index of one generation. ``tokens`` is None if it has no token vectors;
    ``note`` says why the index is being rebuilt, if it is."""

    generation: Generation
    ledger: VectorLedger
    index: VectorIndex
    archive: ArchiveIndex
    tokens: TokenLedger | None = None
    note: str = ""
    folder: Path | None = None
    temporary: Path | None = None
    """The folder of a copy that goes when the stores are closed."""

    def make_private(self) -> None:
        """Make the files of the index private. Qdrant creates them with the umask of the process, which belongs to the
        host program; until then the permissions of the home folder protect them."""
        if self.folder is not None:
            make_private(self.folder)

    def close(self) -> None:
        self.index.close()
        self.ledger.close()
        if self.tokens is not None:
            self.tokens.close()
        self.make_private()
        if self.temporary is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)


def ledger_path(home: Home, generation: int) -> Path:
    return home.vectors / f"g{generation}.ledger"


def tokens_path(home: Home, generation: int) -> Path:
    return home.vectors / f"g{generation}{TOKENS_SUFFIX}"


def index_path(home: Home, generation: int) -> Path:
    return home.index / f"g{generation}"


def archive_path(home: Home, generation: int) -> Path:
    return home.index / f"g{generation}.archive"


def require_database(home: Home) -> None:
    """Check that a home whose files hold vectors, or a database's log, has the database that they belong to: a new one
    in its place would have them removed.

    Raises:
        StoreCorrupt: The database is missing or empty.
    """
    path = home.database
    log = path.with_name(f"{path.name}-wal")
    has_log = log.is_file() and log.stat().st_size > 0
    exists = path.is_file() and path.stat().st_size > 0
    # A process that was killed early leaves one page, and everything else in the log.
    if exists and (has_log or _has_tables(path)):
        return
    ledgers = [ledger for ledger in home.vectors.glob("g*.ledger") if ledger.stat().st_size > HEADER_BYTES]
    if remains := [*ledgers, *([log] if has_log else [])]:
        raise StoreCorrupt(
            f"The database is {'empty' if path.exists() else 'missing'}, but {remains[0].name} belongs to it.",
            where=str(path),
            hint=f"Put recall.db back, or {restore_hint(home)}. Begin a new memory in another folder (--home).",
        )


def _has_tables(path: Path) -> bool:
    """Whether the first page of a database describes any tables; also if it is no database at all."""
    with path.open("rb") as file:
        head = file.read(_FIRST_PAGE_CELLS.stop)
    return any(head[_FIRST_PAGE_CELLS]) or not head.startswith(b"SQLite format 3")


def open_stores(
    home: Home,
    database: Database,
    generation: Generation,
    *,
    server: ServerNodes | None = None,
    ledger_dtype: LedgerDtype = "float16",
    search_threads: int = 0,
) -> DerivedStores:
    """Open the ledger and the index of a generation; the index on a Qdrant server if one is given. ``ledger_dtype``
    counts for a ledger that does not exist yet; an embedded index searches on ``search_threads``, 0 for one a
    processor.

    Raises:
        StoreCorrupt: The ledger is damaged. A damaged embedded index is rebuilt instead.
        IndexUnavailable: The server is away, or refuses this memory.
        DiskFull, OutOfMemory: There is too little room or memory to open them; nothing is damaged.
    """
    if database.is_read_only and server is None:
        return _open_read_only(home, database, generation)
    ledger = _open_ledger(home, database.read(), generation, dtype=ledger_dtype, read_only=database.is_read_only)
    try:
        folder = None
        if server is not None:
            index, note, is_incomplete = _open_remote(server, database, generation)
        else:
            folder = index_path(home, generation.id)
            index, note = _open_edge(folder, database, generation, search_threads)
            is_incomplete = index.is_fresh
        if is_incomplete:
            with database.write() as tx:
                chunks.requeue_all(tx, generation.id)
    except BaseException:
        ledger.close()
        raise
    archive = ArchiveIndex(archive_path(home, generation.id), generation.dimension, ledger.read)
    tokens = _open_tokens(home, database, generation)
    derived = DerivedStores(generation, ledger, index, archive, tokens, note, folder)
    derived.make_private()
    return derived


def _open_read_only(home: Home, database: Database, generation: Generation) -> DerivedStores:
    """The stores of a home where nothing can be written. The engine of the index writes even to search: it gets a copy,
    which has ids and vectors but no text, and goes when it is closed.

    Raises:
        StoreCorrupt: The ledger or the index is damaged, or there is no room for the copy.
    """
    ledger = _open_ledger(home, database.read(), generation, read_only=True)
    copy = tempfile.mkdtemp(prefix="appliance-index-")
    folder = Path(copy) / "index"
    try:
        try:
            copy_folder(index_path(home, generation.id), folder)
        except OSError as error:
            raise StoreCorrupt(f"The index can't be copied ({error.strerror}).", where=copy) from error
        index = edge.open_edge(folder, generation.dimension)
        if index.is_fresh or _missing_points(index, database, generation):
            index.close()
            raise StoreCorrupt("Points of the index are missing, and the memory is read-only.", where=str(home.index))
    except BaseException:
        ledger.close()
        shutil.rmtree(copy, ignore_errors=True)
        raise
    archive = ArchiveIndex(archive_path(home, generation.id), generation.dimension, ledger.read)
    tokens = _open_tokens(home, database, generation)
    return DerivedStores(generation, ledger, index, archive, tokens, temporary=Path(copy))


def _open_ledger(
    home: Home,
    db: sqlite3.Connection,
    generation: Generation,
    *,
    dtype: LedgerDtype = "float16",
    read_only: bool = False,
) -> VectorLedger:
    rows, path = chunks.count_ledger_rows(db, generation.id), ledger_path(home, generation.id)
    with file_errors(path, "opened"):
        return VectorLedger(path, generation.identity, generation.dimension, rows, dtype=dtype, read_only=read_only)


def _open_tokens(home: Home, database: Database, generation: Generation) -> TokenLedger | None:
    """The token ledger of a generation; None if it has none. One that is missing or damaged, as after a restore, is
    replaced by an empty one, which the background fills."""
    path, state = tokens_path(home, generation.id), token_places.state(database.read(), generation.id)
    if state is None:
        return None
    try:
        with file_errors(path, "opened"):
            return TokenLedger(path, *state, read_only=database.is_read_only)
    except (StoreCorrupt, StoreVersion):
        if database.is_read_only:
            return None
    begin_tokens(home, database, generation, state.identity, state.dimension)
    return TokenLedger(path, state.identity, state.dimension, 0)


def begin_tokens(home: Home, database: Database, generation: Generation, identity: str, dimension: int) -> None:
    """Begin an empty token ledger for a generation, in place of the one that it may have, which must be closed."""
    with database.write() as tx:
        token_places.begin(tx, generation.id, identity, dimension)
    tokens_path(home, generation.id).unlink(missing_ok=True)


def remove_tokens(home: Home, database: Database, generation: Generation) -> None:
    """Remove the token ledger of a generation, which must be closed."""
    with database.write() as tx:
        token_places.remove(tx, generation.id)
    tokens_path(home, generation.id).unlink(missing_ok=True)


def _open_edge(folder: Path, database: Database, generation: Generation, threads: int) -> tuple[VectorIndex, str]:
    """The index in ``folder``, or an empty one in its place if it is damaged or points are missing; and why."""
    dimension = generation.dimension
    try:
        index = edge.open_edge(folder, dimension, threads=threads)
        if index.is_fresh or not (missing := _missing_points(index, database, generation)):
            return index, ""
        reason = f"{missing} of {index.opened_with + missing} points are missing"
        index.close()
    except (StoreCorrupt, StoreVersion) as error:
        reason = str(error)
    shard.discard(folder)
    opened = edge.open_edge(folder, dimension, threads=threads)
    return opened, f"the index is being rebuilt from the vectors ({reason.rstrip('.')})"


def _missing_points(index: edge.EdgeIndex, database: Database, generation: Generation) -> int:
    """How many points an index lacks."""
    db = database.read()
    with contextlib.suppress(StoreCorrupt):
        # There are no more chunks than this, and to count a million of them takes a tenth of a second.
        if index.opened_with >= chunks.count_up_to_last(db) + summary_chunks.count_up_to_last(db):
            return 0
    return max(0, _expected_points(database, generation) - index.opened_with)


def _expected_points(database: Database, generation: Generation) -> int:
    """The least number of points of the index: one for each chunk, of messages and summaries, not in the outbox and not
    archived; 0 if the database is too damaged to count them."""
    db = database.read()
    with contextlib.suppress(StoreCorrupt):
        total_points = chunks.count(db, generation.id) + summary_chunks.count(db, generation.id)
        total_points -= chunks.count_archived(db, generation.id)
        return total_points - chunks.count_pending(db, generation.id) - summary_chunks.count_pending(db, generation.id)
    return 0


def _open_remote(server: ServerNodes, database: Database, generation: Generation) -> tuple[VectorIndex, str, bool]:
    """The index on a server, why it is being filled, and whether all its points have to be put again."""
    from appliance.store import server_collections

    index, expected = server_collections.open_collection(database, server, generation), 0
    if not index.is_fresh and not database.is_read_only:
        expected = _expected_points(database, generation)
    # What it was opened with is an estimate, which costs nothing; counting costs the server a pass over all ids.
    if index.opened_with >= expected or (present := index.count()) >= expected:
        return index, "", index.is_fresh
    return index, f"{expected - present} of {expected} points are missing on the server, and are added again", True


def open_without_index(
    home: Home, database: Database, generation: Generation, reason: IndexUnavailable, *, read_only: bool = True
) -> DerivedStores:
    """The ledgers and the archive index of a generation whose server is away, for what needs no index."""
    ledger = _open_ledger(home, database.read(), generation, read_only=read_only)
    archive = ArchiveIndex(archive_path(home, generation.id), generation.dimension, ledger.read)
    return DerivedStores(generation, ledger, AwayIndex(reason), archive)


def token_vectors(db: sqlite3.Connection, derived: DerivedStores, keys: Collection[int]) -> dict[int, NDArray[np.int8]]:
    """Return the token vectors of messages, (tokens, token dimension) each; without messages that have none."""
    if derived.tokens is None:
        return {}
    places = token_places.of_messages(db, derived.generation.id, keys)
    return {key: derived.tokens.read(places[key]) for key in places}


def message_vectors(db: sqlite3.Connection, derived: DerivedStores, keys: Sequence[int]) -> NDArray[np.float32] | None:
    """Return unit vectors of messages, shape (len(keys), dimension): of a message in several chunks their mean. Returns
    None if any message has no vector."""
    rows: dict[int, list[int]] = {}
    for message, row in db.execute(
        "SELECT c.message_id, e.row FROM chunk c"
        " JOIN embedding e ON e.generation = c.generation AND e.digest = c.digest"
        f" WHERE c.generation = ? AND c.message_id IN {JSON_KEYS_SQL}",
        (derived.generation.id, json_keys(keys)),
    ).fetchall():
        rows.setdefault(message, []).append(row)
    if len(rows) < len(set(keys)):
        return None
    row_groups = [rows[key] for key in keys]
    vectors = derived.ledger.read([row for group in row_groups for row in group])
    starts = np.cumsum([0, *(len(group) for group in row_groups[:-1])])
    sums: NDArray[np.float32] = np.add.reduceat(vectors, starts, axis=0)
    sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    return sums


def remove_files(home: Home, generation: int) -> None:
    """Delete the files of a generation, which must be closed."""
    remove_index(home, generation)
    for path in (archive_path(home, generation), ledger_path(home, generation), tokens_path(home, generation)):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def discard(home: Home, database: Database, generation: Generation) -> None:
    """Give up a generation that does not serve, and is closed. ``generation_states.purge`` deletes its rows."""
    with database.write() as tx:
        generation_states.discard(tx, generation.id)
    remove_files(home, generation.id)


def disk_bytes(home: Home, generation: int) -> int:
    """Return how much room the files of a generation take on the disk."""
    files = [ledger_path(home, generation), tokens_path(home, generation), archive_path(home, generation)]
    stats = [*(path.stat() for path in files if path.exists()), *file_stats(index_path(home, generation))]
    return sum(map(allocated_bytes, stats))


def find_kept(home: Home, database: Database, number: int | None = None, *, building: bool = False) -> Generation:
    """Return a generation that is kept, by default the one that served last; with ``building`` also one whose building
    was interrupted.

    Raises:
        UsageError: None is kept, or this one serves.
        NotFound: There is none of this number.
    """
    db = database.read()
    found = [*generation_states.kept(db)]
    if building and (unfinished := generation_states.building(db)) is not None:
        found.append(unfinished)
    if number is None and found:
        return found[0]
    for one in found:
        if one.id == number:
            return one
    hint = f"Kept: {describe(home, db, found)}." if found else KEEPING_HINT
    if number is None:
        raise UsageError("There is no earlier generation to go back to.", hint=hint)
    if (active := generation_states.active(db)) is not None and active.id == number:
        raise UsageError(f"Generation {number} ({active.model}) is the one that serves.", hint=hint)
    if (unfinished := generation_states.building(db)) is not None and unfinished.id == number:
        raise UsageError(
            f"Generation {number} ({unfinished.model}) is not complete.",
            hint=f"'appliance reindex --model {unfinished.model}' completes it. {hint}",
        )
    raise NotFound(f"There is no generation {number}.", hint=hint)


KEEPING_HINT = "One is kept by 'appliance reindex --model', until 'appliance reindex --drop-old'."


def describe(home: Home, db: sqlite3.Connection, found: Sequence[Generation]) -> str:
    """Generations in a line: "1 (bge, 384 dimensions, 1,200 messages, 4.1 MB, complete until 2026-05-03); 2 (…)"."""
    messages = chunks.message_counts(db)
    lines = []
    for one in found:
        until = "" if one.complete_at is None else f", complete until {iso_from_microseconds(one.complete_at)[:10]}"
        size = megabytes(disk_bytes(home, one.id))
        parts = f"{one.model}, {one.dimension:,} dimensions, {messages.get(one.id, 0):,} messages, {size}{until}"
        lines.append(f"{one.id} ({parts})")
    return "; ".join(lines)


def ledger_for_reading(home: Home, database: Database, generation: Generation) -> VectorLedger:
    """Open the ledger of any generation, only to be read.

    Raises:
        StoreCorrupt: It is damaged or missing.
    """
    return _open_ledger(home, database.read(), generation, read_only=True)


def erase_orphaned_vectors(home: Home, database: Database, generation: Generation) -> int:
    """Erase the vectors that the database no longer has from a generation's ledgers, which must be closed; returns
    their number."""
    db = database.read()
    if (tokens := _open_tokens(home, database, generation)) is not None:
        try:
            tokens.erase([place for _, place in token_places.all_places(db, generation.id)])
        finally:
            tokens.close()
    if not ledger_path(home, generation.id).exists():
        return 0
    ledger = _open_ledger(home, db, generation)
    try:
        return ledger.erase(chunks.ledger_rows(db, generation.id))
    finally:
        ledger.close()


def remove_orphaned_files(home: Home, database: Database) -> None:
    """Delete what processes that were killed have left over: the files of generations that no longer exist, and files
    that were to replace others. Called while the stores are closed."""
    if database.is_read_only:
        return
    # List the files first: a new generation is in the database before it has files.
    paths = [*home.vectors.iterdir(), *home.index.iterdir()]
    known = {generation.id for generation in generation_states.stored(database.read())}
    for path in paths:
        match = _GENERATION.fullmatch(path.name)
        if match and int(match[1]) not in known:
            remove_files(home, int(match[1]))
        if match and path.name.endswith(".new"):
            path.unlink(missing_ok=True)


def remove_index_for_rebuild(home: Home, database: Database, generation: Generation) -> None:
    """Delete the embedded index of a generation, which must be closed, if the disk has room for a new one.

    Raises:
        DiskFull: There is too little room; the index stays.
    """
    folder = index_path(home, generation.id)
    if folder.exists():
        db = database.read()
        points = chunks.count(db, generation.id) + summary_chunks.count(db, generation.id)
        require_room(
            home.index, preallocation.rebuilding_bytes(folder, points, generation.dimension), "rebuild the index"
        )
    remove_index(home, generation.id)


def remove_points(home: Home, generation: int) -> None:
    """Delete the index and the archive index of a generation, which must be closed; they are rebuilt when it is next
    opened and filled."""
    remove_index(home, generation)
    archive_path(home, generation).unlink(missing_ok=True)


def remove_index(home: Home, generation: int) -> None:
    """Delete the index of a generation, which must be closed; it is rebuilt when it is next opened."""
    shard.discard(index_path(home, generation))
