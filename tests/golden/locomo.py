"""One conversation of LoCoMo, with the model that comes with the program.

The licence of its texts does not let a project pass them on: the golden files have ids, numbers and digests instead.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from appliance import Appliance
from appliance.bench.datasets import BenchmarkCorpus
from appliance.bench.ir_metrics import mean
from tests.eval import datasets, fit
from tests.eval.runner import SETS
from tests.golden.demo import grouped
from tests.golden.surroundings import asking, fixed, normalised, written

Ask = Callable[[str, Mapping[str, Any]], Any]

CHAT = "conv-30"
"""The shortest one."""

EVERY = 8
"""Every eighth of its questions is asked here; the figures are of all."""

NARROWED: Mapping[str, Mapping[str, Any]] = {
    "lexical": {"mode": "lexical"},
    "dense": {"mode": "dense"},
    "balanced, one a session": {"profile": "balanced", "per_session": 1},
    "until": {"until": "2023-04-30"},
    "a session": {"session_id": "s3"},
}
"""What the first question is asked with, too."""

_OURS = {
    "encoding", "fidelity", "format", "kind", "level", "made_by", "mode", "name", "reason", "role", "stage", "state",
    "summary", "tier",
}  # fmt: skip
"""Keys whose values are words of ours."""

_ID = re.compile(r"(?:m|s|f|sum)\d+|D\d+:\d+")


def is_there() -> bool:
    return datasets.FOLDER.is_dir()


def make() -> Mapping[str, str]:
    """The golden files of the conversation."""
    chat = next(one for one in datasets.locomo() if one.name == CHAT)
    with fixed(hashed=False) as folder:
        folder.mkdir()
        cases = fit.collect("locomo", chat, folder)
        with Appliance.open(fit.home_of(chat, folder), worker=False) as memory, asking(memory) as ask:
            memory.run_pending_jobs()
            return {
                "locomo_search.json": written(_searches(chat, ask)),
                "locomo_context.json": written(_contexts(chat, ask)),
                "locomo_memory.json": written(_memory(memory)),
                "locomo_fit.json": written(_fitted(cases)),
            }


def make_figures() -> Mapping[str, str]:
    """The golden file of what ``python -m tests.eval.fit`` prints: minutes of work on every conversation."""
    with fixed(hashed=False) as folder:
        folder.mkdir()
        cases = [
            case
            for name, load in SETS.items()
            for conversation in load()
            for case in fit.collect(name, conversation, folder)
        ]
        return {"fit.json": written(normalised(fit.report(cases)))}


def _searches(chat: BenchmarkCorpus, ask: Ask) -> dict[str, Any]:
    found = {}
    for number in range(0, len(chat.questions), EVERY):
        query = {"query": chat.questions[number].text}
        found[f"question {number}"] = _short(ask("/v1/search", {**query, "limit": 5}))
        if number == 0:
            for name, how in NARROWED.items():
                found[f"question 0, {name}"] = _short(ask("/v1/search", {**query, **how, "limit": 5}))
    return found


def _short(answer: Any) -> Any:
    hits = {}
    for hit in answer["hits"]:
        parts = {name: part for name, part in hit["why"]["score"].items() if part}
        hits[f"{hit['rank']:>2}"] = {
            **{key: hit[key] for key in ("message_id", "external_id", "session_id", "score")},
            "text": digest(hit["text"]),
            "snippet": digest(hit["snippet"]),
            "parts": parts,
            "legs": hit["why"]["legs"],
            "variants": " ".join(hit["why"]["variants"]),
        }
    summaries = {f"{one['rank']}, {one['id']}": one["score"] for one in answer["summaries"]}
    return {"hits": hits, "summaries": summaries, "times": len(answer["times"]), "notes": len(answer["notes"])}


def _contexts(chat: BenchmarkCorpus, ask: Ask) -> dict[str, Any]:
    asked = {
        "small": {"query": chat.questions[0].text, "budget": 500},
        "large": {"query": chat.questions[EVERY].text, "budget": 2000},
        "in a session": {"query": chat.questions[2 * EVERY].text, "budget": 1000, "session_id": "s5"},
    }
    return {name: redacted(grouped(ask("/v1/context", body))) for name, body in asked.items()}


def _memory(memory: Appliance) -> dict[str, Any]:
    """What was made of the conversation: digests of every summary and fact, and of the export session by session."""
    lines: dict[str, list[str]] = {}
    for line in memory.export():
        lines.setdefault(line["session_id"], []).append(json.dumps(line, ensure_ascii=False, sort_keys=True))
    return {
        "export": {session: f"{len(own)}: {digest(own)}" for session, own in lines.items()},
        "facts": {fact.id: redacted(normalised(msgspec.to_builtins(fact))) for fact in memory.facts.list()},
        "summaries": {
            one.id: f"{one.level} of {one.session_id}, {one.first_id} to {one.last_id},"
            f" {len(one.quotes)} quotes: {digest([one.text, msgspec.to_builtins(one.quotes)])}"
            for one in memory.summaries.list()
        },
    }


def _fitted(cases: Sequence[fit.Case]) -> dict[str, Any]:
    """What ``tests.eval.fit`` says of this one conversation."""
    shipped = np.array([fit.WEIGHTS[name] for name in fit.NAMES])
    fitted = fit.fit(cases)
    return {
        "recall@10 of a leg alone": mean([case.alone for case in cases]),
        "shipped weights": fit.by_one(cases, shipped),
        "fitted on this conversation": fit.by_one(cases, fitted),
        "weights": dict(zip(fit.NAMES, fitted.round(2).tolist(), strict=True)),
        "questions": len(cases),
    }


def redacted(value: Any, key: str = "") -> Any:
    """JSON in which every text but ids and words of ours is a digest."""
    if isinstance(value, dict):
        return {name: redacted(one, name) for name, one in value.items()}
    if isinstance(value, list) and key not in ("text", "content"):
        return [redacted(one, key) for one in value]
    if isinstance(value, str | list) and key not in _OURS and not _is_ids(value):
        return digest(value)
    return value


def _is_ids(value: Any) -> bool:
    return isinstance(value, str) and all(_ID.fullmatch(one) for one in value.split())


def digest(value: Any) -> str:
    """The beginning of a text's SHA-256, or of JSON's."""
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return "sha256:" + hashlib.sha256(said.encode()).hexdigest()[:16]
