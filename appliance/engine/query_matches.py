"""What of a query stands in a message: the words, and the sentence with the most of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from appliance.memory.extractive.sentences import sentence_spans
from appliance.retrieval.word_places import word_places
from appliance.secrets.masking import mask_secrets
from appliance.store.lexical import stem
from appliance.types import MessageMatches

LINE_CHARACTERS = 200
"""Characters before and behind a match that stand for its sentence where it is in none, as in code and tables."""

MAX_SENTENCE_SEARCH = 4_000
"""Characters before and behind the first match in which sentences are looked for."""


def query_matches(message_id: str, text: str, words: Sequence[str]) -> MessageMatches | None:
    """Find what of a query's words stands in a message. Secrets are hidden first, so that no search shows any.

    Args:
        message_id: The id of the message.
        text: Its text.
        words: The words, as ``lexical.query_words`` returns them.

    Returns:
        The matches; None if there are none.
    """
    if not word_places(text, words):
        return None
    text = mask_secrets(text)
    places = word_places(text, words)
    if not places:
        return None
    forms = {form.casefold(): form for start, end in reversed(places) if (form := text[start:end])}
    start, end = _best_sentence(text, places)
    return MessageMatches(message_id, tuple(reversed(forms.values())), text[start:end].strip())


def _best_sentence(text: str, places: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The sentence, or else the line, with the most different words; the first of several."""
    first = max(0, places[0][0] - MAX_SENTENCE_SEARCH)
    window = text[first : places[0][1] + MAX_SENTENCE_SEARCH]
    spans = [(first + span.start, first + span.end) for span in sentence_spans(window)]
    starts = [start for start, _ in spans]
    stems: dict[tuple[int, int], set[str]] = {}
    for start, end in places:
        index = bisect_left(starts, start + 1) - 1
        in_sentence = index >= 0 and end <= spans[index][1]
        span = spans[index] if in_sentence else _line(text, start, end)
        stems.setdefault(span, set()).add(stem(text[start:end].casefold()))
    return max(stems, key=lambda span: (len(stems[span]), -span[0]))


def _line(text: str, start: int, end: int) -> tuple[int, int]:
    """The line around a place, or as much of it as ``LINE_CHARACTERS`` allows."""
    begin = max(text.rfind("\n", 0, start) + 1, start - LINE_CHARACTERS)
    stop = text.find("\n", end)
    return begin, min(stop if stop >= 0 else len(text), end + LINE_CHARACTERS)
