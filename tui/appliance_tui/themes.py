"""The themes: dark, light, high contrast, and without colours."""

from __future__ import annotations

import os
from typing import Any

from textual.theme import Theme

from appliance.errors import ConfigError

PREFIX = "appliance-"

_ROLES = (
    "primary", "secondary", "accent", "foreground", "background", "surface", "panel", "success", "warning", "error",
)  # fmt: skip
_COLOURS = {
    "dark": "#7aa2f7 #9ece6a #e0af68 #c9d1e4 #12141c #181b26 #1f2433 #9ece6a #e0af68 #f7768e",
    "light": "#2f5fb3 #3f7d20 #9a5b00 #22252e #faf9f6 #f1efe9 #e6e3da #3f7d20 #9a5b00 #b3261e",
    "contrast": "#ffffff #00ff87 #ffff00 #ffffff #000000 #000000 #1a1a1a #00ff87 #ffff00 #ff5f5f",
    "plain": "#bbbbbb #bbbbbb #ffffff #dddddd #000000 #000000 #222222 #dddddd #dddddd #ffffff",
}
"""The colours of each theme, in the order of ``_ROLES``."""


def _theme(name: str) -> Theme:
    colours: dict[str, Any] = dict(zip(_ROLES, _COLOURS[name].split(), strict=True))
    return Theme(name=PREFIX + name, dark=name != "light", **colours)


THEMES = tuple(map(_theme, _COLOURS))


def initial_theme(theme_name: str) -> str:
    """The full name of a theme ("dark", "light", "contrast", "plain"). Without a name it is the dark one, or the plain
    one if NO_COLOR is set.

    Raises:
        ConfigError: the theme does not exist.
    """
    if not theme_name:
        theme_name = "plain" if os.environ.get("NO_COLOR") else "dark"
    if theme_name not in _COLOURS:
        raise ConfigError(
            f"There is no theme {theme_name!r}.", where="tui.theme", hint=f"Use one of {', '.join(_COLOURS)}."
        )
    return PREFIX + theme_name
