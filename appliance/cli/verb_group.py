"""A verb with commands of its own, which its help lists in full sentences."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

MAX_HELP_CHARACTERS = 200
"""Characters of a command in a list of commands: the sentences are made to be read in full."""


class VerbGroup(TyperGroup):
    """A verb with commands of its own."""

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """List the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.get_short_help_str(MAX_HELP_CHARACTERS)) for name, command in self.commands.items()]
            )


def group_class(verb: typer.Typer) -> type[TyperGroup]:
    """The class of a verb's group: its own, if it has one."""
    own = verb.info.cls
    return own if isinstance(own, type) else VerbGroup
