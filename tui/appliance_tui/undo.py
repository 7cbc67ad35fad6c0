"""Changes that the screen makes, each with what takes it back, and the stack of those that can be taken back.

A change is taken back only where everything is still as the change has left it: what another program has done since
stays. Erasures are no changes of this kind; each empties the stack, so that it keeps no word of what was forgotten.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appliance.errors import UsageError
from appliance_tui.details import state_label
from appliance_tui.selection import pages
from appliance_tui.widgets.display_text import fit_width, one_line, pluralize

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import FactDecision, FeedbackKind, SessionInfo

MAX_CHANGES = 100
"""Changes that can be taken back, the latest ones."""

MAX_NAME_WIDTH = 40
"""Cells of the name of what a change was done to."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change that was made: ``done`` says so. ``undo`` takes it back, and ``undone`` says so then, by name: what it
    was done to may be on another screen, ``place``. ``added`` is the id of what it added, the first if there are
    several.

    ``undo`` raises UsageError, and changes nothing, where something else has changed since.
    """

    done: str
    undone: str
    undo: Callable[[Appliance], object]
    added: str = ""
    place: str = ""


class UndoStack:
    """The changes that can be taken back, the latest one first."""

    def __init__(self) -> None:
        self._changes: deque[Change] = deque(maxlen=MAX_CHANGES)
        self._has_erased = False

    def __len__(self) -> int:
        return len(self._changes)

    def push(self, change: Change) -> None:
        self._changes.append(change)

    def pop(self) -> Change | None:
        return self._changes.pop() if self._changes else None

    def clear_after_erasure(self) -> None:
        """Forget all changes: what they would put back may be of what was erased."""
        self._changes.clear()
        self._has_erased = True

    @property
    def empty_text(self) -> str:
        """Why there is nothing to take back."""
        return "Nothing to undo" + (": what was forgotten can't be brought back." if self._has_erased else ".")


def toggle_pins(memory: Appliance, ids: Sequence[str]) -> Change:
    """Pin messages, or unpin them if all are pinned. Call it on a thread, as all functions below.

    Raises:
        ApplianceError: as the memory says.
    """
    found = {id: pinned for id, pinned in message_pins(memory, ids).items() if pinned is not None}
    if not found:
        raise UsageError("These messages no longer exist." if len(ids) > 1 else "The message no longer exists.")
    pinned = not all(found.values())
    changed = [id for id, before in found.items() if before != pinned]
    _set_pins(memory, changed, pinned)

    def undo(memory: Appliance) -> None:
        _check(message_pins(memory, changed), pinned, "message")
        _set_pins(memory, changed, not pinned)

    return _pin_change(len(changed), "message", pinned, undo, message_name(memory, changed[0]))


def message_name(memory: Appliance, id: str) -> str:
    """The beginning of a message, in quotation marks.

    Raises:
        ApplianceError: as the memory says.
    """
    return _quoted(next((message.text for message in memory.overview.messages([id])), id))


def _quoted(text: str) -> str:
    return f"“{fit_width(text, MAX_NAME_WIDTH).rstrip()}”"


def message_pins(memory: Appliance, ids: Iterable[str]) -> dict[str, bool | None]:
    """Whether each message is pinned, None if it is gone."""
    pins: dict[str, bool | None] = dict.fromkeys(ids)
    for page in pages(list(pins)):
        pins |= {message.id: message.pinned for message in memory.overview.messages(page)}
    return pins


def _set_pins(memory: Appliance, ids: Iterable[str], pinned: bool) -> None:
    for id in ids:
        (memory.pin if pinned else memory.unpin)(id)


def toggle_session_pins(memory: Appliance, ids: Sequence[str]) -> Change:
    """Pin conversations, or unpin them if all are pinned.

    Raises:
        ApplianceError: as the memory says.
    """
    found = {id: memory.sessions.info(id).pinned for id in ids}
    pinned = not all(found.values())
    changed = [id for id, before in found.items() if before != pinned]
    _set_session_pins(memory, changed, pinned)

    def undo(memory: Appliance) -> None:
        _check({id: memory.sessions.info(id).pinned for id in changed}, pinned, "conversation")
        _set_session_pins(memory, changed, not pinned)

    return _pin_change(len(changed), "conversation", pinned, undo, _quoted(_title(memory.sessions.info(changed[0]))))


def _set_session_pins(memory: Appliance, ids: Iterable[str], pinned: bool) -> None:
    for id in ids:
        session = memory.sessions.get(id)
        session.pin() if pinned else session.unpin()


def _check(pins: dict[str, bool | None] | dict[str, bool], pinned: bool, noun: str) -> None:
    """
    Raises:
        UsageError: Not all are pinned, or not all unpinned, as they were left.
    """
    for id, now in pins.items():
        if now is None:
            raise UsageError(f"The {noun} {id} no longer exists.")
        if now != pinned:
            raise UsageError(f"The {noun} {id} was {'pinned' if now else 'unpinned'} meanwhile.")


def _pin_change(count: int, noun: str, pinned: bool, undo: Callable[[Appliance], None], first: str) -> Change:
    """``first`` is the name of the first one, which says which it was if there is only this."""
    what = pluralize(count, noun)
    words = ("Pinned", "Unpinned") if pinned else ("Unpinned", "Pinned")
    return Change(f"{words[0]} {what}", f"{words[1]} {first if count == 1 else what}", undo)


def rename_session(memory: Appliance, id: str, title: str) -> Change:
    """Give a conversation another title.

    Raises:
        ApplianceError: as the memory says.
    """
    before = memory.sessions.info(id)
    memory.sessions.get(id).rename(title)
    after = memory.sessions.info(id)

    def undo(memory: Appliance) -> None:
        if memory.sessions.info(id).title != after.title:
            raise UsageError(f"The conversation {id} was renamed meanwhile.")
        memory.sessions.get(id).rename(before.title, found=before.title_found or before.title is None)

    return Change(f"Renamed to “{_title(after)}”", f"The title is “{_title(before)}” again", undo)


def _title(info: SessionInfo) -> str:
    return one_line(info.title or info.external_id)


def tag_sessions(memory: Appliance, ids: Sequence[str], add: Sequence[str], remove: Sequence[str]) -> Change:
    """Give conversations tags, and take others from them.

    Raises:
        ApplianceError: as the memory says.
    """
    before: dict[str, tuple[str, ...]] = {}
    after: dict[str, tuple[str, ...]] = {}
    for id in ids:
        session = memory.sessions.get(id)
        before[id] = tags = tuple(session.info.tags)
        if add:
            tags = session.tag(add)
        if remove:
            tags = session.untag(remove)
        after[id] = tags

    what = pluralize(len(ids), "conversation")
    done = [f"Tagged {what}: {', '.join(add)}"] if add else []
    done += [f"Removed the tag from {what}: {', '.join(remove)}"] if remove else []
    of = what if len(ids) > 1 else _quoted(_title(memory.sessions.info(ids[0])))
    return _tag_change("; ".join(done), f"The tags of {of} are as before", before, after)


def replace_tags(memory: Appliance, id: str, wanted: Sequence[str], replaced: Sequence[str]) -> Change:
    """Give a conversation tags in place of others.

    Raises:
        ApplianceError: as the memory says; a tag is too long, for instance. The tags stay as they were then.
    """
    session = memory.sessions.get(id)
    before = tags = tuple(session.info.tags)
    if wanted:
        tags = session.tag(wanted)  # before others go: it may be refused
    if replaced:
        tags = session.untag(replaced)
        if wanted:
            tags = session.tag(wanted)  # those that it had before
    done = f"Tags: {', '.join(tags)}" if tags else "No tags"
    name = _quoted(_title(session.info))
    return _tag_change(done, f"The tags of {name} are as before", {id: before}, {id: tags})


def _tag_change(
    done: str, undone: str, before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]
) -> Change:
    def undo(memory: Appliance) -> None:
        for id, tags in after.items():
            if set(memory.sessions.info(id).tags) != set(tags):
                raise UsageError(f"The tags of the conversation {id} were changed meanwhile.")
        for id, tags in before.items():
            session = memory.sessions.get(id)
            if new := set(after[id]) - set(tags):
                session.untag(sorted(new))
            if lost := set(tags) - set(after[id]):
                session.tag(sorted(lost))

    return Change(done, undone, undo)


def decide_facts(
    memory: Appliance, ids: Sequence[str], decision: FactDecision, user: str | None, value: str | None = None
) -> Change:
    """Confirm, correct or reject facts. They are taken back one by one, so that those before one that was changed since
    are as before.

    Raises:
        ApplianceError: as the memory says.
    """
    made = [memory.facts.decide(id, decision, value, user_id=user) for id in ids]

    def undo(memory: Appliance) -> None:
        while made:
            memory.facts.undo(made[-1].undo)
            made.pop()

    participle = {"confirm": "confirmed", "correct": "corrected", "reject": "rejected"}[decision]
    if len(made) == 1:
        fact = made[0].fact
        done = f"{fact.id} {state_label(fact.state)}: {one_line(fact.text)}"
        return Change(done, f"{ids[0]} is no longer {participle}: {one_line(fact.text)}", undo)
    what = pluralize(len(made), "fact")
    return Change(f"{participle.capitalize()} {what}", f"{what} are no longer {participle}", undo)


def add_fact(memory: Appliance, text: str, user: str | None) -> Change:
    """Add a fact: a sentence, or "name = value".

    Raises:
        ApplianceError: as the memory says.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if equals and name and value:
        added = memory.facts.add_undoably(attribute=name, value=value, user_id=user)
    else:
        added = memory.facts.add_undoably(text, user_id=user)
    lines = [f"{fact.id} {state_label(fact.state)}: {one_line(fact.text)}" for fact in added.facts]
    return Change(
        "\n".join(lines),
        f"No longer added: {one_line(text)}",
        lambda memory: memory.facts.undo(added.undo),
        next((fact.id for fact in added.facts), ""),
    )


def give_feedback(memory: Appliance, ids: Sequence[str], kind: FeedbackKind) -> Change:
    """Say what messages were worth. What others say of them meanwhile stays when it is taken back.

    Raises:
        ApplianceError: as the memory says.
    """
    scores = [memory.feedback(id, kind).score for id in ids]

    def undo(memory: Appliance) -> None:
        for id in ids:
            memory.pins.withdraw_feedback(id, kind)

    if len(ids) == 1:
        return Change(
            f"{ids[0]} counts as {kind}: importance {scores[0]:.2f}.",
            f"{message_name(memory, ids[0])} no longer counts as {kind}.",
            undo,
        )
    what = pluralize(len(ids), "message")
    return Change(f"{what} count as {kind}.", f"{what} no longer count as {kind}.", undo)
