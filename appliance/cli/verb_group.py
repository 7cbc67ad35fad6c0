"""A verb with commands of its own, which its help lists in full sentences."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from appliance.near_names import near_names

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


def describe_ranges(command: Any) -> None:
    """Let the help of a command, and of the commands in it, say which numbers an option takes in words: the parser's
    own description is "x>=1"."""
    for parameter in command.params:
        kind = parameter.type
        if hasattr(kind, "_describe_range"):
            words = _range_words(kind.min, kind.max)
            kind._describe_range = lambda words=words: words
    for inner in getattr(command, "commands", {}).values():
        describe_ranges(inner)


def _range_words(least: float | None, most: float | None) -> str:
    if least is None or most is None:
        return f"at most {most:g}" if least is None else f"at least {least:g}"
    return f"from {least:g} to {most:g}"


def group_class(verb: typer.Typer) -> type[TyperGroup]:
    """The class of a verb's group: its own, if it has one."""
    own = verb.info.cls
    return own if isinstance(own, type) else VerbGroup


def near_command(word: str, commands: Collection[str]) -> str | None:
    """The command that a word, which may also be a path, seems to be meant for: it is nearly its name, names no folder
    with a separator, and nothing of this name is there."""
    if word in commands or os.sep in word or Path(word).suffix or Path(word).expanduser().exists():
        return None
    return next(iter(near_names(word, commands)), None)
