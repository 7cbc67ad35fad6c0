"""``tag``: labels of conversations."""

from __future__ import annotations

from typing import Annotated

import typer

from appliance.cli import options, output
from appliance.cli.options import argument

verbs = typer.Typer()

Reference = Annotated[str, argument("ID", "A session, by id (s12) or external id.")]
Tags = Annotated[list[str], argument("TAG…", "Tags; case and a '#' before them do not matter.")]


@verbs.callback(invoke_without_command=True)
def tag(context: typer.Context, home: options.Home = None, json: options.Json = False) -> None:
    """Tag conversations; without a command, list the tags.

    \b
    Examples:
      appliance tag
      appliance tag add s12 garden "to do"
      appliance search tomatoes --tag garden
    """
    if context.invoked_subcommand is None:
        list_tags(None, None, "", home, json)
    else:
        options.inherit_options(context, home, json)


@verbs.command("add")
def add(
    reference: Reference, tags: Tags, user: options.User = None, home: options.Home = None, json: options.Json = False
) -> None:
    """Give a conversation tags.

    \b
    Examples:
      appliance tag add s12 garden "to do"
    """
    _change("add", reference, tags, user, home, json)


@verbs.command("remove")
def remove(
    reference: Reference, tags: Tags, user: options.User = None, home: options.Home = None, json: options.Json = False
) -> None:
    """Remove tags from a conversation.

    \b
    Examples:
      appliance tag remove s12 garden
    """
    _change("remove", reference, tags, user, home, json)


@verbs.command("list")
def list_tags(
    reference: Annotated[str | None, argument("[ID]", "A session. Default: the tags of all.")] = None,
    user: options.User = None,
    namespace: options.Namespace = "",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List the tags of a conversation, or all tags with how many conversations have them.

    \b
    Examples:
      appliance tag list
      appliance tag list s12
    """
    with options.open_existing(home, "tag list") as memory:
        if reference is not None:
            _print(memory.sessions.info(reference, user_id=user).tags, json)
            return
        counts = memory.sessions.tags(user_id=user, namespace=namespace)
    if json:
        output.print_json({"tags": counts})
        return
    if not counts:
        output.say("No conversation has a tag. Add one with 'appliance tag add ID TAG'.")
        return
    rows = [(one.tag, f"{one.sessions:,}") for one in counts]
    output.print_table(("tag", "sessions"), rows, right=("sessions",))


def _change(verb: str, reference: str, tags: list[str], user: str | None, home: str | None, json: bool) -> None:
    with options.open_existing(home, f"tag {verb}") as memory:
        session = memory.sessions.resume(reference, user_id=user)
        left = session.tag(tags) if verb == "add" else session.untag(tags)
        if not json:
            title = output.one_line(session.info.title or session.info.external_id)
            tags_text = f"has the {'tag' if len(left) == 1 else 'tags'} {', '.join(left)}" if left else "has no tags"
            output.print_line(f"{title} ({session.id}) {tags_text}.")
            return
        output.print_json({"session": session.info, "tags": left})


def _print(tags: tuple[str, ...], json: bool) -> None:
    if json:
        output.print_json({"tags": tags})
        return
    for one in tags:
        output.print_line(one)
    if not tags:
        output.say("It has no tags.")
