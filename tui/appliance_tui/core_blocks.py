"""Blocks of core memory on the screen: what they show, and the changes to them with what takes those back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from appliance.errors import UsageError
from appliance.types.core import MAX_CORE_CHARACTERS
from appliance_tui.details import DetailPart
from appliance_tui.screens.picker import PickerOption
from appliance_tui.undo import Change
from appliance_tui.widgets.display_text import local_minute, one_line, sanitize
from appliance_tui.widgets.rows import MUTED

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import BlockRevision, CoreBlock

MAX_SHOWN_REVISIONS = 20
"""Texts of a block that are shown below it, the latest ones; the dialog of versions lists all that are kept."""


MAX_OPTION_CHARACTERS = 200
"""Characters of a text in the dialog of versions."""


def editor_name(form: BlockRevision | CoreBlock) -> str:
    """Who wrote a text of a block, for the person who reads it."""
    return "you" if form.changed_by == "person" else one_line(form.assistant) or "an assistant"


def block_parts(block: CoreBlock, used: int, together: int, history: Sequence[BlockRevision]) -> Iterator[DetailPart]:
    """A block with its limits and the texts that it had. ``used`` is how many characters all blocks have, ``together``
    how many their limits are."""
    all_blocks = f"all blocks {used:,}, with limits of {together:,} together (at most {MAX_CORE_CHARACTERS:,})"
    room = f"{len(block.value):,} of {block.limit:,} characters; {all_blocks}"
    written = f"written by {editor_name(block)}, {local_minute(block.changed_at)}"
    rights = "only you can change it" if block.read_only else "assistants may change it"
    yield DetailPart(Content.assemble((block.label, "bold $accent"), (f"  {sanitize(block.description)}", MUTED)))
    yield DetailPart(Content.styled(f"{room} · {written} · {rights}", MUTED))
    yield DetailPart(Content.assemble("\n", sanitize(block.value) or ("(empty)", MUTED)))
    earlier = [form for form in reversed(history) if form.number != block.revision]
    if not earlier:
        return
    hidden = f", the latest {MAX_SHOWN_REVISIONS} of {len(earlier):,}" if len(earlier) > MAX_SHOWN_REVISIONS else ""
    yield DetailPart(Content.assemble("\n", (f"Earlier texts{hidden}", "bold $text-primary")))
    for form in earlier[:MAX_SHOWN_REVISIONS]:
        head = f"version {form.number} · {local_minute(form.changed_at)} · by {editor_name(form)}\n"
        yield DetailPart(Content.assemble((head, MUTED), sanitize(form.value) or ("(empty)", MUTED)))


def version_options(history: Sequence[BlockRevision]) -> list[PickerOption]:
    """The texts that a block had, the latest first; the value of an option is the number of the text."""
    return [
        PickerOption(
            f"version {form.number}",
            str(form.number),
            f"{local_minute(form.changed_at)} · by {editor_name(form)}",
            one_line(form.value)[:MAX_OPTION_CHARACTERS] or "(empty)",
        )
        for form in history[-2::-1]
    ]


def write_block(memory: Appliance, label: str, value: str, user: str | None, revision: int) -> Change:
    """Write the text of a block that has a revision; with revision 0, begin a block. Call it on a thread, as those
    below.

    Raises:
        ApplianceError: as the memory says; the text is longer than the limit, or the block has another revision.
    """
    if not revision:
        block = memory.core.set(label, value, revision=0, user_id=user)
        return Change(_size_text(block, "begun"), f"There is no block {block.label} again", _deletion(block, user))
    before = memory.core.get(label, user_id=user)
    block = memory.core.set(label, value, revision=revision, user_id=user)
    return _change(block, before.value, "written", user)


def restore_block(memory: Appliance, label: str, number: int, user: str | None) -> Change:
    """Give a block a text again that it had.

    Raises:
        ApplianceError: as the memory says.
    """
    before = memory.core.get(label, user_id=user)
    block = memory.core.revert(label, number, user_id=user)
    return _change(block, before.value, f"has the text of version {number} again", user)


def limit_block(memory: Appliance, label: str, typed: str, user: str | None, revision: int) -> Change:
    """Give a block another limit.

    Raises:
        ApplianceError: as the memory says; what was typed is no number, or the text is longer.
    """
    number = typed.replace(",", "").replace(" ", "")
    if not number.isdecimal():
        raise UsageError(f"“{one_line(typed)}” is no number of characters.", hint="Type one, such as 3000.")
    before = memory.core.get(label, user_id=user)
    block = memory.core.set(label, limit=int(number), revision=revision, user_id=user)

    def undo(memory: Appliance) -> None:
        present = memory.core.get(label, user_id=user)
        if present.limit != block.limit:
            raise UsageError(f"The limit of {label} was changed meanwhile.")
        memory.core.set(label, limit=before.limit, revision=present.revision, user_id=user)

    return Change(
        f"{label} may have {block.limit:,} characters", f"{label} may have {before.limit:,} characters again", undo
    )


def protect_block(memory: Appliance, label: str, user: str | None, revision: int) -> Change:
    """Let only the person change a block; assistants too if it was so.

    Raises:
        ApplianceError: as the memory says.
    """
    read_only = not memory.core.get(label, user_id=user).read_only
    memory.core.set(label, read_only=read_only, revision=revision, user_id=user)

    def undo(memory: Appliance) -> None:
        present = memory.core.get(label, user_id=user)
        if present.read_only != read_only:
            raise UsageError(f"Who may change {label} was changed meanwhile.")
        memory.core.set(label, read_only=not read_only, revision=present.revision, user_id=user)

    texts = (f"Assistants may change {label}", f"Only you can change {label}")
    return Change(texts[read_only], f"{texts[not read_only]} again", undo)


def _change(block: CoreBlock, before: str, done: str, user: str | None) -> Change:
    def undo(memory: Appliance) -> None:
        revision = _require_text(memory, block, user).revision
        memory.core.set(block.label, before, revision=revision, user_id=user)

    return Change(_size_text(block, done), f"{block.label} has its text from before again", undo)


def _deletion(block: CoreBlock, user: str | None) -> Callable[[Appliance], object]:
    def undo(memory: Appliance) -> None:
        _require_text(memory, block, user)
        if any(form.changed_by != "person" for form in memory.core.history(block.label, user_id=user)):
            raise UsageError(
                f"An assistant has written to {block.label}; 'appliance core delete' deletes it all the same."
            )
        memory.core.delete(block.label, user_id=user)

    return undo


def _require_text(memory: Appliance, block: CoreBlock, user: str | None) -> CoreBlock:
    """The present form of a block, if it has the text that a change gave it: what was undone since counts as a form.

    Raises:
        UsageError: it has another text.
    """
    present = memory.core.get(block.label, user_id=user)
    if present.value != block.value:
        raise UsageError(f"The block {block.label} was changed meanwhile.")
    return present


def _size_text(block: CoreBlock, done: str) -> str:
    return f"{block.label} {done}: {len(block.value):,} of {block.limit:,} characters"
