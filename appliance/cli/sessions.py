"""``sessions``: list conversations, start and resume them, and look after them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

import typer

from appliance.cli import options, output, private_session
from appliance.cli.options import argument, flag, option
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import SessionInfo, SessionOrder, StorageScope

verbs = typer.Typer()

_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60, "w": 7 * 24 * 60 * 60}

SCOPES = "all|conversational|summaries_only|none"

SCOPE_LABELS = {
    "all": "Shared with other conversations",
    "conversational": "Only its conversational messages are shared with other conversations",
    "summaries_only": "Only its summaries are shared with other conversations",
    "none": "Not shared with other conversations",
}
"""What each storage scope means."""

Reference = Annotated[str, argument("ID", "A session, by id (s12) or external id.")]
Latest = Annotated[str | None, argument("[ID]", "A session. Default: the last active one started here.")]
Agent = Annotated[str | None, option("--agent", "A", "Only sessions with this agent.")]
Meta = Annotated[list[str] | None, option("--meta", "KEY=VALUE", "Metadata (repeatable).")]
Yes = Annotated[bool, flag("--yes", "Don't ask for confirmation.")]


@verbs.callback(invoke_without_command=True)
def list_sessions(
    context: typer.Context,
    user: options.User = None,
    namespace: options.Namespace = "",
    agent: Agent = None,
    meta: Meta = None,
    source: Annotated[
        list[str] | None,
        option("--source", "FORMAT", "Filter by export format; local means started here (repeatable)."),
    ] = None,
    since: Annotated[str | None, option("--since", "WHEN", "Last active on this day or later.")] = None,
    until: Annotated[str | None, option("--until", "WHEN", "Last active on this day or earlier.")] = None,
    pinned: Annotated[
        bool | None, typer.Option("--pinned/--not-pinned", help="Only pinned ones, or only the others.")
    ] = None,
    title: Annotated[str, option("--title", "WORDS", "Words in the title.")] = "",
    tag: options.Tag = None,
    everything: Annotated[bool, flag("--all", "Also those of tools, systems and subagents alone.")] = False,
    sort: Annotated[
        str, typer.Option("--sort", metavar="active|started|created|title|messages|importance", help="Order.")
    ] = "active",
    reverse: Annotated[bool, flag("--reverse", "Reverse the order.")] = False,
    limit: options.Limit = None,
    after: Annotated[str | None, option("--after", "PAGE", "Continue after a page, as printed below it.")] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List conversations, the most recently active first, or manage one.

    \b
    Examples:
      appliance sessions
      appliance sessions --user ana -k 20 --json
      appliance sessions --title lisbon --since 2026-01-01 --sort messages
      appliance sessions --source chatgpt --meta project=garden
      appliance sessions new "Garden plans"
    """
    if context.invoked_subcommand is not None:
        options.inherit_options(context, home, json)
        return
    with options.open_to_read(home, "sessions") as memory:
        list_found = partial(
            memory.sessions.list,
            user_id=user,
            namespace=namespace,
            agent_id=agent,
            metadata=_parse_pairs(meta),
            sources=source or (),
            since=since,
            until=until,
            pinned=pinned,
            title=title,
            tags=tag or (),
            sort=cast("SessionOrder", sort),
            reverse=reverse,
            limit=limit,
            after=after,
        )
        found = list_found(hidden=everything)
        left_out = len(list_found()) - len(found) if not everything and limit is None and after is None else 0
        listed_user = memory.settings.user if user is None else user
        other_users = None if found else options.other_users(memory, listed_user)
    if json:
        output.print_json({"sessions": list(found), "next": found.next})
        return
    if not found:
        output.say(f"No conversations match for user '{listed_user}'.")
        if other_users:
            output.say(other_users)
        _say_left_out(left_out)
        return
    rows = [
        (info.id, _label(info), info.format, f"{info.messages + info.shared:,}", last)
        for info in _below_parents(found)
        if (last := output.format_timestamp(info.last_at))
    ]
    output.print_table(("id", "title", "source", "messages", "last"), rows, right=("messages",))
    output.say(f"{output.plural(len(found), 'session')}. Read one with 'appliance show ID'.")
    _say_left_out(left_out)
    if found.next is not None:
        output.say(f"There are more; list them with --after {found.next}")


