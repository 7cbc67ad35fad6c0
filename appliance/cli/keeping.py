"""``pin``, ``unpin`` and ``correct``: what a person wants kept close, and what should have been said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, out
from appliance.errors import NotFound

if TYPE_CHECKING:
    from appliance.types import Message

Ids = Annotated[
    list[str] | None, typer.Argument(metavar="ID…", help="Messages (m345, or their external ids).")
]

NOT_FOUND = NotFound.exit_code
"""The exit code when a message is not there; the others are pinned all the same."""


def pin(
    references: Ids = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Keep messages close, whatever they say; without an ID, list what is pinned.

    A pinned message counts as important as can be, until 'appliance unpin'.

    \b
    Examples:
      appliance pin m345 m346
      appliance pin --json
    """
    if references:
        _set(references, True, home, json)
        return
    with options.reading(home, "pin") as memory:
        asked = memory.settings.user if user is None else user
        found = memory.keeping.pinned(asked)
    if json:
        out.document({"messages": found})
        return
    out.columns(
        [[message.id, out.moment(message.timestamp), out.one_line(message.text)] for message in found]
    )
    out.say(f"{out.plural(len(found), 'message')} pinned by {asked}")


def unpin(
    references: Annotated[
        list[str], typer.Argument(metavar="ID…", help="Messages (m345, or their external ids).")
    ],
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Let pinned messages count again for what they say and how they are used.

    \b
    Examples:
      appliance unpin m345
    """
    _set(references, False, home, json)


def correct(
    reference: Annotated[str, typer.Argument(metavar="ID", help="A message (m345, or its external id).")],
    text: Annotated[str, typer.Argument(metavar="TEXT|-", help="What it should say; - reads it from stdin.")],
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Give a message other words; those that it had stay as an earlier form.

    Its time, author and place stay. Full text, vectors, summaries and facts follow. Reading its export again does not
    undo it.

    \b
    Examples:
      appliance correct m345 "The blue key opens the attic"
      pbpaste | appliance correct m345 -
    """  # fmt: skip
    from appliance.cli.intake import stdin

    said = stdin() if text == "-" else text
    with options.reading(home, "correct") as memory:
        old = memory.message(reference)
        memory.sessions.info(old.session_id, user_id=memory.settings.user if user is None else user)
        message = memory.sessions.resume(old.session_id).add(
            old.role,
            said,
            author=old.author,
            external_id=old.external_id,
            reply_to=old.reply_to,
            metadata=old.metadata,
        )
        memory.tend()
    if json:
        out.document({"message": message})
    else:
        out.line(f"{message.id} corrected")


def _set(references: list[str], pinned: bool, home: str | None, json: bool) -> None:
    """Pin or unpin each message that is there; those that are not are named, and make the exit code that of what is
    not found."""
    done: list[Message] = []
    missing: list[NotFound] = []
    with options.reading(home, "pin" if pinned else "unpin") as memory:
        for reference in references:
            try:
                done.append(memory.pin(reference) if pinned else memory.unpin(reference))
            except NotFound as error:
                missing.append(error)
    word = "pinned" if pinned else "unpinned"
    if json:
        out.document({"messages": done, "missing": [str(absent) for absent in missing]})
    else:
        for message in done:
            out.line(f"{message.id} {word}")
    for absent in missing:
        out.say(f"error: {absent}" + (f"\n  {absent.hint}" if absent.hint else ""))
    if missing:
        raise typer.Exit(NOT_FOUND)
