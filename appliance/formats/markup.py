"""HTML to text: blocks on lines of their own, entities decoded, no scripts."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6"
    " header hr li main nav ol p pre section table tr ul".split()
)
_SPACED_BLOCKS = frozenset("blockquote h1 h2 h3 h4 h5 h6 ol p pre table ul".split())
_HIDDEN = frozenset("head noscript script style template title".split())
_SPACE = re.compile(r"[ \t\r\n\f]+")
# A tag may contain a whole picture; anything longer than this is not a tag.
_MAX_TAG_CHARACTERS = 16 << 20
_MAX_LIST_INDENT = 8
_BLANK_LINES = re.compile(r"\n{3,}")


def text_of(html: str) -> str:
    """The text of a piece of HTML: blank lines between paragraphs, "- " before list items, tabs between cells.

    Text that only looks like a tag ("a < b") and white space within ``pre`` are kept.
    """
    extractor = _TextExtractor()
    extractor.feed(html)
    extractor.close()
    return extractor.text()


class TolerantHTMLParser(HTMLParser):
    """An HTML parser that never raises and takes linear time.

    Unknown marked sections become comments. A tag or comment without an end becomes text, because the standard
    library's parser would search for the end again from each of thousands of beginnings.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._last_positions: dict[str, int] = {}

    def feed(self, data: str) -> None:
        self._last_positions.clear()
        super().feed(data)
        if len(self.rawdata) > _MAX_TAG_CHARACTERS:
            self._finish()

    def close(self) -> None:
        self._finish()
        super().close()

    def _finish(self) -> None:
        """Handle the rest of the input as text, because no further input will complete a tag."""
        self._last_positions.clear()
        if ">" in self.rawdata:
            self.goahead(True)
            return
        rest, self.rawdata = self.rawdata, ""
        if rest:
            self.handle_data(unescape(rest))

    def parse_starttag(self, i: int) -> int:
        return super().parse_starttag(i) if self._occurs_after(">", i) else -1

    def parse_endtag(self, i: int) -> int:
        return super().parse_endtag(i) if self._occurs_after(">", i) else -1

    def parse_pi(self, i: int) -> int:
        return super().parse_pi(i) if self._occurs_after(">", i) else -1

    def parse_comment(self, i: int, report: bool = True) -> int:
        return super().parse_comment(i, report) if self._occurs_after("-->", i) else -1

    def parse_html_declaration(self, i: int) -> int:
        if not self._occurs_after("]" if self.rawdata.startswith("<![", i) else ">", i):
            return -1
        try:
            return super().parse_html_declaration(i)
        except AssertionError:
            return self.parse_bogus_comment(i)

    def _occurs_after(self, mark: str, i: int) -> bool:
        """Whether ``mark`` occurs at or after ``i``; one search serves all positions before the occurrence."""
        known = self._last_positions.get(mark, -1)
        if known < i:
            found = self.rawdata.find(mark, i)
            known = self._last_positions[mark] = len(self.rawdata) + 1 if found < 0 else found
        return known <= len(self.rawdata)


class _TextExtractor(TolerantHTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self._chunks: list[str] = []
        self._hidden = 0
        self._pre = 0
        self._lists: list[int | None] = []

    def text(self) -> str:
        lines = "".join(self._chunks).split("\n")
        return _BLANK_LINES.sub("\n\n", "\n".join(line.rstrip(" \t") for line in lines)).strip("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        if self._hidden:
            return
        if tag == "br":
            self._chunks.append("\n")
            return
        if tag in _BLOCKS:
            self._break_lines(tag)
        if tag == "pre":
            self._pre += 1
        elif tag in ("ul", "ol"):
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "li":
            self._chunks.append(self._bullet())
        elif tag in ("td", "th") and self._chunks and not self._chunks[-1].endswith(("\n", "\t")):
            self._chunks.append("\t")

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
            self._break_lines(tag)

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if not self._pre:
            data = _SPACE.sub(" ", data)
            if not self._chunks or self._chunks[-1].endswith(("\n", "\t", " ")):
                data = data.removeprefix(" ")
        if data:
            self._chunks.append(data)

    def _break_lines(self, tag: str) -> None:
        if not self._chunks:
            return
        required = 2 if tag in _SPACED_BLOCKS and not self._lists else 1
        present = 0
        for chunk in reversed(self._chunks[-2:]):
            count = len(chunk) - len(chunk.rstrip("\n"))
            present += count
            if count < len(chunk):
                break
        if required > present:
            self._chunks.append("\n" * (required - present))

    def _bullet(self) -> str:
        indent = "  " * min(_MAX_LIST_INDENT, max(0, len(self._lists) - 1))
        if self._lists and (number := self._lists[-1]) is not None:
            self._lists[-1] = number + 1
            return f"{indent}{number + 1}. "
        return f"{indent}- "
