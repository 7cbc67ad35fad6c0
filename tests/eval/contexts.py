"""What gets into a context: the share of questions whose every cited message stands in it in its own words.

    python -m tests.eval.contexts [--budget 4000] [--homes DIR] [--folds] [--first LOCOMO BEAM]

Beside the product stand the best messages by cosine alone and by BM25 alone, filled up to the same budget and
rendered alike. ``--folds`` chooses the settings of a context by the other conversations of a set, and measures them on
the one that is left out. ``--homes`` keeps the ingested homes for another run, ``--first`` takes so many conversations
of each set. Summaries and facts are made before, as
in any home that has been open for a while.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from statistics import fmean

import appliance_models
from appliance import Appliance
from appliance.bench.datasets import BenchmarkCorpus, BenchmarkQuestion
from appliance.bench.ir_metrics import percentile
from appliance.context import layers, memory_selection, render
from appliance.context.materials import ContextMaterial, ContextPlan
from appliance.context.shares import shares
from appliance.retrieval import candidates
from appliance.retrieval.weights import BALANCED, BM25, DENSE, EVIDENCE
from appliance.store import lexical, neighbours
from appliance.store.scripts import is_question
from appliance.timestamps import now
from appliance.types import Context, Hits, Message
from tests.engines import engine_of
from tests.eval.fit import home_of
from tests.eval.runner import SETS

BUDGET = 4_000
COUNTER = appliance_models.encoding_for("o200k_base")

GRID = tuple(product((EVIDENCE.name, BALANCED.name), (3, 12), (0.05, 0.4)))
"""Profile, ``session_limit`` and ``MIN_RELEVANCE`` that a fold may choose from."""


@dataclass(frozen=True)
class Row:
    """One question: the share of its cited messages that stand in the text, whether all do, and what the text is made
    of. ``replies`` are for each short reply among the cited whether its question stands before it."""

    kind: str
    part: float
    every: bool
    tokens: int
    items: int
    one_head_each: int = 0
    replies: tuple[bool, ...] = ()
    seconds: float = 0.0


def stands(text: str, shown: Mapping[str, str], message: Message) -> bool:
    """Whether a message stands in a text in its own words; ``shown`` are the texts of items by message id."""
    words = message.text.rstrip()
    return words in shown.get(message.id, "") and render.escape(words) in text


def shown_by(context: Context) -> dict[str, str]:
    """What a context has of each message, in that message's words."""
    items = (item for layer in context.layers for item in layer.items)
    return {item.message_id: item.text for item in items if item.fidelity != "placeholder"}


def row(question: BenchmarkQuestion, cited: Mapping[str, Message], text: str, shown: Mapping[str, str]) -> Row:
    found = [one in cited and stands(text, shown, cited[one]) for one in question.relevant]
    return Row(question.kind, fmean(found), all(found), COUNTER.count(text), len(shown))


def of_context(question: BenchmarkQuestion, talk: Talk, context: Context, seconds: float) -> Row:
    assert context.tokens == COUNTER.count(context.text) <= context.budget
    items = [item for layer in context.layers for item in layer.items]
    shown = shown_by(context)
    one_head_each = sum(
        COUNTER.count(_alone(talk.by_id[item.message_id], talk.titles.get(item.message_id), item.text))
        if item.message_id in talk.by_id
        else item.tokens
        for item in items
    )
    replies = []
    for one in question.relevant & talk.by_external.keys():
        reply = talk.by_external[one]
        asked = talk.before.get(reply.id)
        short = len(reply.text.split()) <= memory_selection.SHORT_MESSAGE_WORDS
        if short and asked is not None and is_question(asked.text) and stands(context.text, shown, reply):
            replies.append(asked.id in shown)
    return replace(
        row(question, talk.by_external, context.text, shown),
        one_head_each=one_head_each,
        replies=tuple(replies),
        seconds=seconds,
    )


