"""Patterns for the words and the passage that a search found, and where they stand in rendered lines.

Rendered lines are not the text: Markdown loses its marks, and lines are wrapped. So a passage is matched word by word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from appliance.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from appliance_tui.widgets.message_cache import RenderedBody

MAX_PASSAGE_WORDS = 48
"""Words of a passage that are matched: more than a screen's worth tells it no better from others."""

MIN_PASSAGE_WORDS = 4
"""Words that must match; the others may be missing, as what a rendering changes may lie between."""

_FIRST_UNSPACED = "\u0e00"
"""The first letter of the scripts that have no spaces between words; all later ones are treated like them."""

Spans = Sequence[tuple[int, int]]
"""Start and end of each match in the text of a line."""


MATCH_STYLE = Style(reverse=True, bold=True)


@dataclass(slots=True)
class FoundPassage:
    """The passage of a message that was found."""

    message_id: str
    pattern: re.Pattern[str]
    _lines: Sequence[Strip] = ()
    _spans: Mapping[int, Spans] = field(default_factory=dict)

    def spans(self, lines: Sequence[Strip]) -> Mapping[int, Spans]:
        """Where it stands in rendered lines, by the number of the line; the lines asked for last are remembered."""
        if lines is not self._lines:
            self._lines, self._spans = lines, spans_by_line(lines, self.pattern)
        return self._spans


def words_pattern(words: Collection[str]) -> re.Pattern[str] | None:
    """A pattern for any of some whole words; None without words."""
    if not words:
        return None
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile("|".join(map(_whole_word, longest_first)), re.IGNORECASE)


def _whole_word(word: str) -> str:
    escaped = re.escape(word)
    return escaped if max(word) >= _FIRST_UNSPACED else rf"(?<![^\W_]){escaped}(?![^\W_])"


def passage_pattern(passage: str) -> re.Pattern[str] | None:
    """A pattern for a passage: its words in order, whatever stands between them, and as many as there are in a row."""
    words = re.findall(r"[^\W_]+", passage)[:MAX_PASSAGE_WORDS]
    if not words:
        return None
    pattern = ""
    for number in range(len(words) - 1, 0, -1):
        follows = rf"[\W_]+{re.escape(words[number])}{pattern}"
        pattern = follows if number < MIN_PASSAGE_WORDS else f"(?:{follows})?"
    return re.compile(rf"{re.escape(words[0])}{pattern}[^\w\s]*")


def highlight_words(text: str, words: Collection[str], style: str) -> Content:
    """A text with some words in a style."""
    content = Content(text)
    pattern = words_pattern(words)
    for match in pattern.finditer(text) if pattern else ():
        content = content.stylize(style, *match.span())
    return content


def spans_by_line(lines: Sequence[Strip], pattern: re.Pattern[str]) -> dict[int, Spans]:
    """Where the first match of a pattern stands in lines, by the number of the line; it may go on over several."""
    texts = [line.text for line in lines]
    match = pattern.search("\n".join(texts))
    if match is None:
        return {}
    spans: dict[int, Spans] = {}
    begin = 0
    for number, text in enumerate(texts):
        start, end = max(match.start() - begin, 0), min(match.end() - begin, len(text))
        if start < end:
            start += len(text[start:end]) - len(text[start:end].lstrip())
            if start < end:
                spans[number] = [(start, end)]
        begin += len(text) + 1
    return spans


def find_match(body: RenderedBody, pattern: re.Pattern[str]) -> tuple[int, int | None] | None:
    """Piece and row of the first match in a rendered text; the row is None where the piece is not rendered yet."""
    for piece in range(len(body.heights)):
        if piece not in body.strips:
            if pattern.search(body.sources[piece]):
                return piece, None
        elif spans := spans_by_line(body.strips[piece], pattern):
            return piece, min(spans)
    return None


def line_spans(line: Strip, pattern: re.Pattern[str]) -> Spans:
    """The matches of a pattern in a line."""
    return [match.span() for match in pattern.finditer(line.text) if match.end() > match.start()]


def apply_style(line: Strip, spans: Spans, style: Style) -> Strip:
    """A line with parts of it in a style."""
    if not spans:
        return line
    text = line.text
    cuts = [cell_len(text[:edge]) for span in spans for edge in span]
    parts = line.divide([*cuts, line.cell_length])
    return Strip.join(
        [
            Strip(Segment.apply_style(part, post_style=style), part.cell_length) if number % 2 else part
            for number, part in enumerate(parts)
        ]
    )


def highlight_row(
    lines: Sequence[Strip], row: int, passage: FoundPassage | None, pattern: re.Pattern[str] | None, glow: str
) -> Strip:
    """A row of some lines, with its part of a passage in the colour ``glow``, and the matches of a pattern marked."""
    strip = lines[row]
    if passage is not None:
        strip = apply_style(strip, passage.spans(lines).get(row, ()), Style(bgcolor=glow, bold=True))
    return strip if pattern is None else apply_style(strip, line_spans(lines[row], pattern), MATCH_STYLE)
