"""``core``: the short texts that every context has, which you and your assistants edit."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, output
from appliance.cli.editor import edited
from appliance.cli.options import argument, flag, option
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.types import CoreBlock

verbs = typer.Typer()

Label = Annotated[str, argument("LABEL", "A block, such as persona, person or project-garden.")]
Text = Annotated[str, argument("TEXT", "The text; '-' reads it from stdin.")]


@verbs.callback(invoke_without_command=True)
def core(
    context: typer.Context,
    user: options.User = None,
    namespace: options.Namespace = "",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """List core memory: short notes that every context has, or edit them.

    \b
    Examples:
      appliance core
      appliance core set persona "Answer briefly. No emoji."
      appliance core edit person
      appliance core history person
    """
    if context.invoked_subcommand is not None:
        options.inherit_options(context, home, json)
        return
    list_blocks(user, namespace, home, json)


@verbs.command("list")
def list_blocks(
    user: options.User = None, namespace: options.Namespace = "", home: options.Home = None, json: options.Json = False
) -> None:
    """List the blocks with their texts.

    \b
    Examples:
      appliance core list
      appliance core list --json
    """
    with options.open_existing(home, "core") as memory:
        found = memory.core.list(user, namespace)
    if json:
        output.print_json({"blocks": found})
        return
    for block in found:
        _print_block(block)
        output.print_line()
    if not found:
        output.say("Core memory is empty. Begin it with 'appliance core set persona TEXT'.")


@verbs.command("show")
def show(
    label: Label,
    user: options.User = None,
    namespace: options.Namespace = "",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Print the text of a block, and nothing else.

    \b
    Examples:
      appliance core show person
      appliance core show person > person.txt
    """
    with options.open_existing(home, "core show") as memory:
        block = memory.core.get(label, user_id=user, namespace=namespace)
    if json:
        output.print_json({"block": block})
        return
    output.print_line(output.clean(block.value))


@verbs.command("set")
def set_block(
    label: Label,
    text: Annotated[str | None, argument("[TEXT]", "The text, in full; '-' reads it from stdin.")] = None,
    description: Annotated[str | None, option("--description", "TEXT", "What belongs into the block.")] = None,
    limit: Annotated[int | None, option("--limit", "N", "Most characters of the block.")] = None,
    read_only: Annotated[
        bool | None, flag("--read-only/--writable", "Whether assistants may only read it, or write too.")
    ] = None,
    user: options.TargetUser = None,
    namespace: options.Namespace = "",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Write a block, or begin one; what is not given stays as it is.

    \b
    Examples:
      appliance core set persona "Answer briefly. No emoji." --read-only
      appliance core set project-garden - < garden.txt
      appliance core set person --limit 3000
    """
    if text is None and description is None and limit is None and read_only is None:
        raise UsageError("There is nothing to set.", hint="Give a text, or an option such as --limit.")
    value = None if text is None else options.read_text(text)
    with options.open_or_create(home, "core set") as memory:
        block = memory.core.set(
            label, value, description=description, limit=limit, read_only=read_only, user_id=user, namespace=namespace
        )
    _report(block, "written", json)


@verbs.command("append")
def append(
    label: Label,
    text: Text,
    user: options.TargetUser = None,
    namespace: options.Namespace = "",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Add a line to a block, or begin one with it.

    \b
    Examples:
      appliance core append person "Has lived in Munich since March 2024."
    """
    text = options.read_text(text)
    with options.open_or_create(home, "core append") as memory:
        block = memory.core.append(label, text, user_id=user, namespace=namespace)
    _report(block, "written", json)


@verbs.command("edit")
def edit(
    label: Label, user: options.TargetUser = None, namespace: options.Namespace = "", home: options.Home = None
) -> None:
    """Edit a block in your editor (VISUAL or EDITOR).

    \b
    Examples:
      appliance core edit person
    """
    if not _has_terminal():
        raise UsageError("An editor needs a terminal.", hint="Use 'appliance core set LABEL -' with the text on stdin.")
    with options.open_or_create(home, "core edit") as memory:
        blocks = {block.label: block for block in memory.core.list(user, namespace)}
        known = blocks.get(label.strip().casefold())
    # The memory is not kept open for as long as somebody writes.
    before = known.value if known else ""
    with edited(before + ("\n" if before else "")) as saved:
        value = saved.removesuffix("\n")
        if value == before:
            output.say("Nothing was changed.")
            return
        with options.open_or_create(home, "core edit") as memory:
            block = memory.core.set(
                label, value, revision=known.revision if known else 0, user_id=user, namespace=namespace
            )
    _report(block, "written", json=False)


@verbs.command("history")
def history(
    label: Label,
    user: options.User = None,
    namespace: options.Namespace = "",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show the texts that a block had, and who wrote them.

    \b
    Examples:
      appliance core history person
      appliance core revert person 3
    """
    with options.open_existing(home, "core history") as memory:
        forms = memory.core.history(label, user_id=user, namespace=namespace)
    if json:
        output.print_json({"revisions": forms})
        return
    for form in forms:
        by = f"  {output.format_timestamp(form.changed_at)} · {form.assistant or form.changed_by}"
        output.print_styled(f"revision {form.number}", "bold cyan", by)
        output.print_line(output.clean(form.value) or "(empty)")
        output.print_line()


@verbs.command("revert")
def revert(
    label: Label,
    number: Annotated[int, argument("REVISION", "The number of an earlier form; 'core history' lists them.")],
    user: options.User = None,
    namespace: options.Namespace = "",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Give a block a text again that it had.

    \b
    Examples:
      appliance core revert person 3
    """
    with options.open_existing(home, "core revert") as memory:
        block = memory.core.revert(label, number, user_id=user, namespace=namespace)
    _report(block, "written", json)


@verbs.command("delete")
def delete(
    label: Label,
    user: options.User = None,
    namespace: options.Namespace = "",
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Delete a block with its history.

    \b
    Examples:
      appliance core delete project-garden
    """
    with options.open_existing(home, "core delete") as memory:
        block = memory.core.delete(label, user_id=user, namespace=namespace)
    _report(block, "deleted", json)


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _print_block(block: CoreBlock) -> None:
    size = f"{len(block.value):,} of {block.limit:,} characters"
    by = f"revision {block.revision}, {output.format_timestamp(block.changed_at)} by {_editor(block)}"
    read_only = " · read-only for assistants" if block.read_only else ""
    output.print_styled(block.label, "bold cyan", f"  {size} · {by}{read_only}")
    output.print_line(output.clean(block.value) or "(empty)")


def _editor(block: CoreBlock) -> str:
    return block.assistant or f"the {block.changed_by}"


def _report(block: CoreBlock, done: str, json: bool) -> None:
    if json:
        output.print_json({"block": block})
        return
    output.print_line(f"{block.label} {done}: {len(block.value):,} of {block.limit:,} characters")
