"""Summaries of a conversation in its own sentences."""

from __future__ import annotations

import pytest

from appliance.memory.summarise import exchanges, summarise
from appliance.types import Message
from appliance_models import load_lexicon


def said(*turns: tuple[str, str]) -> list[Message]:
    """Messages of (role or author, text); "assistant" is one, any other name is a person."""
    return [
        Message(
            f"m{i}",
            "s1",
            str(i),
            "assistant" if who == "assistant" else "user",
            who,
            f"2024-03-01T09:{i:02}:00",
            text,
            None,
            {},
        )
        for i, (who, text) in enumerate(turns, 1)
    ]


PLANS = said(
    ("Ada", "Hey Ben! How are you?"),
    ("Ben", "Hi! Good, thanks. We have decided to move the meeting to Thursday in the small room."),
    ("Ada", "Great! I'll book the small room and send everybody the new time today."),
    ("Ben", "Which projector shall we bring to the meeting on Thursday?"),
)


def test_a_summary_is_made_of_the_sentences_of_the_conversation() -> None:
    draft = summarise(PLANS, load_lexicon().vectors)
    texts = {message.id: message.text for message in PLANS}
    assert draft.quotes
    assert all(texts[quote.message_id][quote.start : quote.end] == quote.text for quote in draft.quotes)
    assert "Ben (2024-03-01 09:02): We have decided to move the meeting" in draft.text
    assert "How are you" not in draft.text


def test_it_says_what_was_decided_promised_and_left_open() -> None:
    found = summarise(PLANS, load_lexicon().vectors).metadata
    assert [one["message_id"] for one in found["decisions"]] == ["m2"]
    assert [one["message_id"] for one in found["commitments"]] == ["m3"]
    assert [one["message_id"] for one in found["unresolved"]] == ["m4"]


@pytest.mark.parametrize("given", [[], said(("Ada", "")), said(("Ada", "```\nx = 1\n```"))])
def test_where_nobody_says_a_sentence_there_is_nothing_to_quote(given: list[Message]) -> None:
    draft = summarise(given, load_lexicon().vectors)
    assert (draft.text, draft.quotes) == ("", ())


def test_an_exchange_is_what_was_asked_with_what_was_answered() -> None:
    talk = said(
        ("assistant", "Hello"),
        ("Ada", "One"),
        ("Ada", "more"),
        ("assistant", "A"),
        ("assistant", "B"),
        ("Ada", "Two"),
    )
    assert exchanges(talk) == [(1, 5)]
    assert exchanges(PLANS) == []
