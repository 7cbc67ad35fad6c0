"""How a conversation is printed: author, time, marks and text of each message."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from appliance.cli import options, output
from appliance.errors import NotFound
from appliance.types.documents import DOCUMENT

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Hit, Importance, Message, MessageVersion, SessionInfo, Summary

NEIGHBOUR_COUNT = 3
"""How many messages before and after a message are shown with it."""

BRIEF_CHARACTERS = 160
"""Characters of a neighbour on a terminal: enough to see the topic."""

FIRST_VARIANTS, LAST_VARIANTS = 5, 15
"""How many of the first and of the last similar messages are listed."""

INDENT = "    "

_MESSAGE_ID = re.compile(r"m[1-9]\d*")

METADATA_MARKS: Mapping[str, str] = {
    "hidden": "hidden",
    "branch": "other branch",
    "sidechain": "sidechain",
    "edited": "edited",
    "deleted": "deleted",
}
"""Metadata that a reader must see to understand a message, and the mark for it."""


def resolve(memory: Appliance, reference: str) -> tuple[Message | None, SessionInfo]:
    """Find what a reference names: a message with its session, or (with None) a session.

    Raises:
        NotFound: it names neither.
    """
    if not _MESSAGE_ID.fullmatch(reference):
        try:
            return None, memory.sessions.info(reference)
        except NotFound:
            if options.SESSION_ID.fullmatch(reference):
                raise
    try:
        message = memory.message(reference)
    except NotFound as error:
        if _MESSAGE_ID.fullmatch(reference):
            raise
        hint = "'appliance sessions' lists sessions; 'appliance search' finds messages."
        raise NotFound(f"There is no session or message {reference!r}.", hint=hint) from error
    return message, memory.sessions.info(message.session_id)


def message_position(message: Message, messages: Sequence[Message]) -> dict[str, Any]:
    """The position of a message in its session (from 1), with the ids of its neighbours."""
    ids = [neighbour.id for neighbour in messages]
    index = ids.index(message.id)
    return {"position": index + 1, "of": len(ids), "before": ids[max(0, index - NEIGHBOUR_COUNT) : index],
            "after": ids[index + 1 : index + 1 + NEIGHBOUR_COUNT]}  # fmt: skip


def show_session(info: SessionInfo, messages: Sequence[Message], summary: Summary | None = None) -> None:
    """Print a conversation, its summary first."""
    _print_heading(info)
    if summary is not None:
        output.print_styled(f"summary  {summary.id}  {summary.made_by}", "dim")
        _print_text(summary.text, brief=False, is_dimmed=True)
        output.print_line()
    for message, pages in _folded(messages):
        _print_message(message)
        if pages:
            pages_text = (
                f"… {output.plural(pages, 'more page')} of {message.metadata[DOCUMENT]['name']}; --json has them"
            )
            output.print_styled(output.one_line(INDENT + pages_text), "dim")
            output.print_line()


def _folded(messages: Sequence[Message]) -> Iterator[tuple[Message, int]]:
    """The messages, of each document the first page only, each with the number of pages that are left out."""
    for (_, document), group in groupby(enumerate(messages), lambda one: _document_key(*one)):
        found = [message for _, message in group]
        if document is None:
            yield from ((message, 0) for message in found)
        else:
            yield found[0], len(found) - 1


def _document_key(number: int, message: Message) -> tuple[int, tuple[str, str] | None]:
    """Equal for the pages of one document, which stand together."""
    page = message.document
    return (0, (page.message, page.digest)) if page else (number, None)


def show_message(
    message: Message,
    info: SessionInfo,
    messages: Sequence[Message],
    variants: Sequence[Message],
    importance: Importance,
) -> None:
    """Print one message in full between its neighbours, then its details and the similar messages."""
    _print_heading(info)
    position = message_position(message, messages)
    index = position["position"] - 1
    for neighbour in messages[max(0, index - NEIGHBOUR_COUNT) : index]:
        _print_message(neighbour, brief=True)
    _print_message(message, is_target=True)
    for neighbour in messages[index + 1 : index + 1 + NEIGHBOUR_COUNT]:
        _print_message(neighbour, brief=True)
    parts = [f"{name} {part:.2f}" for name, part in importance.parts.items() if round(part, 2) or name == "role"]
    fields = {
        "position": f"{position['position']} of {position['of']} in {info.id}",
        "external id": message.external_id,
        "reply to": message.reply_to,
        **{name: _value_text(value) for name, value in message.metadata.items() if name != DOCUMENT},
        DOCUMENT: message.document.credit(message.author) if message.document else None,
        "importance": f"{importance.score:.2f} = {' + '.join(parts)}",
        "recalled": f"{output.plural(importance.times, 'time')}, last {output.format_timestamp(importance.last_at)}"
        if importance.times
        else None,
        "feedback": feedback_text(importance) or None,
    }
    output.print_fields({name: value for name, value in fields.items() if value is not None})
    if len(variants) > 1:
        _print_variants(variants)


def _print_variants(variants: Sequence[Message]) -> None:
    output.print_line()
    output.print_styled(f"{len(variants):,} similar messages", "bold")
    shown = [*variants[:FIRST_VARIANTS], *variants[max(FIRST_VARIANTS, len(variants) - LAST_VARIANTS) :]]
    output.print_columns(
        [[output.format_timestamp(v.timestamp), v.id, v.session_id, v.author or v.role] for v in shown]
    )
    if len(shown) < len(variants):
        output.say(f"These are the first {FIRST_VARIANTS} and the last {LAST_VARIANTS}; --json lists all.")


def feedback_text(importance: Importance) -> str:
    """The feedback on a message, such as "helpful (1), used (3); it counts as helpful"; empty if there is none."""
    given = ", ".join(f"{kind} ({times:,})" for kind, times in importance.feedback.items())
    return f"{given}; it counts as {importance.judgement}" if importance.judgement else given


def corrected_mark(shown: Message | Hit) -> str:
    """That a person corrected a text, and when."""
    return f"corrected by you on {(shown.corrected or '')[:10]}"


def show_versions(message: Message, versions: Sequence[MessageVersion]) -> None:
    """Print the forms of a message, the earliest first, the present one last."""
    if not versions:
        output.say(f"{message.id} was never changed.")
    for version in versions:
        replaced = f"until {output.format_timestamp(version.replaced_at)}"
        output.print_styled(f"version {version.number}", "bold", f"  {version.author or version.role}  {replaced}")
        output.print_line(_indent(version.text))
    now = f"  {message.author or message.role}  " + (corrected_mark(message) if message.corrected else "now")
    output.print_styled(f"version {len(versions) + 1}", "bold", now)
    output.print_line(_indent(message.text))


def _indent(text: str) -> str:
    return textwrap.indent(output.clean(text), INDENT)


def marks(message: Message) -> list[str]:
    """What a reader must know of a message besides its text."""
    if message.document:
        return [message.document.label]
    is_role_hidden = message.role not in ("user", "assistant") and message.author
    found: list[str] = [message.role] if is_role_hidden else []  # without an author the role stands in its place
    found += ["pinned"] if message.pinned else []
    found += ["time of the conversation"] if message.time == "conversation" else []
    found += [corrected_mark(message)] if message.corrected else []
    found += [mark for key, mark in METADATA_MARKS.items() if message.metadata.get(key)]
    attachments = message.metadata.get("attachments")
    attachment_names = [
        str(item.get("name") or "unnamed")
        for item in (attachments if isinstance(attachments, list) else [])
        if isinstance(item, Mapping)
    ]
    return found + ([f"with {', '.join(attachment_names)}"] if attachment_names else [])


def _print_heading(info: SessionInfo) -> None:
    output.print_styled(info.title or info.external_id, "bold cyan")
    details = [info.id, info.format, output.plural(info.messages + info.shared, "message")]
    details += [output.format_span(info.first_at, info.last_at), f"user {info.user_id}"]
    details += [f"branch of {info.branch_of} at {info.branch_at}"] if info.branch_of else []
    output.print_styled(" · ".join(details), "dim")
    output.print_line()


def _print_message(message: Message, *, brief: bool = False, is_target: bool = False) -> None:
    terminal = output.is_terminal()
    time = output.format_timestamp(message.timestamp)
    author = message.author or message.role
    message_marks = marks(message)
    marks_text = f"[{', '.join(message_marks)}]" if message_marks else ""
    is_dimmed = brief or message.role in ("system", "tool") or bool(message.metadata.get("hidden"))
    if terminal:
        from rich.text import Text

        style = "dim" if is_dimmed else "bold green" if message.role == "assistant" else "bold"
        head = Text(("▶ " if is_target else "") + output.one_line(author), style=style)
        head.append("  " + "  ".join(filter(None, (time, message.id, output.one_line(marks_text)))), style="dim")
        output.console().print(head, soft_wrap=True)
    else:
        columns = ("> " if is_target else "") + author, time, message.id, marks_text
        output.print_line(output.COLUMN_GAP.join(output.one_line(part) for part in columns if part))
    _print_text(message.text, brief=brief and terminal, is_dimmed=is_dimmed)
    output.print_line()


def _print_text(text: str, *, brief: bool, is_dimmed: bool) -> None:
    if brief:
        text = textwrap.shorten(text, BRIEF_CHARACTERS, placeholder=" …")
    text = output.clean(text) or "(no text)"
    if output.is_terminal():
        from rich.padding import Padding
        from rich.text import Text

        output.console().print(Padding(Text(text, style="dim" if is_dimmed else ""), (0, 0, 0, len(INDENT))))
    else:
        output.print_line(textwrap.indent(text, INDENT))


def _value_text(value: object) -> str:
    import msgspec

    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
