"""The summaries that a conversation should have: which parts have one that still holds, and new ones for the others.

The plan follows from its arguments alone: the messages, the existing summaries, and the tools to compare and to
write."""

from __future__ import annotations

import hashlib
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appliance.errors import EndpointError
from appliance.lazy_dataclasses import dataclass
from appliance.memory import procedures
from appliance.memory.abstractive import InvalidSummary, LanguageModel, write_notes
from appliance.memory.extractive import (
    EXTRACTIVE,
    Embed,
    Range,
    SummaryDraft,
    exchanges,
    render_quotes,
    settles,
    summarize,
    topics,
)
from appliance.store import messages, summaries
from appliance.store.messages import MessageRow
from appliance.store.sql import from_json
from appliance.store.summaries import SummaryInsert
from appliance.types import Level, Message, Quote

# Characters from which on a part is summarised. The summary of a shorter part would be no shorter, and what it says is
# found as the messages themselves. A question with its answer in two or three sentences has a gist; a topic as short is
# a handful of remarks, of which a messenger's chat has thousands.
MIN_PART_CHARACTERS: Mapping[Level, int] = {"topic": 600, "exchange": 160, "session": 160}
# A summary that quotes more of its part than this leaves out too little to be one.
MAX_QUOTED_SHARE = 0.9
# A longer conversation is summarised from the summaries of its topics, so that twelve more messages do not cost a
# reading of all of them.
MAX_DIRECT_MESSAGES = 1_000
MAX_METADATA_ITEMS = 12  # of each kind, in a conversation that is summarised from its topics

LIST_KEYS = ("decisions", "commitments", "unresolved", "solved")
NAME_KEYS = ("tools", "files", "entities")

ReadTexts = Callable[[Sequence[int]], Mapping[int, str]]  # the texts of messages, by key

# Vectors of messages, (messages, dimension), which show where a topic ends.
ReadVectors = Callable[[Sequence[MessageRow]], NDArray[np.float32]]


AnySummary = summaries.SummaryRow | SummaryInsert


class PlanningStopped(Exception):
    """The summaries are not wanted any more."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation: its conversational messages in order (``rows``, and ``messages`` made of them), and the
    records of tools between them."""

    rows: Sequence[MessageRow]
    messages: Sequence[Message]
    tool_records: Sequence[MessageRow]
    digests: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.rows)

    def source_digest(self, part: Range) -> bytes:
        """Return the digest of everything that a summary of a part depends on."""
        return _digest(b"".join(self.digests[slice(*part)]))

    def character_count(self, part: Range) -> int:
        return sum(len(message.text) for message in self.messages[slice(*part)])

    def with_tools(self, part: Range) -> list[Message]:
        """Return a part with the records of tools within it, whose metadata say what was used."""
        first, last = self.rows[part[0]], self.rows[part[1] - 1]
        records = [row for row in self.tool_records if _order_key(first) <= _order_key(row) <= _order_key(last)]
        merged = sorted([*self.rows[slice(*part)], *records], key=_order_key)
        return [messages.to_message(row) for row in merged]


def build_transcript(rows: Sequence[MessageRow], tool_records: Sequence[MessageRow]) -> Transcript:
    public_messages = [messages.to_message(row) for row in rows]
    return Transcript(rows, public_messages, tool_records, [_message_digest(row) for row in rows])


def _order_key(row: MessageRow) -> tuple[int, int, int]:
    return row.order_at, row.position, row.id


def _message_digest(row: MessageRow) -> bytes:
    content = "\0".join((str(row.id), row.role, row.author or "", row.sent_at or "", row.text))
    return _digest(content.encode("utf-8", "surrogatepass"))


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


@dataclass(slots=True)
class SummaryPlan:
    """What becomes of a session's summaries. ``obsolete`` are the keys of those to delete; ``fallback_reason`` says
    why the model did not write a summary that it should have written."""

    kept: list[summaries.SummaryRow] = field(default_factory=list)
    new: list[SummaryInsert] = field(default_factory=list)
    obsolete: list[int] = field(default_factory=list)
    fallback_reason: str | None = None


