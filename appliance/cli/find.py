"""``search`` and ``context``: what is found, and what an assistant would be given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from appliance.cli import options, out

if TYPE_CHECKING:
    from appliance.types import Mode, Role


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words, a name, or a whole question.")],
    limit: options.Limit = None,
    mode: Annotated[
        str, typer.Option("--mode", metavar="hybrid|dense|lexical", help="By meaning, by words, or both.")
    ] = "hybrid",
    profile: options.Profile = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="LEG",
            help="Leave out dense, own, window, quoted, title or time; may be repeated.",
            show_default=False,
        ),
    ] = None,
    per_session: Annotated[
        int | None,
        typer.Option(
            "--per-session",
            metavar="N",
            help="At most so many hits of one session; 0 for any number.",
            min=0,
            show_default=False,
        ),
    ] = None,
    user: options.User = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session", metavar="ID", help="Only this session, by id or external id.", show_default=False
        ),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(
            "--role",
            metavar="user|assistant|system|tool",
            help="Only this role; may be repeated. What was said in the open unless given.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            metavar="FORMAT",
            help="Only from this kind of export; may be repeated.",
            show_default=False,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="WHEN", help="From this day or moment on.", show_default=False),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="WHEN", help="Up to this day (included) or moment.", show_default=False
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of", metavar="WHEN", help="As if it were asked on this day or moment.", show_default=False
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each score is made of.", show_default=False)
    ] = False,
    why_not: Annotated[
        str | None,
        typer.Option(
            "--why-not", metavar="MESSAGE_ID", help="Say why this message is not found.", show_default=False
        ),
    ] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Find the messages that answer a question best. What stands in quotation marks is found as it stands.

    \b
    Examples:
      appliance search "when does the lease end"
      appliance search 'what was wrong with the "connection pool"'
      appliance search "what did we decide in March 2025" --per-session 2
      appliance search KLP-512 -k 3 --explain
      appliance search "wifi password" --source whatsapp --since 2026-02-01
      appliance search deadline --json | jq -r '.hits[].text'
    """
    from appliance.cli import hits
    from appliance.server import shapes

    with options.searching(home, "search") as memory:
        found = memory.search(
            query,
            limit=limit,
            mode=cast("Mode", mode),
            user_id=user,
            session_id=session,
            roles=cast("list[Role] | None", role),
            sources=source,
            since=since,
            until=until,
            as_of=as_of,
            profile=profile,
            without=without,
            per_session=per_session,
            why_not=why_not,
        )
    if json:
        out.document(shapes.shape(found))
    else:
        hits.show(found, explain=explain)
        if found.why_not is not None:
            out.line(hits.verdict(found.why_not))
    out.notes(found.notes)
    if found.times:
        out.say(f"what was said then comes first: {', '.join(found.times)}")
    if found:
        out.say(f"{out.plural(len(found), 'hit')} in {found.took_ms:.0f} ms")
    else:
        out.say("nothing found; other words, fewer options, or 'appliance sessions' to see what there is")


def context(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the assistant is asked.")],
    session: Annotated[
        str | None,
        typer.Option(
            "--session", metavar="ID", help="With this conversation's recent turns.", show_default=False
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget", metavar="TOKENS", help="At most so many tokens; never exceeded.", show_default=False
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding",
            metavar="NAME",
            help="Count with this encoding, or this model's.",
            show_default=False,
        ),
    ] = None,
    profile: options.Profile = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="assistant|support|tutor|code",
            help="How the budget is shared out among the layers.",
            show_default=False,
        ),
    ] = None,
    share: Annotated[
        list[str] | None,
        typer.Option(
            "--share",
            metavar="LAYER=NUMBER",
            help="A layer's share, 0 to 1: profile, retrieved, summary or recent; may be repeated.",
            show_default=False,
        ),
    ] = None,
    no_recall: Annotated[
        bool,
        typer.Option(
            "--no-recall", help="Look nothing up: the session's own window alone.", show_default=False
        ),
    ] = False,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Build what an assistant would be given for a question.

    The text goes to stdout, ready to be piped on; how it was made is told on stderr.

    \b
    Examples:
      appliance context "when is my deadline?"
      appliance context "what do we cook?" --budget 600 --json | jq .messages
      appliance context "and then?" --session s12 > prompt.txt
      appliance context "how far did we get?" --session s12 --preset tutor
      appliance context "the invoice" --share retrieved=0.7 --share recent=0.1
    """
    from appliance.cli import hits
    from appliance.server import shapes

    with options.searching(home, "context") as memory:
        built = memory.context(
            query,
            session_id=session,
            budget=budget,
            encoding=encoding,
            user_id=user,
            profile=profile,
            preset=preset,
            shares=options.shares(share) if share else None,
            auto_recall=False if no_recall else None,
        )
    if json:
        out.document(shapes.context_shape(built))
    elif built.text:
        out.line(built.text.removesuffix("\n"))
    hits.tell_context(built)
