"""The themes: dark, light, high contrast, and without colours."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter, Monochrome, NoColor
from textual.theme import Theme

from appliance.errors import ConfigError

PREFIX = "appliance-"

_ROLES = (
    "primary", "secondary", "accent", "foreground", "background", "surface", "panel", "success", "warning", "error",
)  # fmt: skip
_COLOURS = {
    "dark": "#7aa2f7 #9ece6a #e0af68 #c9d1e4 #12141c #181b26 #1f2433 #9ece6a #e0af68 #f7768e",
    "light": "#264f99 #33661a #7f4b00 #22252e #faf9f6 #f1efe9 #e6e3da #33661a #7f4b00 #a3201a",
    "contrast": "#ffffff #00ff87 #ffff00 #ffffff #000000 #000000 #1a1a1a #00ff87 #ffff00 #ff9a9a",
    "plain": "#bbbbbb #bbbbbb #ffffff #dddddd #000000 #000000 #222222 #dddddd #dddddd #ffffff",
}
"""The colours of each theme, in the order of ``_ROLES``."""

_MUTED = {"dark": "#9aa5bd", "light": "#555a66", "contrast": "#d0d0d0", "plain": "#aaaaaa"}
"""Secondary text. Opaque: with transparency its contrast would depend on what is behind it."""

_SELECTED = {
    "dark": "#283150 #232a40",
    "light": "#d2def2 #dfe5ee",
    "contrast": "#00408a #333333",
    "plain": "#3a3a3a #2a2a2a",
}
"""The background of the selected row, with and without the focus. Every colour of a text can be read on it."""


def _variables(name: str) -> dict[str, str]:
    colours = dict(zip(_ROLES, _COLOURS[name].split(), strict=True))
    selected, selected_blurred = _SELECTED[name].split()
    muted, foreground = _MUTED[name], colours["foreground"]
    # Textual tints these colours for text and makes others transparent; here the theme's own are readable as they are.
    texts = {
        f"text-{role}": colours[role] for role in ("primary", "secondary", "accent", "success", "warning", "error")
    }
    return {
        **texts,
        "text-muted": muted,
        "text-disabled": muted,
        "foreground-muted": muted,
        "foreground-disabled": muted,
        "block-cursor-foreground": foreground,
        "block-cursor-background": selected,
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-foreground": foreground,
        "block-cursor-blurred-background": selected_blurred,
        "block-cursor-blurred-text-style": "none",
        "block-hover-background": selected_blurred,
        "input-selection-background": selected,
        "input-selection-foreground": foreground,
    }


def _theme(name: str) -> Theme:
    colours: dict[str, Any] = dict(zip(_ROLES, _COLOURS[name].split(), strict=True))
    return Theme(name=PREFIX + name, dark=name != "light", variables=_variables(name), **colours)


THEMES = tuple(map(_theme, _COLOURS))


class ColourFilter(LineFilter):
    """Removes every colour; Textual's own filters replace colours by greys. What is seen by its background alone (the
    selected row, the cursor, scrollbars) is reversed."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(text, style and _without_colour(style), control) for text, style, control in segments]


@lru_cache(4096)
def _without_colour(style: Style) -> Style:
    shade = style.bgcolor and style.bgcolor.get_truecolor()
    return style.without_color + Style(reverse=True) if shade in _seen_by_background() else style.without_color


@cache
def _seen_by_background() -> frozenset[ColorTriplet]:
    names = ("block-cursor-background", "input-cursor-background", "scrollbar", "scrollbar-hover", "scrollbar-active")
    shades = ({**theme.to_color_system().generate(), **theme.variables} for theme in THEMES)
    return frozenset(Color.parse(shade[name]).rich_color.get_truecolor() for shade in shades for name in names)


def no_color() -> bool:
    """Whether the environment asks for no colour at all (no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def line_filters(filters: Iterable[LineFilter]) -> list[LineFilter]:
    """An app's filters, with ours in place of Textual's for NO_COLOR."""
    others = [one for one in filters if not isinstance(one, (Monochrome, NoColor))]
    return [*others, ColourFilter()] if no_color() else others


def initial_theme(theme_name: str) -> str:
    """The full name of a theme ("dark", "light", "contrast", "plain"). Without a name it is the dark one, or the plain
    one if NO_COLOR is set.

    Raises:
        ConfigError: the theme does not exist.
    """
    if not theme_name:
        theme_name = "plain" if no_color() else "dark"
    if theme_name not in _COLOURS:
        raise ConfigError(
            f"There is no theme {theme_name!r}.", where="tui.theme", hint=f"Use one of {', '.join(_COLOURS)}."
        )
    return PREFIX + theme_name
