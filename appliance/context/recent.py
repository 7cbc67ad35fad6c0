"""The layers of the present session: its latest turns, and the running summary of the turns before them."""

from __future__ import annotations

from collections.abc import Sequence

from appliance.context import render
from appliance.context.budget import fits, shorten
from appliance.context.materials import ContextPlan, PromptPart
from appliance.types import ContextItem, Message, Window

ALWAYS_SHOWN_TURNS = 4
"""How many of the latest turns are always shown, usually two exchanges: in full if they fit into their share, else with
the larger ones shortened."""


def recent(plan: ContextPlan, turns: Sequence[Message], max_tokens: int) -> list[PromptPart]:
    """The newest turns that fit, oldest first: the last ones in any form, the turns before them only in full."""
    last = turns[-ALWAYS_SHOWN_TURNS:]
    costs = [_turn_tokens(plan, message, max_tokens) for message in last]
    limit = _fair_limit(costs, max_tokens)
    chosen: list[PromptPart] = []
    for message, cost in zip(reversed(last), reversed(costs), strict=True):
        nth = len(chosen) + 1
        piece = _full_turn(plan, message, nth) if cost <= limit else _reduced_turn(plan, message, nth, limit)
        if piece is None or piece.item.tokens > max_tokens:
            return chosen[::-1]
        max_tokens -= piece.item.tokens
        chosen.append(piece)
    if all(piece.item.fidelity == "full" for piece in chosen):
        for message in reversed(turns[: -len(last)]):
            if _turn_tokens(plan, message, max_tokens) > max_tokens:
                break
            piece = _full_turn(plan, message, len(chosen) + 1)
            max_tokens -= piece.item.tokens
            chosen.append(piece)
    return chosen[::-1]


def summary(plan: ContextPlan, window: Window | None, max_tokens: int) -> list[PromptPart]:
    """The running summary: of an extractive one the latest sentences that fit, each with its message; an abstractive
    one as a whole, or shortened."""
    if window is None or not window.summary:
        return []
    if window.made_by != "extractive" or not window.quotes:
        return _abstractive_summary(plan, window, window.summary, max_tokens)
    chosen: list[PromptPart] = []
    for quote in reversed(window.quotes):
        rendered = render.sentence(quote.message_id, quote.text)
        tokens = plan.count(rendered)
        if tokens <= max_tokens:
            max_tokens -= tokens
            why = {"summary": window.session_id, "start": quote.start, "end": quote.end}
            item = ContextItem(quote.message_id, quote.text, tokens, "compressed", why)
            chosen.append(PromptPart(item, rendered))
    return chosen[::-1]


def _abstractive_summary(plan: ContextPlan, window: Window, text: str, max_tokens: int) -> list[PromptPart]:
    about = f"{window.compacted} messages, by {render.single_line(window.made_by, render.MAX_NAME_CHARACTERS)}"
    why = {"summary": window.session_id, "messages": list(dict.fromkeys(quote.message_id for quote in window.quotes))}
    frame = plan.count(render.summary(window.session_id, about, ""))
    if not fits(text, max_tokens - frame, plan.count):
        short = shorten(text, plan.words, max_tokens - frame - 2, plan.count)
        if short is None:
            return []
        text = short.text
    rendered = render.summary(window.session_id, about, text)
    return [PromptPart(ContextItem(window.session_id, text, plan.count(rendered), "compressed", why), rendered)]


def _fair_limit(costs: Sequence[int], max_tokens: int) -> int:
    """The most tokens of one turn, so that all fit into ``max_tokens`` and the smaller turns stay in full."""
    tokens_left, limit = max_tokens, max_tokens
    for turns_left, cost in zip(range(len(costs), 0, -1), sorted(costs), strict=True):
        limit = tokens_left // turns_left
        if cost > limit:
            return limit
        tokens_left -= cost
    return max_tokens


def _turn_tokens(plan: ContextPlan, message: Message, max_tokens: int) -> int:
    """The tokens of a turn; ``max_tokens`` + 1 for any turn that does not fit."""
    rendered = render.message(
        message.id, message.role, message.author, message.text, render.marks("", message.corrected)
    )
    return plan.count(rendered) if fits(rendered, max_tokens, plan.count) else max_tokens + 1


def _full_turn(plan: ContextPlan, message: Message, nth: int) -> PromptPart:
    rendered = render.message(
        message.id, message.role, message.author, message.text, render.marks("", message.corrected)
    )
    item = ContextItem(message.id, message.text, plan.count(rendered), "full", {"recent": nth})
    return PromptPart(item, rendered, role=message.role)


def _reduced_turn(plan: ContextPlan, message: Message, nth: int, max_tokens: int) -> PromptPart | None:
    """A turn that is too large: shortened, else a placeholder."""
    id, role, author = message.id, message.role, message.author
    mark = render.marks(render.SHORTENED_MARK, message.corrected)
    frame = plan.count(render.message(id, role, author, "", mark))
    if short := shorten(message.text, plan.words, max_tokens - frame - 2, plan.count):
        rendered = render.message(id, role, author, short.text, mark)
        if (tokens := plan.count(rendered)) <= max_tokens:
            return PromptPart(ContextItem(id, short.text, tokens, "compressed", {"recent": nth}), rendered, role=role)
    words = render.placeholder_text(id, message.text)
    rendered = render.placeholder(id, role, author, words)
    if (tokens := plan.count(rendered)) > max_tokens:
        return None
    return PromptPart(ContextItem(id, words, tokens, "placeholder", {"recent": nth}), rendered, role=role)
