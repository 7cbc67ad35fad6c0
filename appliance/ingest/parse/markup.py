"""HTML to the text that a person saw: blocks on lines of their own, entities decoded, no scripts.

Streams: what is fed comes out as soon as its block is complete, however large the page is.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6"
    " header hr li main nav ol p pre section table tr ul".split()
)
_APART = frozenset("blockquote h1 h2 h3 h4 h5 h6 ol p pre table ul".split())
_HIDDEN = frozenset("head noscript script style template title".split())
_SPACE = re.compile(r"[ \t\r\n\f]+")
_BLANK_LINES = re.compile(r"\n{3,}")


def text_of(html: str) -> str:
    """The text of a piece of HTML: paragraphs apart by a blank line, list items with "- ", cells by tabs.

    What looks like a tag and is none ("a < b") stays. White space within ``pre`` stays.
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.text()


class Tolerant(HTMLParser):
    """A reader of HTML that raises for nothing: marked sections that nobody knows are comments."""

    def parse_html_declaration(self, i: int) -> int:
        try:
            return super().parse_html_declaration(i)
        except AssertionError:
            return self.parse_bogus_comment(i)


class _Reader(Tolerant):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._out: list[str] = []
        self._hidden = 0
        self._pre = 0
        self._lists: list[int | None] = []

    def text(self) -> str:
        lines = "".join(self._out).split("\n")
        return _BLANK_LINES.sub("\n\n", "\n".join(line.rstrip(" \t") for line in lines)).strip("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        if self._hidden:
            return
        if tag == "br":
            self._out.append("\n")
            return
        if tag in _BLOCKS:
            self._break(tag)
        if tag == "pre":
            self._pre += 1
        elif tag in ("ul", "ol"):
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "li":
            self._out.append(self._bullet())
        elif tag in ("td", "th") and self._out and not self._out[-1].endswith(("\n", "\t")):
            self._out.append("\t")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        if self._hidden or tag == "br":
            return
        if tag == "pre":
            self._pre = max(0, self._pre - 1)
        elif tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        if tag in _BLOCKS:
            self._break(tag)

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if not self._pre:
            data = _SPACE.sub(" ", data)
            if not self._out or self._out[-1].endswith(("\n", "\t", " ")):
                data = data.removeprefix(" ")
        if data:
            self._out.append(data)

    def _break(self, tag: str) -> None:
        if not self._out:
            return
        wanted = 2 if tag in _APART and not self._lists else 1
        there = 0
        for piece in reversed(self._out[-2:]):
            ends = len(piece) - len(piece.rstrip("\n"))
            there += ends
            if ends < len(piece):
                break
        if wanted > there:
            self._out.append("\n" * (wanted - there))

    def _bullet(self) -> str:
        indent = "  " * max(0, len(self._lists) - 1)
        if self._lists and (number := self._lists[-1]) is not None:
            self._lists[-1] = number + 1
            return f"{indent}{number + 1}. "
        return f"{indent}- "
