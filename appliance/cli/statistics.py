"""``stats``, ``on-this-day`` and ``timeline``: the memory over time."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

from appliance.cli import options, output
from appliance.cli.options import argument, flag, option
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.types import Contained, Message, Role, Statistics, StatisticsUnit

_LONG_UNITS = ("author", "source", "session", "tag")

WEEKDAYS = {str(number): name for number, name in enumerate(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"), 1)}

SHOWN_ROWS = 30
"""Lines of a table of people, sources, conversations or tags, unless more are asked for; times are all shown."""
EVERY_ROLE: tuple[Role, ...] = ("user", "assistant", "system", "tool")

LINE_CHARACTERS = 200
"""Characters of a message in a list."""


def stats(
    by: Annotated[
        list[str] | None,
        option(
            "--by",
            "UNIT",
            "year, month, day, weekday, hour, author, role, source, session or tag; twice for two. Default: month.",
        ),
    ] = None,
    limit: Annotated[
        int | None, option("--limit -k", "N", f"Lines to print. Default: {SHOWN_ROWS}; of times, all.", min=1)
    ] = None,
    user: options.User = None,
    namespace: options.Namespace = "",
    session: options.InSession = None,
    role: options.Roles = None,
    source: options.Sources = None,
    author: options.Authors = None,
    has: options.Has = None,
    tag: options.Tag = None,
    since: options.Since = None,
    until: options.Until = None,
    as_csv: Annotated[bool, flag("--csv", "Print the counts as CSV.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Count messages by month, person, source, hour or weekday.

    \b
    Examples:
      appliance stats
      appliance stats --by author --since 2026-01-01 -k 10
      appliance stats --by weekday --by hour --json
      appliance stats --by month --by source --csv > months.csv
    """
    if as_csv and json:
        raise UsageError("--csv and --json exclude each other.", hint="Leave one of them out.")
    units = [unit for value in by or ["month"] for unit in value.split(",")]
    with options.open_to_read(home, "stats") as memory:
        count = partial(
            memory.statistics,
            user_id=user,
            namespace=namespace,
            session_id=session,
            sources=source,
            authors=author,
            has=cast("list[Contained] | None", has),
            tags=tag,
            since=since,
            until=until,
        )
        counted = count(cast("list[StatisticsUnit]", units), roles=cast("list[Role] | None", role))
        left_out = 0 if role or json or as_csv else count(["role"], roles=EVERY_ROLE).messages - counted.messages
    output.say_notes(counted.notes)
    if limit is not None and (json or as_csv):
        counted = replace(counted, rows=counted.rows[:limit])
    if json:
        output.print_json(counted)
    elif as_csv:
        _print_csv(counted)
    else:
        _print_bars(counted, limit)
        if left_out > 0:
            verb = "is" if left_out == 1 else "are"
            output.say(
                f"Counted is what people and assistants said openly. {output.plural(left_out, 'message')} of tools,"
                f" systems and subagents {verb} not counted; name the roles to count them: --role tool."
            )


def _print_csv(counted: Statistics) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*counted.by, "messages", "sessions", "characters"])
    writer.writerows([*row.keys, row.messages, row.sessions, row.characters] for row in counted.rows)


def _print_bars(counted: Statistics, limit: int | None) -> None:
    if not counted.rows:
        output.say("No messages match. Try fewer filters.")
        return
    if limit is None and counted.by[0] in _LONG_UNITS:
        limit = SHOWN_ROWS
    shown = counted.rows[:limit]
    most = max(row.messages for row in shown)
    rows = [
        (
            *(_label(unit, key) for unit, key in zip(counted.by, row.keys, strict=True)),
            f"{row.messages:,}",
            f"{row.sessions:,}",
            output.format_bar(row.messages, most),
        )
        for row in shown
    ]
    output.print_table((*counted.by, "messages", "sessions", ""), rows, right=("messages", "sessions"))
    if left := counted.rows[len(shown) :]:
        many = output.plural(sum(row.messages for row in left), "message")
        output.say(f"and {len(left):,} more with {many}; '-k {len(counted.rows)}' or --json shows all")
    files = f", {output.plural(counted.attachments, 'attachment')}" if counted.attachments else ""
    output.say(f"{output.plural(counted.messages, 'message')}{files}")


