"""A summary made of the conversation's own sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from appliance.memory.summarise.choose import how_many, picked, scores
from appliance.memory.summarise.findings import findings
from appliance.memory.summarise.reading import Embed, Reading, read
from appliance.types import Message, Quote


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary before it is stored: ``text`` as it is read, ``quotes`` in the order they were said, ``metadata`` as in
    ``types.Summary``."""

    text: str
    quotes: tuple[Quote, ...]
    metadata: Mapping[str, Any]


def summarise(messages: Sequence[Message], embed: Embed, sentences: int | None = None) -> Draft:
    """A stretch of conversation in its own sentences, at most ``sentences`` of them (by its length unless given)."""
    return drafted(read(messages, embed), sentences)


def drafted(reading: Reading, sentences: int | None = None) -> Draft:
    """The summary of what has been read."""
    count = how_many(len(reading.sentences)) if sentences is None else sentences
    chosen = sorted(islice(picked(reading, scores(reading)), count))
    quotes = quoted(reading, chosen)
    said = [reading.messages[reading.sentences[i].message] for i in chosen]
    return Draft(rendered(quotes, said), quotes, findings(reading))


def quoted(reading: Reading, chosen: Sequence[int]) -> tuple[Quote, ...]:
    """Sentences by their indices, as quotes."""
    sentences = [reading.sentences[i] for i in chosen]
    return tuple(Quote(reading.messages[s.message].id, s.start, s.end, reading.text(s)) for s in sentences)


def rendered(quotes: Sequence[Quote], messages: Sequence[Message]) -> str:
    """Lines of "Author (when): sentence"; of one message in one line, with "…" for what was left out between."""
    said = {message.id: message for message in messages}
    lines: list[str] = []
    for key, own in groupby(quotes, lambda quote: quote.message_id):
        message = said[key]
        words = ""
        end = None
        for quote in own:
            if words:
                words += " " if end is not None and not message.text[end : quote.start].strip() else " … "
            words += " ".join(quote.text.split())
            end = quote.end
        when = f" ({message.timestamp[:16].replace('T', ' ')})" if message.timestamp else ""
        lines.append(f"{message.author or message.role}{when}: {words}")
    return "\n".join(lines)
