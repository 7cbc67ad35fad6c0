"""Working memory: what an assistant has before it of the present conversation.

A window is the running summary of the compacted turns and the latest turns as they were said, within a token budget.
Compaction follows from the turns alone (``compaction``), so that every request gets the same window, in any process.
It runs in the background after each turn. A request that comes earlier waits for it, but never for a model."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from appliance.errors import UsageError
from appliance.lazy_dataclasses import dataclass
from appliance.memory import compaction
from appliance.memory import window as windows
from appliance.memory.compaction import (
    RunningSummary,
    RunningSummaryState,
    RunningSummaryWriter,
    SummarySentence,
    WindowPolicy,
)
from appliance.memory.extractive import Embed
from appliance.memory.window import WindowTokenCounter
from appliance.store import messages, sessions
from appliance.store import running_summaries as store
from appliance.store.database import Database
from appliance.store.messages import MessageRow
from appliance.store.sql import to_json
from appliance.types import Event, Message, Quote, Window

MAX_CACHED_TOKEN_COUNTS = 20_000  # messages whose token counts are cached
MAX_COMPACTIONS_PER_RUN = 20  # of a session in the background, some tenths of a second
MAX_ATTEMPTS = 5  # when a message changes during compaction; after that the next run tries again


@dataclass(frozen=True, slots=True)
class WindowBuilder:
    """How windows are made. ``default_policy`` is the policy of a session without options of its own; ``counter``
    returns the token counter of an encoding or a model."""

    default_policy: WindowPolicy
    counter: Callable[[str], WindowTokenCounter]
    embed: Embed

    def policy_for(self, options: Mapping[str, object], where: str) -> WindowPolicy:
        """Return a session's policy: the default one with the session's options.

        Raises:
            UsageError: An option is unknown or invalid.
        """
        return compaction.resolve_policy(self.default_policy, options.get("working", {}), where)

    def window_of_messages(self, id: str, conversation: Sequence[Message], options: Mapping[str, object]) -> Window:
        """Return the window of a conversation that is not stored."""
        policy = self.policy_for(options, f"session {id}")
        return windows.window_of_messages(id, conversation, policy, self.counter(policy.encoding), self.embed)


@dataclass(frozen=True, slots=True)
class WorkingMemoryContext:
    """What ``WorkingMemory`` needs of the engine. ``publish`` receives an event for each compaction; ``writer``
    writes running summaries in the background."""

    database: Database
    window_builder: WindowBuilder
    publish: Callable[[Event], None]
    writer: RunningSummaryWriter | None = None


@dataclass(frozen=True, slots=True)
class _StoredSession:
    """A session as it was read: its stored running summary, the rows that this quotes, and the rows after it."""

    entry: store.StoredRunningSummary | None
    quoted_rows: list[MessageRow]
    rows: list[MessageRow]
    state: RunningSummaryState


class WorkingMemory:
    """The windows of a memory's sessions. Thread-safe."""

    def __init__(self, context: WorkingMemoryContext) -> None:
        self._context = context
        self.window_builder = context.window_builder
        self._lock = threading.Lock()
        self._pending: OrderedDict[int, None] = OrderedDict()
        self._token_counts: OrderedDict[tuple[str, int, int], int] = OrderedDict()

    def window(self, session: int) -> Window:
        """Return the window of a session, by its key. Compactions that are due run first.

        Raises:
            UsageError: An option of the session is invalid.
        """
        policy, db, id = self._policy(session), self._context.database.read(), sessions.public_id(session)
        counter = self.window_builder.counter(policy.encoding)
        if policy.strategy == "buffer_window":
            rows = messages.of_session(db, session, last=policy.turns, conversational_only=True)
            earlier = store.count_conversational(db, session) - len(rows)
            return windows.latest_turns_window(id, [messages.to_message(row) for row in rows], earlier, counter)
        state, _ = self._compact_due(session, policy, counter, None, None)
        return windows.build_window(id, state, policy, counter)

    def mark_changed(self, session: int) -> None:
        """Note that a session has a new message, for ``run_pending_compactions``."""
        with self._lock:
            self._pending[session] = None

    def run_pending_compactions(self, should_continue: Callable[[], bool] = lambda: True) -> int:
        """Run the compactions that are due in changed sessions, as a background job. Returns their number."""
        done = 0
        while should_continue():
            with self._lock:
                if not self._pending:
                    break
                session, _ = self._pending.popitem(last=False)
            try:
                policy = self._policy(session)
            except UsageError:
                continue  # a request for the window gets this error
            if policy.strategy == "summary_buffer":
                counter, writer = self.window_builder.counter(policy.encoding), self._context.writer
                _, compactions = self._compact_due(session, policy, counter, writer, MAX_COMPACTIONS_PER_RUN)
                done += compactions
                if compactions == MAX_COMPACTIONS_PER_RUN:
                    self.mark_changed(session)
        return done

    def _compact_due(
        self,
        session: int,
        policy: WindowPolicy,
        counter: WindowTokenCounter,
        writer: RunningSummaryWriter | None,
        max_compactions: int | None,
    ) -> tuple[RunningSummaryState, int]:
        """Run the compactions that are due and store the result; returns the state after them, and their number."""
        for _ in range(MAX_ATTEMPTS):
            stored = self._load(session, policy)
            sizes = [self._turn_tokens(row, counter) for row in stored.rows]
            state, compactions = compaction.compact_due(
                stored.state, sizes, policy, counter.count, self.window_builder.embed, writer, max_compactions
            )
            if not compactions or state.running is None:
                return state, 0
            folded_rows = stored.rows[: len(stored.rows) - len(state.turns)]
            entry = _to_stored(state.running, policy)
            since = stored.entry.until if stored.entry and stored.state.running else None
            with self._context.database.write() as tx:
                saved = store.put(tx, session, entry, stored.entry, stored.quoted_rows, since, folded_rows)
            if saved:
                self._publish_compaction(session, state.running, len(folded_rows), compactions)
                return state, compactions
        return state, 0

    def _load(self, session: int, policy: WindowPolicy) -> _StoredSession:
        """A session as it is stored. A running summary made under another policy does not count; it stays until a
        new one replaces it."""
        db = self._context.database.read()
        entry = store.get(db, session)
        if entry is not None and entry.policy == _encode_policy(policy):
            quoted = messages.get(db, {key for key, *_ in entry.sentences})
            rows = store.unfolded(db, session, entry.until)
            if rows is not None and all(key in quoted for key, *_ in entry.sentences):
                sources = {messages.message_id(row.id): messages.to_message(row) for row in quoted.values()}
                turns = [messages.to_message(row) for row in rows]
                state = RunningSummaryState(_to_running_summary(entry, quoted), sources, turns)
                return _StoredSession(entry, [*quoted.values()], rows, state)
        rows = messages.of_session(db, session, conversational_only=True)
        state = RunningSummaryState(None, {}, [messages.to_message(row) for row in rows])
        return _StoredSession(entry, [], rows, state)

    def _policy(self, session: int) -> WindowPolicy:
        options = sessions.options(self._context.database.read(), session)
        return self.window_builder.policy_for(options, f"session {sessions.public_id(session)}")

    def _turn_tokens(self, row: MessageRow, counter: WindowTokenCounter) -> int:
        key = (counter.name, row.id, row.revision)
        with self._lock:
            size = self._token_counts.get(key)
        if size is None:
            size = windows.turn_tokens(messages.to_message(row), counter.count)
            with self._lock:
                self._token_counts[key] = size
                while len(self._token_counts) > MAX_CACHED_TOKEN_COUNTS:
                    self._token_counts.popitem(last=False)
        return size

    def _publish_compaction(self, session: int, running: RunningSummary, compacted: int, compactions: int) -> None:
        counts = {"what": "working", "compacted": compacted, "all": running.compacted, "compactions": compactions}
        detail = counts | {"sentences": len(running.sentences), "made_by": running.made_by}
        self._context.publish(Event("summarised", sessions.public_id(session), detail))


def _to_running_summary(entry: store.StoredRunningSummary, rows: dict[int, MessageRow]) -> RunningSummary:
    sentences = tuple(
        SummarySentence(Quote(messages.message_id(key), start, end, rows[key].text[start:end]), number)
        for key, start, end, number in entry.sentences
    )
    return RunningSummary(messages.message_id(entry.until), entry.compacted, entry.text, sentences, entry.made_by)


def _to_stored(running: RunningSummary, policy: WindowPolicy) -> store.StoredRunningSummary:
    sentences = tuple(
        (_require_message_key(sentence.quote.message_id), sentence.quote.start, sentence.quote.end, sentence.number)
        for sentence in running.sentences
    )
    until, stamp = _require_message_key(running.until), _encode_policy(policy)
    return store.StoredRunningSummary(until, running.compacted, running.text, sentences, running.made_by, stamp)


def _require_message_key(id: str) -> int:
    key = messages.message_key(id)
    assert key is not None
    return key


def _encode_policy(policy: WindowPolicy) -> str:
    return to_json(asdict(policy))
