"""HTML to the text that a person saw: blocks on lines of their own, entities decoded, no scripts.

Streams: what is fed comes out as soon as its block is complete, however large the page is.
"""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6"
    " header hr li main nav ol p pre section table tr ul".split()
)
_APART = frozenset("blockquote h1 h2 h3 h4 h5 h6 ol p pre table ul".split())
_HIDDEN = frozenset("head noscript script style template title".split())
_SPACE = re.compile(r"[ \t\r\n\f]+")
# A picture may stand in a tag; past this many characters it is no tag.
_LONGEST_TAG = 16 << 20
_DEEPEST_INDENT = 8
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
    """A reader of HTML that raises for nothing, and whose time grows with the length of what it is fed.

    Marked sections that nobody knows are comments. What begins like a tag or a comment and never ends is
    text: the library would look for its end anew from each of thousands of beginnings.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._ends: dict[str, int] = {}

    def feed(self, data: str) -> None:
        self._ends.clear()
        super().feed(data)
        if len(self.rawdata) > _LONGEST_TAG:
            self._finish()

    def close(self) -> None:
        self._finish()
        super().close()

    def _finish(self) -> None:
        """Take what is left for what it is: nothing more will make it a tag."""
        self._ends.clear()
        if ">" in self.rawdata:
            self.goahead(True)
            return
        rest, self.rawdata = self.rawdata, ""
        if rest:
            self.handle_data(unescape(rest))

    def parse_starttag(self, i: int) -> int:
        return super().parse_starttag(i) if self._has(">", i) else -1

    def parse_endtag(self, i: int) -> int:
        return super().parse_endtag(i) if self._has(">", i) else -1

    def parse_pi(self, i: int) -> int:
        return super().parse_pi(i) if self._has(">", i) else -1

    def parse_comment(self, i: int, report: bool = True) -> int:
        return super().parse_comment(i, report) if self._has("-->", i) else -1

    def parse_html_declaration(self, i: int) -> int:
        if not self._has("]" if self.rawdata.startswith("<![", i) else ">", i):
            return -1
        try:
            return super().parse_html_declaration(i)
        except AssertionError:
            return self.parse_bogus_comment(i)

    def _has(self, mark: str, i: int) -> bool:
        """Whether a mark stands anywhere behind a place; looked for once for all places before it."""
        known = self._ends.get(mark, -1)
        if known < i:
            found = self.rawdata.find(mark, i)
            known = self._ends[mark] = len(self.rawdata) + 1 if found < 0 else found
        return known <= len(self.rawdata)


class _Reader(Tolerant):
    def __init__(self) -> None:
        super().__init__()
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
        indent = "  " * min(_DEEPEST_INDENT, max(0, len(self._lists) - 1))
        if self._lists and (number := self._lists[-1]) is not None:
            self._lists[-1] = number + 1
            return f"{indent}{number + 1}. "
        return f"{indent}- "
