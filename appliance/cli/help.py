"""``help``: what ``--help`` of a verb prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from appliance.cli import options, output
from appliance.cli.options import argument
from appliance.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


def show_help(
    verbs: Annotated[list[str] | None, argument("[VERB]…", "A verb, and a command of it.")] = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Describe a verb and its options, or list all verbs.

    \b
    Examples:
      appliance help
      appliance help search
      appliance help facts list
    """
    context = find_command(verbs or ())
    if json:
        output.print_json({"command": context.command_path, "help": context.get_help()})
    else:
        output.print_line(context.get_help())


def find_command(verbs: Sequence[str]) -> Any:
    """The context of a command, by its names: ``["facts", "list"]``. Only the verb that is named is loaded.

    Raises:
        UsageError: A verb without commands of its own is followed by another name. typer's usage error, with a near
            name, if there is no such verb or command.
    """
    from appliance.cli.app import build, is_verb

    command: Any = typer.main.get_command(build(verbs[0] if verbs and is_verb(verbs[0]) else None))
    context = command.context_class(command, info_name="appliance", **command.context_settings)
    for name in verbs:
        if not hasattr(command, "resolve_command"):
            raise UsageError(f"'{context.command_path}' has no commands.", hint=f"See '{context.command_path} --help'.")
        _, command, _ = command.resolve_command(context, [name])
        context = command.context_class(command, info_name=name, parent=context)
    return context
