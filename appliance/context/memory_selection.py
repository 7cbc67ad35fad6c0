"""Selects the memories of a context, and how much of each.

The token allowance of a memory grows with its relevance, importance and recency. A larger memory is shortened to its
most relevant parts, or to a placeholder. The tokens that are left at the end restore shortened memories in full, or
lengthen those for which they do not suffice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from appliance import timestamps
from appliance.context import render, worth
from appliance.context.budget import MIN_SHORTENED_TOKENS, fits, shorten
from appliance.context.materials import ContextMaterial, ContextPlan, PromptPart, TimelinePosition
from appliance.context.stack_traces import has_trace
from appliance.store.scripts import is_question
from appliance.types import ContextItem, Dropped, Hit, Summary
from appliance.types.placeholders import placeholder_kind

MIN_MEMORY_TOKENS = 16
"""The tokens of a small memory with its id and author, which bounds how many memories fit into a budget."""

MIN_HITS = 40
"""The hits that even a small budget chooses from."""

FULL_BELOW_BUDGET_FRACTION = 100
"""The selection ends when less than a hundredth of the budget is left: to search for a memory that still fits would
take as long as all the selection before."""

MIN_RELEVANCE = 0.05
"""Memories with less than this share of the best score are left out. Of 760 questions on LoCoMo none loses a cited
message by it; with 0.1 two do, with 0.4 thirty-five. The score of quoted phrases is not counted, because the answer
often stands next to the quoted message and need not contain the phrase."""

MAX_MEMORY_SHARE = 0.35
"""The share of the tokens that the best memory may take at first, if it is recent. On BEAM, with its long answers, as
many questions get all the messages they cite as without this limit (0.604), among twice as many memories."""

ALWAYS_ALLOWED_TOKENS = 40
"""A memory of no more tokens is never shortened."""

EXCERPT_TOKENS = 60
"""The tokens that a memory is shortened to: a few sentences. A neighbour of a memory gets no more."""

TRACE_SHARE = 0.1
"""The share of the budget that a memory with a stack trace is shortened to: its error and the frames nearest to it."""

MEMORIES_WITH_NEIGHBOURS = 10
"""How many of the best memories get the neighbours that they can't be understood without."""

SHORT_MESSAGE_WORDS = 12
"""A message of no more words is not understood alone: a reply ("Yes, on Friday") needs the question before it, and a
question needs its reply."""

SUMMARIES_SHARE = 0.1
"""The share of the tokens for summaries of other sessions, which point to messages and repeat them."""

SUMMARIES_SHARE_OF_OVERVIEW = 0.5
"""The same where the query names nothing to look for, as in "what do you know about me"."""

PROCEDURES_SHARE = 0.3
"""The share of the tokens for procedures, which are selected only for a how-to question and answer it."""

DEFAULT_IMPORTANCE = 0.5
"""The importance of a message that has no score yet."""

DAY_MICROSECONDS = 86_400_000_000
FRESH_DAYS, OLD_DAYS, OLD_AGE_FACTOR = 30, 365, 0.7
"""The allowance of a memory is whole for thirty days, then falls to this factor at a year: age makes a memory shorter,
but never excludes it."""

NO_TOKENS_LEFT = "no room left"
FAR_WEAKER = "far weaker match than the best"
UNLIKELY = "too unlikely for a context of this size"
REPEATS_MESSAGES = "a summary of messages that are shown"
NO_GOOD_MATCH = "no good match for the query"
OVER_LIMIT = "over the recall limit"
PLACEHOLDER = "a placeholder of the app, without words of a person"


@dataclass(frozen=True, slots=True)
class MemoryCandidate:
    """A message that may stand in a context.

    Attributes:
        rank: Its rank among the hits; 0 for the neighbour of another memory.
        relevance: Its share of the best score.
        importance: 0 to 1.
        most_tokens: The most that it is worth.
    """

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
    most_tokens: int
    corrected: str | None = None
    judgement: str | None = None

    @property
    def group(self) -> str:
        return render.group(self.session, render.day(self.timestamp), self.title)


