"""How a conversation reads: who, when, which marks, then the words."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from appliance.cli import out
from appliance.errors import NotFound

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance.types import Importance, Message, SessionInfo, Summary

NEIGHBOURS = 3
"""How many messages before and after one are shown with it."""

BRIEF = 160
"""A neighbour's characters on a terminal: enough to see what the talk was about."""

FIRST_SAID, LAST_SAID = 5, 15
"""How many of the times that something was said are listed, from either end."""

INDENT = "    "

_MESSAGE_ID = re.compile(r"m[1-9]\d*")
_SESSION_ID = re.compile(r"s[1-9]\d*")

MARKS: Mapping[str, str] = {
    "hidden": "hidden",
    "branch": "other branch",
    "sidechain": "sidechain",
    "edited": "edited",
    "deleted": "deleted",
}
"""Metadata that a reader must see to understand a message, and the word for it."""


def resolve(memory: Appliance, reference: str) -> tuple[Message | None, SessionInfo]:
    """What a reference names: a message with its session, or a session.

    Raises:
        NotFound: neither, or several.
    """
    if _MESSAGE_ID.fullmatch(reference):
        message = memory.message(reference)
        return message, memory.sessions.info(message.session_id)
    try:
        return None, memory.sessions.info(reference)
    except NotFound as no_session:
        if _SESSION_ID.fullmatch(reference):
            raise
        try:
            message = memory.message(reference)
        except NotFound as no_message:
            hint = "'appliance sessions' lists sessions, 'appliance search' finds messages"
            raise NotFound(f"{no_session}, and {no_message}", hint=hint) from no_message
        return message, memory.sessions.info(message.session_id)


def place(message: Message, messages: Sequence[Message]) -> dict[str, Any]:
    """Where in its session a message stands, with the ids around it."""
    ids = [other.id for other in messages]
    at = ids.index(message.id)
    return {"position": at + 1, "of": len(ids), "before": ids[max(0, at - NEIGHBOURS) : at],
            "after": ids[at + 1 : at + 1 + NEIGHBOURS]}  # fmt: skip


def show_session(info: SessionInfo, messages: Sequence[Message], summary: Summary | None = None) -> None:
    """Print a conversation as it went, its summary on top."""
    _heading(info)
    if summary is not None:
        _print(f"summary  {summary.id}  {summary.made_by}", "dim")
        _words(summary.text, brief=False, quiet=True)
        _print("")
    for message in messages:
        _turn(message)


def show_message(
    message: Message,
    info: SessionInfo,
    messages: Sequence[Message],
    variants: Sequence[Message],
    importance: Importance,
) -> None:
    """Print one message whole, all that is known of it, what stands around it, and when its like was said."""
    _heading(info)
    where = place(message, messages)
    at = where["position"] - 1
    for other in messages[max(0, at - NEIGHBOURS) : at]:
        _turn(other, brief=True)
    _turn(message, chosen=True)
    for other in messages[at + 1 : at + 1 + NEIGHBOURS]:
        _turn(other, brief=True)
    facts = {
        "place": f"{where['position']} of {where['of']} in {info.id}",
        "external id": message.external_id,
        "reply to": message.reply_to,
        **{name: _value(value) for name, value in message.metadata.items()},
        "importance": _importance(importance),
        "recalled": _recalled(importance),
    }
    out.fields({name: value for name, value in facts.items() if value is not None})
    if len(variants) > 1:
        _said(variants)


def _importance(importance: Importance) -> str:
    """A score and what it is made of: "0.62 = role 0.25 + own 0.13 + …"."""
    told = [
        f"{name} {part:.2f}" for name, part in importance.parts.items() if round(part, 2) or name == "role"
    ]
    return f"{importance.score:.2f} = {' + '.join(told)}"


def _recalled(importance: Importance) -> str | None:
    if not importance.times:
        return None
    return f"{out.plural(importance.times, 'time')}, last {out.moment(importance.last_at)}"


def _said(variants: Sequence[Message]) -> None:
    """Print how often and when the like of a message was said."""
    _print("")
    _print(f"said {len(variants):,} times", "bold")
    shown = [*variants[:FIRST_SAID], *variants[max(FIRST_SAID, len(variants) - LAST_SAID) :]]
    moment = out.moment if out.on_terminal() else lambda timestamp: timestamp or "no time"
    out.columns([[moment(v.timestamp), v.id, v.session_id, v.author or v.role] for v in shown])
    if len(shown) < len(variants):
        out.say(f"the first {FIRST_SAID} and the last {LAST_SAID}; --json has them all")


def marks(message: Message) -> list[str]:
    """What a reader must know of a message beside its words."""
    quiet = message.role not in ("user", "assistant") and message.author
    found: list[str] = [message.role] if quiet else []  # without an author the role stands in its place
    found += ["pinned"] if message.pinned else []
    found += [word for key, word in MARKS.items() if message.metadata.get(key)]
    named = [str(a.get("name") or "unnamed") for a in _objects(message.metadata.get("attachments"))]
    return found + ([f"with {', '.join(named)}"] if named else [])


def _heading(info: SessionInfo) -> None:
    _print(info.title or info.external_id, "bold cyan")
    span = " to ".join(out.moment(t) for t in dict.fromkeys((info.first_at, info.last_at)) if t) or "no time"
    about = [
        info.id,
        info.format,
        out.plural(info.messages + info.shared, "message"),
        span,
        f"of {info.user_id}",
    ]
    about += [f"branch of {info.branch_of} at {info.branch_at}"] if info.branch_of else []
    _print(" · ".join(about), "dim")
    _print("")


def _turn(message: Message, *, brief: bool = False, chosen: bool = False) -> None:
    terminal = out.on_terminal()
    when = out.moment(message.timestamp) if terminal else message.timestamp or "no time"
    who = message.author or message.role
    marked = marks(message)
    told = f"[{', '.join(marked)}]" if marked else ""
    quiet = brief or message.role in ("system", "tool") or bool(message.metadata.get("hidden"))
    if terminal:
        from rich.text import Text

        style = "dim" if quiet else "bold green" if message.role == "assistant" else "bold"
        head = Text(("▶ " if chosen else "") + out.one_line(who), style=style)
        head.append("  " + "  ".join(filter(None, (when, message.id, out.one_line(told)))), style="dim")
        out.console().print(head, soft_wrap=True)
    else:
        columns = ("> " if chosen else "") + who, when, message.id, told
        out.line(out.GAP.join(out.one_line(part) for part in columns if part))
    _words(message.text, brief=brief and terminal, quiet=quiet)
    _print("")


def _words(text: str, *, brief: bool, quiet: bool) -> None:
    if brief:
        text = textwrap.shorten(text, BRIEF, placeholder=" …")
    text = out.clean(text) or "(no text)"
    if out.on_terminal():
        from rich.padding import Padding
        from rich.text import Text

        out.console().print(Padding(Text(text, style="dim" if quiet else ""), (0, 0, 0, len(INDENT))))
    else:
        out.line(textwrap.indent(text, INDENT))


def _print(text: str, style: str = "") -> None:
    if not out.on_terminal():
        out.line(text)
        return
    from rich.text import Text

    out.console().print(Text(out.clean(text), style=style), soft_wrap=True)


def _value(value: object) -> str:
    import msgspec

    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
