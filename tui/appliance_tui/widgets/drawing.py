"""Texts as lines of a screen: Markdown with its code in colours. Drawn on threads, a bounded piece at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from textual.strip import Strip

from appliance_tui.widgets.words import shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.syntax import SyntaxTheme

PIECE = 4_000
"""Characters that are drawn at once: a screen full, in some milliseconds. A longer text is drawn in several pieces."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


@dataclass(frozen=True, slots=True)
class Look:
    """How texts are drawn: how wide, in which colours (by the names of the theme), and whether as Markdown or as they
    stand there."""

    width: int
    colours: tuple[tuple[str, str], ...]
    markdown: bool = True


NAMES = ("foreground", "primary", "secondary", "accent", "warning", "surface", "muted")


def look(width: int, theme: Mapping[str, str], *, markdown: bool = True) -> Look:
    """The look of a theme's variables."""
    from textual.color import Color

    muted = Color.parse(theme["background"]).blend(Color.parse(theme["foreground"]), 0.6).hex
    named = {**{name: theme[name] for name in NAMES if name in theme}, "muted": muted}
    return Look(width, tuple(named.items()), markdown)


# --- pieces ---------------------------------------------------------------------------------------------


def pieces(text: str) -> tuple[str, ...]:
    """A text, cleared of what a terminal would act upon, in pieces that are drawn one by one: cut between lines, and
    code that goes on in the next one is code there, too."""
    text = shown(text).strip("\n").rstrip()
    return (text,) if len(text) <= PIECE else tuple(_cut(text))


def _cut(text: str) -> Iterator[str]:
    fence: re.Match[str] | None = None
    piece: list[str] = []
    size = 0
    for line in _short(text):
        if piece and size + len(line) >= PIECE:
            yield "\n".join([*piece, fence[1]] if fence else piece)
            piece = [fence[0]] if fence else []
            size = 0
        found = _FENCE.match(line)
        if fence is None:
            fence = found
        elif found and found[1].startswith(fence[1]) and not found[2].strip():
            fence = None
        piece.append(line)
        size += len(line) + 1
    if piece:
        yield "\n".join(piece)


def _short(text: str) -> Iterator[str]:
    """The lines of a text; one that is longer than a piece comes as several."""
    for line in text.split("\n"):
        if len(line) < PIECE:
            yield line
        else:
            yield from (line[start : start + PIECE - 1] for start in range(0, len(line), PIECE - 1))


# --- drawn ----------------------------------------------------------------------------------------------


def drawn(piece: str, look: Look) -> list[Strip]:
    """A piece of a text as lines, at least one."""
    from rich.segment import Segment
    from rich.text import Text

    console = _console(look)
    body: Any = _markdown(piece, look) if look.markdown else Text(piece, overflow="fold")
    lines = [Strip(Segment.simplify(line)) for line in console.render_lines(body, console.options, pad=False)]
    while lines and not lines[-1].text.strip():
        lines.pop()
    return lines or [Strip([])]


@lru_cache(8)
def _console(look: Look) -> Console:
    from io import StringIO

    from rich.console import Console
    from rich.theme import Theme

    colour = dict(look.colours)
    styles = {f"markdown.h{level}": f"bold {colour['primary']}" for level in range(1, 7)}
    styles |= {
        "markdown.code": f"{colour['accent']} on {colour['surface']}",
        "markdown.block_quote": f"italic {colour['muted']}",
        "markdown.item.bullet": colour["accent"],
        "markdown.item.number": colour["accent"],
        "markdown.hr": colour["muted"],
        "markdown.link": f"underline {colour['primary']}",
        "markdown.link_url": colour["muted"],
        "markdown.table.border": colour["muted"],
        "markdown.table.header": f"bold {colour['foreground']}",
    }
    return Console(
        file=StringIO(),
        width=look.width,
        height=10_000,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        theme=Theme(styles),
        highlight=False,
        emoji=False,
        markup=False,
        _environ={},
    )


def _markdown(piece: str, look: Look) -> Markdown:
    """Markdown that leaves nothing out: HTML and references stand there as they were written, and so do line ends."""
    from appliance_tui.widgets.markdown import Written

    return Written(piece, _syntax_theme(look))


@lru_cache(8)
def _syntax_theme(look: Look) -> SyntaxTheme:
    from appliance_tui.widgets.markdown import CodeColours

    return CodeColours(dict(look.colours))
