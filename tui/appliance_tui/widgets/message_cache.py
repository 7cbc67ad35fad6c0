"""Reading and rendering messages on a thread, and a bounded cache of the rendered texts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from textual.strip import Strip

from appliance.lazy_dataclasses import dataclass
from appliance_tui.widgets.conversation_layout import (
    FOLD_THRESHOLD_LINES,
    FOLDED_LINES,
    ConversationLayout,
    HeightIndex,
)
from appliance_tui.widgets.text_rendering import PIECE_CHARACTERS, TextStyle, render_piece, split_pieces

if TYPE_CHECKING:
    from appliance.client import Appliance

MAX_CACHED_LINES = 6_000
"""Rendered lines that are kept: a hundred screens, about ten megabytes."""

BATCH_MESSAGES = 24
"""Messages of a batch: about 50 ms of a thread, so that the messages scrolled to next do not wait long."""

BATCH_PIECES = 6
"""Pieces of a long text in a batch."""

BATCH_CHARACTERS = 24 * PIECE_CHARACTERS
"""Characters that are read for a batch; a single message may have more."""

MARKDOWN_ROLES = frozenset({"user", "assistant"})
"""Roles that write Markdown. Tool output is shown as written: its white space has a meaning."""

GONE_TEXT = "(This message no longer exists.)"


@dataclass(slots=True)
class RenderedBody:
    """A rendered text. ``heights`` are the lines of its pieces, estimated for those not in ``strips``.

    A folded text has one piece. ``hidden_lines`` are folded away; ``is_exact`` tells whether they were counted.
    """

    sources: tuple[str, ...]
    heights: list[int]
    strips: dict[int, Sequence[Strip]]
    is_long: bool
    is_folded: bool
    hidden_lines: int = 0
    is_exact: bool = True
    style: TextStyle | None = None
    generation: int = 0
    """The transcript's generation at the request; an older text is rendered again."""

    @property
    def line_count(self) -> int:
        """Lines on the screen, with the line about the fold."""
        return sum(self.heights) + self.is_long

    @property
    def drawn_line_count(self) -> int:
        """Lines that are rendered."""
        return sum(map(len, self.strips.values()))

    def locate(self, row: int) -> tuple[int, int]:
        """The piece at a row, and the row within it. The line about the fold counts as one piece more."""
        for number, height in enumerate(self.heights):
            if row < height:
                return number, row
            row -= height
        return len(self.heights), row

    def piece_top(self, piece: int) -> int:
        """The first row of a piece."""
        return sum(self.heights[:piece])


def render_body(text: str, style: TextStyle, *, folded: bool, piece_numbers: Collection[int] = (0,)) -> RenderedBody:
    """Render a text; of a long unfolded one only some pieces."""
    sources = split_pieces(text)
    first = render_piece(sources[0], style)
    long = len(sources) > 1 or len(first) > FOLD_THRESHOLD_LINES
    if long and folded:
        shown = first[:FOLDED_LINES]
        exact = len(sources) == 1
        more = len(first) - len(shown) if exact else _estimate_lines(text, style.width) - len(shown)
        return RenderedBody((), [len(shown)], {0: shown}, True, True, max(1, more), exact, style)
    strips = {0: first} | {
        number: render_piece(sources[number], style) for number in piece_numbers if 0 < number < len(sources)
    }
    heights = [
        len(strips[number]) if number in strips else _estimate_lines(source, style.width)
        for number, source in enumerate(sources)
    ]
    return RenderedBody(sources if len(sources) > 1 else (), heights, {**strips}, long, False, style=style)


def render_pieces(
    sources: Sequence[str], style: TextStyle, piece_numbers: Collection[int]
) -> dict[int, Sequence[Strip]]:
    """Render some pieces of a text that is already split."""
    return {number: render_piece(sources[number], style) for number in piece_numbers if number < len(sources)}


def _estimate_lines(text: str, width: int) -> int:
    return len(text) // max(1, width) + text.count("\n") + 1