@dataclass(frozen=True, slots=True)
class SummarizerTools:
    """What summaries are made with. ``writer`` is the language model, if there is one. With ``rewrite``, summaries
    by another writer are written again. ``should_continue`` is called before each summary. ``unstored`` collects the
    summaries by level and digest, so that a plan that was stopped need not have them written again."""

    embed: Embed
    vectors: ReadVectors
    writer: LanguageModel | None
    rewrite: bool = False
    should_continue: Callable[[], bool] = lambda: True
    unstored: dict[tuple[Level, bytes], SummaryInsert] = field(default_factory=dict)


def plan(transcript: Transcript, existing: Sequence[summaries.SummaryRow], tools: SummarizerTools) -> SummaryPlan:
    """Return the summaries that a conversation should have now. A summary whose part has not changed stays as it is."""
    result = SummaryPlan()
    by_digest: dict[tuple[Level, bytes], summaries.SummaryRow] = {
        (row.level, row.source_digest): row for row in existing if row.level != "procedure"
    }
    segments = _segments(transcript, [row for row in by_digest.values() if row.level == "topic"], tools)
    parts: dict[Level, list[Range]] = {
        "topic": segments if len(segments) > 1 else [],
        "exchange": exchange_ranges if len(exchange_ranges := exchanges(transcript.messages)) > 1 else [],
        "session": [(0, len(transcript))] if len(transcript) else [],
    }
    topic_summaries: list[tuple[Range, AnySummary]] = []
    for level, ranges in parts.items():
        for part in ranges:
            if transcript.character_count(part) < MIN_PART_CHARACTERS[level]:
                continue
            source_digest = transcript.source_digest(part)
            row = by_digest.get((level, source_digest))
            summary: AnySummary | None
            if row is not None and not _needs_rewrite(row, level, tools):
                del by_digest[(level, source_digest)]
                result.kept.append(row)
                summary = row
            else:
                summary = tools.unstored.get((level, source_digest))
                if summary is None and not tools.should_continue():
                    raise PlanningStopped
                summary = summary or _new_summary(
                    transcript, level, part, source_digest, topic_summaries, existing, tools, result
                )
                if summary is not None:
                    result.new.append(summary)
                    if "fallback" not in summary.metadata:
                        tools.unstored[level, source_digest] = summary
            if summary and level == "topic":
                topic_summaries.append((part, summary))
    result.obsolete = [row.id for row in by_digest.values()]
    return result


def add_procedures(
    transcript: Transcript, existing: Sequence[summaries.SummaryRow], texts: ReadTexts, summary_plan: SummaryPlan
) -> None:
    """Add a conversation's procedures to its plan. ``texts`` reads the texts of tools' records, which a transcript
    has not."""
    known = {row.source_digest: row for row in existing if row.level == "procedure"}
    rows = {message.id: row for message, row in zip(transcript.messages, transcript.rows, strict=True)}
    turns = [message for message in transcript.messages if procedures.is_visible_turn(message)]
    positions = [_order_key(rows[message.id]) for message in turns]
    record_positions = [_order_key(row) for row in transcript.tool_records]
    records_before = [bisect(record_positions, place) for place in positions]
    turns_after_tools = {i for i, (before, after) in enumerate(pairwise(records_before), 1) if before < after}
    for span in procedures.find_spans(turns, turns_after_tools):
        between = transcript.tool_records[records_before[span.last_failure] : records_before[span.outcome]]
        between = between[-procedures.MAX_TOOL_RECORDS :]
        texts_by_key = texts([row.id for row in between])
        records = [messages.to_message(replace(row, text=texts_by_key.get(row.id, ""))) for row in between]
        procedure = procedures.extract(span, turns, records)
        if procedure is None:
            continue
        source_digest = _quotes_digest(procedure.quotes)
        if source_digest in known:
            summary_plan.kept.append(known.pop(source_digest))
            continue
        summary_plan.new.append(
            SummaryInsert(
                level="procedure", first=rows[procedure.first], last=rows[procedure.last],
                messages=procedure.messages, text=procedure.text, quotes=procedure.quotes, made_by=EXTRACTIVE,
                metadata=procedure.metadata, source_digest=source_digest,
            )
        )  # fmt: skip
    summary_plan.obsolete += [row.id for row in known.values()]


