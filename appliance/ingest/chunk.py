"""Long messages in pieces that the model reads whole: nothing is cut off, offsets are exact.

A message that fits is one chunk. A longer one is first cut finely at its own joints (headings, code
fences, paragraphs, sentences, words: semantic-text-splitter's Markdown levels), the fine pieces are
counted in one pass of the model's tokenizer, and neighbouring pieces are then packed into chunks up to
the model's window, each beginning by repeating the end of the one before. Where there is a choice a
chunk ends at the strongest joint. Counting fine pieces once costs 3 microseconds a token; letting the
splitter measure whole chunks costs 30, a sixth of the embedding itself.
"""

from __future__ import annotations

import itertools
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

LINE_CHARACTERS = 10_000
"""A longer line is split in parts: the splitter takes time by the square of a line, 10 seconds for 400,000
characters without an end, 0.3 in parts."""

_ENDLESS = re.compile(rf"[^\n]{{{LINE_CHARACTERS + 1},}}")
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
        text has none.

        Every question to the tokenizer is put for all messages at once: it counts them on all processors.
        """
        long = set(self._long_ones(messages))
        chunks = [
            [] if number in long or not message.text else [Span(0, len(message.text))]
            for number, message in enumerate(messages)
        ]
        numbers = sorted(long)
        for number, spans in zip(numbers, self._cut([messages[number] for number in numbers]), strict=True):
            chunks[number] = spans
        return chunks

    def _long_ones(self, messages: Sequence[Chunkable]) -> list[int]:
        """Which messages do not fit into one chunk, by their place."""
        (special,) = self.count_tokens([""])
        long, unsure, passages = [], [], []
        for number, message in enumerate(messages):
            if len(message.text) > self.window * CHARACTERS_A_TOKEN:
                long.append(number)
                continue
            words = passage(message.author, message.text)
            # A token of plain ASCII is at least one character: most messages need no counting at all.
            if not (words.isascii() and len(words) + special < self.window):
                unsure.append(number)
                passages.append(words)
        counts = self.count_tokens(passages) if passages else []
        return [*long, *(number for number, count in zip(unsure, counts, strict=True) if count > self.window)]

    def _cut(self, messages: Sequence[Chunkable]) -> list[list[Span]]:
        """The chunks of messages that need several."""
        if not messages:
            return []
        special, *framed = self.count_tokens(["", *(passage(message.author, "") for message in messages)])
        rooms = [max(self.window - frame, self.window // 2) for frame in framed]
        texts = [message.text for message in messages]
        packed: list[list[Span]] = []
        for text, room, (starts, weights) in zip(
            texts, rooms, self._pieces(texts, rooms, special), strict=True
        ):
            bounds = [*starts, len(text)]
            runs = _pack(weights, _joints(text, bounds), room, int(room * self.overlap))
            packed.append([Span(bounds[first], bounds[last]) for first, last in runs])
        return [_without_repeats(spans) for spans in self._checked(messages, packed)]

    def _checked(self, messages: Sequence[Chunkable], chunks: Sequence[Sequence[Span]]) -> list[list[Span]]:
        """The chunks, halved while they do not fit: tokens do not always add up, and pieces joined can need
        more than pieces alone."""
        checked = [dict.fromkeys(spans, False) for spans in chunks]
        while True:
            asked = [(n, span) for n, spans in enumerate(checked) for span, fits in spans.items() if not fits]
            if not asked:
                return [list(spans) for spans in checked]
            counts = self.count_tokens(
                [passage(messages[n].author, messages[n].text[span.start : span.end]) for n, span in asked]
            )
            too_long = {
                key
                for key, count in zip(asked, counts, strict=True)
                if count > self.window and key[1].end - key[1].start > 1
            }
            checked = [
                {
                    part: (n, span) not in too_long
                    for span in spans
                    for part in (_halves(span) if (n, span) in too_long else (span,))
                }
                for n, spans in enumerate(checked)
            ]

    def _pieces(
        self, texts: Sequence[str], rooms: Sequence[int], special: int
    ) -> list[tuple[list[int], list[int]]]:
        """Where the fine pieces of each text start, and what each weighs in tokens."""
        starts = [_fine_cuts(text) for text in texts]
        weights: list[list[int]] = [[] for _ in texts]
        waiting: Sequence[int] = range(len(texts))
        while True:
            pieces = [
                texts[n][start:stop]
                for n in waiting
                for start, stop in itertools.pairwise([*starts[n], len(texts[n])])
            ]
            counted = iter(zip(self.count_tokens(pieces), pieces, strict=True))
            again = []
            for n in waiting:
                weights[n] = [
                    max(count - special, -(-len(piece) // CHARACTERS_A_TOKEN))
                    for count, piece in itertools.islice(counted, len(starts[n]))
                ]
                halves = [
                    (start + stop) // 2
                    for (start, stop), weight in zip(
                        itertools.pairwise([*starts[n], len(texts[n])]), weights[n], strict=True
                    )
                    if weight > max(rooms[n] // 4, 1) and stop - start > 1
                ]
                if halves:
                    starts[n] = sorted([*starts[n], *halves])
                    again.append(n)
            if not again:
                return list(zip(starts, weights, strict=True))
            waiting = again


def _halves(span: Span) -> tuple[Span, Span]:
    middle = (span.start + span.end) // 2
    return Span(span.start, middle), Span(middle, span.end)


def _without_repeats(spans: Sequence[Span]) -> list[Span]:
    """The spans without those that add nothing: the first half of one may lie within what it repeats."""
    kept: list[Span] = []
    for span in spans:
        if not kept or span.end > kept[-1].end:
            kept.append(span)
    return kept


def _fine_cuts(text: str) -> list[int]:
    from semantic_text_splitter import MarkdownSplitter

    splitter = MarkdownSplitter(PIECE_CHARACTERS, trim=False)
    # White space goes with what is before it, so that a piece begins where a reader would begin.
    cuts = {
        _behind_space(text, first + start)
        for first, last in itertools.pairwise([0, *_within_lines(text), len(text)])
        for start, _ in splitter.chunk_indices(text[first:last])
    }
    return sorted({0, *cuts} - {len(text)})


def _within_lines(text: str) -> list[int]:
    """Where to cut lines that are longer than any that a person writes, at a space if there is one."""
    cuts = []
    for line in _ENDLESS.finditer(text):
        start = line.start()
        while line.end() - start > LINE_CHARACTERS:
            space = text.rfind(" ", start + LINE_CHARACTERS // 2, start + LINE_CHARACTERS)
            start = space + 1 if space >= 0 else start + LINE_CHARACTERS
            cuts.append(start)
    return cuts


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
