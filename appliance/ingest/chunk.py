"""Long messages in pieces that the model reads whole: nothing is cut off, offsets are exact.

A message that fits is one chunk. A longer one is first cut finely at its own joints (headings, code
fences, paragraphs, sentences, words: semantic-text-splitter's Markdown levels), the fine pieces are
counted in one pass of the model's tokenizer, and neighbouring pieces are then packed into chunks up to
the model's window, each beginning by repeating the end of the one before. Where there is a choice a
chunk ends at the strongest joint. Counting fine pieces once costs 3 microseconds a token; letting the
splitter measure whole chunks costs 30, a sixth of the embedding itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from appliance.store.chunks import Chunkable, Span, passage

CountTokens = Callable[[Sequence[str]], list[int]]

PIECE_CHARACTERS = 160
"""The fine pieces: a sentence or a few lines of code, so that an overlap can be a sentence long."""

CHARACTERS_A_TOKEN = 8
"""A chunk has at most this many characters for each token of the window, whatever the tokenizer says: some
count a line of base64 as one unknown word. Prose has four to five."""

_INK = re.compile(r"\S")

BACK_UP = 0.35
"""How much of a full chunk may be given back to end it at a stronger joint."""


@dataclass(frozen=True, slots=True)
class Chunker:
    """How to chunk for one model. ``window`` is the most tokens a passage may have, special ones included;
    ``overlap`` is the share of it that the next chunk repeats (0 to 0.5)."""

    count_tokens: CountTokens
    window: int
    overlap: float

    def split(self, messages: Sequence[Chunkable]) -> list[list[Span]]:
        """The chunks of each message, in order. Together they cover every character of its text; an empty
        text has none."""
        passages = [passage(message.author, message.text) for message in messages]
        (special,) = self.count_tokens([""])
        # A token of plain ASCII is at least one character: most messages need no counting at all.
        short = [text.isascii() and len(text) + special < self.window for text in passages]
        counted = iter(
            self.count_tokens([text for text, fits in zip(passages, short, strict=True) if not fits])
        )
        chunks: list[list[Span]] = []
        for message, fits in zip(messages, short, strict=True):
            fits = fits or (
                next(counted) <= self.window and len(message.text) <= self.window * CHARACTERS_A_TOKEN
            )
            whole = [Span(0, len(message.text))] if message.text else []
            chunks.append(whole if fits else self._long(message.text, message.author, special))
        return chunks

    def _long(self, text: str, author: str | None, special: int) -> list[Span]:
        (framed,) = self.count_tokens([passage(author, "")])
        room = max(self.window - framed, self.window // 2)
        starts, weights = self._pieces(text, special, room)
        bounds = [*starts, len(text)]
        spans = [
            (bounds[first], bounds[last])
            for first, last in _pack(weights, _joints(text, bounds), room, int(room * self.overlap))
        ]
        chunks: list[Span] = []
        for start, stop in spans:
            for chunk in self._checked(text, author, start, stop):
                # The first half of a chunk may lie within what it repeats.
                if not chunks or chunk.end > chunks[-1].end:
                    chunks.append(chunk)
        return chunks

    def _checked(self, text: str, author: str | None, start: int, stop: int) -> list[Span]:
        """The span, halved while it does not fit: tokens do not always add up, and pieces joined can need
        more than pieces alone."""
        (count,) = self.count_tokens([passage(author, text[start:stop])])
        if count <= self.window or stop - start < 2:
            return [Span(start, stop)]
        middle = (start + stop) // 2
        return [*self._checked(text, author, start, middle), *self._checked(text, author, middle, stop)]

    def _pieces(self, text: str, special: int, room: int) -> tuple[list[int], list[int]]:
        """Where the fine pieces start, and what each weighs in tokens."""
        starts = _fine_cuts(text)
        while True:
            stops = [*starts[1:], len(text)]
            pieces = [text[start:stop] for start, stop in zip(starts, stops, strict=True)]
            counts = self.count_tokens(pieces)
            weights = [
                max(count - special, -(-len(piece) // CHARACTERS_A_TOKEN))
                for count, piece in zip(counts, pieces, strict=True)
            ]
            halves = [
                (start + stop) // 2
                for start, stop, weight in zip(starts, stops, weights, strict=True)
                if weight > max(room // 4, 1) and stop - start > 1
            ]
            if not halves:
                return starts, weights
            starts = sorted([*starts, *halves])


def _fine_cuts(text: str) -> list[int]:
    from semantic_text_splitter import MarkdownSplitter

    splitter = MarkdownSplitter(PIECE_CHARACTERS, trim=False)
    # White space goes with what is before it, so that a piece begins where a reader would begin.
    cuts = {_behind_space(text, start) for start, _ in splitter.chunk_indices(text)}
    return sorted({0, *cuts} - {len(text)})


def _behind_space(text: str, cut: int) -> int:
    found = _INK.search(text, cut)
    return found.start() if found else len(text)


def _joints(text: str, bounds: Sequence[int]) -> list[int]:
    """How strong the joint at each bound is: 4 heading or fence, 3 paragraph, 2 line, 1 sentence, 0 word."""
    strengths = []
    for bound in bounds:
        before, after = text[max(0, bound - 3) : bound].rstrip(" \t"), text[bound : bound + 3]
        if before.endswith("\n") and after.startswith(("#", "```")):
            strengths.append(4)
        elif before.endswith(("\n\n", "\r\n\r\n", "\n\r\n")):
            strengths.append(3)
        elif before.endswith("\n") or after.startswith("\n"):
            strengths.append(2)
        elif before.endswith((".", "!", "?", "。", "！", "？", "…", ":", ";")):
            strengths.append(1)
        else:
            strengths.append(0)
    return strengths


def _pack(weights: Sequence[int], joints: Sequence[int], room: int, overlap: int) -> list[tuple[int, int]]:
    """Runs of pieces (first, behind the last) that weigh at most ``room``; each run after the first begins
    with up to ``overlap`` of the one before, and at least with nothing."""
    runs: list[tuple[int, int]] = []
    first = 0
    while True:
        last, weight = first, 0
        while last < len(weights) and (last == first or weight + weights[last] <= room):
            weight += weights[last]
            last += 1
        if last == len(weights):
            runs.append((first, last))
            return runs
        done = runs[-1][1] if runs else first
        last = _best_end(weights, joints, max(first, done) + 1, last, int(room * BACK_UP))
        runs.append((first, last))
        first = last
        repeated = 0
        while first - 1 > runs[-1][0] and repeated + weights[first - 1] <= overlap:
            first -= 1
            repeated += weights[first]


def _best_end(weights: Sequence[int], joints: Sequence[int], low: int, last: int, spare: int) -> int:
    """The strongest joint at which a run that could end before ``last`` may end, the latest of equals."""
    best, given_back, end = last, 0, last
    while end > low:
        end -= 1
        given_back += weights[end]
        if given_back > spare:
            break
        if joints[end] > joints[best]:
            best = end
    return best
