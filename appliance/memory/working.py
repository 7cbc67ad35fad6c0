"""Working memory: what an assistant has before it of the conversation that it is in.

A window is the running summary of what was folded and the latest turns as they were said, within a budget of tokens.
Where it folds follows from the turns alone (``folding``), so that a window is the same whenever it is asked for, and in
whichever process. Folding goes on in the background after each turn; who asks earlier waits for it, but never for a
model.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from appliance.errors import UsageError
from appliance.memory import folding
from appliance.memory import window as windows
from appliance.memory.folding import Habits, Kept, Running, State, Writer
from appliance.memory.summarise import Embed
from appliance.memory.window import Counter
from appliance.store import messages, sessions
from appliance.store import working as store
from appliance.store.database import Database
from appliance.store.messages import Row
from appliance.store.sql import to_json
from appliance.types import Event, Message, Quote, Window

SIZES_HELD = 20_000
"""Messages whose tokens are remembered."""

AT_ONCE = 20
"""Foldings of a session in the background, some tenths of a second, before it is asked whether to go on."""

TRIES = 5
"""How often folding begins anew because somebody changes a message meanwhile, before it is left to the next time."""


@dataclass(frozen=True, slots=True)
class Making:
    """How windows are made. ``usual`` are the habits of a session that sets none of its own, ``counter`` finds the
    counter of an encoding or a model."""

    usual: Habits
    counter: Callable[[str], Counter]
    embed: Embed

    def check(self, options: Mapping[str, object], where: str) -> Habits:
        """What a session's options make of the usual habits.

        Raises:
            UsageError: they can't be.
        """
        return folding.habits(self.usual, options.get("working", {}), where)

    def of_messages(self, id: str, talk: Sequence[Message], options: Mapping[str, object]) -> Window:
        """The window of a conversation that is stored nowhere."""
        habits = self.check(options, f"session {id}")
        return windows.of_messages(id, talk, habits, self.counter(habits.encoding), self.embed)


@dataclass(frozen=True, slots=True)
class Host:
    """What working memories need of the engine. ``tell`` is told of each folding, ``writer`` writes the running summary
    in the background."""

    database: Database
    making: Making
    tell: Callable[[Event], None]
    writer: Writer | None = None


@dataclass(frozen=True, slots=True)
class _Stored:
    """A session as it was read: what is stored of it, the rows that its running summary quotes, those behind it."""

    entry: store.Entry | None
    quoted: list[Row]
    rows: list[Row]
    state: State


class WorkingMemory:
    """The windows of a memory's sessions. Safe to use from several threads."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.making = host.making
        self._lock = threading.Lock()
        self._due: OrderedDict[int, None] = OrderedDict()
        self._sizes: OrderedDict[tuple[str, int, int], int] = OrderedDict()

    def window(self, session: int) -> Window:
        """The window of a session, by its key; what is due to be folded is folded first.

        Raises:
            UsageError: the session's options can't be.
        """
        habits, db, id = self._habits(session), self._host.database.read(), sessions.public_id(session)
        counter = self.making.counter(habits.encoding)
        if habits.strategy == "buffer_window":
            rows = messages.of_session(db, session, last=habits.turns, talk_only=True)
            earlier = store.talk(db, session) - len(rows)
            return windows.latest(id, [messages.public(row) for row in rows], earlier, counter)
        state, _ = self._folded(session, habits, counter, None, None)
        return windows.handed_out(id, state, habits, counter)

    def note(self, session: int) -> None:
        """Something was said in a session: ``tend`` is to look at it."""
        with self._lock:
            self._due[session] = None

    def tend(self, goes_on: Callable[[], bool] = lambda: True) -> int:
        """Fold what is due in the sessions that were noted; how many foldings it was. A task of the background."""
        done = 0
        while goes_on():
            with self._lock:
                if not self._due:
                    break
                session, _ = self._due.popitem(last=False)
            try:
                habits = self._habits(session)
            except UsageError:
                continue  # who asks for the window is told
            if habits.strategy == "summary_buffer":
                counter = self.making.counter(habits.encoding)
                _, foldings = self._folded(session, habits, counter, self._host.writer, AT_ONCE)
                done += foldings
                if foldings == AT_ONCE:
                    self.note(session)
        return done

    def _folded(
        self, session: int, habits: Habits, counter: Counter, writer: Writer | None, most: int | None
    ) -> tuple[State, int]:
        """Fold what is due and store it; how the session is then, and the number of foldings."""
        for last_try in (*(False,) * (TRIES - 1), True):
            had = self._read(session, habits)
            sizes = [self._size(row, counter) for row in had.rows]
            state, foldings = folding.caught_up(
                had.state, sizes, habits, counter.count, self.making.embed, writer, most
            )
            if not foldings or state.running is None:
                return state, 0
            folded = had.rows[: len(had.rows) - len(state.turns)]
            with self._host.database.write() as tx:
                entry, since = (
                    _entry(state.running, habits),
                    had.entry.until if had.entry and had.state.running else None,
                )
                held = store.put(tx, session, entry, had.entry, had.quoted, since, folded)
            if held:
                self._tell(session, state.running, len(folded), foldings)
            if held or last_try:
                return state, foldings if held else 0
        raise AssertionError("unreachable")

    def _read(self, session: int, habits: Habits) -> _Stored:
        """A session as it is stored; a running summary that was made under other habits counts for nothing, and stays
        until the new one takes its place."""
        db = self._host.database.read()
        entry = store.get(db, session)
        if entry is not None and entry.habits == _stamp(habits):
            found = messages.get(db, {key for key, *_ in entry.sentences})
            rows = store.unfolded(db, session, entry.until)
            if rows is not None and all(key in found for key, *_ in entry.sentences):
                turns = [messages.public(row) for row in rows]
                sources = {messages.message_id(row.id): messages.public(row) for row in found.values()}
                return _Stored(entry, [*found.values()], rows, State(_running(entry, found), sources, turns))
        rows = messages.of_session(db, session, talk_only=True)
        return _Stored(entry, [], rows, State(None, {}, [messages.public(row) for row in rows]))

    def _habits(self, session: int) -> Habits:
        options = store.options(self._host.database.read(), session)
        return self.making.check(options, f"session {sessions.public_id(session)}")

    def _size(self, row: Row, counter: Counter) -> int:
        key = (counter.name, row.id, row.revision)
        with self._lock:
            size = self._sizes.get(key)
        if size is None:
            size = windows.size(messages.public(row), counter.count)
            with self._lock:
                self._sizes[key] = size
                while len(self._sizes) > SIZES_HELD:
                    self._sizes.popitem(last=False)
        return size

    def _tell(self, session: int, running: Running, folded: int, foldings: int) -> None:
        about = {"what": "working", "folded": folded, "all": running.folded, "foldings": foldings}
        detail = about | {"sentences": len(running.kept), "made_by": running.made_by}
        self._host.tell(Event("summarised", sessions.public_id(session), detail))


def _running(entry: store.Entry, rows: dict[int, Row]) -> Running:
    kept = tuple(
        Kept(Quote(messages.message_id(key), start, end, rows[key].text[start:end]), number)
        for key, start, end, number in entry.sentences
    )
    return Running(messages.message_id(entry.until), entry.folded, entry.text, kept, entry.made_by)


def _entry(running: Running, habits: Habits) -> store.Entry:
    sentences = tuple(
        (_key(one.quote.message_id), one.quote.start, one.quote.end, one.number) for one in running.kept
    )
    until, stamp = _key(running.until), _stamp(habits)
    return store.Entry(until, running.folded, running.text, sentences, running.made_by, stamp)


def _key(id: str) -> int:
    key = messages.message_key(id)
    assert key is not None
    return key


def _stamp(habits: Habits) -> str:
    return to_json(asdict(habits))
