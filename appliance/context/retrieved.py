"""The memories that fit: in which order they get their place, and how much of each.

What a memory may take grows with how relevant, how important and how new it is. One that is larger is shortened to its
most fitting sentences, or named only; when all have had their turn, what room is left makes them whole again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from appliance import moments
from appliance.context import render
from appliance.context.budget import SHORTEST, fits, shorten
from appliance.context.plan import Material, Piece, Place, Plan
from appliance.store.scripts import is_question
from appliance.types import ContextItem, Dropped, Hit, Summary

LEAST = 16
"""Tokens of a small memory with its id and its speaker: a budget holds no more memories than so many of these."""

FEWEST = 40
"""A small budget chooses from as many hits."""

FULL = 100
"""A hundredth of the budget is not worth looking for somebody who fits: it takes as long as all that went before."""

FLOOR = 0.05
"""Memories that score less than this share of the best are left out. Of 760 questions on LoCoMo none loses a cited
message by it, with 0.1 two do, with 0.4 thirty-five. What quotation marks add is not counted: what answers stands
beside what is quoted, and need not hold it."""

LARGEST = 0.35
"""The share of the room that the best memory may take before others have had their turn, if it is new. On BEAM, with
its long answers, as many questions have all they cite as without it (0.604), and twice the memories stand beside."""

SMALL = 40
"""A memory of no more tokens is not made smaller."""

IN_SHORT = 60
"""The tokens that a memory is shortened to: a few sentences. What is quoted for the sake of another has no more."""

NEIGHBOURS = 10
"""The best so many memories get what they can't be understood without."""

SHORT = 12
"""A message of no more words is not understood alone: a reply ("Yes, on Friday") by the question before it, a question
by the reply."""

SUMMARIES = 0.1
"""The share of the room for what other sessions' summaries say: they point to what was said, and repeat it."""

PROCEDURES = 0.3
"""The same for steps that worked, which are there only when somebody asks how to do something: they are the answer."""

MIDDLING = 0.5
"""The importance of a message that nobody has weighed."""

DAY = 86_400_000_000
FRESH, OLD, OLD_COUNTS = 30, 365, 0.7
"""A memory counts whole for thirty days, then less and less, from a year on this much: age makes it shorter, and never
keeps out what answers."""

NO_ROOM = "no room left"


@dataclass(frozen=True, slots=True)
class Memory:
    """Something that was said, as far as a context cares. ``relevance`` is its share of the best score, ``rank`` is
    0 for what is quoted beside another."""

    id: str
    session: str
    title: str | None
    role: str
    author: str | None
    timestamp: str | None
    text: str
    rank: int
    relevance: float
    importance: float
    pinned: bool
    why: Mapping[str, object]

    @property
    def group(self) -> str:
        return render.group(self.session, render.day(self.timestamp), self.title)


@dataclass(slots=True)
class Shelf:
    """The pieces so far, by the id of what they show, in the room that is left."""

    plan: Plan
    room: int
    pieces: dict[str, Piece] = field(default_factory=dict)
    heads: dict[str, int] = field(default_factory=dict)

    def put(self, piece: Piece) -> bool:
        """Take a piece in, in place of one that shows the same; whether it fits."""
        before = self.pieces.get(piece.item.message_id)
        head = 0 if piece.group in self.heads else self.plan.count(piece.group)
        cost = piece.item.tokens + head - (before.item.tokens if before else 0)
        if cost > self.room:
            return False
        self.room -= cost
        self.heads[piece.group] = self.heads.get(piece.group, head)
        self.pieces[piece.item.message_id] = piece
        return True

    def left_for(self, group: str) -> int:
        """The room for a piece under a head."""
        return self.room - (0 if group in self.heads else self.plan.count(group))


