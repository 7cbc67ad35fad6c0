"""What a conversation's summaries are to be: which parts have one that still holds, and new ones for the others.

Pure but for what it is given: the messages, the summaries that are there, and how to compare and to write.
"""

from __future__ import annotations

import hashlib
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appliance.errors import EndpointError
from appliance.memory import procedures
from appliance.memory.abstract import Nonsense, Writer, written
from appliance.memory.summarise import Draft, Embed, exchanges, rendered, summarise, topics
from appliance.store import messages, summaries
from appliance.store.messages import Row
from appliance.store.summaries import New
from appliance.types import Level, Message, Quote

SHORTEST = 600
"""Characters, some 120 tokens, from which on a part is summarised: a summary of less is no shorter, and what it
says is found as the messages themselves."""

WHOLE = 1_000
"""Messages; a longer conversation is summarised from the summaries of its topics, so that twelve messages more do
not cost a reading of all."""

MOST = 12
"""Items of each kind in the metadata of a conversation that is summarised from its topics."""

EXTRACTIVE = "extractive"

LISTS = ("decisions", "commitments", "unresolved", "solved")
NAMES = ("tools", "files", "entities")

Range = tuple[int, int]
"""From an index up to another, without it."""

TextsOf = Callable[[Sequence[int]], Mapping[int, str]]
"""The texts of messages, by key."""

VectorsOf = Callable[[Sequence[Row]], NDArray[np.float32]]
"""Vectors of messages, (messages, dimension), to see where one topic ends."""


class Stopped(Exception):
    """Whoever wanted the summaries wants them no longer."""


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation: what was said in the open, in order, and the records of tools between. ``session`` summarises
    the stretch that begins and ends with two of ``rows``."""

    rows: Sequence[Row]
    said: Sequence[Message]
    beside: Sequence[Row]
    digests: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.rows)

    def covers(self, part: Range) -> bytes:
        """The digest of all that a summary of a part depends on."""
        whole = hashlib.blake2b(digest_size=16)
        for one in self.digests[slice(*part)]:
            whole.update(one)
        return whole.digest()

    def characters(self, part: Range) -> int:
        return sum(len(message.text) for message in self.said[slice(*part)])

    def with_tools(self, part: Range) -> list[Message]:
        """A part with the tools' records that lie within it, whose metadata say what was used."""
        first, last = self.rows[part[0]], self.rows[part[1] - 1]
        within = [row for row in self.beside if _place(first) <= _place(row) <= _place(last)]
        both = sorted([*self.rows[slice(*part)], *within], key=_place)
        return [messages.public(row) for row in both]


def talk(rows: Sequence[Row], beside: Sequence[Row]) -> Talk:
    said = [messages.public(row) for row in rows]
    return Talk(rows, said, beside, [_digest(row) for row in rows])


def _place(row: Row) -> tuple[int, int, int]:
    return row.order_at, row.position, row.id


def _digest(row: Row) -> bytes:
    return hashlib.blake2b(
        "\0".join((str(row.id), row.role, row.author or "", row.sent_at or "", row.text)).encode(
            "utf-8", "surrogatepass"
        ),
        digest_size=16,
    ).digest()


@dataclass(slots=True)
class Plan:
    """What is to become of a session's summaries: ``gone`` are the keys of those to drop. ``trouble`` says why the
    model did not write one that it was to write."""

    kept: list[summaries.Row] = field(default_factory=list)
    new: list[New] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class Tools:
    """What summaries are made with. ``writer`` is a language model, if there is one; ``again`` makes also those anew
    that another than it has written; ``goes_on`` is asked before each."""

    embed: Embed
    vectors: VectorsOf
    writer: Writer | None
    again: bool = False
    goes_on: Callable[[], bool] = lambda: True


def plan(talk: Talk, there: Sequence[summaries.Row], tools: Tools) -> Plan:
    """The summaries that a conversation should have now. Those whose part has not changed stay as they are."""
    found = Plan()
    by_place: dict[tuple[Level, bytes], summaries.Row] = {
        (row.level, row.covers): row for row in there if row.level != "procedure"
    }
    segments = _segments(talk, [row for row in by_place.values() if row.level == "topic"], tools)
    parts: dict[Level, list[Range]] = {
        "topic": segments if len(segments) > 1 else [],
        "exchange": found_exchanges if len(found_exchanges := exchanges(talk.said)) > 1 else [],
        "session": [(0, len(talk))] if len(talk) else [],
    }
    topics_made: list[tuple[Range, summaries.Row | New]] = []
    for level, ranges in parts.items():
        for part in ranges:
            if talk.characters(part) < SHORTEST:
                continue
            covers = talk.covers(part)
            row = by_place.get((level, covers))
            if row is not None and not _is_to_be_rewritten(row, level, tools):
                del by_place[(level, covers)]
                found.kept.append(row)
                if level == "topic":
                    topics_made.append((part, row))
                continue
            if not tools.goes_on():
                raise Stopped
            made = _made(talk, level, part, covers, topics_made, there, tools, found)
            if made is not None:
                found.new.append(made)
                if level == "topic":
                    topics_made.append((part, made))
    found.gone = [row.id for row in by_place.values()]
    return found