def _alone(message: Message, title: str | None, text: str) -> str:
    """A memory under a head of its own, as contexts once had it."""
    when = (message.timestamp or "")[:16].replace("T", " ")
    about = [part for part in (when, message.author or message.role, title) if part]
    return f"[{' · '.join(about)} · {message.id}]\n{text}\n\n"


@dataclass(frozen=True)
class Talk:
    """A conversation as it is stored: messages by both ids, what stands before each, and titles by message."""

    by_id: Mapping[str, Message]
    by_external: Mapping[str, Message]
    before: Mapping[str, Message]
    titles: Mapping[str, str]


def talk_of(memory: Appliance) -> Talk:
    by_id: dict[str, Message] = {}
    before: dict[str, Message] = {}
    titles: dict[str, str] = {}
    for info in memory.sessions.list():
        last: Message | None = None
        for message in memory.sessions.messages(info.id):
            by_id[message.id] = message
            if last is not None:
                before[message.id] = last
            if info.title:
                titles[message.id] = info.title
            last = message
    return Talk(by_id, {one.external_id: one for one in by_id.values()}, before, titles)


NAIVE_POOL = 400
"""Hits of the naive systems: enough to fill the budget."""


def ask_naively(memory: Appliance, question: str, profile: str) -> Hits:
    pool = candidates.LEG_POOL_SIZE
    candidates.LEG_POOL_SIZE = NAIVE_POOL
    try:
        return memory.search(question, profile=profile, limit=NAIVE_POOL, per_session=0)
    finally:
        candidates.LEG_POOL_SIZE = pool


def naive(hits: Hits, budget: int) -> tuple[str, dict[str, str]]:
    """The best hits whole, each that still fits, and their text; rendered as a context's memories are."""
    plan = _plan("", budget, per_session=1_000)
    selection = memory_selection.MemorySelection(plan, budget - COUNTER.count(render.RETRIEVED))
    for piece in memory_selection.full_parts(plan, hits):
        selection.put(piece)
    return layers.memories_text(list(selection.pieces.values())), {
        id: piece.item.text for id, piece in selection.pieces.items()
    }


def _plan(query: str, budget: int, per_session: int) -> ContextPlan:
    return ContextPlan(
        query,
        lexical.query_words(query),
        budget,
        shares("assistant", {}),
        COUNTER.name,
        COUNTER.count,
        per_session,
        now(),
    )


def measure(memory: Appliance, conversation: BenchmarkCorpus, budget: int) -> dict[str, list[Row]]:
    talk = talk_of(memory)
    rows: dict[str, list[Row]] = {}
    for question in conversation.questions:
        began = time.perf_counter()
        context = memory.context(question.text, budget=budget, encoding=COUNTER.name)
        seconds = time.perf_counter() - began
        rows.setdefault("context", []).append(of_context(question, talk, context, seconds))
        for name, profile in (("dense top-k", DENSE), ("BM25 top-k", BM25)):
            hits = ask_naively(memory, question.text, profile.name)
            rows.setdefault(name, []).append(row(question, talk.by_external, *naive(hits, budget)))
    return rows


def folds(memory: Appliance, conversation: BenchmarkCorpus, budget: int) -> dict[tuple[object, ...], list[Row]]:
    """Each choice of the grid on each question."""
    talk = talk_of(memory)
    rows: dict[tuple[object, ...], list[Row]] = {choice: [] for choice in GRID}
    shipped = memory_selection.MIN_RELEVANCE
    try:
        for question in conversation.questions:
            found = {
                name: memory.search(
                    question.text, profile=name, limit=memory_selection.hits_needed(budget), per_session=0
                )
                for name in (EVIDENCE.name, BALANCED.name)
            }
            beside = {
                name: neighbours.adjacent_messages(
                    engine_of(memory)._database.read(), [hit.message_id for hit in hits[:10]]
                )
                for name, hits in found.items()
            }
            for choice in GRID:
                name, per_session, memory_selection.MIN_RELEVANCE = choice
                material = ContextMaterial(hits=found[name], neighbours=beside[name])
                context = layers.build(_plan(question.text, budget, per_session), material)
                rows[choice].append(row(question, talk.by_external, context.text, shown_by(context)))
    finally:
        memory_selection.MIN_RELEVANCE = shipped
    return rows


