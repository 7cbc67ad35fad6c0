"""What ``models`` prints of an imported model and of a comparison of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from appliance.cli import output

if TYPE_CHECKING:
    from appliance.bench.model_comparison import ModelComparison, ModelMeasures
    from appliance_models import ImportReport

_SYSTEMS = {"dense": "by meaning alone", "evidence": "whole search"}
_MEASURES = ("recall@1", "recall@10", "mrr")

MIN_SPEED_FACTOR = 1.5
"""From which on a model counts as faster: what else the machine does falls on one of them alone."""

_FACTS = ("pooling", "query_prefix", "passage_prefix")


def facts(report: ImportReport) -> dict[str, dict[str, str]]:
    """How texts become vectors, each fact with where it comes from."""
    return {
        name: {"value": getattr(report.manifest, name), "from": report.origins.get(name, "the pack's manifest")}
        for name in _FACTS
    }


def print_import(report: ImportReport) -> None:
    """Print what was imported, and how its texts become vectors."""
    manifest = report.manifest
    if manifest.kind == "reranker":
        output.print_line(f"imported {manifest.name}, a reranker")
        return
    output.print_line(
        f"imported {manifest.name}, {manifest.dimension} dimensions, texts of up to {manifest.max_tokens:,} tokens"
    )
    fields = {}
    if report.graph:
        others = ", ".join(report.other_graphs)
        fields["graph"] = report.graph + (f" (best for this processor, of {others}; --graph)" if others else "")
    for name, fact in facts(report).items():
        fields[name.replace("_", " ")] = f"{fact['value'] or 'none'} ({fact['from']})".replace("\n", "\\n")
    output.print_fields(fields)


def print_generations(stored: Sequence[Mapping[str, Any]]) -> None:
    """Print the generations of a memory: one serves, others are kept or being built."""
    heads = ("generation", "model", "dimension", "messages", "size", "state")
    states = {"active": "serves", "building": "not complete"}
    rows = []
    for one in stored:
        until = one["complete_at"] and f"kept, complete until {output.format_timestamp(one['complete_at'])}"
        numbers = (f"{one['dimension']:,}", f"{one['messages']:,}", output.format_size(one["disk_bytes"]))
        rows.append((str(one["id"]), one["model"], *numbers, states.get(one["state"], until or "kept")))
    output.print_table(heads, rows, right=("generation", "dimension", "messages", "size"))


def comparison_document(outcome: ModelComparison) -> dict[str, Any]:
    """The comparison as JSON."""
    return {**asdict(outcome), "verdict": outcome.verdict}


def print_comparison(outcome: ModelComparison) -> None:
    """Print both models side by side, and what moving to the new one takes."""
    models = (outcome.present, outcome.candidate)
    rows = [
        ("texts a second", *(f"{one.texts_per_second:,.0f}" for one in models)),
        ("memory", *(_size(one.memory_bytes) for one in models)),
        ("dimensions", *(f"{one.dimension:,}" for one in models)),
    ]
    for system, title in _SYSTEMS.items():
        for measure in _MEASURES:
            rows.append((f"{title}, {measure}", *(f"{_overall(one, system, measure):.3f}" for one in models)))
    names = [f"{one.name} ({state})" for one, state in zip(models, ("present", "new"), strict=True)]
    output.print_line()
    output.print_table(("", *names), rows, right=names)
    forecast = outcome.forecast
    output.say(
        f"Measured on {output.plural(outcome.messages, 'message')} of yours and"
        f" {output.plural(outcome.questions, 'question')} made from them; differences below 0.1 mean little."
    )
    output.say(_verdict_text(outcome))
    output.say(
        f"Moving this memory to {outcome.candidate.name} embeds {output.plural(forecast.chunks, 'chunk')}: about"
        f" {_duration(forecast.seconds)}, and {output.format_size(forecast.disk_bytes)} on the disk."
    )


def _verdict_text(outcome: ModelComparison) -> str:
    """What the figures say, in a sentence."""
    present, candidate = outcome.present, outcome.candidate
    before, after = (f"{100 * share:.0f}" for share in outcome.recall)
    found = f"{after} of 100 answers among the first ten, in place of {before}"
    match outcome.verdict:
        case "better":
            return f"{candidate.name} finds more than {present.name}: {found}."
        case "worse":
            return f"{candidate.name} finds less than {present.name}: {found}. Keep {present.name}."
    factor = candidate.texts_per_second / max(present.texts_per_second, 0.1)
    if factor >= MIN_SPEED_FACTOR:
        return f"{candidate.name} finds about as much as {present.name}, and is {factor:.1f} times as fast."
    return f"{candidate.name} finds about as much as {present.name}: moving to it gains nothing that can be measured."


def _overall(model: ModelMeasures, system: str, measure: str) -> float:
    return model.figures[system]["overall"][measure]


def _size(number: int | None) -> str:
    return "unknown" if number is None else output.format_size(number)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:,.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"
