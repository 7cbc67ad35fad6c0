"""Exports of front ends, character apps and frameworks, each with a shape of its own, by one reader.

``chat_app_files`` knows the programs that put conversations into an object, ``chat_app_turns`` those that write a
message a record, ``copilot_table`` a table. They make ``AppTurn`` values of a program's messages; times, ids and
messages are made here, alike for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import field, replace
from datetime import UTC

from appliance.formats import (
    agent_records,
    chat_app_files,
    chat_app_turns,
    copilot_table,
    json_fields,
    json_stream,
    local_times,
    timestamps,
)
from appliance.formats.agent_records import AgentContent, ConversationPlace
from appliance.formats.base import Document, DocumentHead
from appliance.formats.chat_app_turns import AppConversation, AppTurn
from appliance.formats.local_times import LocalTimes
from appliance.formats.salvage import is_whole
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, SessionRecord

_CONFIDENCE = 0.96


def matches(head: DocumentHead) -> float:
    """How surely this is an export of one of the programs."""
    if head.tables:
        return 0.0
    if copilot_table.matches(head.text):
        return _CONFIDENCE
    records = [record for record in json_stream.preview(head.text) if isinstance(record, dict)]
    if any(map(chat_app_files.reader_of, records[:1])):
        return _CONFIDENCE
    known = [record for record in records if chat_app_turns.reader_of(record) and is_whole(record)]
    return _CONFIDENCE if known and len(known) * 2 >= len(records) else 0.0


def parse(document: Document) -> Iterator[Record]:
    """The conversations in the order of the file. Records that hold one message each are one conversation, unless
    they name several."""
    reading = _Reading(document)
    if document.name.lower().endswith(".csv"):
        for item in copilot_table.conversations(document):
            yield from [item] if isinstance(item, InputProblem) else reading.conversations([item])
        return
    for value in json_stream.records(document):
        if isinstance(value, InputProblem):
            yield value
            continue
        where = f"record {value.number}"
        data = value.data
        if isinstance(data, dict) and (read := chat_app_files.reader_of(data)):
            yield from reading.conversations(list(read(data)))
        elif problem := json_fields.object_problem(data, where, "message"):
            yield problem
        elif read_turns := chat_app_turns.reader_of(data):
            turns = [replace(turn, where=where) for turn in read_turns(data)]
            yield from reading.turns(turns)
        elif facts := chat_app_turns.facts_of(data):
            reading.current = AppConversation(**facts)
        else:
            yield InputProblem(where, "the record has no known speaker; left out", harmless=True)


@dataclass(slots=True)
class _Reading:
    """The state of reading a file: its sessions with the ids of their messages, and the conversation of its records."""

    document: Document
    current: AppConversation = field(default_factory=AppConversation)
    ids: dict[str, set[str]] = field(default_factory=dict)
    made: Counter[str] = field(default_factory=Counter)

    def turns(self, turns: list[AppTurn]) -> Iterator[Record]:
        """The messages of a record of a file whose records are messages."""
        times = LocalTimes(turn.time for turn in turns)
        for turn in turns:
            named = turn.conversation is not None and turn.conversation != self.current.identity
            conversation = replace(self.current, identity=turn.conversation) if named else self.current
            if not any(part.text.strip() for part in turn.parts) and not turn.attachments:
                continue
            if conversation.identity is None:
                words = [part.text for part in turn.parts]
                start = str(conversation.time or turn.time or self.document.name.rpartition("/")[2])
                self.current = conversation = replace(conversation, identity=_made_id(start, words))
            yield from self._session(conversation, turn, times)
            yield from self._messages(str(conversation.identity), turn, times)

    def conversations(self, found: list[AppConversation]) -> Iterator[Record]:
        """The messages of the conversations of one object."""
        times = LocalTimes(
            turn.time for conversation in found for turn in conversation.turns if isinstance(turn, AppTurn)
        )
        yield from times.notes
        for conversation in found:
            spoken = [turn for turn in conversation.turns if isinstance(turn, AppTurn)]
            identity = conversation.identity
            if identity is None and spoken:
                opening = [part.text for turn in spoken[:2] for part in turn.parts]
                identity = _made_id(str(spoken[0].time or ""), opening)
                self.made[identity] += 1
                identity += f"-{self.made[identity]}" if self.made[identity] > 1 else ""
            if spoken:
                yield from self._session(replace(conversation, identity=identity), spoken[0], times)
            for turn in conversation.turns:
                yield from [turn] if isinstance(turn, InputProblem) else self._messages(str(identity), turn, times)

    def _session(self, conversation: AppConversation, first: AppTurn, times: LocalTimes) -> Iterator[Record]:
        identity = str(conversation.identity)
        if identity in self.ids:
            return
        self.ids[identity] = set()
        # A first message's time shows its spelling together with the others'; that of the header stands alone.
        created = timestamps.read_time(conversation.time, UTC) or times.read(first.time)
        created = created or LocalTimes([conversation.time]).read(conversation.time)
        created = created or local_times.in_name(self.document.name)
        yield SessionRecord(identity, conversation.title, created)

    def _messages(self, session: str, turn: AppTurn, times: LocalTimes) -> Iterator[MessageRecord | InputProblem]:
        sent = times.read(turn.time)
        if sent is None and turn.time not in (None, ""):
            yield json_fields.unreadable_time(turn.where, turn.time)
        used = self.ids[session]
        identity = turn.identity if turn.identity not in used else None
        used |= {identity} if identity else set()
        unknown = [*turn.unknown, *("" for part in turn.parts if part.name == chat_app_turns.UNKNOWN)]
        content = AgentContent(list(turn.parts), [{"name": name} for name in turn.attachments], unknown_types=unknown)
        if content.is_empty:
            return
        metadata = agent_records.model_of(turn.model) if turn.role == "assistant" else {}
        if turn.role == "system":
            metadata |= {"hidden": True}
        place = ConversationPlace(session, identity, sent, turn.reply_to, turn.is_branch, turn.where, turn.author)
        yield from agent_records.records(place, turn.role, content, metadata)


def _made_id(start: str, words: list[str]) -> str:
    return agent_records.made_id("chat", start, *words)