@dataclass(slots=True)
class RenderedBodyCache:
    """Rendered texts by message id; the least recently used are evicted."""

    _bodies: OrderedDict[str, RenderedBody] = field(default_factory=OrderedDict)
    line_count: int = 0

    def __len__(self) -> int:
        return len(self._bodies)

    def __iter__(self) -> Iterator[str]:
        return iter(self._bodies)

    def get(self, id: str) -> RenderedBody | None:
        """The text of a message, which counts as a use."""
        body = self._bodies.get(id)
        if body is not None:
            self._bodies.move_to_end(id)
        return body

    def put(self, id: str, body: RenderedBody) -> None:
        """Store a text in place of an older one."""
        self.drop(id)
        self._bodies[id] = body
        self.line_count += body.drawn_line_count
        self._evict(id)

    def add_pieces(self, id: str, body: RenderedBody, strips: dict[int, Sequence[Strip]]) -> None:
        """Add rendered pieces to a stored text."""
        for number, lines in strips.items():
            body.strips[number] = lines
            body.heights[number] = len(lines)
        self.line_count = sum(stored.drawn_line_count for stored in self._bodies.values())
        self._evict(id)

    def drop(self, id: str) -> None:
        body = self._bodies.pop(id, None)
        if body is not None:
            self.line_count -= body.drawn_line_count

    def clear(self) -> None:
        self._bodies.clear()
        self.line_count = 0

    def _evict(self, latest: str) -> None:
        """Drop the least recently used texts, and of a very long text the pieces that were rendered first."""
        while self.line_count > MAX_CACHED_LINES and len(self._bodies) > 1:
            self.drop(next(iter(self._bodies)))
        strips = self._bodies[latest].strips
        while self.line_count > MAX_CACHED_LINES and len(strips) > 1:
            self.line_count -= len(strips.pop(next(iter(strips))))


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """A message to render, folded or not, and which pieces of a long one; ``sources`` are its pieces if it is read."""

    id: str
    role: str
    folded: bool
    pieces: tuple[int, ...] = (0,)
    sources: tuple[str, ...] = ()


RenderResult = tuple[RenderRequest, RenderedBody | dict[int, Sequence[Strip]]]


def missing_requests(
    layout: ConversationLayout,
    heights: HeightIndex,
    cache: RenderedBodyCache,
    unfolded: Collection[str],
    generation: int,
    indices: Iterable[int],
    start: int,
    end: int,
) -> Iterator[tuple[RenderRequest, int]]:
    """Requests for what is missing of some messages between two lines, each with the characters it reads."""
    outline = layout.outline
    for index in indices:
        id = outline.ids[index]
        body = cache.get(id)
        folded = id not in unfolded
        if body is None or body.generation < generation or (body.is_long and body.is_folded != folded):
            yield RenderRequest(id, outline.roles[index], folded), outline.characters[index]
            continue
        if len(body.heights) > 1:
            row = heights.top(index) + layout.lines_above(index)
            undrawn: list[int] = []
            for piece, height in enumerate(body.heights):
                if row < end and row + height > start and piece not in body.strips:
                    undrawn.append(piece)
                row += height
            if undrawn:
                role, piece_numbers = outline.roles[index], tuple(undrawn[:BATCH_PIECES])
                yield RenderRequest(id, role, folded, piece_numbers, body.sources), 0


def request_batch(requests: Iterable[tuple[RenderRequest, int]]) -> list[RenderRequest]:
    """The first requests, up to ``BATCH_MESSAGES`` and, by the characters that each reads, ``BATCH_CHARACTERS``."""
    batch: list[RenderRequest] = []
    characters = 0
    for request, size in requests:
        if batch and characters + size > BATCH_CHARACTERS:
            break
        batch.append(request)
        characters += size
        if len(batch) == BATCH_MESSAGES:
            break
    return batch


def render_messages(memory: Appliance, requests: Sequence[RenderRequest], style: TextStyle) -> list[RenderResult]:
    """Read and render some messages. Call it on a thread."""
    unread = [request.id for request in requests if not request.sources]
    texts = {message.id: message.text for message in memory.overview.messages(unread)} if unread else {}
    results: list[RenderResult] = []
    for request in requests:
        look = style if request.role in MARKDOWN_ROLES else replace(style, markdown=False)
        if request.sources:
            results.append((request, render_pieces(request.sources, look, request.pieces)))
        else:
            text = texts.get(request.id, GONE_TEXT)
            body = render_body(text, look, folded=request.folded, piece_numbers=request.pieces)
            results.append((request, body))
    return results