def _quotes_digest(quotes: Sequence[Quote]) -> bytes:
    content = "".join(f"{quote.message_id}\0{quote.start}\0{quote.text}\0" for quote in quotes)
    return _digest(content.encode("utf-8", "surrogatepass"))


def _needs_rewrite(row: summaries.SummaryRow, level: Level, tools: SummarizerTools) -> bool:
    uses_model = tools.writer is not None and level != "exchange"
    expected_writer = tools.writer.name if uses_model and tools.writer else EXTRACTIVE
    return tools.rewrite and row.made_by != expected_writer


def _segments(transcript: Transcript, existing: Sequence[summaries.SummaryRow], tools: SummarizerTools) -> list[Range]:
    """The topics. Those that have a summary stay as they are, except the last one, which goes on with the new
    messages; what lies between them is segmented again."""
    index_by_key = {row.id: number for number, row in enumerate(transcript.rows)}
    known = sorted(
        (index_by_key[row.first_id], index_by_key[row.last_id] + 1, row.source_digest)
        for row in existing
        if row.first_id in index_by_key and row.last_id in index_by_key
    )
    fixed: list[Range] = []
    for start, end, covers in known:
        if start < end and (not fixed or fixed[-1][1] <= start) and transcript.source_digest((start, end)) == covers:
            fixed.append((start, end))
    if fixed and fixed[-1][1] < len(transcript):
        fixed.pop()
    segments = list(fixed)
    for (_, start), (end, _) in pairwise([(0, 0), *fixed, (len(transcript), len(transcript))]):
        if start < end:
            vectors = tools.vectors(transcript.rows[start:end])
            segments += [(start + a, start + b) for a, b in topics(transcript.messages[start:end], vectors)]
    return sorted(segments)


def _new_summary(
    transcript: Transcript,
    level: Level,
    part: Range,
    source_digest: bytes,
    topic_summaries: Sequence[tuple[Range, AnySummary]],
    existing: Sequence[summaries.SummaryRow],
    tools: SummarizerTools,
    summary_plan: SummaryPlan,
) -> SummaryInsert | None:
    """A new summary of a part; None where nothing in it can be quoted, or nearly all of it would be."""
    if level == "session" and len(transcript) > MAX_DIRECT_MESSAGES:
        draft = _summarize_topics(transcript, topic_summaries, tools.embed)
    else:
        draft = summarize(transcript.with_tools(part), tools.embed)
    quoted = sum(quote.end - quote.start for quote in draft.quotes)
    if not quoted or quoted > MAX_QUOTED_SHARE * transcript.character_count(part):
        return None
    made_by, metadata = EXTRACTIVE, dict(draft.metadata)
    # A call for every exchange would keep a local model busy for hours.
    if tools.writer is not None and level != "exchange":
        try:
            draft = _write_abstractive(transcript, level, part, topic_summaries, existing, tools.writer, draft)
            made_by = tools.writer.name
        except (EndpointError, InvalidSummary) as error:
            if not tools.should_continue():
                raise PlanningStopped from None
            summary_plan.fallback_reason = metadata["fallback"] = str(error)
    first, last = transcript.rows[part[0]], transcript.rows[part[1] - 1]
    return SummaryInsert(
        level=level, first=first, last=last, messages=part[1] - part[0], text=draft.text, quotes=draft.quotes,
        made_by=made_by, metadata=metadata, source_digest=source_digest,
    )  # fmt: skip


def _write_abstractive(
    transcript: Transcript,
    level: Level,
    part: Range,
    topic_summaries: Sequence[tuple[Range, AnySummary]],
    existing: Sequence[summaries.SummaryRow],
    writer: LanguageModel,
    draft: SummaryDraft,
) -> SummaryDraft:
    """A language model's summary; of a conversation that went on, from its last summary and the new messages."""
    turns: Sequence[Message] = transcript.messages[slice(*part)]
    prior = ""
    if level == "session":
        for row in existing:
            is_writers = row.level == level and row.made_by == writer.name
            if is_writers and row.source_digest == transcript.source_digest((0, row.messages)):
                prior, turns = row.text, transcript.messages[row.messages :]
        if not prior and len(topic_summaries) > 1:
            turns = [_as_turn(transcript, *part_and_summary) for part_and_summary in topic_summaries]
    return write_notes(writer, prior, turns, transcript.messages, draft)


