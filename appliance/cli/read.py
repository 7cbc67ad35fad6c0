"""``sessions``, ``show`` and ``export``: what is kept, read back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from appliance.cli import options, out
from appliance.errors import UsageError

sessions = typer.Typer()


@sessions.callback(invoke_without_command=True)
def list_sessions(
    context: typer.Context,
    user: options.User = None,
    limit: options.Limit = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List the conversations, or begin one.

    The last active first.

    \b
    Examples:
      appliance sessions
      appliance sessions --user ana -k 20 --json
      appliance sessions new "Garden plans"
    """
    if context.invoked_subcommand is not None:
        options.hand_down(context, home, json)
        return
    with options.reading(home, "sessions") as memory:
        found = memory.sessions.list(user_id=user, limit=limit)
        asked = memory.settings.user if user is None else user
    if json:
        out.document({"sessions": found})
        return
    if not found:
        out.say(f"no sessions of {asked}; --user names another")
        return
    moment = out.moment if out.on_terminal() else str
    rows = [
        (info.id, info.title or info.external_id, info.format, f"{info.messages:,}", moment(info.last_at))
        for info in found
    ]
    out.table(("id", "title", "source", "messages", "last"), rows, right=("messages",))
    out.say(f"{out.plural(len(found), 'session')}; 'appliance show ID' reads one")


@sessions.command("new")
def new_session(
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What it is about.")],
    external_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="A name of your own to reach it by.", show_default=False),
    ] = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Begin a conversation.

    \b
    Examples:
      appliance sessions new "Garden plans"
      appliance sessions new "Garden plans" --id garden --user ana
    """
    if external_id == "":
        raise UsageError("--id is empty", hint="leave it out to have one made")
    with options.writing(home, "sessions new") as memory:
        info = memory.sessions.create(title=title, user_id=user, external_id=external_id).info
    if json:
        out.document({"session": info})
    else:
        out.line(f"{info.id} {info.title}")
        out.say(f"'appliance add TEXT --session {info.id}' adds to it")


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
    """Read a conversation, or one message in its place and how often and when its like was said.

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
        variants = memory.variants(message.id) if message is not None else []
    if message is not None:
        if json:
            where = transcript.place(message, messages)
            out.document({"message": message, "session": info, "place": where, "variants": variants})
        else:
            transcript.show_message(message, info, messages, variants)
    elif json:
        out.document({"session": info, "messages": messages})
    else:
        transcript.show_session(info, messages)


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
