"""The themes: dark, light, high contrast, and without colours."""

from __future__ import annotations

import os

from textual.theme import Theme

THEMES = (
    Theme(
        name="appliance-dark",
        primary="#7aa2f7",
        secondary="#9ece6a",
        accent="#e0af68",
        foreground="#c9d1e4",
        background="#12141c",
        surface="#181b26",
        panel="#1f2433",
        success="#9ece6a",
        warning="#e0af68",
        error="#f7768e",
        dark=True,
    ),
    Theme(
        name="appliance-light",
        primary="#2f5fb3",
        secondary="#3f7d20",
        accent="#9a5b00",
        foreground="#22252e",
        background="#faf9f6",
        surface="#f1efe9",
        panel="#e6e3da",
        success="#3f7d20",
        warning="#9a5b00",
        error="#b3261e",
        dark=False,
    ),
    Theme(
        name="appliance-contrast",
        primary="#ffffff",
        secondary="#00ff87",
        accent="#ffff00",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#1a1a1a",
        success="#00ff87",
        warning="#ffff00",
        error="#ff5f5f",
        dark=True,
    ),
    Theme(
        name="appliance-plain",
        primary="#bbbbbb",
        secondary="#bbbbbb",
        accent="#ffffff",
        foreground="#dddddd",
        background="#000000",
        surface="#000000",
        panel="#222222",
        success="#dddddd",
        warning="#dddddd",
        error="#ffffff",
        dark=True,
    ),
)


def starting_theme(wanted: str) -> str:
    """The theme of a name ("dark", "light", "contrast", "plain"); the plain one where NO_COLOR asks for none.

    Raises:
        ConfigError: there is none of that name.
    """
    if not wanted:
        return "appliance-plain" if os.environ.get("NO_COLOR") else "appliance-dark"
    names = [one.name for one in THEMES]
    if f"appliance-{wanted}" not in names:
        from appliance.errors import ConfigError

        known = ", ".join(name.removeprefix("appliance-") for name in names)
        raise ConfigError(f"there is no theme {wanted!r}", where="tui.theme", hint=f"one of {known}")
    return f"appliance-{wanted}"