def _below_parents(found: Sequence[SessionInfo]) -> list[SessionInfo]:
    """The sessions in their order, those of subagents below the one that has started them."""
    listed = {(info.format, info.external_id) for info in found}
    below: dict[tuple[str, str], list[SessionInfo]] = {}
    for info in found:
        parent = (info.format, str(info.metadata.get("parent")))
        if info.metadata.get("sidechain") and parent in listed and parent != (info.format, info.external_id):
            below.setdefault(parent, []).append(info)
    hanging = {info.id for infos in below.values() for info in infos}
    ordered: list[SessionInfo] = []
    for info in found:
        pending = [] if info.id in hanging else [info]
        while pending:
            ordered.append(pending.pop())
            pending += reversed(below.pop((ordered[-1].format, ordered[-1].external_id), []))
    placed = {info.id for info in ordered}
    return ordered + [info for info in found if info.id not in placed]


def _label(info: SessionInfo) -> str:
    title = info.title or info.external_id
    return f"  subagent: {title}" if info.metadata.get("sidechain") else title


def _say_left_out(count: int) -> None:
    if count:
        verb = "has" if count == 1 else "have"
        session = output.plural(count, "session")
        output.say(f"{session} {verb} no message that a person or an assistant said openly; --all lists them too.")


@verbs.command("new")
def new(
    title: Annotated[str | None, argument("TITLE", "Its topic. Default: from the first messages.")] = None,
    external_id: Annotated[str | None, option("--id", "ID", "Your own name for the session.")] = None,
    user: options.User = None,
    namespace: options.Namespace = "",
    agent: Annotated[str, option("--agent", "A", "The agent that takes part.")] = "",
    meta: Meta = None,
    ttl: Annotated[
        str | None,
        option("--ttl", "TIME", "Delete after this long without a message: 90 (seconds), 30m, 12h, 7d, 4w; 0 never."),
    ] = None,
    scope: Annotated[str | None, option("--scope", SCOPES, "What other conversations may recall from it.")] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Start a conversation.

    \b
    Examples:
      appliance sessions new "Garden plans"
      appliance sessions new "Garden plans" --id garden --user ana
      appliance sessions new "A surprise" --scope none --ttl 30d
    """
    if external_id == "":
        raise UsageError("--id is empty.", hint="Leave it out to have an id made.")
    with options.open_or_create(home, "sessions new") as memory:
        info = memory.sessions.create(
            title=title,
            user_id=user,
            namespace=namespace,
            agent_id=agent,
            external_id=external_id,
            metadata=_parse_pairs(meta),
            ttl=None if ttl is None else _parse_duration(ttl),
            storage_scope=cast("StorageScope | None", scope),
        ).info
    _print_session(info, json, f"Add messages with 'appliance add TEXT --session {info.id}'.")


@verbs.command("resume")
def resume(
    reference: Latest = None,
    user: options.User = None,
    namespace: options.Namespace = "",
    agent: Agent = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show the end of a conversation and how to continue it.

    \b
    Examples:
      appliance sessions resume
      appliance sessions resume garden --json
    """
    from appliance.cli import transcript

    with options.open_existing(home, "sessions resume") as memory:
        session = memory.sessions.resume(reference, user_id=user, namespace=namespace, agent_id=agent)
        info, last = session.info, session.messages()[-transcript.NEIGHBOUR_COUNT :]
        summary = next(iter(memory.summaries.list(session_id=info.id, level="session", limit=1)), None)
    if json:
        output.print_json({"session": info, "summary": summary, "messages": last})
        return
    transcript.show_session(info, last, summary)
    output.say(f"Continue with 'appliance add TEXT --session {info.id}'; read it all with 'appliance show {info.id}'.")


@verbs.command("rename")
def rename(
    reference: Reference,
    title: Annotated[str, argument("TITLE", "The new title.")],
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Change the title of a conversation. Ingesting its export again keeps the new title.

    \b
    Examples:
      appliance sessions rename s12 "Garden plans"
    """
    with options.open_existing(home, "sessions rename") as memory:
        session = memory.sessions.resume(reference, user_id=user)
        session.rename(title)
        info = session.info
    _print_session(info, json)


@verbs.command("branch")
def branch(
    reference: Reference,
    at: Annotated[str | None, option("--at", "MESSAGE_ID", "Last message in common. Default: the last one.")] = None,
    title: Annotated[str | None, option("--title", "TITLE", "Title of the branch.")] = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Start a conversation with the beginning of another.

    \b
    Examples:
      appliance sessions branch s12
      appliance sessions branch s12 --at m345 --title "What if we stayed"
    """
    with options.open_existing(home, "sessions branch") as memory:
        info = memory.sessions.resume(reference, user_id=user).branch(at, title=title).info
    _print_session(info, json, f"It shares {output.plural(info.shared, 'message')}, up to {info.branch_at}.")


@verbs.command("clear")
def clear(
    reference: Reference,
    yes: Yes = False,
    dry_run: options.DryRun = False,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Remove all messages of a conversation, but keep the conversation.

    Ingesting its export again brings imported messages back.

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
    dry_run: options.DryRun = False,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Remove a conversation with all its messages.

    Its branches keep the messages that they share. Ingesting its export again does not bring the messages back; 'ingest
    --again' does. Traces may stay in the files of the memory; 'appliance forget' erases those too, with a receipt.

    \b
    Examples:
      appliance sessions delete s12 --dry-run
      appliance sessions delete garden --yes
    """
    _remove("delete", reference, user, home, yes=yes, dry_run=dry_run, json=json)


@verbs.command("pin")
def pin(reference: Reference, user: options.User = None, home: options.Home = None, json: options.Json = False) -> None:
    """Keep a conversation, even one with a time to live.

    \b
    Examples:
      appliance sessions pin s12
    """
    with options.open_existing(home, "sessions pin") as memory:
        session = memory.sessions.resume(reference, user_id=user)
        session.pin()
        info = session.info
    _print_session(info, json)


@verbs.command("unpin")
def unpin(
    reference: Reference, user: options.User = None, home: options.Home = None, json: options.Json = False
) -> None:
    """Let a conversation expire again; its time to live starts now.

    \b
    Examples:
      appliance sessions unpin s12
    """
    with options.open_existing(home, "sessions unpin") as memory:
        session = memory.sessions.resume(reference, user_id=user)
        session.unpin()
        info = session.info
    _print_session(info, json, f"It expires at {info.expires_at}." if info.expires_at else "")


@verbs.command("scope")
def scope(
    reference: Reference,
    storage_scope: Annotated[
        str | None, argument(f"[{SCOPES}]", "What it shares: all, conversational messages, summaries or nothing.")
    ] = None,
    auto_recall: Annotated[
        bool | None,
        typer.Option("--auto-recall/--no-auto-recall", help="Whether its contexts recall from other conversations."),
    ] = None,
    recall_limit: Annotated[
        int | None, option("--recall-limit", "N", "Most messages that its contexts recall from others.")
    ] = None,
    min_score: Annotated[
        float | None, option("--min-score", "NUMBER", "The least score of such a message, 0 to 1.")
    ] = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show or set what a conversation shares and recalls.

    A search within the conversation always finds all of its messages.

    \b
    Examples:
      appliance sessions scope s12 none
      appliance sessions scope s12 summaries_only --no-auto-recall
      appliance sessions scope s12 --recall-limit 10 --min-score 0.5
    """
    with options.open_existing(home, "sessions scope") as memory:
        session = memory.sessions.resume(reference, user_id=user)
        with _index_follows(memory):
            if storage_scope is not None:
                session.set_storage_scope(cast("StorageScope", storage_scope))
            given = {"auto_recall": auto_recall, "recall_limit": recall_limit, "min_score": min_score}
            if configured := {name: value for name, value in given.items() if value is not None}:
                session.configure(configured)
        info, recalls_others = session.info, session.auto_recall
    recall = "recalls from them automatically" if recalls_others else "does not recall from them"
    _print_session(info, json, f"{SCOPE_LABELS[info.storage_scope]}; {recall}.")


@verbs.command("window")
def window(
    reference: Latest = None, user: options.User = None, home: options.Home = None, json: options.Json = False
) -> None:
    """Show the working memory of a conversation. It is its running summary and latest turns.

    \b
    Examples:
      appliance sessions window
      appliance sessions window s12 --json | jq .window.tokens
    """
    from appliance.memory.window import describe_window

    with options.open_to_read(home, "sessions window") as memory:
        working_memory = memory.sessions.resume(reference, user_id=user).window()
    if json:
        output.print_json({"window": working_memory})
    else:
        output.print_line(describe_window(working_memory))


verbs.command("private")(private_session.private)


def _remove(
    verb: str, reference: str, user: str | None, home: str | None, *, yes: bool, dry_run: bool, json: bool
) -> None:
    """Clear or delete a session after a confirmation."""
    with options.open_existing(home, f"sessions {verb}") as memory:
        session = memory.sessions.resume(reference, user_id=user)
        info = session.info
        remove = session.clear if verb == "clear" else session.delete
        removed = remove(dry_run=True)
        description = f"{output.plural(removed.messages, 'message')} of {info.id} ({info.title or info.external_id})"
        if not dry_run:
            if not yes:
                _confirm(f"permanently remove {description}" if verb == "delete" else f"remove {description}")
            with _index_follows(memory):
                removed = remove()
    if json:
        output.print_json({"session": info, "removed": removed, "dry_run": dry_run})
        return
    output.print_line(f"{'would remove' if dry_run else 'removed'} {description}")
    if removed.heir is not None:
        output.say(f"{output.plural(removed.kept, 'message')} remain as the beginning of {removed.heir}.")


def _confirm(action: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError(f"This would {action}.", hint="Confirm with --yes, or try --dry-run first.")
    if not typer.confirm(f"{action[0].upper()}{output.clean(action[1:])}?", err=True):
        output.say("Nothing was changed.")
        raise typer.Exit(130)


@contextmanager
def _index_follows(memory: Appliance) -> Iterator[None]:
    """Update the index after the changes within, unless an earlier ingest left a backlog."""
    has_backlog = memory.status()["counts"]["pending"] > 0
    yield
    if not has_backlog:
        memory.embed_pending()


def _print_session(info: SessionInfo, json: bool, hint: str = "") -> None:
    if json:
        output.print_json({"session": info})
        return
    output.print_line(f"{info.id} {info.title or info.external_id}")
    if hint:
        output.say(hint)


def _parse_pairs(values: Sequence[str] | None) -> dict[str, str]:
    pairs = dict.fromkeys(values or ())
    for pair in pairs:
        if "=" not in pair.strip("="):
            raise UsageError(f"--meta {pair!r} has no value.", hint="Use KEY=VALUE.")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def _parse_duration(time: str) -> int:
    match = re.fullmatch(r"(\d{1,10})([smhdw]?)", time.strip())
    if match is None:
        raise UsageError(f"Invalid duration {time!r}.", hint="Use seconds, or 30m, 12h, 7d, 4w; 0 means never.")
    return int(match[1]) * _UNIT_SECONDS[match[2]]