def add_procedures(talk: Talk, there: Sequence[summaries.Row], texts: TextsOf, found: Plan) -> None:
    """Add to a plan what is to become of a conversation's procedures. ``texts`` reads those of tools' records, of which
    the talk has none."""
    known = {row.covers: row for row in there if row.level == "procedure"}
    rows = {message.id: row for message, row in zip(talk.said, talk.rows, strict=True)}
    said = [message for message in talk.said if procedures.is_said(message)]
    places = [_place(rows[message.id]) for message in said]
    beside = [_place(row) for row in talk.beside]
    behind = [bisect(beside, place) for place in places]
    ran = {number for number, (one, other) in enumerate(pairwise(behind), 1) if one < other}
    for stretch in procedures.stretches(said, ran):
        between = talk.beside[behind[stretch.failed] : behind[stretch.outcome]][-procedures.MOST_RECORDS :]
        words = texts([row.id for row in between])
        records = [messages.public(replace(row, text=words.get(row.id, ""))) for row in between]
        procedure = procedures.read(stretch, said, records)
        if procedure is None:
            continue
        draft = procedures.draft(procedure)
        covers = _digest_of(draft.quotes)
        if covers in known:
            found.kept.append(known.pop(covers))
            continue
        first, last = rows[draft.first], rows[draft.last]
        found.new.append(
            New(
                level="procedure",
                first=first,
                last=last,
                messages=draft.messages,
                text=draft.text,
                quotes=draft.quotes,
                made_by=EXTRACTIVE,
                metadata=draft.metadata,
                covers=covers,
            )
        )
    found.gone += [row.id for row in known.values()]


def _digest_of(quotes: Sequence[Quote]) -> bytes:
    whole = hashlib.blake2b(digest_size=16)
    for quote in quotes:
        whole.update(f"{quote.message_id}\0{quote.start}\0{quote.text}\0".encode("utf-8", "surrogatepass"))
    return whole.digest()


def _is_to_be_rewritten(row: summaries.Row, level: Level, tools: Tools) -> bool:
    writes = tools.writer is not None and level != "exchange"
    wanted = tools.writer.name if writes and tools.writer else EXTRACTIVE
    return tools.again and row.made_by != wanted


def _segments(talk: Talk, there: Sequence[summaries.Row], tools: Tools) -> list[Range]:
    """The topics: those that have a summary stay as they are but for the last, which goes on with what was said since;
    what lies between them is parted anew."""
    at = {row.id: number for number, row in enumerate(talk.rows)}
    known = sorted(
        (at[row.first_id], at[row.last_id] + 1, row.covers)
        for row in there
        if row.first_id in at and row.last_id in at
    )
    fixed: list[Range] = []
    for start, end, covers in known:
        if start < end and (not fixed or fixed[-1][1] <= start) and talk.covers((start, end)) == covers:
            fixed.append((start, end))
    if fixed and fixed[-1][1] < len(talk):
        fixed.pop()
    segments = list(fixed)
    for (_, start), (end, _) in pairwise([(0, 0), *fixed, (len(talk), len(talk))]):
        if start < end:
            vectors = tools.vectors(talk.rows[start:end])
            segments += [(start + a, start + b) for a, b in topics(talk.said[start:end], vectors)]
    return sorted(segments)


