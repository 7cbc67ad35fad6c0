"""Late chunking (Günther et al. 2024, arXiv 2409.04701): a text is read as a whole, and each part of it gets the mean
of its tokens' vectors, which know the text around it.

A text of more tokens than a model has positions is read in windows that overlap by half. A span gets its vector from
the window in whose middle it lies best. Where no window has it whole, it gets one of its own; and several, if it is
longer than a window, so that no token of a span is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Encoding


@dataclass(frozen=True, slots=True)
class SpannedText:
    """A text that is read as a whole, and the parts of it that get vectors.

    Attributes:
        text: The text.
        spans: The parts, as character offsets (start, end); they may overlap.
        lead: What is read before the text and before each further window of it, such as the name of its author. It
            belongs to no span.
    """

    text: str
    spans: Sequence[tuple[int, int]]
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A span's part in one window, nearly always all of it: the rows of the window's token vectors that make its
    vector, and those of its own tokens, which are without special tokens and with the lead."""

    span: int
    rows: NDArray[np.int64]
    own_rows: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Window:
    """What the model reads at once, special tokens included, and the pieces that get their vectors from it."""

    ids: list[int]
    pieces: list[Piece] = field(default_factory=list)


def plan_windows(encoding: Encoding, lead: int, spans: Sequence[tuple[int, int]], positions: int) -> list[Window]:
    """The windows of a text, as few as its spans need; the pieces of each span come in the order of the text.

    A token belongs to each span that shares a character with it. The special tokens at the ends of a window belong to
    the spans that reach these ends. A span without tokens (blank) gets the first window as a whole.

    Args:
        encoding: The tokens of lead and text together, nothing truncated.
        lead: Characters of the lead.
        spans: Character offsets in the text.
        positions: The most tokens that the model reads.
    """
    ids = list(encoding.ids)
    inner = np.flatnonzero(np.array(encoding.special_tokens_mask, dtype=np.int64) == 0)
    if not inner.size:
        whole = np.arange(len(ids))
        return [Window(ids, [Piece(number, whole, whole[:0]) for number in range(len(spans))])] if spans else []
    first, end = int(inner[0]), int(inner[-1]) + 1
    starts, stops = np.array(encoding.offsets[first:end], np.int64).reshape(-1, 2).T - lead
    leading = int(np.argmax(stops > 0)) if (stops > 0).any() else len(stops)
    head, before, body, tail = ids[:first], ids[first : first + leading], ids[first + leading : end], ids[end:]
    starts, stops = starts[leading:], stops[leading:]
    if len(before) > (positions - len(head) - len(tail)) // 2:
        before = []  # a name that would take the room of the text
    room = max(1, positions - len(head) - len(before) - len(tail))
    offset = len(head) + len(before)
    begins = [0]
    while begins[-1] + room < len(body):
        begins.append(begins[-1] + max(1, room // 2))

    windows: dict[int, Window] = {}

    def window_at(begin: int) -> Window:
        if begin not in windows:
            windows[begin] = Window([*head, *before, *body[begin : begin + room], *tail])
        return windows[begin]

    for number, (start, stop) in enumerate(spans):
        inside = np.flatnonzero((starts < stop) & (stops > start))
        if not inside.size:
            window = window_at(0)
            window.pieces.append(Piece(number, np.arange(len(window.ids)), np.arange(0)))
            continue
        low, high = int(inside[0]), int(inside[-1]) + 1
        for begin in _begins(begins, room, len(body), low, high):
            window = window_at(begin)
            top, bottom = max(low, begin), min(high, begin + room, len(body))
            rows = np.arange(offset + top - begin, offset + bottom - begin)
            own = np.concatenate([np.arange(len(head), offset), rows])
            if top == begin:
                rows = np.concatenate([np.arange(len(head)), rows])
            if bottom == min(begin + room, len(body)):
                rows = np.concatenate([rows, np.arange(len(window.ids) - len(tail), len(window.ids))])
            window.pieces.append(Piece(number, rows, own if top == low else own[offset - len(head) :]))
    return [windows[begin] for begin in sorted(windows)]


def _begins(begins: Sequence[int], room: int, count: int, low: int, high: int) -> Sequence[int]:
    """Where the windows begin that the tokens from ``low`` to ``high`` of ``count`` get their vectors from."""
    whole = [begin for begin in begins if begin <= low and high <= begin + room]
    if whole:
        return [min(whole, key=lambda begin: abs(begin + min(begin + room, count) - low - high))]
    if high - low <= room:
        return [min(max((low + high - room) // 2, 0), max(count - room, 0))]
    return range(low, high, room)