@dataclass(slots=True)
class MemorySelection:
    """The prompt parts selected so far, by message id, and the tokens that are left."""

    plan: ContextPlan
    tokens_left: int
    pieces: dict[str, PromptPart] = field(default_factory=dict)
    heading_tokens: dict[str, int] = field(default_factory=dict)

    def put(self, piece: PromptPart) -> bool:
        """Add a part, or replace the part of the same message. Returns whether it fits."""
        before = self.pieces.get(piece.item.message_id)
        head = 0 if piece.group in self.heading_tokens else self.plan.count(piece.group)
        cost = piece.item.tokens + head - (before.item.tokens if before else 0)
        if cost > self.tokens_left:
            return False
        self.tokens_left -= cost
        self.heading_tokens[piece.group] = self.heading_tokens.get(piece.group, head)
        self.pieces[piece.item.message_id] = piece
        return True

    def take_out(self, id: str) -> None:
        """Take a part out again, and the head of its group if nothing else stands under it."""
        piece = self.pieces.pop(id)
        self.tokens_left += piece.item.tokens
        if not any(other.group == piece.group for other in self.pieces.values()):
            self.tokens_left += self.heading_tokens.pop(piece.group)

    def tokens_left_under(self, group: str) -> int:
        """The tokens left for a part in a group, whose head may have to be added."""
        return self.tokens_left - (0 if group in self.heading_tokens else self.plan.count(group))


