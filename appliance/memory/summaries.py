"""The summaries of a memory: listed, searched, and made when they are due or requested."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from appliance import requests as r
from appliance.errors import StoreCorrupt, UsageError
from appliance.memory import notes, summary_planner
from appliance.memory.abstractive import LanguageModel
from appliance.memory.extractive import EXTRACTIVE, Embed
from appliance.memory.facts.contradictions import find_contradictions
from appliance.memory.summary_planner import PlanningStopped, SummarizerTools, SummaryPlan, Transcript
from appliance.runtime.workers import within
from appliance.secrets.masking import mask_texts
from appliance.store import facts, messages, people, people_figures, sessions, summaries, summary_chunks
from appliance.store.chunks import ChunkableMessage
from appliance.store.database import Database
from appliance.store.messages import MessageRow
from appliance.store.passages import ChunkSpan
from appliance.store.people_figures import CountedSessions
from appliance.store.sql import MAX_ROWS
from appliance.store.summaries import PendingSummaries, SummaryInsert
from appliance.timestamps import now
from appliance.types import LEVELS, Event, Filters, Level, OnProgress, Scope, SessionPart, Summary, SummaryHit

ShouldContinue = Callable[[], bool]

MAX_LEVELS_OF_SESSION = 10  # how many summaries of each recent session are looked at

MIN_OWN_MESSAGES = 3
"""A session in which a person wrote less asks one thing ("the capital of France"), and tells nothing of the person."""

NO_PERSON = 0
"""A key that no person has."""

MAX_ATTEMPTS = 3  # of a request to summarise a session that changes meanwhile


class TextSplitter(Protocol):
    """Splits texts into chunks that the embedding model reads whole."""

    def split(self, messages: Sequence[ChunkableMessage]) -> list[list[ChunkSpan]]: ...


@dataclass(frozen=True, slots=True)
class SummariesContext:
    """What summaries need of the engine.

    ``owner`` is the configured user, and ``name`` what others call them; ``message_interval`` and ``idle_seconds``
    are as in the settings. ``current_generation`` returns the serving generation and its splitter, within a
    transaction. ``index_pending`` embeds and indexes what is pending. ``embed`` returns vectors of sentences,
    ``message_vectors`` those of messages, or None where one of them has none. ``find`` searches."""

    database: Database
    owner: str
    name: str
    message_interval: int
    idle_seconds: float
    current_generation: Callable[[], tuple[int, TextSplitter]]
    index_pending: Callable[[ShouldContinue], object]
    embed: Embed
    message_vectors: Callable[[Sequence[int]], NDArray[np.float32] | None]
    writer: LanguageModel | None
    find: Callable[[str, Filters, int], list[SummaryHit]]
    publish: Callable[[Event], None]


class SummaryService:
    """The summaries of a memory. Thread-safe; one thread at a time makes summaries."""

    def __init__(self, context: SummariesContext) -> None:
        self._context = context
        self._make_lock = threading.Lock()
        # A session whose plan was stopped, and what was written for it: a model takes seconds for each summary.
        self._stopped: tuple[int, dict[tuple[Level, bytes], SummaryInsert]] = (0, {})

    def list(self, request: r.ListSummariesRequest) -> Sequence[Summary]:
        """See ``ListSummariesRequest``."""
        db = self._context.database.read()
        scope, session = self._resolve_scope(request.session_id, request.user_id, request.namespace)
        _check_level(request.level)
        rows = summaries.list_rows(
            db,
            scope,
            session=session,
            level=request.level,
            limit=-1 if request.limit is None else min(request.limit, MAX_ROWS),
        )
        return summaries.to_summaries(db, rows)

    def recent(self, scope: Scope, limit: int, *, of_person: bool = False) -> Sequence[Summary]:
        """Return the widest summary of each of the last active sessions that share theirs, at most ``limit``; with
        ``of_person``, of those in which the person whose memory it is said more than a few words."""
        db = self._context.database.read()
        among = None
        if of_person:
            written = people_figures.by_session(
                db, CountedSessions(scope), people.me(db, scope) or NO_PERSON, with_unsigned=True
            )
            among = [one.session for one in written if one.messages >= MIN_OWN_MESSAGES]
        rows = summaries.list_rows(db, scope, among=among, limit=limit * MAX_LEVELS_OF_SESSION)
        visible = summaries.filter_visible(db, [row.id for row in rows], Filters(scope))
        widest = {row.session_id: row for row in reversed(rows) if row.id in visible and row.level != "procedure"}
        return summaries.to_summaries(db, list(reversed(widest.values()))[:limit])

    def get(self, request: r.SummaryRequest) -> Summary:
        """See ``SummaryRequest``."""
        db = self._context.database.read()
        row = summaries.find(db, request.id)
        sessions.require(db, row.session_id)
        (found,) = summaries.to_summaries(db, [row])
        return found

    def search(self, request: r.SearchSummariesRequest) -> Sequence[SummaryHit]:
        """See ``SearchSummariesRequest``."""
        if request.limit < 1:
            raise UsageError(f"The limit must be at least 1, not {request.limit}.")
        _check_level(request.level)
        scope, session = self._resolve_scope(request.session_id, request.user_id, request.namespace)
        db, parts = self._context.database.read(), () if session is None else (SessionPart(session),)
        exempt_parts = sessions.parts_withholding(db, parts) if parts else ()
        levels = (request.level,) if request.level else LEVELS
        filters = Filters(replace(scope, agent_id=request.agent_id), session, levels=levels, exempt_parts=exempt_parts)
        return self._context.find(request.query, filters, request.limit)

    def pending(self, request: r.PendingSummariesRequest) -> int:
        """See ``PendingSummariesRequest``."""
        context = self._context
        return summaries.count_due(context.database.read(), context.message_interval, context.idle_seconds)

    def lag(self) -> float:
        """Return the seconds since the last message of the session that has waited longest for summaries; 0 when
        none waits, or a damaged page hides since when."""
        context = self._context
        since = None
        with suppress(StoreCorrupt):
            since = summaries.waiting_since(context.database.read(), context.message_interval, context.idle_seconds)
        return 0.0 if since is None else max(0.0, (now() - since) / 1e6)

    def state(self, request: r.SummaryStateRequest) -> Mapping[str, int | str | None]:
        """See ``SummaryStateRequest``."""
        writer = self._context.writer
        fallback = summaries.last_fallback(self._context.database.read()) if writer else None
        return {
            "due": self.pending(r.PendingSummariesRequest()),
            "model": writer.name if writer else None,
            "fallback": fallback,
        }

    def make(self, request: r.MakeSummariesRequest, on_progress: OnProgress) -> Sequence[Summary]:
        """See ``MakeSummariesRequest``."""
        db = self._context.database.read()
        key = sessions.key(sessions.find(db, request.session_id, owner=self._context.owner))
        for _ in range(MAX_ATTEMPTS):
            if self._refresh(key, rewrite=True, should_continue=lambda: True):
                break
        self._index_pending(lambda: True, summary_chunks.is_any_pending)
        return summaries.to_summaries(db, summaries.of_session(db, key))

    def run_pending(self, request: r.RunSummariesRequest, on_progress: OnProgress) -> int:
        """See ``RunSummariesRequest``."""
        done, should_continue = 0, within(request.max_seconds)
        while self.summarize_next_due(lambda: True):
            done += 1
            if not should_continue():
                break
        return done

    def summarize_next_due(self, should_continue: ShouldContinue) -> int:
        """Summarise the next session that is due, the last active first. Returns 1, or 0 when none is due.

        The vectors of its messages are computed first, those of the summaries by a later call."""
        context = self._context
        db = context.database.read()
        due = summaries.due_sessions(db, context.message_interval, context.idle_seconds, 1)
        if not due:
            self._index_pending(should_continue, summary_chunks.is_any_pending)
            return 0
        self._index_pending(should_continue, summary_chunks.is_any_message_chunk_pending)
        try:
            self._refresh(due[0], rewrite=False, should_continue=should_continue)
        except PlanningStopped:
            return 0
        return 1

    def _index_pending(self, should_continue: ShouldContinue, is_pending: Callable[[sqlite3.Connection], bool]) -> None:
        if is_pending(self._context.database.read()):
            self._context.index_pending(should_continue)

    def _refresh(self, key: int, *, rewrite: bool, should_continue: ShouldContinue) -> bool:
        """Bring a session's summaries up to date; False where the session changed meanwhile and nothing was written."""
        context = self._context
        with self._make_lock:
            db = context.database.read()
            # In this order, a message that arrives in between is summarised and still counts as pending.
            pending_changes = summaries.pending_changes(db, key)
            rows, tool_records = messages.conversation_and_tools(db, key)
            rows = _without_secrets(rows)
            existing = summaries.of_session(db, key)
            stopped, unstored = self._stopped
            self._stopped = (key, unstored if stopped == key else {})
            tools = SummarizerTools(
                context.embed, self._message_vectors, context.writer, rewrite, should_continue, self._stopped[1]
            )
            transcript = summary_planner.build_transcript(rows, tool_records)
            plan = summary_planner.plan(transcript, existing, tools)
            summary_planner.add_procedures(transcript, existing, partial(_texts_without_secrets, db), plan)
            plan.new = _flag_contradictions(db, key, context.name, transcript, plan.new)
            written = self._store_plan(key, pending_changes, plan)
            if written:
                self._stopped = (0, {})
        if written and plan.new:
            context.publish(Event("summarised", sessions.public_id(key), _event_detail(plan)))
        return written

    def _store_plan(self, key: int, pending_changes: PendingSummaries, plan: SummaryPlan) -> bool:
        if plan.new:
            self._context.current_generation()  # loads the model before the transaction, which blocks other writers
        with self._context.database.write() as tx:
            if not sessions.exists(tx, key):
                return True
            if summaries.pending_changes(tx, key).edits != pending_changes.edits:
                return False
            summaries.delete(tx, plan.obsolete)
            if plan.new:
                texts = [
                    ChunkableMessage(number, None, new.text, False, new.last.order_at)
                    for number, new in zip(summaries.insert(tx, key, plan.new), plan.new, strict=True)
                ]
                generation, splitter = self._context.current_generation()
                summary_chunks.insert(tx, generation, [*zip(texts, splitter.split(texts), strict=True)])
            summaries.mark_covered(tx, key, pending_changes)
        return True

    def _message_vectors(self, rows: Sequence[MessageRow]) -> NDArray[np.float32]:
        found = self._context.message_vectors([row.id for row in rows])
        # Stored and computed vectors can't be compared: where one is missing, all are computed.
        return self._context.embed([row.text for row in rows]) if found is None else found

    def _resolve_scope(self, session_id: str | None, user_id: str | None, namespace: str) -> tuple[Scope, int | None]:
        if session_id is None:
            return Scope(self._context.owner if user_id is None else user_id, namespace), None
        db = self._context.database.read()
        info = sessions.find(db, session_id, user_id, owner=self._context.owner)
        return Scope(info.user_id, info.namespace), sessions.key(info)