def _as_turn(transcript: Transcript, part: Range, summary: AnySummary) -> Message:
    """A topic's summary as a turn to read, with its citations."""
    first, text = transcript.messages[part[0]], summary.text
    if summary.made_by == EXTRACTIVE:
        speakers = {message.id: message.author or message.role for message in transcript.messages[slice(*part)]}
        quotes = _quotes(transcript, part, summary)
        text = "\n".join(f"{speakers[quote.message_id]}: {quote.text} [{quote.message_id}]" for quote in quotes)
    key = f"{first.id}-{transcript.messages[part[1] - 1].id}"
    return Message(key, first.session_id, key, "system", None, first.timestamp, text, None, {})


def _summarize_topics(
    transcript: Transcript, topic_summaries: Sequence[tuple[Range, AnySummary]], embed: Embed
) -> SummaryDraft:
    """A summary of a long conversation from what its topics' summaries quote, with their metadata together."""
    messages_by_id = {message.id: message for message in transcript.messages}
    quoted = [quote for part, summary in topic_summaries for quote in _quotes(transcript, part, summary)]
    quotes_by_key = {f"{quote.message_id}/{number}": quote for number, quote in enumerate(quoted)}
    quote_messages = [
        replace(messages_by_id[quote.message_id], id=key, external_id=key, text=quote.text, reply_to=None, metadata={})
        for key, quote in quotes_by_key.items()
    ]
    draft = summarize(quote_messages, embed)
    quotes = tuple(_rebase_quote(quotes_by_key[quote.message_id], quote) for quote in draft.quotes)
    metadata = merge_metadata([_metadata(summary) for _, summary in topic_summaries])
    return SummaryDraft(render_quotes(quotes, transcript.messages), quotes, metadata)


def _quotes(transcript: Transcript, part: Range, summary: AnySummary) -> Iterator[Quote]:
    if isinstance(summary, SummaryInsert):
        yield from summary.quotes
        return
    texts = {row.id: row.text for row in transcript.rows[slice(*part)]}
    for key, start, stop in summary.sentences:
        if key in texts:
            yield Quote(messages.message_id(key), start, stop, texts[key][start:stop])


def _rebase_quote(outer: Quote, quote: Quote) -> Quote:
    """A quote of a quote as a quote of the message."""
    return Quote(outer.message_id, outer.start + quote.start, outer.start + quote.end, quote.text)


def _metadata(summary: AnySummary) -> Mapping[str, Any]:
    return summary.metadata if isinstance(summary, SummaryInsert) else from_json(summary.metadata)


def merge_metadata(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the metadata of several summaries as those of one: the latest decisions and the like, the most frequent
    names."""
    found: dict[str, Any] = {}
    for key in LIST_KEYS:
        items = {item["text"]: item for part in parts for item in part.get(key, ())}
        found[key] = list(items.values())[-MAX_METADATA_ITEMS:]
    found["unresolved"] = [item for item in found["unresolved"] if not _is_settled_later(item, parts)]
    for key in NAME_KEYS:
        counted = Counter(name for part in parts for name in part.get(key, ()))
        found[key] = [name for name, _ in counted.most_common(2 * MAX_METADATA_ITEMS)]
    return found


def _is_settled_later(item: Mapping[str, str], parts: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a part behind the last one that left an item open has a decision about it."""
    left_open = [
        nth for nth, part in enumerate(parts) if item["text"] in (o["text"] for o in part.get("unresolved", ()))
    ]
    decisions = (decision["text"] for part in parts[left_open[-1] + 1 :] for decision in part.get("decisions", ()))
    return any(settles(decision, "decided", item["text"]) for decision in decisions)
