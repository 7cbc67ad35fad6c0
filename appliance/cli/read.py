"""``show`` and ``export``: what is kept, read back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from appliance.cli import options, out
from appliance.errors import UsageError


def show(
    reference: Annotated[
        str | None,
        typer.Argument(
            metavar="ID", help="A session (s12) or a message (m345), or an external id.", show_default=False
        ),
    ] = None,
    what_you_know: Annotated[
        bool, typer.Option("--what-you-know", help="Instead, what is known of you, with its evidence.")
    ] = False,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Read a conversation, or one message in its place, how often and when its like was said, and how important it is.

    \b
    Examples:
      appliance show s12
      appliance show m345 --json
      appliance show --what-you-know
    """
    from appliance.cli import facts, transcript

    if (reference is None) != what_you_know:
        raise UsageError("show needs an ID, or --what-you-know", hint="'appliance show --help' shows how")
    if user is not None and not what_you_know:
        raise UsageError("--user goes with --what-you-know", hint="an ID says whose it is")
    if reference is None:
        with options.reading(home, "show") as memory:
            facts.what_you_know(memory, user, json)
        return
    with options.reading(home, "show") as memory:
        message, info = transcript.resolve(memory, reference)
        messages = memory.sessions.messages(info.id)
        summary = next(iter(memory.summaries.list(session_id=info.id, level="session", limit=1)), None)
        if message is not None:
            variants = memory.variants(message.id)
            importance = memory.keeping.importance(message.id)
            memory.keeping.recalled([message.id])
    if message is not None:
        if json:
            where = transcript.place(message, messages)
            shown = {"message": message, "session": info, "place": where, "variants": variants}
            out.document({**shown, "importance": importance})
        else:
            transcript.show_message(message, info, messages, variants, importance)
    elif json:
        out.document({"session": info, "messages": messages, "summary": summary})
    else:
        transcript.show_session(info, messages, summary)


def export(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="The file to write; - is stdout.")],
    format: Annotated[
        str, typer.Option("--format", metavar="jsonl|markdown", help="To read back in, or to read.")
    ] = "jsonl",
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="U", help="Only this user's; else everybody's.", show_default=False),
    ] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Write everything back out.

    Native JSONL, one message a line, can be ingested again. A file appears whole or not at all, and
    only you can read it.

    \b
    Examples:
      appliance export memory.jsonl
      appliance export memory.md --format markdown --user ana
      appliance export - | jq -r .content
    """
    from appliance.cli import saving

    if format not in saving.FORMATS:
        raise UsageError(f"no format {format!r}", hint=" or ".join(saving.FORMATS))
    if file == "-" and json:
        raise UsageError(
            "with - the messages themselves go to stdout, and --json would print a second document there",
            hint="JSONL is JSON already; or name a file to get a report of it",
        )
    with options.reading(home, "export") as memory:
        pieces = saving.pieces(memory, format, user)
        if file == "-":
            for piece in pieces:
                out.write_piece(piece)
            return
        report = saving.save(file, pieces)
    _tell_saved({**report, "format": format}, json)


def _tell_saved(report: dict[str, Any], json: bool) -> None:
    if json:
        out.document(report)
    else:
        out.line(f"{report['path']}: {out.size(report['bytes'])}")