def _label(unit: str, key: str) -> str:
    if not key:
        return "unknown" if unit not in ("tag",) else "none"
    return WEEKDAYS.get(key, key) if unit == "weekday" else output.one_line(key)


def on_this_day(
    day: Annotated[
        str | None, argument("[DATE]", "The day, such as 2026-02-06, '15 March' or 03-15. Default: today.")
    ] = None,
    limit: Annotated[int, option("--limit -k", "N", "Most messages of a conversation. Default: 5.", min=1)] = 5,
    user: options.User = None,
    namespace: options.Namespace = "",
    reveal: options.Reveal = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show what was said on this day in earlier years, by conversation.

    \b
    Examples:
      appliance on-this-day
      appliance on-this-day 2026-12-24 -k 20
      appliance on-this-day "15 March"
      appliance on-this-day --json
    """
    with options.open_to_read(home, "on-this-day", reveal) as memory:
        found = memory.on_this_day(day, user_id=user, namespace=namespace, limit=limit)
    if json:
        output.print_json({"days": found})
        return
    if not found:
        output.say("Nothing was said on this day in earlier years.")
        return
    for one in found:
        output.print_styled(f"{one.day}  {one.session.title or one.session.external_id}", "bold", f"  {one.session.id}")
        for message in one.messages:
            _print_message(message, (message.timestamp or "")[11:16])
        if one.count > len(one.messages):
            output.print_line(f"  … {one.count - len(one.messages):,} more; 'appliance show {one.session.id}' has all")
        output.print_line()
    years = len({one.day for one in found})
    output.say(f"{output.plural(sum(one.count for one in found), 'message')} in {output.plural(years, 'year')}")


def timeline(
    author: Annotated[
        list[str] | None,
        option("--author --person", "NAME", "Only messages by this person; a part of the name (repeatable)."),
    ] = None,
    limit: Annotated[int, option("--limit -k", "N", "Messages a month. Default: 3.", min=1)] = 3,
    user: options.User = None,
    namespace: options.Namespace = "",
    session: options.InSession = None,
    role: options.Roles = None,
    source: options.Sources = None,
    participants: options.Participants = None,
    has: options.Has = None,
    tag: options.Tag = None,
    tool: options.Tools = None,
    file: options.Files = None,
    entity: options.Entities = None,
    topic: options.Topics = None,
    since: options.Since = None,
    until: options.Until = None,
    reveal: options.Reveal = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show the months in which a person wrote, with the most important messages of each.

    \b
    Examples:
      appliance timeline --person ben
      appliance timeline --author ana --since 2025-01-01 -k 5
      appliance timeline --file main.go --source claude_code
      appliance timeline --json
    """
    with options.open_to_read(home, "timeline", reveal) as memory:
        found = memory.timeline(
            author, user_id=user, namespace=namespace, since=since, until=until, limit=limit, session_id=session,
            sources=source, participants=participants, roles=cast("list[Role] | None", role),
            has=cast("list[Contained] | None", has), tags=tag, tools=tool, files=file, entities=entity, topics=topic,
        )  # fmt: skip
        notes = () if found else options.author_notes(memory, author, user, namespace)
    output.say_notes(notes)
    if json:
        output.print_json({"months": found})
        return
    if not found:
        output.say("No messages match. Try another name or fewer filters.")
        return
    for one in found:
        counts = f"  {output.plural(one.messages, 'message')}, {output.plural(one.sessions, 'session')}"
        output.print_styled(one.month or "unknown time", "bold", counts)
        for message in one.top:
            _print_message(message, (message.timestamp or "")[:10])
        output.print_line()


def _print_message(message: Message, when: str) -> None:
    text = output.one_line(message.text)
    text = text if len(text) <= LINE_CHARACTERS else text[: LINE_CHARACTERS - 1] + "…"
    output.print_line(f"  {when}  {message.author or message.role}: {text}  {message.id}")
