"""The shells for which there are completions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from appliance.cli.reference import bash, fish, zsh
from appliance.cli.reference.commands import Command, read_commands

SCRIPTS: Mapping[str, Callable[[Command], str]] = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}


def completion_script(shell: str) -> str:
    """The completion script for a shell of ``SCRIPTS``."""
    return SCRIPTS[shell](read_commands())
