"""``show`` and ``export``: what is kept, read back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from appliance.cli import options, out
from appliance.errors import UsageError


def show(
    reference: Annotated[
        str, typer.Argument(metavar="ID", help="A session (s12) or a message (m345), or an external id.")
    ],
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Read a conversation, or one message in its place and how often and when its like was said.

    \b
    Examples:
      appliance show s12
      appliance show m345 --json
    """
    from appliance.cli import transcript

    with options.reading(home, "show") as memory:
        message, info = transcript.resolve(memory, reference)
        messages = memory.sessions.messages(info.id)
        variants = memory.variants(message.id) if message is not None else []
        summary = next(iter(memory.summaries.list(session_id=info.id, level="session", limit=1)), None)
    if message is not None:
        if json:
            where = transcript.place(message, messages)
            out.document({"message": message, "session": info, "place": where, "variants": variants})
        else:
            transcript.show_message(message, info, messages, variants)
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
