"""``people``: list the people who wrote the messages, and merge, split or rename them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, output
from appliance.cli.options import argument, flag, option

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Identity, PeopleChange, PeopleList, Person, PersonProposal

verbs = typer.Typer()

SHOWN_PROPOSALS = 10
"""How many names with proposals the list of people ends with; "people proposals" has all."""

SHOWN_LIKELY = 5
"""How many people are named as those who you may be."""

_KINDS = ("name", "address", "number", "handle", "id")

_Person = Annotated[str, argument("PERSON", "A person: an id (p3), or a name, address or number.")]
_Limit = Annotated[int | None, option("--limit -k", "N", "At most this many people.", min=1)]
_Everyone = Annotated[bool, flag("--everyone", "Also people who are only in an address book.")]


@verbs.callback(invoke_without_command=True)
def people(
    context: typer.Context,
    limit: _Limit = None,
    everyone: _Everyone = False,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List the people of your conversations, or edit them.

    \b
    Examples:
      appliance people
      appliance people show "Helga Brandt"
      appliance people merge p3 p7
    """
    if context.invoked_subcommand is not None:
        options.inherit_options(context, home, json)
        return
    list_people(limit, everyone, user, home, json)


@verbs.command("list")
def list_people(
    limit: _Limit = None,
    everyone: _Everyone = False,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List the people who wrote to you, those with the most messages first.

    \b
    Examples:
      appliance people list
      appliance people list -k 20 --everyone
      appliance people list --json | jq -r '.people[].name'
    """
    with options.open_to_read(home, "people") as memory:
        found = memory.people.list(user, everyone=everyone)
    shown = found.people[:limit]
    if json:
        output.print_json({"people": shown, "proposals": found.proposals, "maybe_me": found.maybe_me})
        return
    if shown:
        rows = [
            [
                one.id, _name(one), str(one.messages), str(one.sessions), ", ".join(_sources(one.identities)),
                _day(one.first), _day(one.last),
            ]
            for one in shown
        ]  # fmt: skip
        heads = ["ID", "Name", "Messages", "Conversations", "Sources", "First", "Last"]
        output.print_table(heads, rows, right=["Messages", "Conversations"])
    _say_who_you_are(next((one for one in found.people if one.me), None))
    left = len(found.people) - len(shown)
    output.say(
        f"{output.plural(len(found.people), 'person').replace('persons', 'people')}"
        + (f", {left} of them not shown." if left else ". See one with 'appliance people show PERSON'.")
    )
    if found.proposals:
        groups = _proposal_groups(found)
        output.say("May be the same person:")
        for group in groups[:SHOWN_PROPOSALS]:
            output.say(f"  {group}")
        more = f"{len(groups) - SHOWN_PROPOSALS} more; " if len(groups) > SHOWN_PROPOSALS else ""
        output.say(f"{more}'appliance people proposals' says why. Join two with 'appliance people merge A B'.")


@verbs.command("proposals")
def list_proposals(
    everyone: _Everyone = False, user: options.User = None, home: options.Home = None, json: options.Json = False
) -> None:
    """List the pairs of people who may be one, each with the reason, the likeliest first.

    \b
    Examples:
      appliance people proposals
      appliance people proposals --json | jq -r '.proposals[].reason'
    """
    with options.open_to_read(home, "people proposals") as memory:
        found = memory.people.list(user, everyone=everyone)
    if json:
        output.print_json({"proposals": found.proposals})
        return
    names = {one.id: one.name for one in found.people}
    for proposal in found.proposals:
        output.print_line(_proposal(proposal, names))
    count = output.plural(len(found.proposals), "pair")
    output.say(
        f"{count} may be one person. Join two with 'appliance people merge A B', or keep them apart with"
        " 'appliance people split A B'."
        if found.proposals
        else "No two people look like one."
    )


@verbs.command("show")
def show_person(
    person: _Person,
    user: options.User = None,
    reveal: options.Reveal = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show one person: identities, why they belong together, sources, conversations and what is asked about.

    \b
    Examples:
      appliance people show p3
      appliance people show mum
      appliance people show helga@example.org --json
    """
    with options.open_to_read(home, "people show", reveal) as memory:
        found = memory.people.get(person, user_id=user)
        names = _names(memory, user) if found.proposals and not json else {}
    if json:
        output.print_json(found)
        return
    one = found.person
    output.print_styled(
        f"{one.name} ({one.id})", "bold cyan", "  you" if one.me else "  automated" if one.automated else ""
    )
    span = " to ".join(dict.fromkeys(filter(None, (_day(one.first), _day(one.last)))))
    output.print_line(
        f"{output.plural(one.messages, 'message')} in {output.plural(one.sessions, 'conversation')}"
        + (f", {span}" if span else "")
    )
    for kind, values in _by_kind(one.identities).items():
        output.print_line(f"  {kind}: {values}")
    if found.evidence:
        output.print_line("Linked because:")
        for words in found.evidence:
            output.print_line(f"  {words}")
    if found.sources:
        output.print_line("Sources:")
        output.print_columns(
            [[f"  {part.source}", output.plural(part.messages, "message"),
              f"in {output.plural(part.sessions, 'conversation')}"] for part in found.sources]
        )  # fmt: skip
    if found.conversations:
        output.print_line("Latest conversations:")
        output.print_columns(
            [[f"  {talk.session_id}", talk.title or "(no title)", talk.source,
              output.plural(talk.messages, "message"), _day(talk.last)] for talk in found.conversations]
        )  # fmt: skip
    if found.recalled:
        output.print_line(f"Recalled {output.plural(found.recalled, 'time')}, most of all:")
        for message in found.asked_about:
            output.print_line(f"  {message.message_id} ({message.times}) {output.one_line(message.snippet)}")
    for proposal in found.proposals:
        output.say(f"May be the same: {_proposal(proposal, names)}")


@verbs.command("merge")
def merge_people(
    person: _Person,
    other: Annotated[str, argument("OTHER", "The other person.")],
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Decide that two people are one; no message changes.

    \b
    Examples:
      appliance people merge p3 p7
      appliance people merge "Mum" helga@example.org
    """
    with options.open_to_read(home, "people merge") as memory:
        _report(memory.people.merge(person, other, user_id=user), json)


@verbs.command("split")
def split_person(
    person: _Person,
    identities: Annotated[
        list[str], argument("IDENTITY...", "What is not this person's: addresses, numbers, names; or another person.")
    ],
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Decide that identities are another person's, or that two people are not one.

    \b
    Examples:
      appliance people split p3 ben@work.example
      appliance people split p3 p7
    """
    with options.open_to_read(home, "people split") as memory:
        _report(memory.people.split(person, identities, user_id=user), json)


@verbs.command("rename")
def rename_person(
    person: _Person,
    name: Annotated[str, argument("NAME", "What the person is called from now on.")],
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Decide what a person is called; messages keep the names that they have.

    \b
    Example:
      appliance people rename p3 "Helga Brandt"
    """
    with options.open_to_read(home, "people rename") as memory:
        _report(memory.people.rename(person, name, user_id=user), json)


@verbs.command("me")
def me(
    person: Annotated[str | None, argument("PERSON", "The person that you are. Default: show who it is.")] = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show which person you are, as your exports say, or set it. Facts are read from what you wrote.

    \b
    Examples:
      appliance people me
      appliance people me p3
    """
    with options.open_to_read(home, "people me") as memory:
        if person is not None:
            _report(memory.people.set_me(person, user_id=user), json)
            return
        found = memory.people.me(user)
        listed = memory.people.list(user) if found is None and not json else None
    if json:
        output.print_json({"me": found})
    elif found is None:
        output.say("The exports don't say who you are. Set it with 'appliance people me PERSON'.")
        likely = [one for one in listed or () if listed and one.id in listed.maybe_me]
        if likely:
            output.say(f"You may be {' or '.join(f'{one.name} ({one.id})' for one in likely[:SHOWN_LIKELY])}.")
    else:
        output.print_line(f"You are {found.name} ({found.id}).")
        for kind, values in _by_kind(found.identities).items():
            output.print_line(f"  {kind}: {values}")
        output.say(_HOW_TO_CHANGE)


@verbs.command("undo")
def undo(user: options.User = None, home: options.Home = None, json: options.Json = False) -> None:
    """Undo the last merge, split, new name or change of who you are.

    \b
    Example:
      appliance people undo
    """
    with options.open_to_read(home, "people undo") as memory:
        _report(memory.people.undo(user), json)


_HOW_TO_CHANGE = "If you are somebody else, say so with 'appliance people me PERSON'."


def _say_who_you_are(person: Person | None) -> None:
    """Say who is taken as the person whose memory it is, from where that is known, and how to change it."""
    if person is not None:
        known = " and ".join(_sources(person.identities))
        output.say(
            f"You are taken to be {output.one_line(person.name)} ({person.id}), known from {known}. What users without"
            f" a name wrote to assistants counts as yours too. {_HOW_TO_CHANGE}"
        )


def _report(change: PeopleChange, as_json: bool) -> None:
    if as_json:
        output.print_json(change)
        return
    output.say(change.words)
    for person in change.people:
        output.print_line(f"{person.id}  {_name(person)}  {output.plural(person.messages, 'message')}")
    if change.change != "undone":
        output.say("Take it back with 'appliance people undo'.")
    if change.change == "split" and any(person.me for person in change.people):
        output.say("If you are the other one, say so with 'appliance people me PERSON'.")


def _name(person: Person) -> str:
    mark = " (you)" if person.me else " (automated)" if person.automated else ""
    return output.one_line(person.name) + mark


def _sources(identities: Sequence[Identity]) -> list[str]:
    return list(dict.fromkeys(one.source for one in identities))


def _by_kind(identities: Sequence[Identity]) -> dict[str, str]:
    """The values of each kind of identity, each with the sources that have it."""
    values: dict[str, dict[str, list[str]]] = {}
    for one in identities:
        values.setdefault(one.kind, {}).setdefault(one.value, []).append(one.source)
    return {
        kind: ", ".join(f"{value} ({', '.join(sources)})" for value, sources in of_kind.items())
        for kind, of_kind in sorted(values.items(), key=lambda item: _KINDS.index(item[0]))
    }


def _names(memory: Appliance, user: str | None) -> dict[str, str]:
    """The names of all people by their ids."""
    return {one.id: one.name for one in memory.people.list(user, everyone=True)}


def _proposal_groups(found: PeopleList) -> list[str]:
    """The people who may be one, a line for all of one name."""
    names = {one.id: one.name for one in found.people}
    groups: dict[frozenset[str], dict[str, list[str]]] = {}
    for proposal in found.proposals:
        pair = [(names.get(id, ""), id) for id in (proposal.a, proposal.b)]
        group = groups.setdefault(frozenset(name.casefold() for name, _ in pair), {})
        for name, id in pair:
            ids = group.setdefault(name, [])
            ids += [id] if id not in ids else []
    return [
        " and ".join(f"{name} ({', '.join(ids)})".strip() for name, ids in group.items()) for group in groups.values()
    ]


def _proposal(proposal: PersonProposal, names: dict[str, str]) -> str:
    a, b = (f"{names[id]} ({id})" if id in names else id for id in (proposal.a, proposal.b))
    return f"{a} and {b}: {proposal.reason}"


def _day(timestamp: str | None) -> str:
    return timestamp[:10] if timestamp else ""