def held_out(rows: Mapping[str, Mapping[tuple[object, ...], Sequence[Row]]]) -> dict[str, object]:
    """Each conversation by the choice that is best on the others."""
    total: list[Row] = []
    chosen: dict[str, object] = {}
    for left_out, own in rows.items():

        def on_others(choice: tuple[object, ...], left_out: str = left_out) -> float:
            return fmean(one.every for name, by in rows.items() if name != left_out for one in by[choice])

        best = max(GRID, key=on_others)
        chosen[left_out] = {"choice": best, "every": round(fmean(one.every for one in own[best]), 4)}
        total += own[best]
    return {
        "every cited message, held out": round(fmean(one.every for one in total), 4),
        "by conversation": chosen,
        "each choice on all": {
            str(choice): round(fmean(one.every for by in rows.values() for one in by[choice]), 4) for choice in GRID
        },
    }


def figures(rows: Sequence[Row]) -> dict[str, object]:
    kinds = sorted({one.kind for one in rows})
    found: dict[str, object] = {
        "questions": len(rows),
        "every cited message": round(fmean(one.every for one in rows), 4),
        "cited messages": round(fmean(one.part for one in rows), 4),
        "by category": {kind: round(fmean(one.every for one in rows if one.kind == kind), 4) for kind in kinds},
        "tokens": round(fmean(one.tokens for one in rows)),
        "most tokens": max(one.tokens for one in rows),
        "memories": round(fmean(one.items for one in rows), 1),
    }
    if any(one.one_head_each for one in rows):
        replies = [found for one in rows for found in one.replies]
        found |= {
            "tokens with a head for each": round(fmean(one.one_head_each for one in rows)),
            "short replies cited": len(replies),
            "with their question": round(fmean(replies), 4) if replies else None,
            "context ms p50": round(1000 * percentile([one.seconds for one in rows], 0.5), 1),
            "context ms p95": round(1000 * percentile([one.seconds for one in rows], 0.95), 1),
        }
    return found


First = Mapping[str, int | None]
"""How many conversations of each set are measured; None for all."""


def each(homes: Path, first: First) -> Iterator[tuple[str, BenchmarkCorpus, Appliance]]:
    for set_name, load in SETS.items():
        for conversation in islice(load(), first.get(set_name)):
            with Appliance.open(home_of(conversation, homes), worker=False) as memory:
                memory.run_pending_jobs()
                yield set_name, conversation, memory


def run(homes: Path, budget: int, first: First) -> dict[str, object]:
    rows: dict[str, dict[str, list[Row]]] = {}
    for set_name, conversation, memory in each(homes, first):
        for system, found in measure(memory, conversation, budget).items():
            rows.setdefault(set_name, {}).setdefault(system, []).extend(found)
    return {name: {system: figures(found) for system, found in by.items()} for name, by in rows.items()}


def run_folds(homes: Path, budget: int, first: First) -> dict[str, object]:
    rows: dict[str, dict[str, Mapping[tuple[object, ...], Sequence[Row]]]] = {}
    for set_name, conversation, memory in each(homes, first):
        rows.setdefault(set_name, {})[conversation.name] = folds(memory, conversation, budget)
    return {name: held_out(by) for name, by in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--homes", type=Path)
    parser.add_argument("--folds", action="store_true")
    parser.add_argument("--first", type=int, nargs=2, metavar=("LOCOMO", "BEAM"), default=(None, None))
    given = parser.parse_args()
    measured: Callable[[Path, int, First], dict[str, object]] = run_folds if given.folds else run
    first = dict(zip(SETS, given.first, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        homes = given.homes or Path(folder)
        homes.mkdir(parents=True, exist_ok=True)
        print(
            json.dumps(
                {"budget": given.budget, "encoding": COUNTER.name, **measured(homes, given.budget, first)}, indent=1
            )
        )


if __name__ == "__main__":
    main()
