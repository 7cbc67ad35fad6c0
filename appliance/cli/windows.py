"""``sessions window``: the working memory of a conversation."""

from __future__ import annotations

from typing import Annotated

import typer

from appliance.cli import options, out


def window(
    reference: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]", help="A session, by id (s12) or external id; the last one begun here without."
        ),
    ] = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show what an assistant has before it of a conversation: a running summary and the latest turns.

    \b
    Examples:
      appliance sessions window
      appliance sessions window s12 --json | jq .window.tokens
    """
    from appliance.memory.window import shown

    with options.reading(home, "sessions window") as memory:
        before = memory.sessions.resume(reference, user_id=user).window()
    if json:
        out.document({"window": before})
    else:
        out.line(shown(before))
