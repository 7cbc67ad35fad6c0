"""The lists of the dialog to forget: what may still say it, what would be erased, and earlier receipts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from appliance.types import Message
from appliance_tui.erasure import receipt_fields
from appliance_tui.widgets.display_text import minute, one_line, pluralize
from appliance_tui.widgets.rows import MUTED

if TYPE_CHECKING:
    from appliance.types import Echo, Receipt
    from appliance_tui.erasure import ErasureSummary

MAX_LINE_CHARACTERS = 400
"""Characters of a message that a line is made from."""

MAX_FIRST_CHARACTERS = 60
"""Characters of the first message beside what is erased."""

ECHO_NAMES = {
    "copy": "near copy", "answer": "answer", "repetition": "repeated", "summary": "summary", "fact": "fact",
    "block": "core memory",
}  # fmt: skip
"""What an echo is, in a word or two."""


@dataclass(frozen=True, slots=True)
class EchoRow:
    """Something that may still say what is erased, its text as far as it is known, whether it is erased too, and
    whether it has exactly the text of an erased message."""

    echo: Echo
    text: str
    is_chosen: bool
    is_exact: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A line above rows that can't be selected."""

    text: str


ErasureRow = EchoRow | Heading | Message


def erasure_rows(summary: ErasureSummary, chosen_echoes: Collection[str]) -> Iterator[ErasureRow]:
    """What the list shows: first what repeats the messages, by the ids that are chosen to be erased too, then the first
    of the messages themselves."""
    echoes, messages = summary.preview.echoes, summary.preview.messages
    echo_ids = {echo.id for echo in echoes}
    sample = [message for message in summary.sample if message.id not in echo_ids]
    if echoes:
        count, erased_texts = pluralize(len(echoes), "other item"), {message.text for message in sample}
        chosen = sum(echo.id in chosen_echoes for echo in echoes)
        heading = f"May still say it: {count} (space erases one too, ctrl+o all)"
        yield Heading(f"Repeats it: {count}, {chosen:,} ticked to be erased too" if chosen else heading)
        for echo in echoes:
            text = summary.echo_texts.get(echo.id, "")
            yield EchoRow(echo, text, echo.id in chosen_echoes, text in erased_texts)
    if sample and (echoes or len(messages) > len(summary.sample)):
        is_partial = len(messages) > len(summary.sample)
        ticked = len(echo_ids.intersection(f"m{key}" for key in messages))
        count = pluralize(len(messages), "message")
        besides = f"; {ticked:,} of them ticked above" if ticked else ""
        heading = f"The first {len(sample):,} of {count}" if is_partial else f"To be erased: {count}"
        yield Heading(heading + besides)
    yield from sample


def first_message(summary: ErasureSummary, name_of: Callable[[str], str]) -> str:
    """The first message that is erased, on a line that also a low screen has room for; "" without one."""
    if not summary.sample:
        return ""
    message = summary.sample[0]
    return f"{message.id} · {name_of(message.who)[:20]}: {one_line(message.text)[:MAX_FIRST_CHARACTERS]}"


def row_key(row: ErasureRow) -> Hashable:
    """What identifies a row in the next preview."""
    match row:
        case EchoRow(echo):
            return "echo", echo.id
        case Heading(text):
            return "heading", text
        case message:
            return "message", message.id


def is_heading(row: ErasureRow) -> bool:
    """Whether a row can't be selected."""
    return isinstance(row, Heading)


def render_row(row: ErasureRow, width: int, name_of: Callable[[str], str] = one_line) -> Content:
    """A row on one line; ``name_of`` says how authors are shown."""
    match row:
        case EchoRow(echo, text, is_chosen, is_exact):
            box = "[x] " if is_chosen else "[ ] "
            kind = "exact copy" if is_exact else ECHO_NAMES[echo.kind]
            return Content.assemble(
                (box, "bold"), (f"{echo.id:<8}", MUTED), (f"{kind}: ", "bold $text-warning"), one_line(text)
            )
        case Heading(text):
            return Content.styled(text, "bold $text-accent")
        case message:
            return Content.assemble(
                (f"{message.id:<8}", MUTED),
                (f"{minute(message.timestamp)[:10]:<11}", MUTED),
                (f"{name_of(message.who)[:20]}: ", "bold"),
                one_line(message.text[:MAX_LINE_CHARACTERS]),
            )


def render_receipt(receipt: Receipt, width: int) -> Content:
    """An earlier erasure on one line."""
    traces = len(receipt.proof.traces)
    found = pluralize(traces, "trace") if receipt.proof.searched else "not searched"
    return Content.assemble(
        (f"{receipt.id:<6}", MUTED),
        f"{minute(receipt.at)}  ",
        (f"{pluralize(receipt.messages, 'message'):<16}", "bold"),
        (f"  {receipt.state}, {found}", "bold $text-error" if traces else MUTED),
        f", {pluralize(receipt.sessions, 'whole conversation')}" if receipt.sessions else "",
    )


def receipt_content(receipt: Receipt, files: Sequence[str]) -> Content:
    """A receipt with the files that still hold what was erased; traces of it stand out."""
    traces = receipt.proof.traces
    return Content("\n").join(
        Content.assemble((f"{name:<10}", MUTED), (one_line(text), "bold $error" if name == "traces" and traces else ""))
        for name, text in receipt_fields(receipt, files)
    )
