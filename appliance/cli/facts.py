"""``facts``: what is known of a person, with its evidence; and what the person has to say about it."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from appliance.cli import options, out
from appliance.reasons import FACT_HEADS

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance.types import Fact, FactKind, FactState

verbs = typer.Typer()

QUOTES = 3
"""Pieces of evidence that are shown with a fact in a profile, the latest; 'facts show' has all."""

BRIEF = 200
"""Characters of a quote in a profile."""

_Id = Annotated[str, typer.Argument(metavar="ID", help="A fact (f7); 'appliance facts' lists them.")]
_Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="profile, relation, preference, date, tool, project or instruction.",
        show_default=False,
    ),
]
_AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="DATE", help="What held on a day or at a moment.", show_default=False),
]
_State = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="STATE",
        help="held (unless named), ended, superseded, review or rejected.",
        show_default=False,
    ),
]


@verbs.callback(invoke_without_command=True)
def facts(
    context: typer.Context,
    kind: _Kind = None,
    state: _State = None,
    as_of: _AsOf = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List what is known of you, or say what is so.

    \b
    Examples:
      appliance facts
      appliance facts list --kind tool --as-of 2025-01-01
      appliance facts confirm f7
    """
    if context.invoked_subcommand is not None:
        options.hand_down(context, home, json)
        return
    list_facts(kind, state, as_of, user, home, json)


@verbs.command("list")
def list_facts(
    kind: _Kind = None,
    state: _State = None,
    as_of: _AsOf = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List what holds, now or at another time.

    \b
    Examples:
      appliance facts list
      appliance facts list --state ended --user ana
      appliance facts list --as-of 2025-01-01 --json
    """
    with options.reading(home, "facts") as memory:
        found = memory.facts.list(
            user, kind=cast("FactKind", kind), state=cast("FactState", state), as_of=as_of
        )
        waiting = len(memory.facts.review(user)) if state != "review" else 0
        pending = memory.facts.pending()
        asked = memory.settings.user if user is None else user
    if json:
        out.document({"facts": found, "pending": pending})
        return
    _table(found)
    if not found:
        out.say(f"nothing is known of {asked}" + (" like that" if kind or state or as_of else ""))
    else:
        out.say(f"{out.plural(len(found), 'fact')}; 'appliance facts show ID' tells where one is from")
    if waiting:
        out.say(f"{out.plural(waiting, 'contradiction')}: 'appliance facts review' asks about them")
    _tell_pending(pending)


@verbs.command("show")
def show_fact(id: _Id, home: options.Home = None, json: options.Json = False) -> None:
    """Show one fact with all of its evidence.

    \b
    Examples:
      appliance facts show f7
      appliance facts show f7 --json
    """
    with options.reading(home, "facts show") as memory:
        fact = memory.facts.get(id)
        dates = _dates(memory, [fact])
    if json:
        out.document({"fact": fact})
        return
    _line(fact.text, "bold cyan")
    about = {
        "id": fact.id,
        "of": fact.user_id + (f" in {fact.namespace}" if fact.namespace else ""),
        "kind": fact.kind,
        "attribute": fact.attribute if fact.subject == "me" else f"{fact.attribute} of {fact.subject}",
        "value": fact.value,
        "state": fact.state + (f", replaced by {fact.replaced_by}" if fact.replaced_by else ""),
        "sure": f"{fact.confidence:.0%}",
        "said": _when(fact.said_at),
        "holds": _span(fact),
        "found by": "you" if fact.made_by == "person" else fact.made_by,
    }
    out.fields(about)
    out.line()
    for quote in fact.evidence:
        _quote(quote.message_id, dates[quote.message_id], quote.text, None)
    if not fact.evidence:
        out.say("no message says it: it is your own word")


@verbs.command("history")
def history(
    subject: Annotated[str, typer.Argument(metavar="ID|SUBJECT", help='A fact (f7), or "me" or a name.')],
    attribute: Annotated[
        str | None,
        typer.Argument(metavar="ATTRIBUTE", help="Of a subject, such as home.", show_default=False),
    ] = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show all that was ever known of something.

    \b
    Examples:
      appliance facts history f7
      appliance facts history me home
    """
    with options.reading(home, "facts history") as memory:
        found = memory.facts.history(subject, attribute, user_id=user)
    if json:
        out.document({"facts": found})
        return
    _table(found, states=True)
    if not found:
        out.say(f"nothing was ever known of {subject}" + (f" and {attribute}" if attribute else ""))


@verbs.command("review")
def review(user: options.User = None, home: options.Home = None, json: options.Json = False) -> None:
    """List what contradicts what holds, and waits for your word.

    \b
    Examples:
      appliance facts review
      appliance facts confirm f9
      appliance facts reject f9
    """
    with options.reading(home, "facts review") as memory:
        found = memory.facts.review(user)
        held = {fact.id: _rivals(memory, fact) for fact in found}
        dates = _dates(memory, found)
        pending = memory.facts.pending()
    if json:
        document = [{"fact": fact, "held": held[fact.id]} for fact in found]
        out.document({"review": document, "pending": pending})
        return
    for fact in found:
        _line(f"{fact.id}  {fact.text}", "bold cyan")
        for quote in fact.evidence[-QUOTES:]:
            _quote(quote.message_id, dates[quote.message_id], quote.text, BRIEF)
        for other in held[fact.id]:
            out.line(f"    held: {other.text} ({other.id})")
        out.line()
    if found:
        out.say("'appliance facts confirm ID' takes one over, 'appliance facts reject ID' drops it")
    else:
        out.say("nothing waits for you")
    _tell_pending(pending)


@verbs.command("confirm")
def confirm(id: _Id, home: options.Home = None, json: options.Json = False) -> None:
    """Say that a fact is so; no message changes it from then on.

    \b
    Examples:
      appliance facts confirm f7
    """
    with options.reading(home, "facts confirm") as memory:
        fact = memory.facts.confirm(id)
    _done([fact], json)


@verbs.command("correct")
def correct(
    id: _Id,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="What is right.")],
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Say what a fact should have been.

    \b
    Examples:
      appliance facts correct f7 Lisbon
    """
    with options.reading(home, "facts correct") as memory:
        fact = memory.facts.correct(id, value)
    _done([fact], json)


@verbs.command("reject")
def reject(id: _Id, home: options.Home = None, json: options.Json = False) -> None:
    """Say that a fact is not so; the same words do not bring it back.

    \b
    Examples:
      appliance facts reject f7
    """
    with options.reading(home, "facts reject") as memory:
        fact = memory.facts.reject(id)
    _done([fact], json)


@verbs.command("add")
def add(
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="A sentence, such as 'I live in Berlin'.", show_default=False),
    ] = None,
    attribute: Annotated[
        str | None,
        typer.Option("--attribute", metavar="NAME", help="Instead of a sentence.", show_default=False),
    ] = None,
    value: Annotated[
        str | None, typer.Option("--value", metavar="VALUE", help="Of the attribute.", show_default=False)
    ] = None,
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="Of the attribute.")] = "profile",
    subject: Annotated[str, typer.Option("--subject", metavar="NAME", help="Whose attribute.")] = "me",
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Tell something yourself: a sentence, or an attribute with its value.

    \b
    Examples:
      appliance facts add "I live in Berlin"
      appliance facts add --attribute "shoe size" --value 43
    """
    with options.writing(home, "facts add") as memory:
        found = memory.facts.add(
            text, attribute=attribute, value=value, kind=cast("FactKind", kind), subject=subject, user_id=user
        )
    _done(found, json)


