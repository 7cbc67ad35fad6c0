"""A context, layer by layer: retrieved memories, then recent turns, within an exact token budget.

Recent turns are chosen first, newest first, up to their share; what they leave flows on to the memories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from appliance.context import render
from appliance.context.budget import CountTokens, shorten
from appliance.types import Context, ContextItem, Dropped, Hit, Layer, Message

FLOOR = 0.4
"""Memories that score less than this share of the best are left out: on LoCoMo and BEAM none of the cited
messages among the first forty is lost by it. What quotation marks add is not counted: what answers stands beside
what is quoted, and need not hold it."""

MEMORIES = 40
"""How many hits a context chooses from."""

TURNS = 200
"""How many of a session's latest turns a context looks at; far more than any budget holds."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a context is built for: the question, its words, and the budget in the encoding's tokens.

    ``follows`` names the message that a memory was said directly after: with it, it makes one passage.
    ``per_session`` memories of one session come before others have had their turn, so that one long chat does
    not crowd them out; a chat of ten years can still fill what they leave.
    """

    query: str
    words: Sequence[str]
    budget: int
    recent_share: float
    per_session: int
    encoding: str
    count: CountTokens
    follows: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory as it will stand in the prompt."""

    hit: Hit
    item: ContextItem
    rendered: str


def build(plan: Plan, hits: Sequence[Hit], turns: Sequence[Message], notes: Sequence[str] = ()) -> Context:
    """The context for a question, from ranked memories and the present session's turns (oldest first)."""
    recent = choose_recent(plan, turns)
    present = {message.id for message, _ in recent}
    dropped: list[Dropped] = []
    spent = sum(item.tokens for _, item in recent) + (plan.count(render.RECENT) if recent else 0)
    room = plan.budget - spent - plan.count(render.MEMORIES)
    memories = choose_memories(plan, [hit for hit in hits if hit.message_id not in present], room, dropped)
    while (context := assemble(plan, memories, recent, dropped, notes)) is None:
        # The parts add up to a few tokens less than the whole: the weakest memory goes, then the oldest turn.
        if memories:
            weakest = max(memories, key=lambda entry: entry.hit.rank)
            memories.remove(weakest)
            dropped.append(Dropped(weakest.hit.message_id, "no room left"))
        else:
            dropped.append(Dropped(recent.pop(0)[0].id, "no room left"))
    return context


def choose_recent(plan: Plan, turns: Sequence[Message]) -> list[tuple[Message, ContextItem]]:
    """The newest turns that fit their share of the budget, oldest first; none is cut."""
    room = int(plan.budget * plan.recent_share) - plan.count(render.RECENT)
    chosen: list[tuple[Message, ContextItem]] = []
    for message in reversed(turns):
        rendered = render.turn(message)
        tokens = plan.count(rendered)
        if tokens > room:
            break
        room -= tokens
        why = {"recent": len(chosen) + 1}
        chosen.append((message, ContextItem(message.id, message.text, tokens, "full", why)))
    return chosen[::-1]


def choose_memories(plan: Plan, hits: Sequence[Hit], room: int, dropped: list[Dropped]) -> list[Entry]:
    """The best memories that fit, whole where they can be; in the order of time, the undated last."""
    chosen: list[Entry] = []
    for hit in by_turns(plan, hits, dropped):
        entry = fit(plan, hit, room)
        if entry is None:
            dropped.append(Dropped(hit.message_id, "no room left"))
            continue
        room -= entry.item.tokens
        chosen.append(entry)
    return sorted(chosen, key=_when)


def _when(entry: Entry) -> tuple[bool, str, str, int]:
    hit = entry.hit
    return hit.timestamp is None, hit.timestamp or "", hit.session_id, int(hit.message_id[1:])


