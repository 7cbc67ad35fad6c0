"""Whatever is said: a summary quotes it word for word and in order, and a window keeps to its budget."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from appliance.memory import compaction, window
from appliance.memory.compaction import RunningSummaryState, WindowPolicy
from appliance.memory.extractive import analyze, exchanges, message_vectors, slice_analysis, summarize, topics
from appliance.memory.extractive.segmentation import MAX_TOPIC_MESSAGES, MIN_TOPIC_MESSAGES
from appliance.memory.extractive.sentences import MAX_SENTENCE_CHARACTERS, sentence_spans
from appliance.types import ROLES, Message
from appliance_models import HashEmbedder, encoding_for
from tests.examples import examples

_PIECES = st.sampled_from(
    [
        "We decided to go with Postgres. ",
        "I'll send it tomorrow! ",
        "Why does it fail? ",
        "That fixed it.\n",
        "```py\nx = 1;\n```\n",
        "| a | b |\n|---|---|\n",
        "- [ ] TODO: call Anna in Oslo\n",
        "# Title\n",
        "> quoted\n",
        "z. B. am 3. Mai um 10.30 Uhr. ",
        "¿Qué? ",
        "東京に行きました。とても楽しかった！",
        "https://a.example/x?y=z ",
        "<|endoftext|> ",
        "“q” ",
        "\u200b\u202e\x00\r\n\t",
        "…" * 5,
        "a" * 500 + " ",
        "word " * 120,
        "👍🏽 ",
    ]
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(_PIECES, max_size=8).map("".join))
COUNTER = encoding_for("cl100k_base")


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    return HashEmbedder().embed_passages(list(texts))


@st.composite
def talks(draw: st.DrawFn, least: int = 0, most: int = 12) -> list[Message]:
    said = draw(st.lists(st.tuples(st.sampled_from(ROLES), TEXTS), min_size=least, max_size=most))
    author = draw(st.sampled_from([None, "Ada", "\n", "# x"]))
    return [
        Message(f"m{i}", "s1", str(i), role, author, f"2024-03-01T09:00:{i:02}", text, None, {})
        for i, (role, text) in enumerate(said, 1)
    ]


@given(TEXTS)
def test_sentences_lie_one_after_the_other_within_their_message(text: str) -> None:
    end = 0
    for span in sentence_spans(text):
        assert end <= span.start < span.end <= len(text)
        assert span.end - span.start <= MAX_SENTENCE_CHARACTERS
        assert text[span.start : span.end] == text[span.start : span.end].strip()
        end = span.end


@settings(max_examples=examples(60), deadline=None)
@given(talks(), st.integers(0, 6))
def test_every_sentence_of_a_summary_is_the_messages_own(messages: list[Message], count: int) -> None:
    draft = summarize(messages, embed, count)
    place = {message.id: i for i, message in enumerate(messages)}
    at = [(place[quote.message_id], quote.start) for quote in draft.quotes]
    assert len(draft.quotes) <= count
    assert at == sorted(set(at))
    for quote in draft.quotes:
        message = messages[place[quote.message_id]]
        assert quote.text == message.text[quote.start : quote.end] != ""
        assert " ".join(quote.text.split()) in draft.text
        assert message.role in ("user", "assistant")
    for kind in ("decisions", "commitments", "unresolved", "solved"):
        for one in draft.metadata[kind]:
            assert one["text"] in " ".join(messages[place[one["message_id"]]].text.split())


@settings(max_examples=examples(40), deadline=None)
@given(talks(most=60), st.data())
def test_topics_are_all_of_it_in_order_and_none_too_small_or_too_large(
    messages: list[Message], data: st.DataObject
) -> None:
    reading = analyze(messages, embed)
    ranges = topics(messages, message_vectors(reading))
    assert [i for start, end in ranges for i in range(start, end)] == [*range(len(messages))]
    assert all(end - start <= MAX_TOPIC_MESSAGES for start, end in ranges)
    assert len(messages) < MIN_TOPIC_MESSAGES or all(end - start >= MIN_TOPIC_MESSAGES for start, end in ranges)
    asked = exchanges(messages)
    assert all(messages[start].role == "user" and start < end for start, end in asked)
    assert all(a[1] <= b[0] for a, b in pairwise(asked))
    start = data.draw(st.integers(0, len(messages)))
    end = data.draw(st.integers(start, len(messages)))
    ids = {message.id for message in messages[start:end]}
    own = slice_analysis(reading, start, end)
    assert all(own.messages[one.message].id in ids for one in own.sentences)
    assert len(own.vectors) == len(own.sentences)


HABITS = st.builds(
    WindowPolicy,
    strategy=st.just("summary_buffer"),
    budget=st.integers(64, 400),
    threshold=st.floats(0.6, 1.0),
    target=st.floats(0.0, 0.6),
    keep=st.integers(1, 4),
    turns=st.just(20),
    encoding=st.just("cl100k_base"),
)


@settings(max_examples=examples(60), deadline=None)
@given(talks(most=30), HABITS)
def test_a_window_keeps_to_its_budget_unless_the_latest_turns_alone_are_more(
    messages: list[Message], habits: WindowPolicy
) -> None:
    found = window.window_of_messages("s1", messages, habits, COUNTER, embed)
    assert found.tokens == COUNTER.count(window.render_window(found.summary, found.turns))
    assert found.tokens <= habits.budget or (len(found.turns) <= habits.keep and found.summary is None)
    assert [*found.turns] == messages[found.compacted :]
    assert len(found.turns) >= min(habits.keep, len(messages))
    texts = {message.id: message.text for message in messages[: found.compacted]}
    assert all(texts[quote.message_id][quote.start : quote.end] == quote.text for quote in found.quotes)


@settings(max_examples=examples(40), deadline=None)
@given(talks(most=30), HABITS, st.data())
def test_a_window_is_the_same_whenever_it_was_asked_for_before(
    messages: list[Message], habits: WindowPolicy, data: st.DataObject
) -> None:
    asked = sorted(data.draw(st.sets(st.integers(0, len(messages)), max_size=4)))
    state, seen = RunningSummaryState(None, {}, []), 0
    for end in [*asked, len(messages)]:
        state = RunningSummaryState(state.running, state.sources, [*state.turns, *messages[seen:end]])
        sizes = [window.turn_tokens(turn, COUNTER.count) for turn in state.turns]
        state, _ = compaction.compact_due(state, sizes, habits, COUNTER.count, embed)
        seen = end
    assert window.build_window("s1", state, habits, COUNTER) == window.window_of_messages(
        "s1", messages, habits, COUNTER, embed
    )
