"""``sessions``: conversations listed, begun, taken up again, and looked after."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, cast

import typer

from appliance.cli import options, out, privately, windows
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.memory.session import Session
    from appliance.server.client import Appliance
    from appliance.store.listing import Sort
    from appliance.types import SessionInfo, StorageScope

verbs = typer.Typer()

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60, "w": 7 * 24 * 60 * 60}

Reference = Annotated[str, typer.Argument(metavar="ID", help="A session, by id (s12) or external id.")]
Namespace = Annotated[
    str, typer.Option("--namespace", metavar="N", help="In this namespace of the user.", show_default=False)
]
Agent = Annotated[
    str | None,
    typer.Option("--agent", metavar="A", help="In which this agent takes part.", show_default=False),
]
Meta = Annotated[
    list[str] | None,
    typer.Option(
        "--meta", metavar="KEY=VALUE", help="With this metadata; may be repeated.", show_default=False
    ),
]


@verbs.callback(invoke_without_command=True)
def list_sessions(
    context: typer.Context,
    user: options.User = None,
    namespace: Namespace = "",
    agent: Agent = None,
    meta: Meta = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            metavar="FORMAT",
            help="From this kind of export; local was begun here. May be repeated.",
            show_default=False,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="WHEN", help="Last active on this day or later.", show_default=False),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="WHEN", help="Last active on this day or before.", show_default=False
        ),
    ] = None,
    pinned: Annotated[
        bool | None, typer.Option("--pinned/--not-pinned", help="Pinned ones only, or the others.")
    ] = None,
    title: Annotated[
        str,
        typer.Option("--title", metavar="WORDS", help="With these words in the title.", show_default=False),
    ] = "",
    sort: Annotated[
        str,
        typer.Option(
            "--sort", metavar="active|created|title|messages|importance", help="What they are sorted by."
        ),
    ] = "active",
    reverse: Annotated[
        bool, typer.Option("--reverse", help="The last ones first.", show_default=False)
    ] = False,
    limit: options.Limit = None,
    after: Annotated[
        str | None,
        typer.Option(
            "--after", metavar="PAGE", help="The page behind one that was listed.", show_default=False
        ),
    ] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List the conversations, or look after one.

    The last active first.

    \b
    Examples:
      appliance sessions
      appliance sessions --user ana -k 20 --json
      appliance sessions --title lisbon --since 2026-01-01 --sort messages
      appliance sessions --source chatgpt --meta project=garden
      appliance sessions new "Garden plans"
    """
    if context.invoked_subcommand is not None:
        options.hand_down(context, home, json)
        return
    with options.reading(home, "sessions") as memory:
        found = memory.sessions.list(
            user_id=user,
            namespace=namespace,
            agent_id=agent,
            metadata=_pairs(meta),
            sources=source or (),
            since=since,
            until=until,
            pinned=pinned,
            title=title,
            sort=cast("Sort", sort),
            reverse=reverse,
            limit=limit,
            after=after,
        )
        asked = memory.settings.user if user is None else user
    if json:
        out.document({"sessions": list(found), "next": found.next})
        return
    if not found:
        out.say(f"no sessions of {asked}; fewer options, or --user names another")
        return
    moment = out.moment if out.on_terminal() else lambda timestamp: timestamp or "no time"
    rows = [
        (
            info.id,
            info.title or info.external_id,
            info.format,
            f"{info.messages + info.shared:,}",
            moment(info.last_at),
        )
        for info in found
    ]
    out.table(("id", "title", "source", "messages", "last"), rows, right=("messages",))
    out.say(f"{out.plural(len(found), 'session')}; 'appliance show ID' reads one")
    if found.next is not None:
        out.say(f"there are more: the same with --after {found.next}")