def in_passages(plan: Plan, entries: Sequence[Entry]) -> Iterator[Entry]:
    """The memories in their order; one that was said directly after the one before it, on the same day, needs no
    more than its speaker and its id in front."""
    before: Hit | None = None
    for entry in entries:
        if (
            before is not None
            and plan.follows.get(entry.hit.message_id) == before.message_id
            and _day(entry.hit) == _day(before)
        ):
            rendered = render.continued(entry.hit, entry.item.text)
            tokens = plan.count(rendered)
            if tokens <= entry.item.tokens:
                entry = Entry(entry.hit, replace(entry.item, tokens=tokens), rendered)
        before = entry.hit
        yield entry


def _day(hit: Hit) -> str:
    return (hit.timestamp or "")[: len("2024-03-31")]


def by_turns(plan: Plan, hits: Sequence[Hit], dropped: list[Dropped]) -> list[Hit]:
    """The hits in the order in which they get their place: at most so many of each session, then,
    where room is left, the others. Those far weaker than the best get none."""
    first: list[Hit] = []
    later: list[Hit] = []
    sessions: Counter[str] = Counter()
    best = max((_unquoted(hit) for hit in hits), default=0.0)
    # Of a best below 0, a share would be above it.
    floor = best * FLOOR if best > 0 else best
    for hit in hits:
        if _unquoted(hit) < floor and _unquoted(hit) == hit.score:
            dropped.append(Dropped(hit.message_id, f"scores less than {FLOOR:.0%} of the best"))
            continue
        sessions[hit.session_id] += 1
        (first if sessions[hit.session_id] <= plan.per_session else later).append(hit)
    return first + later


def _unquoted(hit: Hit) -> float:
    quoted: float = hit.why.get("score", {}).get("quoted", 0.0)
    return hit.score - quoted


def fit(plan: Plan, hit: Hit, room: int) -> Entry | None:
    """A memory whole, else shortened to its most fitting sentences, else a note on where to read it."""
    why = {"rank": hit.rank, "score": hit.score}
    whole = render.memory(hit, hit.text)
    tokens = plan.count(whole)
    if tokens <= room:
        return Entry(hit, ContextItem(hit.message_id, hit.text, tokens, "full", why), whole)
    frame = plan.count(render.memory(hit, ""))
    short = shorten(hit.text, plan.words, room - frame - 2, plan.count)
    if short is not None:
        rendered = render.memory(hit, short.text)
        tokens = plan.count(rendered)
        if tokens <= room:
            return Entry(hit, ContextItem(hit.message_id, short.text, tokens, "compressed", why), rendered)
    text = render.placeholder(hit, plan.count(hit.text))
    rendered = render.memory(hit, text)
    tokens = plan.count(rendered)
    if tokens <= room:
        return Entry(hit, ContextItem(hit.message_id, text, tokens, "placeholder", why), rendered)
    return None


def assemble(
    plan: Plan,
    memories: Sequence[Entry],
    recent: Sequence[tuple[Message, ContextItem]],
    dropped: Sequence[Dropped],
    notes: Sequence[str],
) -> Context | None:
    """The finished context, or None when it is over the budget."""
    # Only now is it known what stands behind what.
    memories = list(in_passages(plan, memories))
    blocks = [entry.rendered for entry in memories]
    turns = [message for message, _ in recent]
    text = render.prompt(blocks, [render.turn(message) for message in turns])
    messages = render.chat(blocks, turns)
    tokens = plan.count(text)
    if max(tokens, sum(plan.count(message["content"]) for message in messages)) > plan.budget:
        return None
    layers = (
        Layer("retrieved", sum(e.item.tokens for e in memories), tuple(e.item for e in memories)),
        Layer("recent", sum(item.tokens for _, item in recent), tuple(item for _, item in recent)),
    )
    return Context(
        query=plan.query,
        budget=plan.budget,
        tokens=tokens,
        encoding=plan.encoding,
        layers=layers,
        messages=messages,
        text=text,
        dropped=tuple(dropped),
        notes=tuple(notes),
    )
