"""Requests to forget, previews and receipts, in the words of the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.errors import NotFound, UsageError
from appliance.export_files import write_export
from appliance_tui.throughput import format_bytes
from appliance_tui.widgets.display_text import one_line, pluralize

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import ErasurePreview, ErasureReport, Message, Receipt

MAX_PREVIEWED_MESSAGES = 200
"""Messages of a preview whose text is loaded: more than a person reads before confirming."""

MAX_READ_ECHOES = 20
"""Summaries and facts among the echoes that are read for their text, each by a request."""

MAX_NAMED_FILES = 3

MAX_TITLE_CHARACTERS = 40
"""Characters of a title in the preview: ten of them leave room for the messages."""


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    """What to forget. All but the last three narrow each other; ``everything`` excludes them. ``with_echoes`` adds what
    else says it, with ``echo_ids`` only that."""

    ids: tuple[str, ...] = ()
    source: str = ""
    words: str = ""
    title: str = ""
    author: str = ""
    since: str = ""
    until: str = ""
    everything: bool = False
    with_echoes: bool = False
    echo_ids: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.everything or self.is_narrowed

    @property
    def is_narrowed(self) -> bool:
        """Whether it names anything but everything."""
        return replace(self, everything=False, with_echoes=False, echo_ids=()) != ErasureRequest()


@dataclass(frozen=True, slots=True)
class ErasureSummary:
    """A preview of an erasure, with the first of its messages, and the texts of echoes by their ids."""

    preview: ErasurePreview
    sample: Sequence[Message]
    echo_texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[object, ...]:
        """Exactly what would be erased."""
        preview = self.preview
        return preview.messages, preview.sessions, preview.facts, preview.contacts, preview.summaries, preview.blocks

    @property
    def _counts(self) -> Iterator[tuple[int, str]]:
        yield len(self.preview.messages), "message"
        yield len(self.preview.sessions), "whole conversation"
        yield self.preview.facts, "fact"
        yield len(self.preview.contacts), "contact"
        yield len(self.preview.blocks), "block"

    @property
    def count(self) -> int:
        """The number a person types to confirm: of messages, else of sessions, facts, contacts or blocks."""
        return next((count for count, _ in self._counts if count), 0)

    @property
    def count_label(self) -> str:
        """That number with its noun."""
        return next((pluralize(count, noun) for count, noun in self._counts if count), "nothing")

    @property
    def description(self) -> str:
        preview = self.preview
        counts = describe_counts(
            len(preview.messages), len(preview.sessions), preview.facts, preview.characters, preview.formats
        )
        return ", ".join(
            (
                counts,
                *([pluralize(len(preview.contacts), "contact")] if preview.contacts else []),
                *([f"{pluralize(len(preview.blocks), 'block')} of core memory"] if preview.blocks else []),
            )
        )


def preview_erasure(memory: Appliance, request: ErasureRequest, user: str | None) -> ErasureSummary:
    """What a request would erase. Changes nothing.

    Raises:
        ApplianceError: the request names nothing, or something that does not exist.
    """
    preview = memory.erasure.preview(
        *request.ids,
        source=request.source or None,
        query=request.words or None,
        title=request.title or None,
        author=request.author or None,
        since=request.since or None,
        until=request.until or None,
        everything=request.everything,
        with_echoes=request.with_echoes,
        echo_ids=request.echo_ids,
        user_id=user,
    )
    ids = [f"m{key}" for key in preview.messages[:MAX_PREVIEWED_MESSAGES]]
    return ErasureSummary(preview, memory.overview.messages(ids), _echo_texts(memory, preview))


def _echo_texts(memory: Appliance, preview: ErasurePreview) -> dict[str, str]:
    """The texts of echoes by their ids, of the first summaries and facts only."""
    echoes = preview.echoes
    ids = [echo.id for echo in echoes if echo.kind not in ("summary", "fact", "block")]
    texts = {message.id: message.text for message in memory.overview.messages(ids)} if ids else {}
    texts |= {block.id: " ".join(block.texts) for block in preview.block_echoes}
    for echo in [echo for echo in echoes if echo.kind in ("summary", "fact")][:MAX_READ_ECHOES]:
        with suppress(NotFound):  # it went with a message meanwhile
            if echo.kind == "summary":
                texts[echo.id] = memory.summaries.get(echo.id).text
            else:
                texts[echo.id] = memory.facts.get(echo.id).text
    return texts


def title_note(preview: ErasurePreview) -> str:
    """Which conversations go whole, by the titles of the first ones; empty if none does."""
    if not preview.titles:
        return ""
    named = " · ".join(one_line(title)[:MAX_TITLE_CHARACTERS] or "(no title)" for title in preview.titles.values())
    left = len(preview.sessions) - len(preview.titles)
    noun = "conversation" if len(preview.sessions) == 1 else "conversations"
    return f"Whole {noun}: {named}{f' · and {left:,} more' if left else ''}"


def describe_counts(
    messages: int, sessions: int, facts: int, characters: int, formats: Mapping[str, int], blocks: int = 0
) -> str:
    """How much is erased, in words."""
    by_format = "".join(f"; {count:,} from {format}" for format, count in formats.items())
    parts = [
        f"{pluralize(messages, 'message')} ({pluralize(characters, 'character')}{by_format})",
        *([pluralize(sessions, "whole conversation")] if sessions else []),
        *([pluralize(facts, "fact")] if facts else []),
        *([f"{pluralize(blocks, 'block')} of core memory"] if blocks else []),
    ]
    return ", ".join(parts)


def receipt_fields(receipt: Receipt, files: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """A receipt as labels and texts. ``files`` are those that the erased messages were imported from."""
    report = receipt.proof
    zone = " UTC" if receipt.at.endswith(("Z", "+00:00")) else ""
    yield "receipt", f"{receipt.id} · {receipt.at[:19].replace('T', ' ')}{zone}"
    yield (
        "erased",
        describe_counts(
            receipt.messages, receipt.sessions, receipt.facts, receipt.characters, receipt.formats, receipt.blocks
        ),
    )
    if receipt.state == "open":
        yield "state", "open: some files of the memory are still being rewritten; this continues by itself"
        return
    yield "vectors", f"{receipt.vectors:,} erased: what search by meaning had of the texts, in parts"
    if not report.searched:
        yield "searched", "not searched: the erasure was interrupted, and the erased texts are no longer known"
        return
    yield (
        "searched",
        f"{pluralize(report.files, 'file')} of the memory ({format_bytes(report.bytes)}) for {_searched_texts(report)}",
    )
    yield "traces", ", ".join(report.traces) or _describe_absence(report)
    if report.awaits_server:
        yield "note", "Points on the server are not erased yet. They will be when it answers again."
    for backup in receipt.backups:
        yield "note", f"The backup {backup} may still contain it. 'appliance backup --keep' removes older ones."
    # A stored receipt has no names of files, only what kind of file each was.
    for path, count in Counter(report.yours).items():
        if "/" in path:
            yield "note", f"Your export {path} still contains it."
        elif count > 1:
            yield "note", f"{count:,} exports in the inbox still contain it."
        else:
            yield "note", f"{path[:1].upper()}{path[1:]} still contains it."
    for note in kept_file_notes(files):
        yield "note", note


def receipt_text(receipt: Receipt, files: Sequence[str] = ()) -> str:
    """A receipt as a text to save or copy, a line each."""
    return "".join(f"{name:<10}{text}\n" for name, text in receipt_fields(receipt, files))


def _searched_texts(report: ErasureReport) -> str:
    """The erased texts that were looked for."""
    if report.texts >= report.erased_texts:
        return "the erased text" if report.texts == 1 else f"all {report.texts:,} erased texts"
    return f"{report.texts:,} of {pluralize(report.erased_texts, 'erased text')}"


def _describe_absence(report: ErasureReport) -> str:
    """That no trace was found of what was looked for, which may not be everything."""
    if report.texts >= report.erased_texts:
        return f"none found{_describe_repetition(report)}"
    if report.texts:
        found = f"none found of the {pluralize(report.texts, 'text')} looked for; not known of the others"
        return found + _describe_repetition(report)
    return "in files not looked for: the texts are too short to be told from others"


def _describe_repetition(report: ErasureReport) -> str:
    """That other messages say the same and were not erased."""
    if not report.repeated:
        return ""
    verb = "stays" if report.repeated == 1 else "stay"
    what = "the text stays" if report.erased_texts == 1 else f"{report.repeated:,} of the texts {verb}"
    ids = f" ({', '.join(report.repeated_by)})" if report.repeated_by else ""
    return f"; {what} where another message says the same, such as another user's{ids}"


def kept_file_notes(files: Sequence[str]) -> Iterator[str]:
    """Which files still contain what is erased, a line each; many are counted."""
    if len(files) == 1:
        yield f"The file {files[0]} was not changed, and may still contain it."
    elif files:
        yield f"{len(files):,} files were not changed, and may still contain it: {_first_names(files)}."


def source_file_note(files: Sequence[str]) -> str:
    """What the path of a zip or a folder covers; empty if no such path was named."""
    return f"The source covers {pluralize(len(files), 'file')}: {_first_names(files)}." if files else ""


def _first_names(files: Sequence[str]) -> str:
    rest = len(files) - MAX_NAMED_FILES
    return ", ".join(files[:MAX_NAMED_FILES]) + (f" and {rest:,} more" if rest > 0 else "")


PLACE_CLAUSES = {
    "earlier versions": "with an earlier version that has them",
    "authors": "by an author whose name has them",
    "titles": "in conversations whose title has them",
    "metadata": "whose metadata has them",
    "file names": "from files whose name has them",
    "facts": "behind a fact that has them",
}
"""What connects messages with words that are found in a place other than their text."""


def place_note(preview: ErasurePreview) -> str:
    """Where words were found other than in the text of messages; empty if all that is erased has them in its text."""
    elsewhere = Counter(place for places in preview.found_elsewhere.values() for place in places)
    others = [f"{count:,} {PLACE_CLAUSES.get(place, place)}" for place, count in elsewhere.items()]
    for place, count in preview.found_alone.items():
        if place == "facts":
            others.append(f"{pluralize(count, 'fact')} without a message")
        elif place == "core memory":
            others.append(f"{pluralize(count, 'block')} of core memory")
        else:
            others.append(f"{pluralize(count, 'conversation')} without a message, by {place}")
    if not others:
        return ""
    in_text = preview.found_in.get("text", 0)
    has = f"{pluralize(in_text, 'message')} {'has' if in_text == 1 else 'have'}" if in_text else "No message has"
    return f"{has} these words in the text. Also selected: {'; '.join(others)}."


def author_note(preview: ErasurePreview) -> str:
    """Under which names the messages were written, if an author was named; empty otherwise."""
    names = ", ".join(f"{name or '(no name)'} ({count:,})" for name, count in preview.authors.items())
    return " ".join(
        (*(f"{note}." for note in preview.notes), *([f"Written under the names {names}."] if names else []))
    )


def save_receipt(typed: str, text: str) -> Path:
    """Write a receipt to a new file that only its owner can read, completely or not at all.

    Args:
        typed: The path as it was typed; "~" is the person's home folder.

    Raises:
        UsageError: No path was typed, the file exists, or it can't be written; nothing was changed.
    """
    if not typed.strip():
        raise UsageError("No file is named.", hint="Type the path of a new file.")
    path = Path(typed.strip()).expanduser().absolute()
    try:
        write_export(path, [text.encode("utf-8", "backslashreplace")], overwrite=False)
    except FileExistsError:
        raise UsageError(f"{path} already exists.", hint="Type the path of a new file.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{path} can't be written: {reason}.", hint="Type another path.") from None
    return path


def everything_hint(used: Sequence[str]) -> str:
    """What to clear, and how, where everything is to be forgotten and the fields ``used`` narrow it."""
    names = " and ".join(filter(None, (", ".join(used[:-1]), used[-1])))
    clear = "it (^u in it)" if len(used) == 1 else "them (^u in each)"
    return f"Everything can't be combined with {names}. Clear {clear}, or untick Everything (tab leads there, space)."
