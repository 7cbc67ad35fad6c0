"""The archive of an open home: what a person asks of it, and its background jobs.

``ArchiveService.run`` and the job ``archive_due`` take the same steps: choose messages by the policy, move a few in one
transaction, yield to queries, go on. ``restore_used`` brings back what was recalled, opened or pinned since.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from appliance import requests as r
from appliance.engine.index_service import IndexService
from appliance.errors import NotFound, StoreError, UsageError
from appliance.formats import formats
from appliance.ingest import archiver, indexer
from appliance.ingest.archiver import ArchivingContext
from appliance.paths import Home
from appliance.runtime.workers import ShouldContinue
from appliance.settings import ArchiveSettings
from appliance.store import archive, archive_policy, chunks, importance, lexical, messages, sessions
from appliance.store.archive_policy import ArchivePolicy
from appliance.store.database import Database
from appliance.store.messages import message_id
from appliance.store.sql import MAX_ROWS, PAGE_ROWS, fetch_int, pages
from appliance.timestamps import now
from appliance.types import (
    LOCAL,
    ArchivedMessage,
    ArchiveReport,
    ArchiveStatus,
    Event,
    Message,
    OnProgress,
    Progress,
    RetentionRule,
    Scope,
)

STEP_MESSAGES = 200
"""Messages that the background archives in one transaction, which takes about 0.1 s."""

RUN_STEP_MESSAGES = 2_000
"""The same for a run that a caller waits for: fewer segments of the archive index have to be merged."""

LOOK_INTERVAL_SECONDS = 3600.0
"""How often the background looks for messages that may be archived: they become old by the day."""

SETTLED_DAYS = 7
"""How long the background leaves a new message alone: a person who imports ten years reads in them this week."""

SOON_DAYS = 7
"""How many days before messages are archived the person is told."""

MIN_BATCH = 100
"""The background waits until so many messages may be archived: each step is a segment of the archive index."""

REMADE_SHARE = 0.25
"""A run that archives more than this share of the chunks has the index made anew from the vectors that stay: the engine
keeps the files of its segments at their size, however few points are left in them."""

COMPACT_FREE_SHARE = 0.2
"""A run compacts the database if more than this share of its pages is free."""


class ArchiveService:
    """Archives messages and brings them back. Thread-safe."""

    def __init__(
        self,
        home: Home,
        database: Database,
        index_service: IndexService,
        settings: ArchiveSettings,
        owner: str,
        write_counts: Callable[[], object],
        publish: Callable[[Event], None],
    ) -> None:
        """
        Args:
            home: The home.
            database: Its database.
            index_service: Its ledger and indexes.
            settings: The policy.
            owner: The user of requests that name none.
            write_counts: Writes the collected use counts: what was just recalled is not archived.
            publish: Gets an event for each run and each restoration.
        """
        self._home = home
        self._database = database
        self._index_service = index_service
        self._settings = settings
        self._owner = owner
        self._write_counts = write_counts
        self._publish = publish
        self._looked_at = float("-inf")
        self._completed: object = None
        """The archive index that has been completed."""
        self._purged: tuple[int, int] | None = None
        """The archived messages and the rows of the archive index when it was last looked at for superfluous rows."""

    # --- requests -------------------------------------------------------------------------------------

    def run(self, request: r.RunArchiveRequest, on_progress: OnProgress) -> ArchiveReport:
        """See ``RunArchiveRequest``."""
        policy = self._policy(request.days, request.importance)
        self._write_counts()
        at, db = now(), self._database.read()
        hot = fetch_int(db, "SELECT count(*) FROM message") - archive.count(db)
        bytes_before = self._bytes()
        if request.dry_run:
            found = archive_policy.candidates(db, policy, at)
            listed = tuple(ArchivedMessage(message_id(one.message), one.reason) for one in found)
            return ArchiveReport(hot, len(found), hot - len(found), bytes_before, bytes_before, listed)
        due = archive_policy.count_candidates(db, policy, at)
        done = 0
        if due:
            with self._index_service.serving.lease():  # open, as afterwards: a closed index takes less room
                bytes_before = self._bytes()
        for moved in self._steps(policy, at, RUN_STEP_MESSAGES):
            done += moved
            on_progress(Progress("archiving", done, max(0, due - done)))
        if done:
            self._clean_up(done)
            self._publish(Event("archived", "", {"messages": done}))
        return ArchiveReport(hot, done, hot - done, bytes_before, self._bytes())

    def status(self, request: r.ArchiveStatusRequest) -> ArchiveStatus:
        """See ``ArchiveStatusRequest``."""
        db, policy = self._database.read(), self._policy()
        size = archive.size(db)
        return ArchiveStatus(
            archived=size.messages,
            due=archive_policy.count_candidates(db, policy, now()),
            text_bytes=size.frame_bytes + size.dictionary_bytes,
            index_bytes=sum(path.stat().st_size for path in self._home.index.glob("g*.archive")),
            automatic=self._settings.automatic,
            days=policy.days,
            importance=policy.importance,
            rules=tuple(archive_policy.rules(db)),
        )

    def sessions_due_soon(self, scope: Scope) -> list[int]:
        """Return the sessions of a scope that the background begins to archive within ``SOON_DAYS``, the latest
        first."""
        db, settings = self._database.read(), self._settings
        if not settings.automatic or self._is_small(db):
            return []
        return archive_policy.sessions_due_within(db, self._policy(settled_days=SETTLED_DAYS), now(), SOON_DAYS, scope)

    def _is_small(self, db: sqlite3.Connection) -> bool:
        """Whether the background leaves the memory alone."""
        return messages.count(db) < self._settings.smallest

    def list(self, request: r.ListArchivedRequest) -> list[Message]:
        """See ``ListArchivedRequest``."""
        db = self._database.read()
        owner = self._owner if request.user_id is None else request.user_id
        keys = archive.latest(
            db, owner, request.namespace, *(min(one, MAX_ROWS) for one in (request.limit, request.offset))
        )
        rows = messages.get(db, keys)
        return [messages.to_message(rows[key]) for key in keys if key in rows]

    def restore(self, request: r.RestoreArchivedRequest) -> int:
        """See ``RestoreArchivedRequest``."""
        if not request.references and not request.everything:
            raise UsageError("Nothing is selected to restore.", hint="Name messages or sessions, or everything.")
        db = self._database.read()
        keys = list(self._all_archived()) if not request.references else self._resolve(request.references)
        # Counted as recalled: what a person brings back is not archived again tomorrow.
        done = sum(self._restore(page, counted=True) for page in pages(sorted(archive.archived(db, keys))))
        self._index_service.drain_if_possible()
        return done

    def set_retention(self, request: r.SetRetentionRequest) -> RetentionRule | None:
        """See ``SetRetentionRequest``."""
        if (request.session_id is None) == (request.source is None):
            raise UsageError("A rule is for one session or for one source.", hint="Name one of them.")
        if request.days is not None and request.days < 0:
            raise UsageError(f"The days must be at least 0, not {request.days}.")
        if request.source is not None and not request.remove:
            _check_format(self._database.read(), request.source)
        with self._database.write() as tx:
            session = None if request.session_id is None else sessions.key(sessions.find(tx, request.session_id))
            archive_policy.remove_rule(tx, session=session, source=request.source)
            if request.remove:
                return None
            archive_policy.set_rule(tx, request.days, session=session, source=request.source)
        public = None if session is None else sessions.public_id(session)
        return RetentionRule(request.days, public, request.source)

    # --- jobs -----------------------------------------------------------------------------------------

    def archive_due(self, should_continue: ShouldContinue) -> int:
        """Archive what is due, in small steps. Returns the number of messages."""
        if not self._settings.automatic or time.monotonic() - self._looked_at < LOOK_INTERVAL_SECONDS:
            return 0
        self._looked_at = time.monotonic()
        self._write_counts()
        policy, at = self._policy(settled_days=SETTLED_DAYS), now()
        if self._is_small(self._database.read()):
            return 0
        if archive_policy.count_candidates(self._database.read(), policy, at) < MIN_BATCH:
            return 0
        done = sum(self._steps(policy, at, STEP_MESSAGES, should_continue))
        if done:
            self._index_service.drain_while(should_continue)
            self._optimize_index(done)
            self._publish(Event("archived", "", {"messages": done}))
        return done

    def restore_used(self, should_continue: ShouldContinue) -> int:
        """Bring back archived messages that were recalled, opened or pinned. Returns their number."""
        done = 0
        while should_continue() and (keys := archive_policy.to_restore(self._database.read(), PAGE_ROWS)):
            restored = self._restore(keys)
            done += restored
            if not restored:  # their frames are damaged; ``verify`` names them
                break
        return done

    def maintain(self, should_continue: ShouldContinue) -> int:
        """Write frames and rows of the archive index anew that became outdated. Returns how many."""
        done = archive.rewrite_all_retired_frames(self._database, should_continue)
        if archive.is_empty(self._database.read()):
            return done
        with self._context() as context:
            if context is None:
                return done
            # A damaged index that a search discarded is empty.
            if self._completed is not context.index or not context.index.written_rows:
                done += archiver.complete_index(context)
                self._completed = context.index
            while should_continue() and (refreshed := archiver.refresh_index(context)):
                done += refreshed
            # This job runs after every change of the memory, and to count the chunks takes a second per million.
            rows = archive.count(self._database.read()), context.index.written_rows
            if rows != self._purged:
                archiver.purge_index(context)
                self._purged = rows
        return done

    # --- steps ----------------------------------------------------------------------------------------

    def _steps(
        self, policy: ArchivePolicy, at: int, size: int, should_continue: ShouldContinue = lambda: True
    ) -> Iterator[int]:
        """Archive what the policy allows at the time ``at``, and yield the number of messages of each step."""
        after, trained = 0, False
        while should_continue():
            found = archive_policy.candidates(self._database.read(), policy, at, after=after, limit=size)
            if not found:
                return
            if not trained:
                archiver.ensure_dictionary(self._database, policy, at)
                trained = True
            after = found[-1].message
            with self._context() as context:
                if context is None:
                    return
                moved = archiver.archive_messages(context, [one.message for one in found], policy, at)
            yield moved  # without the lease, for which an erasure and all searches behind it would wait

    @contextmanager
    def _context(self) -> Iterator[ArchivingContext | None]:
        with self._index_service.serving.lease() as stores:
            yield None if stores is None else ArchivingContext.of(self._database, stores)

    def _restore(self, keys: Sequence[int], *, counted: bool = False) -> int:
        with self._database.write() as tx:
            restored = archive.restore(tx, keys)
            if counted:
                importance.add_recalls(tx, dict.fromkeys(restored, (1, now())))
        if restored:
            self._publish(Event("restored", "", {"messages": len(restored)}))
        return len(restored)

    def _clean_up(self, done: int) -> None:
        """Give the room back that archived messages had in the index, the full text and the database."""
        with self._context() as context:
            if context is not None:
                context.index.merge_all()
        generation = self._index_service.serving.current()
        if generation is not None and done > chunks.count(self._database.read(), generation.id) * REMADE_SHARE:
            self._index_service.expunge(lambda put, pending: None)
            return
        self._index_service.drain_if_possible()
        with self._database.write() as tx:
            lexical.optimize(tx)
        free, total = (fetch_int(self._database.read(), f"PRAGMA {one}") for one in ("freelist_count", "page_count"))
        self._optimize_index(done)
        if free > COMPACT_FREE_SHARE * total:
            # A reader is active, or the disk has no room for a copy. The free pages are then used again.
            with suppress(StoreError), self._index_service.exclusive():
                self._database.compact()

    def _optimize_index(self, dropped: int) -> None:
        """Give the room of dropped points back. The final form of a small index takes more room than its points."""
        if dropped >= indexer.OPTIMIZE_AFTER_POINTS:
            with self._index_service.exclusive():
                if (stores := self._index_service.serving.open()) is not None:
                    stores.index.optimize()

    def _policy(self, days: int | None = None, below: float | None = None, settled_days: int = 0) -> ArchivePolicy:
        settings = self._settings
        days = settings.days if days is None else days
        below = settings.importance if below is None else below
        if days < 0:
            raise UsageError(f"The days must be at least 0, not {days}.")
        if not 0 <= below <= 1:
            raise UsageError(f"The importance must be from 0 to 1, not {below:g}.")
        return ArchivePolicy(days, below, settings.active_days, settings.latest, settled_days)

    def _resolve(self, references: Sequence[str]) -> Sequence[int]:
        db = self._database.read()
        keys = []
        for reference in references:
            try:
                session = sessions.key(sessions.find(db, reference))
            except NotFound:
                keys.append(messages.find(db, reference).id)
            else:
                keys += [key for (key,) in db.execute("SELECT id FROM message WHERE session_id = ?", (session,))]
        return keys

    def _all_archived(self) -> Iterator[int]:
        after = 0
        while keys := archive.keys_after(self._database.read(), after):
            yield from keys
            after = keys[-1]

    def _bytes(self) -> int:
        files = [*self._home.root.glob("recall.db*"), *self._home.index.rglob("*")]
        return sum(path.stat().st_blocks * 512 for path in files if path.is_file())


def _check_format(db: sqlite3.Connection, name: str) -> None:
    """
    Raises:
        UsageError: No message is of this format, and none will be.
    """
    stored = (format for (format,) in db.execute("SELECT DISTINCT format FROM session"))
    known = dict.fromkeys([*formats(), LOCAL, *stored])
    if name not in known:
        raise UsageError(f"There is no format {name!r}.", hint=f"Use one of {', '.join(known)}.")