def _without_secrets(rows: Sequence[MessageRow]) -> list[MessageRow]:
    texts = mask_texts([row.text for row in rows])
    return [row if text == row.text else replace(row, text=text) for row, text in zip(rows, texts, strict=True)]


def _texts_without_secrets(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, str]:
    texts = messages.texts(db, keys)
    return dict(zip(texts, mask_texts([*texts.values()]), strict=True))


def _flag_contradictions(
    db: sqlite3.Connection, session: int, name: str, transcript: Transcript, new: Sequence[SummaryInsert]
) -> list[SummaryInsert]:
    """Flag the summaries by a model that contradict a held fact of the session's user."""
    info = next(iter(sessions.infos(db, [session])), None)
    if info is None or all(summary.made_by == EXTRACTIVE for summary in new):
        return list(new)
    held = {row.slot: row.fact for row in facts.query(db, Scope(info.user_id, info.namespace), states=("held",))}
    names = {known for known in (name, info.user_id) if known}
    if any(message.role == "assistant" for message in transcript.messages):
        names |= {message.author for message in transcript.messages if message.role == "user" and message.author}
    flagged = []
    for summary in new:
        lines = [note.text for note in notes.parse(summary.text)] if summary.made_by != EXTRACTIVE else []
        found = [asdict(one) for one in find_contradictions(lines, held, names)]
        metadata = {**summary.metadata, "contradicts": found} if found else summary.metadata
        flagged.append(replace(summary, metadata=metadata))
    return flagged


def _check_level(level: str | None) -> None:
    if level is not None and level not in LEVELS:
        raise UsageError(f"There is no level {level!r}.", hint=f"Use one of {', '.join(LEVELS)}.")


def _event_detail(plan: SummaryPlan) -> dict[str, int | str]:
    counts: dict[str, int | str] = dict(Counter(new.level for new in plan.new))
    writers = dict.fromkeys(new.made_by for new in plan.new if new.made_by != EXTRACTIVE)
    detail = {**counts, "made_by": ", ".join(writers) or EXTRACTIVE}
    return detail if plan.fallback_reason is None else {**detail, "fallback": plan.fallback_reason}
