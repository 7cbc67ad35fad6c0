"""The present conversation: its latest turns, and the running summary of what came before them."""

from __future__ import annotations

from collections.abc import Sequence

from appliance.context import render
from appliance.context.budget import fits, shorten
from appliance.context.plan import Piece, Plan
from appliance.types import ContextItem, Message, Window

LAST = 4
"""So many of the latest turns stand in any case, two exchanges as a rule: whole if their share holds them, else the
larger ones shortened."""


def recent(plan: Plan, turns: Sequence[Message], room: int) -> list[Piece]:
    """The newest turns that fit, oldest first: the last ones in any form, those before them only whole."""
    last = turns[-LAST:]
    costs = [_cost(plan, message, room) for message in last]
    most = _level(costs, room)
    chosen: list[Piece] = []
    for message, cost in zip(reversed(last), reversed(costs), strict=True):
        nth = len(chosen) + 1
        piece = _whole(plan, message, nth) if cost <= most else _smaller(plan, message, nth, most)
        if piece is None or piece.item.tokens > room:
            return chosen[::-1]
        room -= piece.item.tokens
        chosen.append(piece)
    if all(piece.item.fidelity == "full" for piece in chosen):
        for message in reversed(turns[: -len(last)]):
            if _cost(plan, message, room) > room:
                break
            piece = _whole(plan, message, len(chosen) + 1)
            room -= piece.item.tokens
            chosen.append(piece)
    return chosen[::-1]


def summary(plan: Plan, window: Window | None, room: int) -> list[Piece]:
    """What stands for the turns before the window's: its sentences, the latest first to get their place, each with
    its message; a summary that a model wrote as a whole, or shortened."""
    if window is None or not window.summary:
        return []
    if window.made_by != "extractive" or not window.quotes:
        return _written(plan, window, window.summary, room)
    chosen: list[Piece] = []
    for quote in reversed(window.quotes):
        rendered = render.sentence(quote.message_id, quote.text)
        tokens = plan.count(rendered)
        if tokens <= room:
            room -= tokens
            why = {"summary": window.session_id, "start": quote.start, "end": quote.end}
            item = ContextItem(quote.message_id, quote.text, tokens, "compressed", why)
            chosen.append(Piece(item, rendered))
    return chosen[::-1]


def _written(plan: Plan, window: Window, text: str, room: int) -> list[Piece]:
    about = f"{window.folded} messages, by {render.plain(window.made_by, render.LONGEST_NAME)}"
    why = {
        "summary": window.session_id,
        "messages": list(dict.fromkeys(quote.message_id for quote in window.quotes)),
    }
    frame = plan.count(render.summary(window.session_id, about, ""))
    if not fits(text, room - frame, plan.count):
        short = shorten(text, plan.words, room - frame - 2, plan.count)
        if short is None:
            return []
        text = short.text
    rendered = render.summary(window.session_id, about, text)
    return [Piece(ContextItem(window.session_id, text, plan.count(rendered), "compressed", why), rendered)]


def _level(costs: Sequence[int], room: int) -> int:
    """The most that one may take, so that all together take no more than ``room``: the smaller ones stay whole."""
    left, most = room, room
    for still, cost in zip(range(len(costs), 0, -1), sorted(costs), strict=True):
        most = left // still
        if cost > most:
            return most
        left -= cost
    return room


def _cost(plan: Plan, message: Message, room: int) -> int:
    """The tokens of a turn; more than ``room`` where it is plain that it does not fit."""
    rendered = render.message(message.id, message.role, message.author, message.text)
    return plan.count(rendered) if fits(rendered, room, plan.count) else room + 1


def _whole(plan: Plan, message: Message, nth: int) -> Piece:
    rendered = render.message(message.id, message.role, message.author, message.text)
    item = ContextItem(message.id, message.text, plan.count(rendered), "full", {"recent": nth})
    return Piece(item, rendered, role=message.role)


def _smaller(plan: Plan, message: Message, nth: int, room: int) -> Piece | None:
    """A turn that is too large: shortened, else a note on where to read it."""
    id, role, author = message.id, message.role, message.author
    frame = plan.count(render.message(id, role, author, "", render.SHORTENED))
    if short := shorten(message.text, plan.words, room - frame - 2, plan.count):
        rendered = render.message(id, role, author, short.text, render.SHORTENED)
        if (tokens := plan.count(rendered)) <= room:
            return Piece(
                ContextItem(id, short.text, tokens, "compressed", {"recent": nth}), rendered, role=role
            )
    words = render.left_out(id, message.text)
    rendered = render.placeholder(id, role, author, words)
    if (tokens := plan.count(rendered)) > room:
        return None
    return Piece(ContextItem(id, words, tokens, "placeholder", {"recent": nth}), rendered, role=role)