def _made(
    talk: Talk,
    level: Level,
    part: Range,
    covers: bytes,
    topics_made: Sequence[tuple[Range, summaries.Row | New]],
    there: Sequence[summaries.Row],
    tools: Tools,
    found: Plan,
) -> New | None:
    """A new summary of a part; None where nothing in it can be quoted."""
    from_topics = level == "session" and len(talk) > WHOLE
    draft = (
        _of_topics(talk, topics_made, tools.embed)
        if from_topics
        else summarise(talk.with_tools(part), tools.embed)
    )
    if not draft.quotes:
        return None
    made_by, metadata = EXTRACTIVE, dict(draft.metadata)
    # One call for each question and answer would keep a local model busy for hours.
    if tools.writer is not None and level != "exchange":
        try:
            draft = _written(talk, level, part, topics_made, there, tools.writer, draft)
            made_by = tools.writer.name
        except (EndpointError, Nonsense) as trouble:
            if not tools.goes_on():
                raise Stopped from None
            found.trouble = metadata["fallback"] = str(trouble)
    return New(
        level=level,
        first=talk.rows[part[0]],
        last=talk.rows[part[1] - 1],
        messages=part[1] - part[0],
        text=draft.text,
        quotes=draft.quotes,
        made_by=made_by,
        metadata=metadata,
        covers=covers,
    )


def _written(
    talk: Talk,
    level: Level,
    part: Range,
    topics_made: Sequence[tuple[Range, summaries.Row | New]],
    there: Sequence[summaries.Row],
    writer: Writer,
    draft: Draft,
) -> Draft:
    """What a language model makes of it: of a conversation that went on, from its last summary and what is new."""
    turns: Sequence[Message] = talk.said[slice(*part)]
    prior = ""
    if level == "session":
        for row in there:
            seen = (0, row.messages)
            if row.level == level and row.made_by == writer.name and row.covers == talk.covers(seen):
                prior, turns = row.text, talk.said[row.messages :]
        if not prior and len(topics_made) > 1:
            return written(writer, "", [_as_turn(talk, *one) for one in topics_made], talk.said, draft)
    return written(writer, prior, turns, talk.said, draft)


def _as_turn(talk: Talk, part: Range, made: summaries.Row | New) -> Message:
    """A topic's summary as something to read, with its citations."""
    first, text = talk.said[part[0]], made.text
    if made.made_by == EXTRACTIVE:
        who = {message.id: message.author or message.role for message in talk.said[slice(*part)]}
        text = "\n".join(f"{who[q.message_id]}: {q.text} [{q.message_id}]" for q in _quotes(talk, part, made))
    key = f"{first.id}-{talk.said[part[1] - 1].id}"
    return Message(key, first.session_id, key, "system", None, first.timestamp, text, None, {})


def _of_topics(talk: Talk, topics_made: Sequence[tuple[Range, summaries.Row | New]], embed: Embed) -> Draft:
    """A long conversation from what its topics' summaries quote, and their metadata together."""
    said = {message.id: message for message in talk.said}
    quoted = [quote for part, made in topics_made for quote in _quotes(talk, part, made)]
    pieces = {f"{quote.message_id}/{number}": quote for number, quote in enumerate(quoted)}
    draft = summarise([_piece(said[quote.message_id], key, quote) for key, quote in pieces.items()], embed)
    quotes = tuple(_within(pieces[quote.message_id], quote) for quote in draft.quotes)
    return Draft(rendered(quotes, talk.said), quotes, together([_metadata(made) for _, made in topics_made]))


def _quotes(talk: Talk, part: Range, made: summaries.Row | New) -> Iterator[Quote]:
    if isinstance(made, New):
        yield from made.quotes
        return
    texts = {row.id: row.text for row in talk.rows[slice(*part)]}
    for key, start, stop in made.sentences:
        if key in texts:
            yield Quote(messages.message_id(key), start, stop, texts[key][start:stop])


def _piece(message: Message, key: str, quote: Quote) -> Message:
    return Message(
        key, message.session_id, key, message.role, message.author, message.timestamp, quote.text, None, {}
    )


def _within(piece: Quote, quote: Quote) -> Quote:
    """A quote of a quote, by its place in the message."""
    return Quote(piece.message_id, piece.start + quote.start, piece.start + quote.end, quote.text)


def _metadata(made: summaries.Row | New) -> Mapping[str, Any]:
    import msgspec

    return made.metadata if isinstance(made, New) else msgspec.json.decode(made.metadata)


def together(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The metadata of several summaries as those of one: of what was decided and the like the latest, of names the
    most frequent."""
    found: dict[str, Any] = {}
    for key in LISTS:
        items = {one["text"]: one for part in parts for one in part.get(key, ())}
        found[key] = list(items.values())[-MOST:]
    for key in NAMES:
        counted = Counter(name for part in parts for name in part.get(key, ()))
        found[key] = [name for name, _ in counted.most_common(2 * MOST)]
    return found
