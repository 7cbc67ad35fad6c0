"""Renders message texts to lines: Markdown with highlighted code, on threads, a piece of bounded size at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from textual.strip import Strip

from appliance.lazy_dataclasses import dataclass
from appliance_tui.widgets.display_text import sanitize

if TYPE_CHECKING:
    from rich.console import Console
    from rich.syntax import SyntaxTheme

PIECE_CHARACTERS = 4_000
"""Characters that are rendered at once: a full screen, in some milliseconds. Longer texts are split into pieces."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How texts are rendered: the width in columns, colours by the theme's names, as Markdown or as written."""

    width: int
    colours: tuple[tuple[str, str], ...]
    markdown: bool = True


COLOUR_NAMES = ("foreground", "primary", "secondary", "accent", "warning", "surface", "muted")


def text_style(width: int, theme: Mapping[str, str], *, markdown: bool = True) -> TextStyle:
    """The style for a theme's variables."""
    named = {name: theme[name] for name in COLOUR_NAMES if name in theme} | {"muted": theme["foreground-muted"]}
    return TextStyle(width, tuple(named.items()), markdown)


def split_pieces(text: str) -> tuple[str, ...]:
    """Sanitize a text and split it between lines into pieces. A code block that is cut is fenced in both pieces."""
    text = sanitize(text).strip("\n").rstrip()
    return (text,) if len(text) <= PIECE_CHARACTERS else tuple(_split_long(text))


def _split_long(text: str) -> Iterator[str]:
    fence: re.Match[str] | None = None
    piece: list[str] = []
    size = 0
    for line in _bounded_lines(text):
        if piece and size + len(line) >= PIECE_CHARACTERS:
            yield "\n".join([*piece, fence[1]] if fence else piece)
            piece = [fence[0]] if fence else []
            size = 0
        match = _FENCE.match(line)
        if fence is None:
            fence = match
        elif match and match[1].startswith(fence[1]) and not match[2].strip():
            fence = None
        piece.append(line)
        size += len(line) + 1
    if piece:
        yield "\n".join(piece)


def _bounded_lines(text: str) -> Iterator[str]:
    """The lines of a text; a line longer than a piece becomes several."""
    for line in text.split("\n"):
        starts = range(0, max(1, len(line)), PIECE_CHARACTERS - 1)
        yield from (line[start : start + PIECE_CHARACTERS - 1] for start in starts)


def render_piece(piece: str, style: TextStyle) -> list[Strip]:
    """Render a piece to lines, at least one."""
    from rich.segment import Segment
    from rich.text import Text

    console = _console(style)
    body: Any = Text(piece, overflow="fold")
    if style.markdown:
        from appliance_tui.widgets.markdown import ChatMarkdown

        body = ChatMarkdown(piece, _syntax_theme(style))
    lines = [Strip(Segment.simplify(line)) for line in console.render_lines(body, console.options, pad=False)]
    while lines and not lines[-1].text.strip():
        lines.pop()
    return lines or [Strip([])]


@lru_cache(8)
def _console(style: TextStyle) -> Console:
    from io import StringIO

    from rich.console import Console
    from rich.theme import Theme

    colour = dict(style.colours)
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
        width=style.width,
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


@lru_cache(8)
def _syntax_theme(style: TextStyle) -> SyntaxTheme:
    from appliance_tui.widgets.markdown import CodeColours

    return CodeColours(dict(style.colours))
