"""``facts``: list facts about the user with their evidence, and confirm, correct or reject them."""

from __future__ import annotations

import shlex
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, cast

import typer

from appliance.cli import options, output
from appliance.cli.options import argument, option
from appliance.types.labels import FACT_KIND_HEADINGS, NOTE_ATTRIBUTE

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Fact, FactKind, FactState

verbs = typer.Typer()

MAX_QUOTES = 3
"""How many quotes a profile shows with a fact, the latest; 'facts show' shows all."""

BRIEF_CHARACTERS = 200
"""Characters of a quote in a profile."""

_WHO_ARE_YOU = "The exports don't say who you are, so what you wrote is not read for facts: 'appliance people me'."

_Id = Annotated[str, argument("ID", "A fact (f7); 'appliance facts' lists them.")]
_Kind = Annotated[
    str | None, option("--kind", "KIND", "profile, relation, preference, date, tool, project, instruction or note.")
]
_AsOf = Annotated[str | None, option("--as-of", "DATE", "Facts as of this date or time.")]
_State = Annotated[str | None, option("--state", "STATE", "held (the default), ended, superseded, review or rejected.")]


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
    """List the facts about you, or edit them.

    \b
    Examples:
      appliance facts
      appliance facts list --kind tool --as-of 2025-01-01
      appliance facts confirm f7
    """
    if context.invoked_subcommand is not None:
        options.inherit_options(context, home, json)
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
    """List the current facts, or those of another time.

    \b
    Examples:
      appliance facts list
      appliance facts list --state ended --user ana
      appliance facts list --as-of 2025-01-01 --json
    """
    with options.open_to_read(home, "facts") as memory:
        found = memory.facts.list(user, kind=cast("FactKind", kind), state=cast("FactState", state), as_of=as_of)
        conflict_count = len(memory.facts.review(user)) if state != "review" else 0
        pending = memory.facts.pending()
        unknown = not found and _is_me_unknown(memory, user)
        user = memory.settings.user if user is None else user
    if json:
        output.print_json({"facts": found, "pending": pending})
        return
    _print_table(found)
    if found:
        output.say(f"{output.plural(len(found), 'fact')}. See the evidence with 'appliance facts show ID'.")
    else:
        output.say(f"No {'matching ' if kind or state or as_of else ''}facts about user '{user}'.")
        if unknown:
            output.say(_WHO_ARE_YOU)
    if conflict_count:
        output.say(f"{output.plural(conflict_count, 'conflicting fact')} to review: 'appliance facts review'.")
    _say_pending(pending)


@verbs.command("show")
def show_fact(id: _Id, home: options.Home = None, json: options.Json = False) -> None:
    """Show one fact with all of its evidence.

    \b
    Examples:
      appliance facts show f7
      appliance facts show f7 --json
    """
    with options.open_to_read(home, "facts show") as memory:
        fact = memory.facts.get(id)
        dates = _message_dates(memory, [fact])
    if json:
        output.print_json({"fact": fact})
        return
    output.print_styled(fact.text, "bold cyan")
    fields = {
        "id": fact.id,
        "user": fact.user_id + (f" in {fact.namespace}" if fact.namespace else ""),
        "kind": fact.kind,
        "attribute": fact.attribute if fact.subject == "me" else f"{fact.attribute} of {fact.subject}",
        "value": fact.value,
        "state": fact.state + (f", replaced by {fact.replaced_by}" if fact.replaced_by else ""),
        "confidence": f"{fact.confidence:.0%}",
        "stated": output.format_timestamp(fact.said_at),
        "holds": _span(fact),
        "from": "you" if fact.made_by == "person" else f"read in {output.plural(len(fact.evidence), 'message')}",
    }
    output.print_fields(fields)
    output.print_line()
    for quote in fact.evidence:
        _print_quote(quote.message_id, dates[quote.message_id], quote.text, None)
    if not fact.evidence:
        output.say("It has no evidence: you stated it yourself.")