@verbs.command("new")
def new(
    title: Annotated[
        str | None,
        typer.Argument(metavar="TITLE", help="What it is about; found in what is said first unless given."),
    ] = None,
    external_id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="A name of your own to reach it by.", show_default=False),
    ] = None,
    user: options.User = None,
    namespace: Namespace = "",
    agent: Annotated[
        str, typer.Option("--agent", metavar="A", help="The agent that takes part.", show_default=False)
    ] = "",
    meta: Meta = None,
    ttl: Annotated[
        str | None,
        typer.Option(
            "--ttl",
            metavar="TIME",
            help="Delete it after so long without a message: 90 (seconds), 30m, 12h, 7d, 4w; 0 never.",
            show_default=False,
        ),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            "--scope",
            metavar="all|conversational|summaries_only|none",
            help="What it gives to other conversations.",
            show_default=False,
        ),
    ] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Begin a conversation.

    \b
    Examples:
      appliance sessions new "Garden plans"
      appliance sessions new "Garden plans" --id garden --user ana
      appliance sessions new "A surprise" --scope none --ttl 30d
    """
    if external_id == "":
        raise UsageError("--id is empty", hint="leave it out to have one made")
    with options.writing(home, "sessions new") as memory:
        begun = memory.sessions.create(
            title=title,
            user_id=user,
            namespace=namespace,
            agent_id=agent,
            external_id=external_id,
            metadata=_pairs(meta),
            ttl=None if ttl is None else _seconds(ttl),
            storage_scope=cast("StorageScope | None", scope),
        )
        info = begun.info
    _tell(info, json, f"'appliance add TEXT --session {info.id}' adds to it")


@verbs.command("resume")
def resume(
    reference: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="A session; the last active one of those begun here unless given."),
    ] = None,
    user: options.User = None,
    namespace: Namespace = "",
    agent: Agent = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Take up the last conversation again, or a named one: where it stood, and how to go on.

    \b
    Examples:
      appliance sessions resume
      appliance sessions resume garden --json
    """
    from appliance.cli import transcript

    with options.reading(home, "sessions resume") as memory:
        session = memory.sessions.resume(reference, user_id=user, namespace=namespace, agent_id=agent)
        info, last = session.info, session.messages()[-transcript.NEIGHBOURS :]
        summary = next(iter(memory.summaries.list(session_id=info.id, level="session", limit=1)), None)
    if json:
        out.document({"session": info, "summary": summary, "messages": last})
        return
    transcript.show_session(info, last, summary)
    out.say(f"'appliance add TEXT --session {info.id}' goes on; 'appliance show {info.id}' reads all of it")


@verbs.command("rename")
def rename(
    reference: Reference,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What it is about.")],
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Give a conversation another title, which stays when its export is read again.

    \b
    Examples:
      appliance sessions rename s12 "Garden plans"
    """
    with options.reading(home, "sessions rename") as memory:
        session = _named(memory, reference, user)
        session.rename(title)
        info = session.info
    _tell(info, json)


@verbs.command("branch")
def branch(
    reference: Reference,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="MESSAGE_ID", help="The last message in common; the last of all unless given."
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TITLE", help="What it is about.", show_default=False)
    ] = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Begin a conversation with the past of another, and a future of its own.

    \b
    Examples:
      appliance sessions branch s12
      appliance sessions branch s12 --at m345 --title "What if we stayed"
    """
    with options.reading(home, "sessions branch") as memory:
        info = _named(memory, reference, user).branch(at, title=title).info
    _tell(info, json, f"it shares {out.plural(info.shared, 'message')}, up to {info.branch_at}")


Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.", show_default=False)]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would go; change nothing.", show_default=False)
]


