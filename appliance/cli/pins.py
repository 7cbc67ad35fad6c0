"""``pin``, ``unpin``, ``feedback`` and ``correct``: say what messages are worth, and correct them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from appliance.cli import options, output, transcript
from appliance.cli.options import argument
from appliance.errors import NotFound
from appliance.timestamps import iso_from_microseconds, now

if TYPE_CHECKING:
    from appliance.types import FeedbackKind, Message

_IDS = argument("ID…", "Messages, by id (m345) or external id.")


def pin(
    references: Annotated[list[str] | None, _IDS] = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Pin messages; without an ID, list the pinned messages.

    A pinned message has the highest importance until 'appliance unpin'.

    \b
    Examples:
      appliance pin m345 m346
      appliance pin --json
    """
    if references:
        _set_pinned(references, True, home, json)
        return
    with options.open_existing(home, "pin") as memory:
        user = memory.settings.user if user is None else user
        found = memory.pins.pinned(user)
    if json:
        output.print_json({"messages": found})
        return
    output.print_columns(
        [[message.id, output.format_timestamp(message.timestamp), output.one_line(message.text)] for message in found]
    )
    if found:
        output.say(f"{output.plural(len(found), 'message')} pinned by {user}")
    else:
        output.say(f"No messages are pinned by {user}. Pin one with 'appliance pin ID'.")


def unpin(references: Annotated[list[str], _IDS], home: options.Home = None, json: options.Json = False) -> None:
    """Unpin messages; their importance depends on their content and use again.

    \b
    Examples:
      appliance unpin m345
    """
    _set_pinned(references, False, home, json)


def feedback(
    reference: Annotated[str, argument("ID", "A message, by id (m345) or external id.")],
    kind: Annotated[
        str, argument("helpful|used|wrong|outdated", "What it was worth: it helped, an answer rests on it, …")
    ],
    undo: Annotated[bool, typer.Option("--undo", help="Take back the latest feedback of this kind.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Say what a recalled message was worth.

    In a context, what was helpful or used stands before what matches about equally well, and may take more tokens.
    What is wrong or outdated stands behind it, may take fewer, and is marked. Both move the importance, by which the
    archive chooses. 'search' ranks as before, and nothing is hidden. Of helpful, wrong and outdated the last one holds;
    'appliance show ID' shows every part of the importance.

    \b
    Examples:
      appliance feedback m345 helpful
      appliance feedback m346 outdated
      appliance feedback m346 outdated --undo
    """
    _require_message(reference)
    with options.open_existing(home, "feedback") as memory:
        message = memory.message(reference)
        before = memory.pins.importance(message.id)
        give = memory.pins.withdraw_feedback if undo else memory.pins.feedback
        importance = give(message.id, cast("FeedbackKind", kind))
    if json:
        output.print_json({"message_id": message.id, "kind": kind, "importance": importance})
        return
    change = f"{before.score:.2f}, now {importance.score:.2f}"
    if round(before.score, 2) == round(importance.score, 2):
        change = f"{importance.score:.2f}, as before"
    undone = ("still " if kind in importance.feedback else "no longer ") if undo else ""
    output.print_line(f"{message.id} {undone}{kind}: importance {change}")
    output.say(f"Its feedback: {transcript.feedback_text(importance) or 'none'}")


def correct(
    reference: Annotated[str, argument("ID", "A message, by id (m345) or external id.")],
    text: Annotated[str, argument("TEXT|-", "The new text; - reads it from stdin.")],
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Replace the text of a message; the old text is kept as an earlier revision.

    It is marked as corrected wherever it is shown, and 'show ID --versions' shows what was said before. Its time,
    author and position stay. Full text, vectors, summaries and facts are updated. Ingesting its export again
    does not undo the correction.

    \b
    Examples:
      appliance correct m345 "The blue key opens the attic"
      pbpaste | appliance correct m345 -
    """  # fmt: skip
    _require_message(reference)
    content = options.read_text(text)
    with options.open_existing(home, "correct") as memory:
        old = memory.message(reference)
        memory.sessions.info(old.session_id, user_id=memory.settings.user if user is None else user)
        message = memory.sessions.resume(old.session_id).add(
            old.role,
            content,
            author=old.author,
            external_id=old.external_id,
            reply_to=old.reply_to,
            metadata={**old.metadata, "corrected": iso_from_microseconds(now())},
        )
        memory.run_pending_jobs()
    if json:
        output.print_json({"message": message})
    else:
        output.print_line(f"{message.id} corrected")


def _require_message(reference: str) -> None:
    """
    Raises:
        NotFound: It has the form of a conversation's id. A message may have this id in its export, but is hardly meant.
    """
    if options.SESSION_ID.fullmatch(reference):
        raise NotFound(
            f"{reference} is the id of a conversation, not of a message.",
            hint=f"'appliance show {reference}' lists its messages; 'appliance sessions pin {reference}' pins it.",
        )


def _set_pinned(references: list[str], pinned: bool, home: str | None, json: bool) -> None:
    """Pin or unpin the messages that exist; the others are reported, and the exit code is that of NotFound."""
    changed: list[Message] = []
    missing: list[NotFound] = []
    were_so: set[str] = set()
    with options.open_existing(home, "pin" if pinned else "unpin") as memory:
        for reference in references:
            try:
                _require_message(reference)
                were_so |= {message.id for message in [memory.message(reference)] if message.pinned == pinned}
                changed.append(memory.pin(reference) if pinned else memory.unpin(reference))
            except NotFound as error:
                missing.append(error)
    if json:
        output.print_json({"messages": changed, "missing": [str(absent) for absent in missing]})
    else:
        for message in changed:
            before = ("was already " if pinned else "was not ") if message.id in were_so else ""
            output.print_line(f"{message.id} {before}{'pinned' if pinned or before else 'unpinned'}")
    for absent in missing:
        output.say_error(str(absent), absent.hint)
    if missing:
        raise typer.Exit(NotFound.exit_code)
