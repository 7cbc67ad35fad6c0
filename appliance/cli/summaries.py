"""``summaries``: what conversations were about; listed, read, made."""

from __future__ import annotations

import textwrap
import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup

from appliance.cli import options, out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from appliance.server.client import Appliance
    from appliance.types import Event, Level, Summary

BRIEF = 70
"""Characters of a summary in a list on a terminal."""

LISTS = ("decisions", "commitments", "unresolved", "solved")
NAMES = ("tools", "files", "entities")


class _Group(TyperGroup):
    """``summaries s12`` is ``summaries list s12``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--help" not in args[:1] and not any(arg in self.commands for arg in args):
            args = ["list", *args]
        return super().parse_args(ctx, args)


verbs = typer.Typer(cls=_Group)


@verbs.callback()
def summaries(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """List summaries of conversations, read one, make those that are due.

    \b
    Examples:
      appliance summaries
      appliance summaries s12 --level topic
      appliance summaries show sum7
      appliance summaries make
    """
    options.hand_down(context, home, json)


@verbs.command("list")
def list_summaries(
    session: Annotated[
        str | None, typer.Argument(metavar="[SESSION]", help="Only of this one.", show_default=False)
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(
            "--level", metavar="LEVEL", help="Only session, topic, exchange or procedure.", show_default=False
        ),
    ] = None,
    user: options.User = None,
    limit: options.Limit = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List them: those of the last active conversation first, and there the whole before its parts.

    \b
    Examples:
      appliance summaries --level session -k 20
      appliance summaries s12 --json | jq -r '.summaries[].text'
    """
    with options.reading(home, "summaries") as memory:
        found = memory.summaries.list(
            session_id=session, user_id=user, level=cast("Level | None", level), limit=limit
        )
        due = memory.summaries.pending()
    if json:
        out.document({"summaries": found})
    elif found:
        moment = _day if out.on_terminal() else lambda timestamp: timestamp or "no time"
        # On a terminal the words need the room: who wrote them is told where they differ.
        by = not out.on_terminal() or len({s.made_by for s in found}) > 1
        rows = [
            (
                s.id,
                s.session_id,
                s.level,
                f"{s.messages:,}",
                moment(s.until),
                *([s.made_by] if by else []),
                _brief(s.text),
            )
            for s in found
        ]
        heads = ("id", "session", "level", "messages", "until", *(["by"] if by else []), "text")
        out.table(heads, rows, right=("messages",))
    counted = out.plural(len(found), "summary").replace("summarys", "summaries")
    out.say(f"{counted}; 'appliance summaries show ID' reads one")
    _tell_due(due)


def _day(timestamp: str | None) -> str:
    return timestamp[:10] if timestamp else "no time"


@verbs.command("show")
def show_summary(
    reference: Annotated[str, typer.Argument(metavar="ID", help="A summary (sum7).")],
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Read a summary with what it rests on.

    \b
    Examples:
      appliance summaries show sum7
      appliance summaries show sum7 --json | jq .summary.quotes
    """
    with options.reading(home, "summaries show") as memory:
        found = memory.summaries.get(reference)
    if json:
        out.document({"summary": found})
        return
    span = " to ".join(out.moment(t) for t in dict.fromkeys((found.since, found.until)) if t) or "no time"
    out.line(
        f"{found.id} · {found.level} of {found.session_id} · {out.plural(found.messages, 'message')},"
        f" {found.first_id} to {found.last_id} · {span} · {found.made_by}"
    )
    out.line()
    out.line(textwrap.indent(found.text, "    "))
    for title, lines in _details(found).items():
        out.line()
        out.line(title)
        for each in lines:
            out.line(f"    {each}")


@verbs.command("make")
def make_summaries(
    session: Annotated[
        str | None,
        typer.Argument(metavar="[SESSION]", help="This one, due or not; else all due.", show_default=False),
    ] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Make what is due now, or one conversation's anew. Interrupted, it goes on next time.

    \b
    Examples:
      appliance summaries make
      appliance summaries make s12
    """
    began = time.perf_counter()
    made: Counter[str] = Counter()
    troubles: list[str] = []
    with options.reading(home, "summaries make") as memory:
        end = memory.events.listen(lambda event: _note(event, made, troubles))
        if session is None:
            done = tend(memory)
        else:
            memory.summaries.make(session)
            done = 1
        end()
        due = memory.summaries.pending()
    seconds = time.perf_counter() - began
    if json:
        out.document(
            {
                "sessions": done,
                "made": dict(made),
                "fallback": troubles[-1] if troubles else None,
                "due": due,
                "seconds": seconds,
            }
        )
    else:
        counts = ", ".join(f"{number:,} of an {level}" if level == "exchange" else f"{number:,} of a {level}"
                           for level, number in made.items()) or "nothing new"  # fmt: skip
        out.line(f"{out.plural(done, 'session')} looked at in {seconds:.1f} s, summaries made: {counts}")
    if troubles:
        out.say(f"note: the model did not write {len(troubles):,} of them: {troubles[-1]}")
    _tell_due(due)


def tend(memory: Appliance) -> int:
    """Make what is due, with progress on a terminal; how many sessions it was."""
    done = 0
    with out.steps("summarising") as step:
        while memory.summaries.tend(lambda: True):
            done += 1
            step(done, done + memory.summaries.pending())
    return done


def _note(event: Event, made: Counter[str], troubles: list[str]) -> None:
    if event.kind != "summarised":
        return
    made.update({name: count for name, count in event.detail.items() if isinstance(count, int)})
    if "fallback" in event.detail:
        troubles.append(str(event.detail["fallback"]))


def _tell_due(due: int) -> None:
    if due:
        wait = "waits" if due == 1 else "wait"
        out.say(f"{out.plural(due, 'session')} {wait} for summaries: 'appliance summaries make' makes them")


def _brief(text: str) -> str:
    line = out.one_line(text)
    return line if len(line) <= BRIEF or not out.on_terminal() else f"{line[: BRIEF - 1]}…"


def _details(found: Summary) -> dict[str, Sequence[str]]:
    details: dict[str, Sequence[str]] = {
        name: [f"{item['text']}  {item['message_id']}" for item in items]
        for name in LISTS
        if (items := found.metadata.get(name))
    }
    details |= {name: [", ".join(found.metadata[name])] for name in NAMES if found.metadata.get(name)}
    if fallback := found.metadata.get("fallback"):
        details["not by the model, because"] = [str(fallback)]
    if found.quotes:
        details["rests on"] = [f"{quote.message_id}  {out.one_line(quote.text)}" for quote in found.quotes]
    return details
