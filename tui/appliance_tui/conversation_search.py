"""What is looked for in a conversation: words that somebody typed there, or the query that led to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appliance_tui.widgets.display_text import fit_width

if TYPE_CHECKING:
    from appliance.client import Appliance

BATCH_SIZE = 250
"""Messages that one query searches, so that other queries do not wait long."""

MAX_TYPED_CHARACTERS = 24
"""Characters of a typed search in the last line, which has the place in the conversation too."""


@dataclass(frozen=True, slots=True)
class FoundBatch:
    """The ids of the messages of a batch that match, and the words that do; none where a pattern is known already."""

    ids: Sequence[str]
    words: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ConversationSearch:
    """A search within a conversation. ``find`` searches messages by id, at most 500, on a thread; ``pattern`` marks the
    matches, None if only ``find`` knows them. ``is_typed`` tells whether somebody typed it here."""

    text: str
    find: Callable[[Appliance, Sequence[str]], FoundBatch]
    pattern: re.Pattern[str] | None
    is_typed: bool

    @property
    def quoted(self) -> str:
        """What was typed, for the last line; "" for a query, any word of which is a match, which quotation marks would
        deny."""
        return f"“{fit_width(self.text, MAX_TYPED_CHARACTERS).rstrip()}”" if self.is_typed else ""

    def query(self, ids: Sequence[str]) -> Callable[[Appliance], FoundBatch]:
        """The search in these messages, for a memory's worker."""
        return lambda memory: self.find(memory, ids)


def batches(count: int, first: int) -> Iterator[slice]:
    """The batches of a conversation of ``count`` messages: from ``first`` to the end, then from the start."""
    for begin, end in ((first, count), (0, first)):
        for start in range(begin, end, BATCH_SIZE):
            yield slice(start, min(start + BATCH_SIZE, end))


def typed_search(words: str) -> ConversationSearch:
    """Look for words as they are typed, one after the other, whatever the case and the space between them."""
    pattern = re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)

    def find(memory: Appliance, ids: Sequence[str]) -> FoundBatch:
        return FoundBatch([message.id for message in memory.overview.messages(ids) if pattern.search(message.text)])

    return ConversationSearch(" ".join(words.split()), find, pattern, is_typed=True)


def query_search(query: str) -> ConversationSearch:
    """Look for the words of a query as the search saw them: by stem, and without stop words."""

    def find(memory: Appliance, ids: Sequence[str]) -> FoundBatch:
        found = memory.overview.matches(query, ids)
        words = {word.casefold(): word for matches in found for word in matches.words}
        return FoundBatch([matches.message_id for matches in found], tuple(words.values()))

    return ConversationSearch(" ".join(query.split()), find, None, is_typed=False)