@verbs.command("history")
def history(
    subject: Annotated[str, argument("ID|SUBJECT", 'A fact (f7), or "me" or a name.')],
    attribute: Annotated[str | None, argument("ATTRIBUTE", "An attribute of the subject, such as home.")] = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show all current and former facts about something.

    \b
    Examples:
      appliance facts history f7
      appliance facts history me home
    """
    with options.open_to_read(home, "facts history") as memory:
        found = memory.facts.history(subject, attribute, user_id=user)
        of_user = not found and attribute is None and bool(memory.facts.history("me", subject, user_id=user))
    if json:
        output.print_json({"facts": found})
        return
    _print_table(found, states=True)
    if not found:
        output.say(f"No facts about {subject}" + (f", {attribute}." if attribute else "."))
        if of_user:
            output.say(f"It is an attribute of yours: 'appliance facts history me {shlex.quote(subject)}'.")


@verbs.command("review")
def review(user: options.User = None, home: options.Home = None, json: options.Json = False) -> None:
    """List new facts that conflict with current ones.

    \b
    Examples:
      appliance facts review
      appliance facts confirm f9
      appliance facts reject f9
    """
    with options.open_to_read(home, "facts review") as memory:
        found = memory.facts.review(user)
        held = {fact.id: [old for old in memory.facts.history(fact.id) if old.state == "held"] for fact in found}
        dates = _message_dates(memory, found)
        pending = memory.facts.pending()
    if json:
        document = [{"fact": fact, "held": held[fact.id]} for fact in found]
        output.print_json({"review": document, "pending": pending})
        return
    for fact in found:
        output.print_styled(f"{fact.id}  {fact.text}", "bold cyan")
        _print_evidence(fact, dates)
        for current in held[fact.id]:
            output.print_line(f"    current: {current.text} ({current.id})")
        output.print_line()
    if found:
        output.say("Accept one with 'appliance facts confirm ID', or drop it with 'appliance facts reject ID'.")
    else:
        output.say("No conflicting facts to review.")
    _say_pending(pending)


@verbs.command("confirm")
def confirm(id: _Id, home: options.Home = None, json: options.Json = False) -> None:
    """Confirm a fact; messages no longer change it.

    \b
    Examples:
      appliance facts confirm f7
    """
    with options.open_existing(home, "facts confirm") as memory:
        user = memory.facts.get(id).user_id
        waiting = memory.facts.review(user)
        fact = memory.facts.confirm(id)
        settled = [] if json else _settled(memory, waiting, user, [fact], id)
    _print_facts([fact], json, settled)


@verbs.command("correct")
def correct(
    id: _Id,
    value: Annotated[str, argument("VALUE", "The right value.")],
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Correct the value of a fact.

    \b
    Examples:
      appliance facts correct f7 Lisbon
    """
    with options.open_existing(home, "facts correct") as memory:
        user = memory.facts.get(id).user_id
        waiting = memory.facts.review(user)
        fact = memory.facts.correct(id, value)
        settled = [] if json else _settled(memory, waiting, user, [fact], id)
    _print_facts([fact], json, settled)


@verbs.command("reject")
def reject(id: _Id, home: options.Home = None, json: options.Json = False) -> None:
    """Reject a fact; the same messages do not bring it back.

    \b
    Examples:
      appliance facts reject f7
    """
    with options.open_existing(home, "facts reject") as memory:
        fact = memory.facts.reject(id)
    _print_facts([fact], json)
    if not json and fact.state == "rejected":
        output.say(f"'appliance facts confirm {fact.id}' brings it back, as confirmed by you.")


@verbs.command("add")
def add(
    text: Annotated[str | None, argument("TEXT", "A sentence, such as 'I live in Berlin'.")] = None,
    attribute: Annotated[str | None, option("--attribute", "NAME", "An attribute, instead of a sentence.")] = None,
    value: Annotated[str | None, option("--value", "VALUE", "Value of the attribute.")] = None,
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="Kind of the attribute.")] = "profile",
    subject: Annotated[str, typer.Option("--subject", metavar="NAME", help="Subject of the attribute.")] = "me",
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Add a fact: a sentence, or an attribute with its value.

    \b
    Examples:
      appliance facts add "I live in Berlin"
      appliance facts add --attribute "shoe size" --value 43
    """
    with options.open_or_create(home, "facts add") as memory:
        waiting = memory.facts.review(user)
        found = memory.facts.add(
            text, attribute=attribute, value=value, kind=cast("FactKind", kind), subject=subject, user_id=user
        )
        settled = [] if json else _settled(memory, waiting, user, found)
    _print_facts(found, json, settled)
    if not json and attribute is None and any(fact.attribute == NOTE_ATTRIBUTE for fact in found):
        output.say("Stored as a note: the sentence follows no known pattern. A note never replaces another fact.")


def _is_me_unknown(memory: Appliance, user: str | None) -> bool:
    """Whether people wrote in the memory of a user, and none of them is known to be the user."""
    return memory.people.me(user) is None and bool(memory.people.list(user).people)


def show_profile(memory: Appliance, user: str | None, json: bool) -> None:
    """Print the profile with its evidence, for ``show --what-you-know``."""
    found = memory.facts.profile(user)
    dates = _message_dates(memory, found)
    pending = memory.facts.pending()
    if json:
        output.print_json({"profile": found, "pending": pending})
        return
    for kind, group_title in FACT_KIND_HEADINGS.items():
        group = [fact for fact in found if fact.kind == kind]
        if not group:
            continue
        output.print_styled(group_title, "bold cyan")
        for fact in group:
            output.print_styled(f"  {fact.text}", "bold", f"  {fact.id} · {_confidence(fact)}")
            _print_evidence(fact, dates)
        output.print_line()
    if not found:
        output.say(f"No facts about user '{memory.settings.user if user is None else user}'.")
        if _is_me_unknown(memory, user):
            output.say(_WHO_ARE_YOU)
    _say_pending(pending)


def _message_dates(memory: Appliance, facts: Sequence[Fact]) -> dict[str, str | None]:
    """When the messages were sent that support the facts."""
    ids = dict.fromkeys(quote.message_id for fact in facts for quote in fact.evidence)
    return {id: memory.message(id).timestamp for id in ids}


def _print_table(found: Sequence[Fact], *, states: bool = False) -> None:
    if not found:
        return
    heads = ["id", "fact", *(["state"] if states else []), "holds", "confidence", "evidence"]
    rows = [
        [
            fact.id,
            fact.text,
            *([fact.state] if states else []),
            _span(fact),
            _confidence(fact),
            ", ".join(dict.fromkeys(quote.message_id for quote in fact.evidence[-MAX_QUOTES:])) or "-",
        ]
        for fact in found
    ]
    output.print_table(heads, rows, right=("confidence",))


def _span(fact: Fact) -> str:
    """The time for which a fact holds."""
    since, until = (text and text[:10] for text in (fact.since, fact.until))
    if until:
        return f"{since or '…'} to {until}"
    return f"since {since}" if since else "-"


def _confidence(fact: Fact) -> str:
    return "confirmed" if fact.made_by == "person" else f"{fact.confidence:.0%}"


def _print_evidence(fact: Fact, dates: Mapping[str, str | None]) -> None:
    """Print the latest quotes that support a fact."""
    for quote in fact.evidence[-MAX_QUOTES:]:
        _print_quote(quote.message_id, dates[quote.message_id], quote.text, BRIEF_CHARACTERS)


def _print_quote(message: str, sent: str | None, text: str, max_characters: int | None) -> None:
    """Print a quote that supports a fact."""
    plain = output.one_line(text)
    if max_characters is not None and output.is_terminal():
        plain = textwrap.shorten(plain, max_characters, placeholder=" …")
    head = f"    {message}  {output.format_timestamp(sent)}  "
    if not output.is_terminal():
        output.print_line(f"{head}“{plain}”")
        return
    from rich.text import Text

    width = max(20, shutil.get_terminal_size().columns - 8)
    output.console().print(Text(head, style="dim"), soft_wrap=True)
    body = textwrap.indent("\n".join(textwrap.wrap(f"“{plain}”", width)), " " * 6)
    output.console().print(Text(body), soft_wrap=True)


def _settled(
    memory: Appliance, waiting: Sequence[Fact], user: str | None, decided: Sequence[Fact], decided_id: str = ""
) -> list[Fact]:
    """The facts that waited for a review and that a decision about others has made history."""
    waited = {fact.id for fact in waiting} - {decided_id, *(fact.id for fact in decided)}
    settled = memory.facts.list(user, state="superseded") if waited else ()
    return [fact for fact in settled if fact.id in waited and not fact.text.startswith("no longer: ")]  # it has ended


def _print_facts(found: Sequence[Fact], json: bool, settled: Sequence[Fact] = ()) -> None:
    if json:
        output.print_json({"fact": found[0]} if len(found) == 1 else {"facts": found})
        return
    for fact in found:
        output.print_line(f"{fact.id} {fact.state}: {fact.text}")
    for fact in settled:
        output.say(
            f"{fact.id} ({fact.text}) waited for your review, and is history now."
            f" If it holds: 'appliance facts confirm {fact.id}'."
        )


def _say_pending(pending: int) -> None:
    if pending:
        output.say(f"{output.plural(pending, 'message')} not read for facts yet. Try again, or keep 'watch' running.")
