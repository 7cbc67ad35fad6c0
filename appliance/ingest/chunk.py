"""Splits long messages into chunks that the model reads completely, with exact offsets and nothing left out.

A message that fits is one chunk. A longer one is first split into small pieces at its natural boundaries (headings,
code fences, paragraphs, sentences, words: the Markdown levels of semantic-text-splitter). One pass of the model's
tokenizer counts the pieces, and neighbouring pieces are packed into chunks up to the model's window. Each chunk repeats
the end of the one before; where there is a choice, it ends at the strongest boundary. Counting small pieces once costs
3 microseconds a token; letting the splitter measure whole chunks costs 30, a sixth of the embedding itself."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from appliance.store.chunk_spans import whole
from appliance.store.chunks import ChunkableMessage
from appliance.store.passages import ChunkSpan, passage
from appliance.store.scripts import is_mostly_unspaced

CountTokens = Callable[[Sequence[str]], list[int]]

PIECE_CHARACTERS = 160
"""The size of the small pieces: a sentence or a few lines of code, so that an overlap can be one sentence."""

MIN_UNSPACED_PIECE_CHARACTERS = 8
"""The least size of a piece in a script without spaces, where a character is about a token: pieces are as small as half
the overlap, because one of ``PIECE_CHARACTERS`` would be longer than all of it."""

MAX_CHARACTERS_PER_TOKEN = 8
"""The most characters of a chunk for each token of the window, whatever the tokenizer counts: some count a line of
base64 as one unknown word. Prose has four to five."""

MAX_LINE_CHARACTERS = 10_000
"""A longer line is cut first: the splitter takes time quadratic in the length of a line, 10 seconds for 400,000
characters without a break, 0.3 when cut."""

_OVERLONG_LINE = re.compile(rf"[^\n]{{{MAX_LINE_CHARACTERS + 1},}}")
_NON_SPACE = re.compile(r"\S")

DEFAULT_MAX_TOKENS = 400
"""The most tokens of a chunk unless the settings say otherwise: a model that reads thousands of tokens still gives one
vector, in which a page of several topics is none of them."""

MAX_BACKTRACK_SHARE = 0.35
"""The share of a full chunk that may be given up to end it at a stronger boundary."""


def chunk_tokens(configured: int, trained: int, positions: int) -> int:
    """The most tokens of a chunk, special tokens included.

    Args:
        configured: ``chunk.tokens`` of the settings; 0 follows the model.
        trained: The length that the model was trained on.
        positions: The longest text that it can read.
    """
    return min(configured or min(trained, DEFAULT_MAX_TOKENS), positions)


@dataclass(frozen=True, slots=True)
class Chunker:
    """Splits messages for one model. ``window`` is the most tokens of a chunk with its author, including special
    tokens (``chunk_tokens``); ``overlap`` is the share of it that the next chunk repeats (0 to 0.5)."""

    count_tokens: CountTokens
    window: int
    overlap: float

    def split(self, messages: Sequence[ChunkableMessage]) -> list[list[ChunkSpan]]:
        """Return the chunks of each message, in order. Together they cover every character of its text; an empty text
        has none.

        Every call of the tokenizer is for all messages at once, because it counts them on all processors.
        """
        long = set(self._oversized(messages))
        chunks = [
            [] if number in long or not message.text else [ChunkSpan(0, len(message.text))]
            for number, message in enumerate(messages)
        ]
        numbers = sorted(long)
        for number, spans in zip(numbers, self._split_oversized([messages[number] for number in numbers]), strict=True):
            chunks[number] = spans
        return chunks

    def _oversized(self, messages: Sequence[ChunkableMessage]) -> list[int]:
        """The indexes of the messages that do not fit into one chunk."""
        (special,) = self.count_tokens([""])
        long, unsure, passages = [], [], []
        for number, message in enumerate(messages):
            if len(message.text) > self.window * MAX_CHARACTERS_PER_TOKEN:
                long.append(number)
                continue
            text = passage(message.author, message.text)
            # A token of plain ASCII has at least one character, so most messages need not be counted.
            if not (text.isascii() and len(text) + special < self.window):
                unsure.append(number)
                passages.append(text)
        counts = self.count_tokens(passages) if passages else []
        return [*long, *(number for number, count in zip(unsure, counts, strict=True) if count > self.window)]

    def _split_oversized(self, messages: Sequence[ChunkableMessage]) -> list[list[ChunkSpan]]:
        """The chunks of messages that need several."""
        if not messages:
            return []
        special, *framed = self.count_tokens(["", *(passage(message.author, "") for message in messages)])
        capacities = [max(self.window - frame, self.window // 2) for frame in framed]
        overlaps = [int(capacity * self.overlap) for capacity in capacities]
        texts = [message.text for message in messages]
        packed: list[list[ChunkSpan]] = []
        for text, capacity, overlap, (starts, weights) in zip(
            texts, capacities, overlaps, self._pieces(texts, capacities, overlaps, special), strict=True
        ):
            bounds = [*starts, len(text)]
            runs = _pack(weights, _boundary_strengths(text, bounds), capacity, overlap)
            packed.append([ChunkSpan(bounds[first], bounds[last]) for first, last in runs])
        return [_without_contained(spans) for spans in self._halve_until_fitting(messages, packed)]

    def _halve_until_fitting(
        self, messages: Sequence[ChunkableMessage], chunks: Sequence[Sequence[ChunkSpan]]
    ) -> list[list[ChunkSpan]]:
        """The chunks, halved until they fit: joined pieces can have more tokens than the sum of the pieces."""
        checked = [dict.fromkeys(spans, False) for spans in chunks]
        while True:
            unchecked = [(n, span) for n, spans in enumerate(checked) for span, fits in spans.items() if not fits]
            if not unchecked:
                return [list(spans) for spans in checked]
            counts = self.count_tokens(
                [passage(messages[n].author, messages[n].text[span.start : span.end]) for n, span in unchecked]
            )
            too_long = {
                key
                for key, count in zip(unchecked, counts, strict=True)
                if count > self.window and key[1].end - key[1].start > 1
            }
            checked = [
                {
                    part: (n, span) not in too_long
                    for span in spans
                    for part in (_halve(span) if (n, span) in too_long else (span,))
                }
                for n, spans in enumerate(checked)
            ]

    def _pieces(
        self, texts: Sequence[str], capacities: Sequence[int], overlaps: Sequence[int], special: int
    ) -> list[tuple[list[int], list[int]]]:
        """The starts of the pieces of each text, and their numbers of tokens."""
        starts = [_fine_cuts(text, overlap) for text, overlap in zip(texts, overlaps, strict=True)]
        weights: list[list[int]] = [[] for _ in texts]
        unfinished: Sequence[int] = range(len(texts))
        while unfinished:
            bounds = {n: list(itertools.pairwise([*starts[n], len(texts[n])])) for n in unfinished}
            pieces = [texts[n][start:stop] for n in unfinished for start, stop in bounds[n]]
            counted = iter(zip(self.count_tokens(pieces), pieces, strict=True))
            still_heavy = []
            for n in unfinished:
                weights[n] = [
                    max(count - special, -(-len(piece) // MAX_CHARACTERS_PER_TOKEN))
                    for count, piece in itertools.islice(counted, len(starts[n]))
                ]
                halves = [
                    (start + stop) // 2
                    for (start, stop), weight in zip(bounds[n], weights[n], strict=True)
                    if weight > max(capacities[n] // 4, 1) and stop - start > 1
                ]
                if halves:
                    starts[n] = sorted([*starts[n], *halves])
                    still_heavy.append(n)
            unfinished = still_heavy
        return list(zip(starts, weights, strict=True))


def _halve(span: ChunkSpan) -> tuple[ChunkSpan, ChunkSpan]:
    middle = (span.start + span.end) // 2
    return ChunkSpan(span.start, middle), ChunkSpan(middle, span.end)


def _without_contained(spans: Sequence[ChunkSpan]) -> list[ChunkSpan]:
    """The spans without those that lie within the one before: half of a span may be nothing but overlap."""
    kept: list[ChunkSpan] = []
    for span in spans:
        if not kept or span.end > kept[-1].end:
            kept.append(span)
    return kept


def _fine_cuts(text: str, overlap: int) -> list[int]:
    """Where the pieces of a text begin; ``overlap`` is how many tokens two chunks share."""
    from semantic_text_splitter import MarkdownSplitter

    splitter = MarkdownSplitter(PIECE_CHARACTERS, trim=False)
    # White space belongs to the piece before it, so that a piece begins with text.
    cuts = {
        _after_space(text, first + start)
        for first, last in itertools.pairwise([0, *_cuts_in_long_lines(text), len(text)])
        for start, _ in splitter.chunk_indices(text[first:last])
    }
    starts = sorted({0, *cuts} - {len(text)})
    return starts if text.isascii() else [*_with_unspaced_cuts(text, starts, overlap)]


def _with_unspaced_cuts(text: str, starts: Sequence[int], overlap: int) -> Iterator[int]:
    """The starts of the pieces, and those of smaller ones within pieces of scripts without spaces."""
    from semantic_text_splitter import MarkdownSplitter

    size = min(PIECE_CHARACTERS, max(MIN_UNSPACED_PIECE_CHARACTERS, overlap // 2))
    splitter = MarkdownSplitter(size, trim=False)
    for start, stop in itertools.pairwise([*starts, len(text)]):
        piece = text[start:stop]
        yield start
        if overlap and len(piece) > size and is_mostly_unspaced(piece):
            yield from (start + at for at, _ in splitter.chunk_indices(piece) if at)


def _cuts_in_long_lines(text: str) -> list[int]:
    """Where to cut lines longer than any that a person writes, at a space if there is one."""
    cuts = []
    for line in _OVERLONG_LINE.finditer(text):
        start = line.start()
        while line.end() - start > MAX_LINE_CHARACTERS:
            space = text.rfind(" ", start + MAX_LINE_CHARACTERS // 2, start + MAX_LINE_CHARACTERS)
            start = space + 1 if space >= 0 else start + MAX_LINE_CHARACTERS
            cuts.append(start)
    return cuts


def _after_space(text: str, cut: int) -> int:
    match = _NON_SPACE.search(text, cut)
    return match.start() if match else len(text)


def _boundary_strengths(text: str, bounds: Sequence[int]) -> list[int]:
    """The strength of the boundary at each offset: 4 heading or fence, 3 paragraph, 2 line, 1 sentence, 0 word."""
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


def _pack(weights: Sequence[int], strengths: Sequence[int], capacity: int, overlap: int) -> list[tuple[int, int]]:
    """Runs of pieces (first, last + 1) of at most ``capacity`` tokens; each run after the first repeats up to
    ``overlap`` tokens of the one before."""
    runs: list[tuple[int, int]] = []
    first = 0
    while True:
        last, weight = first, 0
        while last < len(weights) and (last == first or weight + weights[last] <= capacity):
            weight += weights[last]
            last += 1
        if last == len(weights):
            runs.append((first, last))
            return runs
        done = runs[-1][1] if runs else first
        last = _best_end(weights, strengths, max(first, done) + 1, last, int(capacity * MAX_BACKTRACK_SHARE))
        runs.append((first, last))
        first = last
        repeated = 0
        while first - 1 > runs[-1][0] and repeated + weights[first - 1] <= overlap:
            first -= 1
            repeated += weights[first]


def _best_end(weights: Sequence[int], strengths: Sequence[int], low: int, last: int, spare: int) -> int:
    """The strongest boundary between ``low`` and ``last`` at which a run may end without giving up more than ``spare``
    tokens; the latest of equally strong ones."""
    best, given_back, end = last, 0, last
    while end > low:
        end -= 1
        given_back += weights[end]
        if given_back > spare:
            break
        if strengths[end] > strengths[best]:
            best = end
    return best


class WholeMessages(Chunker):
    """Makes one chunk of each message, to be split later if it is too long."""

    def __init__(self) -> None:
        """There is no model to split for."""

    def split(self, messages: Sequence[ChunkableMessage]) -> list[list[ChunkSpan]]:
        return [*map(whole, messages)]
