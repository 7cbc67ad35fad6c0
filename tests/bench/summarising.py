"""What summaries cost: a session of many messages at all its levels, beside embedding its sentences with the model.

    python -m tests.bench.summarising [--messages 1000] [--rounds 3]

Two sessions: people's short messages, and questions with long answers of an assistant (made of the same texts, one in
six lines of them code). All levels are the session, its topics and its exchanges; ``first`` is from a cold start of
everything that is remembered between readings, ``again`` is the next time. The running summary of a window is made with
the session's messages one after the other. The model embeds the same sentences, once.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from appliance.memory import compaction, window
from appliance.memory.compaction import RunningSummaryState, WindowPolicy
from appliance.memory.extractive import (
    analysis,
    analyze,
    cues,
    draft_summary,
    exchanges,
    message_vectors,
    slice_analysis,
    topics,
)
from appliance.types import Message, file_names
from appliance_models import encoding_for, load, load_lexicon
from tests.bench import material, measure

TARGET = 3.0
"""Seconds for all levels of a session of a thousand messages, without a model."""

ANSWER_LINES = 30
CODE_LINE = "    total = sum(row.amount for row in rows if row.user_id == user.id)"


def people(texts: Sequence[str], count: int) -> list[Message]:
    return [_message(i, "user", ("Ada", "Ben")[i % 2], texts[i % len(texts)]) for i in range(count)]


def assisted(texts: Sequence[str], count: int) -> list[Message]:
    chance = random.Random(0)

    def answer() -> Iterator[str]:
        yield "### What to do\n"
        for number in range(ANSWER_LINES):
            line = chance.choice(texts).replace("\n", " ")
            yield f"```\n{CODE_LINE}\n```" if number % 6 == 5 else f"- {line}"

    return [
        _message(i, "assistant", None, "\n".join(answer()))
        if i % 2
        else _message(i, "user", None, " ".join(chance.choices(texts, k=3)))
        for i in range(count)
    ]


def _message(number: int, role: str, author: str | None, text: str) -> Message:
    said_at = (material.FIRST_DAY + timedelta(minutes=number)).isoformat()
    return Message(f"m{number}", "s1", str(number), role, author, said_at, text, None, {})  # type: ignore[arg-type]


def all_levels(messages: Sequence[Message]) -> int:
    """How many summaries it was."""
    whole = analyze(messages, load_lexicon().vectors)
    ranges = [(0, len(messages)), *topics(messages, message_vectors(whole)), *exchanges(messages)]
    return len([draft_summary(slice_analysis(whole, start, end)) for start, end in ranges])


def compact_all(messages: Sequence[Message]) -> int:
    """How many compactions it was."""
    count = encoding_for("cl100k_base").count
    sizes = [window.turn_tokens(message, count) for message in messages]
    _, compactions = compaction.compact_due(
        RunningSummaryState(None, {}, messages), sizes, WindowPolicy(), count, load_lexicon().vectors
    )
    return compactions


def _processor_seconds(work: Callable[[], object]) -> float:
    """What one call takes of all processors together, however busy the machine is."""
    began = time.process_time()
    work()
    return time.process_time() - began


def forget() -> None:
    for remembered in (cues.cues, cues.is_filler, file_names._paths, analysis._cached_analyze_text):
        remembered.cache_clear()


def run(messages: int, rounds: int) -> measure.Document:
    texts, source = material.texts()
    model = load()
    load_lexicon().vectors(texts[:1])
    model.embed_passages(texts[:1])
    encoding_for("cl100k_base").count("")
    found: measure.Document = {"benchmark": "summarising", "machine": measure.machine(), "texts": source}
    for name, session in (("people", people(texts, messages)), ("assisted", assisted(texts, messages))):
        whole = analyze(session, load_lexicon().vectors)
        sentences = [whole.text(one) for one in whole.sentences]

        def first(session: Sequence[Message] = session) -> None:
            forget()
            all_levels(session)

        taken = measure.rounds(
            {
                "first": first,
                "again": lambda session=session: all_levels(session),  # type: ignore[misc]
                "window": lambda session=session: compact_all(session),  # type: ignore[misc]
                "model": lambda sentences=sentences: model.embed_passages(sentences),  # type: ignore[misc]
            },
            rounds,
        )
        found[name] = {
            "messages": len(session),
            "characters": sum(len(message.text) for message in session),
            "sentences": len(sentences),
            "summaries": all_levels(session),
            "compactions": compact_all(session),
            "all levels, first, s": measure.seconds_of(taken["first"]),
            "all levels, first, processor s": round(_processor_seconds(first), 2),
            "all levels, again, s": measure.seconds_of(taken["again"]),
            "running summary, s": measure.seconds_of(taken["window"]),
            "the model's embedding alone, s": measure.seconds_of(taken["model"]),
            "model / all levels, first": measure.ratio(taken["model"], taken["first"]),
        }
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    measure.show(run(given.messages, given.rounds))
