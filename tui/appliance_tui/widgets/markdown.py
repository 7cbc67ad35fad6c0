"""Markdown as chats use it. The rendering threads import this module, because its dependencies load slowly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments.token import Comment, Keyword, Name, Number, Operator, String  # type: ignore[import-untyped]
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.style import Style
from rich.syntax import Syntax, SyntaxTheme
from rich.text import Text

_PARSER = (
    MarkdownIt()
    .enable(["strikethrough", "table"])
    .disable(["html_block", "html_inline", "reference", "lheading", "image"])
)
"""Rules that would drop text are off: HTML and link targets are shown as written. Setext headings are off, too: in a
chat, a line of dashes does not make a heading of the line before it."""


class CodeColours(SyntaxTheme):
    """Syntax highlighting in the colours of the screen's theme."""

    def __init__(self, colours: Mapping[str, str]) -> None:
        self._plain = Style(color=colours["foreground"], bgcolor=colours["surface"])
        self._kinds = {
            Comment: self._plain + Style(color=colours["muted"], italic=True),
            Keyword: self._plain + Style(color=colours["primary"], bold=True),
            String: self._plain + Style(color=colours["secondary"]),
            Number: self._plain + Style(color=colours["accent"]),
            Name.Function: self._plain + Style(color=colours["warning"]),
            Name.Class: self._plain + Style(color=colours["warning"], bold=True),
            Name.Decorator: self._plain + Style(color=colours["accent"]),
            Operator.Word: self._plain + Style(color=colours["primary"], bold=True),
        }

    def get_style_for_token(self, token_type: Any) -> Style:
        while token_type is not None:
            if token_type in self._kinds:
                return self._kinds[token_type]
            token_type = token_type.parent
        return self._plain

    def get_background_style(self) -> Style:
        return self._plain


class _CodeBlock(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 1))


class _LeftHeading(Heading):
    """A left-aligned heading."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield Text("#" * int(self.tag[1:]) + " ", style=f"markdown.{self.tag}") + self.text


class ChatMarkdown(Markdown):
    """Markdown in which every line end breaks the line."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
    }

    def __init__(self, text: str, colours: SyntaxTheme) -> None:
        super().__init__("", code_theme=colours, hyperlinks=False)  # type: ignore[arg-type]
        self.markup = text
        self.parsed = _PARSER.parse(text)

    def _flatten_tokens(self, tokens: Iterable[Token]) -> Iterable[Token]:
        for token in super()._flatten_tokens(tokens):
            if token.type == "softbreak":
                token.type = "hardbreak"
            yield token