def wanted(budget: int) -> int:
    """How many hits a context of a budget chooses from."""
    return max(FEWEST, budget // LEAST)


def choose(
    plan: Plan, material: Material, shown: Collection[str], room: int, dropped: list[Dropped]
) -> list[Piece]:
    """The memories that stand in ``room`` tokens, but for those that the window shows already."""
    if not plan.wants("retrieved"):
        dropped.extend(Dropped(hit.message_id, "retrieved memories have no share") for hit in material.hits)
        return []
    shelf = Shelf(plan, room - plan.count(render.RETRIEVED))
    memories = [one for one in in_turn(plan, _ranked(material, dropped)) if one.id not in shown]
    steps = [summary for summary in material.summaries if summary.level == "procedure"]
    _summaries(shelf, material, steps, int(room * PROCEDURES))
    others = [summary for summary in material.summaries if summary.level != "procedure"]
    _summaries(shelf, material, others, int(room * SUMMARIES))
    whole_room = shelf.room
    for memory in memories:
        if memory.id in shelf.pieces:  # it is there, quoted beside another
            continue
        if shelf.room <= plan.budget // FULL:
            dropped.append(Dropped(memory.id, NO_ROOM))
            continue
        piece = _in(shelf, memory, max(allowance(plan, memory, whole_room), SMALL))
        if piece is None or not shelf.put(piece):
            dropped.append(Dropped(memory.id, NO_ROOM))
        elif memory.rank <= NEIGHBOURS:
            for neighbour in _beside(material, memory, shown):
                if neighbour.id not in shelf.pieces:
                    quoted = _in(shelf, neighbour, IN_SHORT)
                    if quoted is not None and quoted.item.fidelity != "placeholder":
                        shelf.put(quoted)
    _make_whole(shelf, memories)
    return list(shelf.pieces.values())


def whole(plan: Plan, hits: Sequence[Hit]) -> Iterator[Piece]:
    """Each hit as it would stand in full, whatever the room."""
    for memory in _ranked(Material(hits=hits), []):
        piece = _whole(plan, memory, plan.budget)
        if piece is not None:
            yield piece


def in_turn(plan: Plan, memories: Iterable[Memory]) -> list[Memory]:
    """In the order in which they get their place: at most so many of each session first, then the others. The
    pinned ones come first among those that are about as relevant."""
    first: list[Memory] = []
    later: list[Memory] = []
    sessions: Counter[str] = Counter()
    for memory in sorted(memories, key=lambda one: (-round(one.relevance, 1), not one.pinned, one.rank)):
        sessions[memory.session] += 1
        (first if sessions[memory.session] <= plan.per_session else later).append(memory)
    return first + later


def allowance(plan: Plan, memory: Memory, room: int) -> int:
    """The tokens that a memory may take before others have had their turn."""
    importance = 1.0 if memory.pinned else memory.importance
    share = LARGEST * memory.relevance * (1 - MIDDLING + importance) * age_counts(plan.now, memory.timestamp)
    return int(room * share)


def age_counts(now: int, timestamp: str | None) -> float:
    """What a memory's age leaves of its allowance: 1 to ``OLD_COUNTS``; 1 where its time is not known."""
    said = moments.bound(timestamp, end=False) if timestamp else None
    if said is None:
        return 1.0
    days = (now - said) / DAY
    return 1.0 - (1.0 - OLD_COUNTS) * min(max((days - FRESH) / (OLD - FRESH), 0.0), 1.0)


def _ranked(material: Material, dropped: list[Dropped]) -> Iterator[Memory]:
    """The hits as memories, but for those far weaker than the best."""
    best = max((_unquoted(hit) for hit in material.hits), default=0.0)
    for hit in material.hits:
        quoting = _unquoted(hit) != hit.score
        # Of a best below 0, no share is below it: the best alone counts.
        relevance = _unquoted(hit) / best if best > 0 else float(_unquoted(hit) == best)
        if relevance < FLOOR and not quoting:
            dropped.append(Dropped(hit.message_id, f"scores less than {FLOOR:.0%} of the best"))
            continue
        pinned = hit.message_id in material.pinned
        importance = material.importance.get(hit.message_id, MIDDLING)
        why = {
            "rank": hit.rank,
            "score": hit.score,
            "relevance": round(relevance, 3),
            "importance": importance,
        }
        yield Memory(
            id=hit.message_id,
            session=hit.session_id,
            title=hit.session_title,
            role=hit.role,
            author=hit.author,
            timestamp=hit.timestamp,
            text=hit.text,
            rank=hit.rank,
            relevance=1.0 if quoting else relevance,
            importance=importance,
            pinned=pinned,
            why=why | ({"pinned": True} if pinned else {}),
        )


def _unquoted(hit: Hit) -> float:
    quoted: float = hit.why.get("score", {}).get("quoted", 0.0)
    return hit.score - quoted


def _beside(material: Material, memory: Memory, shown: Collection[str]) -> Iterator[Memory]:
    """What a memory can't be understood without: the question that it answers shortly, the reply to what it asks."""
    before, after = material.beside.get(memory.id, (None, None))
    if len(memory.text.split(maxsplit=SHORT)) > SHORT:
        return
    wanted = (
        before if before is not None and is_question(before.text) else None,
        after if is_question(memory.text) else None,
    )
    for message in wanted:
        if message is not None and message.id not in shown:
            yield replace(
                memory,
                id=message.id,
                role=message.role,
                author=message.author,
                timestamp=message.timestamp,
                text=message.text,
                rank=0,
                why={"beside": memory.id},
            )


def _summaries(shelf: Shelf, material: Material, summaries: Sequence[Summary], left: int) -> None:
    """Put in the best of some summaries, as far as ``left`` tokens go."""
    plan = shelf.plan
    titles = {hit.session_id: hit.session_title for hit in material.hits}
    for rank, summary in enumerate(summaries, 1):
        about = f"{summary.level} {summary.first_id}-{summary.last_id}"
        text = summary.text
        frame = plan.count(render.summary(summary.id, about, ""))
        if not fits(text, left - frame, plan.count):
            short = shorten(text, plan.words, left - frame - 2, plan.count)
            if short is None:
                continue
            text = short.text
        rendered = render.summary(summary.id, about, text)
        tokens = plan.count(rendered)
        group = render.group(summary.session_id, render.day(summary.since), titles.get(summary.session_id))
        why = {"rank": rank, "summary": summary.level, "messages": [summary.first_id, summary.last_id]}
        item = ContextItem(summary.id, text, tokens, "full" if text == summary.text else "compressed", why)
        place = _place(summary.since, summary.session_id, 0)
        if tokens <= left and shelf.put(Piece(item, rendered, group, place, rank=rank)):
            left -= tokens


def _in(shelf: Shelf, memory: Memory, most: int) -> Piece | None:
    """A memory in ``most`` tokens, or what room there is: whole, else in short, else named only."""
    plan, room = shelf.plan, min(most, shelf.left_for(memory.group))
    if (piece := _whole(plan, memory, room)) is not None:
        return piece
    room = min(room, IN_SHORT)
    head = render.message(memory.id, memory.role, memory.author, "", render.SHORTENED)
    short = shorten(memory.text, plan.words, room - plan.count(head) - 2, plan.count)
    if short is not None:
        rendered = render.message(memory.id, memory.role, memory.author, short.text, render.SHORTENED)
        if (tokens := plan.count(rendered)) <= room:
            return _piece(
                memory, ContextItem(memory.id, short.text, tokens, "compressed", memory.why), rendered
            )
    words = render.left_out(memory.id, memory.text)
    rendered = render.placeholder(memory.id, memory.role, memory.author, words)
    if (tokens := plan.count(rendered)) > max(room, SHORTEST):
        return None
    return _piece(memory, ContextItem(memory.id, words, tokens, "placeholder", memory.why), rendered)


def _whole(plan: Plan, memory: Memory, room: int) -> Piece | None:
    rendered = render.message(memory.id, memory.role, memory.author, memory.text)
    if not fits(rendered, room, plan.count):
        return None
    return _piece(
        memory, ContextItem(memory.id, memory.text, plan.count(rendered), "full", memory.why), rendered
    )


def _piece(memory: Memory, item: ContextItem, rendered: str) -> Piece:
    place = _place(memory.timestamp, memory.session, int(memory.id[1:]))
    return Piece(item, rendered, memory.group, place, rank=memory.rank)


def _place(timestamp: str | None, session: str, key: int) -> Place:
    """The order of time, the undated last."""
    return timestamp is None, timestamp or "", session, key


def _make_whole(shelf: Shelf, memories: Sequence[Memory]) -> None:
    """What room is left makes the shortened ones whole, the best first."""
    for memory in sorted(memories, key=lambda one: one.rank):
        piece = shelf.pieces.get(memory.id)
        if piece is not None and piece.item.fidelity != "full":
            whole = _whole(shelf.plan, memory, shelf.room + piece.item.tokens)
            if whole is not None:
                shelf.put(whole)