def hits_needed(budget: int) -> int:
    """How many hits a context with this budget chooses from."""
    return max(MIN_HITS, budget // MIN_MEMORY_TOKENS)


def select_memories(
    plan: ContextPlan, material: ContextMaterial, shown: Collection[str], max_tokens: int, dropped: list[Dropped]
) -> list[PromptPart]:
    """Select memories and summaries.

    Args:
        plan: The plan of the context.
        material: What can be selected.
        shown: The ids of messages that the recent turns show already.
        max_tokens: The most tokens, with the heading.
        dropped: Gets the memories that are left out.
    """
    if not plan.has_share("retrieved"):
        dropped.extend(Dropped(hit.message_id, "retrieved memories have no share") for hit in material.hits)
        return []
    hits = material.hits
    if material.no_match:
        dropped.extend(Dropped(hit.message_id, NO_GOOD_MATCH) for hit in hits)
        hits = ()
    selection = MemorySelection(plan, max_tokens - plan.count(render.RETRIEVED))
    memories = [
        one
        for one in selection_order(plan, _to_memories(replace(material, hits=hits), dropped, plan.budget))
        if one.id not in shown
    ]
    procedures = [summary for summary in material.summaries if summary.level == "procedure"]
    _add_summaries(selection, material, procedures, int(max_tokens * PROCEDURES_SHARE))
    others = [summary for summary in material.summaries if summary.level != "procedure"]
    share = SUMMARIES_SHARE_OF_OVERVIEW if plan.names_nothing else SUMMARIES_SHARE
    _add_summaries(selection, material, others, int(max_tokens * share))
    memory_tokens = selection.tokens_left
    summary_count = len(selection.pieces)

    def memory_count() -> int:
        return len(selection.pieces) - summary_count

    for memory in memories:
        if memory.id in selection.pieces:  # as the neighbour of another memory
            continue
        if plan.recall_limit is not None and memory_count() >= plan.recall_limit:
            dropped.append(Dropped(memory.id, OVER_LIMIT))
            continue
        if selection.tokens_left <= plan.budget // FULL_BELOW_BUDGET_FRACTION:
            dropped.append(Dropped(memory.id, NO_TOKENS_LEFT))
            continue
        piece = _fit(selection, memory, max(token_allowance(plan, memory, memory_tokens), ALWAYS_ALLOWED_TOKENS))
        if piece is None or piece.item.fidelity == "placeholder":
            # Its sentences are longer than its allowance: it comes before all that is weaker.
            piece = (
                _fit_in_words(selection, memory, int(min(memory_tokens * memory.relevance, memory.most_tokens)))
                or piece
            )
        if piece is None or not selection.put(piece):
            dropped.append(Dropped(memory.id, NO_TOKENS_LEFT))
        elif memory.rank <= MEMORIES_WITH_NEIGHBOURS:
            for neighbour in _needed_neighbours(material, memory, shown):
                if neighbour.id not in selection.pieces and memory_count() != plan.recall_limit:
                    part = _fit(selection, neighbour, EXCERPT_TOKENS)
                    if part is not None and part.item.fidelity != "placeholder":
                        selection.put(part)
    _take_out_repetitions(selection, others, shown, dropped)
    _give_tokens_left(selection, memories)
    return list(selection.pieces.values())


def full_parts(plan: ContextPlan, hits: Sequence[Hit]) -> Iterator[PromptPart]:
    """Each hit in full, if it fits into the budget by itself."""
    for memory in _to_memories(ContextMaterial(hits=hits), [], plan.budget):
        piece = _full_part(plan, memory, plan.budget)
        if piece is not None:
            yield piece


def selection_order(plan: ContextPlan, memories: Iterable[MemoryCandidate]) -> list[MemoryCandidate]:
    """The order of selection: at most ``per_session`` memories of each session first, then the others. Pinned memories
    come first among those of about the same relevance."""
    first: list[MemoryCandidate] = []
    overflow: list[MemoryCandidate] = []
    sessions: Counter[str] = Counter()
    for memory in sorted(memories, key=lambda one: (-round(one.relevance, 1), not one.pinned, one.rank)):
        sessions[memory.session] += 1
        (first if sessions[memory.session] <= plan.per_session else overflow).append(memory)
    return first + overflow


def token_allowance(plan: ContextPlan, memory: MemoryCandidate, max_tokens: int) -> int:
    """The tokens that a memory may take before the others are selected."""
    importance = 1.0 if memory.pinned else memory.importance
    share = (
        MAX_MEMORY_SHARE
        * memory.relevance
        * (1 - DEFAULT_IMPORTANCE + importance)
        * age_factor(plan.now, memory.timestamp)
    )
    return int(max_tokens * share)


def age_factor(now: int, timestamp: str | None) -> float:
    """The factor of a memory's allowance by age: 1 down to ``OLD_AGE_FACTOR``; 1 if its time is unknown."""
    sent_at = timestamps.parse_bound(timestamp, end=False) if timestamp else None
    if sent_at is None:
        return 1.0
    days = (now - sent_at) / DAY_MICROSECONDS
    return 1.0 - (1.0 - OLD_AGE_FACTOR) * min(max((days - FRESH_DAYS) / (OLD_DAYS - FRESH_DAYS), 0.0), 1.0)


def _to_memories(material: ContextMaterial, dropped: list[Dropped], budget: int) -> Iterator[MemoryCandidate]:
    """The hits as candidates, without those far weaker than the best, and those that are not worth their place."""
    floor = worth.least_score(budget)
    best = max((_score_without_quotes(hit) for hit in material.hits), default=0.0)
    for hit in material.hits:
        if placeholder_kind(hit.text) is not None:
            dropped.append(Dropped(hit.message_id, PLACEHOLDER))
            continue
        quoting = _score_without_quotes(hit) != hit.points
        # If the best score is not positive, there are no shares of it: the best alone counts.
        relevance = _score_without_quotes(hit) / best if best > 0 else float(_score_without_quotes(hit) == best)
        if relevance < MIN_RELEVANCE and not quoting:
            dropped.append(Dropped(hit.message_id, FAR_WEAKER))
            continue
        worth_of_hit = material.worth.get(hit.message_id, 1.0)
        if worth_of_hit < floor:
            dropped.append(Dropped(hit.message_id, UNLIKELY))
            continue
        pinned = hit.message_id in material.pinned
        importance = material.importance.get(hit.message_id, DEFAULT_IMPORTANCE)
        why = {"rank": hit.rank, "score": hit.score, "relevance": round(relevance, 3), "importance": importance}
        yield MemoryCandidate(
            id=hit.message_id,
            session=hit.session_id,
            title=hit.session_title,
            role=hit.role,
            author=hit.who if hit.document else hit.author,
            timestamp=hit.timestamp,
            text=hit.text,
            rank=hit.rank,
            relevance=1.0 if quoting else relevance,
            importance=importance,
            pinned=pinned,
            why=why | ({"pinned": True} if pinned else {}),
            corrected=hit.corrected,
            judgement=material.judgements.get(hit.message_id),
            most_tokens=worth.most_tokens(worth_of_hit, budget),
        )


def _score_without_quotes(hit: Hit) -> float:
    quoted: float = hit.why.get("score", {}).get("quoted", 0.0)
    return hit.points - quoted


def _needed_neighbours(
    material: ContextMaterial, memory: MemoryCandidate, shown: Collection[str]
) -> Iterator[MemoryCandidate]:
    """The neighbours that a short memory needs: the question that it answers, or the reply to its question."""
    before, after = material.neighbours.get(memory.id, (None, None))
    if len(memory.text.split(maxsplit=SHORT_MESSAGE_WORDS)) > SHORT_MESSAGE_WORDS:
        return
    wanted = (
        before if before is not None and is_question(before.text) else None,
        after if is_question(memory.text) else None,
    )
    for message in wanted:
        if message is not None and message.id not in shown and placeholder_kind(message.text) is None:
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


def _add_summaries(
    selection: MemorySelection, material: ContextMaterial, summaries: Sequence[Summary], max_tokens: int
) -> None:
    """Add the best of some summaries, within ``max_tokens``."""
    plan = selection.plan
    titles = {hit.session_id: hit.session_title for hit in material.hits}
    for rank, summary in enumerate(summaries, 1):
        contradicted = sorted({one["fact_id"] for one in summary.metadata.get("contradicts", ())})
        about = f"{summary.level} {summary.first_id}-{summary.last_id}"
        about += f", contradicts {' '.join(contradicted)}" if contradicted else ""
        text = summary.text
        frame = plan.count(render.summary(summary.id, about, ""))
        if not fits(text, max_tokens - frame, plan.count):
            short = shorten(text, plan.words, max_tokens - frame - 2, plan.count)
            if short is None:
                continue
            text = short.text
        rendered = render.summary(summary.id, about, text)
        tokens = plan.count(rendered)
        group = render.group(summary.session_id, render.day(summary.since), titles.get(summary.session_id))
        why = {"rank": rank, "summary": summary.level, "messages": [summary.first_id, summary.last_id]}
        item = ContextItem(summary.id, text, tokens, "full" if text == summary.text else "compressed", why)
        position = _timeline_position(summary.since, summary.session_id, 0)
        if tokens <= max_tokens and selection.put(PromptPart(item, rendered, group, position, rank=rank)):
            max_tokens -= tokens


def _take_out_repetitions(
    selection: MemorySelection, summaries: Iterable[Summary], shown: Collection[str], dropped: list[Dropped]
) -> None:
    """Take out the summaries that repeat messages of the context: half of their quotes, or all that they cover."""
    texts = {id: piece.item.text for id, piece in selection.pieces.items()}
    full = {id: piece for id, piece in selection.pieces.items() if piece.item.fidelity == "full"}
    said = {*shown, *full}
    for summary in summaries:
        if summary.id not in texts:
            continue
        repeated = sum(one.message_id in said or one.text in texts.get(one.message_id, "") for one in summary.quotes)
        first, last = int(summary.first_id[1:]), int(summary.last_id[1:])
        covered = sum(
            id.startswith("m") and first <= int(id[1:]) <= last and piece.position[2] == summary.session_id
            for id, piece in full.items()
        )
        if (repeated and 2 * repeated >= len(summary.quotes)) or covered >= summary.messages:
            selection.take_out(summary.id)
            dropped.append(Dropped(summary.id, REPEATS_MESSAGES))


def _fit(selection: MemorySelection, memory: MemoryCandidate, limit: int) -> PromptPart | None:
    """A memory in ``limit`` tokens, or what is left of them: whole, else shortened, else a placeholder."""
    plan, max_tokens = selection.plan, min(limit, selection.tokens_left_under(memory.group))
    if (piece := _full_part(plan, memory, max_tokens)) is not None:
        return piece
    max_tokens = min(max_tokens, _excerpt_tokens(plan, memory))
    if (piece := _shortened_part(plan, memory, max_tokens)) is not None:
        return piece
    if fits(memory.text, EXCERPT_TOKENS, plan.count):
        return None  # a placeholder would say less in about as many tokens
    words = render.placeholder_text(memory.id, memory.text)
    rendered = render.placeholder(memory.id, memory.role, memory.author, words)
    if (tokens := plan.count(rendered)) > max(max_tokens, MIN_SHORTENED_TOKENS):
        return None
    return _part(memory, ContextItem(memory.id, words, tokens, "placeholder", memory.why), rendered)


def _fit_in_words(selection: MemorySelection, memory: MemoryCandidate, limit: int) -> PromptPart | None:
    """A memory in ``limit`` tokens, or what is left of them: whole, else shortened to no more than it must be."""
    plan, max_tokens = selection.plan, min(limit, selection.tokens_left_under(memory.group))
    return _full_part(plan, memory, max_tokens) or _shortened_part(plan, memory, max_tokens)


def _excerpt_tokens(plan: ContextPlan, memory: MemoryCandidate) -> int:
    """The tokens that a memory is shortened to before the others are selected."""
    return max(EXCERPT_TOKENS, int(plan.budget * TRACE_SHARE)) if has_trace(memory.text) else EXCERPT_TOKENS


def _shortened_part(plan: ContextPlan, memory: MemoryCandidate, max_tokens: int) -> PromptPart | None:
    mark = render.marks(render.SHORTENED_MARK, memory.corrected, memory.judgement)
    head = render.message(memory.id, memory.role, memory.author, "", mark)
    short = shorten(memory.text, plan.words, max_tokens - plan.count(head) - 2, plan.count)
    if short is None:
        return None
    rendered = render.message(memory.id, memory.role, memory.author, short.text, mark)
    if (tokens := plan.count(rendered)) > max_tokens:
        return None
    return _part(memory, ContextItem(memory.id, short.text, tokens, "compressed", memory.why), rendered)


def _full_part(plan: ContextPlan, memory: MemoryCandidate, max_tokens: int) -> PromptPart | None:
    mark = render.marks("", memory.corrected, memory.judgement)
    rendered = render.message(memory.id, memory.role, memory.author, memory.text, mark)
    if not fits(rendered, max_tokens, plan.count):
        return None
    return _part(memory, ContextItem(memory.id, memory.text, plan.count(rendered), "full", memory.why), rendered)


def _part(memory: MemoryCandidate, item: ContextItem, rendered: str) -> PromptPart:
    position = _timeline_position(memory.timestamp, memory.session, int(memory.id[1:]))
    return PromptPart(item, rendered, memory.group, position, rank=memory.rank)


def _timeline_position(timestamp: str | None, session: str, key: int) -> TimelinePosition:
    """Orders by time, with undated memories last."""
    return timestamp is None, timestamp or "", session, key


def _give_tokens_left(selection: MemorySelection, memories: Sequence[MemoryCandidate]) -> None:
    """Restore shortened memories in full with the tokens that are left, best first. Those that do not fit in full share
    the rest by their relevance."""
    plan = selection.plan
    too_large: list[tuple[MemoryCandidate, PromptPart]] = []
    for memory in sorted(memories, key=lambda one: one.rank):
        piece = selection.pieces.get(memory.id)
        if piece is None or piece.item.fidelity == "full":
            continue
        full = _full_part(plan, memory, min(selection.tokens_left + piece.item.tokens, memory.most_tokens))
        if full is not None:
            selection.put(full)
        else:
            too_large.append((memory, piece))
    relevance = sum(memory.relevance for memory, _ in too_large)
    for memory, piece in too_large:
        if selection.tokens_left < MIN_SHORTENED_TOKENS or relevance <= 0:
            return
        share = min(int(selection.tokens_left * memory.relevance / relevance), selection.tokens_left)
        relevance -= memory.relevance
        longer = _shortened_part(plan, memory, min(piece.item.tokens + share, memory.most_tokens))
        if longer is not None and longer.item.tokens > piece.item.tokens:
            selection.put(longer)