def what_you_know(memory: Appliance, user: str | None, json: bool) -> None:
    """Print the profile with its evidence: ``show --what-you-know``."""
    found = memory.facts.profile(user)
    dates = _dates(memory, found)
    pending = memory.facts.pending()
    if json:
        out.document({"profile": found, "pending": pending})
        return
    for kind, head in FACT_HEADS.items():
        group = [fact for fact in found if fact.kind == kind]
        if not group:
            continue
        _line(head, "bold cyan")
        for fact in group:
            sure = "your word" if fact.made_by == "person" else f"{fact.confidence:.0%}"
            _line(f"  {fact.text}", "bold", f"  {fact.id} · {sure}")
            for quote in fact.evidence[-QUOTES:]:
                _quote(quote.message_id, dates[quote.message_id], quote.text, BRIEF)
        out.line()
    if not found:
        asked = memory.settings.user if user is None else user
        out.say(f"nothing is known of {asked}")
    _tell_pending(pending)


def _rivals(memory: Appliance, fact: Fact) -> list[Fact]:
    return [other for other in memory.facts.history(fact.id) if other.state == "held"]


def _dates(memory: Appliance, facts: Sequence[Fact]) -> dict[str, str | None]:
    """When the messages were sent that facts are from."""
    ids = dict.fromkeys(quote.message_id for fact in facts for quote in fact.evidence)
    return {id: memory.message(id).timestamp for id in ids}


def _table(found: Sequence[Fact], *, states: bool = False) -> None:
    if not found:
        return
    heads = ["id", "fact", *(["state"] if states else []), "holds", "sure", "evidence"]
    rows = [
        [
            fact.id,
            fact.text,
            *([fact.state] if states else []),
            _span(fact),
            "your word" if fact.made_by == "person" else f"{fact.confidence:.0%}",
            ", ".join(dict.fromkeys(quote.message_id for quote in fact.evidence[-QUOTES:])) or "-",
        ]
        for fact in found
    ]
    out.table(heads, rows, right=("sure",))


def _span(fact: Fact) -> str:
    """From when to when a fact holds."""
    since, until = (text and text[:10] for text in (fact.since, fact.until))
    if until:
        return f"{since or '…'} to {until}"
    return f"since {since}" if since else "-"


def _when(timestamp: str | None) -> str:
    return out.moment(timestamp) if out.on_terminal() else timestamp or "no time"


def _quote(message: str, sent: str | None, words: str, most: int | None) -> None:
    """Print the words that a fact is from."""
    plain = out.one_line(words)
    if most is not None and out.on_terminal():
        plain = textwrap.shorten(plain, most, placeholder=" …")
    head = f"    {message}  {_when(sent)}  "
    if not out.on_terminal():
        out.line(f"{head}“{plain}”")
        return
    from rich.text import Text

    wide = max(20, shutil.get_terminal_size().columns - 8)
    out.console().print(Text(head, style="dim"), soft_wrap=True)
    body = textwrap.indent("\n".join(textwrap.wrap(f"“{plain}”", wide)), " " * 6)
    out.console().print(Text(body), soft_wrap=True)


def _line(text: str, style: str, more: str = "") -> None:
    if not out.on_terminal():
        out.line(text + more)
        return
    from rich.text import Text

    line = Text(out.clean(text), style=style)
    line.append(more, style="dim not bold")
    out.console().print(line, soft_wrap=True)


def _done(found: Sequence[Fact], json: bool) -> None:
    if json:
        shown: dict[str, Any] = {"fact": found[0]} if len(found) == 1 else {"facts": found}
        out.document(shown)
        return
    for fact in found:
        out.line(f"{fact.id} {fact.state}: {fact.text}")


def _tell_pending(pending: int) -> None:
    if pending:
        out.say(
            f"{out.plural(pending, 'message')} still to be read for facts; ask again, or leave 'watch' running"
        )
