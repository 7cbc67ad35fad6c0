"""The two sets that the weights are fitted on, and both in one memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from appliance.bench.datasets import BenchmarkCorpus, BenchmarkQuestion, read_benchmark

FOLDER = Path(__file__).parents[3] / "shared" / "eval"


def locomo() -> Iterator[BenchmarkCorpus]:
    """Five chats among people."""
    return _named("locomo_dev.json")


def beam() -> Iterator[BenchmarkCorpus]:
    """Eight long chats with an assistant."""
    return _named("beam_dev.json")


def _named(name: str) -> Iterator[BenchmarkCorpus]:
    _, conversations = read_benchmark(FOLDER / name, "test", Counter())
    return conversations


def mixed() -> Iterator[BenchmarkCorpus]:
    """One memory for both: each chat among people together with one or two with an assistant, and the questions
    about either, by the set that they are from."""
    people, assisted = list(locomo()), list(beam())
    for number, chat in enumerate(people):
        records, questions = list(chat.records), [replace(q, kind="locomo") for q in chat.questions]
        for other in assisted[number :: len(people)]:
            records += [
                record
                | {"message_id": f"{other.name}-{record['message_id']}"}
                | {"session_id": f"{other.name}-{record['session_id']}"}
                for record in other.records
            ]
            questions += [_within(other.name, question) for question in other.questions]
        yield BenchmarkCorpus(f"{chat.name}-mixed", tuple(records), tuple(questions))


def _within(name: str, question: BenchmarkQuestion) -> BenchmarkQuestion:
    relevant, sessions = (
        frozenset(f"{name}-{one}" for one in ids) for ids in (question.relevant, question.sessions or ())
    )
    return replace(question, kind="beam", relevant=relevant, sessions=sessions)
