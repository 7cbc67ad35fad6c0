"""``summaries``: list, read and make summaries of conversations."""

from __future__ import annotations

import textwrap
import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from appliance.cli import options, output
from appliance.cli.options import argument, option
from appliance.cli.verb_group import VerbGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from appliance.client import Appliance
    from appliance.types import Event, Level, Summary

BRIEF_CHARACTERS = 70
"""Characters of a summary in a table on a terminal."""

LIST_FIELDS = ("decisions", "commitments", "unresolved", "solved")
NAME_FIELDS = ("tools", "files", "entities")


class _SummariesGroup(VerbGroup):
    """Reads ``summaries s12`` as ``summaries list s12``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--help" not in args[:1] and not any(arg in self.commands for arg in args):
            args = ["list", *args]
        return super().parse_args(ctx, args)


verbs = typer.Typer(cls=_SummariesGroup)


@verbs.callback()
def summaries(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """List, read and make summaries of conversations.

    \b
    Examples:
      appliance summaries
      appliance summaries s12 --level topic
      appliance summaries show sum7
      appliance summaries make
    """
    options.inherit_options(context, home, json)


@verbs.command("list")
def list_summaries(
    session: Annotated[str | None, argument("[SESSION]", "Only this session's.")] = None,
    level: Annotated[
        str | None, option("--level", "session|topic|exchange|procedure", "Only summaries of this level.")
    ] = None,
    user: options.User = None,
    limit: options.Limit = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List summaries. The most recently active conversation comes first, its own summary before those of its parts.

    \b
    Examples:
      appliance summaries --level session -k 20
      appliance summaries s12 --json | jq -r '.summaries[].text'
    """
    with options.open_to_read(home, "summaries") as memory:
        found = memory.summaries.list(session_id=session, user_id=user, level=cast("Level | None", level), limit=limit)
        due = memory.summaries.pending()
    if json:
        output.print_json({"summaries": found})
    elif found:
        # A terminal has little room: the author stands only where it differs.
        by = not output.is_terminal() or len({s.made_by for s in found}) > 1
        rows = [
            (
                s.id,
                s.session_id,
                s.level,
                f"{s.messages:,}",
                output.format_span(s.since, s.until),
                *([s.made_by] if by else []),
                _shorten(s.text),
            )
            for s in found
        ]
        heads = ("id", "session", "level", "messages", "time", *(["by"] if by else []), "text")
        output.print_table(heads, rows, right=("messages",))
    output.say(f"{output.plural(len(found), 'summary')}. Read one with 'appliance summaries show ID'.")
    _say_due(due)


@verbs.command("show")
def show_summary(
    reference: Annotated[str, argument("ID", "A summary (sum7).")],
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show a summary with the quotes that support it.

    \b
    Examples:
      appliance summaries show sum7
      appliance summaries show sum7 --json | jq .summary.quotes
    """
    with options.open_to_read(home, "summaries show") as memory:
        found = memory.summaries.get(reference)
    if json:
        output.print_json({"summary": found})
        return
    output.print_line(
        f"{found.id} · {found.level} of {found.session_id} · {output.plural(found.messages, 'message')},"
        f" {found.first_id} to {found.last_id} · {output.format_span(found.since, found.until)} · {found.made_by}"
    )
    output.print_line()
    output.print_line(textwrap.indent(found.text, "    "))
    for title, lines in _details(found).items():
        output.print_line()
        output.print_line(title)
        for detail_line in lines:
            output.print_line(f"    {detail_line}")


@verbs.command("make")
def make_summaries(
    session: Annotated[str | None, argument("[SESSION]", "This session, due or not. Default: all due.")] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Make due summaries, or those of one conversation. An interrupted run continues next time.

    \b
    Examples:
      appliance summaries make
      appliance summaries make s12
    """
    started = time.perf_counter()
    made: Counter[str] = Counter()
    fallbacks: list[str] = []
    with options.open_existing(home, "summaries make") as memory:
        stop_listening = memory.events.listen(lambda event: _record_event(event, made, fallbacks))
        if session is None:
            done = generate_due(memory)
        else:
            memory.summaries.make(session)
            done = 1
        stop_listening()
        due = memory.summaries.pending()
    seconds = time.perf_counter() - started
    if json:
        fallback = fallbacks[-1] if fallbacks else None
        output.print_json({"sessions": done, "made": dict(made), "fallback": fallback, "due": due, "seconds": seconds})
    else:
        counts = ", ".join(f"{count:,} {level}" for level, count in made.items()) or "nothing new"
        output.print_line(f"{output.plural(done, 'session')} checked in {seconds:.1f} s; summaries made: {counts}")
    if fallbacks:
        output.say(f"note: {output.plural(len(fallbacks), 'summary')} made without the model: {fallbacks[-1]}")
    _say_due(due)


def generate_due(memory: Appliance) -> int:
    """Make the summaries that are due, with progress on a terminal, and return the number of sessions."""
    done = 0
    with output.step_progress() as step:
        while made := memory.summaries.run_pending(max_seconds=0):
            done += made
            step("summarising", done, done + memory.summaries.pending())
    return done


def _record_event(event: Event, made: Counter[str], fallbacks: list[str]) -> None:
    if event.kind != "summarised":
        return
    made.update({name: count for name, count in event.detail.items() if isinstance(count, int)})
    if "fallback" in event.detail:
        fallbacks.append(str(event.detail["fallback"]))


def _say_due(due: int) -> None:
    if due:
        output.say(f"{output.plural(due, 'session')} without current summaries. Run 'appliance summaries make'.")


def _shorten(text: str) -> str:
    line = output.one_line(text)
    return line if len(line) <= BRIEF_CHARACTERS or not output.is_terminal() else f"{line[: BRIEF_CHARACTERS - 1]}…"


def _details(found: Summary) -> dict[str, Sequence[str]]:
    details: dict[str, Sequence[str]] = {
        name: [f"{item['text']}  {item['message_id']}" for item in items]
        for name in LIST_FIELDS
        if (items := found.metadata.get(name))
    }
    details |= {name: [", ".join(found.metadata[name])] for name in NAME_FIELDS if found.metadata.get(name)}
    if fallback := found.metadata.get("fallback"):
        details["made without the model, because"] = [str(fallback)]
    if contradicted := found.metadata.get("contradicts"):
        details["contradicts"] = [f"{one['fact_id']}  {one['fact']}: {one['note']}" for one in contradicted]
    if found.quotes:
        details["supported by"] = [f"{quote.message_id}  {output.one_line(quote.text)}" for quote in found.quotes]
    return details
