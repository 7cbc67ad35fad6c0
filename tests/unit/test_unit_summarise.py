"""Summaries of a conversation in its own sentences."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from appliance.memory.extractive import analyze, draft_summary, exchanges, slice_analysis, summarize, topics
from appliance.memory.extractive.sentences import sentence_spans
from appliance.memory.summary_planner import merge_metadata
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
    draft = summarize(PLANS, load_lexicon().vectors)
    texts = {message.id: message.text for message in PLANS}
    assert draft.quotes
    assert all(texts[quote.message_id][quote.start : quote.end] == quote.text for quote in draft.quotes)
    assert "Ben (2024-03-01 09:02): We have decided to move the meeting" in draft.text
    assert "How are you" not in draft.text


def test_what_is_said_again_in_the_same_words_is_quoted_once() -> None:
    asked = [("Ada", "When does the plumber come to the flat in Harbour Street?")] * 8
    draft = summarize(said(*asked, ("Ben", "The plumber comes on Thursday at nine.")), load_lexicon().vectors, 5)
    assert sorted(quote.text[:11] for quote in draft.quotes) == ["The plumber", "When does t"]


def test_it_says_what_was_decided_promised_and_left_open() -> None:
    found = summarize(PLANS, load_lexicon().vectors).metadata
    assert [one["message_id"] for one in found["decisions"]] == ["m2"]
    assert [one["message_id"] for one in found["commitments"]] == ["m3"]
    assert [one["message_id"] for one in found["unresolved"]] == ["m4"]


@pytest.mark.parametrize("given", [[], said(("Ada", "")), said(("Ada", "```\nx = 1\n```"))])
def test_where_nobody_says_a_sentence_there_is_nothing_to_quote(given: list[Message]) -> None:
    draft = summarize(given, load_lexicon().vectors)
    assert (draft.text, draft.quotes) == ("", ())


def test_an_exchange_is_what_was_asked_with_what_was_answered() -> None:
    talk = said(
        ("assistant", "Hello"), ("Ada", "One"), ("Ada", "more"), ("assistant", "A"), ("assistant", "B"), ("Ada", "Two")
    )
    assert exchanges(talk) == [(1, 5)]
    assert exchanges(PLANS) == []


def texts_of(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Berg came at 10.30. It rained!", ["Dr. Berg came at 10.30.", "It rained!"]),
        ("Wir treffen uns am 3. Mai, z. B. im Park. Gut?", ["Wir treffen uns am 3. Mai, z. B. im Park.", "Gut?"]),
        ("I was born in 1990. Then we moved.", ["I was born in 1990.", "Then we moved."]),
        ("I live on Main St. It is loud.", ["I live on Main St.", "It is loud."]),
        ("Frau Dra. Gómez und J. R. Smith kommen.", ["Frau Dra. Gómez und J. R. Smith kommen."]),
        ("東京に行きました。楽しかった！", ["東京に行きました。", "楽しかった！"]),
        ("- [ ] Call Anna\n2. Pay the rent.", ["Call Anna", "Pay the rent."]),
        ("Before\n```\ncode = 1\n```\nAfter it", ["Before", "After it"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\nA row.", ["A row."]),
        ("# Title\n> somebody else's words\n---\nhttps://a.example/b\nMine.", ["Mine."]),
        (
            "This line was wrapped by the mail program after some seventy signs\nand goes on here.",
            ["This line was wrapped by the mail program after some seventy signs\nand goes on here."],
        ),
        ("One line\nand another", ["One line", "and another"]),
    ],
)
def test_sentences_are_what_is_said_in_words(text: str, sentences: list[str]) -> None:
    assert texts_of(text) == sentences


def test_what_never_ends_is_cut_at_its_commas() -> None:
    text = "we went there and it was fine, " * 100
    found = texts_of(text)
    assert all(len(one) <= 400 for one in found)
    assert "".join("".join(one.split()) for one in found) == "".join(text.split())


def vectors(*subjects: int) -> NDArray[np.float32]:
    """A vector for each message: of its subject, and a little of its own."""
    chance = np.random.default_rng(0)
    found = np.eye(8, dtype=np.float32)[list(subjects)] + chance.normal(0, 0.1, (len(subjects), 8))
    unit: NDArray[np.float32] = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
    return unit


def messages_at(*minutes: float) -> list[Message]:
    start = datetime(2024, 3, 1, 9)
    return [
        Message(f"m{i}", "s1", str(i), "user", "Ada", (start + timedelta(minutes=at)).isoformat(), "x", None, {})
        for i, at in enumerate(minutes)
    ]


def test_topics_part_where_the_talk_turns_to_something_else() -> None:
    subjects = [0] * 12 + [1] * 10 + [2] * 14
    assert topics(messages_at(*range(36)), vectors(*subjects)) == [(0, 12), (12, 22), (22, 36)]


def test_what_is_all_alike_parts_only_where_it_is_too_long() -> None:
    alike = np.ones((100, 8), np.float32)
    assert topics(messages_at(*range(30)), alike[:30]) == [(0, 30)]
    ranges = topics(messages_at(*range(100)), alike)
    assert len(ranges) >= 3 and max(end - start for start, end in ranges) <= 40


def test_a_long_silence_parts_what_is_alike() -> None:
    times = [*range(10), *(i + 60 * 24 for i in range(10))]
    assert topics(messages_at(*times), np.ones((20, 8), np.float32)) == [(0, 10), (10, 20)]


SUPPORT = said(
    ("user", "The nightly backup fails with a PermissionError since Monday."),
    ("assistant", "Which user runs it? Try running it as root with `sudo`. Would you like me to write a script?"),
    ("user", "The user is backup. I'm not sure how to change that, and who owns deploy/backup.sh here?"),
    ("assistant", "Edit deploy/backup.sh and set the owner to root. The root cause was a changed owner."),
    ("user", "That fixed it, thanks! I'll write it down in docs/runbook.md tomorrow."),
    ("user", "Who gets the alerts when it fails at night?"),
)


def test_what_was_solved_names_the_problem_and_who_said_so() -> None:
    found = summarize(SUPPORT, load_lexicon().vectors).metadata
    assert found["solved"] == [
        {"text": "The nightly backup fails with a PermissionError since Monday.", "message_id": "m1", "solved_by": "m5"}
    ]
    assert found["files"] == ["deploy/backup.sh", "docs/runbook.md"]
    assert [one["text"] for one in found["commitments"]] == ["I'll write it down in docs/runbook.md tomorrow."]


def test_only_questions_that_nobody_answered_are_open_and_none_of_an_assistant() -> None:
    found = summarize(SUPPORT, load_lexicon().vectors).metadata
    assert [one["message_id"] for one in found["unresolved"]] == ["m6"]
    left = summarize(said(("Ada", "Where did you put the keys?"), ("Ben", "No idea, sorry.")), load_lexicon().vectors)
    assert [one["message_id"] for one in left.metadata["unresolved"]] == ["m1"]


def test_what_was_left_open_ends_when_it_is_decided() -> None:
    turns = [
        ("Ada", "We still need to decide the colour of the kitchen."),
        ("Ben", "And we still need to find a hotel in Bremen."),
        ("Ada", "We decided on blue as the colour for the kitchen."),
    ]
    found = summarize(said(*turns), load_lexicon().vectors).metadata
    assert [one["message_id"] for one in found["unresolved"]] == ["m2"]
    before = summarize(said(*turns[:2]), load_lexicon().vectors).metadata
    assert [one["message_id"] for one in before["unresolved"]] == ["m1", "m2"]


def test_a_long_conversation_ends_what_a_later_topic_decides() -> None:
    topics_found = [
        summarize(said(*turns), load_lexicon().vectors).metadata
        for turns in (
            [("Ada", "We still need to decide the colour of the kitchen.")],
            [("Ben", "We decided on blue as the colour for the kitchen.")],
        )
    ]
    assert merge_metadata(topics_found)["unresolved"] == []
    assert len(merge_metadata(topics_found[::-1])["unresolved"]) == 1, "it was left open again"


def test_a_part_knows_what_was_answered_behind_it() -> None:
    whole = analyze(said(("Ada", "Where did you put the red keys?"), ("Ben", "In the drawer.")), load_lexicon().vectors)
    assert draft_summary(slice_analysis(whole, 0, 1)).metadata["unresolved"] == []
    assert draft_summary(slice_analysis(whole, 0, 1)) == draft_summary(slice_analysis(whole, 0, 1))


def test_where_an_assistant_answers_the_persons_words_come_first() -> None:
    long = " ".join(f"Section {i} explains the general idea of configuration number {i}." for i in range(40))
    talk = said(("user", "My cat Miso is allergic to chicken since last May."), ("assistant", long))
    draft = summarize(talk, load_lexicon().vectors, 2)
    assert draft.quotes[0].message_id == "m1"


def test_tools_come_from_what_parsers_say_and_hidden_messages_are_not_quoted() -> None:
    tool = Message("m9", "s1", "9", "tool", None, None, "ran", None, {"tools": [{"kind": "call", "name": "grep"}]})
    hidden = Message("m8", "s1", "8", "user", None, None, "We decided to hide it all.", None, {"hidden": True})
    found = summarize([hidden, tool, *PLANS], load_lexicon().vectors)
    assert found.metadata["tools"] == ["grep"]
    assert {quote.message_id for quote in found.quotes} <= {"m1", "m2", "m3", "m4"}


def test_sentences_of_one_message_stand_in_one_line() -> None:
    talk = said(("Ada", "We moved to Oslo in May 2019. It rained. The flat in Bergen was sold to my brother in June."))
    text = summarize(talk, load_lexicon().vectors, 2).text
    assert text == (
        "Ada (2024-03-01 09:01): We moved to Oslo in May 2019. … The flat in Bergen was sold to my brother in June."
    )
