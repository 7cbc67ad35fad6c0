"""Settings of a command's environment that have no effect, because another program has the memory open."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from appliance import machine_profiles
from appliance.cli import output

if TYPE_CHECKING:
    from appliance.client import Appliance

PREFIX = "APPLIANCE_"


def say_ignored(memory: Appliance) -> None:
    """Say which variables differ from the settings of the program that answers. The common case costs nothing: the
    command owns the memory, or has no variable that is a setting."""
    if not memory.is_attached or not any(name.startswith(PREFIX) for name in os.environ):
        return
    if ignored := _ignored(memory):
        who = "the daemon" if memory.is_attached_to_daemon else "another program"
        verb = "has" if len(ignored) == 1 else "have"
        output.say_notes(
            [
                f"{who} that has {output.display_path(memory.home.root)} open answers with its own settings:"
                f" {', '.join(ignored)} {verb} no effect here. Restart it with them, or write them to config.toml"
                " and restart it."
            ]
        )


def _ignored(memory: Appliance) -> list[str]:
    """The variables with their values, those of the screen left out: it reads them itself. A key is not shown."""
    import msgspec

    from appliance import config

    own, origins = config.load_with_origins(memory.home)
    values, theirs = (config.flatten(msgspec.to_builtins(settings)) for settings in (own, memory.settings))
    found = []
    for name, value in values.items():
        variable = config.environment_variable(name)
        if origins.get(name) == variable and value != theirs.get(name) and not name.startswith("tui."):
            shown = "…" if name.endswith("key") else os.environ[variable]
            is_option = variable == machine_profiles.PROFILE_VARIABLE
            found.append(f"{variable}={shown}" + (" (--profile)" if is_option else ""))
    return found
