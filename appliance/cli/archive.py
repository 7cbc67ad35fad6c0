"""``archive``: move old, unimportant messages out of the way, and bring them back."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appliance.cli import options, output
from appliance.cli.options import argument, flag, option
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.types import RetentionRule

verbs = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

MAX_LISTED = 20
"""Messages that a dry run lists on a terminal; --json lists all."""


@verbs.callback()
def archive(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """Archive old, unimportant messages, and bring them back.

    Archived messages take less room and leave the fast part of the search. Nothing is lost: they are read, exported,
    verified and forgotten like all others, 'search --include-archived' finds them, and what is used comes back.

    \b
    Examples:
      appliance archive run --dry-run
      appliance archive status
      appliance archive restore s12
    """
    if context.invoked_subcommand is None:
        status(home, json)
    else:
        options.inherit_options(context, home, json)


@verbs.command()
def run(
    dry_run: Annotated[bool, flag("--dry-run", "Show which messages and why; change nothing.")] = False,
    days: Annotated[
        int | None, option("--days", "N", "Messages older than this. Default: the setting archive.days.", min=0)
    ] = None,
    importance: Annotated[
        float | None,
        option(
            "--importance", "X", "Messages below this importance. Default: the setting archive.importance.",
            min=0.0, max=1.0,
        ),
    ] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Archive the messages that are old, unimportant, not pinned, not recalled, and in no active session.

    \b
    Examples:
      appliance archive run --dry-run
      appliance archive run --dry-run --days 365 --json | jq .messages
      appliance archive run
    """
    with options.open_existing(home, "archive") as memory, output.step_progress() as step:
        report = memory.archive.run(
            dry_run=dry_run,
            days=days,
            importance=importance,
            progress=lambda done, left: step("archiving", done, done + left),
        )
        pending = memory.status()["counts"]["pending"]
    if json:
        output.print_json(asdict(report))
        return
    if dry_run:
        output.print_columns([[one.message_id, one.reason] for one in report.messages[:MAX_LISTED]])
        if len(report.messages) > MAX_LISTED:
            output.say(f"{len(report.messages) - MAX_LISTED:,} more; --json lists all.")
        output.say(f"{output.plural(report.archived, 'message')} would be archived, {report.kept:,} kept.")
        _note_pending(pending)
        return
    output.print_line(f"{output.plural(report.archived, 'message')} archived, {report.kept:,} kept")
    if report.archived:
        before, after = output.format_size(report.bytes_before), output.format_size(report.bytes_after)
        output.say(f"Database and index: {before} before, {after} after.")
    _note_pending(pending)


@verbs.command()
def status(home: options.Home = None, json: options.Json = False) -> None:
    """Show what is archived, what is due, and by which policy.

    \b
    Examples:
      appliance archive status
      appliance archive status --json | jq .archived
    """
    with options.open_existing(home, "archive") as memory:
        found, smallest = memory.archive.status(), memory.settings.archive.smallest
        pending = memory.status()["counts"]["pending"]
    if json:
        output.print_json(asdict(found))
        return
    output.print_fields(
        {
            "archived": output.plural(found.archived, "message"),
            "due": output.plural(found.due, "message"),
            "texts": output.format_size(found.text_bytes),
            "index": output.format_size(found.index_bytes),
            "policy": f"older than {output.plural(found.days, 'day')}, importance below {found.importance:g}",
            "automatic": f"yes, from {smallest:,} messages on" if found.automatic else "no",
            **{_subject(rule): _days(rule) for rule in found.rules},
        }
    )
    _note_pending(pending)


def _note_pending(pending: int) -> None:
    """Say why messages may be missing from what is due: what can't be found yet is not archived."""
    if pending:
        output.say(
            f"note: {output.plural(pending, 'chunk')} not indexed yet: their messages are kept until they are;"
            " 'appliance reindex --pending' indexes them now."
        )


@verbs.command("list")
def list_archived(
    limit: options.Limit = None, user: options.User = None, home: options.Home = None, json: options.Json = False
) -> None:
    """List archived messages, the latest first.

    \b
    Examples:
      appliance archive list
      appliance archive list -k 500 --json
    """
    with options.open_existing(home, "archive") as memory:
        found = memory.archive.list(limit=limit or MAX_LISTED, user_id=user)
    if json:
        output.print_json({"messages": found})
        return
    if not found:
        output.say("No archived messages.")
    output.print_columns(
        [[message.id, output.format_timestamp(message.timestamp), output.one_line(message.text)] for message in found]
    )


@verbs.command()
def restore(
    ids: Annotated[list[str] | None, argument("[ID]…", "Messages (m345) and sessions (s12), or external ids.")] = None,
    everything: Annotated[bool, flag("--everything", "All archived messages.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Bring archived messages back.

    \b
    Examples:
      appliance archive restore m345 s12
      appliance archive restore --everything
    """
    if bool(ids) == everything:
        problem = "Ids and --everything can't be combined." if ids else "Name what to restore."
        raise UsageError(problem, hint="Give ids of messages and sessions, or --everything.")
    with options.open_existing(home, "archive") as memory:
        restored = memory.archive.restore(ids or (), everything=everything)
    if json:
        output.print_json({"restored": restored})
    else:
        output.print_line(f"{output.plural(restored, 'message')} restored")


@verbs.command()
def policy(
    session: Annotated[str | None, option("--session", "ID", "Set the days of this session.")] = None,
    source: Annotated[str | None, option("--source", "FORMAT", "Set the days of this source.")] = None,
    days: Annotated[int | None, option("--days", "N", "Archive its messages after this many days.", min=0)] = None,
    never: Annotated[bool, flag("--never", "Never archive its messages.")] = False,
    default: Annotated[bool, flag("--default", "Remove its rule; the settings apply again.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show or set after how many days the messages of a session or a source may be archived.

    \b
    Examples:
      appliance archive policy
      appliance archive policy --source whatsapp --days 30
      appliance archive policy --session s12 --never
      appliance archive policy --source whatsapp --default
    """
    if session is None and source is None:
        if never or default or days is not None:
            raise UsageError("Nothing is named.", hint="Name a --session or a --source.")
        with options.open_existing(home, "archive") as memory:
            found = memory.archive.status()
        _print_policy(found.days, found.importance, found.rules, json)
        return
    if (days is not None) + never + default != 1:
        raise UsageError("Give exactly one of --days, --never and --default.")
    with options.open_existing(home, "archive") as memory:
        rule = memory.archive.set_retention(session_id=session, source=source, days=days, remove=default)
    if json:
        output.print_json({"rule": None if rule is None else asdict(rule)})
    else:
        output.print_line(f"{session or source}: the settings apply" if rule is None else _describe(rule))


def _print_policy(days: int, importance: float, rules: tuple[RetentionRule, ...], json: bool) -> None:
    if json:
        shape: dict[str, Any] = {"days": days, "importance": importance, "rules": [asdict(rule) for rule in rules]}
        output.print_json(shape)
        return
    output.print_fields({"days": str(days), "importance": f"below {importance:g}"})
    for rule in rules:
        output.print_line(_describe(rule))


def _describe(rule: RetentionRule) -> str:
    return f"{_subject(rule)}: {_days(rule)}"


def _subject(rule: RetentionRule) -> str:
    return rule.session_id or rule.source or ""


def _days(rule: RetentionRule) -> str:
    return "never archived" if rule.days is None else f"archived after {output.plural(rule.days, 'day')}"