@verbs.command("clear")
def clear(
    reference: Reference,
    yes: Yes = False,
    dry_run: DryRun = False,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Remove all messages of a conversation, and keep it.

    What was imported comes back when its export is read again.

    \b
    Examples:
      appliance sessions clear s12 --dry-run
      appliance sessions clear s12 --yes
    """
    _remove("clear", reference, user, home, yes=yes, dry_run=dry_run, json=json)


@verbs.command("delete")
def delete(
    reference: Reference,
    yes: Yes = False,
    dry_run: DryRun = False,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Remove a conversation with all its messages.

    What branches of it share goes over to them. What was imported comes back when its export is read again.

    \b
    Examples:
      appliance sessions delete s12 --dry-run
      appliance sessions delete garden --yes
    """
    _remove("delete", reference, user, home, yes=yes, dry_run=dry_run, json=json)


@verbs.command("pin")
def pin(
    reference: Reference, user: options.User = None, home: options.Home = None, json: options.Json = False
) -> None:
    """Keep a conversation, however long nothing happens in it.

    \b
    Examples:
      appliance sessions pin s12
    """
    with options.reading(home, "sessions pin") as memory:
        session = _named(memory, reference, user)
        session.pin()
        info = session.info
    _tell(info, json)


@verbs.command("unpin")
def unpin(
    reference: Reference, user: options.User = None, home: options.Home = None, json: options.Json = False
) -> None:
    """Let a conversation go when its time is over, counted from now.

    \b
    Examples:
      appliance sessions unpin s12
    """
    with options.reading(home, "sessions unpin") as memory:
        session = _named(memory, reference, user)
        session.unpin()
        info = session.info
    _tell(info, json, f"it goes at {info.expires_at}" if info.expires_at else "")


@verbs.command("scope")
def scope(
    reference: Reference,
    gives: Annotated[
        str | None,
        typer.Argument(
            metavar="[all|conversational|summaries_only|none]",
            help="All of it, what was said in the open, its summaries, or nothing.",
        ),
    ] = None,
    auto_recall: Annotated[
        bool | None,
        typer.Option(
            "--auto-recall/--no-auto-recall",
            help="Whether memories of others come into its contexts by themselves.",
        ),
    ] = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Say what a conversation gives to others, and whether it takes from them.

    Within the conversation all of it is found.

    \b
    Examples:
      appliance sessions scope s12 none
      appliance sessions scope s12 summaries_only --no-auto-recall
    """
    with options.reading(home, "sessions scope") as memory:
        session = _named(memory, reference, user)
        with _settling(memory):
            if gives is not None:
                session.set_storage_scope(cast("StorageScope", gives))
            if auto_recall is not None:
                session.configure({"auto_recall": auto_recall})
        info, takes = session.info, session.auto_recall
    told = f"gives {info.storage_scope}; {'takes' if takes else 'does not take'} memories of others by itself"
    _tell(info, json, told)


def _remove(
    verb: str, reference: str, user: str | None, home: str | None, *, yes: bool, dry_run: bool, json: bool
) -> None:
    """Clear or delete a session, once it is said what goes and nobody minds."""
    with options.reading(home, f"sessions {verb}") as memory:
        session = _named(memory, reference, user)
        info = session.info
        remove = session.clear if verb == "clear" else session.delete
        removed = remove(dry_run=True)
        goes = f"{out.plural(removed.messages, 'message')} of {info.id} ({info.title or info.external_id})"
        if not dry_run:
            _ask(f"{verb} {info.id}: {goes}", yes)
            with _settling(memory):
                removed = remove()
    if json:
        out.document({"session": info, "removed": removed, "dry_run": dry_run})
        return
    out.line(f"{'would remove' if dry_run else 'removed'} {goes}")
    if removed.heir is not None:
        out.say(f"{out.plural(removed.kept, 'message')} more stay as the past of {removed.heir}")


def _ask(what: str, yes: bool) -> None:
    import sys

    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{what} would go for good", hint="--yes does it; --dry-run changes nothing")
    if not typer.confirm(f"{out.clean(what)}, for good?", err=True):
        out.say("nothing was changed")
        raise typer.Exit(130)


class _settling:
    """Lets the index follow what is done within at once; a backlog of an earlier ingest is left as it was."""

    def __init__(self, memory: Appliance) -> None:
        self._memory = memory
        self._backlog = memory.status()["counts"]["pending"] > 0

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None and not self._backlog:
            self._memory.embed_pending()


def _named(memory: Appliance, reference: str, user: str | None) -> Session:
    """The session of a reference; only ``user``'s where one is named."""
    return memory.sessions.resume(reference, user_id=user)


def _tell(info: SessionInfo, json: bool, hint: str = "") -> None:
    if json:
        out.document({"session": info})
        return
    out.line(f"{info.id} {info.title or info.external_id}")
    if hint:
        out.say(hint)


def _pairs(given: Sequence[str] | None) -> dict[str, str]:
    pairs = dict.fromkeys(given or ())
    for pair in pairs:
        if "=" not in pair.strip("="):
            raise UsageError(f"--meta {pair!r} has no value", hint="write KEY=VALUE")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def _seconds(time: str) -> int:
    found = re.fullmatch(r"(\d{1,10})([smhdw]?)", time.strip())
    if found is None:
        raise UsageError(f"--ttl {time!r} is no time", hint="write seconds, or 30m, 12h, 7d, 4w; 0 for ever")
    return int(found[1]) * _SECONDS[found[2]]


verbs.command("private")(privately.private)
verbs.command("window")(windows.window)
